package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/worker/catalog"
)

// Recipient holds the properties that these functions read. Addresses carry their type:
// "SMTP:" is the primary one, "smtp:" the others, and some are no mail addresses.
type Recipient struct {
	Guid                      string
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

	GrantSendOnBehalfTo []string // of mailboxes and groups, but not of Get-Recipient
	ManagedBy           []string // of groups only
}

// StaleError reports that a read does not show a write yet.
type StaleError struct{ What string }

func (e *StaleError) Error() string { return "the change is not visible yet: " + e.What }

// Read gets the one recipient of that identity with a Get- cmdlet.
func (s *Session) Read(ctx context.Context, cmdlet, identity string) (Recipient, error) {
	var found []Recipient
	if err := s.Invoke(ctx, cmdlet, map[string]any{"Identity": identity}, &found); err != nil {
		return Recipient{}, err
	}
	if len(found) != 1 {
		return Recipient{}, Ambiguous(cmdlet, len(found))
	}
	return found[0], nil
}

// Ambiguous is the failure of a cmdlet whose identity n recipients have, which is not one.
func Ambiguous(cmdlet string, n int) error {
	return &catalog.Failure{
		Type: catalog.FailureConflict, Attempts: 1, NotFound: n == 0,
		Message: fmt.Sprintf("%s: %d recipients have this identity", cmdlet, n),
	}
}

// ReadUntil reads until the recipient is as it should be, at the policy's pace, and
// returns it.
func (s *Session) ReadUntil(ctx context.Context, cmdlet, identity, what string, is func(Recipient) bool) (Recipient, error) {
	return Until(ctx, s, what, is, func(ctx context.Context) (Recipient, error) { return s.Read(ctx, cmdlet, identity) })
}

// Until reads until the value is as it should be, at the policy's pace, and returns it.
func Until[T any](ctx context.Context, s *Session, what string, is func(T) bool, read func(context.Context) (T, error)) (T, error) {
	var value T
	attempts, err := s.config.Policy.Do(ctx, Judge, func(ctx context.Context) (err error) {
		value, err = read(ctx)
		if err == nil && !is(value) {
			err = &StaleError{what}
		}
		return err
	})
	if stale, ok := err.(*StaleError); ok {
		return value, &catalog.Failure{Type: catalog.FailureConflict, Message: stale.Error(), Attempts: attempts}
	}
	return value, err
}

// Find looks for a recipient once: it does not wait for one that a replica may not show yet. An identity of several
// recipients is an error for which IsAmbiguous is true.
func (s *Session) Find(ctx context.Context, identity string) (r Recipient, found bool, err error) {
	var all []Recipient
	if err := s.Look(ctx, "Get-Recipient", identity, &all); err != nil || len(all) == 0 {
		return r, false, err
	}
	if len(all) > 1 {
		return r, false, Ambiguous("Get-Recipient", len(all))
	}
	return all[0], true, nil
}

// Names tells whether one of the texts that a cmdlet prints for recipients means this one. Names are not unique, other
// than ids, sign-in names and addresses: Exchange resolves them. It fails for a name of several recipients.
func (s *Session) Names(ctx context.Context, printed []string, r Recipient) (bool, error) {
	if slices.ContainsFunc(printed, r.isIdentifiedBy) {
		return true, nil
	}
	for _, text := range printed {
		if text == "" || !Has([]string{r.Name, r.Alias, r.DisplayName}, text) {
			continue
		}
		named, found, err := s.Find(ctx, text)
		switch {
		case IsAmbiguous(err):
			return false, &catalog.Failure{
				Type: catalog.FailureConflict, Attempts: 1,
				Message: fmt.Sprintf("Exchange prints %q, which is the name of several recipients: it cannot be told whether %s is meant. Give them different names", text, r.PrimarySmtpAddress),
			}
		case err != nil:
			return false, err
		case found && strings.EqualFold(named.ExternalDirectoryObjectId, r.ExternalDirectoryObjectId):
			return true, nil
		}
	}
	return false, nil
}

// Look runs a Get cmdlet, and finds nothing where it could wait for what a replica may not show yet.
func (s *Session) Look(ctx context.Context, cmdlet, identity string, into any) error {
	once := *s
	once.pace.Lag = 0
	err := once.Invoke(ctx, cmdlet, map[string]any{"Identity": identity}, into)
	if Missing(err) {
		return nil
	}
	return err
}

// isIdentifiedBy tells whether a text is one that no other recipient of the tenant has.
func (r Recipient) isIdentifiedBy(text string) bool {
	return text != "" && (Has([]string{r.ExternalDirectoryObjectId, r.UserPrincipalName, r.PrimarySmtpAddress}, text) || Has(r.EmailAddresses, "smtp:"+text))
}

// Cmdlet is the cmdlet with the given verb for recipients of that kind.
func (r Recipient) Cmdlet(verb string) (string, error) {
	switch {
	case r.RecipientType == "MailUser":
		return verb + "-MailUser", nil
	case r.RecipientType == "UserMailbox":
		return verb + "-Mailbox", nil
	case r.IsMicrosoft365Group():
		return verb + "-UnifiedGroup", nil
	case r.IsGroup():
		return verb + "-DistributionGroup", nil
	}
	return "", &catalog.Failure{
		Type: catalog.FailureConflict, Attempts: 1,
		Message: fmt.Sprintf("the recipient is a %s: give a mail user, mailbox or group", r.RecipientType),
	}
}

// IsGroup tells whether the recipient is a distribution list, a mail-enabled security group or a Microsoft 365 group.
func (r Recipient) IsGroup() bool {
	return r.RecipientType == "MailUniversalDistributionGroup" || r.RecipientType == "MailUniversalSecurityGroup"
}

// IsMicrosoft365Group tells whether the recipient is a group with cmdlets of its own, whose RecipientType is that of a list.
func (r Recipient) IsMicrosoft365Group() bool { return r.RecipientTypeDetails == "GroupMailbox" }

// Set changes a recipient of that kind.
func (s *Session) Set(ctx context.Context, r Recipient, id string, change map[string]any) error {
	cmdlet, err := r.Cmdlet("Set")
	if err != nil {
		return err
	}
	change["Identity"] = id
	if r.IsGroup() && !r.IsMicrosoft365Group() {
		change["BypassSecurityGroupManagerCheck"] = true // an application owns no group
	}
	return s.Invoke(ctx, cmdlet, change, nil)
}
