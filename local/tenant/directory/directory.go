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

// history keeps the versions of one object that a reader may still see.
type history[T any] struct{ versions []version[T] }

type version[T any] struct {
	at      time.Time
	value   T
	deleted bool
}

func (h *history[T]) latest() (value T, exists bool) {
	if h == nil || len(h.versions) == 0 {
		return value, false
	}
	last := h.versions[len(h.versions)-1]
	return last.value, !last.deleted
}

// visible is the version a replica shows that has seen all writes up to asOf.
func (h *history[T]) visible(asOf time.Time) (value T, exists bool) {
	if h == nil {
		return value, false
	}
	for _, v := range slices.Backward(h.versions) {
		if !v.at.After(asOf) {
			return v.value, !v.deleted
		}
	}
	return value, false
}

// add appends a version; versions stay in time order, and those that no reader
// at asOf or later can see are dropped.
func (h *history[T]) add(v version[T], asOf time.Time) {
	if n := len(h.versions); n > 0 && v.at.Before(h.versions[n-1].at) {
		v.at = h.versions[n-1].at
	}
	first := 0
	for i, old := range h.versions {
		if !old.at.After(asOf) {
			first = i
		}
	}
	h.versions = append(slices.Clone(h.versions[min(first, len(h.versions)):]), v)
}

// table is all objects of one kind, in order of creation.
type table[T any] struct {
	rows  map[string]*history[T]
	order []string
}

func newTable[T any]() table[T] { return table[T]{rows: map[string]*history[T]{}} }

func (t *table[T]) add(id string, v version[T], asOf time.Time) {
	h := t.rows[id]
	if h == nil {
		h = &history[T]{}
		t.rows[id] = h
		t.order = append(t.order, id)
	}
	h.add(v, asOf)
}

// Latest is the latest version of an object, unless that is its deletion.
func (t *table[T]) Latest(id string) (T, bool) { return t.rows[id].latest() }

// Visible is the version of an object that a replica shows that has seen all writes up to asOf.
func (t *table[T]) Visible(id string, asOf time.Time) (T, bool) { return t.rows[id].visible(asOf) }

// Known tells whether there is or was an object.
func (t *table[T]) Known(id string) bool { return t.rows[id] != nil }

// All are the latest versions of all objects, in order of creation.
func (t *table[T]) All() []T { return t.all((*history[T]).latest) }

// AllVisible are the objects that a replica shows that has seen all writes up to asOf, in order of creation.
func (t *table[T]) AllVisible(asOf time.Time) []T {
	return t.all(func(h *history[T]) (T, bool) { return h.visible(asOf) })
}

func (t *table[T]) all(pick func(*history[T]) (T, bool)) []T {
	out := make([]T, 0, len(t.order))
	for _, id := range t.order {
		if v, ok := pick(t.rows[id]); ok {
			out = append(out, v)
		}
	}
	return out
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
	// unique maps what must be unique in the tenant (see reindex) to the id of
	// the object that has it; owned is the reverse.
	unique map[string]string
	owned  map[string][]string

	Mails    []Mail          // sent since the start
	Domains  map[string]bool // verified ones; empty: every domain is accepted
	Licenses []License
	Sites    []Site

	DeletedUsers []User // in the deleted items
	changed      int    // changes of recipients and migration jobs so far
	quiet        struct {
		changed int
		until   time.Time
	}

	MigrationEndpoints []string // names of the endpoints in other tenants; empty: all names are accepted
	OrganizationHolds  []string // retention policies of all mailboxes, as Get-OrganizationConfig prints them
}

