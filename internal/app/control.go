package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Pause keeps a batch from dispatching anything more, within a second, until it is
// resumed. Jobs that workers have are carried to their results, which are kept.
// Errors: CodeNotFound, CodeConflict, CodeInvalid, CodeUnavailable.
func (a *App) Pause(ctx context.Context, by Caller, batch int, why string) (api.Batch, error) {
	return a.control(ctx, by, batch, &steering{
		action: "pause", why: why, facts: batchFacts,
		event: func(_ *engine.Batch, m engine.Mark) (engine.Event, error) { return engine.BatchPaused{By: m}, nil },
		mark:  func(b *engine.Batch) *engine.Mark { return b.Paused },
	})
}

// Resume lets a paused batch go on. Asked of a batch that is not paused, it makes
// sure that nothing was left behind. Errors: as Pause.
func (a *App) Resume(ctx context.Context, by Caller, batch int, why string) (api.Batch, error) {
	return a.control(ctx, by, batch, &steering{
		action: "resume", why: why, facts: batchFacts,
		event: func(*engine.Batch, engine.Mark) (engine.Event, error) { return engine.BatchResumed{}, nil },
	})
}

// Cancel ends a batch: nothing more is dispatched, within a second, and what is
// pending or under way is cancelled. Results that come later are kept and change
// nothing. Rollbacks and removal steps that have begun are carried to their end; the
// batch is cancelling until then. Errors: as Pause.
func (a *App) Cancel(ctx context.Context, by Caller, batch int, why string) (api.Batch, error) {
	view, err := a.control(ctx, by, batch, &steering{
		action: "cancel", why: why, facts: batchFacts,
		event: func(_ *engine.Batch, m engine.Mark) (engine.Event, error) { return engine.BatchStopped{By: m}, nil },
		mark: func(b *engine.Batch) *engine.Mark {
			if b.Status.Terminal() { // what has ended takes no other wish
				return nil
			}
			return b.Cancelled
		},
	})
	if err != nil || view.IsManual {
		return view, err
	}
	// It is cancelled: what follows only tells more about it.
	setting, err := orNone(store.Read[store.Automation](ctx, a.store, store.AutomationKey(view.RunbookName)))
	if _, rb, unknown := a.active(ctx, view.RunbookName); err == nil && unknown == nil && setting.Doc.Enabled && rb.DataSource.BatchTime == runbook.BatchTimeImmediate {
		view.Warnings = append(view.Warnings, fmt.Sprintf("automation is on, and this runbook's batches are immediate: the next tick puts those whom the query still returns into a new batch. To keep them out, turn the automation of %s off, or change the query", view.RunbookName))
	}
	return view, nil
}

// Approve lets a phase begin that waits at a gate: for an approval, or for more
// members to succeed in the phase before. The phase is named in any case; of several
// executions the newest that has not begun is meant. Errors: as Pause.
func (a *App) Approve(ctx context.Context, by Caller, batch int, phase, why string) (api.Phase, error) {
	id := 0
	s := &steering{action: "approve", why: why}
	s.event = func(b *engine.Batch, m engine.Mark) (engine.Event, error) {
		id = 0
		for _, p := range b.Phases {
			if p.Kind == engine.KindPhase && strings.EqualFold(p.Name, phase) && (p.Status == engine.PhasePending || id == 0) {
				id, s.target = p.ID, p.Name
			}
		}
		if id == 0 {
			return nil, fail(api.CodeNotFound, "batch %d has no phase %q", batch, phase)
		}
		return engine.PhaseApproved{Phase: id, By: m}, nil
	}
	s.facts = func(b *engine.Batch) facts { return phaseFacts(b, id) }
	s.mark = func(b *engine.Batch) *engine.Mark {
		p, _ := b.Phase(id)
		return p.Approved
	}
	if _, err := a.control(ctx, by, batch, s); err != nil {
		return api.Phase{}, err
	}
	b, err := a.batch(ctx, batch)
	if err != nil {
		return api.Phase{}, err
	}
	p, _ := b.Doc.Phase(id)
	view := phaseView(*p)
	if err := a.count(ctx, &b.Doc, *p, &view); err != nil {
		return api.Phase{}, err
	}
	return view, nil
}

// steering is what somebody asks of a batch.
type steering struct {
	action, target, why string
	event               func(*engine.Batch, engine.Mark) (engine.Event, error)
	facts               func(*engine.Batch) facts        // that the audit trail tells
	mark                func(*engine.Batch) *engine.Mark // who has brought it about already; nil: nobody is remembered
}

