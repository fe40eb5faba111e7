package exchange

import (
	"strings"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
)

func init() { // not a literal: run reaches back into cmdlets
	cmdlets["Get-MailContact"] = cmdlet{names("Identity", "ResultSize"), getRecipients(directory.MailContact)}
	cmdlets["New-MailContact"] = cmdlet{names("Name", "ExternalEmailAddress", "Alias", "DisplayName", "Confirm"), (*Service).newMailContact}
	cmdlets["Set-MailContact"] = cmdlet{changeNames("ExternalEmailAddress"), setRecipient(directory.MailContact)}
	cmdlets["Remove-MailContact"] = cmdlet{names("Identity", "Confirm"), (*Service).removeMailContact}
}

// newMailContact creates a contact, which is a recipient without a user. Its external address is its primary one.
func (s *Service) newMailContact(c *call) *reply {
	p := c.exchange
	if refusal := p.missing("Name", "ExternalEmailAddress"); refusal != nil {
		return refusal
	}
	external, refusal := p.smtp("externalemailaddress")
	if refusal != nil {
		return refusal
	}
	r := directory.Recipient{
		Kind: directory.MailContact, GUID: uuid.NewString(), ExternalDirectoryObjectID: uuid.NewString(),
		EmailAddresses: []string{"SMTP:" + external}, ExternalEmailAddress: external,
	}
	for _, refusal := range []*reply{p.text("name", &r.Name), p.text("displayname", &r.DisplayName), p.text("alias", &r.Alias)} {
		if refusal != nil {
			return refusal
		}
	}
	if r.DisplayName == "" {
		r.DisplayName = r.Name
	}
	if r.Alias == "" {
		r.Alias = strings.ReplaceAll(r.Name, " ", "")
	}
	if len(r.Name) > 64 {
		return cmdletFailure(invalidData, "The value \"%s\" of property \"Name\" is too long: its length can't exceed 64 characters.", r.Name)
	}
	if s.recipientNamed(r.Name) != "" {
		return cmdletFailure(recipientTask, "The name \"%s\" is already being used. Please try another name.", r.Name)
	}
	if refusal := s.Check(r); refusal != nil {
		return refusal
	}
	now, asOf := s.Times()
	if err := s.Directory.Commit(asOf, directory.PutRecipient(r, now)); err != nil {
		return s.storageFailed(err)
	}
	return c.results([]map[string]any{s.output(r)})
}

func (s *Service) removeMailContact(c *call) *reply {
	identity, refusal := c.identity()
	if refusal != nil {
		return refusal
	}
	now, asOf := s.Times()
	r, found := s.findRecipient(identity, asOf, []string{directory.MailContact})
	if found {
		_, found = s.Directory.Recipients.Latest(r.ExternalDirectoryObjectID)
	}
	if !found {
		return recipientNotFound(identity)
	}
	if err := s.Directory.Commit(asOf, directory.DeleteRecipient(r.ExternalDirectoryObjectID, now)); err != nil {
		return s.storageFailed(err)
	}
	return c.nothing()
}
