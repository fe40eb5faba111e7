package exchange

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
)

func init() { // not a literal: run reaches back into cmdlets
	cmdlets["New-DistributionGroup"] = cmdlet{
		names("Name", "DisplayName", "Alias", "PrimarySmtpAddress", "Type", "ManagedBy", "CopyOwnerToMember", "RequireSenderAuthenticationEnabled", "Confirm"),
		(*Service).newDistributionGroup,
	}
	cmdlets["Set-DistributionGroup"] = cmdlet{
		changeNames("PrimarySmtpAddress", "ManagedBy", "RequireSenderAuthenticationEnabled", "BypassSecurityGroupManagerCheck", "GrantSendOnBehalfTo"), setRecipient(groupKinds...),
	}
}

// newDistributionGroup creates a group and its recipient, in Entra ID and Exchange at once.
func (s *Service) newDistributionGroup(c *call) *reply {
	p := c.exchange
	if refusal := p.missing("Name", "PrimarySmtpAddress"); refusal != nil { // Exchange would make up an address
		return refusal
	}
	primary, refusal := p.smtp("primarysmtpaddress")
	if refusal != nil {
		return refusal
	}
	now, asOf := s.Times()
	r := directory.Recipient{
		Kind: directory.DistributionGroup, GUID: uuid.NewString(), ExternalDirectoryObjectID: uuid.NewString(), EmailAddresses: []string{"SMTP:" + primary},
	}
	kind, external, copied := "Distribution", true, false
	for _, refusal := range []*reply{
		p.text("name", &r.Name), p.text("displayname", &r.DisplayName), p.text("alias", &r.Alias),
		p.choice("type", &kind, "Distribution", "Security"), p.boolean("requiresenderauthenticationenabled", &external), p.boolean("copyownertomember", &copied),
		s.applyOwners(p, &r, asOf),
	} {
		if refusal != nil {
			return refusal
		}
	}
	if kind == "Security" {
		r.Kind = directory.MailEnabledSecurity
	}
	r.AllowExternalSenders = !external
	if r.DisplayName == "" {
		r.DisplayName = r.Name
	}
	if r.Alias == "" {
		r.Alias = strings.ReplaceAll(r.Name, " ", "")
	}
	if owner := s.recipientNamed(r.Name); owner != "" {
		return cmdletFailure(recipientTask, "The name \"%s\" is already being used. Please try another name.", r.Name)
	}
	if refusal := s.checkDomains(directory.Recipient{}, r); refusal != nil {
		return refusal
	}
	if refusal := s.Check(r); refusal != nil {
		return refusal
	}
	if s.Directory.Taken("groupNickname", r.Alias, "") {
		return notSynchronized("Another object with the same value for property mailNickname already exists.")
	}
	g := directory.Group{Properties: map[string]any{
		"id": r.ExternalDirectoryObjectID, "displayName": r.DisplayName, "mailNickname": r.Alias, "mail": primary,
		"mailEnabled": true, "securityEnabled": kind == "Security", "proxyAddresses": r.EmailAddresses, "createdDateTime": now.UTC().Format(time.RFC3339),
	}}
	if copied {
		g.Members = r.ManagedBy
	}
	if err := s.Directory.Commit(asOf, directory.PutGroup(g, now), directory.PutRecipient(r, now)); err != nil {
		return s.storageFailed(err)
	}
	return c.results([]map[string]any{s.output(r)})
}

// applyOwners applies ManagedBy, and what else only groups have.
func (s *Service) applyOwners(p *command, next *directory.Recipient, asOf time.Time) *reply {
	owners, refusal := s.recipients(p, "managedby", next.ManagedBy, []string{directory.MailUser, directory.UserMailbox, directory.MailEnabledSecurity}, asOf)
	if refusal != nil {
		return refusal
	}
	next.ManagedBy = owners
	if _, given := p.parameters["requiresenderauthenticationenabled"]; given {
		required := true
		if refusal := p.boolean("requiresenderauthenticationenabled", &required); refusal != nil {
			return refusal
		}
		next.AllowExternalSenders = !required
	}
	return nil
}
