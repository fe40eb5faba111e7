package explore

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"testing/synctest"

	"go.opentelemetry.io/otel/trace"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store/memory"
)

// turns lets the parts of an invocation that process the results of a group take their steps one
// after the other, each part to its end, so that the same actions lead to the same state. Without
// it they would run at the same time, in any order.
type turns struct {
	mu      sync.Mutex
	waiting []turn
	comes   chan struct{} // tells that a part waits
}

// turn is a part that waits before a step.
type turn struct {
	part  string // the trace of its result
	begin chan struct{}
}

// read has the reads of the invocation answered by a store.
func (p *process) read(s *memory.Store) {
	p.Store = s.Session(func(ctx context.Context, _ memory.Operation) memory.Fault {
		p.await(ctx)
		return memory.Fault{}
	})
}

// await waits until it is the turn of the part that ctx is of.
func (p *process) await(ctx context.Context) {
	t := p.turns
	if t == nil {
		return
	}
	own := turn{trace.SpanContextFromContext(ctx).TraceID().String(), make(chan struct{})}
	t.mu.Lock()
	t.waiting = append(t.waiting, own)
	t.mu.Unlock()
	select {
	case t.comes <- struct{}{}:
	default:
	}
	<-own.begin
}

// next lets the first of the parts that wait take its step, and reports whether there is one.
func (t *turns) next() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		return false
	}
	first := slices.MinFunc(t.waiting, func(a, b turn) int { return cmp.Compare(a.part, b.part) })
	t.waiting = slices.DeleteFunc(t.waiting, func(w turn) bool { return w.begin == first.begin })
	close(first.begin)
	return true
}

// inTurns handles a delivery. It has the parts that handle the results of a group take turns.
func (p *process) inTurns(m *bus.Received, handle func() error) error {
	if m.Properties[message.PropertyMessageType] != message.TypeWorkerResults {
		return handle()
	}
	p.turns = &turns{comes: make(chan struct{}, 1)}
	done := make(chan error, 1)
	go func() { done <- handle() }()
	for {
		synctest.Wait()
		if p.turns.next() {
			continue
		}
		select {
		case err := <-done:
			return err
		case <-p.turns.comes: // after a pause
		}
	}
}
