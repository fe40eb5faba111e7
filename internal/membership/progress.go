package membership

import (
	"context"
	"fmt"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/idempotency"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/store"
)

// addition is a named request to add people.
type addition struct {
	key    store.Key
	item   store.Item[store.IdempotencyRecord]
	people []Newcomer
	places map[string]int // of the people, by key
}

func newAddition(by audit.Caller, batch int, item store.Item[store.IdempotencyRecord], people []Newcomer) *addition {
	places := make(map[string]int, len(people))
	for i, p := range people {
		places[p.Key] = i
	}
	return &addition{idempotency.Key(by, store.BatchPartition(batch)), item, people, places}
}

// left are the people whom nobody has dealt with: not those who were members when the
// request came first, and may have been removed since.
func (n *addition) left() []Newcomer {
	var left []Newcomer
	for i := n.item.Doc.Next; i < len(n.people); i++ {
		if !n.present(i) {
			left = append(left, n.people[i])
		}
	}
	return left
}

func (n *addition) present(i int) bool {
	bits := n.item.Doc.Present
	return i/8 < len(bits) && bits[i/8]&(1<<(i%8)) != 0
}

// found notes who were members when the request came first.
func (n *addition) found(present []string) {
	for _, key := range present {
		if n.item.Doc.Present == nil {
			n.item.Doc.Present = make([]byte, len(n.people)/8+1)
		}
		i := n.places[key]
		n.item.Doc.Present[i/8] |= 1 << (i % 8)
	}
}

// after is the request when so many more people have been added and the rest is left.
func (n *addition) after(added int, rest []Newcomer) store.IdempotencyRecord {
	next := n.item.Doc
	next.Added += added
	next.Next = len(n.people)
	if len(rest) > 0 {
		next.Next = n.places[rest[0].Key]
	}
	return next
}

// op stores the request as it will be.
func (n *addition) op(next store.IdempotencyRecord) store.Write {
	if n.item.ETag == "" {
		return store.Create(n.key, next)
	}
	return store.Replace(n.key, next, n.item.Version)
}

// look reads how far the request has come: somebody else may carry it out as well.
func (n *addition) look(ctx context.Context, a *Registrar) error {
	item, err := store.OrNone(store.Read[store.IdempotencyRecord](ctx, a.store, n.key))
	if err != nil || item.ETag == "" {
		return err
	}
	if item.Doc.Content != n.item.Doc.Content {
		return problem.New(api.CodeKeyReused, "the idempotency key is used for a request with other content at the same time; choose a new key")
	}
	n.item = item
	return nil
}

// end notes that nothing is left to be done. It fails with ErrExists or ErrChanged
// where somebody else has gone on with the request.
func (n *addition) end(ctx context.Context, a *Registrar) error {
	if n.item.ETag != "" && n.item.Doc.Next == len(n.people) {
		return nil
	}
	next := n.after(0, nil)
	applied, err := a.store.Apply(ctx, store.Writes{n.op(next)})
	if err != nil {
		return fmt.Errorf("the end of a request: %w", err)
	}
	n.item = store.Item[store.IdempotencyRecord]{Doc: next, Version: applied.Version(0)}
	return nil
}

// tell fills in what the request has come to.
func (n *addition) tell(view *api.AddResult) {
	view.Added, view.Present = n.item.Doc.Added, nil
	for i, p := range n.people {
		if n.present(i) {
			view.Present = append(view.Present, p.Key)
		}
	}
}
