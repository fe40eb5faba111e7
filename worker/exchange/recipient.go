package exchange

import (
	"context"
	"fmt"
	"strings"

	"github.com/matoolkit/matoolkit/worker/catalog"
)

// recipient is what these functions read of one. Addresses carry their type:
// "SMTP:" is the primary one, "smtp:" the others, and some are no mail addresses.
type recipient struct {
	RecipientType        string
	PrimarySmtpAddress   string
	ExternalEmailAddress string
	EmailAddresses       []string
	ExchangeGuid         string
	ArchiveGuid          string
}

// staleError says that a read does not show yet what was written.
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
		Type: catalog.FailureConflict, Attempts: 1,
		Message: fmt.Sprintf("%s: %d recipients answer to this identity", cmdlet, n),
	}
}

// readUntil reads until the recipient is as it should be, at the policy's pace.
func (c *Client) readUntil(ctx context.Context, cmdlet, identity, what string, is func(recipient) bool) error {
	attempts, err := c.config.Policy.Do(ctx, judge, func(ctx context.Context) error {
		r, err := c.read(ctx, cmdlet, identity)
		if err == nil && !is(r) {
			err = &staleError{what}
		}
		return err
	})
	if stale, ok := err.(*staleError); ok {
		return &catalog.Failure{Type: catalog.FailureConflict, Message: stale.Error(), Attempts: attempts}
	}
	return err
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
		Message: fmt.Sprintf("the recipient is a %s; only mail users and mailboxes have their addresses set here", r.RecipientType),
	}
}

func (c *Client) setPrimary(ctx context.Context, p catalog.Params) (any, error) {
	id, primary := p.String("Identity"), p.String("PrimaryEmail")
	r, err := c.read(ctx, "Get-Recipient", id)
	if err != nil {
		return nil, err
	}
	if strings.EqualFold(r.PrimarySmtpAddress, primary) {
		return true, nil
	}
	cmdlet, err := r.setCmdlet()
	if err != nil {
		return nil, err
	}
	// The whole list, because PrimarySmtpAddress cannot be set on a mail user.
	if err := c.invoke(ctx, cmdlet, map[string]any{
		"Identity": id, "EmailAddresses": withPrimary(r.EmailAddresses, primary),
	}, nil); err != nil {
		return nil, err
	}
	err = c.readUntil(ctx, "Get-Recipient", id, "the primary address is not "+primary, func(r recipient) bool {
		return strings.EqualFold(r.PrimarySmtpAddress, primary)
	})
	if err != nil {
		return nil, err
	}
	return true, nil
}

// withPrimary makes an address the primary one of a list; the old one stays as a
// secondary one.
func withPrimary(addresses []string, primary string) []string {
	list := []string{"SMTP:" + primary}
	for _, a := range addresses {
		kind, address, _ := strings.Cut(a, ":")
		switch {
		case !strings.EqualFold(kind, "smtp"):
			list = append(list, a)
		case !strings.EqualFold(address, primary):
			list = append(list, "smtp:"+address)
		}
	}
	return list
}

func (c *Client) addSecondary(ctx context.Context, p catalog.Params) (any, error) {
	id, address := p.String("Identity"), p.String("SecondaryEmail")
	r, err := c.read(ctx, "Get-Recipient", id)
	if err != nil {
		return nil, err
	}
	for _, a := range r.EmailAddresses {
		if strings.EqualFold(a, "smtp:"+address) {
			return true, nil
		}
	}
	cmdlet, err := r.setCmdlet()
	if err != nil {
		return nil, err
	}
	if err := c.invoke(ctx, cmdlet, map[string]any{
		"Identity":       id,
		"EmailAddresses": map[string]any{"@odata.type": "#Exchange.GenericHashTable", "Add": []string{"smtp:" + address}},
	}, nil); err != nil {
		return nil, err
	}
	return true, nil
}

func (c *Client) setExternal(ctx context.Context, p catalog.Params) (any, error) {
	id, address := p.String("Identity"), p.String("ExternalEmail")
	r, err := c.read(ctx, "Get-MailUser", id)
	if err != nil {
		return nil, err
	}
	if strings.EqualFold(strings.TrimPrefix(strings.ToLower(r.ExternalEmailAddress), "smtp:"), address) {
		return true, nil
	}
	if err := c.invoke(ctx, "Set-MailUser", map[string]any{"Identity": id, "ExternalEmailAddress": address}, nil); err != nil {
		return nil, err
	}
	after, err := c.read(ctx, "Get-MailUser", id)
	if err != nil {
		return nil, err
	}
	if !strings.EqualFold(after.PrimarySmtpAddress, r.PrimarySmtpAddress) {
		return nil, &catalog.Failure{
			Type: catalog.FailureConflict, Attempts: 1,
			Message: fmt.Sprintf("the external address was set, but with it the primary address changed from %s to %s",
				r.PrimarySmtpAddress, after.PrimarySmtpAddress),
		}
	}
	return true, nil
}

func (c *Client) setGUIDs(ctx context.Context, p catalog.Params) (any, error) {
	id := p.String("Identity")
	r, err := c.read(ctx, "Get-MailUser", id)
	if err != nil {
		return nil, err
	}
	change := map[string]any{}
	if !strings.EqualFold(r.ExchangeGuid, p.String("ExchangeGuid")) {
		change["ExchangeGuid"] = p.String("ExchangeGuid")
	}
	if p.Has("ArchiveGuid") && !strings.EqualFold(r.ArchiveGuid, p.String("ArchiveGuid")) {
		change["ArchiveGuid"] = p.String("ArchiveGuid")
	}
	if len(change) == 0 {
		return true, nil
	}
	change["Identity"] = id
	if err := c.invoke(ctx, "Set-MailUser", change, nil); err != nil {
		return nil, err
	}
	return true, nil
}
