package directory

import (
	"maps"
	"strings"
	"time"
)

// ForwardSync are the changes that a new version of a user brings to Exchange: its
// recipient, if it has one, follows the directory.
func (d *Directory) ForwardSync(u User, now time.Time) []Change {
	r, exists := d.Recipients.Latest(u.ID())
	if exists {
		r.UserPrincipalName, r.DisplayName = u.UPN(), u.Text("displayName")
		r.EmailAddresses = u.List("proxyAddresses")
		return []Change{PutRecipient(r, now)}
	}
	return nil
}

// BackSync is the user or group as Exchange writes it back after its recipient changed.
func (d *Directory) BackSync(r Recipient, now time.Time) []Change {
	if g, exists := d.Groups.Latest(r.ExternalDirectoryObjectID); exists {
		properties := maps.Clone(g.Properties)
		maps.Copy(properties, map[string]any{
			"mail": r.Primary(), "proxyAddresses": r.EmailAddresses, "displayName": r.DisplayName, "mailNickname": r.Alias,
		})
		g.Properties = properties
		return []Change{PutGroup(g, now)}
	}
	u, exists := d.Users.Latest(r.ExternalDirectoryObjectID)
	if !exists {
		return nil
	}
	return []Change{PutUser(WrittenBack(u, r), now)}
}

// WrittenBack is a user with what its recipient says of it.
func WrittenBack(u User, r Recipient) User {
	return u.With(map[string]any{
		"mail": r.Primary(), "proxyAddresses": r.EmailAddresses, "displayName": r.DisplayName,
		"userPrincipalName": r.UserPrincipalName, "mailNickname": r.Alias,
	})
}

// WithPrimary makes address the one primary SMTP address and keeps the old one
// as a secondary; an empty address changes nothing.
func WithPrimary(addresses []string, address string) []string {
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
