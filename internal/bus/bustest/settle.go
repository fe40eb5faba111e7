package bustest

import (
	"context"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
)

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
	if !s.has(bus.Place) {
		s.complete(r, s.one(r, s.id(1)))
	}
	again := s.one(r, s.id(0))
	if len(again.Properties) != 2 || again.Properties["Tries"] != int64(3) || again.Properties[message.PropertyWorkerID] != "another" {
		s.Errorf("properties %v", again.Properties)
	}
	if again.DeliveryCount != 2 || again.Sequence != m.Sequence || !again.EnqueuedAt.Equal(m.EnqueuedAt) {
		s.Errorf("first %+v, then %+v", m, again)
	}
	s.complete(r, again)
	if s.has(bus.Place) {
		s.complete(r, s.one(r, s.id(1)))
	}

	// Without properties a message keeps its place.
	s.send(message.TopicWorkerJobs, s.job(2), s.job(3))
	s.must(r.Abandon(s.Context(), s.one(r, s.id(2)), nil))
	again = s.one(r, s.id(2))
	s.complete(r, again, s.one(r, s.id(3)))
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
