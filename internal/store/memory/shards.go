package memory

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

type shard = model.Shard

// Shards implements store.Shards.
func (s *Store) Shards(ctx context.Context, batch int, f store.ShardFilter) ([]store.Item[shard], error) {
	return s.shards(ctx, "Shards", batch, f, func(*shard) bool { return true })
}

// ShardsOfPage implements store.Shards.
func (s *Store) ShardsOfPage(ctx context.Context, batch, page int, f store.ShardFilter) ([]store.Item[shard], error) {
	return s.shards(ctx, "ShardsOfPage", batch, f, func(d *shard) bool { return d.Page == page })
}

func (s *Store) shards(ctx context.Context, name string, batch int, f store.ShardFilter, holds func(*shard) bool) ([]store.Item[shard], error) {
	found, err := query(ctx, s, name, store.BatchPartition(batch), "shard", func(_ *document, d *shard) bool {
		return holds(d) && (f.Phase == 0 || d.Phase == f.Phase) && (!f.Open || d.Open > 0) && (!f.Unreported || d.Open == 0 && !d.Reported)
	})
	if err != nil {
		return nil, err
	}
	if f.Limit > 0 {
		found = found[:min(f.Limit, len(found))]
	}
	return items[shard](found)
}

// LastShard implements store.Shards.
func (s *Store) LastShard(ctx context.Context, batch, phase int) (*store.Item[shard], error) {
	found, err := query(ctx, s, "LastShard", store.BatchPartition(batch), "shard", func(_ *document, d *shard) bool { return d.Phase == phase })
	if err != nil || len(found) == 0 {
		return nil, err
	}
	last, err := items[shard](found[len(found)-1:])
	if err != nil {
		return nil, err
	}
	return &last[0], nil
}
