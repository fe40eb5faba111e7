// Package group makes one transaction of Applies of one partition that come at the same time, and
// gives each caller what it would get if the Applies were carried out one after the other.
//
// It does no I/O. The Cosmos DB driver groups concurrent Applies with it, and the simulation draws
// groups from its seed.
package group

import (
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/store"
)

// Superseded is the ETag of a version that a later Apply of the same transaction replaced. No
// stored version has it: a write that is guarded by it fails with store.ErrChanged.
const Superseded = `"superseded"`

// Apply is the writes of one caller.
type Apply struct {
	Writes store.Writes
	Bytes  int // about the size of the writes in a request
	items  []item
}

// item is the effect of an Apply on one item.
type item struct {
	id string
	// counts is whether the Apply only patches the item at any version, and reads it. Such Applies
	// share a group: their patches become one.
	counts  bool
	changes []store.Change // of all patches together
}

// New returns the Apply of some writes.
func New(writes store.Writes, bytes int) *Apply {
	a := &Apply{Writes: writes, Bytes: bytes}
	for _, w := range writes {
		i := slices.IndexFunc(a.items, func(i item) bool { return i.id == w.Key.ID })
		if i < 0 {
			i = len(a.items)
			a.items = append(a.items, item{id: w.Key.ID, counts: true})
		}
		a.items[i].add(w)
	}
	return a
}

func (i *item) add(w store.Write) {
	switch {
	case w.Op == store.OpGet:
	case w.Op == store.OpPatch && w.Version.ETag == "" && i.counts:
		i.changes, i.counts = merge(i.changes, w.Changes)
	default:
		i.counts = false
	}
}

// merge returns the changes that have the effect of both, one after the other. It reports false if
// no patch has.
func merge(first, second []store.Change) ([]store.Change, bool) {
	all := slices.Clone(first)
	for _, c := range second {
		same := slices.IndexFunc(all, func(other store.Change) bool { return other.Path == c.Path })
		switch {
		case same < 0:
			if slices.ContainsFunc(all, func(other store.Change) bool { return within(c.Path, other.Path) || within(other.Path, c.Path) }) {
				return nil, false
			}
			all = append(all, c)
		case (all[same].Set == nil) != (c.Set == nil):
			return nil, false
		case c.Set != nil:
			all[same] = c
		default:
			all[same].By += c.By
		}
	}
	return all, len(all) <= store.MaxChanges
}

// within reports whether a path is that of a value inside another one.
func within(path, outer string) bool { return strings.HasPrefix(path, outer+"/") }

// Items are the items that some Applies touch, by their ids, each with the number of the Applies.
type Items map[string]int

// Add adds the items of an Apply.
func (m Items) Add(a *Apply) {
	for _, i := range a.items {
		m[i.id]++
	}
}

// Remove removes the items of an Apply that was added.
func (m Items) Remove(a *Apply) {
	for _, i := range a.items {
		if m[i.id]--; m[i.id] == 0 {
			delete(m, i.id)
		}
	}
}

// Touches reports whether an Apply touches any of the items.
func (m Items) Touches(a *Apply) bool {
	return slices.ContainsFunc(a.items, func(i item) bool { return m[i.id] > 0 })
}

// Set is the Applies of one group, in their order. The zero value is empty.
type Set struct {
	Operations, Bytes int // of all Applies together
	items             map[string]item
}

// Add adds an Apply. It reports false if the Apply cannot share a group with the others, because
// both touch an item and do not only count in it.
func (s *Set) Add(a *Apply) bool {
	merged := make([]item, len(a.items))
	for n, i := range a.items {
		merged[n] = i
		before, ok := s.items[i.id]
		if !ok {
			continue
		}
		if !before.counts || !i.counts {
			return false
		}
		if merged[n].changes, ok = merge(before.changes, i.changes); !ok {
			return false
		}
	}
	if s.items == nil {
		s.items = map[string]item{}
	}
	for _, i := range merged {
		s.items[i.id] = i
	}
	s.Operations += len(a.Writes)
	s.Bytes += a.Bytes
	return true
}
