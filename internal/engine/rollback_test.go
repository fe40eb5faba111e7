package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/model"
)

// Each step of the phase is undone in the same way.
const undoing = header + `
init:
  - {name: prepare, worker_id: w1, function: Prepare, on_failure: tidy}
phases:
  - name: move
    offset: T-0
    steps:
      - {name: copy, worker_id: w1, function: Copy, params: {Name: "{{Upn}}"}, output_params: {CopyId: id}, on_failure: undo, retry: {max_retries: 1, interval: 1m}}
      - {name: switch, worker_id: w1, function: "Switch-{{Kind}}", on_failure: undo}
      - {name: check, worker_id: w1, function: Check, poll: {interval: 30s, timeout: 1m}, on_failure: undo, retry: {max_retries: 5, interval: 1m}}
rollbacks:
  undo:
    - {name: remove, worker_id: w1, function: Remove, params: {Name: "{{Upn}}"}}
    - {name: tell, worker_id: w1, function: Tell}
  tidy:
    - {name: sweep, worker_id: w1, function: Sweep}
`

func undoable(t *testing.T) *person {
	t.Helper()
	p := enterOf(t, read(t, undoing), 2, `{"Upn":"ann@x","Kind":"User"}`)
	p.on(model.RunStarted{})
	return p
}

func TestFailedStepIsRolledBackInOrderOnceItsRetriesAreUsedUp(t *testing.T) {
	t.Parallel()
	p := undoable(t)
	p.refuse("busy")
	if p.run.Status != model.RunRunning {
		t.Fatalf("rolled back with a retry left: %s", p.run.Status)
	}
	p.after(time.Minute)
	p.on(model.RetryDue{Step: 0, Count: 1})
	d := p.refuse("broken")
	p.want(model.RunRollingBack, model.StepFailed, model.StepCancelled, model.StepCancelled, model.StepDispatched, model.StepPending)
	wantOutcome(t, d, model.Dispatch{Step: 3})
	if s := p.step(); s.Rollback != "undo" || s.Place != 0 || p.jobID() != "step-20000017003-attempt-1" || string(s.Params) != `{"Name":"ann@x"}` {
		t.Fatalf("the first step of the rollback: %+v", s)
	}
	if p.member.Status != model.MemberActive || p.member.OpenPhase != 2 {
		t.Fatalf("the member left before the rollback was done: %+v", p.member)
	}
	p.answer(`true`)
	d = p.answer(`true`)
	p.want(model.RunFailed, model.StepFailed, model.StepCancelled, model.StepCancelled, model.StepSucceeded, model.StepSucceeded)
	wantOutcome(t, d, model.CountRun{Outcome: model.RunFailed})
	if p.member.Status != model.MemberFailed || p.member.FailedIn != "move" || p.member.FailedStep != "copy" || !strings.Contains(p.member.Error, "broken") {
		t.Fatalf("member %+v", p.member)
	}
}

func TestOnlyWhatRanIsRolledBack(t *testing.T) {
	t.Parallel()
	p := enterOf(t, read(t, undoing), 2, `{"Upn":"ann@x"}`) // without a Kind "switch" cannot be dispatched
	p.on(model.RunStarted{})
	d := p.answer(`{"id":1}`)
	p.want(model.RunFailed, model.StepSucceeded, model.StepFailed, model.StepCancelled)
	if len(p.run.Steps) != 3 || p.run.RolledBack {
		t.Fatalf("a step that was never dispatched was rolled back: %+v", p.run.Steps)
	}
	wantOutcome(t, d, model.CountRun{Outcome: model.RunFailed})
}

func TestRollbackGoesOnAfterAStepOfItsOwnFailed(t *testing.T) {
	t.Parallel()
	p := undoable(t)
	p.answer(`{"id":1}`)
	p.refuse("broken")
	p.refuse("cannot be removed")
	p.want(model.RunRollingBack, model.StepSucceeded, model.StepFailed, model.StepCancelled, model.StepFailed, model.StepDispatched)
	p.answer(`true`)
	p.want(model.RunFailed)
	want := `step "switch": broken; its rollback "undo" failed too: step "remove": cannot be removed`
	if p.run.Error != want {
		t.Fatalf("error %q, want %q", p.run.Error, want)
	}
}

