package exchange

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
)

type cmdlet struct {
	parameters map[string]bool // folded names
	run        func(*Service, *call) *reply
}

var cmdlets = map[string]cmdlet{}

func init() { // not a literal: run reaches back into cmdlets
	list := func(names ...string) map[string]bool {
		set := map[string]bool{"erroraction": true, "warningaction": true}
		for _, name := range names {
			set[directory.Fold(name)] = true
		}
		return set
	}
	get := list("Identity", "ResultSize")
	change := list("Identity", "EmailAddresses", "WindowsEmailAddress", "Alias", "DisplayName", "Name",
		"MicrosoftOnlineServicesID", "HiddenFromAddressListsEnabled", "Confirm", "Force")
	for i := 1; i <= 15; i++ {
		change[fmt.Sprintf("customattribute%d", i)] = true
	}
	changeMailUser := maps.Clone(change)
	maps.Copy(changeMailUser, list("ExternalEmailAddress", "ExchangeGuid", "ArchiveGuid"))
	cmdlets["Get-Recipient"] = cmdlet{get, getRecipients(directory.MailUser, directory.UserMailbox, directory.DistributionGroup, directory.MailEnabledSecurity)}
	cmdlets["Get-MailUser"] = cmdlet{get, getRecipients(directory.MailUser)}
	cmdlets["Get-Mailbox"] = cmdlet{get, getRecipients(directory.UserMailbox)}
	cmdlets["Get-DistributionGroup"] = cmdlet{get, getRecipients(directory.DistributionGroup, directory.MailEnabledSecurity)}
	cmdlets["Set-MailUser"] = cmdlet{changeMailUser, setRecipient(directory.MailUser)}
	changeMailbox := maps.Clone(change)
	maps.Copy(changeMailbox, list("ForwardingSmtpAddress", "ForwardingAddress", "DeliverToMailboxAndForward"))
	cmdlets["Set-Mailbox"] = cmdlet{changeMailbox, setRecipient(directory.UserMailbox)}
	cmdlets["New-MailUser"] = cmdlet{list("Name", "ExternalEmailAddress", "MicrosoftOnlineServicesID", "Password", "Alias",
		"DisplayName", "PrimarySmtpAddress", "FirstName", "LastName", "Confirm"), (*Service).newMailUser}
	cmdlets["Get-AcceptedDomain"] = cmdlet{get, (*Service).acceptedDomains}
	cmdlets["Get-DistributionGroupMember"] = cmdlet{get, (*Service).groupMembers}
	membership := list("Identity", "Member", "BypassSecurityGroupManagerCheck", "Confirm")
	cmdlets["Add-DistributionGroupMember"] = cmdlet{membership, (*Service).addGroupMember}
	cmdlets["Remove-DistributionGroupMember"] = cmdlet{membership, (*Service).removeGroupMember}
}

func cmdletName(given string) (string, bool) {
	for name := range cmdlets {
		if strings.EqualFold(name, given) {
			return name, true
		}
	}
	return "", false
}

// findRecipient is the recipient of one of the kinds that a reader sees under
// an identity: object id, GUID, user principal name, alias, name or address.
func (s *Service) findRecipient(identity string, asOf time.Time, kinds []string) (directory.Recipient, bool) {
	id := directory.Fold(identity)
	if !s.Directory.Recipients.Known(id) {
		for _, kind := range []string{"guid", "upn", "alias"} {
			if owner, found := s.Directory.Owner(kind, identity); found {
				id = owner
			}
		}
		if owner, found := s.Directory.Owner("proxy", "smtp:"+strings.TrimPrefix(id, "smtp:")); found {
			id = owner
		}
		if !s.Directory.Recipients.Known(id) {
			id = s.recipientNamed(identity)
		}
	}
	r, visible := s.Directory.Recipients.Visible(id, asOf)
	return r, visible && slices.Contains(kinds, r.Kind)
}

func (s *Service) recipientNamed(name string) string {
	for _, r := range s.Directory.Recipients.All() {
		if strings.EqualFold(r.Name, name) {
			return r.ExternalDirectoryObjectID
		}
	}
	return ""
}

func (c *call) identity() (string, *reply) {
	value, present := c.exchange.parameters["identity"]
	identity, isText := value.(string)
	if !present {
		return "", cmdletFailure(parameterBinding, "Cannot process command because of one or more missing mandatory parameters: Identity.")
	}
	if !isText || strings.TrimSpace(identity) == "" {
		return "", cmdletFailure(parameterBinding, "Cannot bind argument to parameter 'Identity' because it is an empty string.")
	}
	return identity, nil
}

func getRecipients(kinds ...string) func(*Service, *call) *reply {
	return func(s *Service, c *call) *reply {
		_, asOf := s.Times()
		if _, named := c.exchange.parameters["identity"]; !named {
			var found []map[string]any
			for _, r := range s.Directory.Recipients.AllVisible(asOf) {
				if slices.Contains(kinds, r.Kind) {
					found = append(found, output(r))
				}
			}
			return c.results(found)
		}
		identity, refusal := c.identity()
		if refusal != nil {
			return refusal
		}
		r, found := s.findRecipient(identity, asOf, kinds)
		if !found {
			return recipientNotFound(identity)
		}
		return c.results([]map[string]any{output(r)})
	}
}

