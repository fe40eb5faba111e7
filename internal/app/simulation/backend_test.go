package simulation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/matoolkit/matoolkit/internal/store"
	cosmosstore "github.com/matoolkit/matoolkit/internal/store/cosmos"
	"github.com/matoolkit/matoolkit/internal/store/group"
	"github.com/matoolkit/matoolkit/internal/store/memory"
	"github.com/matoolkit/matoolkit/internal/store/storetest"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

// backend is where a world stores its documents.
type backend interface {
	// open opens the store for a process; for nil, one without faults.
	open(p *process) (documentStore, error)
	// progress changes whenever something was written.
	progress() uint64
	close() error
}

// documentStore is a driver of the store whose documents the oracle reads.
type documentStore interface {
	store.Store
	storetest.Dumper
}

var errOdd = errors.New("an odd failure")

// newBackend makes the backend of a world: a store in memory, or the real driver over the real
// protocol.
func newBackend(w *world, protocols bool) (backend, error) {
	if !protocols {
		return &inMemory{w: w, store: memory.New(memory.Config{})}, nil
	}
	server, err := cosmos.Open(cosmos.Config{Now: w.now})
	if err != nil {
		return nil, err
	}
	b := &overProtocol{w: w, server: server}
	s, err := b.open(nil)
	if err != nil {
		return nil, err
	}
	return b, s.(*cosmosstore.Store).Provision(context.Background())
}

// overProtocol is the Cosmos DB driver over local/cosmos.
type overProtocol struct {
	w       *world
	server  *cosmos.Server
	written uint64 // requests that wrote something
}

func (b *overProtocol) open(p *process) (documentStore, error) {
	return cosmosstore.Open(cosmosstore.Config{
		Endpoint: b.server.URL(), Database: "d", Container: "c", Key: cosmos.DefaultKey, HTTPClient: &transport{w: b.w, backend: b, process: p},
	})
}

func (b *overProtocol) progress() uint64 { return b.written }
func (b *overProtocol) close() error     { return b.server.Close() }

// inMemory is the driver in memory.
type inMemory struct {
	w     *world
	store *memory.Store
}

func (b *inMemory) open(p *process) (documentStore, error) {
	if p == nil {
		return b.store, nil
	}
	s := b.store.Session(b.w.fault)
	if b.w.plan.chaos.together {
		return &grouped{Store: s, w: b.w}, nil
	}
	return s, nil
}

func (b *inMemory) progress() uint64 { return b.store.Versions() }
func (b *inMemory) close() error     { return nil }

// grouped is a store in memory that commits Applies of its process in groups, as the Cosmos DB driver
// does. An Apply waits until the scheduler has carried it out, with others that wait.
type grouped struct {
	*memory.Store
	w *world
}

// Apply implements store.Documents.
func (s *grouped) Apply(ctx context.Context, writes store.Writes) (store.Applied, error) {
	on, ok := ctx.Value(taskKey{}).(*task)
	if !ok {
		return s.Store.Apply(ctx, writes)
	}
	if err := writes.Check(); err != nil {
		return nil, err
	}
	text := memory.Operation{Kind: memory.KindWrite, Name: "Apply", Partition: writes[0].Key.PK, Writes: writes}.String()
	for {
		o := &operation{task: on, write: true, text: text, apply: group.New(writes, 0), store: s.Store}
		v, err := s.w.park(ctx, o)
		if err == nil && v.carriedOut > 0 && o.err != nil {
			return nil, o.err
		}
		fault := faultOf(v, err, true)
		switch {
		case fault.Retry:
		case fault.Before != nil:
			return nil, fault.Before
		case fault.After != nil:
			return nil, fault.After
		default:
			return o.applied, nil
		}
	}
}

// ApplyEach implements store.Documents.
func (s *grouped) ApplyEach(ctx context.Context, all []store.Writes) []store.Outcome {
	outcomes := make([]store.Outcome, len(all))
	var callers sync.WaitGroup
	for i, writes := range all {
		callers.Go(func() { outcomes[i].Applied, outcomes[i].Err = s.Apply(ctx, writes) })
	}
	callers.Wait()
	return outcomes
}

// gather returns the Applies that one operation is carried out with: some of those that its process has
// waiting for the same partition, in any order.
func (w *world) gather(o *operation) []*operation {
	if o.apply == nil {
		return []*operation{o}
	}
	others := slices.DeleteFunc(w.waiting(), func(p *operation) bool {
		return p == o || p.apply == nil || p.store != o.store || p.apply.Writes[0].Key.PK != o.apply.Writes[0].Key.PK
	})
	others = append(others, o)
	w.together.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	var set group.Set
	set.Add(o.apply)
	return slices.DeleteFunc(others, func(p *operation) bool { return p != o && (w.together.IntN(4) == 0 || !set.Add(p.apply)) })
}

// together counts the groups of all worlds, those that share counts, and the Applies that lost.
var together struct{ groups, counts, losers atomic.Int64 }

// commit carries out a group.
func (w *world) commit(operations []*operation) {
	var applies []*group.Apply
	items, counted := group.Items{}, false
	for _, o := range operations {
		counted = counted || items.Touches(o.apply)
		items.Add(o.apply)
		applies = append(applies, o.apply)
	}
	if len(operations) > 1 {
		together.groups.Add(1)
		if counted {
			together.counts.Add(1)
		}
		w.trace("  a group of %d", len(operations))
	}
	operations[0].store.ApplyGroup(applies, func(a *group.Apply, applied store.Applied, err error) {
		for _, o := range operations {
			if o.apply == a {
				o.applied, o.err = applied, err
			}
		}
		if err != nil && len(operations) > 1 {
			together.losers.Add(1)
		}
	})
}

// fault has an operation of a process wait for its verdict.
func (w *world) fault(ctx context.Context, op memory.Operation) memory.Fault {
	on, ok := ctx.Value(taskKey{}).(*task)
	if !ok {
		return memory.Fault{}
	}
	v, err := w.park(ctx, &operation{task: on, write: op.Kind == memory.KindWrite, text: op.String()})
	return faultOf(v, err, op.Kind == memory.KindWrite)
}

// faultOf returns what a verdict, or the end of the context, makes of an operation.
func faultOf(v verdict, err error, write bool) memory.Fault {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return memory.Fault{Before: fmt.Errorf("%w: %w", store.ErrUnavailable, err)}
	case err != nil:
		return memory.Fault{Before: err}
	case v.odd:
		return memory.Fault{Before: errOdd}
	case v.lost && v.carriedOut > 0 || v.status != 0 && v.carriedOut > 0:
		return memory.Fault{After: memory.AnswerLost.After, Retry: v.retried}
	case v.status == 449 && write:
		return memory.Conflict
	case v.lost, v.status != 0:
		return memory.Fault{Before: memory.Unavailable.Before, Retry: v.retried}
	}
	return memory.Fault{}
}
