package app_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store"
)

const lateRunbook = `name: late
data_source: {type: csv, primary_key: Upn}
phases:
  - name: create
    offset: T-1d
    steps:
      - {name: new, worker_id: worker-01, function: New-Account, params: {User: "{{Upn}}", Pw: "{{FirstPassword}}", Notes: {List: [a, "{{FirstPassword}}"]}}}
  - name: verify
    offset: T-0
    steps:
      - {name: check, worker_id: worker-01, function: Check, params: {Upn: "{{Upn}}"}}
`

// lateCatalog is the catalogue of the worker of lateRunbook.
func lateCatalog(at time.Time, secret bool) message.Delivery {
	return announcement(message.Catalog{WorkerID: "worker-01", Timestamp: at, Functions: []message.CatalogFunction{
		{Name: "New-Account", Parameters: []message.CatalogParameter{{Name: "User"}, {Name: "Pw", Secret: secret}, {Name: "Notes"}}},
		{Name: "Check", Parameters: []message.CatalogParameter{{Name: "Upn"}}},
	}})
}

// A worker announces itself after the runbook that calls it was published, and after its first
// jobs were dispatched.
func TestAVersionTakesTheSecretsOfALateCatalog(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		withKey(s)
		s.script = script{"New-Account": fails(errors.New("no " + canary))}
		published := s.mustPublish(lateRunbook, api.PublishOptions{})
		if !slices.ContainsFunc(published.Warnings, func(d api.Diagnostic) bool {
			return d.Code == "unknown-worker" && strings.Contains(d.Message, "secret parameters")
		}) {
			t.Errorf("the warnings do not name the unknown secrets: %+v", published.Warnings)
		}
		file := strings.ReplaceAll(secretFile("ann"), "Upn,Password", "Upn,FirstPassword")
		first := s.batch("late", file)
		s.advance(first.ID)
		if got := string(s.step(first.ID, 1, "new").Params); !strings.Contains(got, "S3cret") {
			t.Fatalf("before the catalogue the parameters are %s", got)
		}

		s.announce(lateCatalog(dawn, true), lateCatalog(dawn, true))
		s.clock.ns.Add(int64(15 * time.Second)) // for the process that did not get the catalogue
		for _, process := range []string{"the process that got the catalogue", "the other process"} {
			if got := string(s.step(first.ID, 1, "new").Params); got != `{"Notes":{"List":["a","(secret)"]},"Pw":"(secret)","User":"ann"}` {
				t.Errorf("%s shows the parameters as %s", process, got)
			}
			if got := string(s.member(first.ID, 1).Data["FirstPassword"]); got != `"(secret)"` {
				t.Errorf("%s shows the column as %s", process, got)
			}
			s.app, s.other = s.other, s.app
		}
		version := must(store.Read[store.RunbookVersion](s.ctx, s.store, store.VersionKey("late", 1)))(t)
		head := must(store.Read[store.RunbookHead](s.ctx, s.store, store.RunbookKey("late")))(t)
		if !slices.Equal(version.Doc.Secrets, []string{"FirstPassword"}) || !head.Doc.Secrets {
			t.Errorf("stored are the secrets %v, and %v with the head", version.Doc.Secrets, head.Doc.Secrets)
		}

		// From now on nothing is stored or sent in the clear, also if the worker's next version
		// does not mark the parameter.
		s.announce(lateCatalog(dawn.Add(time.Second), false))
		s.script["New-Account"] = fails(errors.New("not again " + canary))
		second := s.batch("late", strings.ReplaceAll(file, "ann", "ben"))
		s.advance(second.ID)
		if got := s.paramsOf("New-Account"); got["Pw"] != canary {
			t.Errorf("the worker got %v", got)
		}
		for _, d := range s.documents() {
			for _, form := range forms(canary) {
				if d.PK == store.BatchPartition(second.ID) && strings.Contains(string(d.Doc), form) {
					t.Errorf("the document %s %s of %s has the secret: %s", d.Type, d.ID, d.PK, d.Doc)
				}
			}
		}
		if got := s.member(second.ID, 1).Error; !strings.Contains(got, "not again (secret)") {
			t.Errorf("the error is %s", got)
		}

		// A retry of the first batch replaces its parameters by references, and its end erases
		// the values stored in the clear.
		s.script["New-Account"] = always("true")
		s.retry(first.ID, api.Selection{})
		if got := s.paramsOf("New-Account"); got["Pw"] != canary {
			t.Errorf("retried, the worker got %v", got)
		}
		if stored := must(json.Marshal(s.member(first.ID, 1).Data))(t); string(stored) != `{"FirstPassword":"(secret, erased)","Upn":"ann"}` {
			t.Errorf("after its last use the data are %s", stored)
		}
	})
}

