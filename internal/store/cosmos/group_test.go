package cosmos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/group"
	"github.com/matoolkit/matoolkit/internal/store/memory"
)

func key(id string) store.Key { return store.Key{PK: "p", ID: id, Type: "thing"} }

// lab is a committer over a store in memory. Each transaction waits until the test lets it go on.
type lab struct {
	*committer
	stored *memory.Store

	mu      sync.Mutex
	waiting []*transaction
	errs    map[string]error // what a transaction fails with that writes an item
	calls   sync.WaitGroup
}

type transaction struct {
	writes string
	goOn   chan func(context.Context) // called before the transaction is carried out; nil: nothing
}

func newLab() *lab {
	l := &lab{stored: memory.New(memory.Config{}), errs: map[string]error{}}
	l.committer = newCommitter(l.carryOut)
	return l
}

func (l *lab) carryOut(ctx context.Context, writes store.Writes) (applied store.Applied, err error) {
	var ids []string
	for _, w := range writes {
		ids = append(ids, w.Key.ID)
	}
	t := &transaction{writes: strings.Join(ids, " "), goOn: make(chan func(context.Context), 1)}
	l.mu.Lock()
	l.waiting = append(l.waiting, t)
	l.mu.Unlock()
	select {
	case before := <-t.goOn:
		if before != nil {
			before(ctx)
		}
	case <-ctx.Done():
		return nil, classify(ctx.Err())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		if err := l.errs[id]; err != nil {
			return nil, err
		}
	}
	l.stored.ApplyGroup([]*group.Apply{group.New(writes, 0)}, func(_ *group.Apply, a store.Applied, e error) { applied, err = a, e })
	if operation := 0; err != nil && len(writes) > 1 {
		if _, unnamed := fmt.Sscanf(err.Error(), "operation %d on", &operation); unnamed == nil {
			return nil, &group.Refusal{Operation: operation, Err: errors.Unwrap(err)}
		}
	}
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	return applied, nil
}

// call is an Apply that a test has begun.
type call struct {
	cancel  context.CancelFunc
	over    bool
	applied store.Applied
	err     error
}

// begin begins an Apply and waits until it does not go on by itself.
func (l *lab) begin(t *testing.T, writes ...store.Write) *call {
	t.Helper()
	a, err := encoded(writes)
	if err != nil {
		t.Fatal(err)
	}
	for i := range a.Writes { // for the store in memory
		a.Writes[i].Doc = writes[i].Doc
	}
	ctx, cancel := context.WithCancel(t.Context())
	c := &call{cancel: cancel}
	l.calls.Go(func() {
		o := l.apply(ctx, a)[0]
		c.applied, c.err = o.Applied, o.Err
		c.over = true
	})
	synctest.Wait()
	return c
}

// inFlight returns the items of each transaction that waits, in the order in which they began.
func (l *lab) inFlight() string {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for _, t := range l.waiting {
		all = append(all, t.writes)
	}
	return strings.Join(all, " | ")
}

// land lets the oldest transaction go on.
func (l *lab) land(before func(context.Context)) {
	l.mu.Lock()
	t := l.waiting[0]
	l.waiting = l.waiting[1:]
	l.mu.Unlock()
	t.goOn <- before
	synctest.Wait()
}

// drain lets all transactions go on, and checks that nothing is left of the partition.
func (l *lab) drain(t *testing.T) {
	t.Helper()
	for l.inFlight() != "" {
		l.land(nil)
	}
	l.calls.Wait()
	if len(l.partitions) != 0 {
		t.Errorf("an idle partition is kept: %+v", l.partitions)
	}
}

func (l *lab) expect(t *testing.T, want string) {
	t.Helper()
	if got := l.inFlight(); got != want {
		t.Fatalf("in flight: %s, want %s", got, want)
	}
}

// bubble runs a test in a bubble, with a lab.
func bubble(t *testing.T, test func(t *testing.T, l *lab)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		test(t, l)
		l.drain(t)
	})
}

// busy has a group of another item in flight.
func (l *lab) busy(t *testing.T) {
	t.Helper()
	l.begin(t, store.Create(key("busy"), 1))
	l.expect(t, "busy")
}

// An Apply goes at once where it may, and those that come later share a transaction, which begins
// when a flight lands.
func TestAppliesGather(t *testing.T) {
	bubble(t, func(t *testing.T, l *lab) {
		l.busy(t)
		var calls []*call
		for i := range 5 {
			calls = append(calls, l.begin(t, store.Create(key(fmt.Sprint(i)), i)))
		}
		l.expect(t, "busy")
		l.land(nil)
		l.expect(t, "0 1 2 3 4")
		l.land(nil)
		for i, c := range calls {
			if !c.over || c.err != nil || len(c.applied) != 1 || c.applied[0].ETag == "" {
				t.Errorf("call %d: %+v", i, c)
			}
		}
	})
}

