package memory_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/bus/memory"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/servicebus"
)

const (
	topic        = message.TopicOrchestratorEvents
	subscription = message.SubscriptionOrchestrator
)

func newBroker(t *testing.T, c memory.Config) *memory.Broker {
	t.Helper()
	return testenv.Must(memory.New(c))(t)
}

func send(t *testing.T, c bus.Client, messages ...bus.Message) {
	t.Helper()
	if err := c.Send(t.Context(), topic, messages...); err != nil {
		t.Fatal(err)
	}
}

func ids(t *testing.T, b *memory.Broker) string {
	t.Helper()
	messages := testenv.Must(b.Messages(topic, subscription))(t)
	var all []string
	for _, m := range messages {
		note := ""
		if m.Locked {
			note = "*"
		}
		all = append(all, m.ID+note)
	}
	return strings.Join(all, " ")
}

func numbered(n int) (messages []bus.Message) {
	for i := range n {
		messages = append(messages, bus.Message{ID: fmt.Sprint(i), Body: []byte("{}")})
	}
	return messages
}

func TestLostAnswerLeavesThePartThatWasCarriedOut(t *testing.T) {
	t.Parallel()
	broken := fmt.Errorf("%w: the connection broke", bus.ErrUnavailable)
	for _, test := range []struct {
		carriedOut int
		arrive     string
	}{{0, ""}, {2, "0 1"}, {3, "0 1 2"}} {
		b := newBroker(t, memory.Config{})
		var calls []memory.Operation
		failing := b.Client(func(_ context.Context, c memory.Call) memory.Verdict {
			calls = append(calls, c.Operation)
			if c.Operation == memory.OpSend && len(c.Messages) == 3 && c.Topic == topic {
				return memory.Verdict{Err: broken, CarriedOut: test.carriedOut}
			}
			return memory.Verdict{}
		})
		if err := failing.Send(t.Context(), topic, numbered(3)...); !errors.Is(err, broken) {
			t.Fatal(err)
		}
		if got := ids(t, b); got != test.arrive {
			t.Errorf("%q arrive, want %q", got, test.arrive)
		}
		send(t, b.Client(nil), numbered(3)...)
		if got := ids(t, b); got != "0 1 2" || len(calls) != 1 {
			t.Errorf("sent again, %q are there after %v", got, calls)
		}
	}
}

func TestFaultsOfSettlementsAndReceives(t *testing.T) {
	t.Parallel()
	b := newBroker(t, memory.Config{})
	send(t, b.Client(nil), numbered(1)...)
	away := fmt.Errorf("%w: it is away", bus.ErrUnavailable)
	verdict := memory.Verdict{Err: away}
	var asked memory.Call
	r, err := b.Client(func(_ context.Context, c memory.Call) memory.Verdict {
		asked = c
		return verdict
	}).Receiver(topic, subscription)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Receive(t.Context(), 1, time.Hour); !errors.Is(err, away) || ids(t, b) != "0" {
		t.Fatalf("%v, then %s", err, ids(t, b))
	}
	verdict = memory.Verdict{}
	got, err := r.Receive(t.Context(), 1, time.Hour)
	if err != nil || len(got) != 1 {
		t.Fatalf("%v: %v", got, err)
	}
	verdict = memory.Verdict{Err: away}
	if err := r.Complete(t.Context(), got[0]); !errors.Is(err, away) || ids(t, b) != "0*" || asked.Received != got[0] || asked.Operation != memory.OpComplete {
		t.Fatalf("%v of %+v, then %s", err, asked, ids(t, b))
	}
	verdict.CarriedOut = 1
	if err := r.Complete(t.Context(), got[0]); !errors.Is(err, away) || ids(t, b) != "" {
		t.Fatalf("the answer is lost: %v, then %q", err, ids(t, b))
	}
	verdict = memory.Verdict{}
	if err := r.Complete(t.Context(), got[0]); !errors.Is(err, bus.ErrLockLost) {
		t.Fatalf("completed again: %v", err)
	}
}

func TestCopiesLoseAndRepeatMessages(t *testing.T) {
	t.Parallel()
	b := newBroker(t, memory.Config{Copies: func(_ string, m bus.Message) int { return map[string]int{"0": 0, "1": 1, "2": 2}[m.ID] }})
	send(t, b.Client(nil), numbered(3)...)
	send(t, b.Client(nil), numbered(3)...) // which are duplicates, also of the lost one
	if got := ids(t, b); got != "1 2 2" || b.Accepted() != 3 {
		t.Errorf("%q arrive of %d", got, b.Accepted())
	}
}

