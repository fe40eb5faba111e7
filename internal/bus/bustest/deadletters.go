package bustest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
)

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
	for passed := 0; len(bodies) < all; {
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
		if n == 0 {
			passed++
			s.Advance(lock + time.Second) // a receiver that has gone may still hold one
		}
		if passed > 3 || err != nil {
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
