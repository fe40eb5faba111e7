package exchange

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
)

// The functions of this file write also what a read shows to be there already: the
// read may be older than another job's change, and the write that would then be left
// out is wanted. Exchange Online takes a value that is there as no change.
//
// None of them writes a whole list of addresses, which would take away what a read
// does not show yet.

func (c *Client) setPrimary(ctx context.Context, p catalog.Params) (any, error) {
	id, primary := p.String("Identity"), p.String("PrimaryEmail")
	before, err := c.Read(ctx, "Get-Recipient", id)
	if err != nil {
		return nil, err
	}
	if err := c.makePrimary(ctx, id, primary, before); err != nil {
		return nil, err
	}
	return true, nil
}

// makePrimary makes an address the primary one and sees to it that the former one
// stays.
func (c *Client) makePrimary(ctx context.Context, id, primary string, before session.Recipient) error {
	after, err := c.switchPrimary(ctx, id, primary, before)
	if err != nil {
		return err
	}
	// Whether it stays by itself is not said anywhere.
	former := "smtp:" + before.PrimarySmtpAddress
	if before.PrimarySmtpAddress == "" || session.Has(after.EmailAddresses, former) {
		return nil
	}
	return c.editAddresses(ctx, before, id, []string{former}, nil)
}

// switchPrimary makes an address the primary one. PrimarySmtpAddress cannot be set on a
// mail user of Exchange Online; WindowsEmailAddress, which is always the same as the
// primary address, can.
func (c *Client) switchPrimary(ctx context.Context, id, primary string, before session.Recipient) (after session.Recipient, err error) {
	parameter := "WindowsEmailAddress"
	if before.IsGroup() {
		parameter = "PrimarySmtpAddress"
	}
	if err := c.Set(ctx, before, id, map[string]any{parameter: primary}); err != nil {
		return session.Recipient{}, err
	}
	return c.ReadUntil(ctx, "Get-Recipient", id, "the primary address is not "+primary, func(r session.Recipient) bool {
		return strings.EqualFold(r.PrimarySmtpAddress, primary)
	})
}

// editAddresses adds and removes addresses until a read shows it.
func (c *Client) editAddresses(ctx context.Context, r session.Recipient, id string, add, remove []string) error {
	if err := c.Set(ctx, r, id, map[string]any{"EmailAddresses": session.Edit(add, remove)}); err != nil {
		return err
	}
	_, err := c.ReadUntil(ctx, "Get-Recipient", id, "the addresses are not the new ones", func(r session.Recipient) bool {
		for _, address := range add {
			if !session.Has(r.EmailAddresses, address) {
				return false
			}
		}
		for _, address := range remove {
			if session.Has(r.EmailAddresses, address) {
				return false
			}
		}
		return true
	})
	return err
}

func (c *Client) addSecondary(ctx context.Context, p catalog.Params) (any, error) {
	wanted, err := secondaryAddresses(p)
	if err != nil {
		return nil, err
	}
	id := p.String("Identity")
	r, err := c.Read(ctx, "Get-Recipient", id)
	if err != nil {
		return nil, err
	}
	var add []string
	for _, address := range wanted {
		if !session.Has(r.EmailAddresses, address) {
			add = append(add, address)
		}
	}
	if len(add) == 0 {
		return true, nil
	}
	if err := c.editAddresses(ctx, r, id, add, nil); err != nil {
		return nil, err
	}
	return true, nil
}

// secondaryAddresses are the addresses, with their types, that a recipient is to have according to a job.
func secondaryAddresses(p catalog.Params) (all []string, err error) {
	given := p.List("SecondaryEmails")
	if p.Has("SecondaryEmail") {
		given = append([]string{p.String("SecondaryEmail")}, given...)
	}
	domain := p.String("Domain")
	for _, address := range given {
		entry := typed(address)
		s := session.SMTP(entry)
		switch {
		case s == "":
			return nil, &catalog.Failure{Type: catalog.FailureParameters, Message: "SecondaryEmails has an address of another type than SMTP: give it in X500Addresses"}
		case (domain == "" || inDomain(s, domain)) && !session.Has(all, entry):
			all = append(all, entry)
		}
	}
	return append(all, x500(p)...), nil
}

// typed is an address with its type, an SMTP address as a secondary one.
func typed(address string) string {
	if !strings.Contains(address, ":") {
		return "smtp:" + address
	}
	if s := session.SMTP(address); s != "" {
		return "smtp:" + s
	}
	return address
}

// setAddresses makes the SMTP addresses those of a list: first the primary one, so
// that no removal concerns the primary address, then the others in one command.
func (c *Client) setAddresses(ctx context.Context, p catalog.Params) (any, error) {
	id := p.String("UserId")
	wanted, err := wantedAddresses(p.List("ProxyAddresses"))
	if err != nil {
		return nil, err
	}
	before, err := c.Read(ctx, "Get-Recipient", id)
	if err != nil {
		return nil, err
	}
	if wanted.primary == "" {
		wanted.primary = before.PrimarySmtpAddress
		if !session.Has(wanted.all, "smtp:"+wanted.primary) {
			return nil, &catalog.Failure{
				Type: catalog.FailureParameters, Attempts: 1,
				Message: "ProxyAddresses has no primary address: no address begins with SMTP: in capitals, and the present primary address, " +
					wanted.primary + ", is not one of them",
			}
		}
	}
	if err := c.makePrimary(ctx, id, wanted.primary, before); err != nil {
		return nil, err
	}
	now, err := c.Read(ctx, "Get-Recipient", id)
	if err != nil {
		return nil, err
	}
	var add, remove []string
	for _, address := range wanted.all {
		if !session.Has(now.EmailAddresses, address) {
			add = append(add, address)
		}
	}
	// What any read has shown: the latest of them may be the older one.
	for _, address := range slices.Concat(now.EmailAddresses, before.EmailAddresses) {
		if s := session.SMTP(address); s != "" && !session.Has(wanted.all, address) && !session.Has(remove, address) {
			remove = append(remove, "smtp:"+s)
		}
	}
	if len(add)+len(remove) == 0 {
		return true, nil
	}
	if err := c.editAddresses(ctx, before, id, add, remove); err != nil {
		return nil, err
	}
	_, err = c.ReadUntil(ctx, "Get-Recipient", id, "removed addresses are still there", func(r session.Recipient) bool {
		return !slices.ContainsFunc(r.EmailAddresses, func(a string) bool { return session.SMTP(a) != "" && !session.Has(wanted.all, a) })
	})
	if err != nil {
		return nil, err
	}
	return true, nil
}

// addresses is a requested list: the primary address, if given, and all addresses with
// their types, SMTP addresses as secondary ones.
type addresses struct {
	primary string
	all     []string
}

func wantedAddresses(list []string) (addresses, error) {
	var wanted addresses
	for _, given := range list {
		entry := given
		if !strings.Contains(given, ":") {
			entry = "smtp:" + given
		}
		if s := session.SMTP(entry); s != "" {
			if strings.HasPrefix(given, "SMTP:") && wanted.primary != "" && !strings.EqualFold(wanted.primary, s) {
				return addresses{}, &catalog.Failure{
					Type:    catalog.FailureParameters,
					Message: fmt.Sprintf("ProxyAddresses has two primary addresses, %s and %s", wanted.primary, s),
				}
			}
			if strings.HasPrefix(given, "SMTP:") {
				wanted.primary = s
			}
			entry = "smtp:" + s
		}
		if !session.Has(wanted.all, entry) {
			wanted.all = append(wanted.all, entry)
		}
	}
	return wanted, nil
}
