package engine_test

import (
	"testing"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/model"
)

const merging = header + `
phases:
  - name: move
    offset: T-0
    steps: [{name: copy, worker_id: w1, function: Copy}]
    on_complete:
      - {name: report, worker_id: w1, function: Report, params: {Of: "{{_phase_members}}", Good: "{{_phase_succeeded}}", Bad: "{{_phase_failed}}", Gone: "{{_phase_cancelled}}"}, output_params: {ReportId: id}}
      - {name: send, worker_id: w1, function: Send, params: {Report: "{{ReportId}}"}, on_failure: drop}
  - name: clean
    offset: T-0
    steps: [{name: tidy, worker_id: w1, function: Tidy}]
rollbacks:
  drop: [{name: remove, worker_id: w1, function: Remove, params: {Report: "{{ReportId}}"}}]
`

// onComplete is a batch whose first phase has ended for all members, with the run of its
// on_complete steps.
func onComplete(t *testing.T) *person {
	t.Helper()
	c := batchOf(t, merging, true)
	c.must(next(c.b))
	c.must(model.PageFannedOut{Phase: 1, Page: 3})
	wantOutcome(t, c.counts(1, 90, 10), start(1))
	p := &person{t: t, rb: c.rb, batch: c.b, at: now}
	p.without(1)
	return p
}

func TestOnCompleteRunsOnceWithTheCountsWhenAllMembersHaveEnded(t *testing.T) {
	t.Parallel()
	p := onComplete(t)
	if got := string(p.step().Params); got != `{"Bad":10,"Gone":0,"Good":90,"Of":100}` {
		t.Fatalf("parameters %s", got)
	}
	if p.jobID() != "step-10000000000-attempt-1" {
		t.Fatalf("job %s", p.jobID())
	}
	p.answer(`{"id":"r1"}`)
	if got := string(p.step().Params); got != `{"Report":"r1"}` {
		t.Fatalf("the second step did not get the first one's output: %s", got)
	}
	if p.batch.Phases[0].Status != model.PhaseDispatched {
		t.Fatalf("the phase is %s before its on_complete steps have ended", p.batch.Phases[0].Status)
	}
	p.answer(`true`)
	if got := p.batch.Phases[0]; got.Status != model.PhaseCompleted || got.OnCompleteStatus != model.RunSucceeded {
		t.Fatalf("phase %+v", got)
	}
	wantOutcome(t, p.onBatch(next(p.batch)), model.Announce{Phase: 2})
}

func TestOnCompleteThatFailsFailsThePhaseAfterItsRollback(t *testing.T) {
	t.Parallel()
	p := onComplete(t)
	p.answer(`{"id":"r1"}`)
	p.refuse("no")
	p.want(model.RunRollingBack)
	if got := string(p.step().Params); got != `{"Report":"r1"}` {
		t.Fatalf("parameters of the rollback: %s", got)
	}
	p.answer(`true`)
	got := p.batch.Phases[0]
	if got.Status != model.PhaseFailed || got.Reason != `on_complete: step "send": no` {
		t.Fatalf("phase %s: %s", got.Status, got.Reason)
	}
}

func TestPhaseIsNotLeftWhileItsOnCompleteStepsRun(t *testing.T) {
	t.Parallel()
	p := onComplete(t)
	c := crowd{t: t, b: p.batch}
	_, err := c.on(next(c.b))
	wantRefusal(t, err, "its on_complete steps have ended")
}

func TestOnCompleteIsRequestedAgainUntilItHasEnded(t *testing.T) {
	t.Parallel()
	p := onComplete(t)
	for _, e := range []model.Event{model.PhaseCounted{Phase: 1}, model.PageFannedOut{Phase: 1, Page: 3}} {
		d := p.onBatch(e)
		if !d.Repeated {
			t.Fatalf("%T again: %+v", e, d)
		}
		wantOutcome(t, d, start(1))
	}
	p.answer(`{"id":"r1"}`)
	p.answer(`true`)
	wantOutcome(t, p.onBatch(model.PhaseCounted{Phase: 1}))
}

