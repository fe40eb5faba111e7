package tenant

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/matoolkit/matoolkit/internal/snapshot"
	"github.com/matoolkit/matoolkit/local/tenant/directory"
	"github.com/matoolkit/matoolkit/local/tenant/graph"
)

// Load puts the objects of a snapshot in, as Seed does, but reads one at a time: a snapshot can be larger than memory has
// room for twice. Errors name the file and line.
func (s *Server) Load(from *snapshot.Reader) error {
	s.dir.Lock()
	defer s.dir.Unlock()
	s.loading = true
	defer func() { s.loading = false }()
	return s.dir.Together(func() error { return s.load(from) })
}

// Findings are conflicts of objects of a snapshot: a nickname that two groups have, or a member of a group who was
// created after the users had been read. The objects are loaded as they are, without what they refer to in vain.
func (s *Server) Findings() []string {
	s.dir.Lock()
	defer s.dir.Unlock()
	return slices.Clone(s.found)
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
		snapshot.Users:              s.loadUsers(),
		snapshot.DeletedUsers:       each(s.seedDeleted),
		snapshot.Groups:             each(func(g SeedGroup) error { return s.seedGroup(g, groups) }),
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

// loadUsers puts the users in.
func (s *Server) loadUsers() func(int, json.RawMessage) error {
	in := directory.Interner{}
	return func(_ int, raw json.RawMessage) error {
		u, err := in.User(raw, graph.UserProperty)
		if err != nil {
			return err
		}
		return s.loadUser(u)
	}
}

// loadUser leaves out a user whose sign-in name another one has: the name was given on while the users were read.
func (s *Server) loadUser(u User) error {
	if owner, taken := s.dir.Owner("upn", u.UPN()); taken && owner != directory.Fold(u.ID()) {
		return s.conflict(fmt.Sprintf("the user %s (%s)", u.UPN(), u.ID()), fmt.Errorf("its sign-in name is that of the user %s, too, and it is left out", owner))
	}
	return s.seedUser(u)
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
