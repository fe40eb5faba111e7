package engine_test

import (
	"testing"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/model"
)

const training = header + `
phases:
  - name: sync
    offset: T-0
    steps: [{name: copy, worker_id: w1, function: Copy}]
    on_complete:
      - {name: merge, worker_id: w1, function: Merge, output_params: {Bundle: id}}
      - {name: train, worker_id: w1, function: Train, params: {Bundle: "{{Bundle}}", Of: "{{_phase_members}}"}, output_params: {Model: id}, detached: true}
      - {name: note, worker_id: w1, function: Note, params: {Model: "{{Model}}", Outputs: "{{_outputs}}"}, detached: true}
`

// trained is a batch whose only phase has ended, with the run of its detached steps.
func trained(t *testing.T) *person {
	t.Helper()
	c := batchOf(t, training, true)
	c.must(next(c.b))
	c.must(model.PageFannedOut{Phase: 1, Page: 3})
	c.counts(1, 90, 10)
	merge := &person{t: t, rb: c.rb, batch: c.b, at: now}
	merge.without(1)
	wantOutcome(t, merge.answer(`{"id":"b1"}`), start(2))
	p := &person{t: t, rb: c.rb, batch: merge.batch, at: now}
	d, err := engine.Decide(model.MemoryState{Batch: &p.batch, Runs: []*model.Run{&merge.run}, Runbook: p.rb}, model.OnRun{Phase: 2, RunEvent: model.RunStarted{}}, now)
	if err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, d, model.Dispatch{})
	p.batch, p.run = *d.Batch, *d.Runs[0]
	return p
}

// TestDetachedStepsBeginWhenTheirPhaseHasEndedAndDelayNothing: the batch, which waits for no other phase,
// has ended when they begin.
func TestDetachedStepsBeginWhenTheirPhaseHasEndedAndDelayNothing(t *testing.T) {
	t.Parallel()
	p := trained(t)
	if p.batch.Status != model.BatchCompleted || p.batch.Phases[0].Status != model.PhaseCompleted {
		t.Fatalf("batch %s, phase %s", p.batch.Status, p.batch.Phases[0].Status)
	}
	d := p.batch.Phases[1]
	if d.Kind != model.KindDetached || d.Status != model.PhaseDispatched || d.Of != 1 || d.Name != "sync (detached)" {
		t.Fatalf("execution %+v", d)
	}
	if got := string(p.step().Params); got != `{"Bundle":"b1","Of":100}` {
		t.Fatalf("parameters %s", got)
	}
	p.answer(`{"id":"m1"}`)
	if got := string(p.step().Params); got != `{"Model":"m1","Outputs":"outputs/42/1"}` {
		t.Fatalf("the second step did not get the first one's output, and those of the members: %s", got)
	}
	p.answer(`true`)
	if got := p.batch.Phases[1]; got.Status != model.PhaseCompleted || got.CompletedAt == nil || p.batch.HasOpenDetached() {
		t.Fatalf("execution %+v", got)
	}
}

func TestDetachedFailureDoesNotChangeTheOutcome(t *testing.T) {
	t.Parallel()
	p := trained(t)
	p.refuse("no memory")
	if got := p.batch.Phases[1]; got.Status != model.PhaseFailed || got.Reason != `step "train": no memory` {
		t.Fatalf("execution %s: %s", got.Status, got.Reason)
	}
	if p.batch.Status != model.BatchCompleted || p.batch.Error != "" || p.batch.Phases[0].Status != model.PhaseCompleted || p.batch.Failed() != 10 {
		t.Fatalf("batch %s %q, phase %s, %d failed", p.batch.Status, p.batch.Error, p.batch.Phases[0].Status, p.batch.Failed())
	}
	d := p.retrySequence("t1")
	wantOutcome(t, d, start(2))
	if got := p.batch.Phases[1]; got.Status != model.PhaseDispatched || got.Reason != "" || p.batch.Status != model.BatchCompleted {
		t.Fatalf("after a retry: execution %+v, batch %s", got, p.batch.Status)
	}
	p.on(model.RunStarted{})
	p.answer(`{"id":"m1"}`)
	p.answer(`true`)
	if got := p.batch.Phases[1]; got.Status != model.PhaseCompleted {
		t.Fatalf("execution %s", got.Status)
	}
}