// All shards may report before the fan-out is known to be over.
func TestOnCompleteFollowsTheFanOutWhereTheMembersWereFaster(t *testing.T) {
	t.Parallel()
	c := batchOf(t, merging, true)
	c.must(next(c.b))
	p := &c.b.Phases[0]
	p.ShardsClosed, p.Succeeded = 3, 100
	wantOutcome(t, c.must(model.PhaseCounted{Phase: 1}))
	wantOutcome(t, c.must(model.PageFannedOut{Phase: 1, Page: 3}), start(1))
	wantOutcome(t, c.must(model.PageFannedOut{Phase: 1, Page: 3}), start(1))
}

func TestPhaseInWhichNobodyTookPartRunsNoOnComplete(t *testing.T) {
	t.Parallel()
	c := batchOf(t, merging, true)
	c.must(next(c.b))
	c.must(model.PageFannedOut{Phase: 1, Page: 3})
	wantOutcome(t, c.counts(1, 0, 0))
	c.wantPhase(1, model.PhaseFailed, "no active member")
}

func TestOnCompleteThatFailedIsRetriedAtTheStepThatFailed(t *testing.T) {
	t.Parallel()
	p := onComplete(t)
	p.refuse("no")
	if p.batch.Phases[0].Status != model.PhaseFailed {
		t.Fatalf("phase %s", p.batch.Phases[0].Status)
	}
	d := p.retrySequence("t1")
	wantOutcome(t, d, start(1))
	if got := p.batch.Phases[0]; got.Status != model.PhaseDispatched || got.OnCompleteStatus != model.RunRunning || got.Reason != "" {
		t.Fatalf("phase %+v", got)
	}
	if d := p.retrySequence("t1"); !d.Repeated {
		t.Fatalf("the request again: %+v", d)
	}
	p.on(model.RunStarted{})
	if p.jobID() != "step-10000000000-attempt-2" {
		t.Fatalf("job %s", p.jobID())
	}
	p.answer(`{"id":"r1"}`)
	p.answer(`true`)
	if got := p.batch.Phases[0]; got.Status != model.PhaseCompleted {
		t.Fatalf("phase %s", got.Status)
	}
}

// retrySequence asks for the run, which has no member, to be tried again.
func (p *person) retrySequence(task string) model.Decision {
	p.t.Helper()
	d, err := p.tryRetrySequence(task)
	if err != nil {
		p.t.Fatal(err)
	}
	return d
}

func (p *person) tryRetrySequence(task string) (model.Decision, error) {
	p.t.Helper()
	d, err := engine.Decide(model.MemoryState{Batch: &p.batch, Runs: []*model.Run{&p.run}, Runbook: p.rb}, model.SequenceRetried{Phase: p.run.Phase, Task: task}, p.at)
	if d.Batch != nil {
		p.batch, p.run = *d.Batch, *d.Runs[0]
	}
	return d, err
}

// TestSequenceIsSentOnlyWhenItsRunIsStored: until another process has stored the run, a repeated
// start in a cancelled batch does not note that the first job is sent.
func TestSequenceIsSentOnlyWhenItsRunIsStored(t *testing.T) {
	t.Parallel()
	p := onComplete(t)
	c := crowd{t: t, b: p.batch, rb: p.rb}
	c.must(model.BatchCancelRequested{})
	started := model.OnRun{Phase: 1, RunEvent: model.RunStarted{}}
	d, err := c.on(started)
	if err != nil || !d.Stale || len(d.Next) > 0 {
		t.Fatalf("without a run: %+v, %v", d, err)
	}
	p.batch = c.b
	d = p.on(started.RunEvent)
	wantOutcome(t, d, model.Dispatch{})
	if last := d.Next[len(d.Next)-1]; last != (model.SequenceSent{Phase: 1}) {
		t.Fatalf("with the run that another process stored: %+v", d.Next)
	}
	p.onBatch(model.SequenceSent{Phase: 1})
	if p.batch.Phases[0].SequenceUnsent() {
		t.Fatal("the job is not sent")
	}
}
