package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

// listUnprocessable lists all messages of a status, over as many pages as it takes.
func (w *world) listUnprocessable(o api.ListOptions) []api.UnprocessableMessage {
	w.t.Helper()
	var all []api.UnprocessableMessage
	for {
		page := must(w.app.UnprocessableMessages(w.ctx, o))(w.t)
		all = append(all, page.Items...)
		if o.Continuation = page.Continuation; o.Continuation == "" {
			return all
		}
	}
}

// bad delivers an event without a handler and returns the kept message.
func (w *world) bad(id string, body string) api.UnprocessableMessage {
	w.t.Helper()
	before := w.listUnprocessable(api.ListOptions{})
	w.deliver(message.Delivery{ID: id, Type: "dance", Body: []byte(body), DeliveryCount: 1, EnqueuedAt: epoch})
	after := w.listUnprocessable(api.ListOptions{})
	if len(after) != len(before)+1 {
		w.t.Fatalf("%d are kept after %d", len(after), len(before))
	}
	return after[0]
}

func (w *world) deliver(m message.Delivery) {
	w.t.Helper()
	noError(w.t, w.app.HandleEvent(w.ctx, m))
}

func (w *world) message(id string) api.UnprocessableMessage {
	w.t.Helper()
	view := must(w.app.UnprocessableMessage(w.ctx, reader, id))(w.t)
	return view
}

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestUnprocessableMessagesAreStoredAndTheOthersGoOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.createBatch(mover, people(5))
	result := func(batch int, step int64) string {
		body, err := json.Marshal(message.Result{
			JobID: "step-1-attempt-1", Status: message.StatusSuccess, Result: json.RawMessage("true"),
			CorrelationData: message.Correlation{BatchID: batch, StepExecutionID: step},
		})
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	want := map[string]string{} // reason by message id
	for i, m := range []struct{ topic, kind, body, reason string }{
		{message.TopicOrchestratorEvents, message.TypeBatchInit, `{"BatchId":`, "the body is not the JSON"},
		{message.TopicOrchestratorEvents, "dance", `{}`, `no handler for messages of type "dance"`},
		{message.TopicOrchestratorEvents, "", `{}`, "no application property MessageType"},
		{message.TopicOrchestratorEvents, message.TypePhaseDue, `{"BatchId":99,"PhaseExecutionId":1}`, "there is no batch 99"},
		{message.TopicWorkerResults, "", "\xff\x00", "the body is not the JSON"},
		{message.TopicWorkerResults, "", `{"JobId":"j","Status":"success"}`, "no batch id"},
		{message.TopicWorkerResults, "", result(99, model.StepID(1, 1, 0)), "batch 99 has no step execution"},
		{message.TopicWorkerResults, "", result(b.ID, 7), "invalid step execution id"},
		{message.TopicWorkerResults, "", result(b.ID, model.StepID(1, 77, 0)), "has no step execution"},
	} {
		id := fmt.Sprintf("bad-%d", i)
		want[id] = m.reason
		again := bus.Message{ID: id, Body: []byte(m.body), Properties: map[string]any{"Origin": "test"}}
		if m.kind != "" {
			again.Properties[message.PropertyMessageType] = m.kind
		}
		noError(t, w.bus.Send(w.ctx, m.topic, again))
	}
	w.run(b.ID, 2, migrate)
	if got := w.status(b.ID); got != "completed" {
		t.Fatalf("the batch is %s", got)
	}
	messages := w.listUnprocessable(api.ListOptions{Limit: 2})
	for i, m := range messages {
		reason, ok := want[m.MessageID]
		if !ok || !strings.Contains(m.Reason, reason) || m.Status != api.UnprocessableOpen || m.Count != 1 || m.StoredAt.IsZero() {
			t.Errorf("%+v; want %q", m, reason)
		}
		delete(want, m.MessageID)
		if i > 0 && m.StoredAt.After(messages[i-1].StoredAt) {
			t.Errorf("%s was kept after %s and comes after it", m.MessageID, messages[i-1].MessageID)
		}
		if m.Body != nil || m.BodyBase64 != nil || m.Properties != nil {
			t.Errorf("a list shows what is in the message: %+v", m)
		}
		if whole := w.message(m.ID); whole.Properties["Origin"] != "test" || whole.Body == nil && whole.BodyBase64 == nil {
			t.Errorf("%+v", whole)
		}
	}
	if len(want) > 0 {
		t.Errorf("not kept: %v", slices.Collect(maps.Keys(want)))
	}
	if results := w.listUnprocessable(api.ListOptions{Topic: message.TopicWorkerResults}); len(results) != 5 {
		t.Errorf("%d of %s", len(results), message.TopicWorkerResults)
	}
}

