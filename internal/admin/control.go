package admin

import (
	"context"
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Pause pauses a batch: within a second it dispatches no more jobs until a resume. Workers end the
// jobs that they have, and their results are stored. Errors: CodeNotFound, CodeConflict, CodeInvalid,
// CodeUnavailable.
func (a *Admin) Pause(ctx context.Context, by audit.Caller, batch int, why string) (api.Batch, error) {
	return a.control(ctx, by, batch, &command{
		action: "pause", why: why, state: audit.BatchState,
		event:       func(_ *model.Batch, m model.Attribution) (model.Event, error) { return model.BatchPaused{By: m}, nil },
		attribution: func(b *model.Batch) *model.Attribution { return b.Paused },
	})
}

// Resume resumes a paused batch. For a batch that is not paused, it sends again the messages of the
// resumption. Errors: as Pause.
func (a *Admin) Resume(ctx context.Context, by audit.Caller, batch int, why string) (api.Batch, error) {
	return a.control(ctx, by, batch, &command{
		action: "resume", why: why, state: audit.BatchState,
		event: func(*model.Batch, model.Attribution) (model.Event, error) { return model.BatchResumed{}, nil },
	})
}

// Cancel cancels a batch: within a second it dispatches no more jobs, and pending and running steps are
// cancelled. Later results are stored and change nothing. Rollbacks and removal steps that have begun
// end first; the batch is cancelling until then. Errors: as Pause.
func (a *Admin) Cancel(ctx context.Context, by audit.Caller, batch int, why string) (api.Batch, error) {
	view, err := a.control(ctx, by, batch, &command{
		action: "cancel", why: why, state: audit.BatchState,
		event: func(_ *model.Batch, m model.Attribution) (model.Event, error) {
			return model.BatchCancelRequested{By: m}, nil
		},
		attribution: func(b *model.Batch) *model.Attribution {
			if b.Status.Terminal() { // a batch that has ended is not cancelled again
				return nil
			}
			return b.Cancelled
		},
	})
	if err != nil || view.IsManual {
		return view, err
	}
	// The batch is cancelled; an error below only leaves out a warning.
	setting, err := store.OrNone(store.Read[store.Automation](ctx, a.store, store.AutomationKey(view.RunbookName)))
	if _, rb, unknown := a.runbooks.Active(ctx, view.RunbookName); err == nil && unknown == nil && setting.Doc.Enabled && rb.DataSource.BatchTime == runbook.BatchTimeImmediate {
		view.Warnings = append(view.Warnings, fmt.Sprintf("automation is on and the batches of this runbook start immediately: the next tick adds the members that the query still returns to a new batch. To prevent that, disable the automation of %s or change the query", view.RunbookName))
	}
	return view, nil
}

// Approve approves a phase that waits at its gate, for an approval or for more members to succeed in the
// phase before. The name of the phase can be in any case; of several executions it approves the newest
// that has not begun. Errors: as Pause, and CodeForbidden where another person has to approve the phase.
func (a *Admin) Approve(ctx context.Context, by audit.Caller, batch int, phase, why string) (api.Phase, error) {
	id := 0
	c := &command{action: "approve", why: why}
	c.event = func(b *model.Batch, m model.Attribution) (_ model.Event, err error) {
		if id, c.target, err = phaseToApprove(b, phase); err != nil {
			return nil, err
		}
		return model.PhaseApproved{Phase: id, By: m}, nil
	}
	c.state = func(b *model.Batch) audit.State { return audit.PhaseState(b, id) }
	c.attribution = func(b *model.Batch) *model.Attribution {
		p, _ := b.Phase(id)
		return p.Approved
	}
	if _, err := a.control(ctx, by, batch, c); err != nil {
		return api.Phase{}, err
	}
	b, err := a.applier.ReadBatch(ctx, batch)
	if err != nil {
		return api.Phase{}, err
	}
	p, _ := b.Doc.Phase(id)
	view := apiview.Phase(*p)
	if err := a.countMembers(ctx, &b.Doc, *p, &view); err != nil {
		return api.Phase{}, err
	}
	return view, nil
}

// command is a command of an administrator that the engine decides on.
type command struct {
	action, target, why string
	event               func(*model.Batch, model.Attribution) (model.Event, error)
	state               func(*model.Batch) audit.State        // for the audit record, before and after
	tags                []string                              // of which the batch has to have one to be changed; none: any
	attribution         func(*model.Batch) *model.Attribution // of the caller whose command had this effect already; nil: the batch has no such attribution
}

// control applies a command to a batch, in one write with its audit record. Repeated, it sends the
// messages of the decision again.
func (a *Admin) control(ctx context.Context, by audit.Caller, batch int, c *command) (api.Batch, error) {
	if err := audit.CheckReason(c.why); err != nil {
		return api.Batch{}, err
	}
	b, err := a.applier.ReadBatch(ctx, batch)
	if err != nil {
		return api.Batch{}, err
	}
	s, ds, err := a.applier.Run(ctx, batch, applier.Command{
		Prime: func(s *applier.Snapshot) { applier.Prime(s, s.BatchKey(), b) },
		Events: func(s *applier.Snapshot) ([]model.Event, error) {
			b, err := s.LoadBatch()
			if err != nil {
				return nil, err
			}
			e, err := c.event(b, model.Attribution{By: by.Name, At: s.Now.UTC(), Why: c.why})
			return []model.Event{e}, err
		},
		Extra: func(s *applier.Snapshot, ds []model.Decision) (store.Writes, error) {
			if ds[0].Batch != nil && !apiview.Matches(c.tags, apiview.ETag(s.BatchItem().ETag)) {
				return nil, problem.New(api.CodeChanged, "batch %d has changed since you read it: read it again before you change it", batch)
			}
			if ds[0].Batch != nil {
				return store.Writes{a.commandRecord(by, s.Before(), s.After(), c, s.Now.UTC())}, nil
			}
			return a.recordRepeated(ctx, by, s, c)
		},
	})
	if err != nil {
		return api.Batch{}, err
	}
	next := s.After()
	if ds[0].Batch != nil {
		a.log.InfoContext(ctx, "batch controlled", logkey.BatchID, batch, logkey.Action, c.action, logkey.Target, c.target, logkey.By, by.Name)
	}
	if err := a.applier.AnnounceUpcoming(ctx, next); err != nil {
		return api.Batch{}, err
	}
	return apiview.Batch(*next, a.now()), nil
}

// commandRecord stores the audit record of a command.
func (a *Admin) commandRecord(by audit.Caller, was, next *model.Batch, c *command, now time.Time) store.Write {
	return a.audit.Record(store.AuditRecord{
		At: now, Actor: by.Actor(), Action: c.action, Batch: was.ID, Target: c.target, Why: c.why, Before: c.state(was).JSON(), After: c.state(next).JSON(),
	})
}

// recordRepeated stores an audit record of a command with a reason that changed nothing, since an
// earlier one had its effect already: the mark stays that of the first caller, and the record has the
// reason of this one. It stores the same reason of the same caller once.
func (a *Admin) recordRepeated(ctx context.Context, by audit.Caller, s *applier.Snapshot, c *command) (store.Writes, error) {
	if c.attribution == nil || c.why == "" {
		return nil, nil
	}
	b := s.After()
	first := c.attribution(b)
	if first == nil || first.By == by.Name && first.Why == c.why {
		return nil, nil
	}
	filter := store.AuditFilter{Action: c.action, By: by.Name, From: first.At, Why: c.why, Target: c.target}
	given, err := a.store.AuditRecords(ctx, store.BatchPartition(b.ID), filter, store.Paging{Limit: 1})
	if err != nil || len(given.Items) > 0 {
		return nil, err
	}
	return append(s.GuardBatch(), a.commandRecord(by, b, b, c, s.Now.UTC())), nil
}
