package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/group"
)

// Apply implements store.Documents.
func (s *Store) Apply(ctx context.Context, writes store.Writes) (applied store.Applied, err error) {
	if err := writes.Check(); err != nil {
		return nil, err
	}
	s.counts.writes.Add(1)
	err = s.do(ctx, Operation{Kind: KindWrite, Name: "Apply", Partition: writes[0].Key.PK, Writes: writes}, func() (err error) {
		s.ApplyGroup([]*group.Apply{group.New(writes, 0)}, func(_ *group.Apply, a store.Applied, e error) { applied, err = a, e })
		return err
	})
	if errors.Is(err, store.ErrChanged) {
		s.counts.conflicts.Add(1)
	}
	if err != nil {
		return nil, err
	}
	return applied, nil
}

// ApplyEach implements store.Documents: one after the other.
func (s *Store) ApplyEach(ctx context.Context, all []store.Writes) []store.Outcome {
	outcomes := make([]store.Outcome, len(all))
	for i, writes := range all {
		outcomes[i].Applied, outcomes[i].Err = s.Apply(ctx, writes)
	}
	return outcomes
}

// ApplyGroup carries out Applies of one group.Set together, as the Cosmos DB driver does with those
// that come at the same time. It calls done with the outcome of each. It does not call the hook.
func (s *Store) ApplyGroup(applies []*group.Apply, done func(a *group.Apply, applied store.Applied, err error)) {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	group.Commit(applies, s.state.apply, done)
}

// transaction holds the writes of an Apply so far. None is stored before all have succeeded.
type transaction struct {
	before  *partition
	changed map[string]*document // by id; nil: deleted
	bytes   int                  // that were written
}

func (t *transaction) get(id string) *document {
	if d, ok := t.changed[id]; ok {
		return d
	}
	return t.before.documents[id]
}

func (s *state) apply(writes store.Writes) (store.Applied, error) {
	pk := writes[0].Key.PK
	p := s.partitions[pk]
	if p == nil {
		p = &partition{documents: map[string]*document{}, types: map[string][]*document{}}
	}
	t := &transaction{before: p, changed: map[string]*document{}}
	applied := make(store.Applied, len(writes))
	for i, w := range writes {
		err := s.write(t, w, &applied[i])
		if err == nil && t.bytes > store.MaxBytes {
			err = &store.SizeError{Bytes: t.bytes}
		}
		if err != nil {
			return nil, &group.Refusal{Operation: i, Err: err}
		}
	}
	grown := p.bytes
	for id, d := range t.changed {
		if old := p.documents[id]; old != nil {
			grown -= old.size()
		}
		if d != nil {
			grown += d.size()
		}
	}
	if grown > s.room && grown > p.bytes {
		return nil, store.ErrFull
	}
	s.partitions[pk], p.bytes = p, grown
	p.applied++
	for id, d := range t.changed {
		p.put(id, d)
	}
	return applied, nil
}

// write carries out one operation in a transaction.
func (s *state) write(t *transaction, w store.Write, result *store.Result) error {
	old := t.get(w.Key.ID)
	var stored *store.Document
	if old != nil {
		stored = &store.Document{Key: old.key, Doc: old.body, ETag: old.etag}
	}
	body, err := w.Next(stored)
	if err != nil {
		return err
	}
	next := &document{key: w.Key, body: body}
	switch w.Op {
	case store.OpGet:
		result.Document, result.ETag = old.copy(), old.etag
		return nil
	case store.OpDelete:
		t.changed[w.Key.ID] = nil
		return nil
	case store.OpPatch:
		next.key = old.key
	}
	s.versions++
	next.etag = fmt.Sprintf(`"%016x"`, s.versions)
	t.changed[w.Key.ID], result.ETag = next, next.etag
	t.bytes += next.size()
	return nil
}

// put stores the next version of a document; nil deletes it.
func (p *partition) put(id string, next *document) {
	if old := p.documents[id]; old != nil {
		all := p.types[old.key.Type]
		if i, ok := search(all, id); ok {
			p.types[old.key.Type] = slices.Delete(all, i, i+1)
		}
		delete(p.documents, id)
	}
	if next == nil {
		return
	}
	p.documents[id] = next
	all := p.types[next.key.Type]
	i, _ := search(all, id)
	p.types[next.key.Type] = slices.Insert(all, i, next)
}

// search finds the place of an id among documents that are sorted by it.
func search(all []*document, id string) (int, bool) {
	return slices.BinarySearchFunc(all, id, func(d *document, id string) int { return strings.Compare(d.key.ID, id) })
}
