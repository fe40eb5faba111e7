package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store"
)

// result applies a worker's answer to its step.
func (a *App) result(ctx context.Context, r message.Result) error {
	var ok bool
	switch {
	case r.JobID == "":
		return reject("the result names no job")
	case strings.EqualFold(r.Status, message.StatusSuccess):
		ok = true
	case !strings.EqualFold(r.Status, message.StatusFailure):
		return reject("the result's status %q is neither %s nor %s", r.Status, message.StatusSuccess, message.StatusFailure)
	}
	return a.stepEvent(ctx, r.CorrelationData.BatchID, r.CorrelationData.StepExecutionID, func(step int) engine.Event {
		result := engine.StepResult{Step: step, JobID: r.JobID, OK: ok, Result: r.Result}
		if !ok {
			result.Error = failure(r.Error)
			if r.Error != nil {
				result.RetryAfter = time.Duration(r.Error.RetryAfterSeconds) * time.Second
				result.Expired = strings.EqualFold(r.Error.Type, message.ErrorJobExpired)
				result.Revoked = strings.EqualFold(r.Error.Type, message.ErrorJobRevoked)
				result.Redelivered = r.Error.Redelivered
			}
		}
		return result
	})
}

func failure(e *message.JobError) string {
	switch {
	case e == nil || e.Message == "" && e.Type == "":
		return "the worker gave no reason"
	case e.Type == "":
		return e.Message
	case e.Message == "":
		return e.Type
	}
	return fmt.Sprintf("%s (%s)", e.Message, e.Type)
}

func (a *App) pollCheck(ctx context.Context, c message.StepCheck) error {
	return a.stepEvent(ctx, c.BatchID, c.StepExecutionID, func(step int) engine.Event {
		return engine.PollDue{Step: step, Count: c.Count}
	})
}

func (a *App) retryCheck(ctx context.Context, c message.StepCheck) error {
	return a.stepEvent(ctx, c.BatchID, c.StepExecutionID, func(step int) engine.Event {
		return engine.RetryDue{Step: step, Count: c.Count}
	})
}

func (a *App) stepEvent(ctx context.Context, batch int, stepID int64, event func(step int) engine.Event) error {
	run, key, index, recalled, err := a.runOf(ctx, batch, stepID)
	if err != nil {
		return err
	}
	e, err := a.hide(ctx, &run.Doc, event(index))
	if err != nil {
		return err
	}
	step := run.Doc.Steps[index]
	err = a.runEvent(ctx, run, recalled, e)
	if recalled && errors.Is(err, errOutdated) {
		if run, err = store.Read[engine.Run](ctx, a.store, key); err != nil {
			return err
		}
		a.remember(key, &run.Doc, run.ETag)
		if e, err = a.hide(ctx, &run.Doc, event(index)); err != nil {
			return err
		}
		err = a.runEvent(ctx, run, false, e)
	}
	if result, ok := e.(engine.StepResult); ok && err == nil && result.JobID == step.JobID { // not one to an earlier job
		a.recordAnswer(ctx, step)
	}
	return err
}

// runOf finds the run of a step execution, and tells whether it was recalled.
func (a *App) runOf(ctx context.Context, batch int, stepID int64) (run store.Item[engine.Run], key store.Key, index int, recalled bool, err error) {
	if batch < 1 {
		return run, key, 0, false, reject("the message names no batch")
	}
	phase, member, index, err := engine.ParseStepID(stepID)
	if err != nil {
		return run, key, 0, false, reject("%v", err)
	}
	key = store.RunKey(batch, phase, member)
	run, recalled, err = a.recallRun(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return run, key, 0, false, reject("batch %d has no step execution %d", batch, stepID)
	}
	if err == nil && index >= len(run.Doc.Steps) {
		if recalled { // a rollback may have added to it since
			a.runs.remove(key)
			return a.runOf(ctx, batch, stepID)
		}
		err = reject("batch %d has no step execution %d: its run has %d steps", batch, stepID, len(run.Doc.Steps))
	}
	return run, key, index, recalled, err
}

