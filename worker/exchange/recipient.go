package exchange

import (
	"context"
	"fmt"
	"strings"

	"github.com/matoolkit/matoolkit/worker/catalog"
)

// recipient holds the properties that these functions read. Addresses carry their type:
// "SMTP:" is the primary one, "smtp:" the others, and some are no mail addresses.
type recipient struct {
	ExternalDirectoryObjectId string
	RecipientType             string
	RecipientTypeDetails      string
	Name                      string
	UserPrincipalName         string
	DisplayName               string
	Alias                     string
	PrimarySmtpAddress        string
	ExternalEmailAddress      string
	EmailAddresses            []string
	ExchangeGuid              string
	ArchiveGuid               string
	LegacyExchangeDN          string

	HiddenFromAddressListsEnabled bool
	// Of mailboxes only.
	ForwardingSmtpAddress      string
	ForwardingAddress          string
	DeliverToMailboxAndForward bool
	GrantSendOnBehalfTo        []string

	ManagedBy []string // of groups only
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
	return until(ctx, c, what, is, func(ctx context.Context) (recipient, error) { return c.read(ctx, cmdlet, identity) })
}

// until reads until the value is as it should be, at the policy's pace, and returns it.
func until[T any](ctx context.Context, c *Client, what string, is func(T) bool, read func(context.Context) (T, error)) (T, error) {
	var value T
	attempts, err := c.config.Policy.Do(ctx, judge, func(ctx context.Context) (err error) {
		value, err = read(ctx)
		if err == nil && !is(value) {
			err = &staleError{what}
		}
		return err
	})
	if stale, ok := err.(*staleError); ok {
		return value, &catalog.Failure{Type: catalog.FailureConflict, Message: stale.Error(), Attempts: attempts}
	}
	return value, err
}

// find looks for a recipient once: it does not wait for one that a replica may not show yet.
func (c *Client) find(ctx context.Context, identity string) (found []recipient, err error) {
	err = c.look(ctx, "Get-Recipient", identity, &found)
	return found, err
}

// look runs a Get cmdlet, and finds nothing where it could wait for what a replica may not show yet.
func (c *Client) look(ctx context.Context, cmdlet, identity string, into any) error {
	once := *c
	once.pace.Lag = 0
	err := once.invoke(ctx, cmdlet, map[string]any{"Identity": identity}, into)
	if missing(err) {
		return nil
	}
	return err
}

// isNamed tells whether a text that a cmdlet prints for a recipient means this one.
func (r recipient) isNamed(text string) bool {
	if text == "" {
		return false
	}
	for _, name := range []string{r.ExternalDirectoryObjectId, r.UserPrincipalName, r.PrimarySmtpAddress, r.Name, r.Alias, r.DisplayName} {
		if strings.EqualFold(name, text) {
			return true
		}
	}
	return false
}

// cmdlet is the cmdlet with the given verb for recipients of that kind.
func (r recipient) cmdlet(verb string) (string, error) {
	switch {
	case r.RecipientType == "MailUser":
		return verb + "-MailUser", nil
	case r.RecipientType == "UserMailbox":
		return verb + "-Mailbox", nil
	case r.isGroup():
		return verb + "-DistributionGroup", nil
	}
	return "", &catalog.Failure{
		Type: catalog.FailureConflict, Attempts: 1,
		Message: fmt.Sprintf("the recipient is a %s: give a mail user, mailbox, distribution list or mail-enabled security group", r.RecipientType),
	}
}

func (r recipient) isGroup() bool {
	return r.RecipientType == "MailUniversalDistributionGroup" || r.RecipientType == "MailUniversalSecurityGroup"
}

// set changes a recipient of that kind.
func (c *Client) set(ctx context.Context, r recipient, id string, change map[string]any) error {
	cmdlet, err := r.cmdlet("Set")
	if err != nil {
		return err
	}
	change["Identity"] = id
	if r.isGroup() {
		change["BypassSecurityGroupManagerCheck"] = true // an application owns no group
	}
	return c.invoke(ctx, cmdlet, change, nil)
}