// The answer to a step that was dispatched in the clear is searched for its secret.
func TestALateCatalogHidesTheAnswerOfAJobUnderWay(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	withKey(s)
	b := s.createBatch(lateRunbook, strings.ReplaceAll(secretFile("ann", "ben"), "Upn,Password", "Upn,FirstPassword"))
	s.script = script{"New-Account": fails(errLost)}
	s.advance(b.ID)
	s.announce(lateCatalog(dawn, true))
	s.clock.ns.Add(int64(15 * time.Second)) // for the process that did not get the catalogue
	for member := range 2 {
		s.answers(member+1, "New-Account", "", errors.New("refused "+canary))
		if got := s.member(b.ID, member+1).Error; !strings.Contains(got, "refused (secret)") {
			t.Errorf("the error is %s", got)
		}
	}
	s.advance(b.ID)
	s.wantStatus(b.ID, "failed")
	s.tickAfter(7*24*time.Hour + time.Minute)
	if got := string(s.member(b.ID, 1).Data["FirstPassword"]); got != `"(secret, erased)"` {
		t.Errorf("a week after the end the column is %s", got)
	}
}

// A worker can repeat a secret output in another field.
func TestASecretOutputIsRemovedFromTheRestOfTheAnswer(t *testing.T) {
	const yaml = `name: token
data_source: {type: csv, primary_key: Upn}
secret: [Tok, Set]
phases:
  - name: create
    offset: T-1d
    steps:
      - {name: new, worker_id: worker-01, function: New, params: {Upn: "{{Upn}}"}, output_params: {Tok: Token, Quote: Quote, Set: Set}}
  - name: verify
    offset: T-0
    steps:
      - {name: check, worker_id: worker-01, function: Check, params: {Tok: "{{Tok}}", Set: "{{Set}}", Quote: "{{Quote}}"}}
`
	const answer = `{"Token":"SECRETNEW-123","Set":{"Kind":"app","Key":"SECRETSET-456"},"Quote":"the token is SECRETNEW-123","Other":["SECRETSET-456",{"SECRETNEW-123":1}],"Kind":"an app","Token2":"SECRETNEW-123"}`
	const shown = `{"Kind":"an app","Other":["(secret)",{"(secret)":1}],"Quote":"the token is (secret)","Set":"(secret)","Token":"(secret)","Token2":"(secret)"}`
	play(t, func(t *testing.T, s *stage) {
		withKey(s)
		s.script = script{"New": always(answer)}
		b := s.startBatch(yaml, "Upn\nann\n")
		if got := string(s.step(b.ID, 1, "new").Result); got != shown {
			t.Errorf("the result is shown as %s", got)
		}
		if got := string(s.member(b.ID, 1).WorkerData["Quote"]); got != `"the token is (secret)"` {
			t.Errorf("the output is shown as %s", got)
		}

		s.script["New"] = fails(errNo)
		other := s.batch("token", "Upn\nben\n")
		s.advance(other.ID)
		must(s.app.MarkStepDone(s.ctx, ada, other.ID, s.step(other.ID, 1, "new").ID, json.RawMessage(answer), "by hand"))(t)
		s.deliverAll()
		if got := string(s.step(other.ID, 1, "new").Result); got != shown {
			t.Errorf("marked done, the result is shown as %s", got)
		}
		for _, d := range s.documents() {
			if strings.Contains(string(d.Doc), "SECRET") {
				t.Errorf("the document %s %s of %s has the secret: %s", d.Type, d.ID, d.PK, d.Doc)
			}
		}
	})
}

// An answer can have a secret output and an error.
func TestASecretOutputIsRemovedFromTheErrorOfItsAnswer(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	withKey(s)
	b := s.createBatch(strings.ReplaceAll(secretRunbook, "poll: {interval: 1m, timeout: 1h}", ""), secretFile("ann"))
	s.script = script{"New": fails(errLost)}
	s.advance(b.ID)
	step := s.step(b.ID, 1, "new")
	body, err := json.Marshal(message.Result{
		JobID: step.JobID, Status: message.StatusFailure, Timestamp: s.clock.Now(), Result: json.RawMessage(`{"token":"SECRETNEW-123"}`),
		Error:           &message.JobError{Message: "the token SECRETNEW-123 was made, and no user", Type: "Test", Attempts: 1},
		CorrelationData: message.Correlation{BatchID: b.ID, StepExecutionID: step.ID, RunbookName: "moves", RunbookVersion: 1},
	})
	noError(t, err)
	noError(t, s.app.HandleResult(s.ctx, message.Delivery{ID: "r", Type: message.TypeWorkerResult, Body: body, DeliveryCount: 1}))
	if got := s.step(b.ID, 1, "new").Error; got != "the token (secret) was made, and no user (Test)" {
		t.Errorf("the error is %s", got)
	}
}
