package bustest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
)

// suite is one test of a namespace.
type suite struct {
	*testing.T
	Namespace
	began int64
}

const worker = "worker-01"

// lock is the lock duration of the jobs of a worker.
const lock = 30 * time.Second

// patience is how long a test waits for a message that must come.
const patience = 20 * time.Second

// has reports whether the broker has a property.
func (s *suite) has(p bus.Property) bool { return !slices.Contains(s.Without, p) }

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

// inNamespace returns the name of a topic in the namespace.
func (s *suite) inNamespace(topic string) string {
	if s.Topic == nil {
		return topic
	}
	return s.Topic(topic)
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