// A result may come before what it is for: from a worker that knows a batch which is
// restored only later.
func TestReplayedResultIsProcessedOnceItsBatchExists(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	step := model.StepID(1, 1, 0)
	body, err := json.Marshal(message.Result{
		JobID: fmt.Sprintf("step-%d-attempt-1", step), Status: message.StatusSuccess, Result: json.RawMessage(`{"id":"from the replay"}`),
		CorrelationData: message.Correlation{BatchID: 1, StepExecutionID: step, RunbookName: "flat", RunbookVersion: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	early := message.Delivery{ID: "early", Body: body, DeliveryCount: 1, EnqueuedAt: epoch}
	noError(t, w.app.HandleResult(w.ctx, early))
	item := w.listUnprocessable(api.ListOptions{})[0]

	// Its jobs go to a worker that does not exist: only the replay can end the step.
	b := w.createBatch(strings.ReplaceAll(flat, "worker-01", "worker-02"), people(1))
	must(w.app.Advance(w.ctx, ada, b.ID, w.next(b.ID)))(t)
	first := func() api.Step {
		page, err := w.app.Steps(w.ctx, reader, b.ID, api.ListOptions{})
		if err != nil || len(page.Items) == 0 {
			return api.Step{}
		}
		return page.Items[0]
	}
	w.pump(1, migrate, func() bool { return first().Status == "queued" })
	view := must(w.app.Replay(w.ctx, ada, item.ID, "the batch is there now"))(t)
	if view.Status != api.UnprocessableReplayed || view.Replays != 1 || view.Handled == nil || view.Handled.By != "ada" || view.Handled.Why != "the batch is there now" || view.Handled.At.IsZero() {
		t.Errorf("%+v", view)
	}
	w.pump(2, migrate, func() bool { return first().Status == "succeeded" })
	if got := string(first().Result); got != `{"id":"from the replay"}` {
		t.Errorf("the step's result is %s", got)
	}
	if open := w.listUnprocessable(api.ListOptions{}); len(open) != 0 {
		t.Errorf("open: %+v", open)
	}
	if done := w.listUnprocessable(api.ListOptions{Statuses: []string{"replayed"}}); len(done) != 1 || done[0].ID != item.ID {
		t.Errorf("replayed: %+v", done)
	}
	// The first delivery, which was never acknowledged, comes once more: by now the
	// step has ended, and it changes nothing.
	noError(t, w.app.HandleResult(w.ctx, early))
	if got := w.message(item.ID); got.Status != api.UnprocessableReplayed || got.Count != 1 {
		t.Errorf("%+v", got)
	}
}

// A replay is recorded before the message is sent: one that died at any write names who
// asked, and the next request completes it under the same id.
func TestReplayThatDiedHalfWayIsTheSameMessageAgain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fault    cosmos.Fault
		recorded bool
		sent     int // messages, of one id
	}{
		"before it was recorded":           {cosmos.Fault{On: []cosmos.Operation{cosmos.Batch}, Count: 1, Status: 403}, false, 1},
		"when the record's answer is lost": {cosmos.Fault{On: []cosmos.Operation{cosmos.Batch}, Count: 1, DropAfter: true}, true, 1},
		"before it was marked":             {cosmos.Fault{On: []cosmos.Operation{cosmos.Replace}, Count: 1, Status: 403}, true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, azure)
			item := w.bad("m", `{"a":1}`)
			book := &notebook{Sender: w.bus}
			a := app.New(app.Config{Store: w.store, Bus: book, Log: slog.New(slog.DiscardHandler)})
			w.cosmos.Inject(tt.fault)
			if _, err := a.Replay(w.ctx, ada, item.ID, "it is mended"); problem.CodeOf(err) != api.CodeUnavailable {
				t.Fatalf("%v", err)
			}
			got := w.message(item.ID)
			if got.Status != api.UnprocessableOpen || got.Replays != 0 {
				t.Fatalf("%+v", got)
			}
			if named := got.Handled != nil && got.Handled.By == "ada" && got.Handled.Why == "it is mended"; named != tt.recorded {
				t.Errorf("the message names %+v", got.Handled)
			}
			w.wantReplayAudited(item.ID, tt.recorded)
			wantReplayedOnce(t, w, a, book, item.ID)
			if len(book.sent) != tt.sent {
				t.Errorf("%d messages were sent", len(book.sent))
			}
		})
	}
}

