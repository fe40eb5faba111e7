package cosmos

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/store"
)

// AllWorkers implements store.Workers.
func (s *Store) AllWorkers(ctx context.Context) ([]store.Item[store.WorkerRecord], error) {
	return all[store.WorkerRecord](ctx, s, store.PartitionWorkers, newQuery("c.type = 'worker'").items(" ORDER BY c.id ASC"))
}

// WorkerAnnouncements implements store.Workers.
func (s *Store) WorkerAnnouncements(ctx context.Context) ([]store.WorkerAnnouncement, error) {
	return project[store.WorkerAnnouncement](ctx, s, store.PartitionWorkers, newQuery("c.type = 'worker'").fields("c.doc.id AS id, c.doc.catalog AS catalog"))
}
