package bustest

import (
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
)

func duplicates(s *suite) {
	if !s.has(bus.Duplicates) {
		repeated(s)
		return
	}
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

// repeated: without duplicate detection no message is dropped.
func repeated(s *suite) {
	s.send(message.TopicOrchestratorEvents, s.event(0), s.event(0))
	s.send(message.TopicOrchestratorEvents, s.event(0))
	r := s.events()
	for _, m := range s.take(r, 3) {
		if m.ID != s.id(0) || m.DeliveryCount != 1 {
			s.Errorf("%s, delivery %d", m.ID, m.DeliveryCount)
		}
		s.complete(r, m)
	}
	s.none(r)
}
