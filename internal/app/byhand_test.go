package app_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/store"
)

// personal are the types of the items of a batch that name its members. An operator deletes the
// items to forget the members.
var personal = []string{"member", "run", "task"}

// TestForgetting deletes the items of an ended batch that name its members: nothing in the batch's
// partition names them afterwards, and the batch, whose rows are still in the data source, is not
// created again.
func TestForgetting(t *testing.T) {
	t.Parallel()
	s := newStage(t, false, azure)
	s.tableOf(dawn.Add(day), "anja", "bob")
	s.findBatches(found(twoPhases, ""))
	s.tickAfter(day)
	s.tick() // two handlers may have listed the batch in the wrong order
	s.wantBatches("1 02 09:00 completed: anja bob")
	if !strings.Contains(s.everything(1), "anja") {
		t.Fatal("nobody was there to be forgotten")
	}

	s.erase(1, personal...)
	if left := s.everything(1); strings.Contains(left, "anja") || strings.Contains(left, "bob") {
		t.Errorf("somebody is still named: %s", left)
	}
	calls := len(s.jobs)
	s.tick()
	s.tickAfter(day)
	s.wantStatus(1, "completed")
	if len(s.jobs) != calls {
		t.Errorf("%d jobs were sent again", len(s.jobs)-calls)
	}
}

// TestForgettingABatchAsAWhole shows why the batch's own item must stay: if its deletion precedes a
// tick has seen that the batch ended, the batch is created and run again.
func TestForgettingABatchAsAWhole(t *testing.T) {
	t.Parallel()
	s := newStage(t, false, azure)
	s.tableOf(dawn.Add(time.Minute), "ann", "bob")
	s.findBatches(found(twoPhases, ""))
	s.pass(time.Minute)
	s.wantBatches("1 01 09:01 completed: ann bob")
	calls := len(s.jobs)
	s.erase(1, "batch", "member", "run", "shard")
	s.pass(11 * time.Minute) // until then the broker drops what it has heard
	s.tick()
	if len(s.jobs) == calls {
		t.Errorf("nothing is done again, so operators need no warning: %s", s.everything(1))
	}
}

// everything is all that the store has of a batch, as text.
func (s *stage) everything(batch int) string {
	s.t.Helper()
	items := must(s.store.Dump(s.ctx, store.BatchPartition(batch)))(s.t)
	var text strings.Builder
	for _, item := range items {
		text.WriteString(item.ID + string(item.Doc) + "\n")
	}
	return text.String()
}

// erase deletes the items of a batch that are of some types.
func (s *stage) erase(batch int, types ...string) {
	s.t.Helper()
	erased := 0
	for _, item := range must(s.store.Dump(s.ctx, store.BatchPartition(batch)))(s.t) {
		if slices.Contains(types, item.Type) {
			s.commit(store.Delete(item.Key, item.ETag))
			erased++
		}
	}
	if erased == 0 {
		s.t.Fatalf("batch %d has no items of types %q", batch, types)
	}
}

// TestNumbersGoOnFromWhereTheyAreSet raises the number of the newest batch by hand, as an operator
// does after a restore.
func TestNumbersGoOnFromWhereTheyAreSet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(mover)
	w.batch("move", people(1))
	kept, err := store.Read[map[string]any](w.ctx, w.store, store.Key{PK: "batches", ID: "sequence", Type: "sequence"})
	if err != nil || kept.Doc["last"] != 1.0 {
		t.Fatalf("%+v, %v", kept, err)
	}
	kept.Doc["last"] = 500
	w.commit(store.Replace(store.SequenceKey(), kept.Doc, kept.Version))
	if b := w.batch("move", people(1), api.AllowInOtherBatches); b.ID != 501 {
		t.Errorf("the next batch is %d", b.ID)
	}
}
