package bustest

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
)

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

func notFound(s *suite) {
	missing := s.receiver(message.TopicWorkerResults, "nobody")
	_, receive := missing.Receive(s.Context(), 1, patience)
	_, peek := missing.Peek(s.Context(), 0, 1)
	_, _, oldest := s.Client.Oldest(s.Context(), message.TopicWorkerResults, "nobody")
	exists := s.Client.Exists(s.Context(), message.TopicWorkerResults, "nobody")
	_, dead := s.Client.TakeDeadLetters(s.Context(), message.TopicWorkerResults, "nobody", 1, func(context.Context, bus.DeadLetter) error { return nil })
	send := s.Client.Send(s.Context(), "nowhere", s.event(0))
	for call, err := range map[string]error{"receive": receive, "peek": peek, "oldest": oldest, "exists": exists, "dead letters": dead, "send": send} {
		if !errors.Is(err, bus.ErrNotFound) || !errors.Is(err, bus.ErrUnavailable) {
			s.Errorf("%s: %v", call, err)
		}
		var about *bus.EntityError
		want := bus.EntityError{Topic: s.inNamespace(message.TopicWorkerResults), Subscription: "nobody"}
		if call == "send" {
			want = bus.EntityError{Topic: "nowhere"}
		}
		if !errors.As(err, &about) || about.Topic != want.Topic || about.Subscription != want.Subscription {
			s.Errorf("%s: %v does not name the entity", call, err)
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
