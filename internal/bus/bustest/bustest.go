// Package bustest is the conformance suite of package bus. Every driver passes it.
//
// It needs the topics that are deployed to Azure (infra/topology.json) with the worker
// worker-01, and no other receiver on them.
package bustest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
)

// Namespace is a broker under test.
type Namespace struct {
	Client bus.Client
	// Advance lets time pass for the broker: it moves the broker's clock, or waits.
	Advance func(time.Duration)
	// Now is the broker's clock.
	Now func() time.Time
	// Quiet is how long the suite waits to see that no message comes.
	Quiet time.Duration
}

// Run runs the suite. Each test calls open once, for a namespace without messages.
func Run(t *testing.T, open func(t *testing.T) Namespace) {
	t.Helper()
	for name, test := range map[string]func(*suite){
		"MessageArrivesAsItWasSent":       arrivesAsSent,
		"ManyMessagesArriveInOrder":       manyInOrder,
		"LargeMessageIsRefusedForGood":    tooLarge,
		"ScheduledMessageArrivesOnTime":   scheduled,
		"ReceiveWaitsForAMessage":         receiveWaits,
		"EndedContextEndsReceive":         receiveEnds,
		"CompletedMessageIsGone":          completed,
		"AbandonedMessageComesAgain":      abandoned,
		"LastDeliveryIsDeadLettered":      lastDelivery,
		"RenewedLockHolds":                renewed,
		"ExpiredLockIsLost":               lockLost,
		"SameMessageArrivesOnce":          duplicates,
		"SubscriptionFiltersItsMessages":  filters,
		"PeekTakesNothing":                peek,
		"DeadLettersAreTakenOnce":         deadLetters,
		"ExpiredMessageIsDeadLettered":    expired,
		"OldestMessageIsSeenAndNotTaken":  oldest,
		"MissingEntityIsNotFound":         notFound,
		"MessageCarriesTheTrace":          traced,
		"PingTakesNothing":                ping,
		"UnreadMessageIsNotCounted":       unread,
		"ReceiversShareTheMessages":       shared,
		"DeadLetterOfTwoReceiversIsTaken": deadLetterInHand,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(&suite{T: t, Namespace: open(t), began: time.Now().UnixNano()})
		})
	}
}

// suite is one test of a namespace.
type suite struct {
	*testing.T
	Namespace
	began int64
}

const worker = "worker-01"

// lock is the lock duration of all subscriptions.
const lock = time.Minute

// patience is how long a test waits for a message that must come.
const patience = 20 * time.Second

func (s *suite) id(i int) string { return fmt.Sprintf("%s-%d-%d", s.Name(), s.began, i) }

// event is a message for the topic orchestrator-events.
func (s *suite) event(i int) bus.Message { return bus.Message{ID: s.id(i), Body: []byte(`{}`)} }

// job is a message for the worker.
func (s *suite) job(i int) bus.Message {
	return bus.Message{ID: s.id(i), Body: fmt.Append(nil, i), Properties: map[string]any{message.PropertyWorkerID: worker}}
}

func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *suite) is(err, want error) {
	s.Helper()
	if !errors.Is(err, want) {
		s.Errorf("the error is %v, want %v", err, want)
	}
}

func (s *suite) send(topic string, messages ...bus.Message) {
	s.Helper()
	s.must(s.Client.Send(s.Context(), topic, messages...))
}

func (s *suite) receiver(topic, subscription string) bus.Receiver {
	s.Helper()
	r, err := s.Client.Receiver(topic, subscription)
	s.must(err)
	s.Cleanup(func() { _ = r.Close(context.Background()) })
	return r
}

func (s *suite) events() bus.Receiver {
	return s.receiver(message.TopicOrchestratorEvents, message.SubscriptionOrchestrator)
}

func (s *suite) jobs() bus.Receiver {
	return s.receiver(message.TopicWorkerJobs, message.WorkerSubscription(worker))
}

