package app_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

// personal selects the items of a batch that name its members. An operator deletes them to forget
// the members.
const personal = "c.type IN ('member', 'run', 'task')"

// TestForgetting deletes the items of an ended batch that name its members: nothing in the batch's
// partition names them afterwards, and the batch, whose rows are still in the data source, is not
// created again.
func TestForgetting(t *testing.T) {
	t.Parallel()
	s := newStage(t, false, azure)
	people := s.table()
	people.put(dawn.Add(day), "anja", "bob")
	s.publish(found(twoPhases, ""))
	s.automate("found")
	s.tick()
	s.pass(day)
	s.tick()
	s.tick() // two handlers may have listed the batch in the wrong order
	s.wantBatches("1 02 09:00 completed: anja bob")
	if !strings.Contains(s.everything(1), "anja") {
		t.Fatal("nobody was there to be forgotten")
	}

	s.erase(1, personal)
	if left := s.everything(1); strings.Contains(left, "anja") || strings.Contains(left, "bob") {
		t.Errorf("somebody is still named: %s", left)
	}
	calls := len(s.jobs)
	s.tick()
	s.pass(day)
	s.tick()
	s.wantStatus(1, "completed")
	if len(s.jobs) != calls {
		t.Errorf("%d jobs were sent again", len(s.jobs)-calls)
	}
}

// TestForgettingABatchAsAWhole shows why the batch's own item must stay: if it is deleted before a
// tick has seen that the batch ended, the batch is created and run again.
func TestForgettingABatchAsAWhole(t *testing.T) {
	t.Parallel()
	s := newStage(t, false, azure)
	people := s.table()
	people.put(dawn.Add(time.Minute), "ann", "bob")
	s.publish(found(twoPhases, ""))
	s.automate("found")
	s.tick()
	s.pass(time.Minute)
	s.wantBatches("1 01 09:01 completed: ann bob")
	calls := len(s.jobs)
	s.erase(1, "c.type IN ('batch', 'member', 'run', 'shard')")
	s.pass(11 * time.Minute) // until then the broker drops what it has heard
	s.tick()
	if len(s.jobs) == calls {
		t.Errorf("nothing is done again, so operators need no warning: %s", s.everything(1))
	}
}

// everything is all that the store has of a batch, as text.
func (s *stage) everything(batch int) string {
	s.t.Helper()
	items, err := s.store.Dump(s.ctx, store.BatchPartition(batch))
	if err != nil {
		s.t.Fatal(err)
	}
	var text strings.Builder
	for _, item := range items {
		text.WriteString(item.ID + string(item.Doc) + "\n")
	}
	return text.String()
}

// erase deletes items of a batch.
func (s *stage) erase(batch int, where string) {
	s.t.Helper()
	key, err := azcosmos.NewKeyCredential(cosmos.DefaultKey)
	must(s, key, err)
	client, err := azcosmos.NewClientWithKey(s.cosmos.URL(), key, nil)
	must(s, client, err)
	container, err := client.NewContainer("d", "c")
	must(s, container, err)
	pager := container.NewQueryItemsPager("SELECT * FROM c WHERE "+where, azcosmos.NewPartitionKeyString(store.BatchPartition(batch)), nil)
	for pager.More() {
		page, err := pager.NextPage(s.ctx)
		if err != nil || len(page.Items) == 0 {
			s.t.Fatalf("%d items, %v", len(page.Items), err)
		}
		for _, body := range page.Items {
			var item struct {
				ID   string `json:"id"`
				ETag string `json:"_etag"`
			}
			must(s, item, json.Unmarshal(body, &item))
			if _, err := s.store.Apply(s.ctx, store.Writes{store.Delete(store.Key{PK: store.BatchPartition(batch), ID: item.ID}, item.ETag)}); err != nil {
				s.t.Fatal(err)
			}
		}
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
	if _, err := w.store.Apply(w.ctx, store.Writes{store.Replace(store.SequenceKey(), kept.Doc, kept.Version)}); err != nil {
		t.Fatal(err)
	}
	if b := w.batch("move", people(1), api.AllowInOtherBatches); b.ID != 501 {
		t.Errorf("the next batch is %d", b.ID)
	}
}
