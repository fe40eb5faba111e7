package app

import (
	"context"
	"errors"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store"
)

// batchInit starts a batch's init sequence.
func (a *App) batchInit(ctx context.Context, m message.BatchInit) error {
	b, err := a.known(ctx, m.BatchID)
	if err != nil {
		return err
	}
	for _, p := range b.Doc.Phases {
		if p.Kind == engine.KindInit && p.Version == m.RunbookVersion {
			if b.Doc.Gate() != engine.Open && !p.Walked {
				// Its job may not have been sent, and this message is the only one that sends it. A
				// worker answers that it is revoked.
				return a.decide(ctx, b.Doc.ID, engine.OnRun{Phase: p.ID, RunEvent: engine.RunStarted{}})
			}
			return a.begin(ctx, b, engine.PhaseDue{Phase: p.ID})
		}
	}
	return reject("batch %d has no init sequence of runbook version %d", m.BatchID, m.RunbookVersion)
}

// refused turns a refusal of the engine into that of a message.
func refused(err error) error {
	var refusal *engine.Refusal
	if errors.As(err, &refusal) {
		return reject("%s", refusal.Reason)
	}
	return err
}

func (a *App) known(ctx context.Context, id int) (store.Item[engine.Batch], error) {
	now := a.now()
	b, err := store.Read[engine.Batch](ctx, a.store, store.BatchKey(id))
	if errors.Is(err, store.ErrNotFound) {
		return b, reject("there is no batch %d", id)
	}
	if err != nil {
		return b, err
	}
	a.gates.saw(&b.Doc, now)
	return b, a.enforce(ctx, &b.Doc)
}

// begin dispatches a phase, or the init sequence, where its time has come. Where it has
// not, or had before, what is to follow from the phases before it is asked for again.
func (a *App) begin(ctx context.Context, b store.Item[engine.Batch], e engine.PhaseDue) error {
	c := occurred(e)
	c.prime = func(s *snapshot) { prime(s, s.batchKey(), b) }
	_, ds, err := a.run(ctx, b.Doc.ID, c)
	if err != nil || !ds[0].Stale {
		return refused(err)
	}
	a.log.InfoContext(ctx, "phase is held up or has been walked", logkey.BatchID, b.Doc.ID, logkey.Phase, e.Phase)
	return a.decide(ctx, b.Doc.ID, engine.PhaseCounted{Phase: e.Phase})
}

// phaseDue dispatches one page of a phase and asks for the next.
func (a *App) phaseDue(ctx context.Context, m message.PhaseDue) error {
	b, err := a.known(ctx, m.BatchID)
	if err != nil {
		return err
	}
	page := max(m.Page, 1)
	p, ok := b.Doc.Phase(m.PhaseExecutionID)
	if !ok || p.Kind != engine.KindPhase {
		return reject("batch %d has no phase execution %d", m.BatchID, m.PhaseExecutionID)
	}
	if page == 1 && m.Walk != "" { // announced again: the pages that were made need not be gone over
		if made, err := a.store.LastShard(ctx, m.BatchID, m.PhaseExecutionID); err != nil {
			return err
		} else if made != nil {
			page = made.Doc.Page
		}
	}
	switch b.Doc.Gate() { // this page may have been made as the batch was paused or cancelled
	case engine.Stopped:
		return a.stopPage(ctx, m.BatchID, page, "stopped")
	case engine.Paused:
		return a.sendUnsent(ctx, m.BatchID, page)
	}
	if joiningAt(&b.Doc, page) >= 0 && p.Status == engine.PhaseDispatched && !p.Walked && b.Doc.Gate() == engine.Open {
		if open, err := a.joinWindowOpen(ctx, &b.Doc, page); err != nil {
			return err
		} else if !open { // its members have not begun the phases before this one
			return engine.ErrNotYet
		}
	}
	if keepUp, err := a.workersKeepUp(ctx, &b.Doc, *p, page); err != nil {
		return err
	} else if !keepUp {
		if waits, err := a.waitForWorkers(ctx, m, page); err != nil || waits {
			return err
		}
	}
	if err := a.begin(ctx, b, engine.PhaseDue{Phase: m.PhaseExecutionID, Page: page, Again: m.Walk}); err != nil {
		return err
	}
	// If the batch was cancelled as the page was made, its jobs are revoked.
	if gate, err := a.gateNow(ctx, m.BatchID); err != nil || gate != engine.Stopped {
		return err
	}
	return a.stopPage(ctx, m.BatchID, page, "stopped")
}
