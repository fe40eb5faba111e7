package store

import (
	"context"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// Cache has the named read of the entries of the cache of steps.
type Cache interface {
	// ExpiredCacheEntries returns up to most entries of one of the partitions of the cache whose time
	// was over by now, in any order. It is one query within the partition, which costs about 3 RU and 1 RU
	// for every 20 entries that it returns. It fails with ErrUnavailable.
	ExpiredCacheEntries(ctx context.Context, part int, now time.Time, most int) ([]Item[model.CacheEntry], error)
}
