package membership

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/idempotency"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

// claimTime is how long a claim holds without a member, and a batch may be in the making.
// It is longer than a request or a tick can last.
const claimTime = 10 * time.Minute

// claimsAtOnce is how many claims one commit writes.
const claimsAtOnce = 90

// Claimant claims people for one batch. It is used by one goroutine.
type Claimant struct {
	app     *Registrar
	batch   int // 0: it has no number yet
	workers []string
	round   string
	shared  bool // people may be in other batches
	Partly  bool // those who can be claimed are, where others cannot
	again   bool // claims of this batch are written again, against a batch that takes them for void
	done    map[string]bool
	batches map[int]claimingBatch
}

func (ms *Registrar) NewClaimant(batch int, rb *runbook.Runbook, round string, shared bool) *Claimant {
	return &Claimant{app: ms, batch: batch, workers: rb.Workers(), round: round, shared: shared, done: map[string]bool{}, batches: map[int]claimingBatch{}}
}

// InOtherBatch is a person whom another batch has, and where.
type InOtherBatch struct{ Key, Reason string }

// claimed is a person with what is known of the claim on them.
type claimed struct {
	keys  []string // more than one where a file has them with other capital letters, too
	item  store.Item[store.PersonClaim]
	kept  []store.ClaimHolder // that still hold, beside the ones to be written
	own   int                 // how many of the keys are claimed already
	taken string              // why the person cannot be claimed; empty where they can
}

// Look finds who of the people is in another batch, and changes nothing.
func (c *Claimant) Look(ctx context.Context, keys []string) (taken []InOtherBatch, err error) {
	for chunk := range slices.Chunk(keys, 200) {
		people, err := c.people(ctx, chunk)
		if err != nil {
			return nil, err
		}
		for _, p := range people {
			taken = append(taken, p.takenKeys()...)
		}
	}
	return taken, nil
}

// claim claims people and gives those whom it cannot. It goes by the order of the claims'
// ids, as every claimant does: of several who want some of the same people, one gets all
// that it wants. Unless partly is set, it stops at the first of those whom it cannot claim.
func (c *Claimant) claim(ctx context.Context, keys []string) (taken []InOtherBatch, err error) {
	keys = slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return c.done[key] })
	for chunk := range slices.Chunk(inClaimOrder(keys), claimsAtOnce) {
		found, err := c.claimSome(ctx, chunk)
		if err != nil {
			return taken, err
		}
		if taken = append(taken, found...); len(taken) > 0 && !c.Partly {
			return c.all(ctx, keys, taken)
		}
	}
	return taken, nil
}

// all gives everybody who is in another batch, beside those who were found to be.
func (c *Claimant) all(ctx context.Context, keys []string, taken []InOtherBatch) ([]InOtherBatch, error) {
	if everybody, err := c.Look(ctx, keys); err != nil || len(everybody) > len(taken) {
		return everybody, err
	}
	return taken, nil
}

// claimRows claims the people of rows. Unless partly is set it looks at all of them first,
// so that a refusal names everybody and claims nobody.
func (c *Claimant) claimRows(ctx context.Context, rows []Newcomer) (taken []InOtherBatch, err error) {
	keys := make([]string, len(rows))
	for i, row := range rows {
		keys[i] = row.Key
	}
	if !c.Partly {
		if taken, err = c.Look(ctx, keys); err != nil || len(taken) > 0 {
			return taken, err
		}
	}
	return c.claim(ctx, keys)
}

func (c *Claimant) claimSome(ctx context.Context, keys []string) (taken []InOtherBatch, err error) {
	for {
		ops, taken, err := c.ops(ctx, keys)
		if err != nil || len(taken) > 0 && !c.Partly {
			return taken, err
		}
		if len(ops) > 0 {
			_, err = c.app.store.Apply(ctx, ops)
			if store.Overtaken(err) && ctx.Err() == nil {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("claims for batch %d: %w", c.batch, err)
			}
		}
		for _, key := range keys {
			c.done[key] = true
		}
		for _, t := range taken {
			delete(c.done, t.Key)
		}
		return taken, nil
	}
}