// output is a recipient as the cmdlets of its family print it.
func output(r directory.Recipient) map[string]any {
	out := map[string]any{
		"Guid": r.GUID, "ExternalDirectoryObjectId": r.ExternalDirectoryObjectID,
		"Identity": r.Name, "Id": r.Name, "Name": r.Name, "DisplayName": r.DisplayName, "Alias": r.Alias,
		"PrimarySmtpAddress": r.Primary(), "WindowsEmailAddress": r.Primary(), "EmailAddresses": r.EmailAddresses,
		"RecipientType": r.Kind, "RecipientTypeDetails": r.Kind,
		"HiddenFromAddressListsEnabled": r.Hidden,
	}
	for i := 1; i <= 15; i++ {
		name := fmt.Sprintf("CustomAttribute%d", i)
		out[name] = r.Custom[name]
	}
	if r.IsGroup() {
		return out
	}
	out["UserPrincipalName"] = r.UserPrincipalName
	out["MicrosoftOnlineServicesID"] = r.UserPrincipalName
	out["WindowsLiveID"] = r.UserPrincipalName
	out["ExchangeGuid"] = directory.OrZero(r.ExchangeGUID)
	out["ArchiveGuid"] = directory.OrZero(r.ArchiveGUID)
	if r.Kind == directory.UserMailbox {
		out["ForwardingSmtpAddress"], out["ForwardingAddress"] = nil, nil
		if r.ForwardingSMTP != "" {
			out["ForwardingSmtpAddress"] = "smtp:" + r.ForwardingSMTP
		}
		if r.ForwardingAddress != "" {
			out["ForwardingAddress"] = r.ForwardingAddress
		}
		out["DeliverToMailboxAndForward"] = r.KeepsForwarded
	}
	out["ExternalEmailAddress"] = nil
	if r.ExternalEmailAddress != "" {
		out["ExternalEmailAddress"] = "SMTP:" + r.ExternalEmailAddress
	}
	return out
}

func setRecipient(kinds ...string) func(*Service, *call) *reply {
	return func(s *Service, c *call) *reply {
		identity, refusal := c.identity()
		if refusal != nil {
			return refusal
		}
		now, asOf := s.Times()
		seen, found := s.findRecipient(identity, asOf, kinds)
		if !found {
			return recipientNotFound(identity)
		}
		current, exists := s.Directory.Recipients.Latest(seen.ExternalDirectoryObjectID)
		if !exists {
			return recipientNotFound(identity)
		}
		next, refusal := c.exchange.applyTo(current, s.ExternalMovesPrimary())
		if refusal == nil {
			refusal = s.applyForwarding(c.exchange, &next, asOf)
		}
		if refusal != nil {
			return refusal
		}
		if sameRecipient(current, next) {
			c.warn(fmt.Sprintf("The command completed successfully but no settings of '%s' have been modified.", current.Name))
			return c.results(nil)
		}
		if refusal := s.checkDomains(current, next); refusal != nil {
			return refusal
		}
		if refusal := s.Check(next); refusal != nil {
			return refusal
		}
		changes := append([]directory.Change{directory.PutRecipient(next, now)}, s.Directory.BackSync(next, now)...)
		if err := s.Directory.Commit(asOf, changes...); err != nil {
			return s.storageFailed(err)
		}
		return c.results(nil)
	}
}

func sameRecipient(a, b directory.Recipient) bool {
	return slices.Equal(a.EmailAddresses, b.EmailAddresses) && maps.Equal(a.Custom, b.Custom) &&
		a.ExternalEmailAddress == b.ExternalEmailAddress && strings.EqualFold(directory.OrZero(a.ExchangeGUID), directory.OrZero(b.ExchangeGUID)) &&
		strings.EqualFold(directory.OrZero(a.ArchiveGUID), directory.OrZero(b.ArchiveGUID)) && a.Alias == b.Alias && a.DisplayName == b.DisplayName &&
		a.Name == b.Name && a.UserPrincipalName == b.UserPrincipalName && a.Hidden == b.Hidden &&
		a.ForwardingSMTP == b.ForwardingSMTP && a.ForwardingAddress == b.ForwardingAddress && a.KeepsForwarded == b.KeepsForwarded
}

