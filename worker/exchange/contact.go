package exchange

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
)

// ContactResult is the result of New-ExchangeMailContact.
type ContactResult struct {
	ID           string `json:"Id"`
	PrimaryEmail string
}

// wantedContact is the contact that a job creates.
type wantedContact struct {
	display, name, alias, external string
	add                            []string // secondary and X500 addresses, with their types
}

func wantedContactFrom(p catalog.Params) (wantedContact, error) {
	external := p.String("ExternalEmail")
	w := wantedContact{
		display: p.String("DisplayName"), name: cmp.Or(p.String("Name"), external), external: external,
		alias: cmp.Or(p.String("Alias"), strings.Replace(external, "@", ".", 1)),
	}
	for param, value := range map[string]string{"Name": w.name, "Alias": w.alias} {
		if utf8.RuneCountInString(value) > 64 {
			return w, &catalog.Failure{Type: catalog.FailureParameters, Message: fmt.Sprintf("%s: %q has more than 64 characters: give a shorter %s", param, value, param)}
		}
	}
	all, err := secondaryAddresses(p)
	w.add = slices.DeleteFunc(all, func(address string) bool { return strings.EqualFold(address, "smtp:"+external) })
	return w, err
}

// newContact looks first: no page says how New-MailContact refuses an address that another recipient has.
func (c *Client) newContact(ctx context.Context, p catalog.Params) (any, error) {
	w, err := wantedContactFrom(p)
	if err != nil {
		return nil, err
	}
	r, found, err := c.Find(ctx, w.external)
	if err != nil {
		return nil, err
	}
	if err := c.awaitFree(ctx, w, r.Guid); err != nil {
		return nil, err
	}
	if !found {
		if r, err = c.createContact(ctx, w); err != nil {
			return nil, err
		}
	}
	if err := w.sameAs(r); err != nil {
		return nil, err
	}
	if err := c.addToContact(ctx, w, r); err != nil {
		return nil, err
	}
	hidden := p.Bool("Hidden", false)
	if r.HiddenFromAddressListsEnabled != hidden { // New-MailContact has no parameter for it
		if err := c.Invoke(ctx, "Set-MailContact", map[string]any{"Identity": r.Guid, "HiddenFromAddressListsEnabled": hidden}, nil); err != nil {
			return nil, err
		}
	}
	r, err = c.ReadUntil(ctx, "Get-Recipient", w.external, "the mail contact does not have all properties", func(r session.Recipient) bool {
		return w.sameAs(r) == nil && len(w.lacks(r)) == 0 && r.HiddenFromAddressListsEnabled == hidden
	})
	if err != nil {
		return nil, err
	}
	return ContactResult{ID: r.Guid, PrimaryEmail: r.PrimarySmtpAddress}, nil
}

