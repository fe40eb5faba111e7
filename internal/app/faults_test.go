package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/memory"
	"github.com/matoolkit/matoolkit/internal/store/storetest"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

// switchedBus is a sender to the broker that a test can switch off.
type switchedBus struct {
	bus.Sender
	shut atomic.Bool
}

func (g *switchedBus) Send(ctx context.Context, topic string, messages ...bus.Message) error {
	if g.shut.Load() {
		return fmt.Errorf("%w: the gate is shut", bus.ErrUnavailable)
	}
	return g.Sender.Send(ctx, topic, messages...)
}

// process is another handler process of the same system, its clock ahead by some
// time and its way to the broker a gate.
func (w *world) process(ahead time.Duration) (*app.App, *switchedBus) {
	g := &switchedBus{Sender: w.bus}
	now := func() time.Time { return time.Now().Add(ahead) }
	return app.New(app.Config{Store: w.store, Bus: g, Now: now, Log: slog.New(slog.DiscardHandler)}), g
}

// kill is another process, which does something and is killed right after its n-th
// write: nothing that would follow is done. It tells whether it came to that.
func (s *stage) kill(write int, do func(ctx context.Context, a *app.App) error) bool {
	s.t.Helper()
	return s.killOn(s.bus, write, do)
}

// killOn is killed, with a way of its own to send messages.
func (s *stage) killOn(sender bus.Sender, write int, do func(ctx context.Context, a *app.App) error) bool {
	s.t.Helper()
	return s.killWhen(sender, write, func() {}, do)
}

// killLate is killed, and before its last write reaches the store something else is done.
func (s *stage) killLate(write int, meanwhile func(), do func(ctx context.Context, a *app.App) error) bool {
	s.t.Helper()
	return s.killWhen(s.bus, write, meanwhile, do)
}

func (s *stage) killWhen(sender bus.Sender, write int, meanwhile func(), do func(ctx context.Context, a *app.App) error) bool {
	s.t.Helper()
	ctx, kill := context.WithCancel(s.ctx)
	defer kill()
	bus := &switchedBus{Sender: sender}
	var writes atomic.Int64
	var cut atomic.Bool
	var under sync.WaitGroup // operations that reach the store, also if nobody waits for the answer
	db := s.over(line{before: func(op operation) error {
		under.Add(1)
		switch {
		case cut.Load():
			under.Done()
			return errDead{}
		case op.write && writes.Add(1) == int64(write): // which still reaches the store
			meanwhile()
			kill()
			cut.Store(true)
			bus.shut.Store(true)
		}
		return nil
	}, after: func(operation) { under.Done() }})
	err := do(ctx, app.New(app.Config{Store: db, Bus: bus, Now: s.clock.Now, NewID: s.newID, Log: s.log, Sources: s.sources(), Artifacts: s.artifacts}))
	under.Wait()
	if died := ctx.Err() != nil; !died || err == nil {
		noError(s.t, err)
		return false
	}
	return true
}

// errDead is the store's answer to a killed process. Like a cancelled context it is not
// retried, also when the process uses another context.
type errDead struct{}

func (errDead) Error() string        { return "the process was killed" }
func (errDead) NonRetriable()        {}
func (errDead) Is(target error) bool { return target == context.Canceled }

// whereverItIsCut plays a piece once for each write after which something can be cut
// short, or with -short for one in cutStep.
func whereverItIsCut(t *testing.T, piece func(t *testing.T, s *stage, write int) (cut bool)) {
	t.Helper()
	t.Parallel()
	write := 1
	for {
		s := newStage(t, false)
		cut := piece(t, s, write)
		s.verify()
		if !cut {
			break
		}
		write += cutStep()
	}
	if write == 1 {
		t.Fatal("it was never cut short")
	}
}

// storeScheduled stores a batch that follows a schedule, of the active version.
func (w *world) storeScheduled(id int, yaml string, members int, start time.Time) {
	w.t.Helper()
	scheduledIn(w, w.store, id, yaml, members, start)
}

