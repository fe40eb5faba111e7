package app_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/report"
	"github.com/matoolkit/matoolkit/internal/secret"
	"github.com/matoolkit/matoolkit/internal/signature"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

// canary is the secret that the tests look for; made is one that a function makes. The
// quote is written otherwise in JSON.
const (
	canary = `canary-"S3cret!`
	made   = `made-by-"function!`
)

// vaulted is a stage of a deployment with a key for secrets, and what its processes log.
type vaulted struct {
	*stage
	logged testenv.Buffer
}

var testKey = bytes.Repeat([]byte("k"), secret.KeySize)

func withKey(s *stage) *vaulted {
	v := &vaulted{stage: s}
	s.log = slog.New(slog.NewJSONHandler(&v.logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s.useKeys(secret.Fixed(testKey))
	return v
}

// useKeys gives both processes keys for secrets.
func (s *stage) useKeys(keys secret.Keys) {
	for _, process := range []**app.App{&s.app, &s.other} {
		*process = app.New(app.Config{Store: s.store, Bus: s.bus, Now: s.clock.Now, Log: s.log, Sources: s.sources(), Artifacts: s.artifacts, Secrets: secret.New(keys)})
	}
}

// forms returns the encodings of a text in stored, shown and logged data.
func forms(text string) []string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	twice, err := json.Marshal(string(quoted))
	if err != nil {
		panic(err)
	}
	return []string{text, strings.ToLower(text), string(quoted[1 : len(quoted)-1]), strings.ToLower(string(quoted[1 : len(quoted)-1])), strings.Trim(string(twice), `\"`), strings.ReplaceAll(text, `"`, `&#34;`), strings.ReplaceAll(text, `"`, `""`)}
}

// wantNowhere looks for secrets wherever they could show.
func (v *vaulted) wantNowhere(when string, ids ...int) {
	v.t.Helper()
	absent := func(where, text string) {
		v.t.Helper()
		for _, secret := range []string{canary, made} {
			for _, form := range forms(secret) {
				if i := strings.Index(text, form); i >= 0 {
					v.t.Errorf("%s: %s shows a secret: …%s…", when, where, text[max(0, i-120):min(len(text), i+60)])
				}
			}
		}
	}
	for _, d := range v.documents() {
		absent(fmt.Sprintf("the document %s %s of %s", d.Type, d.ID, d.PK), string(d.Doc))
		if d.Type != "unprocessed" {
			continue
		}
		var u store.Unprocessable
		noError(v.t, json.Unmarshal(d.Doc, &u))
		absent("the body of a kept message in the store", string(u.Body))
	}
	show := func(where string, view any, err error) {
		v.t.Helper()
		text, failed := json.Marshal(view)
		if err != nil || failed != nil {
			v.t.Fatalf("%s: %v %v", where, err, failed)
		}
		absent(where, string(text))
		if strings.Contains(string(text), "v1.fixed.") || strings.Contains(string(text), "$sealed") || strings.Contains(string(text), "$secret") {
			v.t.Errorf("%s: %s shows an encrypted value or a reference: %s", when, where, text)
		}
	}
	all := api.ListOptions{Limit: 1000}
	for _, id := range ids {
		batch, err := v.app.Batch(v.ctx, ada, id)
		show("batch", batch, err)
		members, err := v.app.Members(v.ctx, reader, id, all)
		show("members", members, err)
		steps, err := v.app.Steps(v.ctx, reader, id, all)
		show("steps", steps, err)
		phases, err := v.app.Phases(v.ctx, ada, id)
		show("phases", phases, err)
		records, err := v.app.BatchAudit(v.ctx, id, api.AuditFilter{}, all)
		show("batch audit", records, err)
		for _, format := range report.Formats {
			absent("the report as "+string(format), v.report(id, format))
		}
	}
	batches, err := v.app.Batches(v.ctx, all)
	show("batches", batches, err)
	records, err := v.app.Audit(v.ctx, api.AuditFilter{}, all)
	show("audit", records, err)
	for _, status := range []string{"open", "replayed", "discarded"} {
		for _, m := range v.listUnprocessable(api.ListOptions{Statuses: []string{status}}) {
			show("kept message", m, nil)
			view := v.message(m.ID)
			show("body of a kept message", view, nil)
			absent("body of a kept message", string(view.BodyBase64))
		}
	}
	absent("the log", v.logged.String())
}

const secretRunbook = `name: moves
data_source: {type: csv, primary_key: Upn}
secret: [Password, Token]
phases:
  - name: create
    offset: T-1d
    steps:
      - name: new
        worker_id: worker-01
        function: New
        params: {Upn: "{{Upn}}", Password: "{{Password}}", Note: "for {{Upn}}: {{Password}}."}
        output_params: {UserId: id, Token: token}
        poll: {interval: 1m, timeout: 1h}
      - {name: join, worker_id: worker-01, function: Join, params: {User: "{{UserId}}"}}
  - name: verify
    offset: T-0
    steps:
      - {name: check, worker_id: worker-01, function: Check, params: {Token: "{{Token}}", List: [a, "{{Token}}"]}, retry: {max_retries: 1, interval: 1m}}
`

func secretFile(keys ...string) string {
	file := "Upn,Password\n"
	for _, key := range keys {
		file += key + "," + `"` + strings.ReplaceAll(canary, `"`, `""`) + `"` + "\n"
	}
	return file
}

// paramsOf are the parameters of the last job of a function.
func (s *stage) paramsOf(function string) map[string]any {
	s.t.Helper()
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	for _, j := range slices.Backward(s.jobs) {
		if j.FunctionName == function {
			var params map[string]any
			noError(s.t, json.Unmarshal(j.Parameters, &params))
			return params
		}
	}
	s.t.Fatalf("no job of %s", function)
	return nil
}

func TestNobodyButTheWorkerReadsASecret(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		v := withKey(s)
		madeJSON, _ := json.Marshal(made)
		polled := fmt.Sprintf(`{"complete":false,"data":{"token":%s}}`, madeJSON)
		echo, _ := json.Marshal("I got " + canary)
		done := fmt.Sprintf(`{"complete":true,"data":{"id":7,"token":%s,"echo":%s}}`, madeJSON, echo)
		s.script = script{
			"New":   inTurn(always(polled), always(done)),
			"Check": inTurn(fails(errors.New("token "+made+" is wrong")), fails(errors.New(string(madeJSON)+" is wrong")), always("true")),
		}
		s.publish(secretRunbook)
		by := audit.Caller{Name: "ada", Key: "one"}
		b := must(s.app.CreateBatch(s.ctx, by, "moves", []byte(secretFile("ann"))))(t)
		if again := must(s.app.CreateBatch(s.ctx, by, "moves", []byte(secretFile("ann"))))(t); !again.Replayed || again.ID != b.ID {
			t.Errorf("the same request again: %+v", again)
		}
		s.wantRefused(errorOf(s.app.CreateBatch(s.ctx, by, "moves", []byte(strings.ReplaceAll(secretFile("ann"), "S3cret", "other")))), api.CodeKeyReused, "other content")
		v.wantNowhere("created", b.ID)

		s.advance(b.ID)
		if got := s.paramsOf("New"); got["Password"] != canary || got["Note"] != "for ann: "+canary+"." {
			t.Errorf("the worker got %v", got)
		}
		v.wantNowhere("polling", b.ID)
		if got := s.step(b.ID, 1, "new"); string(got.Params) != `{"Note":"(secret)","Password":"(secret)","Upn":"ann"}` {
			t.Errorf("the parameters are shown as %s", got.Params)
		}
		s.pass(time.Minute)
		s.wantPhases(b.ID, "create completed 1/0/0, verify pending 0/0/0")
		v.wantNowhere("created by the worker", b.ID)
		if got := s.step(b.ID, 1, "new"); string(got.Result) != `{"complete":true,"data":{"echo":"I got (secret)","id":7,"token":"(secret)"}}` {
			t.Errorf("the result is shown as %s", got.Result)
		}
		m := s.member(b.ID, 1)
		if string(m.Data["Password"]) != `"(secret, erased)"` || string(m.WorkerData["Token"]) != `"(secret)"` || string(m.WorkerData["UserId"]) != "7" {
			t.Errorf("the member is shown as %s %s", m.Data, m.WorkerData)
		}

		s.advance(b.ID)
		s.pass(time.Minute)
		v.wantNowhere("failed", b.ID)
		m = s.member(b.ID, 1)
		if m.Status != "failed" || m.Error != `phase verify: step "check": "(secret)" is wrong (Test)` {
			t.Errorf("%s: %s", m.Status, m.Error)
		}
		s.retry(b.ID, api.Selection{})
		if got := s.paramsOf("Check"); got["Token"] != made || fmt.Sprint(got["List"]) != fmt.Sprint([]any{"a", made}) {
			t.Errorf("the worker got %v", got)
		}
		s.wantStatus(b.ID, "completed")
		v.wantNowhere("completed", b.ID)
		for _, d := range s.documents() {
			if strings.Contains(string(d.Doc), "v1.fixed.") && d.Type != "request" {
				t.Errorf("after its last use a secret is still in %s %s: %s", d.Type, d.ID, d.Doc)
			}
		}
	})
}

