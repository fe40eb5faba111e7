package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/signature"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

// catalogOf is the message of a worker that started at a time, with functions that take
// and answer nothing.
func catalogOf(worker string, at time.Time, functions ...string) message.Delivery {
	c := message.Catalog{WorkerID: worker, Version: "1.0", Timestamp: at}
	for _, name := range functions {
		c.Functions = append(c.Functions, message.CatalogFunction{Name: name})
	}
	return announcement(c)
}

func announcement(c message.Catalog) message.Delivery {
	body, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	return message.Delivery{ID: message.CatalogID(c.WorkerID, body), Type: message.TypeWorkerCatalog, Body: body, DeliveryCount: 1}
}

func (w *world) announce(messages ...message.Delivery) {
	w.t.Helper()
	for _, m := range messages {
		noError(w.t, w.app.HandleResult(w.ctx, m))
	}
}

func (w *world) functionsOf(worker string) string {
	w.t.Helper()
	view := must(w.app.Worker(w.ctx, worker))(w.t)
	var names []string
	for _, f := range view.Functions {
		names = append(names, f.Name)
	}
	if len(names) != view.FunctionCount {
		w.t.Errorf("%d functions are counted, of %q", view.FunctionCount, names)
	}
	return strings.Join(names, " ")
}

func TestAWorkerIsKnownByWhatItAnnouncedLast(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	if _, err := s.app.Worker(s.ctx, "worker-01"); problem.CodeOf(err) != api.CodeNotFound {
		t.Fatalf("a worker that nobody heard of: %v", err)
	}
	first, second, other := catalogOf("worker-01", dawn, "A"), catalogOf("worker-01", dawn.Add(time.Second), "A", "B"), catalogOf("worker-02", dawn, "C")
	s.announce(first)
	seen, err := s.app.Worker(s.ctx, "worker-01")
	if err != nil || !seen.SeenAt.Equal(dawn) || !seen.StartedAt.Equal(dawn) || seen.Version != "1.0" {
		t.Errorf("%+v %v", seen, err)
	}
	s.pass(time.Hour)
	s.announce(first) // twice
	if again, err := s.app.Worker(s.ctx, "worker-01"); err != nil || encoded(again) != encoded(seen) {
		t.Errorf("%s, after it came again %s, %v", encoded(seen), encoded(again), err)
	}
	s.announce(second, other, second, first) // and late
	if got := s.functionsOf("worker-01"); got != "A B" {
		t.Errorf("worker-01 has %s", got)
	}
	s.announce(catalogOf("worker-01", dawn.Add(time.Minute), "A")) // back to the version before
	if got := s.functionsOf("worker-01"); got != "A" {
		t.Errorf("worker-01 has %s", got)
	}
	list := func(o api.ListOptions) (api.Page[api.Worker], error) { return s.app.Workers(s.ctx, o) }
	if got := pages(s, api.ListOptions{}, list, func(v api.Worker) string {
		return fmt.Sprintf("%s:%d:%d", v.ID, v.FunctionCount, len(v.Functions))
	}); got != "worker-01:1:0 worker-02:1:0" {
		t.Errorf("listed: %s", got)
	}
	if messages := s.listUnprocessable(api.ListOptions{}); len(messages) > 0 {
		t.Errorf("kept: %+v", messages)
	}
}

// Many replicas start at once, and the store loses races and answers late: the last one
// counts.
func TestReplicasAnnounceThemselvesAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, true, azure)
	defer s.cosmos.Inject(cosmos.Fault{Status: 449, RetryAfter: time.Millisecond, Count: 3, On: []cosmos.Operation{cosmos.Create, cosmos.Replace, cosmos.Batch}})()
	var all sync.WaitGroup
	for i := range 20 {
		for _, process := range []*app.App{s.app, s.other} {
			all.Go(func() {
				m := catalogOf("worker-01", dawn.Add(time.Duration(i)*time.Millisecond), fmt.Sprintf("F%d", i))
				if err := process.HandleResult(s.ctx, m); err != nil {
					t.Error(describe(err))
				}
			})
		}
	}
	all.Wait()
	if got := s.functionsOf("worker-01"); got != "F19" {
		t.Errorf("worker-01 has %s", got)
	}
}