// take receives n messages, in the order of their numbers: a message that arrives between
// two calls may be given back by the first and come after others.
func (s *suite) take(r bus.Receiver, n int) []*bus.Received {
	s.Helper()
	var all []*bus.Received
	for len(all) < n {
		some, err := r.Receive(s.Context(), n-len(all), patience)
		s.must(err)
		if len(some) == 0 {
			s.Fatalf("%d messages of %d came", len(all), n)
		}
		all = append(all, some...)
	}
	slices.SortFunc(all, func(a, b *bus.Received) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return all
}

func (s *suite) one(r bus.Receiver, id string) *bus.Received {
	s.Helper()
	m := s.take(r, 1)[0]
	if m.ID != id {
		s.Fatalf("the message %s came, want %s", m.ID, id)
	}
	return m
}

func (s *suite) none(r bus.Receiver) {
	s.Helper()
	got, err := r.Receive(s.Context(), 1, s.Quiet)
	s.must(err)
	if len(got) > 0 {
		s.Fatalf("the message %s came, delivery %d", got[0].ID, got[0].DeliveryCount)
	}
}

func (s *suite) complete(r bus.Receiver, messages ...*bus.Received) {
	s.Helper()
	for _, m := range messages {
		s.must(r.Complete(s.Context(), m))
	}
}

// near reports whether two times are the same but for the clocks of the two sides.
func near(a, b time.Time) bool { return a.Sub(b).Abs() < 15*time.Second }

func arrivesAsSent(s *suite) {
	sent := bus.Message{
		ID: s.id(0), CorrelationID: "correlation", Body: []byte(`{"a":1}`), TimeToLive: time.Hour,
		Properties: map[string]any{message.PropertyWorkerID: worker, "Yes": true},
	}
	s.send(message.TopicWorkerJobs, sent)
	r := s.jobs()
	got := s.one(r, sent.ID)
	if string(got.Body) != `{"a":1}` || got.ContentType != "application/json" || got.CorrelationID != "correlation" {
		s.Errorf("%+v", got)
	}
	if len(got.Properties) != 2 || got.Properties[message.PropertyWorkerID] != worker || got.Properties["Yes"] != true {
		s.Errorf("properties %v", got.Properties)
	}
	if got.Sequence < 1 || got.DeliveryCount != 1 || !near(got.EnqueuedAt, s.Now()) {
		s.Errorf("number %d, delivery %d, enqueued at %s", got.Sequence, got.DeliveryCount, got.EnqueuedAt)
	}
	if !near(got.LockedUntil, s.Now().Add(lock)) || !near(got.ExpiresAt, s.Now().Add(time.Hour)) {
		s.Errorf("locked until %s, expires at %s", got.LockedUntil, got.ExpiresAt)
	}
	s.complete(r, got)
}

func manyInOrder(s *suite) {
	const n = 60 // with their bodies, more than one batch holds
	var messages []bus.Message
	for i := range n {
		messages = append(messages, bus.Message{ID: s.id(i), Body: []byte(strings.Repeat("x", 10_000))})
	}
	s.must(s.Client.Send(s.Context(), message.TopicWorkerResults)) // nothing
	s.send(message.TopicWorkerResults, messages...)
	r := s.receiver(message.TopicWorkerResults, message.SubscriptionOrchestrator)
	got := s.take(r, n)
	for i, m := range got {
		if m.ID != messages[i].ID {
			s.Fatalf("message %d is %s", i, m.ID)
		}
	}
	s.complete(r, got...)
	s.none(r)
}

func tooLarge(s *suite) {
	large := bus.Message{ID: s.id(0), Body: make([]byte, 2<<20)}
	for _, messages := range [][]bus.Message{{large}, {s.event(1), large}} {
		err := s.Client.Send(s.Context(), message.TopicOrchestratorEvents, messages...)
		s.is(err, bus.ErrTooLarge)
		if errors.Is(err, bus.ErrUnavailable) {
			s.Errorf("%v", err)
		}
	}
	allowed := bus.Message{ID: s.id(2), Body: make([]byte, message.Limit)}
	s.send(message.TopicWorkerResults, allowed)
	r := s.receiver(message.TopicWorkerResults, message.SubscriptionOrchestrator)
	s.complete(r, s.one(r, allowed.ID))
}

func scheduled(s *suite) {
	late, later, now := s.event(0), s.event(1), s.event(2)
	late.At = s.Now().Add(10 * time.Second).Truncate(time.Millisecond) // as messages carry it
	later.At = late.At.Add(20 * time.Second)
	s.send(message.TopicOrchestratorEvents, later, late, now)
	r := s.events()
	s.complete(r, s.one(r, now.ID))
	s.none(r)
	s.Advance(11 * time.Second)
	got := s.one(r, late.ID)
	if got.EnqueuedAt.Before(late.At) || got.DeliveryCount != 1 {
		s.Errorf("enqueued at %s, was due at %s, delivery %d", got.EnqueuedAt, late.At, got.DeliveryCount)
	}
	s.complete(r, got)
	s.send(message.TopicOrchestratorEvents, late, later) // duplicates, also of the one that still waits
	s.Advance(20 * time.Second)
	s.complete(r, s.one(r, later.ID))
	s.none(r)
	past := s.event(3)
	past.At = s.Now().Add(-time.Hour)
	s.send(message.TopicOrchestratorEvents, past)
	s.complete(r, s.one(r, past.ID))
}

func receiveWaits(s *suite) {
	r := s.events()
	s.none(r)
	came := make(chan *bus.Received, 1)
	go func() {
		defer close(came)
		if got, err := r.Receive(s.Context(), 10, patience); err != nil || len(got) != 1 {
			s.Errorf("%d messages: %v", len(got), err)
		} else {
			came <- got[0]
		}
	}()
	s.send(message.TopicOrchestratorEvents, s.event(0))
	m, ok := <-came
	if !ok || m.ID != s.id(0) {
		s.Fatalf("%v", m)
	}
	s.complete(r, m)
}

func receiveEnds(s *suite) {
	r := s.events()
	ctx, cancel := context.WithCancel(s.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := r.Receive(ctx, 1, time.Hour)
		ended <- err
	}()
	cancel()
	s.is(<-ended, context.Canceled)
	err := s.Client.Send(ctx, message.TopicOrchestratorEvents, s.event(0))
	s.is(err, context.Canceled)
	if errors.Is(err, bus.ErrUnavailable) {
		s.Errorf("a cancelled send is %v", err)
	}
}

func completed(s *suite) {
	s.send(message.TopicWorkerJobs, s.job(0))
	r := s.jobs()
	m := s.one(r, s.id(0))
	s.complete(r, m)
	s.none(r)
	s.Advance(lock + time.Second)
	s.none(r)
}

func abandoned(s *suite) {
	s.send(message.TopicWorkerJobs, s.job(0), s.job(1))
	r := s.jobs()
	m := s.one(r, s.id(0))
	s.must(r.Abandon(s.Context(), m, map[string]any{"Tries": int64(3), message.PropertyWorkerID: "another"}))
	again := s.one(r, s.id(0))
	if len(again.Properties) != 2 || again.Properties["Tries"] != int64(3) || again.Properties[message.PropertyWorkerID] != "another" {
		s.Errorf("properties %v", again.Properties)
	}
	if again.DeliveryCount != 2 || again.Sequence != m.Sequence || !again.EnqueuedAt.Equal(m.EnqueuedAt) {
		s.Errorf("first %+v, then %+v", m, again)
	}
	s.complete(r, again, s.one(r, s.id(1)))
}

func lastDelivery(s *suite) {
	const last, topic = 10, message.TopicWorkerControl // whose subscriptions allow the fewest deliveries
	subscription := message.WorkerSubscription(worker)
	s.send(topic, s.job(0))
	r := s.receiver(topic, subscription)
	for i := range last {
		m := s.one(r, s.id(0))
		if m.DeliveryCount != i+1 {
			s.Fatalf("delivery %d is counted as %d", i+1, m.DeliveryCount)
		}
		s.must(r.Abandon(s.Context(), m, nil))
	}
	s.none(r)
	removed, err := s.Client.TakeDeadLetters(s.Context(), topic, subscription, 5, func(_ context.Context, d bus.DeadLetter) error {
		if d.ID != s.id(0) || d.Reason != bus.ReasonDeliveries || d.DeliveryCount < last {
			s.Errorf("%+v", d)
		}
		return nil
	})
	if removed != 1 || err != nil {
		s.Errorf("%d dead letters: %v", removed, err)
	}
}

func renewed(s *suite) {
	s.send(message.TopicWorkerJobs, s.job(0))
	r := s.jobs()
	m := s.one(r, s.id(0))
	before := *m
	for range 2 {
		s.Advance(lock - 20*time.Second)
		until, err := r.Renew(s.Context(), m)
		s.must(err)
		if !near(until, s.Now().Add(lock)) {
			s.Errorf("locked until %s", until)
		}
	}
	if !m.LockedUntil.Equal(before.LockedUntil) {
		s.Error("Renew changed the message, which others read")
	}
	s.none(r)
	s.complete(r, m)
	s.none(r)
}

func lockLost(s *suite) {
	s.send(message.TopicWorkerJobs, s.job(0))
	r := s.jobs()
	m := s.one(r, s.id(0))
	s.Advance(lock + time.Second)
	_, err := r.Renew(s.Context(), m)
	s.is(err, bus.ErrLockLost)
	s.is(r.Complete(s.Context(), m), bus.ErrLockLost)
	if errors.Is(err, bus.ErrUnavailable) {
		s.Errorf("a lost lock is %v", err)
	}
	again := s.one(r, s.id(0))
	if again.DeliveryCount != 2 {
		s.Errorf("delivery %d", again.DeliveryCount)
	}
	s.complete(r, again)
}

func duplicates(s *suite) {
	first, second := s.event(0), s.event(1)
	s.send(message.TopicOrchestratorEvents, first)
	s.send(message.TopicOrchestratorEvents, first, second, second)
	r := s.events()
	for i, m := range s.take(r, 2) {
		if m.ID != s.id(i) {
			s.Errorf("message %d is %s", i, m.ID)
		}
		s.complete(r, m)
	}
	s.Advance(9 * time.Minute)
	s.send(message.TopicOrchestratorEvents, first)
	s.none(r)
	s.send(message.TopicWorkerResults, first) // each topic has its own window
	results := s.receiver(message.TopicWorkerResults, message.SubscriptionOrchestrator)
	s.complete(results, s.one(results, first.ID))
	s.Advance(61 * time.Second)
	s.send(message.TopicOrchestratorEvents, first)
	s.complete(r, s.one(r, first.ID))
}

func filters(s *suite) {
	mine, other, nobodys := s.job(0), s.job(1), s.job(2)
	other.Properties = map[string]any{message.PropertyWorkerID: "worker-02"}
	nobodys.Properties = nil
	s.send(message.TopicWorkerJobs, nobodys, other, mine)
	r := s.jobs()
	s.complete(r, s.one(r, mine.ID))
	s.none(r)
	s.send(message.TopicWorkerControl, nobodys) // which has no filter
	control := s.receiver(message.TopicWorkerControl, message.WorkerSubscription(worker))
	s.complete(control, s.one(control, nobodys.ID))
}

func peek(s *suite) {
	const n = 7
	var messages []bus.Message
	for i := range n {
		messages = append(messages, s.job(i))
	}
	s.send(message.TopicWorkerJobs, messages...)
	r := s.jobs()
	held := s.one(r, s.id(0))
	all := s.peekAll(r, 3)
	if len(all) != n {
		s.Fatalf("%d messages are seen", len(all))
	}
	for i, m := range all {
		if m.ID != s.id(i) || string(m.Body) != fmt.Sprint(i) || m.Properties[message.PropertyWorkerID] != worker || m.EnqueuedAt.IsZero() || m.ExpiresAt.IsZero() || !m.LockedUntil.IsZero() {
			s.Errorf("message %d: %+v", i, m)
		}
	}
	s.is(r.Complete(s.Context(), all[1]), bus.ErrLockLost)
	got := s.take(r, n-1)
	for _, m := range got {
		if m.DeliveryCount != 1 {
			s.Errorf("delivery %d", m.DeliveryCount)
		}
	}
	s.complete(r, append(got, held)...)
	page, err := r.Peek(s.Context(), 0, 1)
	if len(page) > 0 || err != nil {
		s.Errorf("%v: %v", page, err)
	}
}

// peekAll peeks at all messages in pages of at most so many.
func (s *suite) peekAll(r bus.Receiver, most int) []*bus.Received {
	s.Helper()
	var all []*bus.Received
	for from := int64(0); ; from = all[len(all)-1].Sequence + 1 {
		page, err := r.Peek(s.Context(), from, most)
		s.must(err)
		if len(page) == 0 {
			return all
		}
		if all = append(all, page...); len(page) > most {
			s.Fatalf("a page of %d", len(page))
		}
	}
}

func deadLetters(s *suite) {
	const topic = message.TopicWorkerJobs
	subscription := message.WorkerSubscription(worker)
	none := func(context.Context, bus.DeadLetter) error { s.Error("a dead letter out of nothing"); return nil }
	if n, err := s.Client.TakeDeadLetters(s.Context(), topic, subscription, 10, none); n != 0 || err != nil {
		s.Fatalf("of an empty queue %d: %v", n, err)
	}
	const all = 12
	r := s.jobs()
	const reason, description = "UnreadableJob", "it has no JobId"
	for i := range all {
		s.send(topic, s.job(i))
		s.must(r.DeadLetter(s.Context(), s.one(r, s.id(i)), reason, description))
	}
	s.none(r)

	sequences := s.refuseDeadLetters(topic, subscription, all)
	var mu sync.Mutex
	var bodies []string
	for len(bodies) < all {
		n, err := s.Client.TakeDeadLetters(s.Context(), topic, subscription, 5, func(_ context.Context, d bus.DeadLetter) error {
			mu.Lock()
			defer mu.Unlock()
			bodies = append(bodies, string(d.Body))
			s.checkDeadLetter(d, bus.DeadLetter{Topic: topic, Subscription: subscription, Reason: reason, Description: description})
			if last, known := sequences[d.ID]; d.Sequence == 0 || known && last != d.Sequence {
				s.Errorf("the dead letter %d has become %d", last, d.Sequence)
			}
			return nil
		})
		if n == 0 || err != nil {
			s.Fatalf("after %d of %d: %d, %v", len(bodies), all, n, err)
		}
	}
	slices.Sort(bodies)
	if len(slices.Compact(bodies)) != all {
		s.Errorf("taken: %q", bodies)
	}
	if n, err := s.Client.TakeDeadLetters(s.Context(), topic, subscription, 10, none); n != 0 || err != nil {
		s.Fatalf("afterwards %d: %v", n, err)
	}
}

// refuseDeadLetters reads dead letters without taking them and gives their sequence
// numbers by message id.
func (s *suite) refuseDeadLetters(topic, subscription string, most int) map[string]int64 {
	s.Helper()
	failure := errors.New("the store is away")
	var mu sync.Mutex
	sequences := map[string]int64{}
	n, err := s.Client.TakeDeadLetters(s.Context(), topic, subscription, most, func(_ context.Context, d bus.DeadLetter) error {
		mu.Lock()
		defer mu.Unlock()
		sequences[d.ID] = d.Sequence
		return failure
	})
	if n != 0 || !errors.Is(err, failure) || len(sequences) == 0 {
		s.Fatalf("%d were removed of %d that could not be taken: %v", n, len(sequences), err)
	}
	return sequences
}

// checkDeadLetter checks where a dead letter of a job is from and why, and what it keeps of
// the job.
func (s *suite) checkDeadLetter(d, want bus.DeadLetter) {
	s.Helper()
	if d.Topic != want.Topic || d.Subscription != want.Subscription || d.Reason != want.Reason || d.Description != want.Description || d.EnqueuedAt.IsZero() || d.DeliveryCount == 0 {
		s.Errorf("%+v", d)
	}
	if len(d.Properties) != 1 || d.Properties[message.PropertyWorkerID] != worker {
		s.Errorf("properties %v", d.Properties)
	}
}

func deadLetterInHand(s *suite) {
	subscription := message.WorkerSubscription(worker)
	s.send(message.TopicWorkerJobs, s.job(0))
	r := s.jobs()
	s.must(r.DeadLetter(s.Context(), s.one(r, s.id(0)), "Bad", "bad"))
	none := func(context.Context, bus.DeadLetter) error { s.Error("the dead letter is in hand"); return nil }
	n, err := s.Client.TakeDeadLetters(s.Context(), message.TopicWorkerJobs, subscription, 1, func(ctx context.Context, _ bus.DeadLetter) error {
		if n, err := s.Client.TakeDeadLetters(ctx, message.TopicWorkerJobs, subscription, 1, none); n != 0 || err != nil {
			s.Errorf("%d taken by a second reader: %v", n, err)
		}
		return nil
	})
	if n != 1 || err != nil {
		s.Errorf("%d taken: %v", n, err)
	}
}

func expired(s *suite) {
	short := s.job(0)
	short.TimeToLive = 5 * time.Second
	s.send(message.TopicWorkerJobs, short, s.job(1))
	s.send(message.TopicWorkerControl, bus.Message{ID: s.id(2), Body: []byte("{}"), TimeToLive: 5 * time.Second})
	s.Advance(6 * time.Second)
	r := s.jobs()
	s.complete(r, s.one(r, s.id(1)))
	s.none(r)
	s.none(s.receiver(message.TopicWorkerControl, message.WorkerSubscription(worker)))
	taken := func(topic string) (reasons []string) {
		_, err := s.Client.TakeDeadLetters(s.Context(), topic, message.WorkerSubscription(worker), 5, func(_ context.Context, d bus.DeadLetter) error {
			reasons = append(reasons, d.Reason)
			return nil
		})
		s.must(err)
		return reasons
	}
	if got := taken(message.TopicWorkerJobs); !slices.Equal(got, []string{bus.ReasonExpired}) {
		s.Errorf("of jobs %q", got)
	}
	if got := taken(message.TopicWorkerControl); len(got) > 0 { // the subscription drops them
		s.Errorf("of controls %q", got)
	}
}

func oldest(s *suite) {
	look := func() (time.Time, bool) {
		s.Helper()
		at, found, err := s.Client.Oldest(s.Context(), message.TopicWorkerResults, message.SubscriptionOrchestrator)
		s.must(err)
		return at, found
	}
	if at, found := look(); found {
		s.Fatalf("of nothing the oldest is of %s", at)
	}
	later := s.event(0)
	later.At = s.Now().Add(time.Hour)
	s.send(message.TopicWorkerResults, later)
	if at, found := look(); found {
		s.Fatalf("a scheduled message waits since %s", at)
	}
	const n = 12
	for i := range n {
		s.send(message.TopicWorkerResults, s.event(1+i))
		s.Advance(time.Second)
	}
	first, found := look()
	if !found {
		s.Fatal("nothing is seen")
	}
	r := s.receiver(message.TopicWorkerResults, message.SubscriptionOrchestrator)
	held := s.take(r, n)
	if at, found := look(); !found || !at.Equal(first) || !at.Equal(held[0].EnqueuedAt) {
		s.Errorf("the oldest is of %s (%v), then %s; it came at %s", first, found, at, held[0].EnqueuedAt)
	}
	for _, m := range held {
		if m.DeliveryCount != 1 {
			s.Errorf("a message was delivered %d times", m.DeliveryCount)
		}
	}
	s.complete(r, held[:n-1]...)
	if at, found := look(); !found || !at.Equal(held[n-1].EnqueuedAt) {
		s.Errorf("the oldest is of %s (%v); it came at %s", at, found, held[n-1].EnqueuedAt)
	}
	s.complete(r, held[n-1])
	if at, found := look(); found {
		s.Errorf("a completed message waits since %s", at)
	}
}

func notFound(s *suite) {
	missing := s.receiver(message.TopicWorkerResults, "nobody")
	_, receive := missing.Receive(s.Context(), 1, patience)
	_, peek := missing.Peek(s.Context(), 0, 1)
	_, _, oldest := s.Client.Oldest(s.Context(), message.TopicWorkerResults, "nobody")
	_, dead := s.Client.TakeDeadLetters(s.Context(), message.TopicWorkerResults, "nobody", 1, func(context.Context, bus.DeadLetter) error { return nil })
	send := s.Client.Send(s.Context(), "nowhere", s.event(0))
	for call, err := range map[string]error{"receive": receive, "peek": peek, "oldest": oldest, "dead letters": dead, "send": send} {
		if !errors.Is(err, bus.ErrNotFound) || !errors.Is(err, bus.ErrUnavailable) {
			s.Errorf("%s: %v", call, err)
		}
	}
}

func traced(s *suite) {
	ctx := trace.ContextWithSpanContext(s.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{0x11}, SpanID: trace.SpanID{0x22}, TraceFlags: trace.FlagsSampled,
	}))
	properties := map[string]any{message.PropertyWorkerID: worker}
	var messages []bus.Message
	for i := range 3 {
		m := s.job(i)
		m.Properties = properties
		messages = append(messages, m)
	}
	s.must(s.Client.Send(ctx, message.TopicWorkerJobs, messages...))
	r := s.jobs()
	for _, m := range s.take(r, 3) {
		if m.Properties["traceparent"] != "00-11000000000000000000000000000000-2200000000000000-01" {
			s.Errorf("%v", m.Properties)
		}
		s.complete(r, m)
	}
	if len(properties) != 1 {
		s.Errorf("the caller's properties are %v", properties)
	}
}

