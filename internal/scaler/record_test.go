package scaler_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/matoolkit/matoolkit/internal/scaler"
)

// world is one message and its container over time, as ticks see it.
type world struct {
	*scaler.Settings
	attempts   []scaler.Attempt
	now        time.Time
	deliveries int
	settled    bool
	partial    bool
	container  *scaler.Container
}

// tick runs one tick, and returns how often the message's container was lost in all, if that has grown.
func (w *world) tick() int {
	waiting := scaler.Waiting{Subscriptions: subscriptions("a")}
	waiting.Subscriptions[0].Partial = w.partial
	if !w.settled && !w.partial {
		m := message("a", "m", 1)
		m.Deliveries = w.deliveries
		waiting.Messages = []scaler.Message{m}
	}
	var inventory scaler.Inventory
	if w.container != nil {
		inventory = scaler.Inventory{*w.container}
	}
	p := scaler.NewPlan(inventory, waiting, limits(1))
	var lost []scaler.Attempt
	w.attempts, lost = w.Observe(w.attempts, inventory, waiting, p, w.now)
	if len(p.Create) > 0 {
		w.container = &scaler.Container{Name: w.NameFor("a", "m"), MessageID: "m", Subscription: "a"}
	} else if len(p.Delete) > 0 {
		w.container = nil
	}
	w.now = w.now.Add(time.Minute)
	if len(lost) > 0 {
		return lost[0].Lost
	}
	return 0
}

func (w *world) end() {
	at := w.now.Add(-time.Second)
	w.container.Ended, w.container.FinishedAt = true, &at
}

func newWorld(t interface {
	Helper()
	Fatal(args ...any)
},
) *world {
	return &world{Settings: settings(t, nil), now: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)}
}

func TestAContainerThatEndsWithoutADeliveryIsCountedOnceTheLockIsOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.tick() // creates
	w.end()
	if n := w.tick(); n != 0 || w.container != nil { // sees the end, a second later, and deletes the group
		t.Fatalf("%d lost, container %v", n, w.container)
	}
	if n := w.tick(); n != 1 || w.container == nil { // a minute and a second later; creates the next
		t.Fatalf("%d lost, container %v", n, w.container)
	}
	if n := w.tick(); n != 0 {
		t.Fatalf("counted again: %d", n)
	}
	w.end()
	w.tick()
	if n := w.tick(); n != 2 {
		t.Fatalf("the second: %d", n)
	}
	w.deliveries++ // the third receives it, and dies
	w.end()
	w.tick()
	if n := w.tick(); n != 0 || w.attempts[0].Lost != 0 || w.attempts[0].Deliveries != 1 {
		t.Fatalf("a container that received the message counts as lost: %+v", w.attempts)
	}
	w.settled = true
	if w.tick(); len(w.attempts) != 0 {
		t.Fatalf("attempts of a settled message: %+v", w.attempts)
	}
}

func TestALockThatEndsLateIsADelivery(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.tick()
	w.end() // with the message locked
	w.tick()
	w.deliveries++ // within the duration of the lock
	if n := w.tick(); n != 0 {
		t.Fatalf("%d lost", n)
	}
}

func TestAttemptsAreKeptWhileASubscriptionIsNotReadToItsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.tick()
	w.partial = true
	if w.tick(); len(w.attempts) != 1 {
		t.Fatalf("attempts %+v", w.attempts)
	}
}

func TestAttemptsOfASubscriptionThatIsNoLongerListedGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	attempts := []scaler.Attempt{{Group: "one", Subscription: "gone", MessageID: "m"}}
	for name, c := range map[string]struct {
		waiting scaler.Waiting
		kept    int
	}{
		"read":     {scaler.Waiting{Subscriptions: subscriptions("a")}, 0},
		"not read": {scaler.Waiting{}, 1},
	} {
		if kept, _ := w.Observe(attempts, nil, c.waiting, scaler.Plan{}, w.now); len(kept) != c.kept {
			t.Errorf("%s: attempts %+v", name, kept)
		}
	}
}

func TestTheNumberOfAttemptsIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	waiting := scaler.Waiting{Subscriptions: subscriptions("a"), Messages: []scaler.Message{message("a", "waits", 1)}}
	waiting.Subscriptions[0].Partial = true
	attempts := []scaler.Attempt{
		{Group: w.NameFor("a", "waits"), Subscription: "a", MessageID: "waits", Open: true},
		{Group: "z-lost", Subscription: "a", MessageID: "lost", Lost: 1},
	}
	for i := range 2 * scaler.MaxAttempts {
		attempts = append(attempts, scaler.Attempt{Group: fmt.Sprintf("a-%04d", i), Subscription: "a", MessageID: fmt.Sprint("m", i)})
	}
	kept, _ := w.Observe(attempts, nil, waiting, scaler.Plan{}, w.now)
	ids := map[string]bool{}
	for _, a := range kept {
		ids[a.MessageID] = true
	}
	byGroup := func(a, b scaler.Attempt) int { return strings.Compare(a.Group, b.Group) }
	if len(kept) != scaler.MaxAttempts || !ids["lost"] || !ids["waits"] || !slices.IsSortedFunc(kept, byGroup) {
		t.Errorf("%d attempts, lost %t, waits %t", len(kept), ids["lost"], ids["waits"])
	}
}

// TestEveryTickCanBeRepeated repeats ticks that died before they created or deleted: no container counts twice.
func TestEveryTickCanBeRepeated(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		died, lost := 0, 0
		for i := range rapid.IntRange(1, 40).Draw(t, "ticks") {
			container := w.container
			lost = max(lost, w.tick())
			if rapid.Bool().Draw(t, fmt.Sprint("again", i)) {
				w.container = container
				lost = max(lost, w.tick())
			}
			if w.container != nil && !w.container.Ended && rapid.Bool().Draw(t, fmt.Sprint("dies", i)) {
				w.end()
				died++
			}
		}
		if lost > died {
			t.Fatalf("%d lost, %d died", lost, died)
		}
	})
}

func TestObserveDoesNotChangeItsInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.tick()
	w.end()
	w.tick()
	before := fmt.Sprintf("%+v", w.attempts)
	same := w.attempts
	w.tick()
	if after := fmt.Sprintf("%+v", same); !reflect.DeepEqual(before, after) {
		t.Errorf("%s became %s", before, after)
	}
}
