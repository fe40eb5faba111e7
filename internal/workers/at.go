package workers

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/model"
)

// RecordsAt reads the records of the workers that have jobs of the given runs.
func (ws *Registry) RecordsAt(ctx context.Context, runs ...*model.Run) (map[string]Record, error) {
	records := map[string]Record{}
	for _, r := range runs {
		for _, s := range r.Steps {
			if _, known := records[s.WorkerID]; known || s.Status != model.StepDispatched {
				continue
			}
			worker, err := ws.Record(ctx, s.WorkerID)
			if err != nil {
				return nil, err
			}
			records[s.WorkerID] = worker
		}
	}
	return records, nil
}
