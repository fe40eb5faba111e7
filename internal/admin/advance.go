package admin

import (
	"context"
	"errors"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Advance starts the next phase of a manual batch, which the caller names: the init steps first, by
// the name "init", then each phase in order. Repeated while that is the phase that was started last,
// it gives the same answer with Repeated set, and sends the announcement again if no handler has
// received it. The answer counts the members of the phase that was started last. With tags, it starts
// a phase only if the batch has one of these ETags.
//
// Errors: CodeNotFound; CodeConflict with the reason, the current and the next phase, and so CodeForbidden
// for the second approver of the phase; CodeChanged; CodeUnavailable.
func (a *Admin) Advance(ctx context.Context, by audit.Caller, id int, phase string, tags ...string) (api.AdvanceResult, error) {
	if err := a.applier.FollowActiveVersion(ctx, id); err != nil {
		return api.AdvanceResult{}, err
	}
	c := applier.On(model.Advanced{Phase: phase, By: by.Name})
	c.Extra = func(s *applier.Snapshot, ds []model.Decision) (store.Writes, error) {
		if ds[0].Batch == nil {
			return nil, nil
		}
		was, next := s.Before(), s.After()
		if !apiview.Matches(tags, apiview.ETag(s.BatchItem().ETag)) {
			return nil, problem.New(api.CodeChanged, "batch %d has changed since you read it: read it again before you start phase %q", id, phase)
		}
		return store.Writes{a.audit.Record(store.AuditRecord{
			At: a.now(), Actor: by.Actor(), Action: "advance", Batch: id, Target: next.CurrentPhase, Before: audit.BatchState(was).JSON(), After: audit.BatchState(next).JSON(),
		})}, nil
	}
	s, ds, err := a.applier.Run(ctx, id, c)
	var refusal *model.Refusal
	if errors.As(err, &refusal) {
		e := problem.Explain(err)
		e.CurrentPhase, e.NextPhase = s.After().CurrentPhase, s.After().Next()
		return api.AdvanceResult{}, e
	}
	if err != nil {
		return api.AdvanceResult{}, err
	}
	next := s.After()
	if ds[0].Batch != nil {
		a.log.InfoContext(ctx, "batch advanced", logkey.BatchID, id, logkey.Phase, next.CurrentPhase, logkey.By, by.Name)
	}
	view := api.AdvanceResult{Batch: apiview.Batch(*next, a.now()), Advanced: next.CurrentPhase, Members: next.Active(), Repeated: ds[0].Repeated, Remaining: append([]string{}, next.Remaining()...)}
	view.Batch.ETag, view.NextPhase = apiview.ETag(s.BatchItem().ETag), next.Next()
	if p := next.Current(); p != nil {
		view.Phase = apiview.Phase(*p)
		if err := a.countMembers(ctx, next, *p, &view.Phase); err != nil {
			return api.AdvanceResult{}, err
		}
	}
	return view, nil
}
