package app

import (
	"context"
	"errors"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Advance moves a manual batch on: its init steps first, then each phase in order.
// Asked again before the announcement has been taken up, it announces again.
// Errors: CodeNotFound, CodeConflict with what stands in the way, CodeUnavailable.
func (a *App) Advance(ctx context.Context, by Caller, id int) (AdvanceView, error) {
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
		d, err := engine.Decide(engine.State{Batch: &b.Doc}, engine.Advanced{}, a.now())
		var refusal *engine.Refusal
		if errors.As(err, &refusal) {
			return AdvanceView{}, fail(CodeConflict, "%s", refusal.Reason)
		}
		if err != nil {
			return AdvanceView{}, a.outward(err)
		}
		next := &b.Doc
		if d.Batch != nil {
			next = d.Batch
			_, err := a.store.Commit(ctx, store.Replace(store.BatchKey(id), next, b.ETag),
				a.auditOp(auditRecord{
					At: a.now(), By: by.Name, Action: "advance", Batch: id, Target: next.CurrentPhase, Before: batchFacts(&b.Doc).text(), After: batchFacts(next).text(),
				}))
			if errors.Is(err, store.ErrChanged) {
				continue
			}
			if err != nil {
				return AdvanceView{}, a.outward(err)
			}
			a.log.Info("batch advanced", "BatchId", id, "phase", next.CurrentPhase, "by", by.Name)
		}
		if err := a.carryOut(ctx, next, nil, d.Effects); err != nil {
			return AdvanceView{}, a.outward(err)
		}
		if err := a.list(ctx, next); err != nil {
			return AdvanceView{}, a.outward(err)
		}
		return AdvanceView{Batch: batchView(*next), Advanced: next.CurrentPhase, Repeated: d.Repeated, Remaining: append([]string{}, next.Remaining()...)}, nil
	}
}
