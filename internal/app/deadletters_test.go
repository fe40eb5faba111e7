package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/alert"
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

// bury moves all messages of a subscription, n of them, to its dead-letter queue.
func (w *world) bury(topic, subscription, reason string, n int) {
	w.t.Helper()
	receiver := must(w.bus.Receiver(topic, subscription))(w.t)
	defer receiver.Close(context.Background())
	for n > 0 {
		messages := must(receiver.Receive(w.ctx, n, time.Minute))(w.t)
		for _, m := range messages {
			noError(w.t, receiver.DeadLetter(w.ctx, m, reason, "as a test has it"))
		}
		n -= len(messages)
	}
}

func (w *world) buried(topic, subscription string) int {
	return w.broker.deadLetters(topic, subscription)
}

// reborn is another process, which reads dead-letter queues.
func (w *world) reborn(change ...func(*app.Config)) *app.App {
	c := w.config()
	c.Dead = w.bus
	for _, f := range change {
		f(&c)
	}
	return app.New(c)
}

func odd(i int) bus.Message {
	return bus.Message{ID: fmt.Sprint("odd-", i), Body: fmt.Appendf(nil, `{"n":%d}`, i), Properties: map[string]any{message.PropertyMessageType: "odd"}}
}

// TestResultsOfADeadHandlerAreNotLost: of a batch whose results the host had no handler
// for, each member goes on when there is one.
func TestResultsOfADeadHandlerAreNotLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(strings.ReplaceAll(flat, "worker-01", "worker-02"))
	const people3 = 3
	b := w.batch("flat", people(people3))
	must(w.app.Advance(w.ctx, ada, b.ID, "only"))(t)
	w.pump(1, migrate, func() bool {
		page, err := w.app.Steps(w.ctx, reader, b.ID, api.ListOptions{Statuses: []string{"queued"}})
		return err == nil && len(page.Items) == people3
	})
	page := must(w.app.Steps(w.ctx, reader, b.ID, api.ListOptions{Statuses: []string{"queued"}}))(t)
	for _, s := range page.Items {
		r := message.Result{JobID: s.JobID, Status: message.StatusSuccess, Result: json.RawMessage(`{"id":1}`), Timestamp: time.Now(), CorrelationData: message.Correlation{BatchID: b.ID, StepExecutionID: s.ID, RunbookName: "flat", RunbookVersion: 1}}
		body := must(json.Marshal(r))(t)
		noError(t, w.bus.Send(w.ctx, message.TopicWorkerResults, bus.Message{ID: r.ID(), Body: body}))
	}
	w.bury(message.TopicWorkerResults, message.SubscriptionOrchestrator, bus.ReasonDeliveries, people3)

	var lines bytes.Buffer
	a := w.reborn(func(c *app.Config) { c.Log = slog.New(slog.NewJSONHandler(&lines, nil)) })
	a.ReturnDeadLetters(w.ctx)
	if n := w.buried(message.TopicWorkerResults, message.SubscriptionOrchestrator); n != 0 {
		t.Fatalf("%d dead letters are left", n)
	}
	if strings.Contains(lines.String(), alert.MessageUnprocessable) {
		t.Errorf("an operator is woken for what mends itself:\n%s", &lines)
	}
	w.pump(1, migrate, func() bool {
		page, err := w.app.Steps(w.ctx, reader, b.ID, api.ListOptions{Statuses: []string{"succeeded"}})
		return err == nil && len(page.Items) == people3
	})
	replayed := w.listUnprocessable(api.ListOptions{Statuses: []string{"replayed"}, Topic: message.TopicWorkerResults})
	if len(replayed) != people3 || len(w.listUnprocessable(api.ListOptions{})) != 0 {
		t.Fatalf("%d are listed as replayed", len(replayed))
	}
	for _, m := range replayed {
		d := m.DeadLetter
		if d == nil || d.Subscription != "orchestrator" || d.Reason != bus.ReasonDeliveries || d.Description != "as a test has it" ||
			!strings.Contains(m.Reason, "dead-lettered: MaxDeliveryCountExceeded: as a test has it") || m.Handled == nil || m.Handled.By != "system" || m.Replays != 1 {
			t.Errorf("%+v", m)
		}
	}
}