// A member who failed can be retried for a week after the batch has ended, and no longer.
func TestSecretsAreErasedWhenNothingCanBeRetried(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		v := withKey(s)
		s.script = script{"New": fails(errNo)}
		b := s.startBatch(secretRunbook, secretFile("ann", "ben"))
		s.advance(b.ID)
		s.wantStatus(b.ID, "failed")
		encrypted := func() bool {
			return slices.ContainsFunc(s.documents(), func(d document) bool { return strings.Contains(string(d.Doc), "v1.fixed.") && d.Type == "member" })
		}
		s.tickAfter(model.SecretRetention - time.Hour)
		if !encrypted() {
			t.Fatal("the secrets of members who can be retried are gone")
		}
		s.retry(b.ID, api.Selection{Members: []int{1}})
		if got := s.paramsOf("New"); got["Password"] != canary {
			t.Errorf("retried, the worker got %v", got)
		}
		s.tickAfter(model.SecretRetention + time.Minute)
		if encrypted() {
			t.Error("a week later the secrets are still there")
		}
		v.wantNowhere("erased", b.ID)
		s.tickAfter(time.Hour)
		must(s.app.Repair(s.ctx, ada, b.ID, api.Repair{Selection: api.Selection{Members: []int{1}}, Reason: "once more"}))(t)
		s.deliverAll()
		s.wantMember(b.ID, 1, "failed")
		if got := s.logText(v); !strings.Contains(got, `needs the secret \"Password\", which was erased`) {
			t.Error("nobody is told that the secret is gone")
		}
		must(s.app.MarkStepDone(s.ctx, ada, b.ID, s.step(b.ID, 2, "new").ID, json.RawMessage(`{"id":1,"token":"`+`made-by-\"function!`+`"}`), "by hand"))(t)
		s.deliverAll()
		v.wantNowhere("marked done", b.ID)
	})
}

