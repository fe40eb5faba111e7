package membership

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

// claimTime is how long a claim without a member lasts, and how long a batch may be creating.
// It is longer than a request or a tick can last.
const claimTime = 10 * time.Minute

// claimsPerWrite is how many claims one write has at most.
const claimsPerWrite = 90

// FindTaken gives those of the people whom another batch has, for a batch of the runbook that
// does not exist yet, and writes nothing.
func (r *Registrar) FindTaken(ctx context.Context, rb *runbook.Runbook, keys []string) ([]InOtherBatch, error) {
	return r.newClaimant(0, rb, "", false).look(ctx, keys)
}

// FindTakenFailed gives those of a batch's failed members whom another batch has by now, and
// writes nothing.
func (r *Registrar) FindTakenFailed(ctx context.Context, b *model.Batch, rb *runbook.Runbook, keys []string) ([]InOtherBatch, error) {
	return r.newClaimant(b.ID, rb, r.newID(), b.Shared).look(ctx, keys)
}

// claimant claims people for one batch. It is not safe for concurrent use.
type claimant struct {
	members *Registrar
	batch   int // 0: it has no number yet
	runbook string
	workers []string
	round   string // identifies the claims of one call; empty while the batch is created
	shared  bool   // people may be in other batches
	partly  bool   // claims those who can be claimed, also where others cannot
	returns bool   // people come back whom the batch had, also where another one has them by now
	leaves  int    // the batch that the people are to leave, whose claims do not count; 0 for none
	again   bool   // writes claims of this batch again, which others take for void by now
	done    map[string]bool
	batches map[int]claimingBatch

	corrected map[string]memberAt // by key; see noteCorrected
}

func (r *Registrar) newClaimant(batch int, rb *runbook.Runbook, round string, shared bool) *claimant {
	return &claimant{
		members: r, batch: batch, runbook: rb.Name, workers: rb.Workers(), round: round, shared: shared,
		done: map[string]bool{}, batches: map[int]claimingBatch{}, corrected: map[string]memberAt{},
	}
}

// look gives those of the people whom another batch has, and writes nothing.
func (c *claimant) look(ctx context.Context, keys []string) (taken []InOtherBatch, err error) {
	for chunk := range slices.Chunk(keys, 200) {
		people, err := c.loadClaims(ctx, chunk)
		if err != nil {
			return nil, err
		}
		for _, p := range people {
			taken = append(taken, p.takenKeys()...)
		}
	}
	return taken, nil
}

// lookAgain gives all people whom another batch has, where some were found already.
func (c *claimant) lookAgain(ctx context.Context, keys []string, found []InOtherBatch) ([]InOtherBatch, error) {
	if all, err := c.look(ctx, keys); err != nil || len(all) > len(found) {
		return all, err
	}
	return found, nil
}

// claimRows claims people who are to be added. Unless partly is set it looks at all of them
// first, so that a refusal names everyone and claims no one.
func (c *claimant) claimRows(ctx context.Context, rows []Newcomer) (taken []InOtherBatch, err error) {
	keys := make([]string, len(rows))
	for i, row := range rows {
		keys[i] = row.Key
	}
	if !c.partly {
		if taken, err = c.look(ctx, keys); err != nil || len(taken) > 0 {
			return taken, err
		}
	}
	return c.claim(ctx, keys)
}

// claim claims people and gives those whom it cannot. It goes by the order of the claims' ids,
// as every claimant does: of several that want some of the same people, one gets all that it
// wants. Unless partly is set, it stops at the first people whom it cannot claim.
func (c *claimant) claim(ctx context.Context, keys []string) (taken []InOtherBatch, err error) {
	keys = slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return c.done[key] })
	for chunk := range slices.Chunk(inClaimOrder(keys), claimsPerWrite) {
		found, err := c.claimChunk(ctx, chunk)
		if err != nil {
			return taken, err
		}
		if taken = append(taken, found...); len(taken) > 0 && !c.partly {
			return c.lookAgain(ctx, keys, taken)
		}
	}
	return taken, nil
}

// claimChunk claims people in one write. Where another process has changed a claim, it decides
// again.
func (c *claimant) claimChunk(ctx context.Context, keys []string) (taken []InOtherBatch, err error) {
	err = store.RetryOnConflict(ctx, func() error {
		var ops store.Writes
		var err error
		ops, taken, err = c.writes(ctx, keys)
		if err != nil || len(taken) > 0 && !c.partly || len(ops) == 0 {
			return err
		}
		if _, err = c.members.store.Apply(ctx, ops); err != nil {
			return fmt.Errorf("write claims for batch %d: %w", c.batch, err)
		}
		return nil
	})
	if err != nil || len(taken) > 0 && !c.partly {
		return taken, err
	}
	for _, key := range keys {
		c.done[key] = true
	}
	for _, t := range taken {
		delete(c.done, t.Key)
	}
	return taken, nil
}

// writes gives the writes that claim those of the people who can be claimed, and the others.
func (c *claimant) writes(ctx context.Context, keys []string) (ops store.Writes, taken []InOtherBatch, err error) {
	people, err := c.loadClaims(ctx, keys)
	if err != nil {
		return nil, nil, err
	}
	now := c.members.now().UTC()
	for _, p := range people {
		next := store.PersonClaim{Holders: p.kept}
		for _, key := range p.keys {
			next.Holders = append(next.Holders, store.ClaimHolder{Batch: c.batch, Key: key, Workers: c.workers, Round: c.round, At: now})
		}
		switch {
		case p.taken.reason != "":
			taken = append(taken, p.takenKeys()...)
		case p.own == len(p.keys) && !c.again:
		case p.item.ETag == "":
			ops = append(ops, store.Create(store.ClaimKey(p.keys[0]), next))
		default:
			ops = append(ops, store.Replace(store.ClaimKey(p.keys[0]), next, p.item.Version))
		}
	}
	return ops, taken, nil
}

// inClaimOrder sorts keys by the ids of their claims. It computes each id, which is a
// digest, once.
func inClaimOrder(keys []string) []string {
	type person struct{ id, key string }
	people := make([]person, len(keys))
	for i, key := range keys {
		people[i] = person{store.ClaimKey(key).ID, key}
	}
	slices.SortStableFunc(people, func(p, q person) int { return cmp.Compare(p.id, q.id) })
	sorted := make([]string, len(people))
	for i, p := range people {
		sorted[i] = p.key
	}
	return sorted
}
