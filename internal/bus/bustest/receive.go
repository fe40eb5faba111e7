package bustest

import (
	"context"
	"errors"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
)

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