func (w *world) wantReplayAudited(id string, want bool) {
	w.t.Helper()
	page := must(w.app.MessageAudit(w.ctx, api.AuditFilter{}, api.ListOptions{}))(w.t)
	audited := slices.ContainsFunc(page.Items, func(r api.AuditRecord) bool { return r.Action == "replay" && r.Target == id && r.By == "ada" })
	if audited != want {
		w.t.Errorf("audited: %t, want %t", audited, want)
	}
}

// wantReplayedOnce completes a replay: all messages sent for it have one id.
func wantReplayedOnce(t *testing.T, w *world, a *app.App, book *notebook, id string) {
	t.Helper()
	if view, err := a.Replay(w.ctx, ada, id, ""); err != nil || view.Status != api.UnprocessableReplayed || view.Replays != 1 {
		t.Fatalf("%+v, %v", view, err)
	}
	for _, m := range book.sent {
		if m.ID != book.sent[0].ID || string(m.Body) != `{"a":1}` || m.Properties[message.PropertyMessageType] != "dance" {
			t.Fatalf("sent %+v", book.sent)
		}
	}
	sent := len(book.sent)
	_, err := a.Replay(w.ctx, grace, id, "")
	if problem.CodeOf(err) != api.CodeConflict || !strings.Contains(err.Error(), "already replayed by ada") || len(book.sent) != sent {
		t.Fatalf("replayed twice: %v, %d sent", err, len(book.sent))
	}
	if _, err := a.Discard(w.ctx, ada, id, ""); problem.CodeOf(err) != api.CodeConflict {
		t.Fatalf("discarded after a replay: %v", err)
	}
}

// A message that its sender sends anew, while a replay of it may have been sent, is
// replayed under another id: the broker may remember the first.
func TestReplayOfAMessageSentAnewHasAnotherID(t *testing.T) {
	t.Parallel()
	w := newWorld(t, azure)
	item := w.bad("m", `{}`)
	book := &notebook{Sender: w.bus}
	a := app.New(app.Config{Store: w.store, Bus: book, Log: slog.New(slog.DiscardHandler)})
	w.cosmos.Inject(cosmos.Fault{On: []cosmos.Operation{cosmos.Replace}, Count: 1, Status: 403})
	if _, err := a.Replay(w.ctx, ada, item.ID, ""); problem.CodeOf(err) != api.CodeUnavailable {
		t.Fatalf("%v", err)
	}
	must(a.Discard(w.ctx, ada, item.ID, ""))(t)
	w.deliver(message.Delivery{ID: "m", Type: "dance", Body: []byte(`{}`), DeliveryCount: 1, EnqueuedAt: epoch.Add(time.Hour)})
	if view, err := a.Replay(w.ctx, ada, item.ID, ""); err != nil || view.Replays != 2 {
		t.Fatalf("%+v, %v", view, err)
	}
	if len(book.sent) != 2 || book.sent[0].ID == book.sent[1].ID {
		t.Fatalf("sent %+v", book.sent)
	}
}

