package exchange

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
)

func init() { // not a literal: run reaches back into cmdlets
	full := grant{"user", "FullAccess", mailboxKinds, func(r *directory.Recipient) *[]string { return &r.FullAccess }}
	send := grant{"trustee", "SendAs", sendAsKinds, func(r *directory.Recipient) *[]string { return &r.SendAs }}
	cmdlets["Get-MailboxPermission"] = cmdlet{names("Identity", "ResultSize"), (*Service).mailboxPermissions}
	cmdlets["Add-MailboxPermission"] = cmdlet{names("Identity", "User", "AccessRights", "AutoMapping", "InheritanceType", "Confirm"), full.add}
	cmdlets["Remove-MailboxPermission"] = cmdlet{names("Identity", "User", "AccessRights", "InheritanceType", "Confirm"), full.remove}
	cmdlets["Get-RecipientPermission"] = cmdlet{names("Identity", "ResultSize"), (*Service).recipientPermissions}
	cmdlets["Add-RecipientPermission"] = cmdlet{names("Identity", "Trustee", "AccessRights", "Confirm"), send.add}
	cmdlets["Remove-RecipientPermission"] = cmdlet{names("Identity", "Trustee", "AccessRights", "Confirm"), send.remove}
}

// The kinds of recipients that permissions are on.
var (
	mailboxKinds = []string{directory.UserMailbox}
	sendAsKinds  = []string{directory.UserMailbox, directory.GroupMailbox, directory.DistributionGroup, directory.MailEnabledSecurity}
)

// grant is a permission on a whole recipient.
type grant struct {
	parameter string // that names the trustee, folded
	right     string
	kinds     []string
	of        func(*directory.Recipient) *[]string
}

// self is the account of a mailbox itself, with all permissions.
const self = `NT AUTHORITY\SELF`

// principal is how permissions print a recipient: a user by the sign-in name.
func (s *Service) principal(id string) string {
	r, exists := s.Directory.Recipients.Latest(id)
	switch {
	case !exists:
		return "S-1-5-21-" + id // of a recipient that is gone
	case r.UserPrincipalName != "":
		return r.UserPrincipalName
	}
	return r.Name
}

func (s *Service) mailboxPermissions(c *call) *reply {
	_, asOf := s.Times()
	r, _, refusal := s.mailbox(c, asOf)
	if refusal != nil {
		return refusal
	}
	row := func(user string, rights ...string) map[string]any {
		return map[string]any{"Identity": r.Name, "User": user, "AccessRights": rights, "IsInherited": false, "Deny": false, "InheritanceType": "All"}
	}
	found := []map[string]any{row(self, "FullAccess", "ReadPermission")}
	for _, id := range r.FullAccess {
		found = append(found, row(s.principal(id), "FullAccess"))
	}
	return c.results(found)
}

func (s *Service) recipientPermissions(c *call) *reply {
	_, asOf := s.Times()
	if _, named := c.exchange.parameters["identity"]; !named { // of all recipients
		return resultsOf(c, sendAsOf(s.ofKinds(sendAsKinds, asOf)), s.printSendAs)
	}
	r, _, refusal := s.ofKind(c, sendAsKinds, asOf)
	if refusal != nil {
		return refusal
	}
	return resultsOf(c, sendAsOf(slices.Values([]directory.Recipient{r})), s.printSendAs)
}

// sendAs is a permission to send as a recipient.
type sendAs struct{ recipient, trustee string } // name, and id or self

func sendAsOf(recipients iter.Seq[directory.Recipient]) iter.Seq[sendAs] {
	return func(yield func(sendAs) bool) {
		for r := range recipients {
			if !yield(sendAs{r.Name, self}) {
				return
			}
			for _, trustee := range r.SendAs {
				if !yield(sendAs{r.Name, trustee}) {
					return
				}
			}
		}
	}
}

func (s *Service) printSendAs(p sendAs) map[string]any {
	trustee := p.trustee
	if trustee != self {
		trustee = s.principal(trustee)
	}
	return map[string]any{
		"Identity": p.recipient, "Trustee": trustee, "AccessControlType": "Allow", "AccessRights": []string{"SendAs"}, "IsInherited": false, "InheritanceType": "None",
	}
}

// read reads a command: the mailbox or group, and who gets or loses the permission.
func (g grant) read(s *Service, c *call, asOf time.Time) (mailbox, trustee directory.Recipient, refusal *reply) {
	p := c.exchange
	_, mailbox, refusal = s.ofKind(c, g.kinds, asOf)
	if refusal != nil {
		return mailbox, trustee, refusal
	}
	rights, refusal := p.texts("accessrights")
	if refusal != nil {
		return mailbox, trustee, refusal
	}
	if len(rights) != 1 || !strings.EqualFold(rights[0], g.right) {
		return mailbox, trustee, cmdletFailure(parameterBinding, "Cannot process argument transformation on parameter 'AccessRights': specify %s.", g.right)
	}
	inheritance, mapping := "All", true
	for _, refusal := range []*reply{p.choice("inheritancetype", &inheritance, "All", "None"), p.boolean("automapping", &mapping)} {
		if refusal != nil {
			return mailbox, trustee, refusal
		}
	}
	identity := directory.Text(p.parameters[g.parameter])
	trustee, found := s.findRecipient(identity, asOf, []string{directory.MailUser, directory.UserMailbox, directory.MailEnabledSecurity})
	if !found {
		return mailbox, trustee, exchangeFailure(404, "NotFound", objectNotFound, "User or Group \"%s\" wasn't found. Please make sure you've typed it correctly.", identity)
	}
	return mailbox, trustee, nil
}

func (g grant) add(s *Service, c *call) *reply {
	now, asOf := s.Times()
	mailbox, trustee, refusal := g.read(s, c, asOf)
	if refusal != nil {
		return refusal
	}
	have := g.of(&mailbox)
	if slices.Contains(*have, trustee.ExternalDirectoryObjectID) {
		if g.right == "FullAccess" {
			return cmdletFailure(entryExists, "An existing permission entry was found for user: %s.", trustee.Name)
		}
		c.warn(fmt.Sprintf("The appropriate access control entry is already present on the object \"%s\" for account \"%s\".", mailbox.Name, trustee.Name))
		return c.nothing()
	}
	*have = append(slices.Clone(*have), trustee.ExternalDirectoryObjectID)
	return s.saveRecipient(c, mailbox, now, asOf)
}

func (g grant) remove(s *Service, c *call) *reply {
	now, asOf := s.Times()
	mailbox, trustee, refusal := g.read(s, c, asOf)
	if refusal != nil {
		return refusal
	}
	have := g.of(&mailbox)
	if !slices.Contains(*have, trustee.ExternalDirectoryObjectID) {
		because := "because the ACE doesn't exist on the object."
		if g.right == "SendAs" {
			because = "because the ACE isn't present."
		}
		c.warn(fmt.Sprintf("Can't remove the access control entry on the object \"%s\" for account \"%s\" %s", mailbox.Name, trustee.Name, because))
		return c.nothing()
	}
	*have = directory.Without(*have, trustee.ExternalDirectoryObjectID)
	return s.saveRecipient(c, mailbox, now, asOf)
}

// applySendOnBehalf applies GrantSendOnBehalfTo.
func (s *Service) applySendOnBehalf(p *command, next *directory.Recipient, asOf time.Time) *reply {
	ids, refusal := s.recipients(p, "grantsendonbehalfto", next.SendOnBehalf, recipientKinds, asOf)
	if refusal != nil {
		return refusal
	}
	next.SendOnBehalf = ids
	return nil
}
