package bustest

import (
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
)

func peek(s *suite) {
	if !s.has(bus.Looks) {
		peekBlind(s)
		return
	}
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

// peekBlind: a broker that cannot look shows nothing, and takes nothing.
func peekBlind(s *suite) {
	s.send(message.TopicWorkerJobs, s.job(0))
	r := s.jobs()
	page, err := r.Peek(s.Context(), 0, 1)
	if s.must(err); len(page) > 0 {
		s.Errorf("%v", page)
	}
	m := s.one(r, s.id(0))
	if m.DeliveryCount != 1 {
		s.Errorf("delivery %d", m.DeliveryCount)
	}
	s.complete(r, m)
}

// follow: each replica of a worker reads the controls, those of the past and those that come.
func follow(s *suite) {
	control := func(i int) bus.Message {
		return bus.Message{ID: s.id(i), Body: fmt.Append(nil, i), Properties: map[string]any{"Kind": "control"}}
	}
	follower := func() bus.Receiver {
		return s.receiver(message.TopicWorkerControl, message.WorkerSubscription(worker))
	}
	first := follower()
	if page, err := first.Peek(s.Context(), 0, 10); len(page) > 0 || err != nil {
		s.Fatalf("%v: %v", page, err)
	}
	const n = 5
	var last int64
	for i := range n {
		s.send(message.TopicWorkerControl, control(i))
		page, err := first.Peek(s.Context(), last+1, 10)
		s.must(err)
		if len(page) != 1 || page[0].ID != s.id(i) || page[0].Sequence <= last {
			s.Fatalf("after %d the follower sees %+v", i, page)
		}
		last = page[0].Sequence
	}
	if page, err := first.Peek(s.Context(), last, 10); err != nil || len(page) != 1 || page[0].Sequence != last || page[0].ID != s.id(n-1) {
		s.Errorf("the last one again: %+v, %v", page, err)
	}
	for _, most := range []int{2, 100} {
		all := s.peekAll(follower(), most)
		if len(all) != n {
			s.Fatalf("a new follower sees %d", len(all))
		}
		for i, m := range all {
			if m.ID != s.id(i) || string(m.Body) != fmt.Sprint(i) || len(m.Properties) != 1 || m.EnqueuedAt.IsZero() || m.ExpiresAt.IsZero() || !m.LockedUntil.IsZero() {
				s.Errorf("message %d: %+v", i, m)
			}
		}
		s.is(first.Complete(s.Context(), all[0]), bus.ErrLockLost)
	}
}

// exists: a worker asks for its subscription before it waits for jobs.
func exists(s *suite) {
	s.send(message.TopicWorkerJobs, s.job(0))
	s.must(s.Client.Exists(s.Context(), message.TopicWorkerJobs, message.WorkerSubscription(worker)))
	r := s.jobs()
	m := s.one(r, s.id(0))
	if m.DeliveryCount != 1 {
		s.Errorf("delivery %d", m.DeliveryCount)
	}
	s.complete(r, m)
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

// looks is how many deliveries the calls of Oldest in the test may count as, with a broker without the property Looks.
const looks = 3

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
	for range 30 {
		if at, found := look(); !found || !at.Equal(first) {
			s.Fatalf("the oldest is of %s, then of %s (%v)", first, at, found)
		}
	}
	r := s.receiver(message.TopicWorkerResults, message.SubscriptionOrchestrator)
	held := s.take(r, n)
	if at, found := look(); !found || !at.Equal(first) || !at.Equal(held[0].EnqueuedAt) {
		s.Errorf("the oldest is of %s (%v), then %s; it came at %s", first, found, at, held[0].EnqueuedAt)
	}
	for i, m := range held {
		most := 1
		if i == 0 && !s.has(bus.Looks) {
			most += looks
		}
		if m.DeliveryCount > most {
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
