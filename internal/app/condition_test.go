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
