package exchange

import (
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
)

// Move is a step of the move of a mailbox out of another tenant of the system: its first copy, or its completion.
type Move struct {
	Endpoint     string
	ExchangeGUID string
	Archive      bool   // whether the mail user of the target waits for an archive, too
	Completes    bool   // the mailbox leaves its source
	Routing      string // address of the mailbox in the target
	Refusal      string // why the source keeps the mailbox

	batch, email string
}

// DueMoves are the steps that are due and that the other tenant has not carried out. It locks the directory.
func (s *Service) DueMoves() []Move {
	s.Directory.Lock()
	defer s.Directory.Unlock()
	now, _ := s.Times()
	var due []Move
	for _, b := range s.Directory.Batches.All() {
		if !s.Linked(b.SourceEndpoint) {
			continue
		}
		for _, u := range b.Users {
			r, exists := s.Directory.Recipients.Latest(u.ID)
			at, set := s.completion(b, u)
			completes := set && !now.Before(at.Add(s.MoveDelay))
			if u.Error != "" || u.Moved || !exists || now.Before(s.copied(b, u)) || u.Copied && (u.Left || !completes) {
				continue
			}
			due = append(due, Move{
				Endpoint: b.SourceEndpoint, ExchangeGUID: r.ExchangeGUID, Archive: directory.OrZero(r.ArchiveGUID) != directory.ZeroGUID,
				Completes: u.Copied, Routing: addressIn(r, b.TargetDeliveryDomain), batch: b.Name, email: u.Email,
			})
		}
	}
	return due
}

// addressIn is the first SMTP address of a recipient in a domain.
func addressIn(r directory.Recipient, domain string) string {
	for _, a := range r.EmailAddresses {
		if rest, is := strings.CutPrefix(strings.ToLower(a), "smtp:"); is && strings.HasSuffix(rest, "@"+strings.ToLower(domain)) {
			return a[len("smtp:"):]
		}
	}
	return ""
}

// Release is the source's half of a step. It returns why the mailbox cannot be moved, empty if it can; a mail user
// takes the place of a mailbox that leaves. It locks the directory.
func (s *Service) Release(m Move) (refusal string, err error) {
	s.Directory.Lock()
	defer s.Directory.Unlock()
	now, asOf := s.Times()
	id, found := s.Directory.Owner("exchangeGuid", m.ExchangeGUID)
	r, exists := s.Directory.Recipients.Latest(id)
	switch {
	case !found, !exists, !m.Completes && r.Kind != directory.UserMailbox:
		return "MigrationPermanentException: Cannot find a recipient that has mailbox GUID '" + m.ExchangeGUID + "'.", nil
	case r.AutoExpanding:
		return "MigrationPermanentException: The archive of the mailbox '" + r.Primary() + "' is auto-expanding. Additional archives can't be moved.", nil
	case directory.OrZero(r.ArchiveGUID) != directory.ZeroGUID && !m.Archive:
		return "MigrationPermanentException: You must specify the PrimaryOnly parameter, because the target mail user has no archive.", nil
	case !m.Completes, r.Kind == directory.MailUser:
		return "", nil
	}
	left := directory.Recipient{
		Kind: directory.MailUser, ExternalEmailAddress: m.Routing,
		GUID: r.GUID, ExternalDirectoryObjectID: r.ExternalDirectoryObjectID, Name: r.Name, DisplayName: r.DisplayName, Alias: r.Alias,
		UserPrincipalName: r.UserPrincipalName, EmailAddresses: r.EmailAddresses, ExchangeGUID: r.ExchangeGUID, ArchiveGUID: r.ArchiveGUID,
		LegacyDN: r.LegacyDN, Hidden: r.Hidden, Custom: r.Custom,
	}
	return "", s.Directory.Commit(asOf, directory.PutRecipient(left, now))
}

// NoteMoves keeps what the other tenant did with the steps of DueMoves, and finishes the moves. It locks the directory.
func (s *Service) NoteMoves(done []Move) error {
	s.Directory.Lock()
	defer s.Directory.Unlock()
	now, asOf := s.Times()
	for _, b := range s.Directory.Batches.All() {
		b.Users = slices.Clone(b.Users)
		changed := false
		for i, u := range b.Users {
			for _, m := range done {
				if m.batch != b.Name || m.email != u.Email {
					continue
				}
				changed = true
				b.Users[i].Error, b.Users[i].Copied, b.Users[i].Left = m.Refusal, true, u.Left || m.Completes && m.Refusal == ""
			}
		}
		if !changed {
			continue
		}
		if err := s.Directory.Commit(asOf, directory.PutBatch(b, now)); err != nil {
			return err
		}
	}
	return s.FinishMoves()
}
