package exchange

import (
	"cmp"
	"context"

	"github.com/matoolkit/matoolkit/worker/catalog"
)

// MailboxResult is the result of Test-ExchangeMailbox.
type MailboxResult struct {
	Complete bool        `json:"complete"`
	Reason   string      `json:"reason,omitempty"` // why it is not complete
	Data     MailboxData `json:"data"`
}

// MailboxData tells of one recipient.
type MailboxData struct {
	Identity                   string
	ExpectedMailbox, IsMailbox bool
	RecipientType              string // empty without a recipient
}

func (c *Client) testMailbox(ctx context.Context, p catalog.Params) (any, error) {
	id := p.String("Identity")
	r, _, err := c.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	data := MailboxData{Identity: id, ExpectedMailbox: p.Bool("ExpectedMailbox", true), IsMailbox: r.RecipientType == "UserMailbox", RecipientType: r.RecipientType}
	reason := ""
	if data.IsMailbox != data.ExpectedMailbox {
		reason = "RecipientType is " + cmp.Or(r.RecipientType, "empty") + ", expected UserMailbox"
		if !data.ExpectedMailbox {
			reason = "RecipientType is UserMailbox, expected another one or no recipient"
		}
	}
	return MailboxResult{reason == "", reason, data}, nil
}
