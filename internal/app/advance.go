package app

import (
	"context"
	"errors"

	"github.com/matoolkit/matoolkit/internal/engine"
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
func (a *App) Advance(ctx context.Context, by Caller, id int, phase string, tags ...string) (AdvanceView, error) {
	for {
		b, err := a.batch(ctx, id)
		if err != nil {
			return AdvanceView{}, a.outward(err)
		}
		if b, err = a.transition(ctx, b); errors.Is(err, store.ErrChanged) {
			continue
		} else if err != nil {
			return AdvanceView{}, a.outward(err)
		}
		d, err := engine.Decide(engine.State{Batch: &b.Doc}, engine.Advanced{Phase: phase}, a.now())
		var refusal *engine.Refusal
		if errors.As(err, &refusal) {
			e := fail(CodeConflict, "%s", refusal.Reason)
			e.CurrentPhase, e.NextPhase = b.Doc.CurrentPhase, b.Doc.Next()
			return AdvanceView{}, e
		}
		if err != nil {
			return AdvanceView{}, a.outward(err)
		}
		next := &b.Doc
		if d.Batch != nil {
			if !matches(tags, tag(b.ETag)) {
				return AdvanceView{}, fail(CodeChanged, "batch %d has changed since you looked at it: look again before you start phase %q", id, phase)
			}
			next = d.Batch
			outcome, err := a.store.Commit(ctx, store.Replace(store.BatchKey(id), next, b.ETag),
				a.auditOp(store.AuditRecord{
					At: a.now(), Actor: by.actor(), Action: "advance", Batch: id, Target: next.CurrentPhase, Before: batchFacts(&b.Doc).text(), After: batchFacts(next).text(),
				}))
			if errors.Is(err, store.ErrChanged) {
				continue
			}
			if err != nil {
				return AdvanceView{}, a.outward(err)
			}
			b.ETag = outcome.ETag(0)
			a.log.Info("batch advanced", "BatchId", id, "phase", next.CurrentPhase, "by", by.Name)
		}
		if err := a.carryOut(ctx, next, nil, d.Effects); err != nil {
			return AdvanceView{}, a.outward(err)
		}
		if err := a.list(ctx, next); err != nil {
			return AdvanceView{}, a.outward(err)
		}
		view := AdvanceView{Batch: batchView(*next), Advanced: next.CurrentPhase, Members: activeMembers(next), Repeated: d.Repeated, Remaining: append([]string{}, next.Remaining()...)}
		view.Batch.ETag, view.NextPhase = tag(b.ETag), next.Next()
		if p := next.Current(); p != nil {
			view.Phase = phaseView(*p)
			if err := a.count(ctx, next, *p, &view.Phase); err != nil {
				return AdvanceView{}, a.outward(err)
			}
		}
		return view, nil
	}
}
