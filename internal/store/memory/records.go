package memory

import (
	"context"
	"time"

	"github.com/matoolkit/matoolkit/internal/store"
)

// ExpiredRecords implements store.Records.
func (s *Store) ExpiredRecords(ctx context.Context, now time.Time, most int) ([]store.Item[store.IdempotencyRecord], error) {
	found, err := all(ctx, s, "ExpiredRecords", store.PartitionBatches, "request", func(_ *document, r *store.IdempotencyRecord) bool {
		return r.ExpiresAt != nil && r.ExpiresAt.Before(now)
	})
	return found[:min(most, len(found))], err
}
