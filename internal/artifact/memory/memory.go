// Package memory keeps artifacts in the memory of the process, for tests and simulation.
package memory

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/matoolkit/matoolkit/internal/artifact"
)

// Store is an artifact.Store. The zero value is empty and ready.
type Store struct {
	mu  sync.Mutex
	all map[artifact.Key]artifact.Artifact
}

var _ artifact.Store = (*Store)(nil)

// Put stores an artifact.
func (s *Store) Put(_ context.Context, a artifact.Artifact) (artifact.Properties, error) {
	if err := a.Check(); err != nil {
		return artifact.Properties{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var stored *artifact.Properties
	if old, ok := s.all[a.Key]; ok {
		stored = &old.Properties
	}
	replaces, err := a.Replaces(stored)
	switch {
	case err != nil:
		return artifact.Properties{}, err
	case !replaces:
		return *stored, nil
	}
	a.Size, a.Content = int64(len(a.Content)), slices.Clone(a.Content)
	if s.all == nil {
		s.all = map[artifact.Key]artifact.Artifact{}
	}
	s.all[a.Key] = a
	return a.Properties, nil
}

// Get reads an artifact.
func (s *Store) Get(_ context.Context, key artifact.Key) (artifact.Artifact, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.all[key]
	if !ok {
		return artifact.Artifact{}, fmt.Errorf("%w: %s", artifact.ErrNotFound, key)
	}
	a.Content = slices.Clone(a.Content)
	return a, nil
}

// Stat reads the properties of an artifact.
func (s *Store) Stat(ctx context.Context, key artifact.Key) (artifact.Properties, error) {
	a, err := s.Get(ctx, key)
	return a.Properties, err
}

// List reads the properties of the artifacts below a key.
func (s *Store) List(_ context.Context, below artifact.Key) iter.Seq2[artifact.Properties, error] {
	return func(yield func(artifact.Properties, error) bool) {
		s.mu.Lock()
		var found []artifact.Properties
		for key, a := range s.all {
			if strings.HasPrefix(key.String(), below.Prefix()) {
				found = append(found, a.Properties)
			}
		}
		s.mu.Unlock()
		slices.SortFunc(found, func(a, b artifact.Properties) int { return strings.Compare(a.Key.String(), b.Key.String()) })
		for _, p := range found {
			if !yield(p, nil) {
				return
			}
		}
	}
}

// Delete removes an artifact.
func (s *Store) Delete(_ context.Context, key artifact.Key, generation int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a, ok := s.all[key]; ok && a.Generation > generation {
		return &artifact.ConflictError{Stored: a.Properties}
	}
	delete(s.all, key)
	return nil
}
