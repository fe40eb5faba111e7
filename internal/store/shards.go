package store

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/model"
)

// Shards are the named reads of a batch's shards. Each is one query within the batch's
// partition, which costs about 3 RU and 1 RU for every 30 shards that it returns. All fail with
// ErrUnavailable.
type Shards interface {
	// Shards returns shards of a batch, by phase execution and page. A phase execution has one
	// for every model.PageSize members; a page has one for every phase execution.
	Shards(ctx context.Context, batch int, filter ShardFilter) ([]Item[model.Shard], error)

	// ShardsOfPage returns the shards of one page of members, by phase execution. Page 0, which
	// holds the runs without a member, has none.
	ShardsOfPage(ctx context.Context, batch, page int, filter ShardFilter) ([]Item[model.Shard], error)

	// LastShard returns the shard with the highest page of a phase execution, nil if there is
	// none.
	LastShard(ctx context.Context, batch, phase int) (*Item[model.Shard], error)
}

// ShardFilter narrows the shards of a batch. An empty field takes all; those that are given must
// all hold.
type ShardFilter struct {
	Phase      int  // shards of this phase execution
	Open       bool // shards with runs that have not ended
	Unreported bool // shards whose runs have all ended, and that the phase has not counted
	Limit      int  // at most so many; 0 for all
}
