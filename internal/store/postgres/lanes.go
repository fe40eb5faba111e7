package postgres

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/matoolkit/matoolkit/internal/panics"
	"github.com/matoolkit/matoolkit/internal/store"
)

// The bounds of a transaction with several Applies.
const (
	mostOperations  = 2 * store.MaxOperations
	longestTransact = time.Minute
)

// lanes carry out the Applies of this process: those of one partition one transaction after the other. While
// one is under way, others gather for the next. It is safe for concurrent use.
type lanes struct {
	carryOut func(context.Context, []store.Writes) []store.Outcome

	mu         sync.Mutex
	partitions map[string]*lane // those with Applies
}

// lane is the Applies of one partition.
type lane struct {
	queue []*pending // in their order
	busy  bool
}

// pending is an Apply whose caller waits.
type pending struct {
	ctx     context.Context // of the caller
	writes  store.Writes
	place   int           // among the Applies of its caller
	done    chan struct{} // closed with the outcome
	begun   bool
	outcome store.Outcome
}

// enter adds Applies to the lanes of their partitions.
func (l *lanes) enter(applies []*pending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range applies {
		pk := p.writes[0].Key.PK
		one := l.partitions[pk]
		if one == nil {
			one = &lane{}
			l.partitions[pk] = one
		}
		one.queue = append(one.queue, p)
	}
	for _, p := range applies {
		pk := p.writes[0].Key.PK
		if one := l.partitions[pk]; one != nil && !one.busy {
			one.busy = true
			go func() { _ = panics.Catch(p.ctx, func() error { l.run(pk, one); return nil }) }()
		}
	}
}

// wait waits for an outcome. An Apply that has not begun when ctx ends is taken back; the outcome of another one
// is then not known.
func (l *lanes) wait(ctx context.Context, p *pending) store.Outcome {
	select {
	case <-p.done:
		return p.outcome
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-p.done:
		return p.outcome
	default:
	}
	if one := l.partitions[p.writes[0].Key.PK]; one != nil && !p.begun {
		one.queue = slices.DeleteFunc(one.queue, func(other *pending) bool { return other == p })
	}
	return store.Outcome{Err: failed(p.writes, classify(ctx.Err()))}
}

// run carries out the Applies of a lane until there is none.
func (l *lanes) run(pk string, one *lane) {
	for {
		group := l.next(pk, one)
		if len(group) == 0 {
			return
		}
		all := make([]store.Writes, len(group))
		for i, p := range group {
			all[i] = p.writes
		}
		// A transaction does not end with the context of one of its callers.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(group[0].ctx), longestTransact)
		var outcomes []store.Outcome
		err := panics.Catch(ctx, func() error { outcomes = l.carryOut(ctx, all); return nil })
		cancel()
		for i, p := range group {
			if err != nil {
				p.outcome.Err = failed(p.writes, fmt.Errorf("%w: %w", store.ErrUnavailable, err))
			} else {
				p.outcome = outcomes[i]
			}
			close(p.done)
		}
	}
}

// next takes the Applies of the next transaction from a lane. A lane without any is removed.
func (l *lanes) next(pk string, one *lane) (group []*pending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	operations := 0
	for _, p := range one.queue {
		if operations += len(p.writes); len(group) > 0 && operations > mostOperations {
			break
		}
		p.begun = true
		group = append(group, p)
	}
	one.queue = one.queue[len(group):]
	if len(group) == 0 {
		delete(l.partitions, pk)
	}
	return group
}
