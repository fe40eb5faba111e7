package exchange

import (
	"context"
	"fmt"
	"strings"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
)

// inDomain tells whether an SMTP address or sign-in name is in a domain.
func inDomain(address, domain string) bool {
	return strings.EqualFold(address[strings.LastIndexByte(address, '@')+1:], domain) && strings.Contains(address, "@")
}

// removeDomainAddresses first makes an address of another domain the primary one, since no primary address
// can be removed, and then removes the others in one command. A repetition removes the rest.
func (c *Client) removeDomainAddresses(ctx context.Context, p catalog.Params) (any, error) {
	id, domain, primary := p.String("Identity"), p.String("Domain"), p.String("PrimaryEmail")
	if inDomain(id, domain) {
		return nil, &catalog.Failure{Type: catalog.FailureParameters, Message: "Identity is in the domain, where the recipient is not found any more afterwards: give its object id"}
	}
	if inDomain(primary, domain) {
		return nil, &catalog.Failure{Type: catalog.FailureParameters, Message: "PrimaryEmail is in the domain whose addresses are removed: give an address of another domain"}
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
	r, err = c.ReadUntil(ctx, get, id, "the sign-in name is in "+domain+": change it with Set-EntraUserUPN first", func(r session.Recipient) bool {
		return !inDomain(r.UserPrincipalName, domain)
	})
	if err != nil {
		return nil, err
	}
	if primary == "" && inDomain(r.PrimarySmtpAddress, domain) {
		if primary = initialAddress(r, domain); primary == "" {
			return nil, &catalog.Failure{
				Type: catalog.FailureConflict, Attempts: 1,
				Message: fmt.Sprintf("the primary address %s is in the domain, and the recipient has no address in an onmicrosoft.com domain: give PrimaryEmail", r.PrimarySmtpAddress),
			}
		}
	}
	if r.IsMicrosoft365Group() && initialAddress(r, "") != "" && initialAddress(r, domain) == "" {
		return nil, &catalog.Failure{
			Type: catalog.FailureConflict, Attempts: 1,
			Message: "a Microsoft 365 group keeps an address in an onmicrosoft.com domain, and it has no other one: add one with Add-ExchangeSecondaryEmail first",
		}
	}
	switch {
	case primary == "":
	case inDomain(r.PrimarySmtpAddress, domain):
		// Two deliveries at once: the slower one must not add the former address again.
		r, err = c.switchPrimary(ctx, id, primary, r)
	default:
		err = c.makePrimary(ctx, id, primary, r)
	}
	if err != nil {
		return nil, err
	}
	var remove []string
	for _, address := range r.EmailAddresses {
		if s := session.SMTP(address); s != "" && inDomain(s, domain) {
			remove = append(remove, "smtp:"+s)
		}
	}
	if len(remove) > 0 {
		if err := c.editAddresses(ctx, r, id, nil, remove); err != nil {
			return nil, err
		}
	}
	if _, err = c.ReadUntil(ctx, get, id, "the recipient still has addresses in "+domain, func(r session.Recipient) bool {
		for _, address := range r.EmailAddresses {
			if inDomain(session.SMTP(address), domain) {
				return false
			}
		}
		return true
	}); err != nil {
		return nil, err
	}
	return true, nil
}

// initialAddress is an address in an onmicrosoft.com domain other than the given one; empty for none.
func initialAddress(r session.Recipient, other string) string {
	for _, address := range r.EmailAddresses {
		if s := session.SMTP(address); strings.HasSuffix(strings.ToLower(s), ".onmicrosoft.com") && !inDomain(s, other) {
			return s
		}
	}
	return ""
}
