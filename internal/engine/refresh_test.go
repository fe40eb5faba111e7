package engine_test

import (
	"encoding/json"
	"testing"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/model"
)

const refreshable = `
name: move
data_source: {type: csv, primary_key: Upn}
secret: [Pin]
phases:
  - name: move
    offset: T-0
    steps:
      - {name: first, worker_id: w1, function: First, params: {Name: "{{Name}}"}, output_params: {Place: place}}
      - {name: second, worker_id: w1, function: "Second-{{Kind}}", params: {Name: "{{Name}}", Place: "{{Place}}"}, on_failure: undo}
      - {name: third, worker_id: w1, function: Third, params: {Pin: "{{Pin}}", Site: "{{Site}}"}}
rollbacks:
  undo:
    - {name: back, worker_id: w1, function: Back, params: {Reason: "{{Reason}}"}}
`

const refreshableRow = `{"Name":"ann","Kind":"User","Pin":{"$sealed":"k1:abc"},"Reason":"old","Place":"column","Unused":"x"}`

// refresh gives the member other values, as a data source does.
func (p *person) refresh(data string) model.Decision {
	p.t.Helper()
	r := model.RefreshedMember{Member: p.member.ID, Hash: "new"}
	if err := json.Unmarshal([]byte(data), &r.Data); err != nil {
		p.t.Fatal(err)
	}
	d, err := engine.Decide(model.MemoryState{Runs: []*model.Run{&p.run}, Members: []*model.Member{&p.member}, Runbook: p.rb}, model.MembersRefreshed{Members: []model.RefreshedMember{r}}, p.at)
	if err != nil {
		p.t.Fatal(err)
	}
	if len(d.Runs) > 0 {
		p.run = *d.Runs[0]
	}
	if len(d.Members) > 0 {
		p.member = *d.Members[0]
	}
	return d
}

// wantParams checks the parameters of the step in hand.
func (p *person) wantParams(want string) {
	p.t.Helper()
	if got := string(p.step().Params); got != want {
		p.t.Fatalf("the parameters are %s, want %s", got, want)
	}
}

// TestRunCapturesItsVariables checks that a run takes what its templates and those of its rollbacks
// use from its member when it starts, no more, and nothing from the member after that.
func TestRunCapturesItsVariables(t *testing.T) {
	t.Parallel()
	p := enterOf(t, read(t, refreshable), 1, refreshableRow)
	if p.run.Variables != nil {
		t.Fatalf("a run that waits has %s", text(t, p.run.Variables))
	}
	p.on(model.RunStarted{})
	if got, want := text(t, p.run.Variables), `{"Kind":"User","Name":"ann","Pin":{"$sealed":"k1:abc"},"Place":"column","Reason":"old"}`; got != want {
		t.Fatalf("the run has %s, want %s", got, want)
	}
	stored := p.member
	p.member.Data = nil
	p.answer(`{"place":"output"}`)
	p.wantParams(`{"Name":"ann","Place":"output"}`)
	p.member = stored
	p.refuse("no")
	p.wantParams(`{"Reason":"old"}`)
	p.answer("true")
	if p.run.Status != model.RunFailed || p.run.Variables != nil || p.run.Secrets != nil {
		t.Fatalf("a run that is %s has %s", p.run.Status, text(t, p.run.Variables))
	}
}

// TestRefreshReachesTheOpenRun checks that the steps of a run that are dispatched after a refresh use
// the new values, those of columns that the member did not have included.
func TestRefreshReachesTheOpenRun(t *testing.T) {
	t.Parallel()
	p := enterOf(t, read(t, refreshable), 1, refreshableRow)
	p.on(model.RunStarted{})
	if d := p.refresh(`{"Name":"anna","Site":"north","Pin":{"$sealed":"k2:def"}}`); len(d.Runs) != 1 || len(d.Members) != 1 {
		t.Fatalf("%+v", d)
	}
	p.wantParams(`{"Name":"ann"}`)
	p.answer(`{"place":"output"}`)
	p.wantParams(`{"Name":"anna","Place":"output"}`)
	p.answer("true")
	p.wantParams(`{"Pin":{"$secret":"Pin"},"Site":"north"}`)
	if got := string(p.run.Secrets["Pin"]); got != `{"$sealed":"k2:def"}` {
		t.Fatalf("the job has the secret %s", got)
	}
	if d := p.refresh(`{"Name":"anna"}`); len(d.Runs) != 0 || !d.Repeated {
		t.Fatalf("nothing is new: %+v", d)
	}
	p.answer("true")
	if p.run.Status != model.RunSucceeded || p.run.Variables != nil || p.run.Secrets != nil {
		t.Fatalf("a run that is %s has %s", p.run.Status, text(t, p.run.Variables))
	}
	if d := p.refresh(`{"Name":"annika"}`); len(d.Runs) != 0 || len(d.Members) != 1 {
		t.Fatalf("a run that has ended is changed: %+v", d)
	}
}

// TestRefreshWritesTheWaitingRun: the start of the run may have loaded the member before the refresh.
func TestRefreshWritesTheWaitingRun(t *testing.T) {
	t.Parallel()
	p := enterOf(t, read(t, refreshable), 1, refreshableRow)
	if d := p.refresh(`{"Name":"anna"}`); len(d.Runs) != 1 || d.Runs[0].Variables != nil {
		t.Fatalf("%+v", d)
	}
}

// TestRefreshKeepsErasedSecrets checks that a run does not get back a secret that was erased.
func TestRefreshKeepsErasedSecrets(t *testing.T) {
	t.Parallel()
	p := enterOf(t, read(t, refreshable), 1, `{"Name":"ann","Kind":"User","Pin":{"$sealed":"erased"}}`)
	p.on(model.RunStarted{})
	p.refresh(`{"Name":"anna","Pin":{"$sealed":"k2:def"}}`)
	if sealed, ok := model.Sealed(p.run.Variables["Pin"]); !ok || sealed != "" {
		t.Fatalf("the run has the secret %s", p.run.Variables["Pin"])
	}
}

// TestRetriedRunCapturesItsVariablesAnew checks that a run that is started again uses the values of
// that time.
func TestRetriedRunCapturesItsVariablesAnew(t *testing.T) {
	t.Parallel()
	p := enterOf(t, read(t, refreshable), 1, refreshableRow)
	p.on(model.RunStarted{})
	p.refuse("no")
	if p.run.Status != model.RunFailed || p.run.Variables != nil {
		t.Fatalf("a run that is %s has %s", p.run.Status, text(t, p.run.Variables))
	}
	p.refresh(`{"Name":"anna"}`)
	p.run.Status, p.run.LastEvent, p.run.Current, p.run.EndedAt = model.RunWaiting, "", 0, nil
	p.run.Steps = []model.Step{{Status: model.StepPending}, {Status: model.StepPending}, {Status: model.StepPending}}
	p.member.Status, p.member.OpenPhase = model.MemberActive, p.run.Phase
	p.on(model.RunStarted{})
	p.wantParams(`{"Name":"anna"}`)
}
