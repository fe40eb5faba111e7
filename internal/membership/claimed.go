package membership

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// claimed is a person with the claim on them, as one claimant sees it.
type claimed struct {
	keys  []string // several where a file has the person in upper and in lower case
	item  store.Item[store.PersonClaim]
	kept  []store.ClaimHolder // other holders, whose claims still hold
	own   int                 // how many of the keys the claimant holds already
	taken holding             // the batch that has the person; none where the person can be claimed
}

// holding is why a batch has a person: with the batch; empty where it does not. Passing says that it ends by
// itself, soon.
type holding struct {
	reason  string
	passing bool
}

func (p *claimed) takenKeys() (taken []InOtherBatch) {
	if p.taken.reason == "" {
		return nil
	}
	for _, key := range p.keys {
		taken = append(taken, InOtherBatch{key, p.taken.reason, p.taken.passing})
	}
	return taken
}

// loadClaims loads the claims on people, and judges each holder by its batch and members.
func (c *claimant) loadClaims(ctx context.Context, keys []string) ([]*claimed, error) {
	people, byID := groupByClaim(keys)
	firsts := make([]string, len(people))
	for i, p := range people {
		firsts[i] = p.keys[0]
	}
	items, err := c.members.store.Claims(ctx, firsts)
	if err != nil {
		return nil, err
	}
	held := map[int][]string{} // batch → keys that it holds
	for _, item := range items {
		byID[item.ID].item = item
		for _, h := range item.Doc.Holders {
			held[h.Batch] = append(held[h.Batch], h.Key)
		}
	}
	members := map[int]map[string][]store.MemberClaim{}
	for _, batch := range slices.Sorted(maps.Keys(held)) {
		if members[batch], err = c.loadMembers(ctx, batch, held[batch]); err != nil {
			return nil, err
		}
	}
	for _, p := range people {
		for _, h := range p.item.Doc.Holders {
			c.judge(p, h, members[h.Batch][h.Key])
			c.noteCorrected(h, members[h.Batch][h.Key])
		}
	}
	return people, nil
}

// groupByClaim groups keys by their claims: in the order of the keys, and by the claims' ids.
func groupByClaim(keys []string) (people []*claimed, byID map[string]*claimed) {
	byID = map[string]*claimed{}
	for _, key := range keys {
		id := store.ClaimKey(key).ID
		if byID[id] == nil {
			byID[id] = &claimed{}
			people = append(people, byID[id])
		}
		byID[id].keys = append(byID[id].keys, key)
	}
	return people, byID
}

// memberAt is a member of a batch.
type memberAt struct{ batch, member int }

// noteCorrected remembers the last membership of a person whose data an administrator had corrected
// when the data source removed the person: the corrections go with a person who moves.
func (c *claimant) noteCorrected(h store.ClaimHolder, members []store.MemberClaim) {
	if c.batches[h.Batch].runbook != c.runbook {
		return
	}
	for _, m := range members {
		last := c.corrected[h.Key]
		if m.Status == model.MemberRemoved && m.RemovedBy == "" && m.Overridden && (h.Batch > last.batch || h.Batch == last.batch && m.ID > last.member) {
			c.corrected[h.Key] = memberAt{h.Batch, m.ID}
		}
	}
}

// loadMembers loads the members of a batch with these keys, by key; none where the batch is not
// open and of another runbook.
func (c *claimant) loadMembers(ctx context.Context, batch int, keys []string) (map[string][]store.MemberClaim, error) {
	if b, err := c.loadHolder(ctx, batch); err != nil || b.standing != batchOpen && b.runbook != c.runbook {
		return nil, err
	}
	found, err := c.members.store.MembersByKey(ctx, batch, keys)
	members := map[string][]store.MemberClaim{}
	for _, m := range found {
		members[m.Key] = append(members[m.Key], m)
	}
	return members, err
}

// batchStanding says whether a batch can have members.
type batchStanding int

const (
	batchOver batchStanding = iota + 1
	batchCreating
	batchOpen
)

// claimingBatch is a batch that holds a claim.
type claimingBatch struct {
	standing batchStanding
	runbook  string
	batch    *model.Batch // nil for a batch that does not exist yet, or any more
}

