package datasync

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/store"
)

// leaseTime is for how long a tick has a runbook to itself. A tick that dies leaves the
// runbook to the next but one; syncTime, after which a tick gives up by itself, is far
// enough below it that clocks may differ.
const (
	leaseTime = 9 * time.Minute
	syncTime  = 8 * time.Minute
)

// errLeased is what a tick meets that would take up a runbook another is at.
var errLeased = errors.New("app: another tick has the runbook in hand")

// lease takes a runbook for one tick, from its query to its last write: a result that
// is older than another tick's must not be applied after it, and nobody may be put
// into two batches by two ticks at once. A lease that the store has for this holder is
// this call's own: the answer to its write was lost.
func (sy *Syncer) lease(ctx context.Context, name, holder string) (store.Item[store.SyncRecord], error) {
	return leaseWrite(ctx, func() (store.Item[store.SyncRecord], error) {
		held, err := store.OrNone(store.Read[store.SyncRecord](ctx, sy.store, store.SyncKey(name)))
		if err != nil || held.Doc.Holder == holder {
			return held, err
		}
		now := sy.now().UTC()
		if held.Doc.Holder != "" && now.Before(held.Doc.Until) {
			return held, errLeased
		}
		held.Doc.Runbook, held.Doc.Holder, held.Doc.Until = name, holder, now.Add(leaseTime)
		write := store.Create(store.SyncKey(name), held.Doc)
		if held.ETag != "" {
			write = store.Replace(store.SyncKey(name), held.Doc, held.Version)
		}
		applied, err := sy.store.Apply(ctx, store.Writes{write})
		if err == nil {
			held.Version = applied.Version(0)
		}
		return held, err
	})
}

// giveBack ends the lease, with what came of the tick. A lease that the store no longer has
// for the holder was ended by an earlier write of this call, or another tick took the
// runbook over.
func (sy *Syncer) giveBack(ctx context.Context, held store.Item[store.SyncRecord]) error {
	holder, result := held.Doc.Holder, held.Doc
	result.Holder, result.Until = "", time.Time{}
	version := held.Version
	_, err := leaseWrite(ctx, func() (store.Item[store.SyncRecord], error) {
		_, err := sy.store.Apply(ctx, store.Writes{store.Replace(store.SyncKey(result.Runbook), result, version)})
		if err == nil {
			return held, nil
		}
		now, readErr := store.Read[store.SyncRecord](ctx, sy.store, store.SyncKey(result.Runbook))
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

// errTakenOver is that a tick went on for longer than its lease.
var errTakenOver = errors.New("app: another tick took the runbook over before this one ended")

// leaseWrite repeats a read and the write that follows from it until the applied is
// known: a lease that is written, and not known to be, stops the runbook for leaseTime.
func leaseWrite(ctx context.Context, write func() (store.Item[store.SyncRecord], error)) (store.Item[store.SyncRecord], error) {
	return backoff.Retry(ctx, func() (store.Item[store.SyncRecord], error) {
		held, err := write()
		if err == nil || errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrExists) || errors.Is(err, store.ErrUnavailable) {
			return held, err
		}
		return held, backoff.Permanent(err)
	}, backoff.WithBackOff(applier.Backoff()), backoff.WithMaxElapsedTime(leasePatience))
}

// leasePatience is for how long a lease is tried to be written.
const leasePatience = 5 * time.Second
