package directory

import (
	"slices"
	"time"
)

// index finds objects by a key that one object has, or a few.
type index struct {
	first map[string]string   // the object that had the key first
	more  map[string][]string // further ones
}

func newIndex() *index { return &index{first: map[string]string{}, more: map[string][]string{}} }

func (x *index) add(key, id string) {
	switch first, taken := x.first[key]; {
	case !taken:
		x.first[key] = id
	case first != id && !slices.Contains(x.more[key], id):
		x.more[key] = append(x.more[key], id)
	}
}

func (x *index) remove(key, id string) {
	more := x.more[key]
	switch {
	case x.first[key] != id:
		more = Without(more, id)
	case len(more) > 0:
		x.first[key], more = more[0], more[1:]
	default:
		delete(x.first, key)
	}
	if len(more) == 0 {
		delete(x.more, key)
		return
	}
	x.more[key] = more
}

// all are the objects with a key, the one that had it first at the beginning.
func (x *index) all(key string) []string {
	first, found := x.first[key]
	if !found {
		return nil
	}
	return append([]string{first}, x.more[key]...)
}

// key is a value of an object that the object is found by.
type key struct{ kind, value string }

// lookups are the indexes of a directory by kind of key. Values are folded.
type lookups map[string]*index

func (l lookups) of(kind string) *index {
	x := l[kind]
	if x == nil {
		x = newIndex()
		l[kind] = x
	}
	return x
}

// replace takes keys of an object out and puts others in. Those in both lists stay as they are: the first owner of a key
// keeps it.
func (l lookups) replace(id string, before, after []key) {
	for _, k := range difference(before, after) {
		l.of(k.kind).remove(k.value, id)
	}
	for _, k := range difference(after, before) {
		l.of(k.kind).add(k.value, id)
	}
}

// replaceIDs is replace for keys of one kind that are ids.
func (l lookups) replaceIDs(kind, id string, before, after []string) {
	x := l.of(kind)
	for _, k := range difference(before, after) {
		x.remove(k, id)
	}
	for _, k := range difference(after, before) {
		x.add(k, id)
	}
}

// difference are the items of a list that another one does not have. Lists that differ by an item at the end, as
// those of the members of a group, cost no more than a comparison.
func difference[T comparable](a, b []T) []T {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	if len(a) == 0 || len(b) == 0 {
		return a
	}
	if len(a)+len(b) < 64 {
		return slices.DeleteFunc(slices.Clone(a), func(item T) bool { return slices.Contains(b, item) })
	}
	has := make(map[T]bool, len(b))
	for _, item := range b {
		has[item] = true
	}
	return slices.DeleteFunc(slices.Clone(a), func(item T) bool { return has[item] })
}

// keysOf are the keys of the latest state of a user or group with its recipient.
func (d *Directory) keysOf(id string) []key {
	keys := make([]key, 0, 16)
	add := func(kind, value string) { keys = append(keys, key{kind, Fold(value)}) }
	addresses := func(all []string) {
		for _, a := range all {
			if k := (key{"proxy", Fold(a)}); !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	if u, ok := d.Users.Latest(id); ok {
		add("upn", u.UPN())
		add("userNickname", u.Text("mailNickname"))
		addresses(u.List("proxyAddresses"))
	}
	if g, ok := d.Groups.Latest(id); ok {
		add("groupNickname", Text(g.Properties["mailNickname"]))
		addresses(Texts(g.Properties["proxyAddresses"]))
	}
	if r := d.Recipients.latest(id); r != nil {
		add("alias", r.Alias)
		add("guid", r.GUID)
		add("name", r.Name)
		add("displayName", r.DisplayName)
		if r.ExchangeGUID != "" && r.ExchangeGUID != ZeroGUID {
			add("exchangeGuid", r.ExchangeGUID)
		}
		addresses(r.EmailAddresses)
	}
	return keys
}

// Owner is the id of the first object that has the key, if any.
func (d *Directory) Owner(kind, value string) (string, bool) {
	id, ok := d.keys.of(kind).first[Fold(value)]
	return id, ok
}

// Owners are the ids of all objects that have the key.
func (d *Directory) Owners(kind, value string) []string { return d.keys.of(kind).all(Fold(value)) }

// Taken tells whether an object other than id has the key.
func (d *Directory) Taken(kind, value, id string) bool {
	other, ok := d.Owner(kind, value)
	return ok && other != id
}

// changed notes that readers of a replica may not see the latest state of an object yet.
func (d *Directory) changed(id string, at, asOf time.Time) {
	d.recent = slices.DeleteFunc(d.recent, func(c recent) bool { return !c.at.After(asOf) })
	if at.After(asOf) {
		d.recent = append(d.recent, recent{id, at})
	}
}

// recent is a change that some replica does not have yet.
type recent struct {
	id string
	at time.Time
}

// Recent are the objects whose latest state a replica does not show that has seen all writes up to asOf. The indexes
// have the latest state.
func (d *Directory) Recent(asOf time.Time) []string {
	var ids []string
	for _, c := range d.recent {
		if c.at.After(asOf) && !slices.Contains(ids, c.id) {
			ids = append(ids, c.id)
		}
	}
	return ids
}
