package directory

import (
	"cmp"
	"slices"
)

// ObjectChange is how a user, a group or a recipient differs since a moment. Before or After is nil where there is none, and a
// User, a Group or a Recipient otherwise.
type ObjectChange struct {
	Kind, ID      string // user, group or recipient
	Before, After any
}

// journal has the state of each object that changed since a moment, as it was then.
type journal map[object]any

type object struct {
	kind kind
	id   string
}

// Watch begins to note what changes, anew if it is noted already.
func (d *Directory) Watch() { d.journal = journal{} }

func (d *Directory) note(c Change) {
	if d.journal == nil {
		return
	}
	o := object{c.kind, c.id}
	if _, known := d.journal[o]; !known {
		d.journal[o] = d.latest(o)
	}
}

// latest is the latest state of an object, nil for none.
func (d *Directory) latest(o object) any {
	switch o.kind {
	case userKind:
		if u, exists := d.Users.Latest(o.id); exists {
			return u
		}
	case groupKind:
		if g, exists := d.Groups.Latest(o.id); exists {
			return g
		}
	case recipientKind:
		if r, exists := d.Recipients.Latest(o.id); exists {
			return r
		}
	}
	return nil
}

// Changed are the objects that changed since Watch.
func (d *Directory) Changed() []ObjectChange {
	var all []ObjectChange
	for o, before := range d.journal {
		all = append(all, ObjectChange{string(o.kind), o.id, before, d.latest(o)})
	}
	slices.SortFunc(all, func(a, b ObjectChange) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID)) })
	return all
}
