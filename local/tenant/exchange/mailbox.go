package exchange

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
)

// Mailbox is the recipient of a user with an Exchange plan: a mailbox, or a mail user that waits for its
// mailbox of another tenant, whose ExchangeGuid it has. SMTP addresses in domains that the tenant does not
// have are removed. at is when the licence takes effect.
func (s *Service) Mailbox(u directory.User, at time.Time) (directory.Recipient, *reply) {
	r, exists := s.Directory.Recipients.Latest(u.ID())
	switch {
	case !exists:
		primary := u.Text("mail")
		if primary == "" || !s.Directory.Accepts(primary) {
			primary = u.UPN()
		}
		r = directory.Recipient{
			Kind: directory.UserMailbox, GUID: uuid.NewString(), ExternalDirectoryObjectID: u.ID(), Name: u.ID(), DisplayName: u.Text("displayName"),
			Alias: u.Text("mailNickname"), UserPrincipalName: u.UPN(), EmailAddresses: directory.WithPrimary(u.List("proxyAddresses"), primary),
			ExchangeGUID: uuid.NewString(),
		}
	case r.Kind == directory.DisconnectedMailbox:
		r.Kind = directory.UserMailbox
		if at.Sub(r.Disconnected) > directory.KeptDisconnected {
			r.ExchangeGUID, r.ArchiveGUID, r.Holds, r.AutoReply, r.Calendar = uuid.NewString(), "", nil, nil, nil
		}
		r.Disconnected = time.Time{}
	case r.Kind == directory.MailUser && directory.OrZero(r.ExchangeGUID) == directory.ZeroGUID:
		r.Kind, r.ExternalEmailAddress, r.ExchangeGUID = directory.UserMailbox, "", uuid.NewString()
	}
	r.EmailAddresses = slices.DeleteFunc(slices.Clone(r.EmailAddresses), func(a string) bool {
		rest, secondary := strings.CutPrefix(a, "smtp:")
		return secondary && !s.Directory.Accepts(rest)
	})
	return r, s.Check(r)
}
