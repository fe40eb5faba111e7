package app_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// TestFollowingABatchOf100000 counts what a page costs that follows a batch: one query a second while
// nothing changes, and when something does, reads whose number does not depend on the members.
func TestFollowingABatchOf100000(t *testing.T) {
	t.Parallel()
	const members = 100_000
	clock := &fakeClock{}
	clock.ns.Store(dawn.UnixNano())
	w := newWorldAt(t, clock.Now, inMemory)
	id := w.createBatch("name: followed\ndata_source: {type: csv, primary_key: UserId}\nphases:\n  - name: move\n    offset: T-0\n    steps: [{name: move, worker_id: worker-01, function: Move-User}]\n", "UserId\nu1\n").ID
	b, err := store.Read[model.Batch](w.ctx, w.store, store.BatchKey(id))
	if err != nil {
		t.Fatal(err)
	}
	b.Doc.Members = members
	if _, err := w.store.Apply(w.ctx, store.Writes{store.Replace(b.Key, b.Doc, b.Version)}); err != nil {
		t.Fatal(err)
	}
	var writes store.Writes
	for n := 2; n <= members; n++ {
		writes = append(writes, store.Create(store.MemberKey(id, n), model.Member{ID: n, Page: (n-1)/model.PageSize + 1, Key: fmt.Sprint("u", n), Status: model.MemberActive}))
		if len(writes) == store.MaxOperations || n == members {
			if _, err := w.store.Apply(w.ctx, writes); err != nil {
				t.Fatal(err)
			}
			writes = nil
		}
	}
	spent := func(do func()) store.Counts {
		before := w.store.Counts()
		do()
		after := w.store.Counts()
		return store.Counts{Reads: after.Reads - before.Reads, Queries: after.Queries - before.Queries, Writes: after.Writes - before.Writes}
	}
	mark := func() string {
		t.Helper()
		is, err := w.app.ChangeMark(w.ctx, id)
		if err != nil || is == "" {
			t.Fatalf("the change mark is %q, %v", is, err)
		}
		return is
	}

	marks := map[string]bool{}
	if cost := spent(func() {
		for range 20 { // seconds
			marks[mark()] = true
			clock.ns.Add(int64(time.Second))
		}
	}); cost != (store.Counts{Queries: 20}) || len(marks) > 2 { // two where 30 seconds end in between
		t.Errorf("20 seconds without a change cost %+v and have %d marks", cost, len(marks))
	}

	before := mark()
	member, err := store.Read[model.Member](w.ctx, w.store, store.MemberKey(id, members/2))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.store.Apply(w.ctx, store.Writes{store.Patch(member.Key, member.ETag, store.Set("/status", model.MemberFailed))}); err != nil {
		t.Fatal(err)
	}
	if after := mark(); after == before {
		t.Error("a change of one member of 100,000 has the same change mark")
	}
	if cost := spent(func() {
		if _, err := w.app.Batch(w.ctx, ada, id); err != nil {
			t.Error(err)
		}
		if _, err := w.app.Phases(w.ctx, ada, id); err != nil {
			t.Error(err)
		}
	}); cost.Reads+cost.Queries > 6 || cost.Writes > 0 {
		t.Errorf("the batch with its phases costs %+v", cost)
	}
}
