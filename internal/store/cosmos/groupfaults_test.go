package cosmos

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

// held is a transport that holds requests whose body has the word "busy" until the test lets them go.
type held struct{ release chan struct{} }

func (h *held) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		if bytes.Contains(body, []byte("busy")) {
			<-h.release
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return http.DefaultClient.Do(r)
}

// grouped carries out Applies in one group, over the SDK and local/cosmos with a fault on batches. It
// returns their errors and the store.
func grouped(t *testing.T, fault *cosmos.Fault, applies ...store.Writes) (*Store, *cosmos.Server, []error) {
	t.Helper()
	server := testenv.Started(cosmos.Start(t.Context(), cosmos.Config{}))(t)
	h := &held{release: make(chan struct{})}
	s, err := Open(Config{Endpoint: server.URL(), Key: cosmos.DefaultKey, Database: "d", Container: "c", HTTPClient: h})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Provision(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), store.Writes{store.Create(key("n"), map[string]int{"n": 0})}); err != nil {
		t.Fatal(err)
	}
	waiting := func() (flights, queued int) {
		s.commits.mu.Lock()
		defer s.commits.mu.Unlock()
		if l := s.commits.partitions["p"]; l != nil {
			return l.flights, len(l.queue)
		}
		return 0, 0
	}
	testenv.Eventually(t, "the first write has landed, which is after its outcome", func() bool { f, q := waiting(); return f+q == 0 })
	var calls sync.WaitGroup
	begin := func(writes store.Writes, err *error) {
		flights, queued := waiting()
		calls.Go(func() { _, *err = s.Apply(t.Context(), writes) })
		testenv.Eventually(t, "an Apply waits", func() bool { f, q := waiting(); return f+q > flights+queued })
	}
	var busy error
	errs := make([]error, len(applies))
	begin(store.Writes{store.Create(key("busy"), "busy")}, &busy)
	for i, writes := range applies {
		begin(writes, &errs[i])
	}
	if fault != nil {
		fault.On = []cosmos.Operation{cosmos.Batch}
		defer server.Inject(*fault)()
	}
	server.ResetStats()
	close(h.release)
	calls.Wait()
	if busy != nil {
		t.Fatal(busy)
	}
	return s, server, errs
}

func creates(n int) (applies []store.Writes) {
	for i := range n {
		applies = append(applies, store.Writes{store.Create(key(fmt.Sprint(i)), i)})
	}
	return applies
}

// stored counts the documents that the first Applies of creates have made.
func stored(t *testing.T, s *Store, n int) (found int) {
	t.Helper()
	for i := range n {
		_, err := s.ReadDocument(t.Context(), key(fmt.Sprint(i)))
		switch {
		case err == nil:
			found++
		case !errors.Is(err, store.ErrNotFound):
			t.Fatal(err)
		}
	}
	return found
}

// TestGroupIsOneBatch: single writes and batches of several callers are one transactional batch, and
// an Apply alone stays a request of its own.
func TestGroupIsOneBatch(t *testing.T) {
	t.Parallel()
	count := store.Writes{store.Patch(key("n"), "", store.Increment("/n", 1)), store.Get(key("n"))}
	s, server, errs := grouped(t, nil, append(creates(5), count, count, store.Writes{store.Create(key("x"), 1), store.Create(key("y"), 1)})...)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if got := server.Stats(); got.SingleWrites != 1 || got.Batches != 1 || got.BatchOperations != 9 {
		t.Errorf("%d single writes and %d batches with %d operations", got.SingleWrites, got.Batches, got.BatchOperations)
	}
	if counts := s.Counts(); counts.Writes != 1+1+8 {
		t.Errorf("%d Applies are counted", counts.Writes)
	}
	if n, err := store.Read[map[string]int](t.Context(), s, key("n")); err != nil || n.Doc["n"] != 2 {
		t.Errorf("%+v %v", n, err)
	}
}

