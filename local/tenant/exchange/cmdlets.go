package exchange

import (
	"fmt"
	"iter"
	"maps"
	"reflect"
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

// names is the set of a cmdlet's parameters.
func names(parameters ...string) map[string]bool {
	set := map[string]bool{"erroraction": true, "warningaction": true}
	for _, name := range parameters {
		set[directory.Fold(name)] = true
	}
	return set
}

// changeNames are the parameters that the Set cmdlets of recipients have in common.
func changeNames(more ...string) map[string]bool {
	set := names("Identity", "EmailAddresses", "WindowsEmailAddress", "Alias", "DisplayName", "Name", "HiddenFromAddressListsEnabled", "Confirm", "Force")
	for i := 1; i <= 15; i++ {
		set[fmt.Sprintf("customattribute%d", i)] = true
	}
	maps.Copy(set, names(more...))
	return set
}

func init() { // not a literal: run reaches back into cmdlets
	get := names("Identity", "ResultSize")
	cmdlets["Get-Recipient"] = cmdlet{get, getRecipients(recipientKinds...)}
	cmdlets["Get-MailUser"] = cmdlet{get, getRecipients(directory.MailUser)}
	cmdlets["Get-Mailbox"] = cmdlet{get, getRecipients(directory.UserMailbox)}
	cmdlets["Get-DistributionGroup"] = cmdlet{get, getRecipients(groupKinds...)}
	cmdlets["Set-MailUser"] = cmdlet{
		changeNames("MicrosoftOnlineServicesID", "ExternalEmailAddress", "ExchangeGuid", "ArchiveGuid", "EnableLitigationHoldForMigration"), setRecipient(directory.MailUser),
	}
	cmdlets["Remove-MailUser"] = cmdlet{names("Identity", "Confirm"), (*Service).removeMailUser}
	cmdlets["Set-Mailbox"] = cmdlet{
		changeNames("MicrosoftOnlineServicesID", "ForwardingSmtpAddress", "ForwardingAddress", "DeliverToMailboxAndForward", "Type", "GrantSendOnBehalfTo"),
		setRecipient(directory.UserMailbox),
	}
	cmdlets["New-MailUser"] = cmdlet{names("Name", "ExternalEmailAddress", "MicrosoftOnlineServicesID", "Password", "Alias",
		"DisplayName", "PrimarySmtpAddress", "FirstName", "LastName", "Confirm"), (*Service).newMailUser}
	cmdlets["Get-AcceptedDomain"] = cmdlet{get, (*Service).acceptedDomains}
	cmdlets["Get-DistributionGroupMember"] = cmdlet{get, (*Service).groupMembers}
	membership := names("Identity", "Member", "BypassSecurityGroupManagerCheck", "Confirm")
	cmdlets["Add-DistributionGroupMember"] = cmdlet{membership, (*Service).addGroupMember}
	cmdlets["Remove-DistributionGroupMember"] = cmdlet{membership, (*Service).removeGroupMember}
}

// groupKinds are the kinds of groups that only Exchange manages, and recipientKinds those of all recipients.
var (
	groupKinds     = []string{directory.DistributionGroup, directory.MailEnabledSecurity}
	recipientKinds = append([]string{directory.MailUser, directory.UserMailbox, directory.MailContact, directory.GroupMailbox}, groupKinds...)
)

func cmdletName(given string) (string, bool) {
	for name := range cmdlets {
		if strings.EqualFold(name, given) {
			return name, true
		}
	}
	return "", false
}

// findRecipient is the recipient of one of the kinds that a reader sees under
// an identity: object id, GUID, user principal name, alias, address, name or display name. A name of several recipients
// finds none.
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
			if id = ""; len(s.namesakes(identity)) == 1 {
				id = s.namesakes(identity)[0]
			}
		}
	}
	r, visible := s.Directory.Recipients.Visible(id, asOf)
	return r, visible && slices.Contains(kinds, r.Kind)
}

// namesakes are the recipients with a name, or, if there are none, with a display name.
func (s *Service) namesakes(name string) []string {
	if ids := s.Directory.Owners("name", name); len(ids) > 0 {
		return ids
	}
	return s.Directory.Owners("displayName", name)
}

