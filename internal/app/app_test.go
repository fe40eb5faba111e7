package app_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/storetest"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

const mover = `
name: move
data_source: {type: csv, primary_key: Upn}
retry: {max_retries: 1, interval: 1s}
init:
  - {name: prepare, worker_id: worker-01, function: Prepare, params: {Batch: "{{_batch_id}}"}}
phases:
  - name: create
    offset: T-1d
    steps:
      - {name: new, worker_id: worker-01, function: New, params: {Name: "{{Name}}"}, output_params: {UserId: id}}
      - {name: join, worker_id: worker-01, function: Join, params: {User: "{{UserId}}"}}
  - name: verify
    offset: T-0
    steps:
      - {name: check, worker_id: worker-01, function: Check, params: {User: "{{UserId}}"}, poll: {interval: 1s, timeout: 1m}}
`

// migrate is a worker that creates, joins and checks; a check is complete at the
// first poll.
func migrate(j message.Job) (string, error) {
	switch j.FunctionName {
	case "New":
		return `{"id":` + strings.TrimSuffix(strings.TrimPrefix(string(j.Parameters), `{"Name":`), "}") + `}`, nil
	case "Check":
		return fmt.Sprintf(`{"complete":%t,"data":{}}`, strings.Contains(j.JobID, "poll")), nil
	}
	return "true", nil
}

func TestBatchOfTwoPagesGoesThroughInitAndAllPhases(t *testing.T) {
	t.Parallel()
	for _, deliveries := range []int{1, 2} {
		t.Run(fmt.Sprintf("each message delivered %d times", deliveries), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, azure)
			b := w.createBatch(mover, people(60))
			if b.ID != 1 || b.Status != "detected" || b.MemberCount != 60 {
				t.Fatalf("new batch: %+v", b)
			}
			w.run(b.ID, deliveries, migrate)
			if got := w.status(b.ID); got != "completed" {
				t.Fatalf("the batch is %s", got)
			}
			for _, p := range w.phases(b.ID) {
				want := 60
				if p.Kind == "init" {
					want = 1
				}
				if p.Status != "completed" || p.Succeeded != want || p.Members != want || p.Failed+p.Cancelled+p.Running+p.Waiting != 0 {
					t.Errorf("phase %+v", p)
				}
			}
			for key, m := range w.members(b.ID) {
				if m.Status != "done" || string(m.WorkerData["UserId"]) != string(m.Data["Name"]) || m.Phase != "" {
					t.Errorf("member %s: %+v", key, m)
				}
			}
			seen := map[string]int{}
			for _, j := range w.jobs {
				seen[j.ID()]++
			}
			if len(seen) != 1+60*4 { // prepare, and for each: new, join, check, poll
				t.Errorf("%d different jobs", len(seen))
			}
			for id, n := range seen {
				if n > deliveries {
					t.Errorf("job %s was taken %d times", id, n)
				}
			}
			page, err := w.app.Batches(w.ctx, api.ListOptions{Statuses: []string{"completed"}})
			if err != nil || len(page.Items) != 1 || page.Items[0].ID != b.ID {
				t.Errorf("list: %+v, %v", page, err)
			}
		})
	}
}

func TestFailedMemberStaysBehindAndTheOthersGoOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.createBatch(mover, people(5))
	w.run(b.ID, 1, func(j message.Job) (string, error) {
		if j.FunctionName == "Join" && strings.Contains(string(j.Parameters), "Person 3") {
			return "", errors.New("the group is full")
		}
		return migrate(j)
	})
	if got := w.status(b.ID); got != "completed" {
		t.Fatalf("the batch is %s", got)
	}
	failed := w.members(b.ID)["p003@x"]
	if failed.Status != "failed" || failed.Error != `phase create: step "join": the group is full (Test)` {
		t.Fatalf("member 3: %s, %s", failed.Status, failed.Error)
	}
	phases := w.phases(b.ID)
	if phases[1].Failed != 1 || phases[1].Succeeded != 4 || phases[2].Members != 4 {
		t.Fatalf("phases %+v", phases)
	}
	tries := 0
	for _, j := range w.jobs {
		if j.FunctionName == "Join" && strings.Contains(string(j.Parameters), "Person 3") {
			tries++
		}
	}
	if tries != 2 {
		t.Fatalf("tried %d times with one retry", tries)
	}
	steps, err := w.app.Steps(w.ctx, reader, b.ID, api.ListOptions{Member: failed.ID})
	if err != nil || len(steps.Items) != 2 || steps.Items[1].Status != "failed" || steps.Items[1].RetryCount != 1 {
		t.Fatalf("steps of the failed member: %+v, %v", steps, err)
	}
}

