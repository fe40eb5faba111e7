package app

import (
	"context"
	"errors"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/store"
)

// merge starts the on_complete steps of a phase whose members have all ended. Done
// again it repeats the start.
func (a *App) merge(ctx context.Context, batch, phase int) error {
	b, err := store.Read[engine.Batch](ctx, a.store, store.BatchKey(batch))
	if err != nil {
		return err
	}
	p, ok := b.Doc.Phase(phase)
	switch {
	case !ok || p.Merge != engine.RunRunning:
		return nil
	case b.Doc.Gate() == engine.Stopped:
		return a.repeatStart(ctx, batch, phase)
	}
	rb, err := a.runbook(ctx, b.Doc.Runbook, p.Version)
	if err != nil {
		return err
	}
	run, err := engine.NewRun(&b.Doc, *p, nil, rb, a.now())
	if err != nil {
		return err
	}
	_, err = a.store.Commit(ctx, store.Create(store.RunKey(batch, phase, 0), run))
	if err != nil && !errors.Is(err, store.ErrExists) {
		return err
	}
	return a.startRun(ctx, batch, phase, 0)
}
