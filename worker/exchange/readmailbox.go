package exchange

import (
	"context"
	"strings"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
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
		LegacyExchangeDN: r.LegacyExchangeDN, Type: r.RecipientTypeDetails,
	}
	if !unset(r.ArchiveGuid) {
		m.ArchiveGuid = &r.ArchiveGuid
	}
	m.SecondaryEmails, m.X500Addresses = otherAddresses(r)
	for _, address := range r.EmailAddresses {
		if s := session.SMTP(address); strings.HasSuffix(strings.ToLower(s), ".onmicrosoft.com") && m.RoutingEmail == nil {
			m.RoutingEmail = &s
		}
	}
	return m, nil
}

// otherAddresses are the SMTP addresses of a recipient beside the primary one, and its X500 addresses, all without their
// types.
func otherAddresses(r session.Recipient) (secondary, x500 []string) {
	secondary, x500 = []string{}, []string{}
	for _, address := range r.EmailAddresses {
		switch kind, rest, _ := strings.Cut(address, ":"); {
		case strings.EqualFold(kind, "smtp") && !strings.EqualFold(rest, r.PrimarySmtpAddress):
			secondary = append(secondary, rest)
		case strings.EqualFold(kind, "x500"):
			x500 = append(x500, rest)
		}
	}
	return secondary, x500
}