func TestMembersWhoFailedDoNotWaitForLaterPhases(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.createBatch(strings.ReplaceAll(mover, "max_retries: 1", "max_retries: 0"), people(5))
	for _, phase := range []string{"init", "create"} {
		must(w.app.Advance(w.ctx, audit.Caller{}, b.ID, w.next(b.ID)))(t)
		w.pump(1, func(j message.Job) (string, error) {
			if j.FunctionName == "Join" && strings.Contains(string(j.Parameters), "Person 3") {
				return "", errors.New("no")
			}
			return migrate(j)
		}, func() bool { return w.ended(b.ID, phase) })
	}
	if verify := w.phases(b.ID)[2]; verify.Members != 4 || verify.Waiting != 4 {
		t.Fatalf("%+v", verify)
	}
}

func TestFailedInitFailsTheBatchAndNoMemberIsTouched(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.createBatch(mover, people(3))
	w.run(b.ID, 1, func(message.Job) (string, error) { return "", errors.New("no") })
	view, err := w.app.Batch(w.ctx, ada, b.ID)
	if err != nil || view.Status != "failed" || !strings.Contains(view.Error, "init failed") {
		t.Fatalf("%+v, %v", view, err)
	}
	if _, err := w.app.Advance(w.ctx, audit.Caller{}, b.ID, w.next(b.ID)); problem.CodeOf(err) != api.CodeConflict {
		t.Fatalf("a failed batch was advanced: %v", err)
	}
}

// A phase with no active member ended never in the system that this replaces.
func TestPhaseWithoutActiveMembersEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.createBatch(strings.ReplaceAll(mover, "max_retries: 1", "max_retries: 0"), people(2))
	w.run(b.ID, 1, func(j message.Job) (string, error) {
		if j.FunctionName == "New" {
			return "", errors.New("no")
		}
		return migrate(j)
	})
	phases := w.phases(b.ID)
	if phases[2].Status != "failed" || phases[2].Reason == "" || w.status(b.ID) != "failed" {
		t.Fatalf("phases %+v", phases)
	}
}

func TestStoreFaultsAreWaitedOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, azure)
	b := w.createBatch(mover, people(10))
	for _, f := range []cosmos.Fault{
		{On: []cosmos.Operation{cosmos.Read}, Skip: 5, Count: 3, Status: 503},
		{On: []cosmos.Operation{cosmos.Replace}, Skip: 2, Count: 2, Status: 449},
		{On: []cosmos.Operation{cosmos.Replace}, Skip: 6, Count: 2, Status: 412},
		{On: []cosmos.Operation{cosmos.Replace}, Skip: 3, Count: 3, DropAfter: true},
		{On: []cosmos.Operation{cosmos.Batch}, Skip: 1, Count: 3, DropAfter: true},
		{On: []cosmos.Operation{cosmos.Batch}, Skip: 4, Count: 2, Status: 429, RetryAfter: time.Millisecond},
	} {
		w.cosmos.Inject(f)
	}
	w.run(b.ID, 1, migrate)
	if got := w.status(b.ID); got != "completed" {
		t.Fatalf("the batch is %s", got)
	}
	for _, p := range w.phases(b.ID)[1:] {
		if p.Succeeded != 10 {
			t.Errorf("phase %+v", p)
		}
	}
}