// Open loads the directory that is kept in dir; an empty dir keeps nothing.
func Open(ctx context.Context, dir string) (*Directory, error) {
	d := &Directory{
		Users: newTable[User](), Groups: newTable[Group](), Recipients: newTable[Recipient](), Batches: newTable[MigrationBatch](),
		Contents: newTable[ContentTask](), Jobs: newTable[MigrationJob](), Policies: newTable[Policy](),
		unique: map[string]string{}, owned: map[string][]string{}, Domains: map[string]bool{},
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

// Change is one object's next version. Exactly one of the values is set, or
// none with a kind for a deletion.
type Change struct {
	kind         string // "user", "group", "recipient", "batch", "contentTask", "policy" or "migrationJob"
	id           string
	at           time.Time
	user         User
	group        *Group
	recipient    *Recipient
	batch        *MigrationBatch
	contentTask  *ContentTask
	policy       Policy
	migrationJob *MigrationJob
}

func (c Change) deletes() bool {
	return c.user == nil && c.group == nil && c.recipient == nil && c.batch == nil && c.contentTask == nil && c.policy == nil && c.migrationJob == nil
}

// PutUser is the next version of a user.
func PutUser(u User, at time.Time) Change {
	return Change{kind: "user", id: u.ID(), at: at, user: u}
}

// PutGroup is the next version of a group.
func PutGroup(g Group, at time.Time) Change {
	return Change{kind: "group", id: g.ID(), at: at, group: &g}
}

// PutRecipient is the next version of a recipient.
func PutRecipient(r Recipient, at time.Time) Change {
	return Change{kind: "recipient", id: r.ExternalDirectoryObjectID, at: at, recipient: &r}
}

// PutBatch is the next version of a migration batch.
func PutBatch(b MigrationBatch, at time.Time) Change {
	return Change{kind: "batch", id: Fold(b.Name), at: at, batch: &b}
}

// DeleteBatch is the deletion of a migration batch.
func DeleteBatch(name string, at time.Time) Change {
	return Change{kind: "batch", id: Fold(name), at: at}
}

// DeleteUser is the deletion of a user.
func DeleteUser(id string, at time.Time) Change { return Change{kind: "user", id: id, at: at} }

// DeleteGroup is the deletion of a group.
func DeleteGroup(id string, at time.Time) Change { return Change{kind: "group", id: id, at: at} }

// DeleteRecipient is the deletion of a recipient.
func DeleteRecipient(id string, at time.Time) Change {
	return Change{kind: "recipient", id: id, at: at}
}

// LeaveGroups are the changes that take an object out of every group that has it as a direct member or owner.
func (d *Directory) LeaveGroups(id string, at time.Time) []Change {
	var changes []Change
	for _, g := range d.Groups.All() {
		if slices.Contains(g.Members, id) || slices.Contains(g.Owners, id) {
			g.Members, g.Owners = Without(g.Members, id), Without(g.Owners, id)
			changes = append(changes, PutGroup(g, at))
		}
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
	if c.kind == "recipient" || c.kind == "migrationJob" {
		d.changed++
	}
	switch c.kind {
	case "user":
		d.Users.add(c.id, version[User]{at: c.at, value: c.user, deleted: c.deletes()}, asOf)
	case "group":
		v := version[Group]{at: c.at, deleted: c.deletes()}
		if c.group != nil {
			v.value = *c.group
		}
		d.Groups.add(c.id, v, asOf)
	case "recipient":
		v := version[Recipient]{at: c.at, deleted: c.deletes()}
		if c.recipient != nil {
			v.value = *c.recipient
		}
		d.Recipients.add(c.id, v, asOf)
	case "batch":
		v := version[MigrationBatch]{at: c.at, deleted: c.deletes()}
		if c.batch != nil {
			v.value = *c.batch
		}
		d.Batches.add(c.id, v, asOf)
		return // its name is no object id
	case "policy":
		d.Policies.add(c.id, version[Policy]{at: c.at, value: c.policy}, asOf)
		return
	case "contentTask":
		d.Contents.add(c.id, version[ContentTask]{at: c.at, value: *c.contentTask}, asOf)
		return
	case "migrationJob":
		v := version[MigrationJob]{at: c.at, deleted: c.deletes()}
		if c.migrationJob != nil {
			v.value = *c.migrationJob
		}
		d.Jobs.add(c.id, v, asOf)
		return
	}
	d.reindex(c.id)
}

func (d *Directory) reindex(id string) {
	for _, key := range d.owned[id] {
		if d.unique[key] == id {
			delete(d.unique, key)
		}
	}
	var keys []string
	if u, ok := d.Users.Latest(id); ok {
		keys = append(keys, "upn:"+Fold(u.UPN()), "userNickname:"+Fold(u.Text("mailNickname")))
		keys = append(keys, proxyKeys(u.List("proxyAddresses"))...)
	}
	if g, ok := d.Groups.Latest(id); ok {
		keys = append(keys, "groupNickname:"+Fold(Text(g.Properties["mailNickname"])))
		keys = append(keys, proxyKeys(Texts(g.Properties["proxyAddresses"]))...)
	}
	if r, ok := d.Recipients.Latest(id); ok {
		keys = append(keys, "alias:"+Fold(r.Alias), "guid:"+Fold(r.GUID))
		if r.ExchangeGUID != "" && r.ExchangeGUID != ZeroGUID {
			keys = append(keys, "exchangeGuid:"+Fold(r.ExchangeGUID))
		}
		keys = append(keys, proxyKeys(r.EmailAddresses)...)
	}
	for _, key := range keys {
		if _, taken := d.unique[key]; !taken {
			d.unique[key] = id
		}
	}
	d.owned[id] = keys
}

// Owner is the id of the object that has the unique key, if any.
func (d *Directory) Owner(kind, value string) (string, bool) {
	id, ok := d.unique[kind+":"+Fold(value)]
	return id, ok
}

// Taken tells whether an object other than id has the key.
func (d *Directory) Taken(kind, value, id string) bool {
	other, ok := d.Owner(kind, value)
	return ok && other != id
}

func proxyKeys(addresses []string) []string {
	keys := make([]string, 0, len(addresses))
	for _, a := range addresses {
		keys = append(keys, "proxy:"+Fold(a))
	}
	return keys
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