// A simulation chooses any message, and two handlers may have the same one.
func TestTakeAndEndLock(t *testing.T) {
	t.Parallel()
	clock := testenv.NewClock()
	b := newBroker(t, memory.Config{Now: clock.Now})
	send(t, b.Client(nil), numbered(3)...)
	first, err := b.Take(topic, subscription, 2)
	if err != nil || first.ID != "1" || first.DeliveryCount != 1 || ids(t, b) != "0 1* 2" {
		t.Fatalf("%+v: %v; %s", first, err, ids(t, b))
	}
	if _, err := b.Take(topic, subscription, 2); err == nil {
		t.Fatal("a locked message was taken")
	}
	if err := b.EndLock(topic, subscription, 2, clock.Now()); err != nil || ids(t, b) != "0 1 2" {
		t.Fatalf("%v; %s", err, ids(t, b))
	}
	second, err := b.Take(topic, subscription, 2)
	if err != nil || second.DeliveryCount != 2 {
		t.Fatalf("%+v: %v", second, err)
	}
	r, err := b.Client(nil).Receiver(topic, subscription)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Complete(t.Context(), first); !errors.Is(err, bus.ErrLockLost) || ids(t, b) != "0 1* 2" {
		t.Fatalf("%v; %s", err, ids(t, b))
	}
	// Its process dies, and the lock ends in 40 seconds.
	end := clock.Now().Add(40 * time.Second)
	if err := b.EndLock(topic, subscription, 2, end); err != nil {
		t.Fatal(err)
	}
	if next, ok := b.Next(); !ok || !next.Equal(end) || ids(t, b) != "0 1* 2" {
		t.Fatalf("next is %s, %v; %s", next, ok, ids(t, b))
	}
	clock.Advance(40 * time.Second)
	if ids(t, b) != "0 1 2" {
		t.Fatal(ids(t, b))
	}
	third, err := b.Take(topic, subscription, 2)
	if err != nil || third.DeliveryCount != 3 {
		t.Fatalf("%+v: %v", third, err)
	}
	if err := r.Complete(t.Context(), third); err != nil || ids(t, b) != "0 2" {
		t.Fatalf("%v; %s", err, ids(t, b))
	}
	if _, err := b.Take(topic, subscription, 2); !errors.Is(err, bus.ErrLockLost) {
		t.Error(err)
	}
	if err := b.EndLock(topic, subscription, 1, clock.Now()); !errors.Is(err, bus.ErrLockLost) {
		t.Error(err)
	}
}

func TestNextIsWhatFallsDueFirst(t *testing.T) {
	t.Parallel()
	clock := testenv.NewClock()
	topics := []memory.Topic{{Name: topic, Subscriptions: []memory.Subscription{{Name: subscription, LockDuration: time.Minute}}}}
	b := newBroker(t, memory.Config{Now: clock.Now, Topics: topics})
	if at, ok := b.Next(); ok {
		t.Fatalf("of nothing %s", at)
	}
	at := clock.Now().Add(90 * time.Second)
	send(t, b.Client(nil), bus.Message{ID: "later", At: at}, bus.Message{ID: "now"})
	if next, ok := b.Next(); !ok || !next.Equal(at) {
		t.Fatalf("next is %s, %v", next, ok)
	}
	m := testenv.Must(b.Take(topic, subscription, 1))(t)
	if next, ok := b.Next(); !ok || !next.Equal(m.LockedUntil) {
		t.Fatalf("next is %s, %v; the lock ends at %s", next, ok, m.LockedUntil)
	}
	r, err := b.Client(nil).Receiver(topic, subscription)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Complete(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if next, ok := b.Next(); !ok || !next.Equal(at) {
		t.Fatalf("next is %s, %v", next, ok)
	}
	clock.Advance(time.Hour) // past it
	messages, err := b.Messages(topic, subscription)
	if err != nil || len(messages) != 1 || messages[0].ID != "later" || !messages[0].EnqueuedAt.Equal(at) {
		t.Errorf("%+v are there: %v", messages, err)
	}
	if at, ok := b.Next(); ok {
		t.Errorf("next is %s", at)
	}
}

// An expiry that falls due while the message is locked counts once the lock ends.
func TestLockedMessageExpiresAfterItsLock(t *testing.T) {
	t.Parallel()
	for _, abandonAt := range []time.Duration{5 * time.Second, 12 * time.Second} {
		clock := testenv.NewClock()
		b := newBroker(t, memory.Config{Now: clock.Now})
		c := b.Client(nil)
		send(t, c, bus.Message{ID: "short", TimeToLive: 10 * time.Second})
		m := testenv.Must(b.Take(topic, subscription, 1))(t)
		r := testenv.Must(c.Receiver(topic, subscription))(t)
		clock.Advance(abandonAt)
		b.Tick()
		if err := r.Abandon(t.Context(), m, nil); err != nil {
			t.Fatal(err)
		}
		clock.Advance(5 * time.Second)
		if n, err := b.DeadLetters(topic, subscription); n != 1 || err != nil {
			t.Errorf("%d dead letters: %v", n, err)
		}
		n, err := c.TakeDeadLetters(t.Context(), topic, subscription, 5, func(_ context.Context, d bus.DeadLetter) error {
			if d.Reason != bus.ReasonExpired {
				t.Errorf("%+v", d)
			}
			return nil
		})
		if left, _ := b.DeadLetters(topic, subscription); n != 1 || err != nil || ids(t, b) != "" || left != 0 {
			t.Errorf("abandoned after %s: %d dead letters, %v; %q are left", abandonAt, n, err, ids(t, b))
		}
	}
}

// Receivers that wait need no clock of the test's where the real one is that of a bubble.
func TestReceiverWakesWhenAMessageFallsDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(t, memory.Config{})
		c := b.Client(nil)
		began := time.Now()
		send(t, c, bus.Message{ID: "later", At: began.Add(3 * time.Hour)})
		r := testenv.Must(c.Receiver(topic, subscription))(t)
		got, err := r.Receive(t.Context(), 1, time.Hour)
		if took := time.Since(began); len(got) > 0 || err != nil || took != time.Hour {
			t.Errorf("%v, %v after %s", got, err, took)
		}
		got, err = r.Receive(t.Context(), 1, 5*time.Hour)
		if took := time.Since(began); len(got) != 1 || err != nil || took != 3*time.Hour {
			t.Errorf("%v, %v after %s", got, err, took)
		}
	})
}