func TestMessagesThatCannotBeProcessedAreKeptWithTheReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, tt := range []struct{ kind, body, reason string }{
		{"batch-init", `{`, "the body is not the JSON"},
		{"batch-init", `{"BatchId":99}`, "there is no batch 99"},
		{"phase-due", `{"BatchId":99,"PhaseExecutionId":1}`, "there is no batch 99"},
		{"poll-check", `{"BatchId":99,"StepExecutionId":20000001000}`, "batch 99 has no step execution"},
		{"retry-check", `{"BatchId":99,"StepExecutionId":7}`, "invalid step execution id"},
		{"dance", `{}`, `no handler for messages of type "dance"`},
		{"", `{}`, "no application property MessageType"},
	} {
		m := message.Delivery{ID: "m-" + tt.kind + tt.body, Type: tt.kind, Body: []byte(tt.body), DeliveryCount: 1}
		for range 2 {
			if err := w.app.HandleEvent(w.ctx, m); err != nil {
				t.Fatalf("%s: %v", tt.reason, err)
			}
		}
	}
	for _, body := range []string{``, `{}`, `{"JobId":"j","Status":"Perhaps"}`, `{"JobId":"j","Status":"success"}`} {
		noError(t, w.app.HandleResult(w.ctx, message.Delivery{ID: "r" + body, Body: []byte(body)}))
	}
	messages, err := storetest.All[store.Unprocessable](w.ctx, w.store, store.PartitionUnprocessable, "unprocessed")
	if err != nil || len(messages) != 7+4 {
		t.Fatalf("%d kept: %v", len(messages), err)
	}
	if !slices.ContainsFunc(messages, func(i store.Item[store.Unprocessable]) bool {
		return string(i.Doc.Body) == `{"BatchId":99}` && i.Doc.Reason == "there is no batch 99" && i.Doc.Topic == message.TopicOrchestratorEvents
	}) {
		t.Fatalf("kept %+v", messages)
	}
}

func TestPublishing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if v := w.publish(mover); v.Version != 1 || v.PublishedBy != "ada" || v.Unchanged {
		t.Fatalf("%+v", v)
	}
	if v := w.publish(mover); v.Version != 1 || !v.Unchanged {
		t.Fatalf("the same again: %+v", v)
	}
	if v := w.publish(mover + "# later\n"); v.Version != 2 {
		t.Fatalf("a change: %+v", v)
	}
	_, err := w.app.PublishRunbook(w.ctx, audit.Caller{}, "", []byte("name: move\nphases: 3\n"), api.PublishOptions{})
	var e *problem.Error
	if !errors.As(err, &e) || e.Code != api.CodeInvalid || len(e.Problems) < 2 || e.Problems[0].Line == 0 {
		t.Fatalf("a bad one: %v", err)
	}
	if _, err := w.app.PublishRunbook(w.ctx, audit.Caller{}, "other", []byte(mover), api.PublishOptions{}); problem.CodeOf(err) != api.CodeInvalid {
		t.Fatalf("under another name: %v", err)
	}
	if v, err := w.app.Runbook(w.ctx, "move"); err != nil || v.Version != 2 {
		t.Fatalf("%+v, %v", v, err)
	}
	page, err := w.app.Runbooks(w.ctx, api.ListOptions{})
	if err != nil || len(page.Items) != 1 || page.Items[0].YAML != "" {
		t.Fatalf("%+v, %v", page, err)
	}
}

func TestBadCSVCreatesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(mover)
	_, err := w.app.CreateBatch(w.ctx, audit.Caller{}, "move", []byte("Upn,Name\na@x,A\na@x,B\n,C\n"))
	var e *problem.Error
	if !errors.As(err, &e) || e.Code != api.CodeInvalid || len(e.Problems) != 2 || e.Problems[0].Line != 3 || e.Problems[1].Line != 4 {
		t.Fatalf("%v", describe(err))
	}
	if _, err := w.app.CreateBatch(w.ctx, audit.Caller{}, "nobody", []byte(people(1))); problem.CodeOf(err) != api.CodeNotFound {
		t.Fatal(err)
	}
	if page, err := w.app.Batches(w.ctx, api.ListOptions{}); err != nil || len(page.Items) != 0 {
		t.Fatalf("%+v, %v", page, err)
	}
}

