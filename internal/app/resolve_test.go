package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/message"
)

// skip and done settle a step by an administrator's word, and let all come that
// follows.
func (s *stage) skip(id int, step int64) {
	s.t.Helper()
	s.pass(time.Second)
	v := must(s.app.SkipStep(s.ctx, ada, id, step, "not needed"))(s.t)
	if v.Status != "skipped" || v.Resolved == nil || v.Resolved.By != "ada" || v.Resolved.Why != "not needed" {
		s.t.Fatalf("%+v", v)
	}
	s.deliverAll()
}

func (s *stage) markDone(id int, step int64, result string) {
	s.t.Helper()
	s.pass(time.Second)
	v := must(s.app.MarkStepDone(s.ctx, ada, id, step, json.RawMessage(result), "done by hand"))(s.t)
	if v.Status != "succeeded" || v.Resolved == nil || v.Resolved.By != "ada" || v.Resolved.Why != "done by hand" {
		s.t.Fatalf("%+v", v)
	}
	s.deliverAll()
}

func TestSkippedStepThatIsUnderWayIsPassedByAndItsLateResultRecorded(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": fails(errLost)}
		b := s.startBatch(twoSteps, people(2))
		step := s.step(b.ID, 1, "new")
		s.skip(b.ID, step.ID)
		s.wantSteps(b.ID, 1, "new skipped, join succeeded")
		s.wantSteps(b.ID, 2, "new queued, join pending")
		s.answers(1, "New", "", errNo)
		s.wantSteps(b.ID, 1, "new skipped, join succeeded")
		if v := s.step(b.ID, 1, "new"); len(v.Late) != 1 || v.Late[0].At == nil || v.Late[0].Error != "no (Test)" {
			t.Errorf("the late result: %+v", v.Late)
		}
		records := s.listAudit(b.ID)
		if r := records[len(records)-1]; r.By != "ada" || r.Action != "skip_step" || r.Why != "not needed" || r.Target != fmt.Sprintf("step %d (new of p001@x in first)", step.ID) {
			t.Errorf("%+v", r)
		}
	})
}

func TestSkippedStepThatLiesAheadIsPassedByWhenItIsComeTo(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": fails(errLost)}
		b := s.startBatch(twoSteps, people(1))
		s.skip(b.ID, s.step(b.ID, 1, "join").ID)
		s.wantSteps(b.ID, 1, "new queued, join skipped")
		s.answers(1, "New", "true", nil)
		s.wantCalls(1, "New")
		s.wantPhases(b.ID, "first completed 1/0/0, second pending 0/0/0")
	})
}

func TestSkippedStepThatAMemberFailedAtBringsTheMemberBack(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": only(fails(errNo), 1)}
		b := s.startBatch(twoSteps, people(2))
		s.advance(b.ID)
		s.wantStatus(b.ID, "completed")
		s.skip(b.ID, s.step(b.ID, 1, "new").ID)
		s.wantCalls(1, "New Join Check") // and the phase that was missed
		s.wantSteps(b.ID, 1, "new skipped, join succeeded, check succeeded")
		s.wantMember(b.ID, 1, "done")
		s.wantPhases(b.ID, "first completed 2/0/0, second completed 2/0/0")
		s.wantStatus(b.ID, "completed")
		if got := auditText(s.listAudit(b.ID)); strings.Count(got, "skip_step") != 1 {
			t.Errorf("the trail: %s", got)
		}
	})
}

func TestStepMarkedDoneGivesTheOutputsThatItsFunctionWould(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": fails(errLost)}
		b := s.startBatch(chained, people(1))
		step := s.step(b.ID, 1, "new").ID
		s.wantRefused(errorOf(s.app.MarkStepDone(s.ctx, ada, b.ID, step, nil, "")), api.CodeConflict, "give the result that its function would return")
		s.wantRefused(errorOf(s.app.MarkStepDone(s.ctx, ada, b.ID, step, json.RawMessage(`{"complete":false}`), "")), api.CodeConflict, "complete\": false")
		s.wantRefused(errorOf(s.app.MarkStepDone(s.ctx, ada, b.ID, step, json.RawMessage(`{`), "")), api.CodeInvalid, "the result is not JSON")
		s.wantSteps(b.ID, 1, "new queued")
		s.markDone(b.ID, step, `{"id":"by hand"}`)
		s.wantPhases(b.ID, "create completed 1/0/0, fill pending 0/0/0, verify pending 0/0/0")
		s.advance(b.ID)
		if v := s.step(b.ID, 1, "copy"); string(v.Params) != `{"User":"by hand"}` {
			t.Errorf("%s", v.Params)
		}
		if got := auditText(s.listAudit(b.ID)); strings.Count(got, "mark_done") != 1 || !strings.Contains(got, "done by hand") {
			t.Errorf("the trail: %s", got)
		}
	})
}

