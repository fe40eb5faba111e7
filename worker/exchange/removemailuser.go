package exchange

import (
	"context"
	"fmt"
	"strings"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
)

// removeMailUser deletes the account of a mail user. An account with a mailbox stays: Remove-MailUser refuses it, also one
// whose mailbox comes after the reads.
func (c *Client) removeMailUser(ctx context.Context, p catalog.Params) (any, error) {
	id := p.String("UserId")
	r, err := c.Read(ctx, "Get-Recipient", id)
	if session.Missing(err) {
		return true, nil
	}
	if err != nil {
		return nil, err
	}
	if err := isMailUser(r, id); err != nil {
		return nil, err
	}
	for _, address := range r.EmailAddresses {
		email := session.SMTP(address)
		if email == "" {
			continue
		}
		var moves []struct{ BatchId, Status string }
		if err := c.Look(ctx, "Get-MigrationUser", email, &moves); err != nil {
			return nil, err
		}
		for _, m := range moves {
			return nil, &catalog.Failure{
				Type: catalog.FailureConflict, Attempts: 1,
				Message: fmt.Sprintf("%s is in the migration batch %s, and is %s there: remove the batch first with Remove-ExchangeMigrationBatch, or the person with Remove-ExchangeMigrationUser", email, m.BatchId, m.Status),
			}
		}
	}
	if err := c.Invoke(ctx, "Remove-MailUser", map[string]any{"Identity": r.Guid, "Confirm": false}, nil); err != nil && !session.Missing(err) {
		return nil, err
	}
	have, err := session.Until(ctx, c.Session, "the mail user is still there", func(have []session.Recipient) bool {
		return len(have) == 0 || !strings.EqualFold(have[0].RecipientType, r.RecipientType)
	}, func(ctx context.Context) (have []session.Recipient, err error) {
		err = c.Look(ctx, "Get-Recipient", id, &have)
		return have, err
	})
	if err == nil && len(have) > 0 {
		err = isMailUser(have[0], id)
	}
	if err != nil {
		return nil, err
	}
	return true, nil
}

// isMailUser fails for another recipient.
func isMailUser(r session.Recipient, id string) error {
	text := fmt.Sprintf("%s is a %s, expected a mail user", id, r.RecipientTypeDetails)
	switch r.RecipientType {
	case "MailUser":
		return nil
	case "UserMailbox":
		text = fmt.Sprintf("%s has a mailbox in this tenant (%s), which deleting the account would delete: keep the account, or delete it with Remove-EntraUser if you have made sure that the mailbox is not needed", id, r.RecipientTypeDetails)
	}
	return &catalog.Failure{Type: catalog.FailureConflict, Attempts: 1, Message: text}
}

// setMailUserHold does not read back: no page names a property of mail users that shows the hold.
func (c *Client) setMailUserHold(ctx context.Context, p catalog.Params) (any, error) {
	if err := c.Invoke(ctx, "Set-MailUser", map[string]any{"Identity": p.String("Identity"), "EnableLitigationHoldForMigration": true}, nil); err != nil {
		return nil, err
	}
	return true, nil
}
