package exchange

import (
	"context"
	"strings"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
)

func (c *Client) setHidden(ctx context.Context, p catalog.Params) (any, error) {
	id, hidden := p.String("Identity"), p.Bool("Hidden", false)
	r, err := c.Read(ctx, "Get-Recipient", id)
	if err != nil {
		return nil, err
	}
	if err := c.Set(ctx, r, id, map[string]any{"HiddenFromAddressListsEnabled": hidden}); err != nil {
		return nil, err
	}
	_, err = c.ReadUntil(ctx, "Get-Recipient", id, "address lists do not follow", func(r session.Recipient) bool { return r.HiddenFromAddressListsEnabled == hidden })
	if err != nil {
		return nil, err
	}
	return true, nil
}

func (c *Client) setForwarding(ctx context.Context, p catalog.Params) (any, error) {
	return c.forward(ctx, p.String("Identity"), p.String("ForwardTo"), p.Bool("KeepCopy", true))
}

func (c *Client) removeForwarding(ctx context.Context, p catalog.Params) (any, error) {
	return c.forward(ctx, p.String("Identity"), "", false)
}

// forward writes all that forwarding consists of: an address of the tenant takes precedence over an
// SMTP address. An empty address ends it. Exchange Online clears a parameter that is null.
func (c *Client) forward(ctx context.Context, id, to string, keepCopy bool) (any, error) {
	change := map[string]any{"Identity": id, "ForwardingAddress": nil, "ForwardingSmtpAddress": nil, "DeliverToMailboxAndForward": keepCopy}
	if to != "" {
		change["ForwardingSmtpAddress"] = to
	}
	if err := c.Invoke(ctx, "Set-Mailbox", change, nil); err != nil {
		return nil, err
	}
	_, err := c.ReadUntil(ctx, "Get-Mailbox", id, "the forwarding is another one", func(r session.Recipient) bool {
		have := r.ForwardingSmtpAddress
		if s := session.SMTP(have); s != "" {
			have = s
		}
		return strings.EqualFold(have, to) && r.ForwardingAddress == "" && r.DeliverToMailboxAndForward == keepCopy
	})
	if err != nil {
		return nil, err
	}
	return true, nil
}