// scheduledIn is scheduled in a store.
func scheduledIn(w *world, db store.Documents, id int, yaml string, members int, start time.Time) {
	w.t.Helper()
	commit := func(op store.Write) {
		w.t.Helper()
		must(db.Apply(w.ctx, store.Writes{op}))(w.t)
	}
	rb, diagnostics := runbook.Parse([]byte(yaml))
	if rb == nil {
		w.t.Fatal(diagnostics.Err())
	}
	b := engine.NewBatch(id, rb, 1, members, &start, "", time.Now())
	for i := 1; i <= members; i++ {
		m := model.Member{
			ID: i, Page: model.PageOf(i), Key: fmt.Sprintf("m%d", i), Status: model.MemberActive,
			Data: map[string]json.RawMessage{"Name": json.RawMessage(fmt.Sprintf(`"Person %d"`, i))},
		}
		commit(store.Create(store.MemberKey(id, i), m))
	}
	commit(store.Create(store.BatchKey(id), b))
}

func (w *world) commit(ops ...store.Write) {
	w.t.Helper()
	must(w.store.Apply(w.ctx, ops))(w.t)
}

func (w *world) due(batch, phase int) {
	w.t.Helper()
	w.event(message.TypePhaseDue, message.PhaseDue{BatchID: batch, PhaseExecutionID: phase})
}

func (w *world) event(kind string, body any) {
	w.t.Helper()
	encoded := must(json.Marshal(body))(w.t)
	noError(w.t, w.app.HandleEvent(w.ctx, message.Delivery{ID: kind, Type: kind, Body: encoded, DeliveryCount: 1}))
}

// fails delivers the failure of the first attempt of a step, and returns what the
// handler makes of it.
func (w *world) fails(a *app.App, batch, phase, member, step int) error {
	return a.HandleResult(w.ctx, w.failureOf(batch, phase, member, step))
}

