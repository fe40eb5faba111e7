package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

// A process that dies between storing a page and sending its jobs leaves runs that wait
// for results. Once the batch is cancelled, the workers answer that the jobs are revoked.
func TestCancelledBatchEndsWhereverItsPageWasCutShort(t *testing.T) {
	t.Parallel()
	for write := 1; write <= 6; write++ {
		t.Run(fmt.Sprintf("after write %d", write), func(t *testing.T) {
			t.Parallel()
			s := newStage(t, false)
			s.script = script{"New": fails(errLost)}
			s.park = ofType(message.TypePhaseDue)
			b := s.startBatch(twoSteps, people(2))
			due := s.parked[0]
			s.kill(write, due.handle)
			s.cancel(b.ID)
			s.unpark()
			s.revokes()
			s.pass(10 * time.Second)
			s.wantStatus(b.ID, "cancelled")
			s.verify()
		})
	}
}

// recorder keeps the sent messages.
type recorder struct {
	bus.Sender
	mu   sync.Mutex
	sent map[string][]bus.Message // by topic
}

func (r *recorder) Send(_ context.Context, topic string, messages ...bus.Message) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent[topic] = append(r.sent[topic], messages...)
	return nil
}

// slowProcess is a process whose operations at the store take some time each. The func returns
// when the last read of a document began.
func (s *stage) slowProcess(each time.Duration) (process *app.App, lastRead func(id string) time.Time, sent *recorder) {
	s.t.Helper()
	var mu sync.Mutex
	began := map[string]time.Time{}
	db := s.over(line{before: func(op operation) error {
		mu.Lock()
		began[op.id] = s.clock.Now()
		mu.Unlock()
		s.clock.ns.Add(int64(each))
		return nil
	}})
	sent = &recorder{Sender: s.bus, sent: map[string][]bus.Message{}}
	lastRead = func(id string) time.Time {
		mu.Lock()
		defer mu.Unlock()
		return began[id]
	}
	return app.New(app.Config{Store: db, Bus: sent, Now: s.clock.Now, Log: s.log}), lastRead, sent
}

// Jobs that other processes dispatch between the decision of a pause and its storage
// are revoked too.
func TestPauseRevokesWhatWasDispatchedUntilItWasStored(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	b := s.createBatch(twoSteps, people(1))
	process, _, sent := s.slowProcess(10 * time.Second)
	must(process.Pause(s.ctx, ada, b.ID, ""))(t)
	view := must(s.app.Batch(s.ctx, ada, b.ID))(t)
	controls := sent.sent[message.TopicWorkerControl]
	if len(controls) != 1 {
		t.Fatalf("%d controls were sent", len(controls))
	}
	var c message.Control
	noError(t, json.Unmarshal(controls[0].Body, &c))
	if committed := view.Paused.At.Add(10 * time.Second); c.RevokedThrough.Before(committed) {
		t.Fatalf("jobs are revoked through %s; the pause was stored at %s", c.RevokedThrough, committed)
	}
}

// A job is dispatched as of a moment before its batch was seen to be open. A pause that
// is stored after that moment revokes it.
func TestJobIsDispatchedAsOfBeforeItsBatchWasRead(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.script = script{"New": fails(errLost)}
	b := s.startBatch(twoSteps, people(1))
	s.park = containing(`"JobId"`)
	s.answers(1, "New", `{"a":1}`, nil)
	process, lastRead, sent := s.slowProcess(10 * time.Second)
	result := s.parked[0]
	noError(t, result.handle(s.ctx, process))
	jobs := sent.sent[message.TopicWorkerJobs]
	if len(jobs) != 1 {
		t.Fatalf("%d jobs were sent", len(jobs))
	}
	var j message.Job
	noError(t, json.Unmarshal(jobs[0].Body, &j))
	if read := lastRead(store.BatchKey(b.ID).ID); read.IsZero() || j.DispatchedAt.After(read) {
		t.Fatalf("dispatched as of %s, the batch was read at %s", j.DispatchedAt, read)
	}
}

