package postgres

import (
	"context"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// ExpiredCacheEntries implements store.Cache.
func (s *Store) ExpiredCacheEntries(ctx context.Context, part int, now time.Time, most int) ([]store.Item[model.CacheEntry], error) {
	pk := store.CachePartition(part)
	q := of(pk, "cache").where(timeOf("expiresAt")+" < ?", stored(now))
	return items[model.CacheEntry](ctx, s, pk, q, q.place(" LIMIT ?", most))
}