// TestGroupFaults: the errors of a group's callers after each fault, and the stored items.
func TestGroupFaults(t *testing.T) {
	t.Parallel()
	const callers = 6
	for name, tc := range map[string]struct {
		fault  cosmos.Fault
		err    error
		stored int
	}{
		"throttled":                   {cosmos.Fault{Status: 429, RetryAfter: time.Millisecond, Count: 3}, nil, callers},
		"throttled for longer":        {cosmos.Fault{Status: 429, RetryAfter: time.Millisecond}, store.ErrUnavailable, 0},
		"unavailable":                 {cosmos.Fault{Status: 503}, store.ErrUnavailable, 0},
		"retry with":                  {cosmos.Fault{Status: 449}, store.ErrChanged, 0},
		"killed after the commit":     {cosmos.Fault{DropAfter: true, Count: 1}, store.ErrUnavailable, callers},
		"the group is too large":      {cosmos.Fault{Status: 413, Count: 1}, nil, callers},
		"the partition is full":       {cosmos.Fault{Status: 403, SubStatus: 1014, Count: 1}, nil, callers},
		"the group is malformed":      {cosmos.Fault{Status: 400, Count: 1}, nil, callers},
		"latency, as in a slow store": {cosmos.Fault{Latency: 20 * time.Millisecond}, nil, callers},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _, errs := grouped(t, &tc.fault, creates(callers)...)
			for i, err := range errs {
				if !errors.Is(err, tc.err) || tc.err == nil && err != nil {
					t.Errorf("caller %d: %v, want %v", i, err, tc.err)
				}
				if err != nil && !strings.HasPrefix(err.Error(), fmt.Sprintf("writing p/%d: ", i)) {
					t.Errorf("caller %d: %v", i, err)
				}
			}
			if got := stored(t, s, callers); got != tc.stored {
				t.Errorf("%d documents are stored, want %d", got, tc.stored)
			}
		})
	}
}

// TestGroupRefusals: each caller of a group has the error that it has alone.
func TestGroupRefusals(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 130) + strings.Repeat("]", 130)
	applies := append(creates(3),
		store.Writes{store.ReplaceUnlessNewer(key("n"), map[string]int{"n": 9}, "n", -1)},
		store.Writes{store.Create(key("busy"), 1)},
		store.Writes{store.Create(key("x"), 1), store.Replace(key("y"), 1, store.Version{ETag: `"1"`})},
		store.Writes{store.Create(key("deep"), rawJSON(deep))},
		store.Writes{store.Patch(key("none"), "", store.Increment("/n", 1)), store.Get(key("none"))},
		store.Writes{store.Patch(key("none"), "", store.Increment("/n", 1)), store.Get(key("none"))},
		store.Writes{store.ReplaceUnlessNewer(key("newer"), map[string]int{"n": 1}, "n", 1)},
	)
	s, _, errs := grouped(t, nil, applies...)
	for i, err := range errs[:3] {
		if err != nil {
			t.Errorf("caller %d: %v", i, err)
		}
	}
	for i, writes := range applies[3:] {
		_, alone := s.Apply(t.Context(), writes)
		if err := errs[3+i]; err == nil || alone == nil || err.Error() != alone.Error() {
			t.Errorf("caller %d: %v, and alone %v", 3+i, err, alone)
		}
	}
	if counts := s.Counts(); counts.Conflicts != 0 {
		t.Errorf("%d conflicts are counted", counts.Conflicts)
	}
}

type rawJSON string

func (r rawJSON) MarshalJSON() ([]byte, error) { return []byte(r), nil }

// TestThrottledGroupIsSeen: the SDK repeats a throttled request, and the size of groups shrinks.
func TestThrottledGroupIsSeen(t *testing.T) {
	t.Parallel()
	server := testenv.Started(cosmos.Start(t.Context(), cosmos.Config{}))(t)
	s, err := Open(Config{Endpoint: server.URL(), Key: cosmos.DefaultKey, Database: "d", Container: "c"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Provision(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, count := range []int{0, 2} {
		f := &flight{}
		if count > 0 {
			defer server.Inject(cosmos.Fault{Status: 429, RetryAfter: time.Millisecond, Count: count})()
		}
		ctx := withFlight(t.Context(), f)
		a, err := encoded(store.Writes{store.Create(key(fmt.Sprint("a", count)), 1), store.Create(key(fmt.Sprint("b", count)), 1)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.transact(ctx, a.Writes); err != nil || f.throttled.Load() != (count > 0) {
			t.Errorf("after %d throttled requests: %v, seen %t", count, err, f.throttled.Load())
		}
	}
}
