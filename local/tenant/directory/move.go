package directory

import (
	"strings"
	"time"
)

// Move is a step of the move of a mailbox out of another tenant of the system: its first copy, or its completion.
type Move struct {
	ExchangeGUID string
	Archive      bool   // whether the mail user of the target waits for an archive, too
	Completes    bool   // the mailbox leaves its source
	Routing      string // address of the mailbox in the target
}

// Release is the source's half of a step. It returns why the mailbox cannot be moved, empty if it can; a mail user
// takes the place of a mailbox that leaves. The caller has locked the directory.
func (d *Directory) Release(m Move, now, asOf time.Time) (refusal string, err error) {
	id, found := d.Owner("exchangeGuid", m.ExchangeGUID)
	r, exists := d.Recipients.Latest(id)
	switch {
	case !found, !exists, !m.Completes && r.Kind != UserMailbox:
		return "MigrationPermanentException: Cannot find a recipient that has mailbox GUID '" + m.ExchangeGUID + "'.", nil
	case r.AutoExpanding:
		return "MigrationPermanentException: The archive of the mailbox '" + r.Primary() + "' is auto-expanding. Additional archives can't be moved.", nil
	case OrZero(r.ArchiveGUID) != ZeroGUID && !m.Archive:
		return "MigrationPermanentException: You must specify the PrimaryOnly parameter, because the target mail user has no archive.", nil
	case !m.Completes, r.Kind == MailUser:
		return "", nil
	}
	left := Recipient{
		Kind: MailUser, ExternalEmailAddress: m.Routing,
		GUID: r.GUID, ExternalDirectoryObjectID: r.ExternalDirectoryObjectID, Name: r.Name, DisplayName: r.DisplayName, Alias: r.Alias,
		UserPrincipalName: r.UserPrincipalName, EmailAddresses: r.EmailAddresses, ExchangeGUID: r.ExchangeGUID, ArchiveGUID: r.ArchiveGUID,
		LegacyDN: r.LegacyDN, Hidden: r.Hidden, Custom: r.Custom,
	}
	return "", d.Commit(asOf, PutRecipient(left, now))
}

// MoveOf is the step of a move to a mail user, whose address in the target is in a domain.
func MoveOf(r Recipient, domain string, completes bool) Move {
	return Move{ExchangeGUID: r.ExchangeGUID, Archive: OrZero(r.ArchiveGUID) != ZeroGUID, Completes: completes, Routing: addressIn(r, domain)}
}

// addressIn is the first SMTP address of a recipient in a domain.
func addressIn(r Recipient, domain string) string {
	for _, a := range r.EmailAddresses {
		if rest, is := strings.CutPrefix(strings.ToLower(a), "smtp:"); is && strings.HasSuffix(rest, "@"+strings.ToLower(domain)) {
			return a[len("smtp:"):]
		}
	}
	return ""
}
