package exchange

import (
	"context"
	"strings"

	"github.com/matoolkit/matoolkit/worker/catalog"
)

// Mailbox is the result of Get-ExchangeMailbox.
type Mailbox struct {
	UserId           string
	PrimaryEmail     string
	RoutingEmail     *string
	SecondaryEmails  []string
	ExchangeGuid     string
	ArchiveGuid      *string
	LegacyExchangeDN string
	X500Addresses    []string
	Type             string
}

func (c *Client) getMailbox(ctx context.Context, p catalog.Params) (any, error) {
	r, err := c.Read(ctx, "Get-Mailbox", p.String("Identity"))
	if err != nil {
		return nil, err
	}
	m := Mailbox{
		UserId: r.ExternalDirectoryObjectId, PrimaryEmail: r.PrimarySmtpAddress, ExchangeGuid: r.ExchangeGuid,
		LegacyExchangeDN: r.LegacyExchangeDN, SecondaryEmails: []string{}, X500Addresses: []string{}, Type: r.RecipientTypeDetails,
	}
	if !unset(r.ArchiveGuid) {
		m.ArchiveGuid = &r.ArchiveGuid
	}
	for _, address := range r.EmailAddresses {
		kind, rest, _ := strings.Cut(address, ":")
		if strings.EqualFold(kind, "smtp") && !strings.EqualFold(rest, r.PrimarySmtpAddress) {
			m.SecondaryEmails = append(m.SecondaryEmails, rest)
		}
		switch {
		case strings.EqualFold(kind, "x500"):
			m.X500Addresses = append(m.X500Addresses, rest)
		case strings.EqualFold(kind, "smtp") && strings.HasSuffix(strings.ToLower(rest), ".onmicrosoft.com") && m.RoutingEmail == nil:
			m.RoutingEmail = &rest
		}
	}
	return m, nil
}
