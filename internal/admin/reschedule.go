package admin

import (
	"context"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/schedule"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Reschedule gives a batch that follows a data source another start, which moves the phases that have
// not started. The others, and the members who are in them, continue. A dry run gives what that would
// change, and changes nothing. A batch that has the start already stays as it is.
//
// The batch keeps the rows of the data source with the start before, until no row of a member has it.
// Errors: CodeNotFound; CodeInvalid for a start that is no time; CodeConflict where nothing can be moved,
// or another batch of the runbook has or had the start; CodeUnavailable.
func (a *Admin) Reschedule(ctx context.Context, by audit.Caller, batch int, start, why string, dryRun bool) (api.RescheduleResult, error) {
	b, err := a.applier.ReadBatch(ctx, batch)
	if err != nil {
		return api.RescheduleResult{}, err
	}
	to, err := a.parseStart(ctx, &b.Doc, start)
	if err != nil {
		return api.RescheduleResult{}, err
	}
	now := a.now().UTC()
	next, moves, err := engine.ForeseeReschedule(&b.Doc, model.BatchRescheduled{Start: to, By: model.Attribution{By: by.Name, At: now, Why: why}}, now)
	if err != nil {
		return api.RescheduleResult{}, err
	}
	if err := a.takeSlot(ctx, &b.Doc, to, dryRun); err != nil {
		return api.RescheduleResult{}, err
	}
	was := &b.Doc
	view := apiview.Batch(*next, now)
	var preview *api.Preview
	if dryRun {
		preview = &api.Preview{BatchID: batch, Action: api.ActionReschedule, Phases: []api.PhasePreview{}, WayBack: wayBack(api.ActionReschedule)}
		if err := a.foresee(ctx, &b.Doc, []model.Decision{{Writes: model.Writes{Batch: next}}}, preview); err != nil {
			return api.RescheduleResult{}, err
		}
	}
	if !dryRun {
		view, err = a.control(ctx, by, batch, &command{
			action: "reschedule", why: why, state: audit.ScheduleState,
			event: func(b *model.Batch, m model.Attribution) (model.Event, error) {
				was, now = b, m.At
				return model.BatchRescheduled{Start: to, By: m}, nil
			},
			attribution: func(b *model.Batch) *model.Attribution { return b.Rescheduled },
		})
		if err != nil {
			return api.RescheduleResult{}, err
		}
		if _, moves, err = engine.ForeseeReschedule(was, model.BatchRescheduled{Start: to}, now); err != nil {
			return api.RescheduleResult{}, err
		}
	}
	return api.RescheduleResult{
		Batch: view, From: *was.StartTime, DryRun: dryRun, Unchanged: was.StartTime.Equal(to), Phases: phaseMoves(moves, now), Preview: preview,
	}, nil
}

// parseStart reads a start as the rows of the batch's runbook can have it.
func (a *Admin) parseStart(ctx context.Context, b *model.Batch, text string) (time.Time, error) {
	rb, err := a.runbooks.Load(ctx, b.Runbook, b.Version)
	if err != nil {
		return time.Time{}, err
	}
	start, err := schedule.ParseStart(text, rb.DataSource.Location())
	if err != nil {
		return time.Time{}, problem.New(api.CodeInvalid, "invalid start: %s", err)
	}
	return start, nil
}

// takeSlot takes the slot of a start for the batch, before the batch gets the start: no other batch of
// the runbook is created for it. Where the process dies in between, the tick frees the slot again.
func (a *Admin) takeSlot(ctx context.Context, b *model.Batch, start time.Time, dryRun bool) error {
	return store.RetryOnConflict(ctx, func() error { // another process has taken it: the next call reads for which batch
		key := store.SlotKey(b.Runbook, start)
		taken, err := store.OrNone(store.Read[store.StartSlot](ctx, a.store, key))
		switch {
		case err != nil:
			return err
		case taken.ETag != "" && taken.Doc.Batch != b.ID:
			return problem.New(api.CodeConflict, "batch %d of runbook %q has the start %s: use another time", taken.Doc.Batch, b.Runbook, start.Format(time.RFC3339))
		case dryRun:
			return nil
		}
		slot := store.StartSlot{Runbook: b.Runbook, Start: start, Batch: b.ID, At: a.now().UTC()}
		write := store.Create(key, slot)
		if taken.ETag != "" {
			write = store.Replace(key, slot, taken.Version)
		}
		_, err = a.store.Apply(ctx, store.Writes{write})
		return err
	})
}

func phaseMoves(moves []engine.PhaseMove, now time.Time) []api.PhaseMove {
	views := make([]api.PhaseMove, len(moves))
	for i, m := range moves {
		views[i] = api.PhaseMove{
			PhaseID: m.Phase.ID, Phase: m.Phase.Name, From: m.From, To: *m.Phase.DueAt, Due: !m.Phase.DueAt.After(now), QuietUntil: m.QuietUntil, Reason: m.Phase.Reason,
		}
	}
	return views
}