// awaitFree waits until no recipient but the contact itself has the SMTP addresses that it gets, as reads show it.
func (c *Client) awaitFree(ctx context.Context, w wantedContact, guid string) error {
	for _, address := range w.add {
		if session.SMTP(address) == "" {
			continue
		}
		what := session.SMTP(address) + " is an address of another recipient: remove it there with Remove-ExchangeAddresses first"
		_, err := session.Until(ctx, c.Session, what, func(free bool) bool { return free }, func(ctx context.Context) (bool, error) {
			r, found, err := c.Find(ctx, session.SMTP(address))
			return !found || r.Guid == guid || isContact(r, w.external) == nil && r.IsExternal(w.external), err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// lacks are the addresses that a contact does not have yet.
func (w wantedContact) lacks(r session.Recipient) []string {
	return slices.DeleteFunc(slices.Clone(w.add), func(address string) bool { return session.Has(r.EmailAddresses, address) })
}

// addToContact adds addresses, for which New-MailContact has no parameter.
func (c *Client) addToContact(ctx context.Context, w wantedContact, r session.Recipient) error {
	lack := w.lacks(r)
	if len(lack) == 0 {
		return nil
	}
	return c.Invoke(ctx, "Set-MailContact", map[string]any{"Identity": r.Guid, "EmailAddresses": session.Edit(lack, nil)}, nil)
}

// createContact creates a contact, or reads the one that another delivery created and that a read did not show yet.
func (c *Client) createContact(ctx context.Context, w wantedContact) (session.Recipient, error) {
	err := c.Invoke(ctx, "New-MailContact", map[string]any{
		"Name": w.name, "Alias": w.alias, "DisplayName": w.display, "ExternalEmailAddress": w.external,
	}, nil)
	if err != nil && !session.Taken(err) {
		return session.Recipient{}, err
	}
	r, readErr := c.Read(ctx, "Get-Recipient", w.external)
	if err != nil && session.Missing(readErr) {
		return r, err // another recipient has the name or the alias
	}
	return r, readErr
}

// sameAs fails unless the recipient may be the contact that was asked for.
func (w wantedContact) sameAs(r session.Recipient) error {
	if err := isContact(r, w.external); err != nil {
		return err
	}
	var differ []string
	for name, same := range map[string]bool{
		"DisplayName": strings.EqualFold(r.DisplayName, w.display), "Name": strings.EqualFold(r.Name, w.name), "Alias": strings.EqualFold(r.Alias, w.alias),
		"ExternalEmailAddress": r.IsExternal(w.external),
	} {
		if !same {
			differ = append(differ, name)
		}
	}
	if len(differ) == 0 {
		return nil
	}
	slices.Sort(differ)
	return &catalog.Failure{
		Type: catalog.FailureConflict, Attempts: 1,
		Message: fmt.Sprintf("a mail contact with the address %s exists and differs in: %s", w.external, strings.Join(differ, ", ")),
	}
}

func isContact(r session.Recipient, address string) error {
	if r.RecipientType == "MailContact" {
		return nil
	}
	return &catalog.Failure{
		Type: catalog.FailureConflict, Attempts: 1,
		Message: fmt.Sprintf("the address %s is that of the %s %s, expected a mail contact", address, r.RecipientType, r.DisplayName),
	}
}

func (c *Client) removeContact(ctx context.Context, p catalog.Params) (any, error) {
	external := p.String("ExternalEmail")
	name := cmp.Or(p.String("Name"), external)
	r, err := c.Read(ctx, "Get-Recipient", external)
	if session.Missing(err) {
		return true, nil
	}
	if err != nil {
		return nil, err
	}
	if err := isContact(r, external); err != nil {
		return nil, err
	}
	if !strings.EqualFold(r.Name, name) {
		return nil, &catalog.Failure{
			Type: catalog.FailureConflict, Attempts: 1,
			Message: fmt.Sprintf("the mail contact with the address %s is named %s, expected %s: give its Name if it is the one", external, r.Name, name),
		}
	}
	if err := c.Invoke(ctx, "Remove-MailContact", map[string]any{"Identity": r.Guid, "Confirm": false}, nil); err != nil && !session.Missing(err) {
		return nil, err
	}
	_, err = session.Until(ctx, c.Session, "the mail contact is still there", func(there bool) bool { return !there }, func(ctx context.Context) (bool, error) {
		var all []session.Recipient
		err := c.Look(ctx, "Get-Recipient", r.Guid, &all)
		return len(all) > 0, err
	})
	if err != nil {
		return nil, err
	}
	return true, nil
}

func (c *Client) testContact(ctx context.Context, p catalog.Params) (any, error) {
	external := p.String("ExternalEmail")
	r, err := c.Read(ctx, "Get-Recipient", external)
	if err != nil {
		return nil, err
	}
	if err := isContact(r, external); err != nil {
		return nil, err
	}
	have := r.ExternalEmailAddress
	if s := session.SMTP(have); s != "" {
		have = s
	}
	checks := []session.Check{{Name: "ExternalEmailAddress", ExpectedValue: external, ActualValue: have}}
	for _, value := range []struct{ param, actual string }{{"DisplayName", r.DisplayName}, {"Name", r.Name}} {
		if p.Has(value.param) {
			checks = append(checks, session.Check{Name: value.param, ExpectedValue: p.String(value.param), ActualValue: value.actual})
		}
	}
	if p.Has("Hidden") {
		checks = append(checks, session.Check{
			Name: "HiddenFromAddressListsEnabled", ExpectedValue: p.Bool("Hidden", false), ActualValue: r.HiddenFromAddressListsEnabled,
		})
	}
	var reasons []string
	for i, check := range checks {
		reason := catalog.Mismatch(check.Name, []string{fmt.Sprint(check.ExpectedValue)}, check.ActualValue)
		checks[i].Match = reason == ""
		if reason != "" {
			reasons = append(reasons, reason)
		}
	}
	return session.NewCheckResult(external, checks, reasons), nil
}
