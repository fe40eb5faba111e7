package exchange

import (
	"context"
	"strings"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
)

// setExternal sets where a mail user's mail goes and puts the primary address back
// where Exchange Online moved it along, as it does when the two were the same.
func (c *Client) setExternal(ctx context.Context, p catalog.Params) (any, error) {
	id, external, primary := p.String("Identity"), p.String("ExternalEmail"), p.String("PrimaryEmail")
	before, err := c.Read(ctx, "Get-MailUser", id)
	if err != nil {
		return nil, err
	}
	if primary == "" {
		// An earlier run may have ended between the two: the former primary address is unknown.
		if before.IsExternal(external) && strings.EqualFold(before.PrimarySmtpAddress, external) && mailAddresses(before) > 1 {
			return nil, &catalog.Failure{
				Type: catalog.FailureConflict, Attempts: 1,
				Message: "the external address is already set and is also the primary address, so the former primary address is unknown: " +
					"give PrimaryEmail, or call Set-ExchangePrimaryEmail first",
			}
		}
		primary = before.PrimarySmtpAddress
	}
	if err := c.Invoke(ctx, "Set-MailUser", map[string]any{"Identity": id, "ExternalEmailAddress": external}, nil); err != nil {
		return nil, err
	}
	// What shows the one change shows the other: both are one write.
	after, err := c.ReadUntil(ctx, "Get-MailUser", id, "the external address is not "+external, func(r session.Recipient) bool {
		return r.IsExternal(external)
	})
	if err != nil {
		return nil, err
	}
	if strings.EqualFold(after.PrimarySmtpAddress, primary) {
		return true, nil
	}
	if err := c.makePrimary(ctx, id, primary, after); err != nil {
		return nil, err
	}
	return true, nil
}

func mailAddresses(r session.Recipient) int {
	n := 0
	for _, address := range r.EmailAddresses {
		if session.SMTP(address) != "" {
			n++
		}
	}
	return n
}

func (c *Client) setGUIDs(ctx context.Context, p catalog.Params) (any, error) {
	id := p.String("Identity")
	change := map[string]any{"Identity": id, "ExchangeGuid": p.String("ExchangeGuid")}
	if p.Has("ArchiveGuid") {
		change["ArchiveGuid"] = p.String("ArchiveGuid")
	}
	if err := c.Invoke(ctx, "Set-MailUser", change, nil); err != nil {
		return nil, err
	}
	_, err := c.ReadUntil(ctx, "Get-MailUser", id, "the ids are not the new ones", func(r session.Recipient) bool {
		return strings.EqualFold(r.ExchangeGuid, p.String("ExchangeGuid")) &&
			(!p.Has("ArchiveGuid") || strings.EqualFold(r.ArchiveGuid, p.String("ArchiveGuid")))
	})
	if err != nil {
		return nil, err
	}
	return true, nil
}
