// Package memory keeps the state of batches and runbooks in the memory of this process. It is
// for tests and simulations: it holds to the contract of package store, with its limits and
// errors, and a Hook can make any operation fail.
//
// Documents are kept as JSON and decoded for each caller, so that no caller shares memory with
// another one.
package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/matoolkit/matoolkit/internal/store"
)

var _ store.Store = (*Store)(nil)

// partitionBytes is how much the service takes in one logical partition.
const partitionBytes = 20 << 30

// Config configures a Store. The zero value is one without faults.
type Config struct {
	Hook           Hook // decides what becomes of each operation; nil: none fails
	PartitionBytes int  // the room of a partition; 0: 20 GB
}

// Store implements store.Store in memory.
type Store struct {
	state  *state
	hook   Hook
	counts struct{ reads, queries, writes, conflicts atomic.Int64 }
}

// state is the data that several Stores share.
type state struct {
	mu         sync.RWMutex
	partitions map[string]*partition
	versions   uint64 // that were ever written
	room       int    // of a partition, in bytes
}

// partition holds the documents of one partition.
type partition struct {
	documents map[string]*document // by id
	types     map[string][]*document
	bytes     int
	applied   uint64 // Applies with effect
}

// document is one version of a document. It never changes.
type document struct {
	key     store.Key
	body    []byte
	etag    string
	decoded atomic.Value // a pointer to the decoded body, which only conditions look at
}

// size is about what the service counts: the body and the properties around it.
func (d *document) size() int { return len(d.body) + len(d.key.PK) + len(d.key.ID) + 200 }

// New returns an empty Store.
func New(c Config) *Store {
	if c.PartitionBytes == 0 {
		c.PartitionBytes = partitionBytes
	}
	return &Store{state: &state{partitions: map[string]*partition{}, room: c.PartitionBytes}, hook: c.Hook}
}

// Session returns another Store with the same documents, and with a hook and counts of its own:
// what another process has.
func (s *Store) Session(hook Hook) *Store { return &Store{state: s.state, hook: hook} }

// Versions returns how many versions of documents were ever written. A test sees by it whether
// anything was.
func (s *Store) Versions() uint64 {
	s.state.mu.RLock()
	defer s.state.mu.RUnlock()
	return s.state.versions
}

// Ping implements store.Store.
func (s *Store) Ping(ctx context.Context) error {
	return s.do(ctx, Operation{Kind: KindPing}, func() error { return nil })
}

// Counts implements store.Store. A read that returns several pages counts as one query.
func (s *Store) Counts() store.Counts {
	return store.Counts{Reads: s.counts.reads.Load(), Queries: s.counts.queries.Load(), Writes: s.counts.writes.Load(), Conflicts: s.counts.conflicts.Load()}
}

// ReadDocument implements store.Documents.
func (s *Store) ReadDocument(ctx context.Context, k store.Key) (found store.Document, err error) {
	s.counts.reads.Add(1)
	err = s.do(ctx, Operation{Kind: KindRead, Name: "ReadDocument", Partition: k.PK, ID: k.ID}, func() error {
		s.state.mu.RLock()
		defer s.state.mu.RUnlock()
		d := s.state.partition(k.PK).documents[k.ID]
		if d == nil {
			return store.ErrNotFound
		}
		found = d.copy()
		return nil
	})
	if err != nil {
		return store.Document{}, fmt.Errorf("reading %s: %w", k, err)
	}
	return found, nil
}

// Dump returns the documents of one partition, or of all if none is named, by partition and id.
func (s *Store) Dump(_ context.Context, pk string) ([]store.Document, error) {
	s.state.mu.RLock()
	defer s.state.mu.RUnlock()
	var all []store.Document
	for name, p := range s.state.partitions {
		if pk != "" && pk != name {
			continue
		}
		for _, d := range p.documents {
			all = append(all, d.copy())
		}
	}
	slices.SortFunc(all, func(a, b store.Document) int { return cmp.Or(strings.Compare(a.PK, b.PK), strings.Compare(a.ID, b.ID)) })
	return all, nil
}

// copy returns the document as a caller gets it.
func (d *document) copy() store.Document {
	return store.Document{Key: d.key, Doc: slices.Clone(d.body), ETag: d.etag}
}

// partition returns a partition to read; one that does not exist is empty.
func (s *state) partition(pk string) *partition {
	if p := s.partitions[pk]; p != nil {
		return p
	}
	return &partition{}
}

// do carries out an operation as the hook decides.
func (s *Store) do(ctx context.Context, op Operation, run func() error) error {
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return err
	} else if err != nil {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	if s.hook == nil {
		return run()
	}
	for {
		fault := s.hook(ctx, op)
		err := fault.Before
		if err == nil {
			err = run()
			if fault.Then != nil {
				fault.Then()
			}
			if err != nil {
				return err
			}
			err = fault.After
		}
		if err == nil || !fault.Retry {
			return err
		}
	}
}
