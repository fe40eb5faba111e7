package directory

import (
	"iter"
	"slices"
	"time"
)

// history keeps the versions of one object that a reader may still see.
type history[T any] struct {
	seq      int // of the objects of its kind, in order of creation
	versions []version[T]
}

type version[T any] struct {
	at      time.Time
	value   T
	deleted bool
}

// latest is nil for an object that does not exist, or no more.
func (h *history[T]) latest() *T {
	if h == nil || len(h.versions) == 0 {
		return nil
	}
	return h.versions[len(h.versions)-1].present()
}

// visible is the version a replica shows that has seen all writes up to asOf, nil for none.
func (h *history[T]) visible(asOf time.Time) *T {
	if h == nil {
		return nil
	}
	for i := range slices.Backward(h.versions) {
		if v := &h.versions[i]; !v.at.After(asOf) {
			return v.present()
		}
	}
	return nil
}

func (v *version[T]) present() *T {
	if v.deleted {
		return nil
	}
	return &v.value
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
	kept := h.versions[first:]
	for len(kept) > 0 && kept[len(kept)-1].at.Equal(v.at) { // no reader has seen it
		kept = kept[:len(kept)-1]
	}
	h.versions = append(append(make([]version[T], 0, len(kept)+1), kept...), v)
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
		h = &history[T]{seq: len(t.order)}
		t.rows[id] = h
		t.order = append(t.order, id)
	}
	h.add(v, asOf)
}

// latest is the latest version of an object, nil for its deletion. It must not be changed.
func (t *table[T]) latest(id string) *T { return t.rows[id].latest() }

// Latest is the latest version of an object, unless that is its deletion.
func (t *table[T]) Latest(id string) (T, bool) { return given(t.rows[id].latest()) }

// Visible is the version of an object that a replica shows that has seen all writes up to asOf.
func (t *table[T]) Visible(id string, asOf time.Time) (T, bool) {
	return given(t.rows[id].visible(asOf))
}

func given[T any](value *T) (T, bool) {
	if value == nil {
		var none T
		return none, false
	}
	return *value, true
}

// Known tells whether there is or was an object.
func (t *table[T]) Known(id string) bool { return t.rows[id] != nil }

// All are the latest versions of all objects, in order of creation.
func (t *table[T]) All() []T { return slices.AppendSeq(make([]T, 0, len(t.order)), t.Each()) }

// Each gives the latest versions of all objects, in order of creation.
func (t *table[T]) Each() iter.Seq[T] { return t.each((*history[T]).latest) }

// EachVisible gives the objects that a replica shows that has seen all writes up to asOf, in order of creation.
func (t *table[T]) EachVisible(asOf time.Time) iter.Seq[T] {
	return t.each(func(h *history[T]) *T { return h.visible(asOf) })
}

func (t *table[T]) each(pick func(*history[T]) *T) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, id := range t.order {
			if v := pick(t.rows[id]); v != nil && !yield(*v) {
				return
			}
		}
	}
}

// Among gives those objects that have one of the ids and that a replica shows that has seen all writes up to asOf, in order of
// creation.
func (t *table[T]) Among(ids []string, asOf time.Time) iter.Seq[T] {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return t.rows[id] == nil })
	slices.SortFunc(ids, func(a, b string) int { return t.rows[a].seq - t.rows[b].seq })
	return func(yield func(T) bool) {
		for _, id := range slices.Compact(ids) {
			if v := t.rows[id].visible(asOf); v != nil && !yield(*v) {
				return
			}
		}
	}
}
