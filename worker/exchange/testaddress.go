package exchange

import (
	"context"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
)

func (c *Client) testAddresses(ctx context.Context, p catalog.Params) (any, error) {
	expected, err := secondaryAddresses(p)
	if err != nil {
		return nil, err
	}
	gone, err := unwantedFrom(p.String("RemovedDomain"), p.List("RemovedAddresses"))
	if err != nil {
		return nil, err
	}
	id := p.String("Identity")
	r, err := c.Read(ctx, "Get-Recipient", id)
	if err != nil {
		return nil, err
	}
	var checks []session.Check
	var reasons []string
	add := func(name string, expected, actual any, reason string) {
		checks = append(checks, session.Check{Name: name, Match: reason == "", ExpectedValue: expected, ActualValue: actual})
		if reason != "" {
			reasons = append(reasons, reason)
		}
	}
	if primary := p.String("PrimaryEmail"); primary != "" {
		add("PrimarySmtpAddress", primary, r.PrimarySmtpAddress, catalog.Mismatch("PrimarySmtpAddress", []string{primary}, r.PrimarySmtpAddress))
	}
	if len(expected) > 0 {
		lack := slices.DeleteFunc(slices.Clone(expected), func(address string) bool { return session.Has(r.EmailAddresses, address) })
		reason := ""
		if len(lack) > 0 {
			reason = catalog.Lack("EmailAddresses", lack, r.EmailAddresses)
		}
		add("EmailAddresses", expected, r.EmailAddresses, reason)
	}
	if gone.domain != "" || len(gone.listed) > 0 {
		still, reason := append([]string{}, gone.among(r.EmailAddresses)...), ""
		if len(still) > 0 {
			reason = "the recipient still has " + strings.Join(still, ", ") + ", expected none of them"
		}
		add("RemovedAddresses", []string{}, still, reason)
	}
	return session.NewCheckResult(id, checks, reasons), nil
}
