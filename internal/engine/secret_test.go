package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

const secretSource = `
name: move
data_source: {type: csv, primary_key: Upn}
secret: [Password, Token]
phases:
  - name: create
    offset: T-1d
    steps:
      - {name: new, worker_id: w1, function: New, params: {Name: "{{Upn}}", Password: "{{Password}}", Note: "x{{Password}}y"}, output_params: {UserId: id, Token: token}}
      - {name: other, worker_id: w1, function: Other, params: {User: "{{UserId}}"}}
  - name: verify
    offset: T-0
    steps:
      - {name: check, worker_id: w1, function: Check, params: {Token: "{{Token}}"}}
`

const (
	ada        = `{"Upn":"ada","Password":{"$sealed":"v1.k.AAAA"}}`
	erasedJSON = `{"$sealed":"erased"}`
)

func (p *person) current() model.Step { return p.run.Steps[p.run.Current] }

// A run carries the encrypted values of the step in hand, and nothing else of its secrets
// that is not a reference.
func TestASecretIsReferredToAndErasedAfterItsLastUse(t *testing.T) {
	t.Parallel()
	p := enterOf(t, read(t, secretSource), 1, ada)
	p.on(model.RunStarted{})
	if got := string(p.current().Params); got != `{"Name":"ada","Note":{"$secret":["x",{"$secret":"Password"},"y"]},"Password":{"$secret":"Password"}}` {
		t.Errorf("the parameters are %s", got)
	}
	if len(p.run.Secrets) != 1 || string(p.run.Secrets["Password"]) != `{"$sealed":"v1.k.AAAA"}` {
		t.Errorf("the run carries %s", p.run.Secrets)
	}
	p.answer(`{"id":7,"token":{"$sealed":"v1.k.BBBB"}}`)
	if got := string(p.run.Steps[0].Result); got != `{"id":7,"token":{"$secret":"Token"}}` {
		t.Errorf("the result is %s", got)
	}
	if p.run.Secrets != nil {
		t.Errorf("a step without secrets is in hand, and the run carries %s", p.run.Secrets)
	}
	p.answer(`true`)
	if p.run.Status != model.RunSucceeded || p.run.Outputs["Token"] != nil || string(p.run.Outputs["UserId"]) != "7" {
		t.Errorf("the run is %s with the outputs %s", p.run.Status, p.run.Outputs)
	}
	if got := text(t, p.member.Data); got != `{"Password":`+erasedJSON+`,"Upn":"ada"}` {
		t.Errorf("after its last use the password is still there: %s", got)
	}
	if got := string(p.member.WorkerData["Token"]); got != `{"$sealed":"v1.k.BBBB"}` {
		t.Errorf("the token, which a later phase uses, is %s", got)
	}

	verify, err := runstate.New(&p.batch, p.batch.Phases[1], &p.member, p.rb, p.at)
	if err != nil {
		t.Fatal(err)
	}
	p.run, p.member.OpenPhase = verify, 2
	p.on(model.RunStarted{})
	p.answer(`true`)
	if got := string(p.member.WorkerData["Token"]); got != erasedJSON {
		t.Errorf("after its last use the token is %s", got)
	}
}

// While a step can be retried its secrets are kept, wherever the run ended.
func TestASecretIsKeptForARetry(t *testing.T) {
	t.Parallel()
	p := enterOf(t, read(t, secretSource), 1, ada)
	p.on(model.RunStarted{})
	p.answer(`{"id":7,"token":{"$sealed":"v1.k.BBBB"}}`)
	p.on(model.StepResult{Step: 1, JobID: p.jobID(), Error: "no"})
	if p.run.Status != model.RunFailed || p.run.Outputs["Token"] != nil {
		t.Fatalf("the run is %s with the outputs %s", p.run.Status, p.run.Outputs)
	}
	if all := text(t, p.member); !strings.Contains(all, "v1.k.AAAA") || !strings.Contains(all, "v1.k.BBBB") {
		t.Errorf("a member who may be retried lost a secret: %s", all)
	}
}

