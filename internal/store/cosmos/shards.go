package cosmos

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Shards implements store.Shards.
func (s *Store) Shards(ctx context.Context, batch int, f store.ShardFilter) ([]store.Item[model.Shard], error) {
	return s.shards(ctx, batch, newQuery("c.type = 'shard'"), f)
}

// ShardsOfPage implements store.Shards.
func (s *Store) ShardsOfPage(ctx context.Context, batch, page int, f store.ShardFilter) ([]store.Item[model.Shard], error) {
	q := newQuery("c.type = 'shard'")
	q.where("c.doc.page = @page", "@page", page)
	return s.shards(ctx, batch, q, f)
}

func (s *Store) shards(ctx context.Context, batch int, q *statement, f store.ShardFilter) ([]store.Item[model.Shard], error) {
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
		page, err := list[model.Shard](ctx, s, store.BatchPartition(batch), q.items(" ORDER BY c.id"), store.Paging{Limit: f.Limit})
		return page.Items, err
	}
	return all[model.Shard](ctx, s, store.BatchPartition(batch), q.items(" ORDER BY c.id"))
}

// LastShard implements store.Shards.
func (s *Store) LastShard(ctx context.Context, batch, phase int) (*store.Item[model.Shard], error) {
	q := newQuery("c.type = 'shard'")
	q.where("c.doc.phaseId = @phase", "@phase", phase)
	return first[model.Shard](ctx, s, store.BatchPartition(batch), q.items(" ORDER BY c.id DESC"))
}
