package memory

import (
	"context"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// ExpiredCacheEntries implements store.Cache.
func (s *Store) ExpiredCacheEntries(ctx context.Context, part int, now time.Time, most int) ([]store.Item[model.CacheEntry], error) {
	found, err := all(ctx, s, "ExpiredCacheEntries", store.CachePartition(part), "cache", func(_ *document, e *model.CacheEntry) bool {
		return e.ExpiresAt.Before(now)
	})
	return found[:min(most, len(found))], err
}