// control takes a decision on a batch that an administrator asks for, with its
// line in the audit trail. Asked again, it carries out again what followed.
func (a *App) control(ctx context.Context, by Caller, batch int, s *steering) (api.Batch, error) {
	if err := checkWhy(s.why); err != nil {
		return api.Batch{}, err
	}
	b, err := a.batch(ctx, batch)
	if err != nil {
		return api.Batch{}, err
	}
	st, ds, err := a.run(ctx, batch, command{
		prime: func(st *snapshot) { prime(st, st.batchKey(), b) },
		events: func(st *snapshot) ([]engine.Event, error) {
			b, err := st.LoadBatch()
			if err != nil {
				return nil, err
			}
			e, err := s.event(b, engine.Mark{By: by.Name, At: st.now.UTC(), Why: s.why})
			return []engine.Event{e}, err
		},
		extra: func(st *snapshot, ds []engine.Decision) (store.Writes, error) {
			if ds[0].Batch != nil {
				return store.Writes{a.steered(by, st.before(), st.after(), s, st.now.UTC())}, nil
			}
			return a.joinIn(ctx, by, st, s)
		},
	})
	if err != nil {
		return api.Batch{}, err
	}
	next := st.after()
	if ds[0].Batch != nil {
		a.log.InfoContext(ctx, "batch controlled", logkey.BatchID, batch, logkey.Action, s.action, logkey.Target, s.target, logkey.By, by.Name)
	}
	if err := a.announceDue(ctx, next); err != nil {
		return api.Batch{}, err
	}
	if !st.writesBatch() { // asked again, it may not have been summarized
		if err := a.list(ctx, next); err != nil {
			return api.Batch{}, err
		}
	}
	return batchView(*next), nil
}

func (a *App) steered(by Caller, was, next *engine.Batch, s *steering, now time.Time) store.Write {
	return a.auditOp(store.AuditRecord{
		At: now, Actor: by.actor(), Action: s.action, Batch: was.ID, Target: s.target, Why: s.why, Before: s.facts(was).text(), After: s.facts(next).text(),
	})
}

// joinIn records that somebody asked, for a reason of their own, for what had been
// done already: it stays the doing of whoever was first, and the reason is kept all the
// same. The same reason of the same caller is recorded once, however often it is given.
func (a *App) joinIn(ctx context.Context, by Caller, st *snapshot, s *steering) (store.Writes, error) {
	if s.mark == nil || s.why == "" {
		return nil, nil
	}
	b := st.after()
	first := s.mark(b)
	if first == nil || first.By == by.Name && first.Why == s.why {
		return nil, nil
	}
	filter := store.AuditFilter{Action: s.action, By: by.Name, From: first.At, Why: s.why, Target: s.target}
	given, err := a.store.AuditTrail(ctx, store.BatchPartition(b.ID), filter, store.Paging{Limit: 1})
	if err != nil || len(given.Items) > 0 {
		return nil, err
	}
	return append(st.guard(), a.steered(by, b, b, s, st.now.UTC())), nil
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
	case message.WorkErase:
		work = a.erasePage
	case message.WorkLeave:
		work = a.leavePage
	default:
		return reject("no work over a batch is called %q", m.Work)
	}
	if m.Work == message.WorkRelease || m.Work == message.WorkRetry {
		if open, err := a.workWindowOpen(ctx, &b.Doc, m); err != nil || !open {
			return err
		}
	}
	more, err := work(ctx, &b.Doc, m)
	if err != nil || !more {
		return err
	}
	return a.bus.Send(ctx, message.TopicOrchestratorEvents, workMessage(m.BatchID, m.Work, m.Task, m.Page+1))
}

// releasePage lets the held runs of one page go on. It also sends what the runs owe that it
// released before, and those that the process released which held them. Where the batch is
// paused again, that is all it does: resuming the batch begins anew.
func (a *App) releasePage(ctx context.Context, b *engine.Batch, m message.BatchWork) (more bool, err error) {
	paused := b.Gate() == engine.Paused
	runs, err := a.store.RunsOfPage(ctx, b.ID, m.Page, store.RunSelection{Paused: !paused, Tasks: []string{m.Task, engine.TaskResumed}})
	if err != nil {
		return false, err
	}
	// The others may only owe a job that is sent already. A store that is slow must not use up
	// the time of each try on them.
	slices.SortStableFunc(runs, func(x, y store.Item[engine.Run]) int {
		switch {
		case (x.Doc.HeldAt == nil) == (y.Doc.HeldAt == nil):
			return 0
		case x.Doc.HeldAt != nil:
			return -1
		}
		return 1
	})
	for _, run := range runs {
		if err := a.decide(ctx, b.ID, engine.OnRun{Phase: run.Doc.Phase, Member: run.Doc.Member, RunEvent: engine.RunReleased{Task: m.Task}}); err != nil {
			return false, err
		}
	}
	return m.Page < b.PageCount() && !paused, nil
}
