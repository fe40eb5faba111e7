package app

import (
	"context"
	"errors"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Advance starts the next phase of a manual batch, which the caller names: the init
// steps first, named "init", then each phase in order. Asked again while that is the
// phase that was started last, it answers as the first time with Repeated set, and sends
// the announcement again if no handler has taken it up. The answer has the counts of the
// phase that was started last. Where tags are given, it starts
// a phase only if the batch is still at one of them.
// Errors: CodeNotFound; CodeConflict with what stands in the way, the current and the
// next phase; CodeChanged; CodeUnavailable.
func (a *App) Advance(ctx context.Context, by Caller, id int, phase string, tags ...string) (api.AdvanceResult, error) {
	if err := a.follows(ctx, id); err != nil {
		return api.AdvanceResult{}, err
	}
	c := occurred(engine.Advanced{Phase: phase})
	c.extra = func(s *snapshot, ds []engine.Decision) (store.Writes, error) {
		if ds[0].Batch == nil {
			return nil, nil
		}
		was, next := s.before(), s.after()
		if !matches(tags, tag(s.version(s.batchKey()).ETag)) {
			return nil, fail(api.CodeChanged, "batch %d has changed since you looked at it: look again before you start phase %q", id, phase)
		}
		return store.Writes{a.auditOp(store.AuditRecord{
			At: a.now(), Actor: by.actor(), Action: "advance", Batch: id, Target: next.CurrentPhase, Before: batchFacts(was).text(), After: batchFacts(next).text(),
		})}, nil
	}
	s, ds, err := a.run(ctx, id, c)
	var refusal *engine.Refusal
	if errors.As(err, &refusal) {
		e := fail(api.CodeConflict, "%s", refusal.Reason)
		e.CurrentPhase, e.NextPhase = s.after().CurrentPhase, s.after().Next()
		return api.AdvanceResult{}, e
	}
	if err != nil {
		return api.AdvanceResult{}, err
	}
	next := s.after()
	if ds[0].Batch != nil {
		a.log.InfoContext(ctx, "batch advanced", logkey.BatchID, id, logkey.Phase, next.CurrentPhase, logkey.By, by.Name)
	}
	view := api.AdvanceResult{Batch: batchView(*next), Advanced: next.CurrentPhase, Members: activeMembers(next), Repeated: ds[0].Repeated, Remaining: append([]string{}, next.Remaining()...)}
	view.Batch.ETag, view.NextPhase = tag(s.version(s.batchKey()).ETag), next.Next()
	if p := next.Current(); p != nil {
		view.Phase = phaseView(*p)
		if err := a.count(ctx, next, *p, &view.Phase); err != nil {
			return api.AdvanceResult{}, err
		}
	}
	return view, nil
}