// A replay that was never marked, and has failed since, must not be sent once more
// under the same id: the broker would drop it.
func TestReplayThatDiedHalfWayAndFailedIsFollowedByAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t, azure)
	item := w.bad("m", `{}`)
	book := &notebook{Sender: w.bus}
	a := app.New(app.Config{Store: w.store, Bus: book, Log: slog.New(slog.DiscardHandler)})
	w.cosmos.Inject(cosmos.Fault{On: []cosmos.Operation{cosmos.Replace}, Count: 1, Status: 403})
	if _, err := a.Replay(w.ctx, ada, item.ID, ""); problem.CodeOf(err) != api.CodeUnavailable {
		t.Fatalf("%v", err)
	}
	w.deliver(message.Delivery{ID: book.sent[0].ID, Type: "dance", Body: book.sent[0].Body, DeliveryCount: 1})
	if view, err := a.Replay(w.ctx, ada, item.ID, ""); err != nil || view.Status != api.UnprocessableReplayed || view.Replays != 2 || view.Count != 2 {
		t.Fatalf("%+v, %v", view, err)
	}
	if len(book.sent) != 2 || book.sent[0].ID == book.sent[1].ID {
		t.Fatalf("sent %+v", book.sent)
	}
}

func TestTwoWhoReplayAtOnceSendOneMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	item := w.bad("m", `{}`)
	book := &notebook{Sender: w.bus}
	way := &meddler{Sender: book}
	a := app.New(app.Config{Store: w.store, Bus: way, Log: slog.New(slog.DiscardHandler)})
	way.after = func() { // grace is through before ada's replay is marked
		way.after = func() {}
		if _, err := a.Replay(w.ctx, grace, item.ID, ""); err != nil {
			t.Error(describe(err))
		}
	}
	view, err := a.Replay(w.ctx, ada, item.ID, "")
	if err != nil || view.Status != api.UnprocessableReplayed || view.Replays != 1 || view.Handled.By != "grace" {
		t.Fatalf("%+v, %v", view, err)
	}
	if len(book.sent) != 2 || book.sent[0].ID != book.sent[1].ID {
		t.Fatalf("sent %+v", book.sent)
	}
}

// meddler lets something happen right after each message is sent.
type meddler struct {
	bus.Sender
	after func()
}

func (m *meddler) Send(ctx context.Context, topic string, messages ...bus.Message) error {
	err := m.Sender.Send(ctx, topic, messages...)
	m.after()
	return err
}

func TestReplayThatFailsAgainOpensTheSameItem(t *testing.T) {
	t.Parallel()
	for _, early := range []bool{false, true} {
		t.Run(fmt.Sprintf("before it is marked: %t", early), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			item := w.bad("m", `{}`)
			book := &notebook{Sender: w.bus}
			way := &meddler{Sender: book, after: func() {}}
			a := app.New(app.Config{Store: w.store, Bus: way, Log: slog.New(slog.DiscardHandler)})
			// The replay has no handler either; two deliveries of it arrive at the same time.
			fail := func() {
				sent := book.sent[len(book.sent)-1]
				again := message.Delivery{ID: sent.ID, Type: "shuffle", Body: sent.Body, Properties: sent.Properties, DeliveryCount: 1, EnqueuedAt: epoch.Add(time.Hour)}
				var wg sync.WaitGroup
				for range 4 {
					wg.Go(func() {
						if err := w.app.HandleEvent(w.ctx, again); err != nil {
							t.Error(describe(err))
						}
					})
				}
				wg.Wait()
			}
			if early {
				way.after = fail
			}
			for n := 1; n <= 2; n++ {
				view := must(a.Replay(w.ctx, ada, item.ID, fmt.Sprintf("try %d", n)))(t)
				if want := map[bool]api.UnprocessableStatus{true: api.UnprocessableOpen, false: api.UnprocessableReplayed}[early]; view.Status != want {
					t.Errorf("after replay %d it is %s", n, view.Status)
				}
				if !early {
					fail()
				}
				got := w.listUnprocessable(api.ListOptions{})
				if len(got) != 1 || got[0].ID != item.ID || got[0].Count != n+1 || got[0].Replays != n || got[0].Reason != `no handler for messages of type "shuffle"` {
					t.Fatalf("after replay %d: %+v", n, got)
				}
				if h := got[0].Handled; h == nil || h.Why != fmt.Sprintf("try %d", n) {
					t.Errorf("after replay %d: %+v", n, h)
				}
			}
			if book.sent[0].ID == book.sent[1].ID {
				t.Error("the broker would take the second replay for the first")
			}
			if got := w.message(item.ID); !got.FirstStoredAt.Equal(item.FirstStoredAt) || !got.StoredAt.After(item.StoredAt) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestADeliveryThatIsRepeatedCountsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := message.Delivery{ID: "m", Type: "dance", Body: []byte(`{}`), DeliveryCount: 1, EnqueuedAt: epoch}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := w.app.HandleEvent(w.ctx, m); err != nil {
				t.Error(describe(err))
			}
		})
	}
	wg.Wait()
	item := w.listUnprocessable(api.ListOptions{})[0]
	if item.Count != 1 {
		t.Fatalf("%+v", item)
	}
	m.EnqueuedAt = epoch.Add(time.Minute) // put back by a handler for an outage: it is open anyway
	w.deliver(m)
	if got := w.message(item.ID); got.Count != 1 {
		t.Fatalf("%+v", got)
	}
	m.EnqueuedAt = epoch
	view, err := w.app.Discard(w.ctx, ada, item.ID, "a test of the sender's")
	if err != nil || view.Status != api.UnprocessableDiscarded || view.Handled.By != "ada" || view.Handled.Why != "a test of the sender's" {
		t.Fatalf("%+v, %v", view, err)
	}
	if _, err := w.app.Discard(w.ctx, ada, item.ID, ""); problem.CodeOf(err) != api.CodeConflict {
		t.Fatalf("discarded twice: %v", err)
	}
	m.DeliveryCount = 2
	w.deliver(m)
	if got := w.message(item.ID); got.Status != api.UnprocessableDiscarded || got.Count != 1 {
		t.Fatalf("a repeated delivery: %+v", got)
	}
	m.EnqueuedAt = epoch.Add(time.Hour) // its sender sends it anew
	w.deliver(m)
	if got := w.message(item.ID); got.Status != api.UnprocessableOpen || got.Count != 2 {
		t.Fatalf("sent anew: %+v", got)
	}
	must(w.app.Discard(w.ctx, ada, item.ID, ""))(t)
	if view, err := w.app.Replay(w.ctx, ada, item.ID, "not a test after all"); err != nil || view.Status != api.UnprocessableReplayed {
		t.Fatalf("a discarded message: %+v, %v", view, err)
	}
}

