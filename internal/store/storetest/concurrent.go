package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/matoolkit/matoolkit/internal/store"
)

// testSerial: concurrent Applies have the results, errors and effects of an order in which they happen
// one after the other. Each counts in one item, which tells its place in that order.
func testSerial(t *testing.T, d Driver) {
	for seed := range uint64(6) {
		s := &serial{Store: d.Store, key: place(t), seed: seed}
		s.run(t)
		s.check(t)
	}
}

// serial is random Applies of several callers to a few items.
type serial struct {
	store.Store
	key  func(string) store.Key
	seed uint64

	mu   sync.Mutex
	done []*attempt
}

// attempt is one Apply with its outcome.
type attempt struct {
	writes  store.Writes
	based   map[string]int // by items that are replaced: what the caller had read in them
	results store.Applied
	err     error
	place   int // among those that succeed, from 1
	// A failed one happened after so many that succeeded.
	earliest, latest int
}

const (
	serialCallers  = 12
	serialAttempts = 12
	total          = "total"
)

var (
	serialItems  = []string{"a", "b", "c"} // which are replaced, deleted and created again
	serialCounts = []string{"x", "y", "none"}
)

func (s *serial) run(t *testing.T) {
	t.Helper()
	must(t, s, store.Create(s.key(total), thing{}), store.Create(s.key("x"), thing{}), store.Create(s.key("y"), thing{}))
	must(t, s, store.Create(s.key("a"), thing{}), store.Create(s.key("b"), thing{}))
	var callers sync.WaitGroup
	for i := range serialCallers {
		callers.Go(func() {
			r := rand.New(rand.NewPCG(s.seed, uint64(i)))
			read := map[string]store.Item[thing]{} // what this caller knows, which may be out of date
			for n := range serialAttempts {
				s.attempt(t, r, read, 1000*(100*i+n+1))
			}
		})
	}
	callers.Wait()
}

// attempt draws an Apply and carries it out.
func (s *serial) attempt(t *testing.T, r *rand.Rand, read map[string]store.Item[thing], unique int) {
	a := &attempt{based: map[string]int{}}
	add := func(w store.Write) { a.writes = append(a.writes, w) }
	replace := func(id string) {
		if known, ok := read[id]; ok {
			a.based[id] = known.Doc.N
			add(store.Replace(s.key(id), thing{N: unique}, known.Version))
		}
	}
	for _, id := range serialItems {
		switch r.IntN(9) {
		case 0:
			replace(id)
		case 1:
			add(store.Create(s.key(id), thing{N: unique}))
		case 2:
			if known, ok := read[id]; ok {
				a.based[id] = known.Doc.N
				add(store.Delete(s.key(id), known.ETag))
			}
		case 3:
			add(store.Upsert(s.key(id), thing{N: unique}))
		case 4:
			found, err := store.Read[thing](t.Context(), s, s.key(id))
			if err == nil {
				read[id] = found
			} else if !errors.Is(err, store.ErrNotFound) {
				t.Error(err)
			}
		}
	}
	for _, id := range serialCounts {
		switch n := r.IntN(8); {
		case n == 0 && id != "none":
			replace(id) // a version that a count returned, which a later count may have replaced
		case n < 3 && id != "none" || n == 0:
			add(store.Patch(s.key(id), "", store.Increment("/n", 1)))
			add(store.Get(s.key(id)))
		case n == 3 && id != "none":
			add(store.Get(s.key(id)))
		}
	}
	add(store.Patch(s.key(total), "", store.Increment("/n", 1)))
	add(store.Get(s.key(total)))
	before, err := store.Read[thing](t.Context(), s, s.key(total))
	if err == nil {
		a.results, a.err = s.Apply(t.Context(), a.writes)
	}
	after, failed := store.Read[thing](t.Context(), s, s.key(total))
	if err := errors.Join(err, failed); err != nil {
		t.Error(err)
		return
	}
	a.earliest, a.latest = before.Doc.N, after.Doc.N
	for i, w := range a.writes {
		if a.err != nil {
			break
		}
		switch known := read[w.Key.ID]; w.Op {
		case store.OpGet:
			got, err := store.Got[thing](a.results, i)
			if err != nil {
				t.Error(err)
			}
			read[w.Key.ID] = got
			a.place = got.Doc.N // in the last one
		case store.OpReplace, store.OpCreate, store.OpUpsert:
			known.Doc, known.Version = thing{N: unique}, a.results.Version(i)
			read[w.Key.ID] = known
		}
	}
	s.mu.Lock()
	s.done = append(s.done, a)
	s.mu.Unlock()
}