func TestStepMarkedDoneWhilePollingWaitingForARetryOrFailed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer  worker
		retries string
	}{
		"polling":             {always(unfinished), "0"},
		"waiting for a retry": {fails(errNo), "1"},
		"failed":              {fails(errNo), "0"},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				s.script = script{"Copy": tt.answer}
				b := s.startBatch(strings.NewReplacer("max_retries: 3, interval: 1s", "max_retries: "+tt.retries+", interval: 30s", ", on_failure: undo", "").Replace(polling), people(1))
				s.markDone(b.ID, s.step(b.ID, 1, "copy").ID, `{"complete":true,"data":{"size":9}}`)
				s.wantCalls(1, "Copy Tell")
				if v := s.step(b.ID, 1, "tell"); string(v.Params) != `{"Size":9}` {
					t.Errorf("%s", v.Params)
				}
				s.pass(time.Minute) // the poll, or the retry, that was on its way
				want := "Copy Tell"
				if name == "polling" { // its job was sent before
					want += " Copy"
				}
				s.wantCalls(1, want)
				s.wantSteps(b.ID, 1, "copy succeeded, tell succeeded")
				s.wantStatus(b.ID, "completed")
			})
		})
	}
}

func TestStepMarkedDoneAheadIsNotCarriedOutAndItsOutputsAreThere(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"A": fails(errLost)}
		s.publish(`
name: ahead
data_source: {type: csv, primary_key: Upn}
phases:
  - name: only
    offset: T-0
    steps:
      - {name: a, worker_id: worker-01, function: A}
      - {name: b, worker_id: worker-01, function: B, output_params: {Id: id}}
      - {name: c, worker_id: worker-01, function: C, params: {Id: "{{Id}}"}}
`)
		b := s.batch("ahead", people(1))
		s.advance(b.ID)
		s.markDone(b.ID, s.step(b.ID, 1, "b").ID, `{"id":5}`)
		s.answers(1, "A", "true", nil)
		s.wantCalls(1, "A C")
		if v := s.step(b.ID, 1, "c"); string(v.Params) != `{"Id":5}` {
			t.Errorf("%s", v.Params)
		}
		s.wantStatus(b.ID, "completed")
	})
}

func TestInitStepIsSkippedForTheBatch(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Prepare": fails(errLost)}
		b := s.startBatch(mover, people(1))
		step := s.step(b.ID, 0, "prepare").ID
		s.skip(b.ID, step)
		s.wantStatus(b.ID, "active")
		if got := auditText(s.listAudit(b.ID)); !strings.Contains(got, fmt.Sprintf("ada skip_step step %d (prepare of the batch in init): not needed", step)) {
			t.Errorf("the trail: %s", got)
		}
	})
}

func TestStepsThatCannotBeResolvedByHand(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": only(fails(errNo), 2)}
		b := s.startBatch(twoSteps, people(2))
		for _, tt := range []struct {
			step int64
			code api.Code
			says string
		}{
			{s.step(b.ID, 1, "new").ID, api.CodeConflict, `step "new" of member 1 is succeeded: only a step that has not ended`},
			{s.step(b.ID, 2, "join").ID, api.CodeConflict, `member 2 failed at step "new", not at step "join"`},
			{7, api.CodeNotFound, "has no step 7"},
			{s.step(b.ID, 1, "new").ID + 5, api.CodeNotFound, "has no step"},
		} {
			s.wantRefused(errorOf(s.app.SkipStep(s.ctx, ada, b.ID, tt.step, "")), tt.code, tt.says)
			s.wantRefused(errorOf(s.app.MarkStepDone(s.ctx, ada, b.ID, tt.step, nil, "")), tt.code, tt.says)
		}
		s.wantRefused(errorOf(s.app.SkipStep(s.ctx, ada, 9, s.step(b.ID, 1, "new").ID, "")), api.CodeNotFound, "there is no batch 9")
		if got := auditText(s.listAudit(b.ID)); strings.Contains(got, "step") {
			t.Errorf("what was refused is in the trail: %s", got)
		}
		s.wantPhases(b.ID, "first completed 1/1/0, second pending 0/0/0")
	})
}

func TestStepResolvedByHandInAPausedBatchGoesOnAtTheResumption(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": fails(errLost)}
		b := s.startBatch(twoSteps, people(1))
		s.pause(b.ID)
		s.skip(b.ID, s.step(b.ID, 1, "new").ID)
		s.wantCalls(1, "New")
		s.resume(b.ID)
		s.wantCalls(1, "New Join")
	})
}