// What looks like a replay and is none must not touch another message's item.
func TestReplayOfNothingIsAMessageOfItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	item := w.bad("m", `{}`)
	w.bad("replay-"+item.ID+"-1", `{"another":"body"}`)
	w.bad("replay-"+strings.Repeat("0", 32)+"-1", `{}`)
	noError(t, w.app.HandleResult(w.ctx, message.Delivery{ID: "replay-" + item.ID + "-1", Body: []byte(`{}`)}))
	if got := w.listUnprocessable(api.ListOptions{}); len(got) != 4 || w.message(item.ID).Count != 1 {
		t.Fatalf("%+v", got)
	}
}

func TestRequeuedReplayIsStoredWithItsMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	item := w.bad("m", `{}`)
	must(w.app.Replay(w.ctx, ada, item.ID, ""))(t)
	w.deliver(message.Delivery{ID: "replay-" + item.ID + "-1-again-1767323045", Type: "dance", Body: []byte(`{}`), DeliveryCount: 1})
	if got := w.listUnprocessable(api.ListOptions{}); len(got) != 1 || got[0].ID != item.ID || got[0].Count != 2 {
		t.Fatalf("%+v", got)
	}
}

func TestReplayWithoutABrokerSendsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	item := w.bad("m", `{}`)
	a, way := w.process(0)
	way.shut.Store(true)
	if _, err := a.Replay(w.ctx, ada, item.ID, ""); problem.CodeOf(err) != api.CodeUnavailable {
		t.Fatalf("%v", err)
	}
	if got := w.message(item.ID); got.Status != api.UnprocessableOpen || got.Replays != 0 || got.Handled == nil {
		t.Fatalf("%+v", got)
	}
	way.shut.Store(false)
	if view, err := a.Replay(w.ctx, ada, item.ID, ""); err != nil || view.Status != api.UnprocessableReplayed {
		t.Fatalf("%+v, %v", view, err)
	}
}