func (w *world) failureOf(batch, phase, member, step int) message.Delivery {
	id := model.StepID(phase, member, step)
	body, err := json.Marshal(message.Result{
		JobID: fmt.Sprintf("step-%d-attempt-1", id), Status: message.StatusFailure, Error: &message.JobError{Message: "no"},
		CorrelationData: message.Correlation{BatchID: batch, StepExecutionID: id},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return message.Delivery{ID: "r", Body: body, DeliveryCount: 1}
}

const overlapping = `
name: overlap
data_source: {type: csv, primary_key: Name}
phases:
  - {name: a, offset: T-2d, steps: [{name: s, worker_id: worker-01, function: A, params: {N: "{{Name}}"}}]}
  - {name: b, offset: T-1d, steps: [{name: s, worker_id: worker-01, function: B, params: {N: "{{Name}}"}}]}
  - {name: c, offset: T-0, steps: [{name: s, worker_id: worker-01, function: C, params: {N: "{{Name}}"}}]}
`

func TestPhasesThatOverlapKeepTheOrderOfEachMember(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(overlapping)
	const batch, members = 7, 60
	w.storeScheduled(batch, overlapping, members, time.Now())
	for phase := 1; phase <= 3; phase++ {
		w.due(batch, phase) // page 2 comes over the bus
	}
	w.pump(2, func(j message.Job) (string, error) {
		if j.FunctionName == "B" && strings.Contains(string(j.Parameters), `"Person 2"`) {
			return "", errors.New("no")
		}
		return "true", nil
	}, func() bool { return w.status(batch) == "completed" })
	for i, want := range [][2]int{{members, 0}, {members - 1, 1}, {members - 1, 0}} {
		p := w.phases(batch)[i]
		if got := [2]int{p.Succeeded, p.Failed}; got != want {
			t.Errorf("phase %s: succeeded and failed %v, want %v", p.Name, got, want)
		}
	}
	order := map[string]string{}
	for _, j := range w.jobs {
		if member := string(j.Parameters); !strings.HasSuffix(order[member], j.FunctionName) { // each is delivered twice
			order[member] += j.FunctionName
		}
	}
	for member, got := range order {
		want := "ABC"
		if strings.Contains(member, `"Person 2"`) {
			want = "AB"
		}
		if got != want {
			t.Errorf("%s went through %s, want %s", member, got, want)
		}
	}
}

// A failed member's waiting runs end one after the other, in one go. Wherever
// that is cut short, the result's redelivery completes it.
func TestChainOfEndsIsCompletedWhereverItWasCutShort(t *testing.T) {
	t.Parallel()
	w := newWorld(t, azure)
	w.publish(overlapping)
	for cut := range 10 {
		for _, fault := range []cosmos.Fault{{Status: 503}, {DropAfter: true}} {
			batch := 100 + 2*cut
			if fault.DropAfter {
				batch++
			}
			w.storeScheduled(batch, overlapping, 1, time.Now())
			for phase := 1; phase <= 3; phase++ {
				w.due(batch, phase)
			}
			fault.On, fault.Skip, fault.Count = []cosmos.Operation{cosmos.Batch, cosmos.Replace}, cut, 1
			fault.Match = func(r cosmos.Request) bool {
				return strings.Contains(r.PartitionKey, `"`+store.BatchPartition(batch)+`"`)
			}
			remove := w.cosmos.Inject(fault)
			noError(t, w.fails(w.app, batch, 1, 1, 0))
			remove()
			if got := w.status(batch); got != "failed" {
				t.Errorf("cut at write %d (%+v): the batch is %s, its phases %+v", cut, fault.Status, got, w.phases(batch))
			}
		}
	}
}

// What an advance announces can be lost between the commit and the send: asking
// again announces again, and so does the scheduler's tick.
// TestDeliveryThatLosesARaceDoesWhatFollows: two processes handle two deliveries of one result,
// after which a member's next runs end. One process dies when it has ended the first of them. The
// other has loaded that run before, and the member afterwards. Its delivery is the only one left
// to end the runs behind it.
func TestDeliveryThatLosesARaceDoesWhatFollows(t *testing.T) {
	t.Parallel()
	db := memory.New(memory.Config{})
	process := func(hook memory.Hook) *app.App {
		return app.New(app.Config{Store: db.Session(hook), Bus: &notebook{}, Log: slog.New(slog.DiscardHandler)})
	}
	w := &world{t: t, ctx: t.Context(), app: process(nil)}
	w.publish(overlapping)
	scheduledIn(w, db, 1, overlapping, 1, time.Now())
	for phase := 1; phase <= 3; phase++ {
		w.due(1, phase)
	}

	dying, die := context.WithCancel(t.Context())
	ended := false
	dies := process(func(_ context.Context, op memory.Operation) memory.Fault {
		if ended {
			die()
			return memory.Unavailable
		}
		ended = slices.ContainsFunc(op.Writes, func(w store.Write) bool { return w.Key == store.RunKey(1, 2, 1) })
		return memory.Fault{}
	})
	var loaded, raced bool
	lives := process(func(_ context.Context, op memory.Operation) memory.Fault {
		loaded = loaded || op.ID == store.RunKey(1, 2, 1).ID
		if loaded && !raced && op.ID == store.MemberKey(1, 1).ID {
			raced = true
			if err := dies.HandleResult(dying, w.failureOf(1, 1, 1, 0)); err == nil {
				t.Error("the process did not die")
			}
		}
		return memory.Fault{}
	})
	if err := w.fails(lives, 1, 1, 1, 0); err != nil || !raced {
		t.Fatal(raced, describe(err))
	}
	for phase, want := range map[int]model.RunStatus{1: model.RunFailed, 2: model.RunCancelled, 3: model.RunCancelled} {
		run, err := store.Read[model.Run](t.Context(), db, store.RunKey(1, phase, 1))
		if err != nil || run.Doc.Status != want {
			t.Errorf("the run in phase %d is %s, not %s: %v", phase, run.Doc.Status, want, err)
		}
	}
}

func TestAnnouncementLostAfterTheCommitIsMadeAgain(t *testing.T) {
	t.Parallel()
	for _, yaml := range []string{mover, flat} {
		for name, again := range map[string]func(w *world, id int){
			"asked again": func(w *world, id int) {
				view := patiently(w, func() (api.AdvanceResult, error) {
					return w.app.Advance(w.ctx, audit.Caller{}, id, w.phases(id)[0].Name)
				})
				if !view.Repeated {
					w.t.Errorf("not a repetition: %+v", view)
				}
			},
			"tick": func(w *world, _ int) {
				later, _ := w.process(5 * time.Minute)
				if err := later.Tick(w.ctx); err != nil {
					w.t.Error(err)
				}
			},
		} {
			rb, _ := runbook.Parse([]byte(yaml))
			t.Run(rb.Name+", "+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.publish(yaml)
				b := w.batch(rb.Name, people(3))
				dying, switched := w.process(0)
				switched.shut.Store(true)
				if _, err := dying.Advance(w.ctx, audit.Caller{}, b.ID, w.next(b.ID)); problem.CodeOf(err) != api.CodeUnavailable {
					t.Fatalf("advanced without a broker: %v", err)
				}
				again(w, b.ID)
				first := w.phases(b.ID)[0].Name
				w.pump(1, migrate, func() bool { return w.ended(b.ID, first) })
			})
		}
	}
}

// An init step can take longer than the broker remembers message ids: once init
// is under way nothing announces it again.
func TestInitUnderWayIsNotAnnouncedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.createBatch(mover, people(1))
	must(w.app.Advance(w.ctx, audit.Caller{}, b.ID, w.next(b.ID)))(t)
	for range 2 {
		w.event(message.TypeBatchInit, message.BatchInit{BatchID: b.ID, RunbookVersion: 1})
	}
	sent := w.bus.Sent()
	if _, err := w.app.Advance(w.ctx, audit.Caller{}, b.ID, w.next(b.ID)); problem.CodeOf(err) != api.CodeConflict || !strings.Contains(err.Error(), "when its init steps have ended") {
		t.Errorf("advanced during init: %v", err)
	}
	later, _ := w.process(20 * time.Minute)
	noError(t, later.Tick(w.ctx))
	if n := w.bus.Sent() - sent; n != 0 {
		t.Errorf("%d messages were sent for an init that is under way", n)
	}
}

