package simulation

import (
	"context"
	"errors"
	"fmt"

	"github.com/matoolkit/matoolkit/internal/store"
	cosmosstore "github.com/matoolkit/matoolkit/internal/store/cosmos"
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
	return b.store.Session(b.w.fault), nil
}

func (b *inMemory) progress() uint64 { return b.store.Versions() }
func (b *inMemory) close() error     { return nil }

// fault has an operation of a process wait for its verdict.
func (w *world) fault(ctx context.Context, op memory.Operation) memory.Fault {
	on, ok := ctx.Value(taskKey{}).(*task)
	if !ok {
		return memory.Fault{}
	}
	v, err := w.park(ctx, &operation{task: on, write: op.Kind == memory.KindWrite, text: op.String()})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return memory.Fault{Before: fmt.Errorf("%w: %w", store.ErrUnavailable, err)}
	case err != nil:
		return memory.Fault{Before: err}
	case v.odd:
		return memory.Fault{Before: errOdd}
	case v.lost && v.carriedOut > 0 || v.status != 0 && v.carriedOut > 0:
		return memory.Fault{After: memory.AnswerLost.After, Retry: v.retried}
	case v.status == 449 && op.Kind == memory.KindWrite:
		return memory.Conflict
	case v.lost, v.status != 0:
		return memory.Fault{Before: memory.Unavailable.Before, Retry: v.retried}
	}
	return memory.Fault{}
}
