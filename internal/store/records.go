package store

import (
	"context"
	"time"
)

// Records has the named read of idempotency records.
type Records interface {
	// ExpiredRecords returns up to most idempotency records of PartitionBatches whose time was over by now, in any
	// order. It is one query within the partition, which costs about 3 RU and 1 RU for every 20 records that it
	// returns. It fails with ErrUnavailable.
	ExpiredRecords(ctx context.Context, now time.Time, most int) ([]Item[IdempotencyRecord], error)
}
