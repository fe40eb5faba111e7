package app

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

// notElsewhere refuses people who are members of another batch of the runbook that has
// not ended: two batches would work on the same mailbox. It holds where batches follow
// a data source; of one that has its members uploaded, whoever uploads them says who
// they are.
func (a *App) notElsewhere(ctx context.Context, rb *runbook.Runbook, batch int, keys []string) error {
	if !rb.DataSource.Queried() || len(keys) == 0 {
		return nil
	}
	others, err := a.unfinished(ctx, rb.Name)
	if err != nil {
		return err
	}
	wanted := make(map[string]bool, len(keys))
	for _, key := range keys {
		wanted[key] = true
	}
	for _, other := range others {
		if other == batch {
			continue
		}
		there, err := store.Select[string](ctx, a.store, store.BatchPartition(other),
			"SELECT VALUE c.doc.key FROM c WHERE c.type = 'member' AND c.doc.status = 'active'")
		if err != nil {
			return err
		}
		count, first := 0, ""
		for _, key := range there {
			if wanted[key] {
				if count++; first == "" || key < first {
					first = key
				}
			}
		}
		switch {
		case count == 1:
			return fail(CodeConflict, "%s is in batch %d of runbook %s, which has not ended: remove them there first", first, other, rb.Name)
		case count > 1:
			return fail(CodeConflict, "%s and %d others are in batch %d of runbook %s, which has not ended: remove them there first, or leave them out", first, count-1, other, rb.Name)
		}
	}
	return nil
}
