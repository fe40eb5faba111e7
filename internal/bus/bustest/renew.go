package bustest

import (
	"errors"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
)

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