// TestDetachedStepsBeginOnce: neither a repeated event nor a phase that ends again begins them again.
func TestDetachedStepsBeginOnce(t *testing.T) {
	t.Parallel()
	p := trained(t)
	p.batch.Phases[1].FannedOut = false
	if d := p.onBatch(model.PhaseCounted{Phase: 1}); !d.Repeated {
		t.Fatalf("the end again: %+v", d)
	} else {
		wantOutcome(t, d, start(2))
	}
	p.onBatch(model.SequenceSent{Phase: 2})
	wantOutcome(t, p.onBatch(model.PhaseCounted{Phase: 1}))
	p.batch.Phases[0].Status, p.batch.Status = model.PhaseDispatched, model.BatchActive // a member was retried
	wantOutcome(t, p.onBatch(model.PhaseCounted{Phase: 1}))
	if p.batch.Status != model.BatchCompleted || len(p.batch.Phases) != 2 {
		t.Fatalf("batch %s with %d executions", p.batch.Status, len(p.batch.Phases))
	}
}

// TestDetachedStepsWaitForTheStepsBeforeThem: they use the outputs of on_complete.
func TestDetachedStepsWaitForTheStepsBeforeThem(t *testing.T) {
	t.Parallel()
	c := batchOf(t, training, true)
	c.must(next(c.b))
	c.must(model.PageFannedOut{Phase: 1, Page: 3})
	c.counts(1, 90, 10)
	p := &person{t: t, rb: c.rb, batch: c.b, at: now}
	p.without(1)
	p.refuse("no")
	if len(p.batch.Phases) != 1 || p.batch.Status != model.BatchFailed {
		t.Fatalf("batch %s with %d executions", p.batch.Status, len(p.batch.Phases))
	}
	p.retrySequence("t1")
	p.on(model.RunStarted{})
	p.answer(`{"id":"b1"}`)
	if len(p.batch.Phases) != 2 || p.batch.Status != model.BatchCompleted {
		t.Fatalf("after a retry: batch %s with %d executions", p.batch.Status, len(p.batch.Phases))
	}
}

// TestPausedDetachedStepsAreReleasedAtTheEnd: no one can resume a batch that has ended.
func TestPausedDetachedStepsAreReleasedAtTheEnd(t *testing.T) {
	t.Parallel()
	c := batchOf(t, training, true)
	c.must(next(c.b))
	c.must(model.PageFannedOut{Phase: 1, Page: 3})
	c.counts(1, 90, 10)
	p := &person{t: t, rb: c.rb, batch: c.b, at: now}
	p.without(1)
	p.onBatch(model.BatchPaused{By: model.Attribution{By: "ada", At: now}})
	d := p.answer(`{"id":"b1"}`)
	wantOutcome(t, d, model.Release{}, start(2))
	if p.batch.Status != model.BatchCompleted || p.batch.Paused != nil {
		t.Fatalf("batch %s", p.batch.Status)
	}
}

// TestAShadowBeginsNoDetachedSteps: no one gets its result.
func TestAShadowBeginsNoDetachedSteps(t *testing.T) {
	t.Parallel()
	c := batchOf(t, training, true)
	c.b.Requested = &model.Requested{Shadow: true}
	c.must(next(c.b))
	c.must(model.PageFannedOut{Phase: 1, Page: 3})
	c.counts(1, 90, 10)
	merge := &person{t: t, rb: c.rb, batch: c.b, at: now}
	merge.without(1)
	wantOutcome(t, merge.answer(`{"id":"b1"}`))
	if n := len(merge.batch.Phases); n != 1 || merge.batch.Status != model.BatchCompleted {
		t.Errorf("batch %s with %d executions", merge.batch.Status, n)
	}
}