// No message repeats the follow-up of an administrator's decision: a check message is
// sent ahead, so that the follow-up does not wait for a tick.
func TestStepResolvedByHandLeadsOnWhereverThatWasCutShort(t *testing.T) {
	t.Parallel()
	skip := func(name string, member int) func(s *stage, id int) func(context.Context, *app.App) error {
		return func(s *stage, id int) func(context.Context, *app.App) error {
			step := s.step(id, member, name).ID
			return func(ctx context.Context, a *app.App) error {
				return errorOf(a.SkipStep(ctx, ada, id, step, ""))
			}
		}
	}
	done := func(s *stage, id int) func(context.Context, *app.App) error {
		step := s.step(id, 1, "new").ID
		return func(ctx context.Context, a *app.App) error {
			return errorOf(a.MarkStepDone(ctx, ada, id, step, nil, ""))
		}
	}
	for name, tt := range map[string]struct {
		yaml, runbook string
		script        script
		resolve       func(s *stage, id int) func(context.Context, *app.App) error
		steps, phases string // of member 1, and of the batch
	}{
		"skipped under way": {
			twoSteps, "two",
			script{"New": only(fails(errLost), 1)},
			skip("new", 1),
			"new skipped, join succeeded", "first completed 2/0/0, second pending 0/0/0",
		},
		"skipped as the last": {
			oneStep(""), "one",
			script{"Do": only(fails(errLost), 1)},
			skip("do", 1),
			"do skipped", "only completed 2/0/0",
		},
		"skipped in init": {
			mover, "move",
			script{"Prepare": fails(errLost)},
			skip("prepare", 0),
			"", "init completed 1/0/0, create pending 0/0/0, verify pending 0/0/0",
		},
		"marked done with a retry": {
			twoSteps, "two",
			script{"New": only(fails(errNo), 1)},
			done,
			"new succeeded, join succeeded", "first completed 2/0/0, second pending 0/0/0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
				s.script = tt.script
				s.publish(tt.yaml)
				b := s.batch(tt.runbook, people(2))
				s.advance(b.ID)
				resolve := tt.resolve(s, b.ID)
				cut := s.kill(write, resolve)
				if m := s.member(b.ID, 1); m.Status == "failed" { // it only claimed the member
					noError(t, resolve(s.ctx, s.app))
				}
				s.deliverAll()
				s.pass(time.Minute)
				s.wantSteps(b.ID, 1, tt.steps)
				s.wantPhases(b.ID, tt.phases)
				return cut
			})
		})
	}
}

// The phase that is being fanned out comes to the member later, as to the others.
func TestMemberIsBroughtBackBeforeThePhaseComesToTheirPage(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": some(map[int]worker{2: inTurn(fails(errNo), always("true"))})}
		b := s.pages(twoSteps, 2)
		s.advance(b.ID)
		s.park = ofType(message.TypePhaseDue, `"Page":2`)
		s.advance(b.ID)
		s.pause(b.ID)
		s.unpark()
		s.retry(b.ID, api.Selection{Members: []int{2}})
		s.wantMember(b.ID, 2, "active")
		s.resume(b.ID)
		s.wantCalls(2, "New New Join Check")
		s.wantPhases(b.ID, "first completed 2/0/0, second completed 2/0/0")
		s.wantStatus(b.ID, "completed")
	})
}

// The rollback still runs at the worker when the member's retry is requested.
func TestRetryBeginsWhenTheRollbackThatWasSkippedHasEnded(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": inTurn(fails(errNo), always(`{"id":"u"}`)), "Stop": fails(errLost)}
		b := s.startBatch(strings.ReplaceAll(undoable, "function: Stop,", "function: Stop, timeout: 10m,"), people(1))
		s.wantCalls(1, "New Stop")
		s.skip(b.ID, s.step(b.ID, 1, "stop").ID)
		s.wantCalls(1, "New Stop Delete Alert")
		s.retry(b.ID, api.Selection{})
		s.wantMember(b.ID, 1, "active")
		s.pass(10*time.Minute + runstate.JobGracePeriod - 3*time.Second)
		s.wantCalls(1, "New Stop Delete Alert")
		s.pass(time.Second)
		if got := s.calls(1); !strings.HasPrefix(got, "New Stop Delete Alert New") {
			t.Errorf("called %s", got)
		}
		s.finish(b.ID)
	})
}

// The removal of a person has ended, and a job of it that was skipped has not.
func TestPersonIsAddedAgainWhenTheRemovalStepThatWasSkippedHasEnded(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Forward": fails(errLost)}
		b := s.startBatch(leaving(twoSteps), people(2))
		s.remove(b.ID, 1)
		s.wantCalls(1, "New Join Forward")
		s.skip(b.ID, s.step(b.ID, 1, "forward").ID)
		s.wantCalls(1, "New Join Forward Close")
		again := people(1)
		s.wantRefused(errorOf(s.app.AddMembers(s.ctx, ada, b.ID, []byte(again))), api.CodeConflict, "still being removed")
		s.wantRefused(errorOf(s.app.CreateBatch(s.ctx, ada, "two", []byte(again))), api.CodeConflict, "still being removed")
		s.pass(30*time.Minute + runstate.JobGracePeriod + time.Second)
		noError(t, func() error { return errorOf(s.app.AddMembers(s.ctx, ada, b.ID, []byte(again))) }())
		s.deliverAll()
	})
}
