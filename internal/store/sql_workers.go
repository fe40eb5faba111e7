package store

import (
	"context"
)

// Workers implements Workers.
func (s *Store) Workers(ctx context.Context, page Paging) (Page[WorkerRecord], error) {
	order, err := orderBy(page.Sort, Sort{By: FieldID}, FieldID)
	if err != nil {
		return Page[WorkerRecord]{}, err
	}
	return list[WorkerRecord](ctx, s, PartitionWorkers, newQuery("c.type = 'worker'").items(order), page)
}

// AllWorkers implements Workers.
func (s *Store) AllWorkers(ctx context.Context) ([]Item[WorkerRecord], error) {
	return all[WorkerRecord](ctx, s, PartitionWorkers, newQuery("c.type = 'worker'").items(" ORDER BY c.id ASC"))
}

// WorkerAnnouncements implements Workers.
func (s *Store) WorkerAnnouncements(ctx context.Context) ([]WorkerAnnouncement, error) {
	return project[WorkerAnnouncement](ctx, s, PartitionWorkers, newQuery("c.type = 'worker'").fields("c.doc.id AS id, c.doc.catalog AS catalog"))
}