// A group has so many operations, and a second one goes beside it as soon as it has as many.
func TestAFullGroupGoesBesideAnother(t *testing.T) {
	bubble(t, func(t *testing.T, l *lab) {
		l.busy(t)
		for i := range firstGroup - 1 {
			l.begin(t, store.Create(key(fmt.Sprint(i)), i))
		}
		l.expect(t, "busy")
		for i := range 4 {
			l.begin(t, store.Create(key(fmt.Sprint("more", i)), i))
		}
		waiting := strings.Split(l.inFlight(), " | ")
		if len(waiting) != 2 || len(strings.Fields(waiting[1])) != firstGroup {
			t.Fatalf("in flight: %s", waiting)
		}
		l.land(nil)
		l.land(nil)
		l.expect(t, "more1 more2 more3")
	})
}

// A group has so many bytes, and what does not fit keeps its place.
func TestGroupsAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T, l *lab) {
		l.busy(t)
		l.begin(t, store.Create(key("small"), 1))
		l.begin(t, store.Create(key("large"), strings.Repeat("x", 1_000_000)))
		l.begin(t, store.Create(key("larger"), strings.Repeat("x", 1_000_000)))
		l.begin(t, store.Create(key("last"), 1))
		l.land(nil)
		l.expect(t, "small large")
		l.land(nil)
		l.expect(t, "larger last")
	})
}

// An Apply that loses fails with its own error at once, and the others are carried out without it.
func TestLoserLeavesItsGroup(t *testing.T) {
	bubble(t, func(t *testing.T, l *lab) {
		l.busy(t)
		first := l.begin(t, store.Create(key("a"), 1), store.Create(key("b"), 1))
		loser := l.begin(t, store.Create(key("c"), 1), store.Replace(key("d"), 1, store.Version{ETag: `"1"`}))
		last := l.begin(t, store.Create(key("e"), 1))
		l.land(nil)
		l.expect(t, "a b c d e")
		l.land(nil)
		l.expect(t, "a b e")
		if !loser.over || !errors.Is(loser.err, store.ErrNotFound) || !strings.HasPrefix(loser.err.Error(), "operation 1 on p/d: ") || first.over || last.over {
			t.Errorf("the loser: %+v", loser)
		}
		again := l.begin(t, store.Create(key("c"), 2))
		l.land(nil)
		l.expect(t, "c")
		l.land(nil)
		if first.err != nil || last.err != nil || again.err != nil || !again.over || !last.over {
			t.Errorf("%+v %+v %+v", first, last, again)
		}
	})
}

// Applies to one item happen in the order in which they came, although a second group has room.
func TestItemsKeepTheirOrder(t *testing.T) {
	bubble(t, func(t *testing.T, l *lab) {
		l.begin(t, store.Create(key("a"), 1))
		l.begin(t, store.Upsert(key("a"), 2), store.Upsert(key("b"), 2))
		l.begin(t, store.Upsert(key("b"), 3)) // waits for the one before it
		var others []string
		for i := range firstGroup - 3 { // which do not
			others = append(others, fmt.Sprint("c", i))
			l.begin(t, store.Upsert(key(others[i]), 3))
		}
		l.expect(t, "a | "+strings.Join(others, " "))
		l.land(nil)
		l.land(nil)
		l.expect(t, "a b")
		l.land(nil)
		l.expect(t, "b")
	})
}

// Counts in one item are one patch, and those that come while one is in flight wait.
func TestCountsGather(t *testing.T) {
	bubble(t, func(t *testing.T, l *lab) {
		counter := key("n")
		if _, err := l.stored.Apply(t.Context(), store.Writes{store.Create(counter, map[string]int{"n": 0})}); err != nil {
			t.Fatal(err)
		}
		count := store.Writes{store.Patch(counter, "", store.Increment("/n", 1)), store.Get(counter)}
		var calls []*call
		for range 6 {
			calls = append(calls, l.begin(t, count...))
		}
		l.expect(t, "n n")
		l.land(nil)
		l.expect(t, "n n") // a read and a patch
		l.land(nil)
		for i, c := range calls {
			if got, err := store.Got[map[string]int](c.applied, 1); err != nil || got.Doc["n"] != i+1 {
				t.Errorf("call %d read %v, %v", i, got.Doc, err)
			}
		}
	})
}

