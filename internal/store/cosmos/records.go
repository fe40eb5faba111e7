package cosmos

import (
	"context"
	"time"

	"github.com/matoolkit/matoolkit/internal/store"
)

// ExpiredRecords implements store.Records.
func (s *Store) ExpiredRecords(ctx context.Context, now time.Time, most int) ([]store.Item[store.IdempotencyRecord], error) {
	q := newQuery("c.type = 'request'")
	q.where("c.doc.expiresAt < @now", "@now", now.UTC().Format(time.RFC3339Nano))
	found, err := list[store.IdempotencyRecord](ctx, s, store.PartitionBatches, q.items(""), store.Paging{Limit: most})
	return found.Items, err
}
