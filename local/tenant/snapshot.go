package tenant

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/matoolkit/matoolkit/internal/snapshot"
	"github.com/matoolkit/matoolkit/local/tenant/directory"
)

// Load puts the objects of a snapshot in, as Seed does, but reads one at a time: a snapshot can be larger than memory has
// room for twice. Errors name the file and line.
func (s *Server) Load(from *snapshot.Reader) error {
	s.dir.Lock()
	defer s.dir.Unlock()
	return s.dir.Together(func() error { return s.load(from) })
}

func (s *Server) load(from *snapshot.Reader) error {
	groups := map[string]bool{} // members that may come later
	err := from.Each(snapshot.Groups, each(func(g SeedGroup) error {
		groups[directory.Fold(directory.Text(g.Properties["id"]))] = true
		return nil
	}))
	if err != nil {
		return err
	}
	put := map[snapshot.Kind]func(int, json.RawMessage) error{
		snapshot.Domains:            each(func(name string) error { return s.dir.AddDomains(name) }),
		snapshot.OrganizationHolds:  each(func(name string) error { return s.dir.AddOrganizationHolds(name) }),
		snapshot.MigrationEndpoints: each(func(name string) error { return s.dir.AddMigrationEndpoints(name) }),
		snapshot.Licenses:           each(s.dir.AddLicense),
		snapshot.Users:              each(s.loadUser),
		snapshot.DeletedUsers:       each(s.seedDeleted),
		snapshot.Groups:             each(func(g SeedGroup) error { return s.loadGroup(g, groups) }),
		snapshot.Recipients:         each(s.seedRecipient),
		snapshot.Policies:           each(s.seedPolicy),
	}
	for _, kind := range snapshot.Kinds() {
		if put[kind] == nil {
			return fmt.Errorf("tenant: no local tenant has %s", kind)
		}
		if err := from.Each(kind, put[kind]); err != nil {
			return err
		}
	}
	return nil
}

// loadUser refuses a user whose sign-in name another one has: a seed would leave it out, and a rehearsal miss the person.
func (s *Server) loadUser(u User) error {
	if owner, taken := s.dir.Owner("upn", u.UPN()); taken && owner != directory.Fold(u.ID()) {
		return fmt.Errorf("the sign-in name %s is that of the user %s, too", u.UPN(), owner)
	}
	return s.seedUser(u)
}

// loadGroup refuses a mail-enabled group whose nickname another one has, for the same reason.
func (s *Server) loadGroup(g SeedGroup, groups map[string]bool) error {
	nickname := directory.Text(g.Properties["mailNickname"])
	owner, taken := s.dir.Owner("groupNickname", nickname)
	if taken && g.Properties["mailEnabled"] == true && owner != directory.Fold(directory.Text(g.Properties["id"])) {
		return fmt.Errorf("the nickname %s is that of the group %s, too", nickname, owner)
	}
	return s.seedGroup(g, groups)
}

// each decodes the lines of a file, and refuses unknown fields.
func each[T any](put func(T) error) func(int, json.RawMessage) error {
	return func(_ int, raw json.RawMessage) error {
		var one T
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		if err := d.Decode(&one); err != nil {
			return err
		}
		return put(one)
	}
}
