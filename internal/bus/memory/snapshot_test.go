package memory_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/bus/memory"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

func scheduledIDs(t *testing.T, b *memory.Broker) (all []string) {
	t.Helper()
	messages := testenv.Must(b.Scheduled(topic))(t)
	for _, m := range messages {
		all = append(all, m.ID)
	}
	return all
}

func take(t *testing.T, b *memory.Broker, sequence int64) *bus.Received {
	t.Helper()
	return testenv.Must(b.Take(topic, subscription, sequence))(t)
}

func TestCloneGoesOnByItself(t *testing.T) {
	t.Parallel()
	clock := testenv.NewClock()
	b := newBroker(t, memory.Config{Now: clock.Now})
	send(t, b.Client(nil), numbered(4)...)
	send(t, b.Client(nil), bus.Message{ID: "second", At: clock.Now().Add(time.Hour)}, bus.Message{ID: "first", At: clock.Now().Add(time.Minute / 2)})
	take(t, b, 2)
	r, err := b.Client(nil).Receiver(topic, subscription)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.DeadLetter(t.Context(), take(t, b, 4), "why", ""); err != nil {
		t.Fatal(err)
	}

	later := testenv.NewClock()
	c := b.Clone(later.Now)
	if got, want := ids(t, c), "0 1* 2"; got != want || ids(t, b) != want {
		t.Fatalf("%q in the clone, want %q", got, want)
	}
	if got := scheduledIDs(t, c); !slices.Equal(got, []string{"first", "second"}) {
		t.Fatalf("scheduled: %q", got)
	}
	// The lock can be ended and the message settled by its number, in each of the two by itself.
	if err := c.Complete(topic, subscription, 2); err != nil || ids(t, c) != "0 2" || ids(t, b) != "0 1* 2" {
		t.Fatalf("%v; %q and %q", err, ids(t, c), ids(t, b))
	}
	if err := c.Complete(topic, subscription, 3); !errors.Is(err, bus.ErrLockLost) {
		t.Errorf("a message that is not locked: %v", err)
	}
	if err := b.EndLock(topic, subscription, 2, clock.Now()); err != nil || ids(t, b) != "0 1 2" {
		t.Fatalf("%v; %q", err, ids(t, b))
	}
	if m := take(t, b, 2); m.DeliveryCount != 2 {
		t.Errorf("delivery %d", m.DeliveryCount)
	}
	// A clone remembers which ids came, and what it accepts is its own.
	send(t, c.Client(nil), append(numbered(1), bus.Message{ID: "new"})...)
	if got := ids(t, c); got != "0 2 new" || ids(t, b) != "0 1* 2" {
		t.Errorf("%q and %q", got, ids(t, b))
	}
	remembered, err := c.Remembered(topic)
	if _, known := remembered["new"]; err != nil || !known || len(remembered) != 7 {
		t.Errorf("%v: %v", remembered, err)
	}
	if remembered, err = b.Remembered(topic); err != nil || len(remembered) != 6 {
		t.Errorf("%v: %v", remembered, err)
	}
	// Each goes by its own clock.
	later.Advance(time.Minute)
	if got := ids(t, c); got != "0 2 new first" || len(scheduledIDs(t, c)) != 1 || len(scheduledIDs(t, b)) != 2 {
		t.Errorf("%q", got)
	}
	later.Advance(10 * time.Minute)
	if remembered, err = c.Remembered(topic); err != nil || len(remembered) != 0 {
		t.Errorf("%v: %v", remembered, err)
	}
	for _, broker := range []*memory.Broker{b, c} {
		n, err := broker.Client(nil).TakeDeadLetters(t.Context(), topic, subscription, 5, func(_ context.Context, d bus.DeadLetter) error {
			if d.ID != "3" || d.Reason != "why" {
				t.Errorf("%+v", d)
			}
			return nil
		})
		if n != 1 || err != nil {
			t.Errorf("%d dead letters: %v", n, err)
		}
	}
}

// A lock that ends in the clone frees the message there.
func TestCloneKeepsLocks(t *testing.T) {
	t.Parallel()
	clock := testenv.NewClock()
	b := newBroker(t, memory.Config{Now: clock.Now})
	send(t, b.Client(nil), numbered(3)...)
	take(t, b, 1)
	c := b.Clone(nil)
	clock.Advance(2 * time.Minute)
	if got := ids(t, c); got != "0 1 2" {
		t.Errorf("%q", got)
	}
	r, err := c.Client(nil).Receiver(topic, subscription)
	if err != nil {
		t.Fatal(err)
	}
	all, err := r.Receive(t.Context(), 3, time.Minute)
	if err != nil || len(all) != 3 || all[0].DeliveryCount != 2 || all[2].ID != "2" {
		t.Errorf("%+v: %v", all, err)
	}
}
