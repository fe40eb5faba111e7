package app

import (
	"context"
	"strings"

	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

// stillLeaving is the condition for members who are removed, and for whom something is
// still under way or to be undone.
const stillLeaving = "c.doc.status = 'removed' AND (c.doc.openPhase > 0 OR c.doc.leaving = true AND c.doc.removal > 0)"

// notElsewhere refuses people who are members of another batch of the runbook that has
// not ended, and those who are still being taken out of one, this one included: two
// batches would work on the same mailbox. Capital letters make no difference. It holds where batches follow
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
		wanted[strings.ToLower(key)] = true
	}
	for _, other := range others {
		condition := stillLeaving
		if other != batch {
			condition = "(c.doc.status = 'active' OR " + stillLeaving + ")"
		}
		there, err := store.Select[string](ctx, a.store, store.BatchPartition(other), "SELECT VALUE c.doc.key FROM c WHERE c.type = 'member' AND "+condition)
		if err != nil {
			return err
		}
		count, first := 0, ""
		for _, key := range there {
			if wanted[strings.ToLower(key)] {
				if count++; first == "" || key < first {
					first = key
				}
			}
		}
		if other == batch && count > 0 {
			return fail(CodeConflict, "%s is still being taken out of batch %d: add them when what undoes their part in it has ended", first, batch)
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
