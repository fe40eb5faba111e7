package engine_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/model"
)

const conditional = header + `
vars: {tenant: contoso.example, guests: Guest}
phases:
  - name: create
    offset: T-1d
    when: Kind != guests
    steps:
      - {name: new, worker_id: w1, function: New, params: {Tenant: "{{tenant}}"}, output_params: {UserId: id}}
      - {name: license, worker_id: w1, function: License, when: Department == "Sales" and UserId != nil, on_failure: undo, output_params: {License: sku}}
      - {name: tell, worker_id: w1, function: Tell, when: License != nil}
      - {name: check, worker_id: w1, function: Check, on_failure: undo, retry: {max_retries: 1, interval: 30s}}
rollbacks:
  undo:
    - {name: unlicense, worker_id: w1, function: Unlicense, when: License != nil}
    - {name: remove, worker_id: w1, function: Remove}
`

func enterConditional(t *testing.T, data string) *person {
	t.Helper()
	return enterOf(t, read(t, conditional), 1, data)
}

func TestStepIsSkippedByItsConditionAndItsRollbackIsNotRun(t *testing.T) {
	t.Parallel()
	p := enterConditional(t, `{"Upn":"ann@x","Kind":"User","Department":"IT"}`)
	p.on(model.RunStarted{})
	if got := string(p.step().Params); got != `{"Tenant":"contoso.example"}` {
		t.Errorf("parameters %s", got)
	}
	wantOutcome(t, p.answer(`{"id":"u1"}`), model.Dispatch{Step: 3})
	p.want(model.RunRunning, model.StepSucceeded, model.StepSkippedByCondition, model.StepSkippedByCondition, model.StepDispatched)
	if s := p.run.Steps[1]; s.CompletedAt == nil || s.Resolved != nil || s.Attempts != 0 || s.Job != "" {
		t.Errorf("%+v", s)
	}
	p.answer(`true`)
	p.want(model.RunSucceeded, model.StepSucceeded, model.StepSkippedByCondition, model.StepSkippedByCondition, model.StepSucceeded)
}

func TestConditionUsesOutputsOfTheRun(t *testing.T) {
	t.Parallel()
	p := enterConditional(t, `{"Upn":"ann@x","Kind":"User","Department":"Sales"}`)
	p.on(model.RunStarted{})
	wantOutcome(t, p.answer(`{"id":"u1"}`), model.Dispatch{Step: 1})
	wantOutcome(t, p.answer(`{"sku":"E5"}`), model.Dispatch{Step: 2})
}

func TestConditionsOfARollbackAreEvaluatedWhenItRuns(t *testing.T) {
	t.Parallel()
	p := enterConditional(t, `{"Upn":"ann@x","Kind":"User","Department":"IT"}`)
	p.on(model.RunStarted{})
	p.answer(`{"id":"u1"}`)
	p.on(model.StepResult{Step: 3, JobID: p.jobID(), Error: "no"})
	p.on(model.RetryDue{Step: 3, Count: 1})
	wantOutcome(t, p.on(model.StepResult{Step: 3, JobID: p.jobID(), Error: "no"}), model.Dispatch{Step: 5})
	p.want(model.RunRollingBack, model.StepSucceeded, model.StepSkippedByCondition, model.StepSkippedByCondition, model.StepFailed, model.StepSkippedByCondition, model.StepDispatched)
	p.answer(`true`)
	runstate.Restart(&p.run, "again")
	p.want(model.RunWaiting, model.StepPending, model.StepPending, model.StepPending, model.StepPending, model.StepSkippedByCondition, model.StepSucceeded)
}

func TestMemberSkippedByTheConditionOfAPhaseIsDoneWithIt(t *testing.T) {
	t.Parallel()
	p := enterConditional(t, `{"Upn":"ann@x","Kind":"Guest","Department":"Sales"}`)
	wantOutcome(t, p.on(model.RunStarted{}), model.CountRun{Outcome: model.RunSucceeded})
	p.want(model.RunSucceeded, model.StepSkippedByCondition, model.StepSkippedByCondition, model.StepSkippedByCondition, model.StepSkippedByCondition)
	if p.member.Status != model.MemberActive || p.member.OpenPhase != 0 {
		t.Errorf("%+v", p.member)
	}
}

func TestConditionWithoutItsColumnFailsTheStepWithoutRetryAndRollback(t *testing.T) {
	t.Parallel()
	p := enterConditional(t, `{"Upn":"ann@x","Kind":"User"}`)
	p.on(model.RunStarted{})
	p.answer(`{"id":"u1"}`)
	p.want(model.RunFailed, model.StepSucceeded, model.StepFailed, model.StepCancelled, model.StepCancelled)
	if got := p.run.Error; got != `step "license": when: the member has no column "Department"` {
		t.Errorf("%s", got)
	}

	p = enterConditional(t, `{"Upn":"ann@x","Department":"Sales"}`)
	p.on(model.RunStarted{})
	p.want(model.RunFailed, model.StepFailed, model.StepCancelled, model.StepCancelled, model.StepCancelled)
	if got := p.run.Error; got != `step "new": the phase: when: the member has no column "Kind"` {
		t.Errorf("%s", got)
	}

	p = enterConditional(t, `{"Upn":"ann@x","Kind":"User","Department":7}`)
	p.on(model.RunStarted{})
	p.answer(`{"id":"u1"}`)
	if got := p.run.Error; !strings.Contains(got, "cannot compare a number with text") {
		t.Errorf("%s", got)
	}
}

// The data may be corrected while the batch is paused: the condition is evaluated when the step is dispatched.
func TestConditionIsEvaluatedWhenAPausedBatchGoesOn(t *testing.T) {
	t.Parallel()
	p := enterConditional(t, `{"Upn":"ann@x","Kind":"User","Department":"IT"}`)
	p.on(model.RunStarted{})
	p.mode = model.Paused
	p.answer(`{"id":"u1"}`)
	p.want(model.RunRunning, model.StepSucceeded, model.StepPending, model.StepPending, model.StepPending)
	p.mode = model.Running
	p.run.Variables["Department"] = json.RawMessage(`"Sales"`)
	wantOutcome(t, p.on(model.RunReleased{Task: "rev-1"}), model.Dispatch{Step: 1})
}
