package tenant

import (
	"strings"
	"time"
)

// forwardSync are the changes that a new version of a user brings to Exchange: its
// recipient, if it has one, follows the directory.
func (s *Server) forwardSync(u User, now time.Time) []change {
	r, exists := s.dir.recipients.rows[u.ID()].latest()
	if exists {
		r.UserPrincipalName, r.DisplayName = u.UPN(), u.Text("displayName")
		r.EmailAddresses = u.List("proxyAddresses")
		return []change{putRecipient(r, now)}
	}
	return nil
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
