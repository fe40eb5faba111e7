package scaler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/scaler"
)

// lossesOf has a record observe that one container of a message ended at a time, and that its lock is over.
func (w *world) lossesOf(r *scaler.Record, subscription, id string) {
	waiting := scaler.Waiting{Subscriptions: subscriptions("a", "b"), Messages: []scaler.Message{message(subscription, id, 1)}}
	end := w.now.Add(-time.Minute)
	inventory := scaler.Inventory{{Name: w.NameFor(subscription, id), MessageID: id, Subscription: subscription, Ended: true, FinishedAt: &end}}
	r.Observe(w.Settings, inventory, waiting, scaler.Plan{}, w.now)
}

func TestLossesAreCountedByDayAndSubscription(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var r scaler.Record
	first := w.now
	w.lossesOf(&r, "b", "m1")
	w.now = first.Add(time.Hour)
	w.lossesOf(&r, "b", "m2")
	w.lossesOf(&r, "a", "m3")
	w.now = first.Add(24 * time.Hour)
	w.lossesOf(&r, "b", "m4")
	hour := first.Add(time.Hour)
	want := fmt.Sprint([]scaler.Loss{
		{Subscription: "a", FirstAt: hour, LastAt: hour, Containers: 1},
		{Subscription: "b", FirstAt: first, LastAt: hour, Containers: 2},
		{Subscription: "b", FirstAt: w.now, LastAt: w.now, Containers: 1},
	})
	if got := fmt.Sprint(r.Losses); got != want {
		t.Errorf("losses %s\nwant   %s", got, want)
	}
	w.now = hour.Add(scaler.LossesKept + time.Second)
	r.Observe(w.Settings, nil, scaler.Waiting{}, scaler.Plan{}, w.now)
	if len(r.Losses) != 1 {
		t.Errorf("three days later: %+v", r.Losses)
	}
	w.now = w.now.Add(scaler.LossesKept)
	r.Observe(w.Settings, nil, scaler.Waiting{}, scaler.Plan{}, w.now)
	if r.Losses != nil {
		t.Errorf("in the end: %+v", r.Losses)
	}
}

func TestTheNumberOfLossesIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var r scaler.Record
	for i := range scaler.MaxLosses {
		r.Losses = append(r.Losses, scaler.Loss{Subscription: fmt.Sprintf("x-%04d", i), FirstAt: w.now, LastAt: w.now, Containers: 1})
	}
	w.now = w.now.Add(time.Hour)
	w.lossesOf(&r, "a", "m1")
	if len(r.Losses) != scaler.MaxLosses || r.Losses[0].Subscription != "a" {
		t.Errorf("%d losses, the first %+v", len(r.Losses), r.Losses[0])
	}
}
