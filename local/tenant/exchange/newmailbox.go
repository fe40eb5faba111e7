package exchange

import (
	"time"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
)

func init() { // not a literal: run reaches back into cmdlets
	cmdlets["New-Mailbox"] = cmdlet{
		names("Name", "DisplayName", "Alias", "PrimarySmtpAddress", "Shared", "Room", "Equipment", "Confirm"), (*Service).newMailbox,
	}
}

// newMailbox creates a mailbox that is not one person's, with its user. Mailboxes of people come from
// their licences.
func (s *Service) newMailbox(c *call) *reply {
	p := c.exchange
	kind := ""
	for _, name := range []string{"Shared", "Room", "Equipment"} {
		is := false
		if refusal := p.boolean(directory.Fold(name), &is); refusal != nil {
			return refusal
		}
		switch {
		case is && kind != "":
			return cmdletFailure(parameterBinding, "Parameter set cannot be resolved using the specified named parameters.")
		case is:
			kind = name
		}
	}
	if kind == "" {
		return cmdletFailure(parameterBinding, "Parameter set cannot be resolved using the specified named parameters: specify Shared, Room or Equipment.")
	}
	if refusal := p.missing("Name", "PrimarySmtpAddress"); refusal != nil { // Exchange would make up an address
		return refusal
	}
	primary, refusal := p.smtp("primarysmtpaddress")
	if refusal != nil {
		return refusal
	}
	r, u, refusal := s.mailUserFrom(p, primary, "", primary)
	if refusal != nil {
		return refusal
	}
	r.Kind, r.MailboxType, r.ExchangeGUID = directory.UserMailbox, kind, uuid.NewString()
	now, asOf := s.Times()
	u["createdDateTime"] = now.UTC().Format(time.RFC3339)
	if refusal := s.checkDomains(directory.Recipient{}, r); refusal != nil {
		return refusal
	}
	if refusal := s.Check(r); refusal != nil {
		return refusal
	}
	if err := s.Directory.CheckUser(u); err != nil {
		return notSynchronized(err.Error())
	}
	if err := s.Directory.Commit(asOf, directory.PutUser(u, now), directory.PutRecipient(r, now)); err != nil {
		return s.storageFailed(err)
	}
	return c.results([]map[string]any{s.output(r)})
}

// applyType applies Type of Set-Mailbox.
func (s *Service) applyType(p *command, next *directory.Recipient, _ time.Time) *reply {
	kind := next.MailboxType
	if refusal := p.choice("type", &kind, "Regular", "Shared", "Room", "Equipment"); refusal != nil {
		return refusal
	}
	if kind == "Regular" {
		kind = ""
	}
	next.MailboxType = kind
	return nil
}
