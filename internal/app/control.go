package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Pause keeps a batch from dispatching anything more, within a second, until it is
// resumed. Jobs that workers have are carried to their results, which are kept.
// Errors: CodeNotFound, CodeConflict, CodeInvalid, CodeUnavailable.
func (a *App) Pause(ctx context.Context, by Caller, batch int, why string) (BatchView, error) {
	return a.control(ctx, by, batch, "pause", "", why, func(_ *engine.Batch, m engine.Mark) (engine.Event, error) {
		return engine.BatchPaused{By: m}, nil
	})
}

// Resume lets a paused batch go on. Asked of a batch that is not paused, it makes
// sure that nothing was left behind. Errors: as Pause.
func (a *App) Resume(ctx context.Context, by Caller, batch int, why string) (BatchView, error) {
	return a.control(ctx, by, batch, "resume", "", why, func(*engine.Batch, engine.Mark) (engine.Event, error) {
		return engine.BatchResumed{}, nil
	})
}

// Cancel ends a batch: nothing more is dispatched, within a second, and what is
// pending or under way is cancelled. Results that come later are kept and change
// nothing. Rollbacks and removal steps that have begun are carried to their end; the
// batch is cancelling until then. Errors: as Pause.
func (a *App) Cancel(ctx context.Context, by Caller, batch int, why string) (BatchView, error) {
	view, err := a.control(ctx, by, batch, "cancel", "", why, func(_ *engine.Batch, m engine.Mark) (engine.Event, error) {
		return engine.BatchStopped{By: m}, nil
	})
	if err != nil || view.IsManual {
		return view, err
	}
	// It is cancelled: what follows only tells more about it.
	setting, err := orNone(store.Read[automation](ctx, a.store, store.AutomationKey(view.RunbookName)))
	if _, rb, unknown := a.active(ctx, view.RunbookName); err == nil && unknown == nil && setting.Doc.Enabled && rb.DataSource.BatchTime == runbook.BatchTimeImmediate {
		view.Warnings = append(view.Warnings, fmt.Sprintf("automation is on, and this runbook's batches are immediate: the next tick puts those whom the query still returns into a new batch. To keep them out, turn the automation of %s off, or change the query", view.RunbookName))
	}
	return view, nil
}

// Approve lets a phase begin that waits at a gate: for an approval, or for more
// members to succeed in the phase before. The phase is named in any case; of several
// executions the newest that has not begun is meant. Errors: as Pause.
func (a *App) Approve(ctx context.Context, by Caller, batch int, phase, why string) (PhaseView, error) {
	id := 0
	_, err := a.control(ctx, by, batch, "approve", phase, why, func(b *engine.Batch, m engine.Mark) (engine.Event, error) {
		id = 0
		for _, p := range b.Phases {
			if p.Kind == engine.KindPhase && strings.EqualFold(p.Name, phase) && (p.Status == engine.PhasePending || id == 0) {
				id = p.ID
			}
		}
		if id == 0 {
			return nil, fail(CodeNotFound, "batch %d has no phase %q", batch, phase)
		}
		return engine.PhaseApproved{Phase: id, By: m}, nil
	})
	if err != nil {
		return PhaseView{}, err
	}
	b, err := a.batch(ctx, batch)
	if err != nil {
		return PhaseView{}, a.outward(err)
	}
	p, _ := b.Doc.Phase(id)
	view := phaseView(*p)
	if err := a.count(ctx, &b.Doc, *p, &view); err != nil {
		return PhaseView{}, a.outward(err)
	}
	return view, nil
}

// control takes a decision on a batch that an administrator asks for, with its
// line in the audit trail. Asked again, it carries out again what followed.
func (a *App) control(ctx context.Context, by Caller, batch int, action, target, why string, event func(*engine.Batch, engine.Mark) (engine.Event, error)) (BatchView, error) {
	if err := checkWhy(why); err != nil {
		return BatchView{}, err
	}
	for {
		b, err := a.batch(ctx, batch)
		if err != nil {
			return BatchView{}, a.outward(err)
		}
		now := a.now().UTC()
		e, err := event(&b.Doc, engine.Mark{By: by.Name, At: now, Why: why})
		if err != nil {
			return BatchView{}, a.outward(err)
		}
		d, err := engine.Decide(engine.State{Batch: &b.Doc}, e, now)
		if err != nil {
			return BatchView{}, a.outward(err)
		}
		next := &b.Doc
		if d.Batch != nil {
			next = d.Batch
			_, err := a.store.Commit(ctx, store.Replace(store.BatchKey(batch), next, b.ETag),
				a.auditOp(batch, auditRecord{At: now, By: by.Name, Action: action, Target: target, Why: why}))
			if errors.Is(err, store.ErrChanged) {
				continue
			}
			if err != nil {
				return BatchView{}, a.outward(err)
			}
			a.log.Info("batch controlled", "BatchId", batch, "action", action, "target", target, "by", by.Name)
		}
		a.gates.saw(next, now)
		if err := a.carryOut(ctx, next, nil, d.Effects); err != nil {
			return BatchView{}, a.outward(err)
		}
		if err := a.announceDue(ctx, next); err != nil {
			return BatchView{}, a.outward(err)
		}
		if err := a.list(ctx, next); err != nil {
			return BatchView{}, a.outward(err)
		}
		return batchView(*next), nil
	}
}

// batchWork goes over the members of a batch, a page at a time. Page 0 holds the
// runs without a member.
func (a *App) batchWork(ctx context.Context, m message.BatchWork) error {
	b, err := a.known(ctx, m.BatchID)
	if err != nil {
		return err
	}
	var work func(ctx context.Context, b *engine.Batch, m message.BatchWork) (more bool, err error)
	switch strings.ToLower(m.Work) {
	case message.WorkRelease:
		work = a.releasePage
	case message.WorkStop:
		work = a.drain
	case message.WorkRetry:
		work = a.retryPage
	case message.WorkMend:
		work = a.mend
	case message.WorkSweep:
		work = a.sweepPage
	case message.WorkLeave:
		work = a.leavePage
	default:
		return reject("no work over a batch is called %q", m.Work)
	}
	more, err := work(ctx, &b.Doc, m)
	if err != nil || !more {
		return err
	}
	return a.bus.Send(ctx, message.TopicOrchestratorEvents, workMessage(m.BatchID, m.Work, m.Task, m.Page+1))
}

// runsOf gives the runs of one page that a condition holds for.
func (a *App) runsOf(ctx context.Context, batch, page int, condition string, params ...store.Param) ([]store.Item[engine.Run], error) {
	return store.All[engine.Run](ctx, a.store, store.BatchPartition(batch),
		"SELECT * FROM c WHERE c.type = 'run' AND c.doc.page = @page AND "+condition, append(params, store.Param{Name: "@page", Value: page})...)
}

// releasePage lets the held runs of one page go on.
func (a *App) releasePage(ctx context.Context, b *engine.Batch, m message.BatchWork) (more bool, err error) {
	if b.Gate() == engine.Paused {
		return false, nil // paused again: resuming it begins anew
	}
	runs, err := a.runsOf(ctx, b.ID, m.Page, "(IS_DEFINED(c.doc.heldAt) OR c.doc.task = @task)", store.Param{Name: "@task", Value: m.Task})
	if err != nil {
		return false, err
	}
	for _, run := range runs {
		if err := a.runEvent(ctx, run, false, engine.RunReleased{Task: m.Task}); err != nil {
			return false, err
		}
	}
	return m.Page < b.PageCount(), nil
}
