package storetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/store"
)

// testRecords: idempotency records. Those of the test have a caller of its own.
func testRecords(t *testing.T, d Driver) {
	s, mine := d.Store, tag()
	record := func(pk, id string, expires *time.Time) store.Write {
		return store.Create(store.RequestKey(pk, id+mine), store.IdempotencyRecord{By: mine, Content: id, ExpiresAt: expires})
	}
	first, second := at(1), at(2)
	must(t, s, record(store.PartitionBatches, "a", &first), record(store.PartitionBatches, "b", &second), record(store.PartitionBatches, "c", nil))
	must(t, s, record(store.PartitionRunbooks, "d", &first))
	expired := func(now time.Time) func(context.Context) (any, error) {
		return func(ctx context.Context) (any, error) {
			found, err := s.ExpiredRecords(ctx, now, 1000)
			found = slices.DeleteFunc(found, func(r store.Item[store.IdempotencyRecord]) bool { return r.Doc.By != mine })
			return shorten(found, err, func(r store.IdempotencyRecord) string { return r.Content })
		}
	}
	check(t, []row{
		{"by the time", expired(at(2)), "a", true},
		{"all with a time", expired(at(3)), "a b", true},
		{"before any has expired", expired(at(0)), "", true},
		{"not more than asked for", func(ctx context.Context) (any, error) {
			found, err := s.ExpiredRecords(ctx, at(3), 1)
			return len(found), err
		}, "1", false},
	})
}