// An Apply whose caller leaves the queue is not carried out, and others no longer wait for it.
func TestCallerLeavesTheQueue(t *testing.T) {
	bubble(t, func(t *testing.T, l *lab) {
		l.begin(t, store.Create(key("a"), 1))
		gone := l.begin(t, store.Upsert(key("a"), 2), store.Upsert(key("b"), 2))
		l.begin(t, store.Upsert(key("b"), 3))
		l.expect(t, "a")
		gone.cancel()
		synctest.Wait()
		l.land(nil)
		l.expect(t, "b")
		if !gone.over || !errors.Is(gone.err, context.Canceled) {
			t.Errorf("%+v", gone)
		}
	})
}

// A group goes on if one of its callers leaves, and ends if all have left.
func TestCallerLeavesItsGroup(t *testing.T) {
	bubble(t, func(t *testing.T, l *lab) {
		l.busy(t)
		leader := l.begin(t, store.Create(key("a"), 1))
		other := l.begin(t, store.Create(key("b"), 1))
		l.land(nil)
		leader.cancel()
		l.expect(t, "a b")
		if !leader.over || !errors.Is(leader.err, context.Canceled) || other.over {
			t.Fatalf("%+v %+v", leader, other)
		}
		l.land(nil)
		if !other.over || other.err != nil {
			t.Errorf("%+v", other)
		}
		if _, err := l.stored.ReadDocument(t.Context(), key("a")); err != nil {
			t.Errorf("the writes of a caller that left: %v", err)
		}

		first := l.begin(t, store.Create(key("c"), 1))
		l.begin(t, store.Create(key("c"), 2)) // waits for the first
		first.cancel()
		l.land(nil) // which has ended
		l.expect(t, "c")
	})
}

// A deadline of the caller is an outcome that is not known, at once.
func TestDeadlineOfTheCaller(t *testing.T) {
	bubble(t, func(t *testing.T, l *lab) {
		l.busy(t)
		a, err := encoded(store.Writes{store.Create(key("a"), 1)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.apply(ctx, a)[0].Err; !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("in the queue: %v", err)
		}
		if err := l.apply(ctx, a)[0].Err; !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("with a context that has ended: %v", err)
		}
	})
}

// A flight ends by itself if the service does not answer, and each caller learns that the outcome is
// not known. So it is if a transaction panics.
func TestFlightEnds(t *testing.T) {
	for name, end := range map[string]func(l *lab){
		"no answer": func(*lab) { time.Sleep(longestFlight + time.Second) },
		"panic":     func(l *lab) { l.land(func(context.Context) { panic("in a transaction") }) },
		"outage": func(l *lab) {
			l.mu.Lock()
			l.errs["a"] = fmt.Errorf("%w: a fault of the test", store.ErrUnavailable)
			l.mu.Unlock()
			l.land(nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, l *lab) {
				l.busy(t)
				calls := []*call{l.begin(t, store.Create(key("a"), 1)), l.begin(t, store.Create(key("b"), 1)), l.begin(t, store.Create(key("c"), 1), store.Create(key("d"), 1))}
				l.land(nil)
				l.expect(t, "a b c d")
				end(l)
				synctest.Wait()
				for i, c := range calls {
					if !c.over || !errors.Is(c.err, store.ErrUnavailable) {
						t.Errorf("call %d: %+v", i, c)
					}
				}
				if len(calls) == 3 && !strings.HasPrefix(calls[2].err.Error(), "applying 2 writes in p: ") {
					t.Errorf("%v", calls[2].err)
				}
				l.mu.Lock()
				l.waiting, l.errs = nil, map[string]error{}
				l.mu.Unlock()
				l.begin(t, store.Upsert(key("a"), 2))
				l.expect(t, "a")
			})
		})
	}
}

// Throttled groups become smaller, and full ones larger again.
func TestThrottledGroupsShrink(t *testing.T) {
	bubble(t, func(t *testing.T, l *lab) {
		throttle := func(ctx context.Context) { ctx.Value(flightKey{}).(*flight).throttled.Store(true) }
		next := 0
		fill := func() {
			for range 2 * firstGroup {
				l.begin(t, store.Create(key(fmt.Sprint(next)), 1))
				next++
			}
		}
		fill()
		sizes := []int{}
		for range 6 {
			l.land(throttle)
			sizes = append(sizes, l.partitions["p"].size)
		}
		if want := []int{25, 12, 6, 3, 1, 1}; !slices.Equal(sizes, want) {
			t.Errorf("the groups shrink to %v, want %v", sizes, want)
		}
		for l.partitions["p"].size < 4 {
			fill()
			before := l.partitions["p"].size
			l.land(nil)
			if after := l.partitions["p"].size; after > before+1 {
				t.Fatalf("a group grows from %d to %d", before, after)
			}
		}
	})
}