// decideRun takes one decision on a run that is read afresh where what is at hand
// will not do.
func (a *App) decideRun(ctx context.Context, key store.Key, run store.Item[engine.Run], e engine.Event) error {
	err := a.runEvent(ctx, run, true, e)
	if !errors.Is(err, errOutdated) {
		return err
	}
	if run, err = store.Read[engine.Run](ctx, a.store, key); err != nil {
		return err
	}
	return a.runEvent(ctx, run, false, e)
}

// errOutdated: what was recalled of a run does not do for the event at hand.
var errOutdated = errors.New("app: the recalled run is out of date")

// runEvent takes one decision on a run: load, decide, commit, publish. On a
// recalled run it decides only what a guarded write proves right. Extra operations,
// such as a line in the audit trail, are part of that write.
func (a *App) runEvent(ctx context.Context, run store.Item[engine.Run], recalled bool, e engine.Event, extra ...store.Op) error {
	rb, err := a.runbook(ctx, run.Doc.Runbook, run.Doc.Version)
	if err != nil {
		return err
	}
	var member store.Item[engine.Member]
	var batch store.Item[engine.Batch]
	now := a.now() // before the gate is read: a revocation covers what it let pass
	gate, err := a.gate(ctx, run.Doc.Batch)
	if err != nil {
		return err
	}
	state := engine.State{Run: &run.Doc, Runbook: rb, Gate: gate}
	decision, err := engine.Decide(state, e, now)
	if errors.Is(err, engine.ErrMemberNeeded) {
		if member, err = store.Read[engine.Member](ctx, a.store, store.MemberKey(run.Doc.Batch, run.Doc.Member)); err != nil {
			return err
		}
		state.Member = &member.Doc
		decision, err = engine.Decide(state, e, now)
	}
	if errors.Is(err, engine.ErrBatchNeeded) {
		if batch, err = store.Read[engine.Batch](ctx, a.store, store.BatchKey(run.Doc.Batch)); err != nil {
			return err
		}
		state.Batch = &batch.Doc
		decision, err = engine.Decide(state, e, now)
	}
	if err != nil {
		return err
	}
	switch {
	case recalled && (decision.Stale || decision.Repeated):
		return errOutdated
	case decision.Stale:
		a.log.Info("event is out of date", "BatchId", run.Doc.Batch, "run", run.ID, "event", fmt.Sprintf("%T", e))
		return nil
	case decision.Repeated:
		return a.repeat(ctx, &run.Doc, decision.Effects)
	}
	return a.commitRun(ctx, run, member, batch, decision, extra...)
}

// commitRun stores a decision on a run in one write and carries out its effects.
func (a *App) commitRun(ctx context.Context, run store.Item[engine.Run], member store.Item[engine.Member], batch store.Item[engine.Batch], d engine.Decision, extra ...store.Op) error {
	next := d.Run
	key := store.RunKey(next.Batch, next.Phase, next.Member)
	ops := []store.Op{store.Replace(key, next, run.ETag)}
	if d.Member != nil {
		ops = append(ops, store.Replace(store.MemberKey(next.Batch, next.Member), d.Member, member.ETag))
	}
	if d.Batch != nil {
		ops = append(ops, store.Replace(store.BatchKey(next.Batch), d.Batch, batch.ETag))
		ops = append(ops, a.stopRecord(&batch.Doc, &d)...)
	}
	shard, yields := -1, next.Kind == engine.KindPhase && next.Yielded && !run.Doc.Yielded
	for _, e := range d.Effects {
		switch e := e.(type) {
		case engine.Count:
			key := store.ShardKey(next.Batch, next.Phase, next.Page)
			changes := []store.Change{store.Increment("/open", -1), store.Increment("/"+string(e.Outcome), 1)}
			if yields {
				changes = append(changes, store.Increment("/yielded", 1))
			}
			ops = append(ops, store.Patch(key, "", changes...), store.Get(key))
			shard = len(ops) - 1
		case engine.CountFailure:
			ops = append(ops, countFailures(next.Batch, next.Phase, 1))
		case engine.Leave:
			at := fmt.Sprintf("/phases/%d/", next.Phase-1)
			ops = append(ops, store.Patch(store.BatchKey(next.Batch), "", store.Increment(at+"open", -1), store.Increment(at+string(e.Outcome), 1)))
		}
	}
	if yields && shard < 0 {
		key := store.ShardKey(next.Batch, next.Phase, next.Page)
		ops = append(ops, store.Patch(key, "", store.Increment("/yielded", 1)), store.Get(key))
		shard = len(ops) - 1
	}
	outcome, err := a.store.Commit(ctx, append(ops, extra...)...)
	if err != nil {
		a.runs.remove(key) // it is read again when the event is
		return err
	}
	a.remember(key, next, outcome.ETag(0))
	if err := a.carryOut(ctx, d.Batch, next, d.Effects); err != nil {
		return err
	}
	var counted store.Item[engine.Shard]
	if shard >= 0 {
		if counted, err = store.Decode[engine.Shard](outcome, shard); err != nil {
			return err
		}
		if yields && counted.Doc.Yielded == counted.Doc.YieldsAt() {
			if err := a.pageYielded(ctx, next, next.Page); err != nil {
				return err
			}
		}
	}
	switch {
	case d.Batch != nil:
		return a.list(ctx, d.Batch)
	case !next.Status.Terminal() || d.Member == nil:
		return nil
	case shard < 0:
		return a.ended(ctx, next, nil)
	}
	return a.ended(ctx, next, &counted)
}

