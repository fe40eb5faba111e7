package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/matoolkit/matoolkit/internal/store"
)

// testLimits: how much one Apply takes. A document or an Apply beyond it is ErrTooLarge.
func testLimits(t *testing.T, d Driver) {
	text := func(bytes int) thing { return thing{Text: strings.Repeat("x", bytes)} }
	many := func(k func(string) store.Key, n, bytes int) (writes store.Writes) {
		for i := range n {
			writes = append(writes, store.Create(k(strconv.Itoa(i)), text(bytes)))
		}
		return writes
	}
	for _, r := range []struct {
		name   string
		writes func(k func(string) store.Key) store.Writes
		err    error
	}{
		{"100 operations", func(k func(string) store.Key) store.Writes { return many(k, 100, 1) }, nil},
		{"101 operations", func(k func(string) store.Key) store.Writes { return many(k, 101, 1) }, store.ErrTooLarge},
		{"a document of 1.9 MB", func(k func(string) store.Key) store.Writes { return many(k, 1, 1_900_000) }, nil},
		{"a document of 3 MB", func(k func(string) store.Key) store.Writes { return many(k, 1, 3<<20) }, store.ErrTooLarge},
		{"documents of 1.8 MB together", func(k func(string) store.Key) store.Writes { return many(k, 3, 600_000) }, nil},
		{"documents of 3 MB together", func(k func(string) store.Key) store.Writes { return many(k, 3, 1<<20) }, store.ErrTooLarge},
	} {
		k := place(t)
		if _, err := d.Store.Apply(t.Context(), r.writes(k)); !errors.Is(err, r.err) || r.err == nil && err != nil {
			t.Errorf("%s: %.200v, want %v", r.name, err, r.err)
		} else if size := (*store.SizeError)(nil); strings.Contains(r.name, "3 MB") && (!errors.As(err, &size) || size.Bytes <= store.MaxBytes) {
			t.Errorf("%s: %v does not have the size", r.name, err)
		}
		if _, err := store.Read[thing](t.Context(), d.Store, k("0")); (err == nil) != (r.err == nil) {
			t.Errorf("%s: read: %v", r.name, err)
		}
	}
	// The driver must not make a document larger than its measured size.
	k := place(t)("a")
	long := strings.Repeat("<&>", 300_000) // 0.9 MB, and 5.4 MB escaped
	must(t, d.Store, store.Create(k, thing{Text: long}))
	if read(t, d.Store, k).Doc.Text != long {
		t.Error("a text with < and & is read otherwise than it was written")
	}
}

// testRefusals: documents that the service refuses for good. That is no outage.
func testRefusals(t *testing.T, d Driver) {
	for name, doc := range map[string]any{
		"nested too deep":          json.RawMessage(strings.Repeat("[", 130) + strings.Repeat("]", 130)),
		"a number beyond a double": json.RawMessage(`1e400`),
		"not UTF-8":                json.RawMessage("\"\xff\""),
	} {
		k := place(t)
		if _, err := d.Store.Apply(t.Context(), store.Writes{store.Create(k("single"), doc)}); !errors.Is(err, store.ErrRefused) || errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s, alone: %v", name, err)
		}
		_, err := d.Store.Apply(t.Context(), store.Writes{store.Create(k("a"), thing{}), store.Create(k("b"), doc)})
		if !errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), k("b").String()) {
			t.Errorf("%s, with another write: %v", name, err)
		}
	}
}