func (s *stage) logText(v *vaulted) string { return v.logged.String() }

func TestACancelledBatchKeepsNoSecrets(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		withKey(s)
		b := s.createBatch(secretRunbook, secretFile("ann", "ben"))
		s.cancel(b.ID)
		s.tick()
		s.tickAfter(time.Minute)
		s.wantStatus(b.ID, "cancelled")
		for _, d := range s.documents() {
			if strings.Contains(string(d.Doc), "v1.fixed.") {
				t.Errorf("%s %s: %s", d.Type, d.ID, d.Doc)
			}
		}
	})
}

const secretSource = `name: found
data_source:
  type: sql
  connection: PEOPLE
  query: SELECT Upn, Name, Start FROM people
  primary_key: Upn
  batch_time_column: Start
secret: [Name]
phases:
  - name: create
    offset: T-1d
    steps:
      - {name: new, worker_id: worker-01, function: New, params: {Password: "{{Name}}"}}
  - name: late
    offset: T-0
    steps:
      - {name: set, worker_id: worker-01, function: Set, params: {Upn: "{{Upn}}"}}
`

func TestSecretsOfADataSource(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		v := withKey(s)
		people := s.table()
		start := dawn.Add(48 * time.Hour)
		people.put(start, "ann")
		people.exec("UPDATE people SET Name = ?", canary)
		s.publish(secretSource)
		if view := must(s.app.PreviewQuery(s.ctx, ada, "found", 10))(t); string(view.Sample[0]["Name"]) != `"(secret)"` {
			t.Errorf("the preview shows %s", view.Sample)
		}
		s.automate("found")
		s.tick()
		v.wantNowhere("found", 1)
		hash := func() string {
			m := must(store.Read[model.Member](s.ctx, s.store, store.MemberKey(1, 1)))(t)
			return m.Doc.Hash
		}
		first := hash()
		s.tick()
		if hash() != first {
			t.Error("a row that is as it was is taken for another")
		}
		people.exec("UPDATE people SET Name = ?", made)
		s.tick()
		if hash() == first {
			t.Error("a change of the secret is not noticed")
		}
		v.wantNowhere("changed", 1)
		s.tickAfter(25 * time.Hour)
		if got := s.paramsOf("New"); got["Password"] != made {
			t.Errorf("the worker got %v", got)
		}
		if got := string(s.member(1, 1).Data["Name"]); got != `"(secret, erased)"` {
			t.Errorf("after its last use the secret is %s", got)
		}
		people.exec("UPDATE people SET Name = ?", canary)
		s.tick()
		if got := string(s.member(1, 1).Data["Name"]); got != `"(secret, erased)"` {
			t.Errorf("the data source brought an erased secret back: %s", got)
		}
		v.wantNowhere("erased", 1)
	})
}