// TestADeadLetterIsReturnedOnceHoweverOftenTheProcessDies: at each point between its
// being recorded and its being removed.
func TestADeadLetterIsReturnedOnceHoweverOftenTheProcessDies(t *testing.T) {
	t.Parallel()
	for name, die := range map[string]func(w *world, book *sends, dead *stubborn){
		"before it is recorded": func(w *world, _ *sends, _ *stubborn) {
			w.cosmos.Inject(cosmos.Fault{On: []cosmos.Operation{cosmos.Create}, Count: 1, Status: 403})
		},
		"before it is sent": func(_ *world, book *sends, _ *stubborn) { book.failing = 1 },
		"before it is marked": func(w *world, _ *sends, _ *stubborn) {
			w.cosmos.Inject(cosmos.Fault{On: []cosmos.Operation{cosmos.Replace}, Count: 1, Status: 403})
		},
		"before it is removed": func(_ *world, _ *sends, dead *stubborn) { dead.keeps = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, azure)
			noError(t, w.bus.Send(w.ctx, message.TopicOrchestratorEvents, odd(1)))
			w.bury(message.TopicOrchestratorEvents, message.SubscriptionOrchestrator, bus.ReasonDeliveries, 1)
			book, dead := &sends{Sender: w.bus}, &stubborn{DeadLetters: w.bus}
			die(w, book, dead)
			for range 3 { // three ticks
				noError(t, w.reborn(func(c *app.Config) { c.Bus, c.Dead = book, dead }).Tick(w.ctx))
			}
			if n := w.buried(message.TopicOrchestratorEvents, message.SubscriptionOrchestrator); n != 0 {
				t.Errorf("%d dead letters are left", n)
			}
			ids := slices.Compact(slices.Clone(book.ids))
			replayed := w.listUnprocessable(api.ListOptions{Statuses: []string{"replayed"}})
			if len(ids) != 1 || len(replayed) != 1 || replayed[0].Replays != 1 || ids[0] != "replay-"+replayed[0].ID+"-1" {
				t.Fatalf("sent %q, kept %+v", book.ids, replayed)
			}
		})
	}
}

// sends records the sent messages and fails a given number of times.
type sends struct {
	bus.Sender
	mu      sync.Mutex
	ids     []string
	at      []time.Time
	redone  []any
	failing int
}

func (s *sends) Send(ctx context.Context, topic string, messages ...bus.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing > 0 {
		s.failing--
		return fmt.Errorf("%w: it is away", bus.ErrUnavailable)
	}
	for _, m := range messages {
		s.ids, s.at, s.redone = append(s.ids, m.ID), append(s.at, m.At), append(s.redone, m.Properties[message.PropertyRedelivered])
	}
	return s.Sender.Send(ctx, topic, messages...)
}

// stubborn fails to remove received messages a given number of times.
type stubborn struct {
	bus.DeadLetters
	keeps int
}

func (s *stubborn) TakeDeadLetters(ctx context.Context, topic, subscription string, n int, take func(context.Context, bus.DeadLetter) error) (int, error) {
	return s.DeadLetters.TakeDeadLetters(ctx, topic, subscription, n, func(ctx context.Context, d bus.DeadLetter) error {
		err := take(ctx, d)
		if err == nil && s.keeps > 0 {
			s.keeps--
			return errors.New("the process died")
		}
		return err
	})
}

// TestAMessageIsReturnedFiveTimes: each time later than the time before. Then it waits
// for an administrator, whose replay starts over.
func TestAMessageIsReturnedFiveTimes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var lines bytes.Buffer
	book := &sends{Sender: w.bus}
	now := time.Now()
	again := func(c *app.Config) {
		c.Bus, c.Now = book, func() time.Time { return now }
		c.Log = slog.New(slog.NewJSONHandler(&lines, nil))
	}
	noError(t, w.bus.Send(w.ctx, message.TopicOrchestratorEvents, odd(1)))
	letter := func(c *app.Config) { again(c); c.Dead = &letters{of: book, first: odd(1)} }
	a := w.reborn(letter)
	for range 6 {
		noError(t, a.Tick(w.ctx))
	}
	var waits []time.Duration
	for _, at := range book.at {
		if at.IsZero() {
			waits = append(waits, 0)
			continue
		}
		waits = append(waits, at.Sub(now))
	}
	if want := []time.Duration{0, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour}; !slices.Equal(waits, want) {
		t.Errorf("it was returned after %v, want %v", waits, want)
	}
	open := w.listUnprocessable(api.ListOptions{})
	if len(open) != 1 || open[0].Replays != 5 || open[0].Count != 6 || !strings.Contains(open[0].Reason, "it was resent 5 times") {
		t.Fatalf("%+v", open)
	}
	if n := strings.Count(lines.String(), alert.MessageUnprocessable); n != 1 {
		t.Errorf("an operator is woken %d times:\n%s", n, &lines)
	}
	must(a.Replay(w.ctx, ada, open[0].ID, "the host is mended"))(t)
	if err := a.Tick(w.ctx); err != nil { // its replay is dead-lettered as well
		t.Fatal(err)
	}
	if last := book.ids[len(book.ids)-1]; last != "replay-"+open[0].ID+"-7" || len(w.listUnprocessable(api.ListOptions{})) != 0 {
		t.Errorf("sent %q", book.ids)
	}
}

