package cosmos

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/store"
)

// Workers implements store.Workers.
func (s *Store) Workers(ctx context.Context, page store.Paging) (store.Page[store.WorkerRecord], error) {
	order, err := orderBy(page.Sort, store.Sort{By: store.FieldID}, store.FieldID)
	if err != nil {
		return store.Page[store.WorkerRecord]{}, err
	}
	return list[store.WorkerRecord](ctx, s, store.PartitionWorkers, newQuery("c.type = 'worker'").items(order), page)
}

// AllWorkers implements store.Workers.
func (s *Store) AllWorkers(ctx context.Context) ([]store.Item[store.WorkerRecord], error) {
	return all[store.WorkerRecord](ctx, s, store.PartitionWorkers, newQuery("c.type = 'worker'").items(" ORDER BY c.id ASC"))
}

// WorkerAnnouncements implements store.Workers.
func (s *Store) WorkerAnnouncements(ctx context.Context) ([]store.WorkerAnnouncement, error) {
	return project[store.WorkerAnnouncement](ctx, s, store.PartitionWorkers, newQuery("c.type = 'worker'").fields("c.doc.id AS id, c.doc.catalog AS catalog"))
}