func ping(s *suite) {
	s.send(message.TopicOrchestratorEvents, s.event(0))
	s.must(s.Client.Ping(s.Context()))
	r := s.events()
	m := s.one(r, s.id(0))
	if m.DeliveryCount != 1 {
		s.Errorf("delivery %d", m.DeliveryCount)
	}
	s.complete(r, m)
}

// unread: what a receiver asked for and did not take is not counted as delivered.
func unread(s *suite) {
	s.send(message.TopicWorkerJobs, s.job(0))
	r := s.jobs()
	got, err := r.Receive(s.Context(), 5, patience)
	s.must(err)
	s.complete(r, got...)
	s.send(message.TopicWorkerJobs, s.job(1))
	other := s.jobs()
	m := s.one(other, s.id(1))
	if m.DeliveryCount != 1 {
		s.Errorf("delivery %d", m.DeliveryCount)
	}
	s.complete(other, m)
}

func shared(s *suite) {
	s.send(message.TopicWorkerJobs, s.job(0), s.job(1))
	first, second := s.jobs(), s.jobs()
	a, b := s.take(first, 1)[0], s.take(second, 1)[0]
	if a.ID == b.ID {
		s.Fatalf("both receivers have %s", a.ID)
	}
	s.complete(first, a)
	s.complete(second, b)
	s.none(first)
}