func TestARemovedMemberKeepsNoSecrets(t *testing.T) {
	t.Parallel()
	rb := read(t, secretSource)
	p := enterOf(t, rb, 1, ada)
	p.member.OpenPhase = 0
	d, err := engine.Decide(model.MemoryState{Batch: &p.batch, Members: []*model.Member{&p.member}, Runbook: rb}, model.MemberLeft{Member: 17, By: "eve"}, now)
	if err != nil || strings.Contains(text(t, d.Members[0]), "v1.k") {
		t.Errorf("nothing is under way for a removed member with secrets: %s, %v", text(t, d.Members[0]), err)
	}

	p = enterOf(t, rb, 1, ada)
	p.on(model.RunStarted{})
	p.member.Status = model.MemberRemoved
	p.on(model.RunCancelRequested{Reason: "the member was removed"})
	p.answer(`{"id":7,"token":{"$sealed":"v1.k.BBBB"}}`)
	if p.run.Status != model.RunCancelled || strings.Contains(text(t, p.member)+text(t, p.run), "v1.k") {
		t.Errorf("what was under way has ended, and %s, %s", text(t, p.member), text(t, p.run))
	}

	undo := read(t, secretSource+"on_member_removed:\n  - {name: undo, worker_id: w1, function: Undo, params: {Password: \"{{Password}}\"}}\n")
	p = enterOf(t, undo, 1, ada)
	p.member.OpenPhase = 0
	d, err = engine.Decide(model.MemoryState{Batch: &p.batch, Members: []*model.Member{&p.member}, Runbook: undo}, model.MemberLeft{Member: 17, By: "eve"}, now)
	if err != nil || !strings.Contains(text(t, d.Members[0]), "v1.k.AAAA") {
		t.Fatalf("the removal steps need the password: %s, %v", text(t, d.Members[0]), err)
	}
	p.batch, p.member = *d.Batch, *d.Members[0]
	removal := p.batch.Phases[p.member.Removal-1]
	if p.run, err = runstate.New(&p.batch, removal, &p.member, undo, now); err != nil {
		t.Fatal(err)
	}
	p.member.OpenPhase = removal.ID
	p.on(model.RunStarted{})
	p.answer("true")
	if p.run.Status != model.RunSucceeded || strings.Contains(text(t, p.member)+text(t, p.run), "v1.k") {
		t.Errorf("after the removal: %s, %s", text(t, p.member), text(t, p.run))
	}
}

func TestAStepSaysThatItsSecretWasErased(t *testing.T) {
	t.Parallel()
	p := enterOf(t, read(t, secretSource), 1, `{"Upn":"ada","Password":`+erasedJSON+`}`)
	p.on(model.RunStarted{})
	const want = `the secret "Password" was erased after its last use; supply it again with: matoolkit member set`
	if p.run.Status != model.RunFailed || !strings.Contains(p.run.Error, want) {
		t.Errorf("the run is %s: %s", p.run.Status, p.run.Error)
	}
}

func TestARetryThatNeedsAnErasedSecretIsRefused(t *testing.T) {
	t.Parallel()
	p := enterOf(t, read(t, secretSource), 1, ada)
	p.batch.Phases[0].Status, p.batch.Phases[0].DispatchedAt, p.batch.Phases[0].FannedOut = model.PhaseDispatched, &now, true
	p.on(model.RunStarted{})
	p.on(model.StepResult{Step: 0, JobID: p.jobID(), Error: "no"})
	state := model.MemoryState{
		Batch: &p.batch, Members: []*model.Member{&p.member}, Runs: []*model.Run{&p.run},
		Shards: []*model.Shard{{Phase: 1, Page: 1, Runs: 1, Failed: 1}}, Runbooks: map[int]*runbook.Runbook{3: p.rb},
	}
	if _, err := engine.Decide(state, model.MemberRetried{Member: 17, Task: "a"}, now); err != nil {
		t.Fatalf("with its secret: %v", err)
	}
	if !p.member.EraseSecrets(nil) || p.member.EraseSecrets(nil) {
		t.Error("the secrets were not erased once")
	}
	_, err := engine.Decide(state, model.MemberRetried{Member: 17, Task: "a"}, now)
	if err == nil || !strings.Contains(err.Error(), `member 17 cannot be retried: step "new" needs the secret "Password", which was erased`) {
		t.Errorf("without it: %v", err)
	}
	resolve := model.StepResolved{Step: 0, Skip: true}
	if _, err := engine.Decide(state, model.MemberRetried{Member: 17, Task: "a", Resolve: &resolve}, now); err != nil {
		t.Errorf("where the step is skipped: %v", err)
	}
}

func TestABatchKeepsSecretsForAWhile(t *testing.T) {
	t.Parallel()
	rb := read(t, secretSource)
	b := engine.NewBatch(42, rb, 3, 1, nil, "ada", now)
	if b.EraseSecretsAt() != nil {
		t.Error("a batch under way is to lose its secrets")
	}
	b.Status, b.CompletedAt = model.BatchCompleted, &now
	end := now.Add(model.SecretRetention)
	if at := b.EraseSecretsAt(); at == nil || !at.Equal(end) {
		t.Errorf("erased at %v, want %s", at, end)
	}
	d, err := engine.Decide(model.MemoryState{Batch: &b}, model.SecretsErased{}, end.Add(-time.Second))
	if err != nil || !d.Stale {
		t.Errorf("too early: %+v, %v", d, err)
	}
	if d, err = engine.Decide(model.MemoryState{Batch: &b}, model.SecretsErased{}, end); err != nil || d.Batch == nil || d.Batch.EraseSecretsAt() != nil {
		t.Fatalf("in time: %+v, %v", d, err)
	}
	again := *d.Batch // retried, and ended once more
	later := end.Add(time.Hour)
	again.CompletedAt = &later
	if at := again.EraseSecretsAt(); at == nil {
		t.Error("a batch that ended once more keeps what it got since")
	}
	b.Status = model.BatchCancelled
	if at := b.EraseSecretsAt(); at == nil || !at.Equal(now) {
		t.Errorf("a cancelled batch loses them at %v, want %s", at, now)
	}
}