// A discard that meets a failed replay half-way decides on the state at that time.
func TestDiscardAndReplayAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	item := w.bad("m", `{}`)
	way := &meddler{Sender: w.bus}
	a := app.New(app.Config{Store: w.store, Bus: way, Log: slog.New(slog.DiscardHandler)})
	way.after = func() { // the message is on its way, and not yet marked
		if _, err := w.app.Discard(w.ctx, grace, item.ID, ""); err != nil {
			t.Error(describe(err))
		}
	}
	view, err := a.Replay(w.ctx, ada, item.ID, "")
	if err != nil || view.Status != api.UnprocessableReplayed || view.Handled.By != "ada" {
		t.Fatalf("it was sent, and is shown as %+v, %v", view, err)
	}
	if got := w.message(item.ID); got.Status != api.UnprocessableReplayed || got.Replays != 1 {
		t.Fatalf("%+v", got)
	}
}

func TestBodiesAreShownAsWhatTheyAre(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	big := strings.Repeat("x", message.Limit+1)
	huge := strings.Repeat("x", 1<<20+1)
	for _, tt := range []struct {
		name, body, json string
		shown            int // bytes of base64's content
		whole            bool
	}{
		{"an object", `{"a": [1, "<"]}`, `{"a": [1, "<"]}`, 0, true},
		{"a number", `7`, `7`, 0, true},
		{"JSON cut off", `{"a"`, "", 4, true},
		{"bytes", "\xff\x00", "", 2, true},
		{"JSON with bytes", "\"\xff\"", "", 3, true},
		{"nothing", "", "", 0, true},
		{"a big one", big, "", message.Limit, true},
		{"a big one in JSON", `"` + big + `"`, "", message.Limit, true},
		{"one beyond what is kept", huge, "", message.Limit, false},
	} {
		got := w.message(w.bad(tt.name, tt.body).ID)
		if string(got.Body) != tt.json || len(got.BodyBase64) != tt.shown || !strings.HasPrefix(tt.body, string(got.BodyBase64)) || got.Size != len(tt.body) {
			t.Errorf("%s: body %.50s, %d bytes in base64, size %d", tt.name, got.Body, len(got.BodyBase64), got.Size)
		}
		if got.Truncated != (len(tt.body) > message.Limit) {
			t.Errorf("%s: truncated %t", tt.name, got.Truncated)
		}
		if tt.whole {
			continue
		}
		if _, err := w.app.Replay(w.ctx, ada, got.ID, ""); problem.CodeOf(err) != api.CodeConflict || !strings.Contains(err.Error(), "too large to replay") {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestWhatIsWrongWithARequestForAMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	item := w.bad("m", `{}`)
	long := strings.Repeat("ä", api.MaxReason+1)
	for _, id := range []string{"", "nothing", "a/b", strings.Repeat("0", 32)} {
		if _, err := w.app.UnprocessableMessage(w.ctx, reader, id); problem.CodeOf(err) != api.CodeNotFound {
			t.Errorf("%q: %v", id, err)
		}
		if _, err := w.app.Replay(w.ctx, ada, id, ""); problem.CodeOf(err) != api.CodeNotFound {
			t.Errorf("replay of %q: %v", id, err)
		}
		if _, err := w.app.Discard(w.ctx, ada, id, ""); problem.CodeOf(err) != api.CodeNotFound {
			t.Errorf("discard of %q: %v", id, err)
		}
	}
	if _, err := w.app.Replay(w.ctx, ada, item.ID, long); problem.CodeOf(err) != api.CodeInvalid {
		t.Errorf("%v", err)
	}
	if _, err := w.app.Discard(w.ctx, ada, item.ID, long); problem.CodeOf(err) != api.CodeInvalid {
		t.Errorf("%v", err)
	}
	if _, err := w.app.UnprocessableMessages(w.ctx, api.ListOptions{Statuses: []string{"lost"}}); problem.CodeOf(err) != api.CodeInvalid {
		t.Errorf("%v", err)
	}
	if got := w.message(item.ID); got.Status != api.UnprocessableOpen || got.Handled != nil {
		t.Errorf("%+v", got)
	}
	if _, err := w.app.Discard(w.ctx, ada, item.ID, long[2:]); err != nil { // at most MaxWhy characters, not bytes
		t.Error(describe(err))
	}
}
