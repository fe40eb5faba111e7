package applier

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/panics"
	"github.com/matoolkit/matoolkit/internal/store"
)

// LoadCacheEntry implements model.State.
func (s *Snapshot) LoadCacheEntry(id string) (*model.CacheEntry, error) {
	return load[model.CacheEntry](s, store.CacheKey(id))
}

// LoadHolder implements model.State. The run is not kept with the documents that the snapshot decides on: it
// can be of another batch, and the decision does not guard it.
func (s *Snapshot) LoadHolder(e *model.CacheEntry) (*model.Run, error) {
	if s.from == memoryOnly {
		return nil, errUnread
	}
	run, err := store.Read[model.Run](s.ctx, s.applier.store, store.RunKey(e.Batch, e.Phase, e.Member))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &run.Doc, nil
}

// claim holds the claims of a decision until they are written.
func (s *Snapshot) claim(entries []*model.CacheEntry) {
	for _, e := range entries {
		key := store.CacheKey(e.ID)
		d := s.docs[key]
		if d == nil {
			d = &document{}
			s.docs[key] = d
		}
		d.is = e
		if !slices.Contains(s.claims, key) {
			s.claims = append(s.claims, key)
		}
	}
}

// writeClaims writes the claims, those of one partition together. It fails with store.ErrChanged if another
// run has claimed one: the command is then decided again, which finds the others as its own.
func (s *Snapshot) writeClaims() error {
	byPartition := map[string]store.Writes{}
	for _, key := range s.claims {
		d := s.docs[key]
		op := store.Create(key, d.is)
		if d.was != nil {
			op = store.Replace(key, d.is, d.version)
		}
		byPartition[key.PK] = append(byPartition[key.PK], op)
	}
	var writes errgroup.Group
	for _, ops := range byPartition {
		writes.Go(func() error {
			return panics.Catch(s.ctx, func() error {
				_, err := s.applier.store.Apply(s.ctx, ops)
				if errors.Is(err, store.ErrExists) || errors.Is(err, store.ErrNotFound) {
					err = fmt.Errorf("%w: %w", store.ErrChanged, err)
				}
				return err
			})
		})
	}
	return writes.Wait()
}
