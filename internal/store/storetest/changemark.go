package storetest

import (
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// testChangeMarks: each write in the partition of a batch gives it another change mark, also within a
// second. Nothing else does.
func testChangeMarks(t *testing.T, d Driver) {
	batch := batchNumber()
	mark := func(now time.Time) string {
		t.Helper()
		before := d.Store.Counts()
		is, err := d.Store.ChangeMark(t.Context(), batch, now)
		if err != nil {
			t.Fatal(err)
		}
		if after := d.Store.Counts(); after.Queries-before.Queries != 1 || after.Reads != before.Reads {
			t.Errorf("a change mark costs %+v after %+v", after, before)
		}
		return is
	}
	now := time.Now()
	if is := mark(now); is != "" {
		t.Errorf("a batch that does not exist has the change mark %q", is)
	}
	seen := map[string]string{}
	changed := func(what string) {
		t.Helper()
		is := mark(now)
		if is == "" || seen[is] != "" {
			t.Errorf("%s: the change mark %q is that of %q", what, is, seen[is])
		}
		seen[is] = what
		if again := mark(now); again != is {
			t.Errorf("%s: the change mark is %q, then %q", what, is, again)
		}
	}
	member := model.Member{ID: 1, Page: 1, Key: "a@x", Status: model.MemberActive}
	key := store.MemberKey(batch, 1)
	must(t, d.Store, store.Create(store.BatchKey(batch), model.Batch{ID: batch}), store.Create(key, member))
	changed("the creation")
	for range 5 {
		must(t, d.Store, store.Patch(key, "", store.Set("/status", model.MemberFailed)))
		changed("a patch")
	}
	must(t, d.Store, store.Upsert(store.BatchKey(batch), model.Batch{ID: batch}))
	changed("an upsert")
	must(t, d.Store, store.Create(store.MemberKey(batch, 2), member))
	changed("a new document")
	must(t, d.Store, store.Create(store.BatchKey(batch+1), model.Batch{ID: batch + 1}))
	if last := mark(now); seen[last] != "a new document" {
		t.Errorf("a write in another batch: the change mark is that of %q", seen[last])
	}

	// Many documents of one second: a mark tells them apart, or there is none until the second is over.
	var many store.Writes
	for i := range 60 {
		many = append(many, store.Create(store.MemberKey(batch, 10+i), member))
	}
	must(t, d.Store, many...)
	first := mark(now)
	must(t, d.Store, store.Patch(store.MemberKey(batch, 69), "", store.Set("/status", model.MemberFailed)))
	if second := mark(now); second != "" && (second == first || seen[second] != "") {
		t.Errorf("after a further write in the second the change mark is %q, before %q", second, first)
	}
	if settled := mark(now.Add(time.Hour)); settled == "" || seen[settled] != "" || settled != mark(now.Add(2*time.Hour)) {
		t.Errorf("an hour later the change mark is %q", settled)
	}
}
