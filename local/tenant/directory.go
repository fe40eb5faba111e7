package tenant

import (
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
func (u User) ID() string { return text(u["id"]) }

// UPN is the user principal name.
func (u User) UPN() string { return text(u["userPrincipalName"]) }

// Text is the string property name, empty when absent or null.
func (u User) Text(name string) string { return text(u[name]) }

// List is the string collection property name.
func (u User) List(name string) []string { return texts(u[name]) }

// Group is an Entra group with the object ids of its direct members in the
// order they were added.
type Group struct {
	Properties map[string]any `json:"properties"`
	Members    []string       `json:"members"`
}

// ID is the object id.
func (g Group) ID() string { return text(g.Properties["id"]) }

// exchangeManaged tells whether only Exchange may change the membership: a
// distribution list or a mail-enabled security group, but not a Microsoft 365
// group.
func (g Group) exchangeManaged() bool {
	return g.Properties["mailEnabled"] == true && !slices.Contains(texts(g.Properties["groupTypes"]), "Unified")
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

// all lists what select gives for each object, in order of creation.
func (t *table[T]) all(pick func(*history[T]) (T, bool)) []T {
	out := make([]T, 0, len(t.order))
	for _, id := range t.order {
		if v, ok := pick(t.rows[id]); ok {
			out = append(out, v)
		}
	}
	return out
}

// directory is the tenant's state in memory. Callers hold mu through a whole
// decision, so that a check and the write that follows it are one step.
type directory struct {
	mu         sync.Mutex
	disk       *disk // nil: nothing outlives the process
	users      table[User]
	groups     table[Group]
	recipients table[Recipient]
	// unique maps what must be unique in the tenant (see keysOf) to the id of
	// the object that has it; owned is the reverse.
	unique map[string]string
	owned  map[string][]string
	mails  []Mail
	domain map[string]bool // verified domains; empty: every domain is accepted

	licenses []License
}

func newDirectory() *directory {
	return &directory{
		users: newTable[User](), groups: newTable[Group](), recipients: newTable[Recipient](),
		unique: map[string]string{}, owned: map[string][]string{}, domain: map[string]bool{},
	}
}

// change is one object's next version. Exactly one of the values is set, or
// none with a kind for a deletion.
type change struct {
	kind      string // "user", "group" or "recipient"
	id        string
	at        time.Time
	user      User
	group     *Group
	recipient *Recipient
}

func (c change) deletes() bool { return c.user == nil && c.group == nil && c.recipient == nil }

func putUser(u User, at time.Time) change {
	return change{kind: "user", id: u.ID(), at: at, user: u}
}

func putGroup(g Group, at time.Time) change {
	return change{kind: "group", id: g.ID(), at: at, group: &g}
}

func putRecipient(r Recipient, at time.Time) change {
	return change{kind: "recipient", id: r.ExternalDirectoryObjectID, at: at, recipient: &r}
}

// commit puts all changes on disk in one transaction and then in memory. An
// error means that nothing changed.
func (d *directory) commit(asOf time.Time, changes ...change) error {
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

func (d *directory) apply(c change, asOf time.Time) {
	switch c.kind {
	case "user":
		d.users.add(c.id, version[User]{at: c.at, value: c.user, deleted: c.deletes()}, asOf)
	case "group":
		v := version[Group]{at: c.at, deleted: c.deletes()}
		if c.group != nil {
			v.value = *c.group
		}
		d.groups.add(c.id, v, asOf)
	case "recipient":
		v := version[Recipient]{at: c.at, deleted: c.deletes()}
		if c.recipient != nil {
			v.value = *c.recipient
		}
		d.recipients.add(c.id, v, asOf)
	}
	d.reindex(c.id)
}

func (d *directory) reindex(id string) {
	for _, key := range d.owned[id] {
		if d.unique[key] == id {
			delete(d.unique, key)
		}
	}
	var keys []string
	if u, ok := d.users.rows[id].latest(); ok {
		keys = append(keys, "upn:"+fold(u.UPN()), "userNickname:"+fold(u.Text("mailNickname")))
		keys = append(keys, proxyKeys(u.List("proxyAddresses"))...)
	}
	if g, ok := d.groups.rows[id].latest(); ok {
		keys = append(keys, "groupNickname:"+fold(text(g.Properties["mailNickname"])))
		keys = append(keys, proxyKeys(texts(g.Properties["proxyAddresses"]))...)
	}
	if r, ok := d.recipients.rows[id].latest(); ok {
		keys = append(keys, "alias:"+fold(r.Alias), "guid:"+fold(r.GUID))
		if r.ExchangeGUID != "" && r.ExchangeGUID != zeroGUID {
			keys = append(keys, "exchangeGuid:"+fold(r.ExchangeGUID))
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

// owner is the id of the object that has the unique key, if any.
func (d *directory) owner(kind, value string) (string, bool) {
	id, ok := d.unique[kind+":"+fold(value)]
	return id, ok
}

// takenBy tells whether an object other than id has the key.
func (d *directory) taken(kind, value, id string) bool {
	other, ok := d.owner(kind, value)
	return ok && other != id
}

func proxyKeys(addresses []string) []string {
	keys := make([]string, 0, len(addresses))
	for _, a := range addresses {
		keys = append(keys, "proxy:"+fold(a))
	}
	return keys
}

func fold(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

func text(v any) string {
	s, _ := v.(string)
	return s
}

func texts(v any) []string {
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

// with is a copy of u with the given properties set.
func (u User) with(properties map[string]any) User {
	next := maps.Clone(u)
	maps.Copy(next, properties)
	return next
}
