package admin

import (
	"context"
	"fmt"
	"strings"
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

// Pause keeps a batch from dispatching anything more, within a second, until it is
// resumed. Jobs that workers have are carried to their results, which are kept.
// Errors: CodeNotFound, CodeConflict, CodeInvalid, CodeUnavailable.
func (ad *Admin) Pause(ctx context.Context, by audit.Caller, batch int, why string) (api.Batch, error) {
	return ad.steer(ctx, by, batch, &steering{
		action: "pause", why: why, facts: audit.BatchFacts,
		event: func(_ *model.Batch, m model.Mark) (model.Event, error) { return model.BatchPaused{By: m}, nil },
		mark:  func(b *model.Batch) *model.Mark { return b.Paused },
	})
}

// Resume lets a paused batch go on. Asked of a batch that is not paused, it makes
// sure that nothing was left behind. Errors: as Pause.
func (ad *Admin) Resume(ctx context.Context, by audit.Caller, batch int, why string) (api.Batch, error) {
	return ad.steer(ctx, by, batch, &steering{
		action: "resume", why: why, facts: audit.BatchFacts,
		event: func(*model.Batch, model.Mark) (model.Event, error) { return model.BatchResumed{}, nil },
	})
}

// Cancel ends a batch: nothing more is dispatched, within a second, and what is
// pending or under way is cancelled. Results that come later are kept and change
// nothing. Rollbacks and removal steps that have begun are carried to their end; the
// batch is cancelling until then. Errors: as Pause.
func (ad *Admin) Cancel(ctx context.Context, by audit.Caller, batch int, why string) (api.Batch, error) {
	view, err := ad.steer(ctx, by, batch, &steering{
		action: "cancel", why: why, facts: audit.BatchFacts,
		event: func(_ *model.Batch, m model.Mark) (model.Event, error) { return model.BatchStopped{By: m}, nil },
		mark: func(b *model.Batch) *model.Mark {
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
	setting, err := store.OrNone(store.Read[store.Automation](ctx, ad.store, store.AutomationKey(view.RunbookName)))
	if _, rb, unknown := ad.runbooks.Active(ctx, view.RunbookName); err == nil && unknown == nil && setting.Doc.Enabled && rb.DataSource.BatchTime == runbook.BatchTimeImmediate {
		view.Warnings = append(view.Warnings, fmt.Sprintf("automation is on, and this runbook's batches are immediate: the next tick puts those whom the query still returns into a new batch. To keep them out, turn the automation of %s off, or change the query", view.RunbookName))
	}
	return view, nil
}

// Approve lets a phase begin that waits at a gate: for an approval, or for more
// members to succeed in the phase before. The phase is named in any case; of several
// executions the newest that has not begun is meant. Errors: as Pause.
func (ad *Admin) Approve(ctx context.Context, by audit.Caller, batch int, phase, why string) (api.Phase, error) {
	id := 0
	s := &steering{action: "approve", why: why}
	s.event = func(b *model.Batch, m model.Mark) (model.Event, error) {
		id = 0
		for _, p := range b.Phases {
			if p.Kind == model.KindPhase && strings.EqualFold(p.Name, phase) && (p.Status == model.PhasePending || id == 0) {
				id, s.target = p.ID, p.Name
			}
		}
		if id == 0 {
			return nil, problem.New(api.CodeNotFound, "batch %d has no phase %q", batch, phase)
		}
		return model.PhaseApproved{Phase: id, By: m}, nil
	}
	s.facts = func(b *model.Batch) audit.Facts { return audit.PhaseFacts(b, id) }
	s.mark = func(b *model.Batch) *model.Mark {
		p, _ := b.Phase(id)
		return p.Approved
	}
	if _, err := ad.steer(ctx, by, batch, s); err != nil {
		return api.Phase{}, err
	}
	b, err := ad.applier.ReadBatch(ctx, batch)
	if err != nil {
		return api.Phase{}, err
	}
	p, _ := b.Doc.Phase(id)
	view := apiview.Phase(*p)
	if err := ad.count(ctx, &b.Doc, *p, &view); err != nil {
		return api.Phase{}, err
	}
	return view, nil
}

// steering is what somebody asks of a batch.
type steering struct {
	action, target, why string
	event               func(*model.Batch, model.Mark) (model.Event, error)
	facts               func(*model.Batch) audit.Facts // that the audit trail tells
	mark                func(*model.Batch) *model.Mark // who has brought it about already; nil: nobody is remembered
}

// steer takes a decision on a batch that an administrator asks for, with its
// line in the audit trail. Asked again, it carries out again what followed.
func (ad *Admin) steer(ctx context.Context, by audit.Caller, batch int, s *steering) (api.Batch, error) {
	if err := audit.CheckReason(s.why); err != nil {
		return api.Batch{}, err
	}
	b, err := ad.applier.ReadBatch(ctx, batch)
	if err != nil {
		return api.Batch{}, err
	}
	st, ds, err := ad.applier.Run(ctx, batch, applier.Command{
		Prime: func(st *applier.Snapshot) { applier.Prime(st, st.BatchKey(), b) },
		Events: func(st *applier.Snapshot) ([]model.Event, error) {
			b, err := st.LoadBatch()
			if err != nil {
				return nil, err
			}
			e, err := s.event(b, model.Mark{By: by.Name, At: st.Now.UTC(), Why: s.why})
			return []model.Event{e}, err
		},
		Extra: func(st *applier.Snapshot, ds []model.Decision) (store.Writes, error) {
			if ds[0].Batch != nil {
				return store.Writes{ad.auditSteering(by, st.Before(), st.After(), s, st.Now.UTC())}, nil
			}
			return ad.recordJoined(ctx, by, st, s)
		},
	})
	if err != nil {
		return api.Batch{}, err
	}
	next := st.After()
	if ds[0].Batch != nil {
		ad.log.InfoContext(ctx, "batch controlled", logkey.BatchID, batch, logkey.Action, s.action, logkey.Target, s.target, logkey.By, by.Name)
	}
	if err := ad.applier.AnnounceDue(ctx, next); err != nil {
		return api.Batch{}, err
	}
	return apiview.Batch(*next), nil
}

func (ad *Admin) auditSteering(by audit.Caller, was, next *model.Batch, s *steering, now time.Time) store.Write {
	return ad.audit.Record(store.AuditRecord{
		At: now, Actor: by.Actor(), Action: s.action, Batch: was.ID, Target: s.target, Why: s.why, Before: s.facts(was).JSON(), After: s.facts(next).JSON(),
	})
}

// recordJoined records that somebody asked, for a reason of their own, for what had been
// done already: it stays the doing of whoever was first, and the reason is kept all the
// same. The same reason of the same caller is recorded once, however often it is given.
func (ad *Admin) recordJoined(ctx context.Context, by audit.Caller, st *applier.Snapshot, s *steering) (store.Writes, error) {
	if s.mark == nil || s.why == "" {
		return nil, nil
	}
	b := st.After()
	first := s.mark(b)
	if first == nil || first.By == by.Name && first.Why == s.why {
		return nil, nil
	}
	filter := store.AuditFilter{Action: s.action, By: by.Name, From: first.At, Why: s.why, Target: s.target}
	given, err := ad.store.AuditTrail(ctx, store.BatchPartition(b.ID), filter, store.Paging{Limit: 1})
	if err != nil || len(given.Items) > 0 {
		return nil, err
	}
	return append(st.GuardBatch(), ad.auditSteering(by, b, b, s, st.Now.UTC())), nil
}
