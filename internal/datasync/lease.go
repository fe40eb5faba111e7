package datasync

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/matoolkit/matoolkit/internal/store"
)

// leaseTime is how long the lease of a tick on a runbook lasts. After a tick that dies, the next
// tick but one syncs the runbook. A sync stops by itself after syncTime, which is so much
// shorter that clocks may differ.
const (
	leaseTime = 9 * time.Minute
	syncTime  = 8 * time.Minute
)

// leasePatience is for how long a failed write of a lease is repeated.
const leasePatience = 5 * time.Second

var (
	// errLeased says that another tick has the lease.
	errLeased = errors.New("datasync: another tick has the lease of the runbook")
	// errPaused says that the data source asked not to be queried yet.
	errPaused = errors.New("datasync: the data source asked for no query yet")
)

// lease takes the lease of a runbook, for the time from its query to its last write: a result
// must not be applied after a newer one, and two ticks must not put a person into two batches.
// There is no lease while the data source is to be left alone.
// Where the store has a lease of this holder, the answer to this call's own write was lost.
func (s *Syncer) lease(ctx context.Context, name, holder string) (store.Item[store.SyncRecord], error) {
	return leaseWrite(ctx, func() (store.Item[store.SyncRecord], error) {
		held, err := store.OrNone(store.Read[store.SyncRecord](ctx, s.store, store.SyncKey(name)))
		if err != nil || held.Doc.Holder == holder {
			return held, err
		}
		now := s.now().UTC()
		if held.Doc.Holder != "" && now.Before(held.Doc.Until) {
			return held, errLeased
		}
		if held.Doc.NotBefore != nil && now.Before(*held.Doc.NotBefore) {
			return held, errPaused
		}
		held.Doc.Runbook, held.Doc.Holder, held.Doc.Until = name, holder, now.Add(leaseTime)
		write := store.Create(store.SyncKey(name), held.Doc)
		if held.ETag != "" {
			write = store.Replace(store.SyncKey(name), held.Doc, held.Version)
		}
		applied, err := s.store.Apply(ctx, store.Writes{write})
		if err == nil {
			held.Version = applied.Version(0)
		}
		return held, err
	})
}

// endLease ends the lease and stores the result of the sync. Where the store has no lease of the
// holder any more, an earlier write of this call ended it, or another tick took the lease
// (errTakenOver).
func (s *Syncer) endLease(ctx context.Context, held store.Item[store.SyncRecord]) error {
	holder, result := held.Doc.Holder, held.Doc
	result.Holder, result.Until = "", time.Time{}
	version := held.Version
	_, err := leaseWrite(ctx, func() (store.Item[store.SyncRecord], error) {
		_, err := s.store.Apply(ctx, store.Writes{store.Replace(store.SyncKey(result.Runbook), result, version)})
		if err == nil {
			return held, nil
		}
		now, readErr := store.Read[store.SyncRecord](ctx, s.store, store.SyncKey(result.Runbook))
		switch {
		case readErr != nil:
			return held, errors.Join(err, readErr)
		case now.Doc.Holder == holder:
			version = now.Version
			return held, err
		case now.Doc.LastRunAt != nil && now.Doc.LastRunAt.Equal(*result.LastRunAt):
			return held, nil
		}
		return held, errTakenOver
	})
	return err
}

// errTakenOver says that a sync took longer than its lease.
var errTakenOver = errors.New("datasync: the lease expired and another tick took it")

// leaseWrite repeats a read and the write that follows from it until the result is known. A lease
// of which this tick does not know would stop the runbook for leaseTime. So leaseWrite also repeats
// after an outage, for leasePatience at most, which store.RetryOnConflict does not.
func leaseWrite(ctx context.Context, write func() (store.Item[store.SyncRecord], error)) (store.Item[store.SyncRecord], error) {
	return backoff.Retry(ctx, func() (store.Item[store.SyncRecord], error) {
		held, err := write()
		if err == nil || errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrExists) || errors.Is(err, store.ErrUnavailable) {
			return held, err
		}
		return held, backoff.Permanent(err)
	}, backoff.WithBackOff(store.Backoff()), backoff.WithMaxElapsedTime(leasePatience))
}