func TestKeptMessagesShowNoSecrets(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	v := withKey(s)
	s.script = script{"New": always(`{"id":1,"token":"t"}`)}
	b := s.startBatch(secretRunbook, secretFile("ann"))
	quoted, _ := json.Marshal(made)
	correlation := message.Correlation{BatchID: b.ID, StepExecutionID: 9_00000_001_000, RunbookName: "moves", RunbookVersion: 1}
	known := must(json.Marshal(message.Result{JobID: "j", Status: message.StatusSuccess, Result: json.RawMessage(`{"token":` + string(quoted) + `}`), CorrelationData: correlation}))(t)
	for i, body := range []string{string(known), `{"Result":` + string(quoted), `["` + made, `{"Password":` + string(quoted) + `}`} {
		m := message.Delivery{ID: fmt.Sprintf("bad-%d", i), Type: message.TypeWorkerResult, Body: []byte(body), DeliveryCount: 1, EnqueuedAt: epoch}
		for range 2 {
			noError(t, s.app.HandleResult(s.ctx, m))
		}
	}
	messages := s.listUnprocessable(api.ListOptions{})
	if len(messages) != 4 {
		t.Fatalf("%d messages are kept", len(messages))
	}
	v.wantNowhere("kept", b.ID)
	must(s.app.Replay(s.ctx, ada, messages[0].ID, "again"))(t)
	s.deliverAll()
	if again := s.listUnprocessable(api.ListOptions{}); len(again) != 4 {
		t.Errorf("after a replay %d messages are kept: what came back is not known as the same", len(again))
	}
	v.wantNowhere("replayed", b.ID)
	for _, m := range s.listUnprocessable(api.ListOptions{}) {
		view := s.message(m.ID)
		if m.MessageID == "bad-0" && (!strings.Contains(string(view.Body), `"JobId":"j"`) || !strings.Contains(string(view.Body), `"Result":"(secret)"`)) {
			t.Errorf("a result is shown as %s", view.Body)
		}
	}
}