// notebook is a way to a broker that only notes what it is given.
type notebook struct {
	bus.Sender
	sent []bus.Message
}

func (n *notebook) Send(_ context.Context, _ string, messages ...bus.Message) error {
	n.sent = append(n.sent, messages...)
	return nil
}

// TestRequeuedMessageIsTheSameMessage: the time of an invocation that an outage of the store outlasts
// passes by the clock of the bubble.
func TestRequeuedMessageIsTheSameMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		book := &notebook{}
		away := memory.New(memory.Config{Hook: func(context.Context, memory.Operation) memory.Fault { return memory.Unavailable }})
		a := app.New(app.Config{Store: away, Bus: book, Log: slog.New(slog.DiscardHandler)})
		outage := func(m message.Delivery) bus.Message {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			book.sent = nil
			if err := a.HandleEvent(ctx, m); err != nil || len(book.sent) != 1 {
				t.Fatalf("%v, sent %v", err, book.sent)
			}
			return book.sent[0]
		}
		m := message.Delivery{
			ID: "retry-1", Type: message.TypeRetryCheck, Body: []byte(`{"BatchId":1,"StepExecutionId":10000001000,"Count":1}`), DeliveryCount: 1,
			Properties: map[string]any{message.PropertyMessageType: message.TypeRetryCheck, "traceparent": "00-1-2-01", "n": int64(7)},
		}
		for range 3 {
			again := outage(m)
			if string(again.Body) != string(m.Body) || fmt.Sprint(again.Properties) != fmt.Sprint(m.Properties) || time.Until(again.At) < 20*time.Second {
				t.Fatalf("put back %+v", again)
			}
			if !strings.HasPrefix(again.ID, "retry-1-again-") || strings.Count(again.ID, "again") != 1 {
				t.Fatalf("put back as %s", again.ID)
			}
			m.ID = again.ID
		}
		// Messages without an id must not be taken for one another's repetition.
		one := outage(message.Delivery{Type: message.TypeRetryCheck, Body: []byte(`{"BatchId":1,"StepExecutionId":10000001000}`)})
		two := outage(message.Delivery{Type: message.TypeRetryCheck, Body: []byte(`{"BatchId":1,"StepExecutionId":10000002000}`)})
		if strings.Split(one.ID, "-")[0] == strings.Split(two.ID, "-")[0] {
			t.Fatalf("both are put back as %s", one.ID)
		}
		// A message that is bad as well waits for the store that is to keep it.
		if bad := outage(message.Delivery{ID: "bad", Type: "dance", Body: []byte(`{}`)}); !strings.HasPrefix(bad.ID, "bad-again-") {
			t.Fatalf("put back %+v", bad)
		}
	})
}