func TestDeploymentIsThatOfAzure(t *testing.T) {
	t.Parallel()
	deployed, made := servicebus.DefaultTopology(), memory.Deployment("worker-01")
	if len(deployed.Topics) != len(made) {
		t.Fatalf("%d topics, want %d", len(made), len(deployed.Topics))
	}
	for i, want := range deployed.Topics {
		got := made[i]
		if got.Name != want.Name || got.DuplicateWindow != want.DuplicateWindow || got.TimeToLive != want.TimeToLive || len(got.Subscriptions) != len(want.Subscriptions) {
			t.Errorf("%+v, want %+v", got, want)
			continue
		}
		for i, want := range want.Subscriptions {
			got := got.Subscriptions[i]
			if got.Name != want.Name || got.LockDuration != want.LockDuration || got.MaxDeliveryCount != int(want.MaxDeliveryCount) || got.DropExpired == want.DeadLetterOnExpiration {
				t.Errorf("%+v, want %+v", got, want)
			}
		}
	}
}

func TestFilterThatIsNotUnderstoodIsRefused(t *testing.T) {
	t.Parallel()
	for filter, ok := range map[string]bool{
		"WorkerId = 'worker-01'": true, " A='it''s' ": true, "": true,
		"WorkerId = 'a' OR 1=1": false, "WorkerId > 'a'": false, "WorkerId = a": false, "sys.Label = 'a'": false,
	} {
		_, err := memory.New(memory.Config{Topics: []memory.Topic{{Name: "t", Subscriptions: []memory.Subscription{{Name: "s", Filter: filter}}}}})
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "subscription s of topic t") {
			t.Errorf("%q: %v", filter, err)
		}
	}
}

func TestMessageThatServiceBusRefusesIsRefused(t *testing.T) {
	t.Parallel()
	c := newBroker(t, memory.Config{}).Client(nil)
	for _, id := range []string{"", strings.Repeat("x", 129)} {
		if err := c.Send(t.Context(), topic, bus.Message{ID: id}); err == nil || errors.Is(err, bus.ErrUnavailable) {
			t.Errorf("the id %q: %v", id, err)
		}
	}
}

// The broker keeps no goroutine and does not slow down with what it has carried.
func BenchmarkSendReceiveComplete(b *testing.B) {
	clock := testenv.NewClock()
	broker, err := memory.New(memory.Config{Now: clock.Now})
	if err != nil {
		b.Fatal(err)
	}
	c := broker.Client(nil)
	r, err := c.Receiver(topic, subscription)
	if err != nil {
		b.Fatal(err)
	}
	before := runtime.NumGoroutine()
	for i := 0; b.Loop(); i++ {
		if i%100 == 0 {
			clock.Advance(time.Minute)
		}
		if err := c.Send(b.Context(), topic, bus.Message{ID: fmt.Sprint(i)}); err != nil {
			b.Fatal(err)
		}
		got, err := r.Receive(b.Context(), 1, 0)
		if err != nil || len(got) != 1 {
			b.Fatal(got, err)
		}
		if err := r.Complete(b.Context(), got[0]); err != nil {
			b.Fatal(err)
		}
	}
	if after := runtime.NumGoroutine(); after > before {
		b.Errorf("%d goroutines, before %d", after, before)
	}
}
