package engine_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

func TestSkippedStepIsPassedByAndItsLateResultRecorded(t *testing.T) {
	t.Parallel()
	p := enter(t, 2, `{"Upn":"ann@x","Kind":"User","UserId":"u"}`)
	p.on(model.RunStarted{})
	job := p.jobID()
	skip := model.StepResolved{Step: 0, Skip: true, By: by}
	wantOutcome(t, p.on(skip), model.Dispatch{Step: 1})
	p.want(model.RunRunning, model.StepSkipped, model.StepDispatched)
	if s := p.run.Steps[0]; s.Resolved == nil || *s.Resolved != by || s.CompletedAt == nil {
		t.Fatalf("%+v", s)
	}
	again := p.on(skip)
	if !again.Repeated {
		t.Fatalf("skipped again: %+v", again)
	}
	wantOutcome(t, again, model.Dispatch{Step: 1})
	p.on(model.StepResult{Step: 0, JobID: job, OK: true, Result: json.RawMessage(`{"id":"late"}`)})
	p.want(model.RunRunning, model.StepSkipped, model.StepDispatched)
	if len(p.run.Outputs) != 0 || p.run.Steps[0].Abandoned[0].Late == nil {
		t.Fatalf("outputs %v, abandoned %+v", p.run.Outputs, p.run.Steps[0].Abandoned)
	}
	p.answer(`true`)
	p.want(model.RunSucceeded, model.StepSkipped, model.StepSucceeded)
}

func TestStepThatIsMarkedDoneGivesItsOutputs(t *testing.T) {
	t.Parallel()
	p := enter(t, 2, `{"Upn":"ann@x","Kind":"User"}`)
	p.on(model.RunStarted{})
	p.on(model.StepResolved{Step: 0, Result: json.RawMessage(`{"id":"by hand"}`), By: by})
	p.want(model.RunRunning, model.StepSucceeded, model.StepDispatched)
	if got := string(p.step().Params); got != `{"User":"by hand"}` {
		t.Fatalf("parameters %s", got)
	}
}

func TestStepIsNotMarkedDoneWithAResultThatItsFunctionCannotGive(t *testing.T) {
	t.Parallel()
	for result, why := range map[string]string{
		``:                        "the result lacks id",
		`{"name":"ann"}`:          "the result lacks id",
		`{"complete":false}`:      `"complete": false`,
		`"` + long(200<<10) + `"`: "the size of its",
	} {
		p := enter(t, 2, `{"Upn":"ann@x","Kind":"User"}`)
		p.on(model.RunStarted{})
		before := text(t, p.run)
		_, err := p.try(model.StepResolved{Step: 0, Result: json.RawMessage(result), By: by})
		wantRefusal(t, err, why)
		if text(t, p.run) != before {
			t.Fatal("the refusal changed the run")
		}
	}
}

func long(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'x'
	}
	return string(b)
}

func TestStepThatLiesAheadIsPassedWhenTheRunComesToIt(t *testing.T) {
	t.Parallel()
	p := enter(t, 2, `{"Upn":"ann@x","Kind":"User"}`)
	wantOutcome(t, p.on(model.StepResolved{Step: 1, Skip: true, By: by}))
	p.want(model.RunWaiting, model.StepPending, model.StepSkipped)
	p.on(model.RunStarted{})
	wantOutcome(t, p.answer(`{"id":1}`), model.CountRun{Outcome: model.RunSucceeded})
	p.want(model.RunSucceeded, model.StepSucceeded, model.StepSkipped)
}

func TestStepThatPollsOrWaitsForItsRetryIsPassedAtOnce(t *testing.T) {
	t.Parallel()
	p := enter(t, 3, `{"UserId":"u"}`)
	p.on(model.RunStarted{})
	p.answer(`{"complete":false}`)
	wantOutcome(t, p.on(model.StepResolved{Step: 0, Skip: true, By: by}), model.CountRun{Outcome: model.RunSucceeded})
	p.nothing(model.PollDue{Step: 0, Count: 1})

	p = enter(t, 2, `{"Upn":"ann@x","Kind":"User","UserId":"u"}`)
	p.on(model.RunStarted{})
	p.refuse("busy")
	wantOutcome(t, p.on(model.StepResolved{Step: 0, Skip: true, By: by}), model.Dispatch{Step: 1})
	p.after(30 * time.Second)
	p.nothing(model.RetryDue{Step: 0, Count: 1})
	if p.run.Steps[0].RetryAfter != nil || p.run.WakeAt != nil {
		t.Fatalf("a retry is still to come: %+v", p.run.Steps[0])
	}
}

func TestSkipInAPausedBatchHoldsTheNextStep(t *testing.T) {
	t.Parallel()
	p := enter(t, 2, `{"Upn":"ann@x","Kind":"User","UserId":"u"}`)
	p.on(model.RunStarted{})
	p.mode = model.Paused
	p.refuse("busy")
	p.on(model.RetryDue{Step: 0, Count: 1})
	wantOutcome(t, p.on(model.StepResolved{Step: 0, Skip: true, By: by}), released())
	p.want(model.RunRunning, model.StepSkipped, model.StepPending)
	p.mode = model.Running
	wantOutcome(t, p.on(model.RunReleased{Task: "r"}), model.Dispatch{Step: 1})
}

func TestStepThatHasEndedIsNotResolved(t *testing.T) {
	t.Parallel()
	p := enter(t, 2, `{"Upn":"ann@x","Kind":"User"}`)
	p.on(model.RunStarted{})
	p.answer(`{"id":1}`)
	_, err := p.try(model.StepResolved{Step: 0, Skip: true, By: by})
	wantRefusal(t, err, `step "new" of member 17 is succeeded`)
	_, err = p.try(model.StepResolved{Step: 7, Skip: true, By: by})
	wantRefusal(t, err, "no step 7")
	p.refuse("no")
	_, err = p.try(model.StepResolved{Step: 1, Skip: true, By: by})
	wantRefusal(t, err, "failed")
}

func TestInitStepIsSkippedForTheBatch(t *testing.T) {
	t.Parallel()
	p := initOf(t, undoing)
	d := p.on(model.StepResolved{Step: 0, Skip: true, By: by})
	if p.batch.Status != model.BatchActive || len(outcome(d)) != 1 || outcome(d)[0].(model.Announce).Phase != 2 {
		t.Fatalf("batch %s, effects %v", p.batch.Status, d.Messages)
	}
}

func TestRollbackStepIsSkipped(t *testing.T) {
	t.Parallel()
	p := undoable(t)
	p.answer(`{"id":1}`)
	p.refuse("no")
	p.on(model.StepResolved{Step: 3, Skip: true, By: by})
	p.want(model.RunRollingBack, model.StepSucceeded, model.StepFailed, model.StepCancelled, model.StepSkipped, model.StepDispatched)
}
