package membership

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/matoolkit/matoolkit/internal/store"
)

// sequence hands out the numbers of batches. Callers of this process who wait at the same time share one write, which one
// of them makes: if each made its own, all but one would fail, and many would mostly wait to retry.
//
// The zero value is not usable. It is safe for concurrent use.
type sequence struct {
	store store.Store
	now   func() time.Time
	turn  chan struct{}                   // holds a value while a caller writes
	last  store.Item[store.BatchSequence] // as that caller wrote it; without an ETag: not known

	mu      sync.Mutex
	waiting []*reservation // in their order
}

// reservation is a caller who waits for a number.
type reservation struct {
	ctx     context.Context
	summary store.BatchSummary
	extra   func(id int) (store.Writes, error)
	done    chan struct{} // closed with id and err
	id      int
	err     error
}

func (v *reservation) end(id int, err error) {
	v.id, v.err = id, err
	close(v.done)
}

func newSequence(s store.Store, now func() time.Time) *sequence {
	return &sequence{store: s, now: now, turn: make(chan struct{}, 1)}
}

// ReserveBatch reserves the next batch number: in one write it counts the sequence up, creates
// the summary, marked as creating, and applies the writes that extra gives for the number. It
// fails with ErrExists where another process has already written what extra creates.
//
// Extra may be called several times, and in the goroutine of another caller, but never after ReserveBatch returned.
func (r *Registrar) ReserveBatch(ctx context.Context, summary store.BatchSummary, extra func(id int) (store.Writes, error)) (int, error) {
	s, v := r.sequence, &reservation{ctx: ctx, summary: summary, extra: extra, done: make(chan struct{})}
	s.mu.Lock()
	s.waiting = append(s.waiting, v)
	s.mu.Unlock()
	select {
	case <-v.done:
		return v.id, v.err
	case <-ctx.Done():
		if s.leave(v) {
			return 0, context.Cause(ctx)
		}
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
		for !v.isOver() {
			s.reserve(ctx)
		}
	}
	<-v.done
	return v.id, v.err
}

func (v *reservation) isOver() bool {
	select {
	case <-v.done:
		return true
	default:
		return false
	}
}

// leave takes a caller out of the queue. It reports false if the caller is in a write.
func (s *sequence) leave(v *reservation) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.waiting, v)
	if i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
	}
	return i >= 0
}

// reserve writes the numbers of those who wait, as many as fit into one write. If another process came first, each gets a
// write of its own.
func (s *sequence) reserve(ctx context.Context) {
	ctx = context.WithoutCancel(ctx) // of the others
	s.mu.Lock()
	all := s.waiting
	s.waiting = nil
	s.mu.Unlock()
	last, err := s.read(ctx)
	if err != nil {
		for _, v := range all {
			v.end(0, err)
		}
		return
	}
	var group []*reservation
	writes := store.Writes{{}} // the first counts
	for i, v := range all {
		ops, err := s.create(v, last.Doc.Last+len(group)+1)
		if err != nil {
			v.end(0, err)
			continue
		}
		if len(group) > 0 && len(writes)+len(ops) > store.MaxOperations {
			s.mu.Lock()
			s.waiting = append(slices.Clone(all[i:]), s.waiting...)
			s.mu.Unlock()
			break
		}
		group, writes = append(group, v), append(writes, ops...)
	}
	if len(group) == 0 {
		s.last = last
		return
	}
	err = s.write(ctx, last, len(group), writes)
	for i, v := range group {
		switch {
		case store.Overtaken(err):
			v.end(s.alone(v))
		case err != nil:
			v.end(0, err)
		default:
			v.end(last.Doc.Last+i+1, nil)
		}
	}
}

// alone reserves a number for one caller.
func (s *sequence) alone(v *reservation) (id int, err error) {
	err = store.RetryOnConflict(v.ctx, func() error {
		last, err := s.read(v.ctx)
		if err != nil {
			return err
		}
		id = last.Doc.Last + 1
		ops, err := s.create(v, id)
		if errors.Is(err, store.ErrExists) { // extra sees what the other process has written
			return backoff.Permanent(err)
		}
		if err != nil {
			return err
		}
		err = s.write(v.ctx, last, 1, append(store.Writes{{}}, ops...))
		if errors.Is(err, store.ErrExists) && last.ETag != "" { // not the sequence, but what extra creates
			return backoff.Permanent(err)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return id, nil
}

// read gives the sequence, from the store unless this process wrote it last.
func (s *sequence) read(ctx context.Context) (store.Item[store.BatchSequence], error) {
	if last := s.last; last.ETag != "" {
		s.last = store.Item[store.BatchSequence]{}
		return last, nil
	}
	return store.OrNone(store.Read[store.BatchSequence](ctx, s.store, store.SequenceKey()))
}

// create returns the writes of a reservation, without that of the sequence.
func (s *sequence) create(v *reservation, id int) (store.Writes, error) {
	ops, err := v.extra(id)
	if err != nil {
		return nil, err
	}
	summary := v.summary
	summary.ID, summary.DetectedAt, summary.Creating = id, s.now().UTC(), true
	return append(store.Writes{store.Create(store.EntryKey(id), summary)}, ops...), nil
}

// write counts the sequence up, with the other writes.
func (s *sequence) write(ctx context.Context, last store.Item[store.BatchSequence], by int, writes store.Writes) error {
	next := store.BatchSequence{Last: last.Doc.Last + by}
	writes[0] = store.Create(store.SequenceKey(), next)
	if last.ETag != "" {
		writes[0] = store.Replace(store.SequenceKey(), next, last.Version)
	}
	applied, err := s.store.Apply(ctx, writes)
	if err == nil {
		s.last = store.Item[store.BatchSequence]{Key: store.SequenceKey(), Doc: next, Version: applied.Version(0)}
	}
	return err
}