func TestAJobWhoseSecretIsLostFails(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	withKey(s)
	b := s.createBatch(secretRunbook, secretFile("ann"))
	lost := make([]byte, secret.KeySize)
	s.useKeys(secret.Fixed(lost))
	s.advance(b.ID)
	m := s.member(b.ID, 1)
	if m.Status != "failed" || !strings.Contains(m.Error, "the secret cannot be decrypted") || !strings.Contains(m.Error, "SecretLost") {
		t.Errorf("with another key the member is %s: %s", m.Status, m.Error)
	}
	if len(s.jobs) != 0 {
		t.Errorf("the worker got %v", s.jobs)
	}
}

func TestARunbookWithSecretsNeedsAKey(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.wantRefused(errorOf(s.tryPublish(secretRunbook, api.PublishOptions{})), api.CodeConflict, "no key to encrypt them with")
	s.app = app.New(app.Config{Store: s.store, Bus: s.bus, Now: s.clock.Now, Functions: []signature.Function{{Name: "New", Params: []signature.Parameter{{Name: "Password", Secret: true}}}}})
	plain := "name: plain\ndata_source: {type: csv, primary_key: Upn}\nphases:\n  - {name: a, offset: T-0, steps: [{name: new, worker_id: worker-01, function: new, params: {PASSWORD: \"%s\"}}]}\n"
	s.wantRefused(errorOf(s.tryPublish(fmt.Sprintf(plain, "x{{First}}{{Upn}}"), api.PublishOptions{})), api.CodeConflict, "has secrets (First)")
	view := s.mustPublish(fmt.Sprintf(plain, "Welcome1"), api.PublishOptions{})
	if !slices.ContainsFunc(view.Warnings, func(d api.Diagnostic) bool { return d.Code == "open-secret" }) {
		t.Errorf("a secret in the runbook: %+v", view.Warnings)
	}
	s.app = app.New(app.Config{
		Store: s.store, Bus: s.bus, Now: s.clock.Now, Secrets: secret.New(secret.Fixed(testKey)),
		Functions: []signature.Function{{Name: "New", Params: []signature.Parameter{{Name: "Password", Secret: true}}}},
	})
	if view := s.mustPublish(fmt.Sprintf(plain, "x{{First}}{{Upn}}"), api.PublishOptions{}); !slices.Equal(view.Secrets, []string{"First"}) {
		t.Errorf("the secrets are %v", view.Secrets)
	}
	b := s.batch("plain", "Upn,First\nann,"+"canary\n")
	if got := string(s.member(b.ID, 1).Data["First"]); got != `"(secret)"` {
		t.Errorf("a column of a secret parameter is shown as %s", got)
	}
	s.other = s.app
	s.advance(b.ID)
	if got := s.paramsOf("new"); got["PASSWORD"] != "xcanaryann" {
		t.Errorf("the worker got %v", got)
	}
}

// A worker blanks the secret parameters that a job names.
func TestAJobNamesItsSecrets(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		withKey(s)
		s.script = script{"New": fails(errLost)}
		s.publish(secretRunbook)
		b := must(s.app.CreateBatch(s.ctx, ada, "moves", []byte(secretFile("ann"))))(t)
		s.advance(b.ID)
		for _, j := range s.jobs {
			password := s.paramsOf("New")["Password"]
			if j.FunctionName == "New" && (len(j.Secrets) != 1 || j.Secrets[0] != password) {
				t.Errorf("the job names %q, the password is %q", j.Secrets, password)
			}
		}
	})
}