// TestMessageOftenDeliveredDoesNotWaitForTheStore: a process that waits out an outage may be
// killed again and again, and the message would end as a dead letter.
func TestMessageOftenDeliveredDoesNotWaitForTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, inMemory)
		book := &notebook{Sender: w.bus}
		a := app.New(app.Config{Store: w.store, Bus: book, Log: slog.New(slog.DiscardHandler)})
		w.disturb(unavailable)
		m := message.Delivery{ID: "retry-1", Type: message.TypeRetryCheck, Body: []byte(`{"BatchId":1,"StepExecutionId":10000001000,"Count":1}`)}
		for delivery := 1; delivery <= 10; delivery++ {
			m.DeliveryCount, book.sent = delivery, nil
			lives, kill := context.WithCancel(t.Context())
			time.AfterFunc(30*time.Second, kill)
			began := time.Now()
			err := a.HandleEvent(lives, m)
			kill()
			if back := len(book.sent) == 1 && err == nil; back != (delivery > 3) {
				t.Fatalf("delivery %d: %v, sent %v", delivery, err, book.sent)
			}
			if waited := time.Since(began); delivery > 3 && waited > 10*time.Second {
				t.Errorf("delivery %d waited %s for the store", delivery, waited)
			}
		}
	})
}

func TestMessageWhoseAttemptsAllFailIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.storeScheduled(3, overlapping, 1, time.Now()) // its runbook was never published
	body := []byte(`{"BatchId":3,"PhaseExecutionId":1}`)
	for delivery := 1; delivery <= 5; delivery++ {
		err := w.app.HandleEvent(w.ctx, message.Delivery{ID: "m", Type: message.TypePhaseDue, Body: body, DeliveryCount: delivery})
		if (err == nil) != (delivery == 5) {
			t.Fatalf("delivery %d: %v", delivery, err)
		}
	}
	messages, err := storetest.All[store.Unprocessable](w.ctx, w.store, store.PartitionUnprocessable, "unprocessed")
	if err != nil || len(messages) != 1 || string(messages[0].Doc.Body) != string(body) || !strings.Contains(messages[0].Doc.Reason, "runbook overlap version 1") {
		t.Fatalf("kept %+v, %v", messages, err)
	}
}

func TestTickMakesUpForLostMessages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	yaml := strings.Replace(overlapping, "name: overlap", "name: overlap\nretry: {max_retries: 1, interval: 1m}", 1)
	w.publish(yaml)
	const batch, members = 5, 60
	start := time.Now()
	w.storeScheduled(batch, yaml, members, start.Add(24*time.Hour))
	w.commit(store.Create(store.EntryKey(batch), map[string]any{"id": batch, "status": "detected"})) // as listed at first
	tick := func(ahead time.Duration) []bus.Message {
		t.Helper()
		book := &notebook{Sender: w.bus}
		a := app.New(app.Config{Store: w.store, Bus: book, Now: func() time.Time { return start.Add(ahead) }, Log: slog.New(slog.DiscardHandler)})
		noError(t, a.Tick(w.ctx))
		return book.sent
	}
	ids := func(messages []bus.Message) string {
		var out []string
		for _, m := range messages {
			id, _, again := strings.Cut(m.ID, "-tick-")
			if again {
				id += " again"
			}
			out = append(out, id)
		}
		return strings.Join(out, ", ")
	}
	// Phase a has been due for a day, b is due now and c in a day.
	if got := ids(tick(0)); got != "phase-due-batch-5-1-page-1 again, phase-due-batch-5-2-page-1" {
		t.Fatalf("announced %s", got)
	}
	if page, err := w.app.Batches(w.ctx, api.ListOptions{}); err != nil || page.Items[0].Status != "active" || page.Items[0].MemberCount != members {
		t.Fatalf("the list was not set right: %+v, %v", page, err)
	}
	w.due(batch, 2)
	if got := w.phases(batch)[1].Status; got != "pending" {
		t.Fatalf("phase b overtook phase a: it is %s", got)
	}
	w.due(batch, 1)
	w.due(batch, 1) // page 2 is under way on the bus and may be lost there
	if got := ids(tick(5 * time.Minute)); !strings.Contains(got, "phase-due-batch-5-1-page-1 again") {
		t.Fatalf("announced %s", got)
	}
	for member := 1; member <= 49; member++ {
		noError(t, w.fails(w.app, batch, 1, member, 0))
	}
	if got := strings.Count(ids(tick(time.Minute)), "retry-check"); got != 0 {
		t.Fatalf("%d retries were announced that are not late", got)
	}
	if got := strings.Count(ids(tick(5*time.Minute)), "retry-check-batch-5-10000"); got != 49 {
		t.Fatalf("%d retries were announced again", got)
	}
}

