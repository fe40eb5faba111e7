package group

import (
	"fmt"
	"slices"

	"github.com/matoolkit/matoolkit/internal/store"
)

// transaction is the operations of several Applies. The patches of an item that several Applies
// count in are one operation. If an Apply reads such an item, another operation reads it before that
// patch, and each Apply gets the document that results from the patches up to its own.
type transaction struct {
	applies []*Apply
	writes  store.Writes
	owners  [][]place // of each operation
	counted []*counted
}

// place is the place of an operation in its Apply.
type place struct{ apply, operation int }

// counted is an item that several Applies count in.
type counted struct {
	places     []place // in their order
	changes    []store.Change
	reads      bool
	added      bool
	get, patch int // the operations that read and patch the item; -1: none
}

// combine returns the transaction of Applies that are of one Set.
func combine(applies []*Apply) *transaction {
	t := &transaction{applies: applies}
	if len(applies) == 1 {
		t.writes = applies[0].Writes
		for o := range t.writes {
			t.owners = append(t.owners, []place{{0, o}})
		}
		return t
	}
	shared := t.findCounted()
	for a, one := range applies {
		for o, w := range one.Writes {
			c := shared[w.Key.ID]
			if c == nil {
				t.add(w, place{a, o})
			} else if !c.added {
				t.addCounted(c, w.Key)
			}
		}
	}
	return t
}

// findCounted returns the items that several Applies touch, by their ids.
func (t *transaction) findCounted() map[string]*counted {
	touched := Items{}
	for _, a := range t.applies {
		touched.Add(a)
	}
	shared := map[string]*counted{}
	for a, one := range t.applies {
		for o, w := range one.Writes {
			if touched[w.Key.ID] < 2 {
				continue
			}
			c := shared[w.Key.ID]
			if c == nil {
				c = &counted{get: -1, patch: -1}
				shared[w.Key.ID] = c
			}
			c.places = append(c.places, place{a, o})
			c.reads = c.reads || w.Op == store.OpGet
			c.changes, _ = merge(c.changes, w.Changes) // Set.Add has checked it
		}
	}
	return shared
}

func (t *transaction) add(w store.Write, owners ...place) (operation int) {
	t.writes, t.owners = append(t.writes, w), append(t.owners, owners)
	return len(t.writes) - 1
}

func (t *transaction) addCounted(c *counted, key store.Key) {
	c.added = true
	t.counted = append(t.counted, c)
	if c.reads {
		c.get = t.add(store.Get(key), c.places...)
	}
	if len(c.changes) > 0 {
		c.patch = t.add(store.Patch(key, "", c.changes...), c.places...)
	}
}

// ownersOf returns the Applies that an operation belongs to, by their place.
func (t *transaction) ownersOf(operation int) (applies []int) {
	for _, p := range t.owners[operation] {
		if !slices.Contains(applies, p.apply) {
			applies = append(applies, p.apply)
		}
	}
	return applies
}

// results returns the result of each Apply.
func (t *transaction) results(applied store.Applied) ([]store.Applied, error) {
	if len(t.applies) == 1 {
		return []store.Applied{applied}, nil
	}
	all := make([]store.Applied, len(t.applies))
	for a, one := range t.applies {
		all[a] = make(store.Applied, len(one.Writes))
	}
	for o, owners := range t.owners {
		all[owners[0].apply][owners[0].operation] = applied[o]
	}
	for _, c := range t.counted {
		if err := t.replay(c, applied, all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// replay sets the results of the operations on an item that several Applies count in: the patches
// happen one after the other, from the document that the transaction read.
func (t *transaction) replay(c *counted, applied store.Applied, all []store.Applied) error {
	patches := 0
	for _, p := range c.places {
		if t.write(p).Op == store.OpPatch {
			patches++
		}
	}
	var doc store.Document
	if c.get >= 0 {
		doc = applied[c.get].Document
	}
	changing := store.NewChanging(doc.Doc)
	for _, p := range c.places {
		w, result := t.write(p), &all[p.apply][p.operation]
		if w.Op == store.OpPatch {
			if patches--; patches > 0 {
				doc.ETag = Superseded
			} else {
				doc.ETag = applied[c.patch].ETag
			}
			if c.get >= 0 {
				if err := changing.Apply(w.Changes); err != nil {
					return fmt.Errorf("%w: %s was patched, and its document cannot be computed: %w", store.ErrUnavailable, w.Key, err)
				}
			}
			*result = store.Result{ETag: doc.ETag}
			continue
		}
		var err error
		if doc.Doc, err = changing.Document(); err != nil {
			return fmt.Errorf("%w: %s was patched, and its document cannot be written: %w", store.ErrUnavailable, w.Key, err)
		}
		*result = store.Result{ETag: doc.ETag, Document: doc}
		result.Document.Doc = slices.Clone(doc.Doc)
	}
	return nil
}

func (t *transaction) write(p place) store.Write { return t.applies[p.apply].Writes[p.operation] }
