package storetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// testCache: the entries of the cache of steps. Those of the test have a runbook of its own.
func testCache(t *testing.T, d Driver) {
	s, mine := d.Store, tag()
	entry := func(id string, minutes int) store.Write {
		id += mine
		return store.Create(store.CacheKey(id), model.CacheEntry{ID: id, Runbook: mine, ExpiresAt: at(minutes)})
	}
	must(t, s, entry("a1", 1), entry("a2", 2), entry("a3", 3))
	must(t, s, entry("b1", 1))
	expired := func(part int, now time.Time) func(context.Context) (any, error) {
		return func(ctx context.Context) (any, error) {
			found, err := s.ExpiredCacheEntries(ctx, part, now, 1000)
			found = slices.DeleteFunc(found, func(e store.Item[model.CacheEntry]) bool { return e.Doc.Runbook != mine })
			return shorten(found, err, func(e model.CacheEntry) string { return e.ID[:2] })
		}
	}
	check(t, []row{
		{"of a partition, by the time", expired(10, at(3)), "a1 a2", true},
		{"all of a partition", expired(10, at(4)), "a1 a2 a3", true},
		{"of another partition", expired(11, at(4)), "b1", true},
		{"of an empty partition", expired(12, at(4)), "", true},
		{"before any has expired", expired(10, at(0)), "", true},
		{"not more than asked for", func(ctx context.Context) (any, error) {
			found, err := s.ExpiredCacheEntries(ctx, 10, at(4), 1)
			return len(found), err
		}, "1", false},
	})
}