// ops are the writes that claim those of the people who can be claimed.
func (c *Claimant) ops(ctx context.Context, keys []string) (ops store.Writes, taken []InOtherBatch, err error) {
	people, err := c.people(ctx, keys)
	if err != nil {
		return nil, nil, err
	}
	now := c.app.now().UTC()
	for _, p := range people {
		next := store.PersonClaim{Holders: p.kept}
		for _, key := range p.keys {
			next.Holders = append(next.Holders, store.ClaimHolder{Batch: c.batch, Key: key, Workers: c.workers, Round: c.round, At: now})
		}
		switch {
		case p.taken != "":
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

func (p *claimed) takenKeys() (taken []InOtherBatch) {
	if p.taken == "" {
		return nil
	}
	for _, key := range p.keys {
		taken = append(taken, InOtherBatch{key, p.taken})
	}
	return taken
}

// people looks up the claims on some people, and which of their holders still have them.
func (c *Claimant) people(ctx context.Context, keys []string) ([]*claimed, error) {
	var people []*claimed
	var firsts []string // of the keys of each person
	byID := map[string]*claimed{}
	for _, key := range keys {
		id := store.ClaimKey(key).ID
		if byID[id] == nil {
			byID[id] = &claimed{}
			people, firsts = append(people, byID[id]), append(firsts, key)
		}
		byID[id].keys = append(byID[id].keys, key)
	}
	items, err := c.app.store.Claims(ctx, firsts)
	if err != nil {
		return nil, err
	}
	held := map[int][]string{} // batch → keys of its members
	for _, item := range items {
		byID[item.ID].item = item
		for _, h := range item.Doc.Holders {
			held[h.Batch] = append(held[h.Batch], h.Key)
		}
	}
	members := map[int]map[string][]store.MemberClaim{}
	for _, batch := range slices.Sorted(maps.Keys(held)) {
		if members[batch], err = c.membersOf(ctx, batch, held[batch]); err != nil {
			return nil, err
		}
	}
	for _, p := range people {
		for _, h := range p.item.Doc.Holders {
			c.judge(p, h, members[h.Batch][h.Key])
		}
	}
	return people, nil
}

// membersOf gives the members of a batch that is under way, by key.
func (c *Claimant) membersOf(ctx context.Context, batch int, keys []string) (map[string][]store.MemberClaim, error) {
	if b, err := c.holder(ctx, batch); err != nil || b.standing != batchOpen {
		return nil, err
	}
	lines, err := c.app.store.MembersByKey(ctx, batch, keys)
	members := map[string][]store.MemberClaim{}
	for _, m := range lines {
		members[m.Key] = append(members[m.Key], m)
	}
	return members, err
}

// judge decides what one holder of a claim means for a person.
func (c *Claimant) judge(p *claimed, h store.ClaimHolder, members []store.MemberClaim) {
	reason := c.holds(h, members)
	if reason != "" && !slices.Contains(p.keys, h.Key) {
		reason += ", as " + h.Key
	}
	switch {
	case h.Batch == c.batch:
		asked := slices.Contains(p.keys, h.Key)
		switch {
		case asked && h.Round == c.round:
			p.own++
		case !asked && reason != "":
			p.kept = append(p.kept, h)
		}
		if c.round != "" && p.taken == "" {
			p.taken = c.inOwn(h.Key, asked, members)
		}
	case reason == "": // the next claim leaves this holder out
	default:
		p.kept = append(p.kept, h)
		if !c.shared && p.taken == "" && slices.ContainsFunc(h.Workers, func(w string) bool { return slices.Contains(c.workers, w) }) {
			p.taken = reason
		}
	}
}

// holds tells why a batch still has a person; empty where it does not.
func (c *Claimant) holds(h store.ClaimHolder, members []store.MemberClaim) string {
	b := c.batches[h.Batch]
	where := fmt.Sprintf("batch %d of runbook %s", h.Batch, b.runbook)
	switch b.standing {
	case batchOver:
		return ""
	case batchCreating:
		return where + ", which is being created"
	}
	written := false
	for _, m := range members {
		switch {
		case m.Status == model.MemberActive:
			return where
		case m.StillLeaving(c.app.now()):
			return where + ", which they are still being taken out of"
		}
		written = written || m.Claim == h.Round
	}
	if !written && c.app.now().Sub(h.At) < claimTime {
		return where + ", which they are being added to"
	}
	return ""
}

// inOwn tells why a person cannot be added to the batch itself; empty where they can, or
// are a member already.
func (c *Claimant) inOwn(held string, asked bool, members []store.MemberClaim) string {
	for _, m := range members {
		switch {
		case m.StillLeaving(c.app.now()):
			return fmt.Sprintf("batch %d, which they are still being taken out of", c.batch)
		case m.Status == model.MemberActive && !asked && !c.shared:
			return fmt.Sprintf("this batch (%d) already, as %s", c.batch, held)
		}
	}
	return ""
}

// batchStanding is whether a batch can have members.
type batchStanding int

const (
	batchOver batchStanding = iota + 1
	batchCreating
	batchOpen
)

// claimingBatch is a batch that claims a person.
type claimingBatch struct {
	standing batchStanding
	runbook  string
}

func (c *Claimant) holder(ctx context.Context, id int) (claimingBatch, error) {
	if known, ok := c.batches[id]; ok {
		return known, nil
	}
	found := claimingBatch{standing: batchOver}
	for range 2 { // a batch may be made between the two reads
		b, err := store.OrNone(store.Read[model.Batch](ctx, c.app.store, store.BatchKey(id)))
		if err != nil {
			return found, err
		}
		if b.ETag != "" {
			found.runbook = b.Doc.Runbook
			if !b.Doc.Status.Terminal() {
				found.standing = batchOpen
			}
			break
		}
		listed, err := store.OrNone(store.Read[store.BatchSummary](ctx, c.app.store, store.EntryKey(id)))
		if err != nil {
			return found, err
		}
		if listed.ETag == "" {
			break
		}
		if found.runbook = listed.Doc.RunbookName; listed.Doc.Creating {
			if c.app.now().Sub(listed.Doc.DetectedAt) < claimTime {
				found.standing = batchCreating
			}
			break
		}
	}
	c.batches[id] = found
	return found, nil
}

// maxTaken is how many people a refusal names.
const maxTaken = 100

// RefuseInOtherBatch is the error for people who are in other batches; nil for none. The action is
// what was not done with them: added or retried. With allowable it names the option that
// allows it.
func RefuseInOtherBatch(taken []InOtherBatch, of int, action string, lines map[string]int, allowable bool) error {
	if len(taken) == 0 {
		return nil
	}
	taken = slices.Clone(taken)
	slices.SortFunc(taken, func(p, q InOtherBatch) int {
		return cmp.Or(cmp.Compare(lines[p.Key], lines[q.Key]), cmp.Compare(p.Key, q.Key))
	})
	var names []string
	for _, t := range taken[:min(len(taken), 3)] {
		names = append(names, fmt.Sprintf("%s is in %s", t.Key, t.Reason))
	}
	text := strings.Join(names, "; ")
	if more := len(taken) - len(names); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	allow := ""
	if allowable {
		allow = ", or add them all the same with allowInOtherBatches (--allow-in-other-batches)"
	}
	e := problem.New(api.CodeConflict, "%d of %s cannot be %s: %s. Remove them there, or leave them out%s", len(taken), people(of), action, text, allow)
	for _, t := range taken[:min(len(taken), maxTaken)] {
		e.Problems = append(e.Problems, api.InputProblem{Line: lines[t.Key], Code: "in_other_batch", Message: fmt.Sprintf("%s is in %s", t.Key, t.Reason)})
	}
	if more := len(taken) - maxTaken; more > 0 {
		e.Problems = append(e.Problems, api.InputProblem{Code: "in_other_batch", Message: fmt.Sprintf("%d more people are in other batches", more)})
	}
	return e
}

func people(n int) string {
	if n == 1 {
		return "1 person"
	}
	return fmt.Sprintf("%d people", n)
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

// sealClaims notes that all members of a batch in the making are claimed. From then on
// nobody withdraws the batch. It fails with ErrExists where the same request, which
// somebody else carries out as well, has come to another end.
func (ms *Registrar) sealClaims(ctx context.Context, id int) error {
	for {
		listed, err := store.OrNone(store.Read[store.BatchSummary](ctx, ms.store, store.EntryKey(id)))
		switch {
		case err != nil:
			return err
		case listed.ETag == "":
			return fmt.Errorf("batch %d was withdrawn: %w", id, store.ErrExists)
		case listed.Doc.Claimed || !listed.Doc.Creating:
			return nil
		}
		listed.Doc.Claimed = true
		if _, err = ms.store.Apply(ctx, store.Writes{store.Replace(store.EntryKey(id), listed.Doc, listed.Version)}); !store.Overtaken(err) && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
}

// withdraw takes back the number of a batch whose members cannot all be claimed, and with
// it the request that was named. Its claims are void then. It fails as sealClaims does.
func (ms *Registrar) withdraw(ctx context.Context, by audit.Caller, id int) error {
	for {
		listed, err := store.OrNone(store.Read[store.BatchSummary](ctx, ms.store, store.EntryKey(id)))
		switch {
		case err != nil || listed.ETag == "":
			return err
		case listed.Doc.Claimed || !listed.Doc.Creating:
			return fmt.Errorf("batch %d was claimed: %w", id, store.ErrExists)
		}
		ops := store.Writes{store.Delete(store.EntryKey(id), listed.ETag)}
		if by.Key != "" {
			key := idempotency.Key(by, store.PartitionBatches)
			asked, err := store.OrNone(store.Read[store.IdempotencyRecord](ctx, ms.store, key))
			if err != nil {
				return err
			}
			if asked.ETag != "" {
				ops = append(ops, store.Delete(key, asked.ETag))
			}
		}
		if _, err = ms.store.Apply(ctx, ops); !store.Overtaken(err) && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
}

// giveUp takes back the number of a batch that failed in the making, where nobody can ask
// for the same batch again: its people are free at once.
func (ms *Registrar) giveUp(ctx context.Context, id int) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	listed, err := store.OrNone(store.Read[store.BatchSummary](ctx, ms.store, store.EntryKey(id)))
	if err == nil && listed.Doc.Creating {
		_, err = ms.store.Apply(ctx, store.Writes{store.Delete(store.EntryKey(id), listed.ETag)})
	}
	if err != nil {
		ms.log.WarnContext(ctx, "batch in the making is not given up", logkey.BatchID, id, logkey.Error, err)
	}
}
