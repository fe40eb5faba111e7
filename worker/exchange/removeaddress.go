package exchange

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
)

// inDomain tells whether an SMTP address or sign-in name is in a domain.
func inDomain(address, domain string) bool {
	return strings.EqualFold(address[strings.LastIndexByte(address, '@')+1:], domain) && strings.Contains(address, "@")
}

// unwanted are the addresses that a job removes.
type unwanted struct {
	domain string   // all SMTP addresses in it, if it is not empty
	listed []string // with their types
}

func unwantedFrom(domain string, listed []string) (unwanted, error) {
	u := unwanted{domain: domain}
	for _, address := range listed {
		if kind, rest, _ := strings.Cut(typed(address), ":"); kind == "" || rest == "" || kind == "smtp" && !strings.Contains(rest, "@") {
			return u, &catalog.Failure{Type: catalog.FailureParameters, Message: fmt.Sprintf("%q is no address to remove: use SMTP addresses, and others with their type, such as x500:/o=old/cn=ada", address)}
		}
		u.listed = append(u.listed, typed(address))
	}
	return u, nil
}

// has tells whether an address with its type is removed.
func (u unwanted) has(address string) bool {
	return u.domain != "" && inDomain(session.SMTP(address), u.domain) || session.Has(u.listed, address)
}

// among are those of a list of addresses.
func (u unwanted) among(addresses []string) (some []string) {
	for _, address := range addresses {
		if u.has(address) {
			some = append(some, typed(address))
		}
	}
	return some
}

// initialAddress is an address in an onmicrosoft.com domain that stays; empty for none.
func (u unwanted) initialAddress(r session.Recipient) string {
	for _, address := range r.EmailAddresses {
		if s := session.SMTP(address); strings.HasSuffix(strings.ToLower(s), ".onmicrosoft.com") && !u.has(address) {
			return s
		}
	}
	return ""
}

// removeAddresses first makes another address the primary one, since no primary address can be removed, and then removes
// the others in one command. A repetition removes the rest.
func (c *Client) removeAddresses(ctx context.Context, p catalog.Params) (any, error) {
	id, primary := p.String("Identity"), p.String("PrimaryEmail")
	gone, err := unwantedFrom(p.String("Domain"), p.List("Addresses"))
	if err != nil {
		return nil, err
	}
	if gone.has(typed(id)) {
		return nil, &catalog.Failure{Type: catalog.FailureParameters, Message: "Identity is one of the addresses, by which the recipient is not found any more afterwards: give its object id"}
	}
	if gone.has("smtp:" + primary) {
		return nil, &catalog.Failure{Type: catalog.FailureParameters, Message: "PrimaryEmail is one of the addresses that are removed: give another address"}
	}
	r, err := c.Read(ctx, "Get-Recipient", id)
	if err != nil {
		return nil, err
	}
	get, err := r.Cmdlet("Get")
	if err != nil {
		return nil, err
	}
	// A sign-in name that was just changed in Entra ID arrives here later.
	r, err = c.ReadUntil(ctx, get, id, "the sign-in name is one of the addresses: change it with Set-EntraUserUPN first", func(r session.Recipient) bool {
		return !gone.has("smtp:" + r.UserPrincipalName)
	})
	if err != nil {
		return nil, err
	}
	if primary, err = gone.primaryOf(r, primary); err != nil {
		return nil, err
	}
	switch {
	case primary == "":
	case gone.has("smtp:" + r.PrimarySmtpAddress):
		// Two deliveries at once: the slower one must not add the former address again.
		r, err = c.switchPrimary(ctx, id, primary, r)
	default:
		err = c.makePrimary(ctx, id, primary, r)
	}
	if err != nil {
		return nil, err
	}
	// Listed addresses are removed also where this read does not show them: it may be older than their addition.
	remove := slices.Clone(gone.listed)
	for _, address := range gone.among(r.EmailAddresses) {
		if !session.Has(remove, address) {
			remove = append(remove, address)
		}
	}
	if len(remove) > 0 {
		if err := c.editAddresses(ctx, r, id, nil, remove); err != nil {
			return nil, err
		}
	}
	if _, err = c.ReadUntil(ctx, get, id, "the recipient still has some of the addresses", func(r session.Recipient) bool {
		return len(gone.among(r.EmailAddresses)) == 0
	}); err != nil {
		return nil, err
	}
	return true, nil
}

// primaryOf is the new primary address of a recipient; empty if the present one stays. It fails if there is none to choose.
func (u unwanted) primaryOf(r session.Recipient, wanted string) (string, error) {
	present, initial := "smtp:"+r.PrimarySmtpAddress, u.initialAddress(r)
	var refused string
	switch {
	case r.IsMicrosoft365Group() && initial == "" && (unwanted{}).initialAddress(r) != "":
		refused = "a Microsoft 365 group keeps an address in an onmicrosoft.com domain, and it has no other one: add one with Add-ExchangeSecondaryEmail first"
	case wanted != "" || !u.has(present):
		return wanted, nil
	case session.Has(u.listed, present):
		refused = fmt.Sprintf("%s is the primary address, which cannot be removed: give the new one as PrimaryEmail", r.PrimarySmtpAddress)
	case initial == "":
		refused = fmt.Sprintf("the primary address %s is in the domain, and the recipient has no address in an onmicrosoft.com domain: give PrimaryEmail", r.PrimarySmtpAddress)
	default:
		return initial, nil
	}
	return "", &catalog.Failure{Type: catalog.FailureConflict, Attempts: 1, Message: refused}
}