func TestListsArePaged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(mover)
	for range 3 {
		w.batch("move", people(1), api.AllowInOtherBatches)
	}
	b := w.batch("move", people(250), api.AllowInOtherBatches)
	if got := len(w.members(b.ID)); got != 250 {
		t.Fatalf("%d members", got)
	}
	first, err := w.app.Batches(w.ctx, api.ListOptions{Limit: 3})
	if err != nil || len(first.Items) != 3 || first.Items[0].ID != 4 || first.Continuation == "" {
		t.Fatalf("%+v, %v", first, err)
	}
	rest, err := w.app.Batches(w.ctx, api.ListOptions{Limit: 3, Continuation: first.Continuation})
	if err != nil || len(rest.Items) != 1 || rest.Items[0].ID != 1 {
		t.Fatalf("%+v, %v", rest, err)
	}
}

const flat = `
name: flat
data_source: {type: csv, primary_key: Upn}
phases:
  - name: only
    offset: T-0
    steps:
      - {name: s1, worker_id: worker-01, function: F, params: {A: "{{Name}}"}}
      - {name: s2, worker_id: worker-01, function: F, params: {A: "{{Name}}"}}
      - {name: s3, worker_id: worker-01, function: F, params: {A: "{{Name}}"}}
      - {name: s4, worker_id: worker-01, function: F, params: {A: "{{Name}}"}}
      - {name: s5, worker_id: worker-01, function: F, params: {A: "{{Name}}"}}
`

// TestCostOfAStep: a step reads nothing. Its run and, at the end, the member are remembered, and the
// run has the variables. The reads belong to the pages and to the phase.
func TestCostOfAStep(t *testing.T) {
	t.Parallel()
	w := newWorld(t, azure)
	w.publish(flat)
	const members, steps = 98, 98 * 5
	b := w.batch("flat", people(members))
	before, sent := w.store.Counts(), w.bus.Sent()
	view := must(w.app.Advance(w.ctx, audit.Caller{}, b.ID, w.next(b.ID)))(t)
	polls := 0
	w.pump(1, func(message.Job) (string, error) { return "true", nil }, func() bool {
		polls++
		time.Sleep(50 * time.Millisecond)
		return w.ended(b.ID, view.Advanced)
	})
	after := w.store.Counts()
	reads := float64(after.Reads-before.Reads-int64(polls)) / steps
	writes := float64(after.Writes-before.Writes) / steps
	messages := float64(w.bus.Sent()-sent) / steps // jobs and results
	t.Logf("a step: %.2f reads, %.2f writes (%d conflicts), %.2f messages", reads, writes, after.Conflicts-before.Conflicts, messages)
	if reads > 0.1 || writes > 1.05 || messages > 2.05 {
		t.Fatalf("a step cost %.2f reads, %.2f writes, %.2f messages", reads, writes, messages)
	}
}

// TestCostOfAPoll: a poll costs one write and one execution, of the result before it, and two
// messages: its job, which is sent ahead, and its result.
func TestCostOfAPoll(t *testing.T) {
	t.Parallel()
	s := newStage(t, false, azure)
	s.script = script{"Do": always(unfinished)}
	const members, rounds = 49, 8
	b := s.startBatch(oneStep(", poll: {interval: 2s, timeout: 1h}"), people(members))
	before, sent, handled := s.store.Counts(), s.bus.Sent(), len(s.past)
	for range rounds {
		s.pass(2 * time.Second)
	}
	after := s.store.Counts()
	per := func(n int64) float64 { return float64(n) / (members * rounds) }
	reads, writes, messages, executions := per(after.Reads-before.Reads), per(after.Writes-before.Writes), per(s.bus.Sent()-sent), per(int64(len(s.past)-handled))
	t.Logf("a poll: %.2f reads, %.2f writes, %.2f messages, %.2f executions", reads, writes, messages, executions)
	if v := s.step(b.ID, 1, "do"); v.PollCount != rounds {
		t.Fatalf("%d polls", v.PollCount)
	}
	if reads > 0.1 || writes > 1.02 || messages > 2.02 || executions > 1.02 {
		t.Fatalf("a poll cost %.2f reads, %.2f writes, %.2f messages and %.2f executions", reads, writes, messages, executions)
	}
}