// A handler that was away finds the heartbeats of that time in its subscription, and may
// come to the deadlines first. Until it has read them, no worker is taken to be gone.
func TestDeadlineWaitsForHeartbeatsThatTheHandlerHasNotRead(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.app = app.New(app.Config{Store: s.store, Bus: s.bus, Waiting: s.bus, Now: s.clock.Now, Log: s.log})
	s.script = script{"Do": fails(errLost)}
	b := s.createBatch(oneStep(", timeout: 2m"), people(3))
	r := s.replica("r1")
	r.beat()
	s.advance(b.ID)
	s.park = ofType(message.TypeDeadlineCheck)
	s.pass(4 * time.Minute)
	until := s.clock.Now().Add(time.Hour)
	r.ThrottledUntil = &until
	m := r.message()
	noError(t, s.bus.Send(s.ctx, message.TopicWorkerResults, bus.Message{ID: m.ID, Body: m.Body, Properties: map[string]any{message.PropertyMessageType: m.Type}}))
	s.clock.ns.Add(int64(40 * time.Second))
	for _, check := range s.parked {
		noError(t, check.handle(s.ctx, s.app))
	}
	s.wantPhases(b.ID, "only dispatched 0/0/0+3")
	s.deliverAll()
	s.unpark()
	r.during(5 * time.Minute)
	s.wantPhases(b.ID, "only dispatched 0/0/0+3")
	for range 5 { // no worker reports any more
		s.pass(2 * time.Minute)
	}
	s.wantPhases(b.ID, "only failed 0/3/0")
}

// watcher is a Watcher that looks at the subscription of this app only.
type watcher func() (oldest time.Time, found bool, err error)

func (w watcher) Oldest(context.Context, string, string) (time.Time, bool, error) { return w() }
func (w watcher) Exists(context.Context, string, string) error                    { return nil }

// A heartbeat can be processed after a deadline check has read the record of the worker, and
// before the check looks at what still waits. Then the record is out of date.
func TestDeadlineReadsTheHeartbeatsThatWereProcessedMeanwhile(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	r := s.replica("r1")
	s.app = app.New(app.Config{Store: s.store, Bus: s.bus, Now: s.clock.Now, Log: s.log, Waiting: watcher(func() (time.Time, bool, error) {
		return time.Time{}, false, s.other.HandleResult(s.ctx, r.message())
	})})
	s.script = script{"Do": fails(errLost)}
	b := s.createBatch(oneStep(", timeout: 2m"), people(1))
	r.beat()
	s.advance(b.ID)
	until := s.clock.Now().Add(time.Hour)
	r.ThrottledUntil = &until
	s.park = ofType(message.TypeDeadlineCheck)
	for n := range 3 {
		s.pass(4 * time.Minute)
		checks := s.parked
		s.parked = nil
		if len(checks) == 0 {
			t.Fatalf("no deadline was checked in round %d", n+1)
		}
		for _, check := range checks {
			noError(t, check.handle(s.ctx, s.app))
		}
		s.wantPhases(b.ID, "only dispatched 0/0/0+1")
	}
}

// A result that was put back in an outage is in no subscription for a while. The deadline of its
// step can come before it.
func TestDeadlineWaitsForARequeuedResult(t *testing.T) {
	t.Parallel()
	s := newStage(t, false, azure)
	book := &notebook{Sender: s.bus}
	process := app.New(app.Config{Store: s.store, Bus: book, Now: s.clock.Now, Log: s.log, WorkerStartup: time.Nanosecond})
	s.script = script{"Do": fails(errLost)}
	b := s.startBatch(oneStep(", timeout: 2m"), people(1))
	s.park = ofType(message.TypeDeadlineCheck)
	s.pass(4 * time.Minute)
	if len(s.parked) != 1 {
		t.Fatalf("%d deadlines were checked, want 1", len(s.parked))
	}
	j := s.jobs[0]
	body := must(json.Marshal(message.Result{JobID: j.JobID, Status: message.StatusSuccess, Result: json.RawMessage(`true`), CorrelationData: j.CorrelationData}))(t)
	heal := s.cosmos.Inject(cosmos.Fault{Status: 503})
	noError(t, process.HandleResult(s.ctx, message.Delivery{ID: "result", Body: body, DeliveryCount: 4}))
	heal()
	check := s.parked[0]
	noError(t, check.handle(s.ctx, process))
	s.wantPhases(b.ID, "only dispatched 0/0/0+1")
	if len(book.sent) != 2 || !strings.HasPrefix(book.sent[1].ID, "deadline-check-"+j.ID()) || !book.sent[1].At.After(s.clock.Now()) {
		t.Fatalf("sent %d messages, want the result and the deadline check", len(book.sent))
	}
	s.clock.ns.Add(int64(time.Minute))
	noError(t, check.handle(s.ctx, process))
	s.wantPhases(b.ID, "only failed 0/1/0")
}

