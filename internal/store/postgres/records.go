package postgres

import (
	"context"
	"time"

	"github.com/matoolkit/matoolkit/internal/store"
)

// ExpiredRecords implements store.Records.
func (s *Store) ExpiredRecords(ctx context.Context, now time.Time, most int) ([]store.Item[store.IdempotencyRecord], error) {
	q := of(store.PartitionBatches, "request").where(timeOf("expiresAt")+" < ?", stored(now))
	return items[store.IdempotencyRecord](ctx, s, store.PartitionBatches, q, q.place(" LIMIT ?", most))
}
