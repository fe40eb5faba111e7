package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/bus/memory"
	"github.com/matoolkit/matoolkit/internal/consumer"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

const (
	topic        = "topic"
	subscription = "subscription"
)

// system is a broker with one subscription, and a Run that receives from it.
type system struct {
	*testing.T
	client bus.Client
	log    testenv.Buffer
	stop   func() // ends the Run and waits for its end
}

// start starts a Run with a lock of a message that lasts for a time.
func start(t *testing.T, lock time.Duration, fault memory.Fault, handle func(context.Context, message.Delivery) error, change ...func(*consumer.Config)) *system {
	t.Helper()
	b := testenv.Must(memory.New(memory.Config{Topics: []memory.Topic{{
		Name: topic, Subscriptions: []memory.Subscription{{Name: subscription, LockDuration: lock, MaxDeliveryCount: 100}},
	}}}))(t)
	s := &system{T: t, client: b.Client(nil)}
	config := consumer.Config{
		Client: b.Client(fault), Topic: topic, Subscription: subscription, Handle: handle, Concurrency: 4, Deadline: time.Minute,
		Log: slog.New(slog.NewTextHandler(&s.log, nil)),
	}
	for _, c := range change {
		c(&config)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- consumer.Run(ctx, config) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(s.stop)
	return s
}

func (s *system) send(ids ...string) {
	s.Helper()
	for _, id := range ids {
		m := bus.Message{ID: id, Body: []byte("body"), Properties: map[string]any{message.PropertyMessageType: "kind"}}
		if err := s.client.Send(s.Context(), topic, m); err != nil {
			s.Fatal(err)
		}
	}
}

// left returns the messages that were not completed.
func (s *system) left() (ids []string) {
	s.Helper()
	for _, m := range testenv.Must(testenv.Must(s.client.Receiver(topic, subscription))(s.T).Peek(s.Context(), 0, 100))(s.T) {
		ids = append(ids, m.ID)
	}
	return ids
}

func TestOutcomeSettlesTheMessage(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]func(){
		"success": nil,
		"error":   func() {},
		"panic":   func() { panic("in the handler") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			done := make(chan message.Delivery, 1)
			s := start(t, time.Minute, nil, func(_ context.Context, m message.Delivery) error {
				if failure != nil && m.DeliveryCount < 3 {
					failure()
					return errors.New("not yet")
				}
				done <- m
				return nil
			})
			s.send("1")
			m := <-done
			want := 1
			if failure != nil {
				want = 3
			}
			if m.ID != "1" || m.Type != "kind" || string(m.Body) != "body" || m.EnqueuedAt.IsZero() || m.DeliveryCount != want {
				t.Errorf("%+v", m)
			}
			s.stop()
			if left := s.left(); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

func TestLockIsRenewedWhileTheCallRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // whose clock no stall of the machine moves
		var renewals, calls atomic.Int64
		enough := make(chan struct{})
		s := start(t, time.Minute, func(_ context.Context, c memory.Call) memory.Verdict {
			if c.Operation == memory.OpRenew && renewals.Add(1) == 3 {
				close(enough)
			}
			return memory.Verdict{}
		}, func(context.Context, message.Delivery) error {
			calls.Add(1)
			<-enough
			return nil
		}, func(c *consumer.Config) { c.Deadline = time.Hour })
		s.send("1")
		<-enough
		s.stop()
		if left := s.left(); calls.Load() != 1 || len(left) > 0 {
			t.Errorf("%d calls, left: %q", calls.Load(), left)
		}
	})
}

func TestCallsAreBounded(t *testing.T) {
	t.Parallel()
	const n = 20
	var now, most, all atomic.Int64
	done := make(chan struct{})
	s := start(t, time.Minute, nil, func(context.Context, message.Delivery) error {
		for is := now.Add(1); ; {
			was := most.Load()
			if is <= was || most.CompareAndSwap(was, is) {
				break
			}
		}
		time.Sleep(time.Millisecond) // for others to begin
		now.Add(-1)
		if all.Add(1) == n {
			close(done)
		}
		return nil
	})
	for i := range n {
		s.send(fmt.Sprint(i))
	}
	<-done
	if most.Load() > 4 {
		t.Errorf("%d calls at once", most.Load())
	}
}

// A stop waits for the calls in flight, and completes their messages.
func TestStopWaitsForCalls(t *testing.T) {
	t.Parallel()
	began, finish := make(chan struct{}), make(chan struct{})
	s := start(t, time.Minute, nil, func(ctx context.Context, _ message.Delivery) error {
		close(began)
		<-finish
		return ctx.Err()
	})
	s.send("1")
	<-began
	stopped := make(chan struct{})
	go func() { defer close(stopped); s.stop() }()
	s.send("2") // which is not received any more, or left
	close(finish)
	<-stopped
	if left := s.left(); slices.Contains(left, "1") {
		t.Errorf("left: %q", left)
	}
}

func TestCallEndsAtItsDeadline(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	s := start(t, time.Minute, nil, func(ctx context.Context, m message.Delivery) error {
		if m.DeliveryCount > 1 {
			close(done)
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}, func(c *consumer.Config) { c.Deadline = 50 * time.Millisecond })
	s.send("1")
	<-done
}

func TestOutageIsWaitedOut(t *testing.T) {
	t.Parallel()
	var failures atomic.Int64
	done := make(chan struct{})
	s := start(t, time.Minute, func(_ context.Context, c memory.Call) memory.Verdict {
		if c.Operation == memory.OpReceive && failures.Add(1) <= 2 {
			return memory.Verdict{Err: bus.ErrUnavailable}
		}
		return memory.Verdict{}
	}, func(context.Context, message.Delivery) error { close(done); return nil })
	s.send("1")
	<-done
	s.stop()
	if n := strings.Count(s.log.String(), "cannot receive messages"); n != 1 {
		t.Errorf("%d warnings: %s", n, s.log.String())
	}
}