func TestACatalogueThatMakesNoSenseIsKeptAndChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.announce(catalogOf("worker-01", epoch, "A"))
	many := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `{"Name":"F%d"},`, i)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	const head = `{"WorkerId":"worker-01","Timestamp":"2026-02-01T00:00:00Z","Functions":`
	for body, reason := range map[string]string{
		`{`: "the body is not the JSON",
		`{"Timestamp":"2026-02-01T00:00:00Z","Functions":[{"Name":"B"}]}`:                  `invalid worker id ""`,
		`{"WorkerId":"a/b","Timestamp":"2026-02-01T00:00:00Z","Functions":[{"Name":"B"}]}`: `invalid worker id "a/b"`,
		`{"WorkerId":"worker-01","Functions":[{"Name":"B"}]}`:                              "has no Timestamp",
		`{"WorkerId":"worker-01","Timestamp":"yesterday","Functions":[{"Name":"B"}]}`:      "the body is not the JSON",
		head + `[]}`:                          "has 0 functions",
		head + `[` + many(1001) + `]}`:        "has 1001 functions; 1 to 1000 are allowed",
		head + `[{"Name":" "}]}`:              "Functions[0].Name",
		head + `[{"Name":"B"},{"Name":"b"}]}`: `Functions[1].Name: duplicate name "b"`,
		head + `[{"Name":"B","Parameters":[{"Name":"P"},{"Name":"p"}]}]}`:                   `Functions[0].Parameters[1].Name: duplicate name "p"`,
		head + `[{"Name":"B","Result":[{"Name":""}]}]}`:                                     "Functions[0].Result[0].Name",
		head + `[{"Name":"B","Result":[` + many(201) + `]}]}`:                               "has 201 parameters or fields; at most 200 of each are allowed",
		head + `[{"Name":"B","Description":"` + strings.Repeat("x", message.Limit) + `"}]}`: "at most 245760 are allowed",
	} {
		before := len(w.listUnprocessable(api.ListOptions{}))
		m := message.Delivery{ID: "bad-" + fmt.Sprint(before), Type: "Worker-Catalog", Body: []byte(body), DeliveryCount: 1}
		w.announce(m, m)
		messages := w.listUnprocessable(api.ListOptions{})
		i := slices.IndexFunc(messages, func(v api.UnprocessableMessage) bool { return v.MessageID == m.ID })
		if len(messages) != before+1 || i < 0 || !strings.Contains(messages[i].Reason, reason) || messages[i].Topic != message.TopicWorkerResults {
			t.Errorf("%.80s: want %q, kept %+v", body, reason, messages)
		}
	}
	if got := w.functionsOf("worker-01"); got != "A" {
		t.Errorf("worker-01 has %s", got)
	}
}

// The message as the broker carries it, between results.
func TestAnAnnouncementComesOverTheBroker(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.createBatch(mover, people(2))
	m := catalogOf("worker-01", time.Now(), "A", "B")
	sent := bus.Message{ID: m.ID, Body: m.Body, Properties: map[string]any{message.PropertyMessageType: m.Type, message.PropertyWorkerID: "worker-01"}}
	noError(t, w.bus.Send(w.ctx, message.TopicWorkerResults, sent, sent))
	w.run(b.ID, 2, migrate)
	if got := w.functionsOf("worker-01"); got != "A B" {
		t.Errorf("worker-01 has %s", got)
	}
	if messages := w.listUnprocessable(api.ListOptions{}); len(messages) > 0 {
		t.Errorf("kept: %+v", messages)
	}
}

const callsOfWorkers = `name: calls
data_source: {type: csv, primary_key: Upn}
phases:
  - name: only
    offset: T-0
    steps:
      - {name: badge, worker_id: badges, function: New-Badge, params: {UserId: "7", Kind: gold, Tags: [a, 1], Urgent: maybe}, output_params: {Id: BadgeId, Nr: Number}}
      - {name: plain, worker_id: badges, function: New-User, params: {Upn: "{{Upn}}"}}
      - {name: good, worker_id: badges, function: new-badge, params: {userId: "{{Id}}", kind: BLUE, tags: '["a"]', urgent: "TRUE"}, output_params: {Other: badgeid}}
      - {name: empty, worker_id: badges, function: New-Badge, params: {UserId: ""}}
      - {name: poll, worker_id: badges, function: Test-Badge, poll: {interval: 1m, timeout: 5m}, output_params: {Any: thing}}
      - {name: mute, worker_id: badges, function: Tell, output_params: {What: answer}}
      - {name: strange, worker_id: badge, function: New-User}
      - {name: again, worker_id: badge, function: New-User, params: {Upn: "{{Upn}}"}}
`

