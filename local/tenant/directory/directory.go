// Package directory is the one directory of a tenant: the users and groups of Entra ID
// and the recipients of Exchange, in memory and on disk. It knows no protocol.
package directory

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// User is an Entra user: Graph property names to JSON values. Values are never
// changed in place.
type User map[string]any

// ID is the object id.
func (u User) ID() string { return Text(u["id"]) }

// UPN is the user principal name.
func (u User) UPN() string { return Text(u["userPrincipalName"]) }

// Text is the string property name, empty when absent or null.
func (u User) Text(name string) string { return Text(u[name]) }

// List is the string collection property name.
func (u User) List(name string) []string { return Texts(u[name]) }

// Group is an Entra group with the object ids of its direct members in the
// order they were added.
type Group struct {
	Properties map[string]any `json:"properties"`
	Members    []string       `json:"members"`
	Owners     []string       `json:"owners,omitempty"` // users; those of a team are members, too
}

// ID is the object id.
func (g Group) ID() string { return Text(g.Properties["id"]) }

// ExchangeManaged tells whether only Exchange may change the membership: a
// distribution list or a mail-enabled security group, but not a Microsoft 365
// group.
func (g Group) ExchangeManaged() bool {
	return g.Properties["mailEnabled"] == true && !slices.Contains(Texts(g.Properties["groupTypes"]), "Unified")
}

// Directory is the tenant's state in memory. Callers lock it through a whole
// decision, so that a check and the write that follows it are one step.
type Directory struct {
	sync.Mutex
	disk       *disk // nil: nothing outlives the process
	Users      table[User]
	Groups     table[Group]
	Recipients table[Recipient]
	Batches    table[MigrationBatch] // by folded name
	Contents   table[ContentTask]    // by folded source
	Policies   table[Policy]         // of Conditional Access
	Jobs       table[MigrationJob]   // by folded name

	Provisionings table[Provisioning] // that wait, by id of the user
	provisioned   agenda

	keys     lookups
	recent   []recent
	licensed map[string]int // users with a product by its folded id
	journal  journal        // nil: changes are not noted

	Mails    []Mail          // sent since the start
	Domains  map[string]bool // verified ones; empty: every domain is accepted
	Licenses []License
	Sites    []Site

	DeletedUsers []User // in the deleted items

	// DueBatches and DueJobs tell when moves of mailboxes go on.
	DueBatches, DueJobs agenda

	MigrationEndpoints []string // names of the endpoints in other tenants; empty: all names are accepted
	OrganizationHolds  []string // retention policies of all mailboxes, as Get-OrganizationConfig prints them
}

// Open loads the directory that is kept in dir; an empty dir keeps nothing.
func Open(ctx context.Context, dir string) (*Directory, error) {
	d := &Directory{
		Users: newTable[User](), Groups: newTable[Group](), Recipients: newTable[Recipient](), Batches: newTable[MigrationBatch](),
		Contents: newTable[ContentTask](), Jobs: newTable[MigrationJob](), Policies: newTable[Policy](),
		Provisionings: newTable[Provisioning](), provisioned: newAgenda(),
		keys: lookups{}, licensed: map[string]int{}, Domains: map[string]bool{}, DueBatches: newAgenda(), DueJobs: newAgenda(),
	}
	if dir == "" {
		return d, nil
	}
	var err error
	if d.disk, err = openDisk(ctx, dir); err != nil {
		return nil, err
	}
	if err := d.disk.load(ctx, d); err != nil {
		d.disk.db.Close()
		return nil, err
	}
	return d, nil
}

// Close closes the state on disk, once a change under way is written.
func (d *Directory) Close() error {
	if d.disk == nil {
		return nil
	}
	d.Lock()
	defer d.Unlock()
	return d.disk.db.Close()
}

// kind is the kind of an object, as it is on disk.
type kind string

const (
	userKind         kind = "user"
	groupKind        kind = "group"
	recipientKind    kind = "recipient"
	batchKind        kind = "batch"
	contentTaskKind  kind = "contentTask"
	policyKind       kind = "policy"
	migrationJobKind kind = "migrationJob"
	provisioningKind kind = "provisioning"
)

// Change is one object's next version, or its deletion.
type Change struct {
	kind  kind
	id    string
	at    time.Time
	value any // of the type of the kind; nil for a deletion
}

// PutUser is the next version of a user.
func PutUser(u User, at time.Time) Change {
	return Change{kind: userKind, id: u.ID(), at: at, value: u}
}

// PutGroup is the next version of a group.
func PutGroup(g Group, at time.Time) Change {
	return Change{kind: groupKind, id: g.ID(), at: at, value: g}
}

// PutRecipient is the next version of a recipient.
func PutRecipient(r Recipient, at time.Time) Change {
	return Change{kind: recipientKind, id: r.ExternalDirectoryObjectID, at: at, value: r}
}

