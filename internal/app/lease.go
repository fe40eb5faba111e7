package app

import (
	"context"
	"errors"
	"fmt"
	"time"

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
// into two batches by two ticks at once.
func (a *App) lease(ctx context.Context, name, holder string) (store.Item[synced], error) {
	held, err := orNone(store.Read[synced](ctx, a.store, store.SyncKey(name)))
	if err != nil {
		return held, err
	}
	now := a.now().UTC()
	if held.Doc.Holder != "" && now.Before(held.Doc.Until) {
		return held, errLeased
	}
	held.Doc.Runbook, held.Doc.Holder, held.Doc.Until = name, holder, now.Add(leaseTime)
	write := store.Create(store.SyncKey(name), held.Doc)
	if held.ETag != "" {
		write = store.Replace(store.SyncKey(name), held.Doc, held.ETag)
	}
	outcome, err := a.store.Commit(ctx, write)
	if errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrExists) {
		return held, errLeased
	}
	if err != nil {
		return held, err
	}
	held.ETag = outcome.ETag(0)
	return held, nil
}

// giveBack ends the lease, with what came of the tick.
func (a *App) giveBack(ctx context.Context, held store.Item[synced]) error {
	held.Doc.Holder, held.Doc.Until = "", time.Time{}
	_, err := a.store.Commit(ctx, store.Replace(store.SyncKey(held.Doc.Runbook), held.Doc, held.ETag))
	if errors.Is(err, store.ErrChanged) {
		return fmt.Errorf("the runbook was taken over by another tick before this one ended: %w", err)
	}
	return err
}