// Check refuses a recipient with values that another object in the tenant has.
func (s *Service) Check(r directory.Recipient) *reply {
	id := r.ExternalDirectoryObjectID
	for _, address := range r.EmailAddresses {
		owner, taken := s.Directory.Owner("proxy", address)
		if !taken || owner == id {
			continue
		}
		if _, exists := s.Directory.Recipients.Latest(owner); !exists { // only Entra ID knows of it
			return notSynchronized("Another object with the same value for property proxyAddresses already exists. ConflictingObject: User_" + owner + ".")
		}
		return cmdletFailure(proxyExists, "The proxy address \"%s\" is already being used by the proxy addresses or LegacyExchangeDN of \"%s\". Please choose another proxy address.", address, owner)
	}
	if s.Directory.Taken("alias", r.Alias, id) {
		return cmdletFailure(recipientTask, "The value \"%s\" of property \"Alias\" is used by another recipient object. Please specify a unique value.", r.Alias)
	}
	if r.UserPrincipalName != "" && !directory.ValidUPN(r.UserPrincipalName) {
		return cmdletFailure(invalidData, "The user principal name \"%s\" isn't valid.", r.UserPrincipalName)
	}
	if !r.IsGroup() && s.Directory.Taken("userNickname", r.Alias, id) {
		return cmdletFailure(recipientTask, "The value \"%s\" of property \"Alias\" is used by another object. Please specify a unique value.", r.Alias)
	}
	if r.UserPrincipalName != "" && s.Directory.Taken("upn", r.UserPrincipalName, id) {
		return cmdletFailure(recipientTask, "The user principal name \"%s\" is already being used by another object. Please specify a unique value.", r.UserPrincipalName)
	}
	if guid := directory.OrZero(r.ExchangeGUID); guid != directory.ZeroGUID && s.Directory.Taken("exchangeGuid", guid, id) {
		return cmdletFailure(recipientTask, "The value \"%s\" of property \"ExchangeGuid\" is used by another recipient object. Please specify a unique value.", guid)
	}
	return nil
}

// group is the latest state of the distribution group an identity names.
func (s *Service) group(c *call, asOf time.Time) (directory.Recipient, directory.Group, *reply) {
	identity, refusal := c.identity()
	if refusal != nil {
		return directory.Recipient{}, directory.Group{}, refusal
	}
	r, found := s.findRecipient(identity, asOf, []string{directory.DistributionGroup, directory.MailEnabledSecurity})
	if !found {
		return directory.Recipient{}, directory.Group{}, recipientNotFound(identity)
	}
	g, exists := s.Directory.Groups.Latest(r.ExternalDirectoryObjectID)
	if !exists {
		return directory.Recipient{}, directory.Group{}, recipientNotFound(identity)
	}
	return r, g, nil
}

// groupMembers lists the members that are recipients; Exchange does not see
// the others.
func (s *Service) groupMembers(c *call) *reply {
	_, asOf := s.Times()
	r, _, refusal := s.group(c, asOf)
	if refusal != nil {
		return refusal
	}
	g, _ := s.Directory.Groups.Visible(r.ExternalDirectoryObjectID, asOf)
	var members []map[string]any
	for _, id := range g.Members {
		if member, visible := s.Directory.Recipients.Visible(id, asOf); visible {
			members = append(members, output(member))
		}
	}
	return c.results(members)
}

func (s *Service) memberOf(c *call, asOf time.Time) (directory.Recipient, *reply) {
	identity := directory.Text(c.exchange.parameters["member"])
	if identity == "" {
		return directory.Recipient{}, cmdletFailure(parameterBinding, "Cannot process command because of one or more missing mandatory parameters: Member.")
	}
	member, found := s.findRecipient(identity, asOf, []string{directory.MailUser, directory.UserMailbox, directory.DistributionGroup, directory.MailEnabledSecurity})
	if !found {
		return directory.Recipient{}, exchangeFailure(404, "NotFound", objectNotFound, "Couldn't find object \"%s\". Please make sure that it was spelled correctly or specify a different object.", identity)
	}
	return member, nil
}

func (s *Service) addGroupMember(c *call) *reply {
	now, asOf := s.Times()
	r, g, refusal := s.group(c, asOf)
	if refusal != nil {
		return refusal
	}
	member, refusal := s.memberOf(c, asOf)
	if refusal != nil {
		return refusal
	}
	if slices.Contains(g.Members, member.ExternalDirectoryObjectID) {
		return cmdletFailure(memberExists, "The recipient \"%s\" is already a member of the group \"%s\".", member.Name, r.Name)
	}
	g.Members = append(slices.Clone(g.Members), member.ExternalDirectoryObjectID)
	return s.saveMembers(c, g, now, asOf)
}

func (s *Service) removeGroupMember(c *call) *reply {
	now, asOf := s.Times()
	r, g, refusal := s.group(c, asOf)
	if refusal != nil {
		return refusal
	}
	member, refusal := s.memberOf(c, asOf)
	if refusal != nil {
		return refusal
	}
	if !slices.Contains(g.Members, member.ExternalDirectoryObjectID) {
		return cmdletFailure(memberNotFound, "The recipient \"%s\" isn't a member of the group \"%s\".", member.Name, r.Name)
	}
	g.Members = directory.Without(g.Members, member.ExternalDirectoryObjectID)
	return s.saveMembers(c, g, now, asOf)
}

func (s *Service) saveMembers(c *call, g directory.Group, now, asOf time.Time) *reply {
	if err := s.Directory.Commit(asOf, directory.PutGroup(g, now)); err != nil {
		return s.storageFailed(err)
	}
	return c.results(nil)
}
