package app_test

import (
	"errors"
	"testing"
	"time"
)

const undoable = `
name: undoable
data_source: {type: csv, primary_key: Upn}
phases:
  - name: move
    offset: T-0
    steps:
      - {name: new, worker_id: worker-01, function: New, params: {Name: "{{Name}}"}, output_params: {UserId: id}, on_failure: undo}
      - {name: copy, worker_id: worker-01, function: Copy, params: {User: "{{UserId}}"}, on_failure: undo}
      - {name: tell, worker_id: worker-01, function: Tell}
  - name: verify
    offset: T-0
    steps: [{name: check, worker_id: worker-01, function: Check}]
rollbacks:
  undo:
    - {name: stop, worker_id: worker-01, function: Stop, params: {Name: "{{Name}}"}}
    - {name: delete, worker_id: worker-01, function: Delete, params: {Name: "{{Name}}"}}
    - {name: alert, worker_id: worker-01, function: Alert, params: {Name: "{{Name}}"}}
`

var errNo = errors.New("no")

func TestFailedStepIsRolledBackInOrderForThatMemberAndTracked(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": always(`{"id":"u"}`), "Copy": only(fails(errNo), 2)}
		b := s.startBatch(undoable, people(3))
		s.wantCalls(1, "New Copy Tell")
		s.wantCalls(2, "New Copy Stop Delete Alert")
		s.wantSteps(b.ID, 2, "new succeeded, copy failed, tell cancelled, stop succeeded, delete succeeded, alert succeeded")
		s.wantMember(b.ID, 2, "failed")
		if v := s.step(b.ID, 2, "delete"); v.Rollback != "undo" || string(v.Result) != "true" || v.CompletedAt == nil || v.JobID == "" {
			t.Errorf("the rollback's step is not tracked: %+v", v)
		}
		if m := s.member(b.ID, 2); m.Error != `phase move: step "copy": no (Test)` || m.FailedIn != "move" || m.FailedStep != "copy" {
			t.Errorf("the member failed in %q at %q for: %s", m.FailedIn, m.FailedStep, m.Error)
		}
		s.advance(b.ID)
		s.wantPhases(b.ID, "move completed 2/1/0, verify completed 2/0/0")
		s.wantStatus(b.ID, "completed")
	})
}

func TestMemberIsNotFailedBeforeTheRollbackHasEnded(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": fails(errNo), "Delete": fails(errLost)}
		b := s.startBatch(undoable, people(1))
		s.wantCalls(1, "New Stop Delete")
		s.wantMember(b.ID, 1, "active")
		s.wantPhases(b.ID, "move dispatched 0/0/0+1, verify pending 0/0/0")
		s.answers(1, "Delete", "true", nil)
		s.wantCalls(1, "New Stop Delete Alert")
		s.wantMember(b.ID, 1, "failed")
		s.advance(b.ID)
		s.wantStatus(b.ID, "failed")
	})
}

func TestRollbackGoesOnAfterAStepOfItThatFailedAndTheFailureIsReported(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": fails(errNo), "Stop": fails(errors.New("stuck"))}
		b := s.startBatch(undoable, people(1))
		s.wantCalls(1, "New Stop Delete Alert")
		s.wantSteps(b.ID, 1, "new failed, copy cancelled, tell cancelled, stop failed, delete succeeded, alert succeeded")
		if m := s.member(b.ID, 1); m.Error != `phase move: step "new": no (Test); its rollback "undo" failed too: step "stop": stuck (Test)` {
			t.Errorf("told: %s", m.Error)
		}
	})
}

func TestStepThatWasNeverDispatchedIsNotRolledBack(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": always(`{"id":[1]}`)} // no text: "x-{{UserId}}" cannot be made of it
		s.publish(`
name: undoable
data_source: {type: csv, primary_key: Upn}
phases:
  - name: move
    offset: T-0
    steps:
      - {name: new, worker_id: worker-01, function: New, output_params: {UserId: id}}
      - {name: copy, worker_id: worker-01, function: Copy, params: {User: "x-{{UserId}}"}, on_failure: undo}
rollbacks:
  undo: [{name: delete, worker_id: worker-01, function: Delete}]
`)
		b := s.batch("undoable", people(1))
		s.advance(b.ID)
		s.wantCalls(1, "New")
		s.wantSteps(b.ID, 1, "new succeeded, copy failed")
		s.wantStatus(b.ID, "failed")
	})
}

func TestRollbackComesAfterTheRetries(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": fails(errNo)}
		s.startBatch("retry: {max_retries: 1, interval: 1m}\n"+undoable, people(1))
		s.wantCalls(1, "New")
		s.pass(time.Minute)
		s.wantCalls(1, "New New Stop Delete Alert")
	})
}

func TestFailedInitIsRolledBackForTheBatchWhichFails(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Group": fails(errNo), "Drop": fails(errLost)}
		s.publish(`
name: prepared
data_source: {type: csv, primary_key: Upn}
init:
  - {name: group, worker_id: worker-01, function: Group, params: {Batch: "{{_batch_id}}"}, on_failure: undo}
  - {name: second, worker_id: worker-01, function: Second}
phases: [{name: move, offset: T-0, steps: [{name: new, worker_id: worker-01, function: New}]}]
rollbacks:
  undo:
    - {name: drop, worker_id: worker-01, function: Drop, params: {Batch: "{{_batch_id}}"}}
    - {name: alert, worker_id: worker-01, function: Alert}
`)
		b := s.batch("prepared", people(2))
		s.advance(b.ID)
		s.wantCalls(0, "Group Drop")
		s.wantStatus(b.ID, "init_dispatched")
		s.answers(0, "Drop", "true", nil)
		s.wantCalls(0, "Group Drop Alert")
		s.wantSteps(b.ID, 0, "group failed, second cancelled, drop succeeded, alert succeeded")
		s.wantStatus(b.ID, "failed")
		s.wantCalls(1, "")
		if v := s.batchOf(b.ID); v.Error != `init failed: step "group": no (Test)` {
			t.Errorf("told: %s", v.Error)
		}
	})
}