// loadHolder finds how a batch stands, once for each claimant.
func (c *claimant) loadHolder(ctx context.Context, id int) (claimingBatch, error) {
	if known, ok := c.batches[id]; ok {
		return known, nil
	}
	found := claimingBatch{standing: batchOver}
	for range 2 { // a batch may be created between the two reads
		b, err := store.OrNone(store.Read[model.Batch](ctx, c.members.store, store.BatchKey(id)))
		if err != nil {
			return found, err
		}
		if b.ETag != "" {
			found.runbook, found.batch = b.Doc.Runbook, &b.Doc
			if !b.Doc.Status.Terminal() {
				found.standing = batchOpen
			}
			break
		}
		listed, err := c.members.readSummary(ctx, id)
		if err != nil {
			return found, err
		}
		if listed.ETag == "" {
			break
		}
		if found.runbook = listed.Doc.RunbookName; listed.Doc.Creating {
			if c.members.now().Sub(listed.Doc.DetectedAt) < claimTime {
				found.standing = batchCreating
			}
			break
		}
	}
	c.batches[id] = found
	return found, nil
}

// judge notes what one holder of a claim means for a person.
func (c *claimant) judge(p *claimed, h store.ClaimHolder, members []store.MemberClaim) {
	if h.Batch == c.leaves {
		return
	}
	held := c.holdReason(h, members)
	if held.reason != "" && !slices.Contains(p.keys, h.Key) {
		held.reason += ", as " + h.Key
	}
	switch {
	case h.Batch == c.batch:
		c.judgeOwn(p, h, members, held.reason)
	case held.reason == "": // the next claim leaves this holder out
	default:
		p.kept = append(p.kept, h)
		if !c.shared && !c.returns && p.taken.reason == "" && slices.ContainsFunc(h.Workers, func(w string) bool { return slices.Contains(c.workers, w) }) {
			p.taken = held
		}
	}
}

// judgeOwn notes what a claim of the claimant's own batch means for a person.
func (c *claimant) judgeOwn(p *claimed, h store.ClaimHolder, members []store.MemberClaim, reason string) {
	wanted := slices.Contains(p.keys, h.Key)
	switch {
	case wanted && h.Round == c.round:
		p.own++
	case !wanted && reason != "":
		p.kept = append(p.kept, h)
	}
	if c.round != "" && p.taken.reason == "" {
		p.taken = c.inOwnReason(h.Key, wanted, members)
	}
}

// holdReason says why a batch still has a person.
func (c *claimant) holdReason(h store.ClaimHolder, members []store.MemberClaim) holding {
	b := c.batches[h.Batch]
	where := fmt.Sprintf("batch %d of runbook %s", h.Batch, b.runbook)
	switch b.standing {
	case batchOver:
		return holding{}
	case batchCreating:
		return holding{where + ", which is being created", true}
	}
	written := false
	for _, m := range members {
		switch {
		case m.Status == model.MemberActive:
			return holding{where, false}
		case m.StillLeaving(c.members.now()):
			return holding{where + ", from which they are still being removed", true}
		case m.Status == model.MemberRemoved && m.MovedToBatch != c.batch && b.batch != nil && b.batch.MovesTo(m.MovedToBatch):
			return holding{fmt.Sprintf("%s, from which they are being moved to batch %d", where, m.MovedToBatch), true}
		}
		written = written || m.Claim == h.Round
	}
	if !written && c.members.now().Sub(h.At) < claimTime {
		return holding{where + ", to which they are being added", true}
	}
	return holding{}
}

// inOwnReason says why a person cannot be added to the claimant's own batch; nothing where the
// person can, or is a member by the same key already.
func (c *claimant) inOwnReason(held string, wanted bool, members []store.MemberClaim) holding {
	for _, m := range members {
		switch {
		case m.StillLeaving(c.members.now()):
			return holding{fmt.Sprintf("batch %d, from which they are still being removed", c.batch), true}
		case m.Status == model.MemberActive && !wanted && !c.shared:
			return holding{fmt.Sprintf("this batch (%d) already, as %s", c.batch, held), false}
		}
	}
	return holding{}
}
