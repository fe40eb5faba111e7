package orchestrator

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store"
)

// progress is how far the handling of one message has come over the documents of a page. A
// requeued message carries it, so that the next try continues behind the last document that is
// done. Without it a page that outlasts one invocation begins anew with each try and never ends.
// It is safe for concurrent use.
type progress struct {
	mu   sync.Mutex
	done string // the id of the last document that is done
}

type progressKey struct{}

// withProgress gives the handling of a message the progress that the message carries.
func withProgress(ctx context.Context, m message.Delivery) (context.Context, *progress) {
	p := &progress{}
	p.done, _ = m.Properties[message.PropertyDoneThrough].(string)
	return context.WithValue(ctx, progressKey{}, p), p
}

func (p *progress) through() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done
}

func (p *progress) advance(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = id
}

// forEach calls do for each document in the order of their ids and leaves out those that an
// earlier try of the message has done. A handler that goes over documents of several types does
// so in the order of the types' ids.
func forEach[T any](ctx context.Context, items []store.Item[T], do func(store.Item[T]) error) error {
	p, _ := ctx.Value(progressKey{}).(*progress)
	items = slices.SortedFunc(slices.Values(items), func(x, y store.Item[T]) int { return cmp.Compare(x.ID, y.ID) })
	for _, item := range items {
		if p != nil && item.ID <= p.through() {
			continue
		}
		if err := do(item); err != nil {
			return err
		}
		if p != nil {
			p.advance(item.ID)
		}
	}
	return nil
}