func TestStepsAreCheckedAgainstTheWorkersThatTheyName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.app = app.New(app.Config{Store: w.store, Bus: w.bus, Log: slog.New(slog.DiscardHandler), Functions: []signature.Function{
		{Name: "New-User", Params: []signature.Parameter{{Name: "Upn", Required: true}}},
	}})
	dry := func() string {
		t.Helper()
		view := must(w.app.PublishRunbook(w.ctx, ada, "", []byte(callsOfWorkers), api.PublishOptions{DryRun: true}))(t)
		var b bytes.Buffer
		for _, d := range view.Warnings {
			fmt.Fprintf(&b, "%d:%d %s %s: %s\n", d.Line, d.Column, d.Severity, d.Code, d.Message)
		}
		return b.String()
	}
	if got := dry(); strings.Count(got, "unknown-worker") != 2 || strings.Count(got, "unless the worker has a custom function") != 5 || strings.Count(got, "missing-parameter") != 1 {
		t.Errorf("while no worker has announced itself:\n%s", got)
	}
	w.announce(catalogOf("elsewhere", epoch, "F"))
	if got := dry(); strings.Count(got, "unknown-worker") != 2 || strings.Count(got, "unless the worker has a custom function") != 5 {
		t.Errorf("while another has:\n%s", got)
	}
	w.announce(announcement(message.Catalog{WorkerID: "badges", Timestamp: epoch, Functions: []message.CatalogFunction{
		{
			Name: "New-Badge", Result: []message.CatalogField{{Name: "BadgeId"}},
			Parameters: []message.CatalogParameter{{Name: "UserId", Type: "guid", Required: true}, {Name: "Kind", Type: "blue|red"}, {Name: "Tags", Type: "string list"}, {Name: "Urgent", Type: "boolean"}, {Name: "Password", Type: "string", Secret: true}},
		},
		{Name: "Test-Badge", Result: []message.CatalogField{{Name: "complete"}, {Name: "data"}}, TimeoutSeconds: 30 * 60},
		{Name: "Tell", TimeoutSeconds: 30*60 + 1},
	}}))
	want := `7:72 warning parameter-type: the parameter UserId of New-Badge must be a GUID, not this text: each call will fail
7:85 warning parameter-type: the parameter Kind of New-Badge must be one of blue, red, not this text: each call will fail
7:97 warning parameter-type: the parameter Tags of New-Badge must be an array of strings, but item 2 is a number: each call will fail
7:111 warning parameter-type: the parameter Urgent of New-Badge must be true or false, not this text: each call will fail
7:156 warning unknown-result-field: the result of New-Badge has no field "Number"
8:42 warning unknown-function: calls "New-User", which the worker badges does not have: each call will fail
10:72 warning parameter-type: the parameter UserId of New-Badge is required and is empty: each call will fail
12:41 warning timeout-shorter-than-function: the step times out after 30m0s, but one call of Tell can take 30m1s: the worker stops a longer call half-way
12:73 warning unknown-result-field: Tell returns only true, without a field "answer"
13:25 warning unknown-worker: no worker "badge" has announced itself; until one does, its jobs time out, and the values of its secret parameters are visible until it announces them, unless secret lists their columns; did you mean "badges"?
13:43 warning missing-parameter: calls New-User without its parameter Upn: each call will fail
`
	if got := dry(); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
	_, err := w.app.PublishRunbook(w.ctx, ada, "", []byte(callsOfWorkers), api.PublishOptions{Strict: true})
	if problem.CodeOf(err) != api.CodeInvalid || len(problemsOf(err)) != 11 {
		t.Errorf("strict: %v", err)
	}
}

// The announcements of workers are read only when a runbook is published.
func TestNothingIsPublishedUncheckedWhileTheStoreIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, inMemory)
		w.announce(catalogOf("w", epoch, "New"))
		defer w.disturb(unavailable)()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := w.app.PublishRunbook(ctx, ada, "", []byte(mover), api.PublishOptions{}); problem.CodeOf(err) != api.CodeUnavailable {
			t.Errorf("got %v", err)
		}
	})
}

// TestLateAnswerSaysNothingOfAWorkerThatIsGone: a result that was held up, for example in a
// dead-letter queue, says that its worker ran then, and not that it runs now. An older answer
// does not replace a newer one.
func TestLateAnswerSaysNothingOfAWorkerThatIsGone(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.script = script{"Do": fails(errLost)}
	b := s.createBatch(oneStep(", timeout: 5h"), people(3))
	s.replica("r1").beat()
	s.advance(b.ID)
	answer := func(process *app.App, job int, at time.Time) {
		t.Helper()
		j := s.jobs[job]
		body := must(json.Marshal(message.Result{JobID: j.JobID, Status: message.StatusSuccess, Result: json.RawMessage("true"), Timestamp: at, CorrelationData: j.CorrelationData}))(t)
		noError(t, process.HandleResult(s.ctx, message.Delivery{ID: j.JobID, Body: body, DeliveryCount: 1}))
	}
	s.pass(3 * time.Hour)
	for i, at := range []time.Duration{2 * time.Hour, time.Hour} {
		answer([]*app.App{s.app, s.other}[i], i, dawn.Add(at))
		if v := s.worker("worker-01"); v.State == api.WorkerAlive || v.LastSeenAt == nil || !v.LastSeenAt.Equal(dawn.Add(2*time.Hour)) {
			t.Fatalf("after the answer of %s: %+v", at, v)
		}
	}
	answer(s.app, 2, dawn.Add(4*time.Hour)) // by a clock that is ahead
	if v := s.worker("worker-01"); v.State != api.WorkerAlive || !v.LastSeenAt.Equal(s.clock.Now()) {
		t.Fatalf("after an answer of now: %+v", v)
	}
	for _, step := range s.steps(b.ID, 1) {
		if !step.CompletedAt.Equal(s.clock.Now()) { // the next step was dispatched then
			t.Errorf("the step ended at %s", step.CompletedAt)
		}
	}
}