// testFaults: what callers see of outages. A write whose answer was lost is carried out.
func testFaults(t *testing.T, d Driver) {
	s := d.Store
	k := place(t)
	must(t, s, store.Create(k("a"), thing{N: 1}))
	checkCancelled(t, s, k("a"))
	if d.Unavailable == nil || d.LoseAnswer == nil || d.Full == nil {
		t.Log("this driver injects no faults")
		return
	}
	end := d.Unavailable(t)
	if _, err := store.Read[thing](t.Context(), s, k("a")); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a read in an outage: %v", err)
	}
	if _, err := s.MembersOfPage(t.Context(), batchNumber(), 1, ""); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a query in an outage: %v", err)
	}
	if _, err := s.Apply(t.Context(), store.Writes{store.Upsert(k("a"), thing{N: 3})}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a write in an outage: %v", err)
	}
	end()
	if got := read(t, s, k("a")); got.Doc.N != 1 {
		t.Errorf("a write in an outage was carried out: %+v", got)
	}
	for _, writes := range []store.Writes{
		{store.Upsert(k("a"), thing{N: 4})},
		{store.Upsert(k("a"), thing{N: 5}), store.Create(k("b"), thing{N: 5})},
	} {
		end := d.LoseAnswer(t)
		if _, err := s.Apply(t.Context(), writes); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%d writes whose answer was lost: %v", len(writes), err)
		}
		end()
		if got := read(t, s, k("a")); got.Doc.N != writes[0].Doc.(thing).N {
			t.Errorf("%d writes whose answer was lost were not carried out: %+v", len(writes), got)
		}
	}
	end = d.Full(t)
	for _, writes := range []store.Writes{{store.Create(k("c"), thing{})}, {store.Create(k("c"), thing{}), store.Create(k("d"), thing{})}} {
		if _, err := s.Apply(t.Context(), writes); !errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%d writes to a full partition: %v", len(writes), err)
		}
	}
	end()
	must(t, s, store.Create(k("c"), thing{}))
}

// checkCancelled checks that a read and a write end with their context.
func checkCancelled(t *testing.T, s store.Store, k store.Key) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := store.Read[thing](ctx, s, k); !errors.Is(err, context.Canceled) {
		t.Errorf("a read that was cancelled: %v", err)
	}
	if _, err := s.Apply(ctx, store.Writes{store.Upsert(k, thing{N: 2})}); !errors.Is(err, context.Canceled) {
		t.Errorf("a write that was cancelled: %v", err)
	}
}

// testConcurrency: of writers that replace the same version, one succeeds; increments add up.
func testConcurrency(t *testing.T, d Driver) {
	k := place(t)
	version := must(t, d.Store, store.Create(k("a"), thing{})).Version(0)
	must(t, d.Store, store.Create(k("n"), thing{}))
	const writers = 8
	var won, lost sync.Map
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			_, err := d.Store.Apply(t.Context(), store.Writes{store.Replace(k("a"), thing{N: i + 1}, version)})
			switch {
			case err == nil:
				won.Store(i, true)
			case errors.Is(err, store.ErrChanged):
				lost.Store(i, true)
			default:
				t.Errorf("writer %d: %v", i, err)
			}
			for {
				_, err := d.Store.Apply(t.Context(), store.Writes{store.Patch(k("n"), "", store.Increment("/n", 1))})
				if !errors.Is(err, store.ErrChanged) {
					if err != nil {
						t.Errorf("patch %d: %v", i, err)
					}
					return
				}
			}
		})
	}
	all.Wait()
	count := func(m *sync.Map) (n int) {
		m.Range(func(any, any) bool { n++; return true })
		return n
	}
	if count(&won) != 1 || count(&lost) != writers-1 {
		t.Errorf("%d writers succeeded and %d were refused", count(&won), count(&lost))
	}
	if n := read(t, d.Store, k("n")).Doc.N; n != writers {
		t.Errorf("%d increments made %d", writers, n)
	}
}

// testCounts: a store counts its operations.
func testCounts(t *testing.T, d Driver) {
	k := place(t)
	before := d.Store.Counts()
	must(t, d.Store, store.Create(k("a"), thing{}), store.Create(k("b"), thing{}))
	read(t, d.Store, k("a"))
	if _, err := d.Store.MembersOfPage(t.Context(), batchNumber(), 1, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Store.Apply(t.Context(), store.Writes{store.Replace(k("a"), thing{}, store.Version{ETag: `"stale"`})}); !errors.Is(err, store.ErrChanged) {
		t.Fatal(err)
	}
	after := d.Store.Counts()
	got := store.Counts{Reads: after.Reads - before.Reads, Queries: after.Queries - before.Queries, Writes: after.Writes - before.Writes, Conflicts: after.Conflicts - before.Conflicts}
	if got != (store.Counts{Reads: 1, Queries: 1, Writes: 2, Conflicts: 1}) {
		t.Errorf("%+v", got)
	}
}
