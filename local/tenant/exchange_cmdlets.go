package tenant

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

type cmdlet struct {
	parameters map[string]bool // folded names
	run        func(*Server, *call) *reply
}

var cmdlets = map[string]cmdlet{}

func init() { // not a literal: run reaches back into cmdlets
	list := func(names ...string) map[string]bool {
		set := map[string]bool{"erroraction": true, "warningaction": true}
		for _, name := range names {
			set[fold(name)] = true
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
	cmdlets["Get-Recipient"] = cmdlet{get, getRecipients(MailUser, UserMailbox, DistributionGroup, MailEnabledSecurity)}
	cmdlets["Get-MailUser"] = cmdlet{get, getRecipients(MailUser)}
	cmdlets["Get-Mailbox"] = cmdlet{get, getRecipients(UserMailbox)}
	cmdlets["Get-DistributionGroup"] = cmdlet{get, getRecipients(DistributionGroup, MailEnabledSecurity)}
	cmdlets["Set-MailUser"] = cmdlet{changeMailUser, setRecipient(MailUser)}
	changeMailbox := maps.Clone(change)
	maps.Copy(changeMailbox, list("ForwardingSmtpAddress", "ForwardingAddress", "DeliverToMailboxAndForward"))
	cmdlets["Set-Mailbox"] = cmdlet{changeMailbox, setRecipient(UserMailbox)}
	cmdlets["New-MailUser"] = cmdlet{list("Name", "ExternalEmailAddress", "MicrosoftOnlineServicesID", "Password", "Alias",
		"DisplayName", "PrimarySmtpAddress", "FirstName", "LastName", "Confirm"), (*Server).newMailUser}
	cmdlets["Get-AcceptedDomain"] = cmdlet{get, (*Server).acceptedDomains}
	cmdlets["Get-DistributionGroupMember"] = cmdlet{get, (*Server).groupMembers}
	membership := list("Identity", "Member", "BypassSecurityGroupManagerCheck", "Confirm")
	cmdlets["Add-DistributionGroupMember"] = cmdlet{membership, (*Server).addGroupMember}
	cmdlets["Remove-DistributionGroupMember"] = cmdlet{membership, (*Server).removeGroupMember}
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
func (s *Server) findRecipient(identity string, asOf time.Time, kinds []string) (Recipient, bool) {
	id := fold(identity)
	if _, isID := s.dir.recipients.rows[id]; !isID {
		for _, kind := range []string{"guid", "upn", "alias"} {
			if owner, found := s.dir.owner(kind, identity); found {
				id = owner
			}
		}
		if owner, found := s.dir.owner("proxy", "smtp:"+strings.TrimPrefix(id, "smtp:")); found {
			id = owner
		}
		if s.dir.recipients.rows[id] == nil {
			id = s.recipientNamed(identity)
		}
	}
	r, visible := s.dir.recipients.rows[id].visible(asOf)
	return r, visible && slices.Contains(kinds, r.Kind)
}

func (s *Server) recipientNamed(name string) string {
	for _, r := range s.dir.recipients.all((*history[Recipient]).latest) {
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

func getRecipients(kinds ...string) func(*Server, *call) *reply {
	return func(s *Server, c *call) *reply {
		_, asOf := s.times()
		if _, named := c.exchange.parameters["identity"]; !named {
			var found []map[string]any
			for _, r := range s.dir.recipients.all(func(h *history[Recipient]) (Recipient, bool) { return h.visible(asOf) }) {
				if slices.Contains(kinds, r.Kind) {
					found = append(found, r.output())
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
		return c.results([]map[string]any{r.output()})
	}
}

func setRecipient(kinds ...string) func(*Server, *call) *reply {
	return func(s *Server, c *call) *reply {
		identity, refusal := c.identity()
		if refusal != nil {
			return refusal
		}
		now, asOf := s.times()
		seen, found := s.findRecipient(identity, asOf, kinds)
		if !found {
			return recipientNotFound(identity)
		}
		current, exists := s.dir.recipients.rows[seen.ExternalDirectoryObjectID].latest()
		if !exists {
			return recipientNotFound(identity)
		}
		next, refusal := c.exchange.applyTo(current, s.faults.externalMovesPrimary())
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
		if refusal := s.checkRecipient(next); refusal != nil {
			return refusal
		}
		changes := append([]change{putRecipient(next, now)}, s.backSync(next, now)...)
		if err := s.dir.commit(asOf, changes...); err != nil {
			return s.storageFailed(err)
		}
		return c.results(nil)
	}
}

func sameRecipient(a, b Recipient) bool {
	return slices.Equal(a.EmailAddresses, b.EmailAddresses) && maps.Equal(a.Custom, b.Custom) &&
		a.ExternalEmailAddress == b.ExternalEmailAddress && strings.EqualFold(orZero(a.ExchangeGUID), orZero(b.ExchangeGUID)) &&
		strings.EqualFold(orZero(a.ArchiveGUID), orZero(b.ArchiveGUID)) && a.Alias == b.Alias && a.DisplayName == b.DisplayName &&
		a.Name == b.Name && a.UserPrincipalName == b.UserPrincipalName && a.Hidden == b.Hidden &&
		a.ForwardingSMTP == b.ForwardingSMTP && a.ForwardingAddress == b.ForwardingAddress && a.KeepsForwarded == b.KeepsForwarded
}

// checkRecipient refuses values that another object in the tenant has.
func (s *Server) checkRecipient(r Recipient) *reply {
	id := r.ExternalDirectoryObjectID
	for _, address := range r.EmailAddresses {
		owner, taken := s.dir.owner("proxy", address)
		if !taken || owner == id {
			continue
		}
		if _, exists := s.dir.recipients.rows[owner].latest(); !exists { // only Entra ID knows of it
			return notSynchronized("Another object with the same value for property proxyAddresses already exists. ConflictingObject: User_" + owner + ".")
		}
		return cmdletFailure(proxyExists, "The proxy address \"%s\" is already being used by the proxy addresses or LegacyExchangeDN of \"%s\". Please choose another proxy address.", address, owner)
	}
	if s.dir.taken("alias", r.Alias, id) {
		return cmdletFailure(recipientTask, "The value \"%s\" of property \"Alias\" is used by another recipient object. Please specify a unique value.", r.Alias)
	}
	if r.UserPrincipalName != "" && !upnPattern.MatchString(r.UserPrincipalName) {
		return cmdletFailure(invalidData, "The user principal name \"%s\" isn't valid.", r.UserPrincipalName)
	}
	if !r.isGroup() && s.dir.taken("userNickname", r.Alias, id) {
		return cmdletFailure(recipientTask, "The value \"%s\" of property \"Alias\" is used by another object. Please specify a unique value.", r.Alias)
	}
	if r.UserPrincipalName != "" && s.dir.taken("upn", r.UserPrincipalName, id) {
		return cmdletFailure(recipientTask, "The user principal name \"%s\" is already being used by another object. Please specify a unique value.", r.UserPrincipalName)
	}
	if guid := orZero(r.ExchangeGUID); guid != zeroGUID && s.dir.taken("exchangeGuid", guid, id) {
		return cmdletFailure(recipientTask, "The value \"%s\" of property \"ExchangeGuid\" is used by another recipient object. Please specify a unique value.", guid)
	}
	return nil
}

// group is the latest state of the distribution group an identity names.
func (s *Server) group(c *call, asOf time.Time) (Recipient, Group, *reply) {
	identity, refusal := c.identity()
	if refusal != nil {
		return Recipient{}, Group{}, refusal
	}
	r, found := s.findRecipient(identity, asOf, []string{DistributionGroup, MailEnabledSecurity})
	if !found {
		return Recipient{}, Group{}, recipientNotFound(identity)
	}
	g, exists := s.dir.groups.rows[r.ExternalDirectoryObjectID].latest()
	if !exists {
		return Recipient{}, Group{}, recipientNotFound(identity)
	}
	return r, g, nil
}

// groupMembers lists the members that are recipients; Exchange does not see
// the others.
func (s *Server) groupMembers(c *call) *reply {
	_, asOf := s.times()
	r, _, refusal := s.group(c, asOf)
	if refusal != nil {
		return refusal
	}
	g, _ := s.dir.groups.rows[r.ExternalDirectoryObjectID].visible(asOf)
	var members []map[string]any
	for _, id := range g.Members {
		if member, visible := s.dir.recipients.rows[id].visible(asOf); visible {
			members = append(members, member.output())
		}
	}
	return c.results(members)
}

func (s *Server) memberOf(c *call, asOf time.Time) (Recipient, *reply) {
	identity := text(c.exchange.parameters["member"])
	if identity == "" {
		return Recipient{}, cmdletFailure(parameterBinding, "Cannot process command because of one or more missing mandatory parameters: Member.")
	}
	member, found := s.findRecipient(identity, asOf, []string{MailUser, UserMailbox, DistributionGroup, MailEnabledSecurity})
	if !found {
		return Recipient{}, exchangeFailure(404, "NotFound", objectNotFound, "Couldn't find object \"%s\". Please make sure that it was spelled correctly or specify a different object.", identity)
	}
	return member, nil
}

func (s *Server) addGroupMember(c *call) *reply {
	now, asOf := s.times()
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

func (s *Server) removeGroupMember(c *call) *reply {
	now, asOf := s.times()
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
	g.Members = without(g.Members, member.ExternalDirectoryObjectID)
	return s.saveMembers(c, g, now, asOf)
}

func (s *Server) saveMembers(c *call, g Group, now, asOf time.Time) *reply {
	if err := s.dir.commit(asOf, putGroup(g, now)); err != nil {
		return s.storageFailed(err)
	}
	return c.results(nil)
}
