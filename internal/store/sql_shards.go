package store

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/engine"
)

// Shards implements Shards.
func (s *Store) Shards(ctx context.Context, batch int, f ShardFilter) ([]Item[engine.Shard], error) {
	return s.shards(ctx, batch, newQuery("c.type = 'shard'"), f)
}

// ShardsOfPage implements Shards.
func (s *Store) ShardsOfPage(ctx context.Context, batch, page int, f ShardFilter) ([]Item[engine.Shard], error) {
	q := newQuery("c.type = 'shard'")
	q.where("c.doc.page = @page", "@page", page)
	return s.shards(ctx, batch, q, f)
}

func (s *Store) shards(ctx context.Context, batch int, q *statement, f ShardFilter) ([]Item[engine.Shard], error) {
	if f.Phase != 0 {
		q.where("c.doc.phaseId = @phase", "@phase", f.Phase)
	}
	if f.Open {
		q.and("c.doc.open > 0")
	}
	if f.Unreported {
		q.and("c.doc.open = 0")
		q.and("c.doc.reported = false")
	}
	if f.Limit > 0 {
		page, err := list[engine.Shard](ctx, s, BatchPartition(batch), q.items(" ORDER BY c.id"), Paging{Limit: f.Limit})
		return page.Items, err
	}
	return all[engine.Shard](ctx, s, BatchPartition(batch), q.items(" ORDER BY c.id"))
}

// LastShard implements Shards.
func (s *Store) LastShard(ctx context.Context, batch, phase int) (*Item[engine.Shard], error) {
	q := newQuery("c.type = 'shard'")
	q.where("c.doc.phaseId = @phase", "@phase", phase)
	return first[engine.Shard](ctx, s, BatchPartition(batch), q.items(" ORDER BY c.id DESC"))
}
