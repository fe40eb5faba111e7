package exchange

import (
	"context"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
)

func (c *Client) testMailUser(ctx context.Context, p catalog.Params) (any, error) {
	id := p.String("Identity")
	r, err := c.Read(ctx, "Get-MailUser", id)
	if err != nil {
		return nil, err
	}
	var domains []struct{ DomainName string }
	if err := c.Invoke(ctx, "Get-AcceptedDomain", map[string]any{}, &domains); err != nil {
		return nil, err
	}
	accepted := make([]string, 0, len(domains))
	for _, d := range domains {
		accepted = append(accepted, d.DomainName)
	}
	slices.Sort(accepted)
	checks, reasons := mailUserChecks(p, r, accepted)
	return session.NewCheckResult(id, checks, reasons), nil
}

// mailUserChecks are the checks that a job asks for, and how they fail.
func mailUserChecks(p catalog.Params, r session.Recipient, accepted []string) (checks []session.Check, reasons []string) {
	add := func(name string, expected, actual any, reason string) {
		checks = append(checks, session.Check{Name: name, Match: reason == "", ExpectedValue: expected, ActualValue: actual})
		if reason != "" {
			reasons = append(reasons, reason)
		}
	}
	external := r.ExternalEmailAddress
	if s := session.SMTP(external); s != "" {
		external = s
	}
	for _, value := range []struct{ param, name, actual string }{
		{"ExchangeGuid", "ExchangeGuid", r.ExchangeGuid},
		{"ArchiveGuid", "ArchiveGuid", r.ArchiveGuid},
		{"PrimaryEmail", "PrimarySmtpAddress", r.PrimarySmtpAddress},
		{"ExternalEmail", "ExternalEmailAddress", external},
	} {
		if p.Has(value.param) {
			expected := p.String(value.param)
			add(value.name, expected, value.actual, catalog.Mismatch(value.name, []string{expected}, value.actual))
		}
	}
	own, x500s, inDelivery := []string{}, []string{}, []string{}
	var foreign []string
	delivery := p.String("TargetDeliveryDomain")
	for _, address := range r.EmailAddresses {
		s := session.SMTP(address)
		if s == "" {
			x500s = append(x500s, address)
			continue
		}
		own = append(own, s)
		domain := s[strings.LastIndexByte(s, '@')+1:]
		if !session.Has(accepted, domain) {
			foreign = append(foreign, s)
		}
		if strings.EqualFold(domain, delivery) {
			inDelivery = append(inDelivery, s)
		}
	}
	if expected := x500(p); len(expected) > 0 {
		reason := ""
		for _, address := range expected {
			if !session.Has(x500s, address) {
				reason = "the X500 addresses lack " + address + ", expected all of the source mailbox"
			}
		}
		add("X500Addresses", expected, x500s, reason)
	}
	reason := ""
	if len(foreign) > 0 {
		reason = "the addresses " + strings.Join(foreign, ", ") + " are in domains that the tenant does not accept, expected addresses in " + strings.Join(accepted, ", ")
	}
	add("AcceptedDomains", accepted, own, reason)
	if delivery != "" {
		reason := ""
		if len(inDelivery) == 0 {
			reason = "none of the addresses " + strings.Join(own, ", ") + " is in " + delivery + ", expected one in the target delivery domain"
		}
		add("TargetDeliveryDomain", delivery, inDelivery, reason)
	}
	reason = ""
	if session.Has(own, external) {
		reason = "the external address " + external + " is also one of the mail user's own addresses, expected an address of the source tenant"
	}
	add("ExternalAddressIsForeign", true, !session.Has(own, external), reason)
	return checks, reasons
}