// PutBatch is the next version of a migration batch.
func PutBatch(b MigrationBatch, at time.Time) Change {
	return Change{kind: batchKind, id: Fold(b.Name), at: at, value: b}
}

// DeleteBatch is the deletion of a migration batch.
func DeleteBatch(name string, at time.Time) Change {
	return Change{kind: batchKind, id: Fold(name), at: at}
}

// DeleteUser is the deletion of a user.
func DeleteUser(id string, at time.Time) Change { return Change{kind: userKind, id: id, at: at} }

// DeleteGroup is the deletion of a group.
func DeleteGroup(id string, at time.Time) Change { return Change{kind: groupKind, id: id, at: at} }

// DeleteRecipient is the deletion of a recipient.
func DeleteRecipient(id string, at time.Time) Change {
	return Change{kind: recipientKind, id: id, at: at}
}

// LeaveGroups are the changes that take an object out of every group that has it as a direct member or owner.
func (d *Directory) LeaveGroups(id string, at time.Time) []Change {
	var changes []Change
	groups := append(d.Owners("member", id), d.Owners("owner", id)...)
	slices.SortFunc(groups, func(a, b string) int { return d.Groups.rows[a].seq - d.Groups.rows[b].seq })
	for _, group := range slices.Compact(groups) {
		g, _ := d.Groups.Latest(group)
		g.Members, g.Owners = Without(g.Members, id), Without(g.Owners, id)
		changes = append(changes, PutGroup(g, at))
	}
	return changes
}

// Together has all commits of do reach the disk at once, when it returns. They are in memory meanwhile, and stay there and
// on disk also where it returns an error.
func (d *Directory) Together(do func() error) error {
	if d.disk == nil {
		return do()
	}
	if err := d.disk.begin(); err != nil {
		return err
	}
	return errors.Join(do(), d.disk.end())
}

// Commit puts all changes on disk in one transaction and then in memory. An
// error means that nothing changed.
func (d *Directory) Commit(asOf time.Time, changes ...Change) error {
	if d.disk != nil {
		if err := d.disk.save(changes); err != nil {
			return err
		}
	}
	for _, c := range changes {
		d.apply(c, asOf)
	}
	return nil
}

func (d *Directory) apply(c Change, asOf time.Time) {
	d.changed(c.id, c.at, asOf)
	switch c.kind {
	case userKind, groupKind, recipientKind:
		d.applyObject(c, asOf)
	case batchKind:
		before, after := put(&d.Batches, c, asOf)
		d.keys.replace(c.id, batchKeys(before), batchKeys(after))
		d.DueBatches.changed(c.id)
	case policyKind:
		put(&d.Policies, c, asOf)
	case contentTaskKind:
		before, after := put(&d.Contents, c, asOf)
		d.keys.replaceIDs("contentTask", c.id, []string{Fold(before.ID)}, []string{Fold(after.ID)})
	case migrationJobKind:
		before, after := put(&d.Jobs, c, asOf)
		d.keys.replace(c.id, jobKeys(before), jobKeys(after))
		d.DueJobs.changed(c.id)
	case provisioningKind:
		put(&d.Provisionings, c, asOf)
		d.provisioned.changed(c.id)
	}
}

// applyObject applies the change of a user, a group or a recipient, which have one id where they are the same object.
func (d *Directory) applyObject(c Change, asOf time.Time) {
	d.note(c)
	keys := d.keysOf(c.id)
	switch c.kind {
	case userKind:
		d.countLicenses(put(&d.Users, c, asOf))
	case groupKind:
		before, after := put(&d.Groups, c, asOf)
		d.keys.replaceIDs("member", c.id, before.Members, after.Members)
		d.keys.replaceIDs("owner", c.id, before.Owners, after.Owners)
	case recipientKind:
		put(&d.Recipients, c, asOf)
	}
	d.keys.replace(c.id, keys, d.keysOf(c.id))
}

// put adds the version of a change to its table, and returns the object before and after. One that does not exist is zero.
func put[T any](t *table[T], c Change, asOf time.Time) (before, after T) {
	before, _ = t.Latest(c.id)
	after, _ = c.value.(T)
	t.add(c.id, version[T]{at: c.at, value: after, deleted: c.value == nil}, asOf)
	return before, after
}

// Fold is s in the form of comparisons.
func Fold(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// Text is a string, empty for every other value.
func Text(v any) string {
	s, _ := v.(string)
	return s
}

// Texts are the strings of a list.
func Texts(v any) []string {
	switch list := v.(type) {
	case []string:
		return list
	case []any:
		out := make([]string, 0, len(list))
		for _, item := range list {
			if s, ok := item.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// Without is a list without an item.
func Without(list []string, item string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == item })
}

// With is a copy of u with the given properties set.
func (u User) With(properties map[string]any) User {
	next := maps.Clone(u)
	maps.Copy(next, properties)
	return next
}
