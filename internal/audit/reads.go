package audit

import (
	"context"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/matoolkit/matoolkit/internal/store"
)

// readWindow is the interval within which repeated reads by one caller produce one audit record: a
// caller that watches a batch reads it every second.
const readWindow = 15 * time.Minute

// maxCachedReads is the number of reads that the cache has. A read that it has forgotten produces
// one more record, never one less.
const maxCachedReads = 10_000

// readKey identifies the caller, the partition, the item and the kind of read.
type readKey struct{ by, partition, target, action string }

// lastRead has the time of the last record. Only the holder of the turn uses it.
type lastRead struct {
	turn chan struct{} // holds one token
	at   time.Time
}

// readCache remembers which reads were recorded by this process, and when. Safe for
// concurrent use.
type readCache = *lru.Cache[readKey, *lastRead]

func newReadCache() readCache {
	cache, err := lru.New[readKey, *lastRead](maxCachedReads)
	if err != nil {
		panic(err) // only a size below 1 is refused
	}
	return cache
}

// RecordRead records that a caller reads data of members. The caller of RecordRead answers only after
// it succeeds. RecordRead fills in By and At. Of requests at the same time one writes the record, and
// the others wait for it.
func (l *Log) RecordRead(ctx context.Context, c Caller, r store.AuditRecord) error {
	fresh := &lastRead{turn: make(chan struct{}, 1)}
	fresh.turn <- struct{}{}
	key := readKey{by: c.Identity(), partition: r.Partition(), target: r.Runbook + r.Target, action: r.Action}
	last, known, _ := l.reads.PeekOrAdd(key, fresh)
	if !known {
		last = fresh
	}
	select {
	case <-last.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { last.turn <- struct{}{} }()
	now := l.now()
	if !last.at.IsZero() && !now.Before(last.at) && now.Sub(last.at) < readWindow {
		l.reads.Get(key) // it is the last to be forgotten
		return nil
	}
	r.At, r.Actor = now, c.Actor()
	err := store.RetryOnConflict(ctx, func() error { // the service asks to try again
		_, err := l.store.Apply(ctx, store.Writes{l.Record(r)})
		return err
	})
	if err == nil {
		last.at = now
	}
	return err
}
