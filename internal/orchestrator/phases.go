package orchestrator

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// onBatchInit starts a batch's init sequence.
func (or *Orchestrator) onBatchInit(ctx context.Context, m message.BatchInit) error {
	b, err := or.applier.LoadBatchForMessage(ctx, m.BatchID)
	if err != nil {
		return err
	}
	for _, p := range b.Doc.Phases {
		if p.Kind == model.KindInit && p.Version == m.RunbookVersion {
			if b.Doc.DispatchMode() != model.Running && !p.FannedOut {
				// Its job may not have been sent, and this message is the only one that sends it. A
				// worker answers that it is revoked.
				return or.applier.Decide(ctx, b.Doc.ID, model.OnRun{Phase: p.ID, RunEvent: model.RunStarted{}})
			}
			return or.begin(ctx, b, model.PhaseDue{Phase: p.ID})
		}
	}
	return message.Reject("batch %d has no init sequence of runbook version %d", m.BatchID, m.RunbookVersion)
}

// begin dispatches a phase, or the init sequence, where its time has come. Where it has
// not, or had before, what is to follow from the phases before it is asked for again.
func (or *Orchestrator) begin(ctx context.Context, b store.Item[model.Batch], e model.PhaseDue) error {
	c := applier.On(e)
	c.Prime = func(s *applier.Snapshot) { applier.Prime(s, s.BatchKey(), b) }
	_, ds, err := or.applier.Run(ctx, b.Doc.ID, c)
	if err != nil || !ds[0].Stale {
		return applier.RejectRefusal(err)
	}
	or.log.InfoContext(ctx, "phase waits or is fanned out", logkey.BatchID, b.Doc.ID, logkey.Phase, e.Phase)
	return or.applier.Decide(ctx, b.Doc.ID, model.PhaseCounted{Phase: e.Phase})
}

// onPhaseDue dispatches one page of a phase and asks for the next.
func (or *Orchestrator) onPhaseDue(ctx context.Context, m message.PhaseDue) error {
	b, err := or.applier.LoadBatchForMessage(ctx, m.BatchID)
	if err != nil {
		return err
	}
	page := max(m.Page, 1)
	p, ok := b.Doc.Phase(m.PhaseExecutionID)
	if !ok || p.Kind != model.KindPhase {
		return message.Reject("batch %d has no phase execution %d", m.BatchID, m.PhaseExecutionID)
	}
	if page == 1 && m.Walk != "" { // announced again: the pages that were made need not be gone over
		if made, err := or.store.LastShard(ctx, m.BatchID, m.PhaseExecutionID); err != nil {
			return err
		} else if made != nil {
			page = made.Doc.Page
		}
	}
	switch b.Doc.DispatchMode() { // this page may have been made as the batch was paused or cancelled
	case model.Cancelled:
		return or.stopPage(ctx, m.BatchID, page, "stopped")
	case model.Paused:
		return or.sendUnsent(ctx, m.BatchID, page)
	}
	if joiningAt(&b.Doc, page) >= 0 && p.Status == model.PhaseDispatched && !p.FannedOut && b.Doc.DispatchMode() == model.Running {
		if open, err := or.joinWindowOpen(ctx, &b.Doc, page); err != nil {
			return err
		} else if !open { // its members have not begun the phases before this one
			return model.ErrNotYet
		}
	}
	if keepUp, err := or.workersKeepUp(ctx, &b.Doc, *p, page); err != nil {
		return err
	} else if !keepUp {
		if waits, err := or.waitForWorkers(ctx, m, page); err != nil || waits {
			return err
		}
	}
	if err := or.begin(ctx, b, model.PhaseDue{Phase: m.PhaseExecutionID, Page: page, Again: m.Walk}); err != nil {
		return err
	}
	// If the batch was cancelled as the page was made, its jobs are revoked.
	if mode, err := or.applier.ReadDispatchMode(ctx, m.BatchID); err != nil || mode != model.Cancelled {
		return err
	}
	return or.stopPage(ctx, m.BatchID, page, "stopped")
}
