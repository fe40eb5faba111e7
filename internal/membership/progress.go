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

// progress is how far a request with an idempotency key has come in adding its people.
type progress struct {
	key    store.Key
	item   store.Item[store.IdempotencyRecord]
	people []Newcomer
	places map[string]int // key → index in people
}

func newProgress(by audit.Caller, batch int, item store.Item[store.IdempotencyRecord], people []Newcomer) *progress {
	places := make(map[string]int, len(people))
	for i, p := range people {
		places[p.Key] = i
	}
	return &progress{idempotency.Key(by, store.BatchPartition(batch)), item, people, places}
}

// remaining gives the people who are still to be added. It leaves out those who were members when
// the request was first received, who may have been removed since.
func (p *progress) remaining() []Newcomer {
	var left []Newcomer
	for i := p.item.Doc.Next; i < len(p.people); i++ {
		if !p.present(i) {
			left = append(left, p.people[i])
		}
	}
	return left
}

// present reports whether a person was a member when the request was first received.
func (p *progress) present(i int) bool {
	bits := p.item.Doc.Present
	return i/8 < len(bits) && bits[i/8]&(1<<(i%8)) != 0
}

// markPresent marks people as members when the request was first received.
func (p *progress) markPresent(keys []string) {
	for _, key := range keys {
		if p.item.Doc.Present == nil {
			p.item.Doc.Present = make([]byte, len(p.people)/8+1)
		}
		i := p.places[key]
		p.item.Doc.Present[i/8] |= 1 << (i % 8)
	}
}

// after gives the record when so many more people have been added and rest are left.
func (p *progress) after(added int, rest []Newcomer) store.IdempotencyRecord {
	next := p.item.Doc
	next.Added += added
	next.Next = len(p.people)
	if len(rest) > 0 {
		next.Next = p.places[rest[0].Key]
	}
	return next
}

// write stores the next record in place of the one that was read.
func (p *progress) write(next store.IdempotencyRecord) store.Write {
	if p.item.ETag == "" {
		return store.Create(p.key, next)
	}
	return store.Replace(p.key, next, p.item.Version)
}

// reload reads the record again: another process may carry out the same request. Errors:
// CodeKeyReused.
func (p *progress) reload(ctx context.Context, st store.Store) error {
	item, err := store.OrNone(store.Read[store.IdempotencyRecord](ctx, st, p.key))
	if err != nil || item.ETag == "" {
		return err
	}
	if item.Doc.Content != p.item.Doc.Content {
		return problem.New(api.CodeKeyReused, "another request with other content uses the idempotency key at the same time; use a new key")
	}
	p.item = item
	return nil
}

// end records that no one is left to be added. It fails with ErrExists or ErrChanged where
// another process has gone on with the request.
func (p *progress) end(ctx context.Context, st store.Store) error {
	if p.item.ETag != "" && p.item.Doc.Next == len(p.people) {
		return nil
	}
	next := p.after(0, nil)
	applied, err := st.Apply(ctx, store.Writes{p.write(next)})
	if err != nil {
		return fmt.Errorf("end a request to add members: %w", err)
	}
	p.item = store.Item[store.IdempotencyRecord]{Doc: next, Version: applied.Version(0)}
	return nil
}

// fill sets in the result what the request has done, over all its attempts.
func (p *progress) fill(result *api.AddResult) {
	result.Added, result.Present = p.item.Doc.Added, nil
	for i, person := range p.people {
		if p.present(i) {
			result.Present = append(result.Present, person.Key)
		}
	}
}