// letters is a dead-letter queue into which each message goes that is sent, one for each
// time that it is read.
type letters struct {
	of    *sends
	first bus.Message
	read  int
}

func (l *letters) TakeDeadLetters(ctx context.Context, topic, subscription string, _ int, take func(context.Context, bus.DeadLetter) error) (int, error) {
	if topic != message.TopicOrchestratorEvents {
		return 0, nil
	}
	id := l.first.ID
	if l.read > 0 {
		if l.read > len(l.of.ids) {
			return 0, nil
		}
		id = l.of.ids[l.read-1]
	}
	l.read++
	d := bus.DeadLetter{Topic: topic, Subscription: subscription, Sequence: int64(l.read), ID: id, Body: l.first.Body, Properties: l.first.Properties, Reason: bus.ReasonDeliveries}
	if err := take(ctx, d); err != nil {
		return 0, err
	}
	return 0, nil // one at a time
}

// TestWhatSomebodyDeadLetteredWaits: only the broker's own reasons say nothing of the
// message.
func TestWhatSomebodyDeadLetteredWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	noError(t, w.bus.Send(w.ctx, message.TopicWorkerResults, odd(1)))
	w.bury(message.TopicWorkerResults, message.SubscriptionOrchestrator, "by hand", 1)
	var lines bytes.Buffer
	a := w.reborn(func(c *app.Config) { c.Log = slog.New(slog.NewJSONHandler(&lines, nil)) })
	a.ReturnDeadLetters(w.ctx)
	open := w.listUnprocessable(api.ListOptions{})
	if len(open) != 1 || open[0].DeadLetter == nil || open[0].DeadLetter.Reason != "by hand" || open[0].Replays != 0 || w.message(open[0].ID).Body == nil {
		t.Fatalf("%+v", open)
	}
	if n := strings.Count(lines.String(), alert.MessageUnprocessable); n != 1 {
		t.Errorf("an operator is woken %d times", n)
	}
	view, err := a.Replay(w.ctx, ada, open[0].ID, "look at it again")
	if err != nil || view.Status != api.UnprocessableReplayed {
		t.Fatalf("%+v, %v", view, err)
	}
	if n := w.broker.messages(message.TopicWorkerResults, message.SubscriptionOrchestrator); n != 1 {
		t.Errorf("%d messages were sent", n)
	}
}

