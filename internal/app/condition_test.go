package app_test

import (
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
)

const whenRunbook = `
name: conditional
vars: {worker: worker-01, tenant: contoso.example, kind: Guest}
data_source: {type: csv, primary_key: Upn}
phases:
  - name: create
    offset: T-0
    steps:
      - {name: new, worker_id: "{{worker}}", function: New, params: {Upn: "{{Upn | lower}}", Tenant: "{{tenant}}"}, output_params: {UserId: id}}
      - {name: license, worker_id: "{{worker}}", function: License, when: Department == "Sales", on_failure: undo, output_params: {Sku: sku}}
  - name: mail
    offset: T+1d
    when: Kind != kind
    require_success: 100%
    steps:
      - {name: enable, worker_id: "{{worker}}", function: Enable, params: {User: "{{UserId}}", Sku: "{{Sku?}}"}}
rollbacks:
  undo: [{name: unlicense, worker_id: worker-01, function: Unlicense}]
`

func TestConditionsDecideForEachMember(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": always(`{"id":"u"}`), "License": always(`{"sku":"E5"}`), "Enable": always("true")}
		b := s.createBatch(whenRunbook, "Upn,Department,Kind\nAnn@x,Sales,User\nBob@x,IT,User\nCid@x,IT,Guest\n")
		s.advance(b.ID)
		s.deliverAll()
		s.advance(b.ID)
		s.deliverAll()
		s.wantCalls(1, "New License Enable")
		s.wantCalls(2, "New Enable")
		s.wantCalls(3, "New")
		s.wantSteps(b.ID, 1, "new succeeded, license succeeded, enable succeeded")
		s.wantSteps(b.ID, 2, "new succeeded, license skipped_by_condition, enable succeeded")
		s.wantSteps(b.ID, 3, "new succeeded, license skipped_by_condition, enable skipped_by_condition")
		s.wantPhases(b.ID, "create completed 3/0/0, mail completed 3/0/0")
		s.wantStatus(b.ID, "completed")
		if v := s.step(b.ID, 1, "new"); string(v.Params) != `{"Tenant":"contoso.example","Upn":"ann@x"}` || v.WorkerID != "worker-01" {
			t.Errorf("%s on %s", v.Params, v.WorkerID)
		}
		if v := s.step(b.ID, 1, "enable"); string(v.Params) != `{"Sku":"E5","User":"u"}` {
			t.Errorf("%s", v.Params)
		}
		if v := s.step(b.ID, 2, "license"); v.When != `Department == "Sales"` || v.Resolved != nil {
			t.Errorf("%+v", v)
		}
	})
}

// whenBatch is a runbook of whose init and on_complete steps some run under conditions.
const whenBatch = `
name: conditional-batch
data_source: {type: csv, primary_key: Upn}
init:
  - {name: first, worker_id: worker-01, function: Prepare, when: _batch_id == 1}
  - {name: later, worker_id: worker-01, function: Extend, when: _batch_id > 1}
phases:
  - name: move
    offset: T-0
    steps: [{name: new, worker_id: worker-01, function: New}]
    on_complete:
      - {name: report, worker_id: worker-01, function: Report, params: {Failed: "{{_phase_failed}}"}, when: _phase_failed > 0}
      - {name: close, worker_id: worker-01, function: Close, when: _phase_succeeded == _phase_members}
`

func TestConditionsOfInitAndOnCompleteStepsUseTheBatchAndThePhase(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fails        worker
		calls, steps string
	}{
		"all succeed": {always("true"), "Prepare Close", "first succeeded, later skipped_by_condition, report skipped_by_condition, close succeeded"},
		"one fails":   {only(fails(errNo), 2), "Prepare Report", "first succeeded, later skipped_by_condition, report succeeded, close skipped_by_condition"},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				s.script = script{"New": tt.fails}
				b := s.createBatch(whenBatch, people(2))
				for range 2 {
					s.advance(b.ID)
				}
				s.wantStatus(b.ID, "completed")
				s.wantCalls(0, tt.calls)
				s.wantSteps(b.ID, 0, tt.steps)
			})
		})
	}
}

// A manual batch has a start once it is advanced: its checks run before.
func TestConditionOnTheStartOfABatchWithoutOneSaysSo(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		yaml := strings.Replace(whenBatch, "init:", `checks:
  - {name: early, worker_id: worker-01, function: Look, when: _batch_start_time startsWith "2026"}
init:`, 1)
		b := s.createBatch(yaml, people(1))
		s.deliverAll()
		if v := s.step(b.ID, 1, "early"); v.Status != "failed" || !strings.HasSuffix(v.Error, "when: the batch has no start time, which _batch_start_time is") {
			t.Errorf("%+v", v)
		}
		s.wantCalls(1, "")
	})
}

func TestColumnOfAConditionIsRequired(t *testing.T) {
	s := newWorld(t)
	s.publish(whenRunbook)
	err := errorOf(s.app.CreateBatch(s.ctx, ada, "conditional", []byte("Upn,Department\nann@x,Sales\n")))
	if err == nil || !strings.Contains(describe(err), "column Kind is missing") {
		t.Errorf("%v", err)
	}
	if err := errorOf(s.app.PublishRunbook(s.ctx, ada, "", []byte(strings.Replace(whenRunbook, "Kind != kind", "Kind != 3", 1)), api.PublishOptions{})); err == nil || !strings.Contains(describe(err), "bad-condition") {
		t.Errorf("%v", err)
	}
}