// late is a Watcher for which the oldest message of each subscription came at one moment.
type late time.Time

func (l late) Oldest(context.Context, string, string) (time.Time, bool, error) {
	return time.Time(l), true, nil
}

func (l late) Exists(context.Context, string, string) error { return nil }

// While the handler is behind, each tick announces the deadlines that passed. If it also put back
// what earlier ticks announced, these messages would keep it from the results for ever.
func TestDeadlinesThatWaitForTheHandlerDoNotAddUp(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.app = app.New(app.Config{Store: s.store, Bus: s.bus, Waiting: late(s.clock.Now()), Now: s.clock.Now, Log: s.log})
	s.script = script{"Do": fails(errLost)}
	b := s.startBatch(oneStep(", timeout: 2m"), people(1))
	for range 4 { // no worker has started by then
		s.pass(4 * time.Minute)
	}
	for n := range 5 {
		before := len(s.past)
		s.tickAfter(model.TickInterval)
		checks := 0
		for _, p := range s.past[before:] {
			if p.m.Type == message.TypeDeadlineCheck {
				checks++
			}
		}
		if checks != 1 {
			t.Fatalf("tick %d: the handler got %d checks of one deadline, want 1", n+1, checks)
		}
	}
	s.wantPhases(b.ID, "only dispatched 0/0/0+1")
	s.app = s.other
	s.tickAfter(model.TickInterval)
	s.wantPhases(b.ID, "only failed 0/1/0")
}

// unreadable is a broker whose dead-letter queues cannot be read.
type unreadable struct{}

func (unreadable) TakeDeadLetters(context.Context, string, string, int, func(context.Context, bus.DeadLetter) error) (int, error) {
	return 0, bus.ErrUnavailable
}

// TestDeadlinesThatWaitForDeadLettersDoNotAddUp: while processes start again and again and cannot
// read the dead-letter queues, in which results may be, deadlines wait. Each tick announces those
// that passed. A deadline has one next check all the same.
func TestDeadlinesThatWaitForDeadLettersDoNotAddUp(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.script = script{"Do": fails(errLost)}
	b := s.startBatch(oneStep(", timeout: 2m"), people(1))
	restart := func() {
		s.app = app.New(app.Config{Store: s.store, Bus: s.bus, Dead: unreadable{}, Now: s.clock.Now, Log: s.log})
	}
	first := 0
	for n := range 24 {
		restart()
		before := len(s.past)
		s.pass(time.Minute)
		if n%4 == 3 { // the ticks are not in step with their own interval
			s.tick()
		}
		checks := 0
		for _, p := range s.past[before:] {
			if p.m.Type == message.TypeDeadlineCheck {
				checks++
			}
		}
		if n == 3 {
			first = checks
		}
		if n > 3 && (checks == 0 || checks > first+1) {
			t.Fatalf("minute %d: the handler got %d checks of one deadline, in minute 4 %d", n+1, checks, first)
		}
	}
	s.wantPhases(b.ID, "only dispatched 0/0/0+1")
	s.app = s.other
	s.pass(time.Minute)
	s.wantPhases(b.ID, "only failed 0/1/0")
}