func (s *Service) recipientNamed(name string) string {
	id, _ := s.Directory.Owner("name", name)
	return id
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

// ofKinds gives the recipients of some kinds that readers see.
func (s *Service) ofKinds(kinds []string, asOf time.Time) iter.Seq[directory.Recipient] {
	return func(yield func(directory.Recipient) bool) {
		for r := range s.Directory.Recipients.EachVisible(asOf) {
			if slices.Contains(kinds, r.Kind) && !yield(r) {
				return
			}
		}
	}
}

func getRecipients(kinds ...string) func(*Service, *call) *reply {
	return func(s *Service, c *call) *reply {
		_, asOf := s.Times()
		if _, named := c.exchange.parameters["identity"]; !named {
			return resultsOf(c, s.ofKinds(kinds, asOf), s.output)
		}
		identity, refusal := c.identity()
		if refusal != nil {
			return refusal
		}
		r, found := s.findRecipient(identity, asOf, kinds)
		switch {
		case !found && len(s.namesakes(identity)) > 1:
			return cmdletFailure(ambiguous, "The operation couldn't be performed because '%s' matches multiple entries.", identity)
		case !found:
			return recipientNotFound(identity)
		}
		return c.results([]map[string]any{s.output(r)})
	}
}

// output is a recipient as the cmdlets of its family print it.
func (s *Service) output(r directory.Recipient) map[string]any {
	out := map[string]any{
		"Guid": r.GUID, "ExternalDirectoryObjectId": r.ExternalDirectoryObjectID,
		"Identity": r.Name, "Id": r.Name, "Name": r.Name, "DisplayName": r.DisplayName, "Alias": r.Alias,
		"PrimarySmtpAddress": r.Primary(), "WindowsEmailAddress": r.Primary(), "EmailAddresses": r.EmailAddresses,
		"RecipientType": r.Type(), "RecipientTypeDetails": r.Kind, "LegacyExchangeDN": r.LegacyExchangeDN(),
		"HiddenFromAddressListsEnabled": r.Hidden,
	}
	for i := 1; i <= 15; i++ {
		name := fmt.Sprintf("CustomAttribute%d", i)
		out[name] = r.Custom[name]
	}
	if r.IsGroup() {
		owners := r.ManagedBy
		if r.Kind == directory.GroupMailbox {
			g, _ := s.Directory.Groups.Latest(r.ExternalDirectoryObjectID)
			owners = g.Owners
		}
		out["ManagedBy"] = s.namesOf(owners)
		out["GrantSendOnBehalfTo"] = s.namesOf(r.SendOnBehalf)
		out["RequireSenderAuthenticationEnabled"] = !r.AllowExternalSenders
		return out
	}
	out["ExternalEmailAddress"] = nil
	if r.ExternalEmailAddress != "" {
		out["ExternalEmailAddress"] = "SMTP:" + r.ExternalEmailAddress
	}
	if r.Kind == directory.MailContact {
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
		out["AutoExpandingArchiveEnabled"] = r.AutoExpanding
		out["GrantSendOnBehalfTo"] = s.namesOf(r.SendOnBehalf)
		if r.MailboxType != "" {
			out["RecipientTypeDetails"] = r.MailboxType + "Mailbox"
		}
		maps.Copy(out, holdsOf(r))
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
		if both := c.exchange.parameters; both["emailaddresses"] != nil && both["primarysmtpaddress"] != nil {
			return cmdletFailure(parameterBinding, "The parameters EmailAddresses and PrimarySmtpAddress can't be used at the same time.")
		}
		next, refusal := c.exchange.applyTo(current, s.ExternalMovesPrimary())
		for _, apply := range []func(*command, *directory.Recipient, time.Time) *reply{s.applyForwarding, s.applyType, s.applySendOnBehalf, s.applyOwners, s.keepsInitialAddress} {
			if refusal == nil {
				refusal = apply(c.exchange, &next, asOf)
			}
		}
		if refusal != nil {
			return refusal
		}
		if sameRecipient(current, next) {
			c.warn(fmt.Sprintf("The command completed successfully but no settings of '%s' have been modified.", current.Name))
			return c.nothing()
		}
		if refusal := s.checkDomains(current, next); refusal != nil {
			return refusal
		}
		if refusal := s.Check(next); refusal != nil {
			return refusal
		}
		return s.saveRecipient(c, next, now, asOf)
	}
}

// saveRecipient stores a recipient, and what Entra ID knows of it.
func (s *Service) saveRecipient(c *call, r directory.Recipient, now, asOf time.Time) *reply {
	changes := append([]directory.Change{directory.PutRecipient(r, now)}, s.Directory.BackSync(r, now)...)
	if err := s.Directory.Commit(asOf, changes...); err != nil {
		return s.storageFailed(err)
	}
	return c.nothing()
}

// sameRecipient tells whether a change changes nothing.
func sameRecipient(a, b directory.Recipient) bool {
	for _, r := range []*directory.Recipient{&a, &b} {
		r.ExchangeGUID, r.ArchiveGUID = directory.Fold(directory.OrZero(r.ExchangeGUID)), directory.Fold(directory.OrZero(r.ArchiveGUID))
	}
	return reflect.DeepEqual(a, b)
}

// Check refuses a recipient with values that another object in the tenant has.
func (s *Service) Check(r directory.Recipient) *reply {
	id := r.ExternalDirectoryObjectID
	for _, address := range r.EmailAddresses {
		owner, taken := s.Directory.Owner("proxy", address)
		if !taken || owner == id {
			continue
		}
		if other, exists := s.Directory.Recipients.Latest(owner); !exists || other.Kind == directory.DisconnectedMailbox { // only Entra ID knows of it
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