func TestBatchThatWasNeverListedIsListedByTheTick(t *testing.T) {
	t.Parallel()
	w := newWorld(t, azure)
	w.publish(flat)
	remove := w.cosmos.Inject(cosmos.Fault{On: []cosmos.Operation{cosmos.Patch}, Status: 503})
	if _, err := w.app.CreateBatch(w.ctx, audit.Caller{}, "flat", []byte(people(3))); err != nil { // to ask again would make another
		t.Fatalf("%v", err)
	}
	remove()
	w.cosmos.Inject(cosmos.Fault{On: []cosmos.Operation{cosmos.Batch}, Skip: 1, Count: 1, Status: 503}) // the members' write
	if _, err := w.app.CreateBatch(w.ctx, audit.Caller{}, "flat", []byte(people(3)), api.AllowInOtherBatches); problem.CodeOf(err) != api.CodeUnavailable {
		t.Fatalf("%v", err)
	}
	noError(t, w.app.Tick(w.ctx))
	page, err := w.app.Batches(w.ctx, api.ListOptions{})
	if err != nil || len(page.Items) != 1 || page.Items[0].ID != 1 || page.Items[0].MemberCount != 3 {
		t.Fatalf("listed %+v, %v; want the first batch, which is whole, and not the second", page.Items, err)
	}
}

// An administrator would repeat the init of a manual batch, but not of a scheduled one.
func TestInitOfAScheduledBatchIsAnnouncedAgainByTheTick(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": always(`{"id":"u"}`)}
		s.park = ofType(message.TypeBatchInit)
		s.publish(mover)
		const id = 100
		s.schedule(id, mover, 2, dawn.Add(24*time.Hour))
		if len(s.parked) == 0 {
			t.Fatal("init was not announced")
		}
		s.park, s.parked = nil, nil // lost
		s.wantStatus(id, "detected")
		s.tickAfter(5 * time.Minute)
		s.wantCalls(0, "Prepare")
		s.wantPhases(id, "init completed 1/0/0, create completed 2/0/0, verify pending 0/0/0")
	})
}

// A tick that reports an event that a dead process did not report may meet another
// process that does the same. It continues with the rest of the batch.
func TestTickThatLosesARaceGoesOn(t *testing.T) {
	t.Parallel()
	races := 0
	for write := 1; write < 20; write++ {
		s := newStage(t, false, azure)
		s.publish(overlapping)
		s.storeScheduled(1, overlapping, 1, s.clock.Now())
		s.due(1, 1)
		if !s.kill(write, func(ctx context.Context, a *app.App) error { return a.HandleResult(ctx, s.failureOf(1, 1, 1, 0)) }) {
			break
		}
		remove := s.cosmos.Inject(cosmos.Fault{On: []cosmos.Operation{cosmos.Batch}, Count: 1, Status: 412, Match: func(cosmos.Request) bool {
			races++
			return true
		}})
		if err := s.app.Tick(s.ctx); err != nil {
			t.Errorf("after write %d: %v", write, err)
		}
		remove()
	}
	if races == 0 {
		t.Error("the tick had nothing to report")
	}
}
