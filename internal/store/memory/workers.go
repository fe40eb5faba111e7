package memory

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/store"
)

// AllWorkers implements store.Workers.
func (s *Store) AllWorkers(ctx context.Context) ([]store.Item[store.WorkerRecord], error) {
	return all(ctx, s, "AllWorkers", store.PartitionWorkers, "worker", always[store.WorkerRecord])
}

// WorkerAnnouncements implements store.Workers.
func (s *Store) WorkerAnnouncements(ctx context.Context) ([]store.WorkerAnnouncement, error) {
	return project(ctx, s, "WorkerAnnouncements", store.PartitionWorkers, "worker", always, func(r *store.WorkerRecord) store.WorkerAnnouncement {
		return store.WorkerAnnouncement{ID: r.ID, Catalog: r.Catalog}
	})
}
