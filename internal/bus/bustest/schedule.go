package bustest

import (
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
)

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
	if s.has(bus.Duplicates) {
		s.send(message.TopicOrchestratorEvents, late, later) // also of the one that still waits
	}
	s.Advance(20 * time.Second)
	s.complete(r, s.one(r, later.ID))
	s.none(r)
	past := s.event(3)
	past.At = s.Now().Add(-time.Hour)
	s.send(message.TopicOrchestratorEvents, past)
	s.complete(r, s.one(r, past.ID))
}