// check replays the Applies that succeeded in their order, and looks for a moment at which each other
// one had to fail.
func (s *serial) check(t *testing.T) {
	t.Helper()
	succeeded := slices.DeleteFunc(slices.Clone(s.done), func(a *attempt) bool { return a.err != nil })
	slices.SortFunc(succeeded, func(a, b *attempt) int { return a.place - b.place })
	states := []map[string]int{{total: 0, "x": 0, "y": 0, "a": 0, "b": 0}}
	for i, a := range succeeded {
		if a.place != i+1 || a.place <= a.earliest || a.place > a.latest {
			t.Fatalf("seed %d: the Apply at place %d counted as number %d, between %d and %d", s.seed, i+1, a.place, a.earliest, a.latest)
		}
		next := cloned(states[i])
		if n, refused := a.replay(next); refused != nil {
			t.Fatalf("seed %d: operation %d at place %d succeeded on %v, want %v: %+v", s.seed, n, a.place, states[i], refused, a.writes)
		}
		states = append(states, next)
	}
	for _, a := range s.done {
		if a.err == nil {
			continue
		}
		due := slices.ContainsFunc(states[a.earliest:a.latest+1], func(state map[string]int) bool {
			n, refused := a.replay(cloned(state))
			return refused != nil && errors.Is(a.err, refused) && strings.Contains(a.err.Error(), fmt.Sprintf("operation %d on %s: ", n, a.writes[n].Key))
		})
		if !due {
			t.Errorf("seed %d: an Apply failed for no reason: %v; %+v on %v", s.seed, a.err, a.writes, states[a.earliest:a.latest+1])
		}
	}
	for id, n := range states[len(states)-1] {
		if got := read(t, s, s.key(id)); got.Doc.N != n {
			t.Errorf("seed %d: %s has %d in the end, want %d", s.seed, id, got.Doc.N, n)
		}
	}
	if n := len(succeeded); n == 0 || n == len(s.done) {
		t.Errorf("seed %d: %d of %d Applies succeeded", s.seed, n, len(s.done))
	}
}

func cloned(state map[string]int) map[string]int {
	next := map[string]int{}
	for id, n := range state {
		next[id] = n
	}
	return next
}

// replay carries out the writes on a state, and returns the operation that the state refuses, with the reason.
// Versions are told apart by the numbers in the documents: each is written once, or only grows.
func (a *attempt) replay(state map[string]int) (operation int, refused error) {
	for i, w := range a.writes {
		id := w.Key.ID
		n, exists := state[id]
		base, versioned := a.based[id]
		switch {
		case w.Op == store.OpCreate && exists:
			return i, store.ErrExists
		case !exists && w.Op != store.OpCreate && w.Op != store.OpUpsert:
			return i, store.ErrNotFound
		case versioned && (w.Op == store.OpReplace || w.Op == store.OpDelete) && n != base:
			return i, store.ErrChanged
		}
		switch w.Op {
		case store.OpDelete:
			delete(state, id)
		case store.OpPatch:
			state[id] = n + 1
		case store.OpGet:
			if a.results != nil {
				if got, err := store.Got[thing](a.results, i); err != nil || got.Doc.N != n {
					return i, fmt.Errorf("it read %d, %w", got.Doc.N, err)
				}
			}
		default:
			state[id] = w.Doc.(thing).N
		}
	}
	return 0, nil
}

// testTogether: callers do not disturb each other. Each has a document of its own; half of them also
// count, and some always lose.
func testTogether(t *testing.T, d Driver) {
	const callers, rounds = 16, 8
	k := place(t)
	must(t, d.Store, store.Create(k("shard"), thing{N: callers / 2 * rounds}), store.Create(k("taken"), thing{}))
	var mu sync.Mutex
	var seen []int
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			own := k(fmt.Sprint("own", i))
			applied, err := d.Store.Apply(t.Context(), store.Writes{store.Create(own, thing{})})
			for n := range rounds {
				if err != nil {
					break
				}
				writes := store.Writes{store.Replace(own, thing{N: n + 1}, applied.Version(0))}
				if i%2 == 0 {
					writes = append(writes, store.Patch(k("shard"), "", store.Increment("/n", -1), store.Set("/text", fmt.Sprint(i, "/", n))), store.Get(k("shard")))
				}
				if _, err := d.Store.Apply(t.Context(), append(slices.Clone(writes), store.Create(k("taken"), thing{}))); !errors.Is(err, store.ErrExists) || !strings.Contains(err.Error(), k("taken").String()) {
					t.Errorf("caller %d, which has to lose: %v", i, err)
				}
				if applied, err = d.Store.Apply(t.Context(), writes); err != nil || i%2 != 0 {
					continue
				}
				got, err := store.Got[thing](applied, 2)
				if err != nil || got.Doc.Text != fmt.Sprint(i, "/", n) {
					t.Errorf("caller %d read what another one set: %+v, %v", i, got, err)
				}
				mu.Lock()
				seen = append(seen, got.Doc.N)
				mu.Unlock()
				// What it read is the stored version, or a later count has replaced that one.
				if _, err := d.Store.Apply(t.Context(), store.Writes{store.Replace(k("shard"), got.Doc, got.Version)}); err != nil && !errors.Is(err, store.ErrChanged) {
					t.Errorf("caller %d: %v", i, err)
				}
			}
			if err != nil {
				t.Errorf("caller %d: %v", i, err)
			}
		})
	}
	all.Wait()
	slices.Sort(seen)
	for i, n := range seen {
		if n != i {
			t.Fatalf("the callers saw %v: each is to see a count of its own, and one the empty shard", seen)
		}
	}
	for i := range callers {
		if got := read(t, d.Store, k(fmt.Sprint("own", i))); got.Doc.N != rounds {
			t.Errorf("caller %d: %+v", i, got)
		}
	}
}

