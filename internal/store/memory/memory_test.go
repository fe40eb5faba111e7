package memory_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/memory"
	"github.com/matoolkit/matoolkit/internal/store/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Driver {
		var fault atomic.Pointer[memory.Fault]
		s := memory.New(memory.Config{Hook: func(context.Context, memory.Operation) memory.Fault {
			if f := fault.Load(); f != nil {
				return *f
			}
			return memory.Fault{}
		}})
		inject := func(f memory.Fault) func(*testing.T) func() {
			return func(*testing.T) func() {
				fault.Store(&f)
				return func() { fault.Store(nil) }
			}
		}
		return storetest.Driver{
			Store: s, Unavailable: inject(memory.Unavailable), LoseAnswer: inject(memory.AnswerLost),
			Full: inject(memory.Fault{Before: fmt.Errorf("%w: a fault of the test", store.ErrFull)}),
		}
	})
}

// TestHookRetries: an operation that the hook has repeated returns what one operation returns.
func TestHookRetries(t *testing.T) {
	t.Parallel()
	var lost atomic.Bool
	s := memory.New(memory.Config{Hook: func(_ context.Context, op memory.Operation) memory.Fault {
		if lost.CompareAndSwap(true, false) {
			return memory.Fault{After: memory.AnswerLost.After, Retry: true}
		}
		return memory.Fault{}
	}})
	k := store.WorkerKey("w")
	write := store.Writes{store.Create(k, store.WorkerRecord{ID: "w"})}
	lost.Store(true)
	if _, err := s.Apply(t.Context(), write); !errors.Is(err, store.ErrExists) {
		t.Errorf("a create whose answer was lost: %v", err)
	}
	lost.Store(true)
	if all, err := s.AllWorkers(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("a query whose answer was lost: %v, %v", all, err)
	}
	lost.Store(true)
	if _, err := store.Read[store.WorkerRecord](t.Context(), s, k); err != nil {
		t.Errorf("a read whose answer was lost: %v", err)
	}
}

// TestPartitionIsFull: a partition accepts its configured size.
func TestPartitionIsFull(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Config{PartitionBytes: 1000})
	k := store.WorkerKey("w")
	if _, err := s.Apply(t.Context(), store.Writes{store.Create(k, strings.Repeat("x", 500))}); err != nil {
		t.Fatal(err)
	}
	grown := store.Writes{store.Upsert(k, strings.Repeat("x", 1000))}
	if _, err := s.Apply(t.Context(), grown); !errors.Is(err, store.ErrFull) {
		t.Errorf("beyond the room: %v", err)
	}
	if _, err := s.Apply(t.Context(), store.Writes{store.Upsert(k, "x")}); err != nil {
		t.Errorf("a document that shrinks: %v", err)
	}
}

// TestThenComesBetweenTheOperationAndItsAnswer: also of an operation that the store refuses, and
// not of one that is not carried out.
func TestThenComesBetweenTheOperationAndItsAnswer(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Config{})
	k := store.WorkerKey("w")
	var seen []error
	fault := memory.Fault{Then: func() {
		_, err := store.Read[store.WorkerRecord](t.Context(), s, k)
		seen = append(seen, err)
	}}
	over := s.Session(func(context.Context, memory.Operation) memory.Fault { return fault })
	create := store.Writes{store.Create(k, store.WorkerRecord{ID: "w"})}
	if _, err := over.Apply(t.Context(), create); err != nil || len(seen) != 1 || seen[0] != nil {
		t.Fatalf("%v; then %v", err, seen)
	}
	if _, err := over.Apply(t.Context(), create); !errors.Is(err, store.ErrExists) || len(seen) != 2 {
		t.Errorf("%v; then %v", err, seen)
	}
	fault.Before = store.ErrUnavailable
	if _, err := over.Apply(t.Context(), create); !errors.Is(err, store.ErrUnavailable) || len(seen) != 2 {
		t.Errorf("%v; then %v", err, seen)
	}
}
