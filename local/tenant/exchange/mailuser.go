package exchange

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
)

// newMailUser creates a user and its mail user, in Entra ID and Exchange at once.
func (s *Service) newMailUser(c *call) *reply {
	p := c.exchange
	for _, name := range []string{"Name", "MicrosoftOnlineServicesID", "Password"} {
		if directory.Text(p.parameters[directory.Fold(name)]) == "" {
			return cmdletFailure(parameterBinding, "Cannot process command because of one or more missing mandatory parameters: %s.", name)
		}
	}
	upn := directory.Text(p.parameters["microsoftonlineservicesid"])
	external, primary := "", upn
	var refusal *reply
	if given := directory.Text(p.parameters["externalemailaddress"]); given != "" {
		if external, refusal = smtpAddress(given); refusal != nil {
			return refusal
		}
		primary = external
	}
	if given := directory.Text(p.parameters["primarysmtpaddress"]); given != "" && !s.IgnoresPrimarySMTP() {
		if primary, refusal = smtpAddress(given); refusal != nil {
			return refusal
		}
	}
	r, u, refusal := s.mailUserFrom(p, upn, external, primary)
	if refusal != nil {
		return refusal
	}
	now, asOf := s.Times()
	u["createdDateTime"] = now.UTC().Format(time.RFC3339)
	for _, check := range []func() *reply{
		func() *reply { return s.checkDomains(directory.Recipient{}, r) },
		func() *reply { return s.Check(r) },
	} {
		if refusal := check(); refusal != nil {
			return refusal
		}
	}
	if err := s.Directory.CheckUser(u); err != nil {
		return notSynchronized(err.Error())
	}
	if err := s.Directory.Commit(asOf, directory.PutUser(u, now), directory.PutRecipient(r, now)); err != nil {
		return s.storageFailed(err)
	}
	return c.results([]map[string]any{s.output(r)})
}

// removeMailUser deletes a mail user, and moves its account to the deleted items.
func (s *Service) removeMailUser(c *call) *reply {
	identity, refusal := c.identity()
	if refusal != nil {
		return refusal
	}
	now, asOf := s.Times()
	seen, found := s.findRecipient(identity, asOf, []string{directory.MailUser})
	id := seen.ExternalDirectoryObjectID
	r, exists := s.Directory.Recipients.Latest(id)
	if !found || !exists || r.Kind != directory.MailUser {
		return recipientNotFound(identity)
	}
	if r.Holds != nil && r.Holds.Litigation {
		return cmdletFailure(recipientTask, "The mail user '%s' is on hold: it can't be removed without the IgnoreLegalHold switch.", identity)
	}
	u, _ := s.Directory.Users.Latest(id)
	changes := append([]directory.Change{directory.DeleteUser(id, now), directory.DeleteRecipient(id, now)}, s.Directory.LeaveGroups(id, now)...)
	if err := s.Directory.Commit(asOf, changes...); err != nil {
		return s.storageFailed(err)
	}
	if u != nil {
		if err := s.Directory.KeepDeleted(u.Deleted(now)); err != nil {
			return s.storageFailed(err)
		}
	}
	return c.nothing()
}

func (s *Service) mailUserFrom(p *command, upn, external, primary string) (directory.Recipient, directory.User, *reply) {
	name := directory.Text(p.parameters["name"])
	if len(name) > 64 {
		return directory.Recipient{}, nil, cmdletFailure(invalidData, "The value \"%s\" of property \"Name\" is too long: its length can't exceed 64 characters.", name)
	}
	if owner := s.recipientNamed(name); owner != "" {
		return directory.Recipient{}, nil, cmdletFailure(recipientTask, "The name \"%s\" is already being used. Please try another name.", name)
	}
	alias, _, _ := strings.Cut(upn, "@")
	if given := directory.Text(p.parameters["alias"]); given != "" {
		alias = given
	}
	display := name
	if given := directory.Text(p.parameters["displayname"]); given != "" {
		display = given
	}
	addresses := []string{"SMTP:" + primary}
	if external != "" && !strings.EqualFold(external, primary) {
		addresses = append(addresses, "smtp:"+external)
	}
	u := directory.User{
		"id": uuid.NewString(), "userPrincipalName": upn, "displayName": display, "mailNickname": alias, "mail": primary,
		"accountEnabled": true, "userType": "Member",
		"givenName": p.parameters["firstname"], "surname": p.parameters["lastname"], "proxyAddresses": addresses,
	}
	return directory.Recipient{
		Kind: directory.MailUser, GUID: uuid.NewString(), ExternalDirectoryObjectID: u.ID(), Name: name, DisplayName: display, Alias: alias,
		UserPrincipalName: upn, EmailAddresses: addresses, ExternalEmailAddress: external,
	}, u, nil
}

// notSynchronized is the refusal of a change that Exchange Online accepts and Entra ID does not.
func notSynchronized(detail string) *reply {
	return cmdletFailure(recipientTask, "An Azure Active Directory call was made to keep object in sync between Azure Active Directory and Exchange Online. "+
		"However, it failed. Detailed error message:\n\t%s", detail)
}

// checkDomains refuses a recipient whose new sign-in name, or one of whose new SMTP addresses, is in a
// domain that the tenant does not have. The external address may be.
func (s *Service) checkDomains(before, r directory.Recipient) *reply {
	refused := r.UserPrincipalName != before.UserPrincipalName && !s.Directory.Accepts(r.UserPrincipalName)
	for _, address := range r.EmailAddresses {
		kind, rest, _ := strings.Cut(address, ":")
		known := slices.ContainsFunc(before.EmailAddresses, func(a string) bool { return strings.EqualFold(a, address) })
		if strings.EqualFold(kind, "smtp") && !known && !strings.EqualFold(rest, r.ExternalEmailAddress) && !s.Directory.Accepts(rest) {
			refused = true
		}
	}
	if refused {
		return cmdletFailure(notAccepted, "You can't use the domain because it's not an accepted domain for your organization.")
	}
	return nil
}

// acceptedDomains lists the domains of the tenant, which are its verified ones.
func (s *Service) acceptedDomains(c *call) *reply {
	var found []map[string]any
	for _, name := range s.domainNames() {
		if identity, named := c.exchange.parameters["identity"]; named && directory.Fold(directory.Text(identity)) != name {
			continue
		}
		found = append(found, map[string]any{"Name": name, "DomainName": name, "DomainType": "Authoritative", "Default": false})
	}
	return c.results(found)
}

// domainNames are the verified domains, or, in a tenant that accepts all, those in use.
func (s *Service) domainNames() []string {
	names := slices.Collect(maps.Keys(s.Directory.Domains))
	if len(names) == 0 {
		for u := range s.Directory.Users.Each() {
			for _, address := range append(slices.Clone(u.List("proxyAddresses")), u.UPN()) {
				names = append(names, directory.Fold(address[strings.LastIndexByte(address, '@')+1:]))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