func TestPollTimeoutIsRolledBackAndNotRetried(t *testing.T) {
	t.Parallel()
	p := undoable(t)
	p.answer(`{"id":1}`)
	p.answer(`true`)
	p.answer(`{"complete":false}`)
	p.after(time.Minute) // the poll took half a minute
	p.answer(`{"complete":false}`)
	p.on(model.PollDue{Step: 2, Count: 2})
	p.want(model.RunRollingBack, model.StepSucceeded, model.StepSucceeded, model.StepPollTimeout, model.StepDispatched)
	if p.run.Steps[2].RetryCount != 0 {
		t.Fatal("the poll timeout was retried")
	}
}

func TestEventsOfARollbackThatComeAgainRepeatTheirEffects(t *testing.T) {
	t.Parallel()
	p := undoable(t)
	p.answer(`{"id":1}`)
	failure := model.StepResult{Step: 1, JobID: p.jobID(), Error: "broken"}
	p.on(failure)
	d := p.on(failure)
	if !d.Repeated || len(d.Runs) > 0 {
		t.Fatalf("the failure again: %+v", d)
	}
	wantOutcome(t, d, model.Dispatch{Step: 3})
	p.answer(`true`)
	p.nothing(failure)
}

func TestNextPhaseOfTheMemberWaitsForTheRollback(t *testing.T) {
	t.Parallel()
	p := undoable(t)
	p.member, _ = runstate.Enter(p.member, 9)
	p.answer(`{"id":1}`)
	p.refuse("broken")
	p.answer(`true`)
	if p.member.OpenPhase != 2 {
		t.Fatalf("the member is in phase %d while it rolls back", p.member.OpenPhase)
	}
	d := p.answer(`true`)
	wantOutcome(t, d, model.CountRun{Outcome: model.RunFailed}, start(9))
	if p.run.Next != 9 {
		t.Fatalf("the run does not remember what followed: %d", p.run.Next)
	}
}

func TestFailedInitIsRolledBackForTheBatchWhichThenFails(t *testing.T) {
	t.Parallel()
	p := initOf(t, undoing)
	p.refuse("no")
	p.want(model.RunRollingBack, model.StepFailed, model.StepDispatched)
	if p.batch.Status != model.BatchInitDispatched || p.jobID() != "init-10000000001-attempt-1" {
		t.Fatalf("batch %s, job %s", p.batch.Status, p.jobID())
	}
	p.answer(`true`)
	p.want(model.RunFailed, model.StepFailed, model.StepSucceeded)
	if p.batch.Status != model.BatchFailed || p.batch.Error != `init failed: step "prepare": no` || p.batch.Phases[0].Status != model.PhaseFailed {
		t.Fatalf("batch %s: %s", p.batch.Status, p.batch.Error)
	}
}

// initOf is a scheduled batch whose init sequence has begun.
func initOf(t *testing.T, source string) *person {
	t.Helper()
	p := &person{t: t, rb: read(t, source), at: now}
	start := now
	p.batch = engine.NewBatch(42, p.rb, 3, 10, &start, "", now)
	p.onBatch(model.PhaseDue{Phase: 1})
	p.without(1)
	return p
}

// without starts the run of a phase that has no member.
func (p *person) without(phase int) model.Decision {
	p.t.Helper()
	var err error
	if p.run, err = runstate.New(&p.batch, p.batch.Phases[phase-1], nil, p.rb, p.at); err != nil {
		p.t.Fatal(err)
	}
	return p.on(model.RunStarted{})
}

// onBatch lets an event of the batch happen.
func (p *person) onBatch(e model.Event) model.Decision {
	p.t.Helper()
	c := crowd{t: p.t, b: p.batch, rb: p.rb, at: p.at}
	d := c.must(e)
	p.batch = c.b
	return d
}
