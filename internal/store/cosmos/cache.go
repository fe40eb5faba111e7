package cosmos

import (
	"context"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// ExpiredCacheEntries implements store.Cache.
func (s *Store) ExpiredCacheEntries(ctx context.Context, part int, now time.Time, most int) ([]store.Item[model.CacheEntry], error) {
	q := newQuery("c.type = 'cache'")
	q.where("c.doc.expiresAt < @now", "@now", now.UTC().Format(time.RFC3339Nano))
	found, err := list[model.CacheEntry](ctx, s, store.CachePartition(part), q.items(""), store.Paging{Limit: most})
	return found.Items, err
}