// ended does what follows from the end of a member's run: the next run in the
// member's queue starts, and a shard that is empty reports to its phase. The run
// says which was the next: where that one ended at once too, doing this again
// leads on to it and to what followed from its end. A removal has no shard.
func (a *App) ended(ctx context.Context, run *engine.Run, shard *store.Item[engine.Shard]) error {
	if rb, err := a.runbook(ctx, run.Runbook, run.Version); err != nil {
		return err
	} else if run.CountsFailure(rb) { // before the member's page can end, and the phase with it
		if err := a.batchEvent(ctx, run.Batch, engine.FailureCounted{Phase: run.Phase}); err != nil {
			return err
		}
	}
	if run.Next != 0 {
		if err := a.startRun(ctx, run.Batch, run.Next, run.Member); err != nil {
			return err
		}
	}
	switch {
	case shard == nil:
		return a.batchEvent(ctx, run.Batch, engine.PhaseCounted{Phase: run.Phase})
	case shard.Doc.Open > 0:
		return nil
	}
	return a.closeShard(ctx, run.Batch, *shard)
}

// repeat carries out again what followed from an event that was applied before,
// in case that was cut short.
func (a *App) repeat(ctx context.Context, run *engine.Run, effects []engine.Effect) error {
	if !run.Status.Terminal() {
		if err := a.carryOut(ctx, nil, run, effects); err != nil || !run.Yielded || run.Kind != engine.KindPhase {
			return err
		}
	}
	switch {
	case run.Member == 0:
		return a.batchEvent(ctx, run.Batch, engine.PhaseCounted{Phase: run.Phase})
	case run.Kind == engine.KindRemoval:
		return a.ended(ctx, run, nil)
	}
	shard, err := store.Read[engine.Shard](ctx, a.store, store.ShardKey(run.Batch, run.Phase, run.Page))
	if err != nil {
		return err
	}
	if shard.Doc.HasYielded() {
		if err := a.pageYielded(ctx, run, run.Page); err != nil {
			return err
		}
	}
	if !run.Status.Terminal() {
		return nil
	}
	return a.ended(ctx, run, &shard)
}

// startRun starts a run that waits, or repeats its start.
func (a *App) startRun(ctx context.Context, batch, phase, member int) error {
	run, err := store.Read[engine.Run](ctx, a.store, store.RunKey(batch, phase, member))
	if err != nil {
		return err
	}
	return a.runEvent(ctx, run, false, engine.RunStarted{})
}

// release lets a run go on that was held on the word of a batch that was paused,
// and is not by now.
func (a *App) release(ctx context.Context, run *engine.Run) error {
	gate, err := a.gateNow(ctx, run.Batch)
	if err != nil || gate == engine.Paused {
		return err
	}
	held, err := store.Read[engine.Run](ctx, a.store, store.RunKey(run.Batch, run.Phase, run.Member))
	if err != nil {
		return err
	}
	return a.runEvent(ctx, held, false, engine.RunReleased{Task: "resumed"})
}
