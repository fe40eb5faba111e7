package tenant

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// forwardSync are the changes that a new version of a user brings to Exchange:
// its mail user appears or follows the directory.
func (s *Server) forwardSync(u User, now time.Time) []change {
	r, exists := s.dir.recipients.rows[u.ID()].latest()
	if exists {
		r.UserPrincipalName, r.DisplayName = u.UPN(), u.Text("displayName")
		r.EmailAddresses = u.List("proxyAddresses")
		return []change{putRecipient(r, now)}
	}
	if !s.provisions(u) {
		return nil
	}
	primary, external := u.Text("mail"), u.Text("mail")
	if others := u.List("otherMails"); len(others) > 0 {
		external = others[0]
	}
	if primary == "" {
		primary = external
	}
	if s.dir.taken("proxy", "smtp:"+primary, u.ID()) || s.dir.taken("alias", u.Text("mailNickname"), u.ID()) {
		return nil // Exchange reports a validation error; there is no recipient until it is mended
	}
	r = Recipient{
		Kind: MailUser, GUID: uuid.NewString(), ExternalDirectoryObjectID: u.ID(), Name: u.ID(),
		DisplayName: u.Text("displayName"), Alias: u.Text("mailNickname"), UserPrincipalName: u.UPN(),
		EmailAddresses: withPrimary(u.List("proxyAddresses"), primary), ExternalEmailAddress: external,
	}
	at := now.Add(s.cfg.ProvisionDelay)
	changes := []change{putRecipient(r, at)}
	if !slices.Equal(r.EmailAddresses, u.List("proxyAddresses")) {
		changes = append(changes, putUser(writtenBack(u, r), at))
	}
	return changes
}

func (s *Server) provisions(u User) bool {
	if !s.cfg.ProvisionMailUsers || u.Text("mailNickname") == "" || u.Text("mail") == "" && len(u.List("otherMails")) == 0 {
		return false
	}
	return !slices.ContainsFunc(s.cfg.ProvisionExcept, func(except string) bool {
		return strings.EqualFold(except, u.UPN()) || strings.EqualFold(except, u.Text("department"))
	})
}

// backSync is the user as Exchange writes it back after its recipient changed.
func (s *Server) backSync(r Recipient, now time.Time) []change {
	u, exists := s.dir.users.rows[r.ExternalDirectoryObjectID].latest()
	if !exists {
		return nil
	}
	return []change{putUser(writtenBack(u, r), now)}
}

func writtenBack(u User, r Recipient) User {
	return u.with(map[string]any{
		"mail": r.Primary(), "proxyAddresses": r.EmailAddresses, "displayName": r.DisplayName,
		"userPrincipalName": r.UserPrincipalName, "mailNickname": r.Alias,
	})
}

// withPrimary makes address the one primary SMTP address and keeps the old one
// as a secondary; an empty address changes nothing.
func withPrimary(addresses []string, address string) []string {
	if address == "" {
		return addresses
	}
	out := []string{"SMTP:" + address}
	for _, a := range addresses {
		if rest, isPrimary := strings.CutPrefix(a, "SMTP:"); isPrimary {
			a = "smtp:" + rest
		}
		if !strings.EqualFold(a, "smtp:"+address) {
			out = append(out, a)
		}
	}
	return out
}
