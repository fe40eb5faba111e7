package exchange

import (
	"context"
	"fmt"

	"github.com/matoolkit/matoolkit/worker/catalog"
)

// recipient holds the properties that these functions read. Addresses carry their type:
// "SMTP:" is the primary one, "smtp:" the others, and some are no mail addresses.
type recipient struct {
	ExternalDirectoryObjectId string
	RecipientType             string
	UserPrincipalName         string
	DisplayName               string
	Alias                     string
	PrimarySmtpAddress        string
	ExternalEmailAddress      string
	EmailAddresses            []string
	ExchangeGuid              string
	ArchiveGuid               string

	HiddenFromAddressListsEnabled bool
	// Of mailboxes only.
	ForwardingSmtpAddress      string
	ForwardingAddress          string
	DeliverToMailboxAndForward bool
}

// staleError reports that a read does not show a write yet.
type staleError struct{ what string }

func (e *staleError) Error() string { return "the change is not visible yet: " + e.what }

// read gets the one recipient of that identity with a Get- cmdlet.
func (c *Client) read(ctx context.Context, cmdlet, identity string) (recipient, error) {
	var found []recipient
	if err := c.invoke(ctx, cmdlet, map[string]any{"Identity": identity}, &found); err != nil {
		return recipient{}, err
	}
	if len(found) != 1 {
		return recipient{}, ambiguous(cmdlet, len(found))
	}
	return found[0], nil
}

func ambiguous(cmdlet string, n int) error {
	return &catalog.Failure{
		Type: catalog.FailureConflict, Attempts: 1, NotFound: n == 0,
		Message: fmt.Sprintf("%s: %d recipients have this identity", cmdlet, n),
	}
}

// readUntil reads until the recipient is as it should be, at the policy's pace, and
// returns it.
func (c *Client) readUntil(ctx context.Context, cmdlet, identity, what string, is func(recipient) bool) (recipient, error) {
	var r recipient
	attempts, err := c.config.Policy.Do(ctx, judge, func(ctx context.Context) (err error) {
		r, err = c.read(ctx, cmdlet, identity)
		if err == nil && !is(r) {
			err = &staleError{what}
		}
		return err
	})
	if stale, ok := err.(*staleError); ok {
		return r, &catalog.Failure{Type: catalog.FailureConflict, Message: stale.Error(), Attempts: attempts}
	}
	return r, err
}

// setCmdlet is the cmdlet that changes a recipient of that kind.
func (r recipient) setCmdlet() (string, error) {
	switch r.RecipientType {
	case "MailUser":
		return "Set-MailUser", nil
	case "UserMailbox":
		return "Set-Mailbox", nil
	}
	return "", &catalog.Failure{
		Type: catalog.FailureConflict, Attempts: 1,
		Message: fmt.Sprintf("the recipient is a %s: give a mail user or mailbox", r.RecipientType),
	}
}