// TestJobsThatWereDeadLettered: one is sent again only while its step waits for it.
func TestJobsThatWereDeadLettered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.createBatch(flat, people(2))
	must(w.app.Advance(w.ctx, ada, b.ID, "only"))(t)
	steps := func(status string) []api.Step {
		page := must(w.app.Steps(w.ctx, reader, b.ID, api.ListOptions{Statuses: []string{status}}))(t)
		return page.Items
	}
	w.pump(1, func(message.Job) (string, error) { return "", errLost }, func() bool { return len(steps("queued")) == 2 && len(w.receivedJobs()) == 2 })
	w.commit(store.Upsert(store.WorkerKey("worker-01"), map[string]any{"id": "worker-01"}))
	taken := w.receivedJobs()
	past := time.Now().Add(-time.Minute)
	waits, late, gone := taken[0], taken[1], taken[1]
	late.ExpiresAt = &past
	gone.JobID += "-before"
	for i, body := range []any{waits, late, gone, "x"} {
		text := must(json.Marshal(body))(t)
		m := bus.Message{ID: fmt.Sprint("job-", i), Body: text, Properties: map[string]any{message.PropertyWorkerID: "worker-01"}}
		noError(t, w.bus.Send(w.ctx, message.TopicWorkerJobs, m))
	}
	w.bury(message.TopicWorkerJobs, "worker-worker-01", bus.ReasonDeliveries, 4)
	book := &sends{Sender: w.bus}
	w.reborn(func(c *app.Config) { c.Bus = book }).ReturnDeadLetters(w.ctx)
	if n := w.buried(message.TopicWorkerJobs, "worker-worker-01"); n != 0 {
		t.Errorf("%d dead letters are left", n)
	}
	if len(book.ids) != 1 || book.redone[0] != true {
		t.Errorf("sent %q, redelivered %v", book.ids, book.redone)
	}
	got := map[string]string{}
	for _, status := range []string{"open", "replayed", "discarded"} {
		for _, m := range w.listUnprocessable(api.ListOptions{Statuses: []string{status}, Topic: message.TopicWorkerJobs}) {
			got[m.MessageID] = status
			if m.Handled != nil {
				got[m.MessageID] += ": " + m.Handled.Why
			}
		}
	}
	for id, want := range map[string]string{
		"job-0": "replayed: it was never processed", "job-1": "discarded: it has expired", "job-2": "discarded: its step no longer waits", "job-3": "open",
	} {
		if !strings.HasPrefix(got[id], want) {
			t.Errorf("%s is %q, want %q", id, got[id], want)
		}
	}
	w.pump(1, func(message.Job) (string, error) { return "true", nil }, func() bool { return len(w.receivedJobs()) > 2 })
	if again := w.receivedJobs()[2]; again.JobID != waits.JobID {
		t.Errorf("the worker is given %s", again.JobID)
	}
}

func (w *world) receivedJobs() []message.Job {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.jobs)
}

// TestADeadlineWaitsForResultsThatWereDeadLettered: a member whose result lies in the
// dead-letter queue must not fail for want of it.
func TestADeadlineWaitsForResultsThatWereDeadLettered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := time.Now()
	book := &notebook{Sender: w.bus}
	a := w.reborn(func(c *app.Config) { c.Bus, c.Now = book, func() time.Time { return now } })
	check := message.Delivery{ID: "deadline-1", Type: message.TypeDeadlineCheck, Body: []byte(`{"BatchId":1,"StepExecutionId":10000001000,"JobId":"j"}`), DeliveryCount: 1, EnqueuedAt: epoch}
	requeued := func(m message.Delivery) bool {
		t.Helper()
		book.sent = nil
		noError(t, a.HandleEvent(w.ctx, m))
		return len(book.sent) == 1 && len(w.listUnprocessable(api.ListOptions{})) == 0
	}
	if !requeued(check) {
		t.Fatal("a deadline is judged before the dead letters were read")
	}
	noError(t, w.bus.Send(w.ctx, message.TopicWorkerResults, odd(1)))
	w.bury(message.TopicWorkerResults, message.SubscriptionOrchestrator, bus.ReasonDeliveries, 1)
	a.ReturnDeadLetters(w.ctx)
	if !requeued(check) {
		t.Fatal("a deadline is judged before the results were processed")
	}
	now = now.Add(31 * time.Second)
	if requeued(check) {
		t.Fatal("a deadline waits for ever")
	}
}

// TestDeadLettersWaitForAHealthyHandler: nothing is sent again while the store is away.
func TestDeadLettersWaitForAHealthyHandler(t *testing.T) {
	t.Parallel()
	w := newWorld(t, azure)
	noError(t, w.bus.Send(w.ctx, message.TopicOrchestratorEvents, odd(1)))
	w.bury(message.TopicOrchestratorEvents, message.SubscriptionOrchestrator, bus.ReasonExpired, 1)
	book := &sends{Sender: w.bus}
	asked := make(chan struct{})
	reach := sync.OnceFunc(func() { close(asked) })
	remove := w.cosmos.Inject(cosmos.Fault{Status: 503, Match: func(cosmos.Request) bool { reach(); return true }})
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.reborn(func(c *app.Config) { c.Bus = book }).ReturnDeadLetters(w.ctx)
	}()
	<-asked
	if len(book.ids) != 0 || w.buried(message.TopicOrchestratorEvents, message.SubscriptionOrchestrator) != 1 {
		t.Errorf("sent %q", book.ids)
	}
	remove()
	<-done
	if len(book.ids) != 1 || w.buried(message.TopicOrchestratorEvents, message.SubscriptionOrchestrator) != 0 {
		t.Errorf("sent %q", book.ids)
	}
}