// testEach: the Applies of an ApplyEach happen one after the other. Each has its own result or error,
// and one that fails leaves the others alone.
func testEach(t *testing.T, d Driver) {
	k := place(t)
	first := must(t, d.Store, store.Create(k("a"), thing{N: 1}), store.Create(k("shard"), thing{N: 40}))
	var all []store.Writes
	add := func(writes ...store.Write) { all = append(all, writes) }
	count := func(own string) {
		add(store.Create(k(own), thing{N: 2}), store.Patch(k("shard"), "", store.Increment("/n", -1)), store.Get(k("shard")))
	}
	count("b")
	add()
	add(store.Replace(k("a"), thing{N: 2}, first.Version(0)))
	add(store.Replace(k("a"), thing{N: 3}, first.Version(0)))
	add(store.Create(k("b"), thing{N: 3}), store.Create(k("c"), thing{}))
	for i := range 36 { // more operations than one batch of the service has
		count(fmt.Sprint("own", i))
	}
	outcomes := d.Store.ApplyEach(t.Context(), all)
	if len(outcomes) != len(all) {
		t.Fatalf("%d outcomes", len(outcomes))
	}
	left := 40
	for i, o := range outcomes {
		if want := map[int]error{3: store.ErrChanged, 4: store.ErrExists}[i]; want != nil || i == 1 {
			if o.Err == nil || !errors.Is(o.Err, want) && i != 1 {
				t.Errorf("Apply %d: %v, want %v", i, o.Err, want)
			}
			continue
		}
		if o.Err != nil || len(o.Applied) != len(all[i]) {
			t.Fatalf("Apply %d: %v, %v", i, o.Applied, o.Err)
		}
		if len(all[i]) < 3 {
			continue
		}
		left--
		if got, err := store.Got[thing](o.Applied, 2); err != nil || got.Doc.N != left {
			t.Errorf("Apply %d read %+v, %v, want %d", i, got.Doc, err, left)
		}
	}
	if got := read(t, d.Store, k("a")); got.Doc.N != 2 || got.ETag != outcomes[2].Applied.Version(0).ETag {
		t.Errorf("a is %+v", got)
	}
	if got := read(t, d.Store, k("b")); got.Doc.N != 2 {
		t.Errorf("b is %+v", got)
	}
	if _, err := d.Store.ReadDocument(t.Context(), k("c")); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("c of an Apply that failed: %v", err)
	}
	if none := d.Store.ApplyEach(t.Context(), nil); len(none) != 0 {
		t.Errorf("%v", none)
	}
}

// testFaultsTogether: an outage fails all concurrent Applies, and carries out none. If answers are
// lost, each Apply that fails says that its outcome is not known.
func testFaultsTogether(t *testing.T, d Driver) {
	if d.Unavailable == nil || d.LoseAnswer == nil {
		t.Log("this driver injects no faults")
		return
	}
	const callers = 12
	k := place(t)
	create := func() (errs []error) {
		errs = make([]error, callers)
		var all sync.WaitGroup
		for i := range callers {
			all.Go(func() { _, errs[i] = d.Store.Apply(t.Context(), store.Writes{store.Create(k(fmt.Sprint(i)), thing{})}) })
		}
		all.Wait()
		return errs
	}
	end := d.Unavailable(t)
	for i, err := range create() {
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("caller %d in an outage: %v", i, err)
		}
	}
	end()
	end = d.LoseAnswer(t)
	lost := 0
	for i, err := range create() {
		if err != nil {
			lost++
		}
		if err != nil && !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("caller %d, whose answer may be lost: %v", i, err)
		}
	}
	end()
	if lost == 0 {
		t.Error("no answer was lost")
	}
	for i := range callers {
		read(t, d.Store, k(fmt.Sprint(i)))
	}
}
