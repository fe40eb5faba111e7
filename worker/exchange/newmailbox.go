package exchange

import (
	"context"
	"strings"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
)

// mailboxKinds are the values of RecipientTypeDetails, by the types of mailboxes.
var mailboxKinds = map[string]string{
	"Regular": "UserMailbox", "Shared": "SharedMailbox", "Room": "RoomMailbox", "Equipment": "EquipmentMailbox",
}

func (c *Client) newMailbox(ctx context.Context, p catalog.Params) (any, error) {
	w, err := wantedRecipientFrom(p)
	if err != nil {
		return nil, err
	}
	parameters := w.parameters()
	parameters[p.String("Type")] = true
	r, err := c.create(ctx, w, mailboxKinds[p.String("Type")], "New-Mailbox", "Get-Mailbox", parameters)
	if err != nil {
		return nil, err
	}
	id := r.ExternalDirectoryObjectId
	return MailUserResult{UserID: id, ID: id, UserPrincipalName: r.UserPrincipalName, PrimaryEmail: r.PrimarySmtpAddress}, nil
}

func (c *Client) setMailboxType(ctx context.Context, p catalog.Params) (any, error) {
	id, kind := p.String("Identity"), p.String("Type")
	if err := c.Invoke(ctx, "Set-Mailbox", map[string]any{"Identity": id, "Type": kind}, nil); err != nil {
		return nil, err
	}
	_, err := c.ReadUntil(ctx, "Get-Mailbox", id, "the mailbox is not of type "+kind, func(r session.Recipient) bool {
		return strings.EqualFold(r.RecipientTypeDetails, mailboxKinds[kind])
	})
	if err != nil {
		return nil, err
	}
	return true, nil
}
