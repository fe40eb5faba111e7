package schedule

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// guard decides of each batch whether those who are to leave do so, all of them or
// none. A result that shrinks a lot is more often a broken query than the truth, and
// people who have left are not taken back as if nothing had been.
func (p *planner) guard() {
	for i := range p.drafts {
		d := &p.drafts[i]
		slices.SortFunc(d.leaving, func(a, b Removal) int {
			return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Member, b.Member))
		})
		if d.HeldOf > 0 { // of those who came since, many may leave as well
			d.active = max(min(d.active, d.HeldOf), len(d.leaving))
		}
		if !d.Filling {
			d.tooMany = p.share(d)
			if to, n := mostMove(d); n > 0 {
				d.moving, d.movesTo = n, to
				d.tooMany = fmt.Sprintf("the query now starts %d of %s at %s", n, count(d.active, "member"), formatTime(to))
			}
		}
	}
	p.guardAll()
	single := p.removals() == 1
	for i := range p.drafts {
		d := &p.drafts[i]
		if d.tooMany == "" {
			// They would leave one batch and come into none.
			d.leaving = slices.DeleteFunc(d.leaving, p.isAwaited)
		}
		reason := p.reason(d, single && !d.Filling)
		switch {
		case len(d.leaving) == 0:
		case reason == "":
			d.change.Remove = d.leaving
		case d.Filling:
			// Nothing has begun, so there is nothing to confirm: the next result tells.
			d.stay = true
		default:
			d.stay = true
			d.change.Held = &Held{Removals: d.leaving, Active: d.active, Reason: reason, Moving: d.moving, MovesTo: d.movesTo, MovesInto: p.movesInto(d)}
		}
	}
}

// mostMove returns the start to which most members of a batch move, and how many; 0 where it is one
// member, or not most of them.
func mostMove(d *draft) (to time.Time, n int) {
	moving := map[time.Time]int{}
	for _, r := range d.leaving {
		if r.MovesTo != nil {
			moving[r.MovesTo.UTC()]++
		}
	}
	for start, members := range moving {
		if members > 1 && members*2 > d.active {
			return start, members
		}
	}
	return time.Time{}, 0
}

// movesInto returns the number of the batch that has the start to which most members of a batch move; 0
// if no batch has it, or if they do not.
func (p *planner) movesInto(d *draft) int {
	if d.moving == 0 {
		return 0
	}
	if batch := p.batchOf(d.movesTo); batch != newBatch {
		return p.drafts[batch].ID
	}
	return 0
}

// isAwaited reports whether the member would move to a batch that accepts no members now.
func (p *planner) isAwaited(r Removal) bool {
	if r.MovesTo == nil {
		return false
	}
	batch := p.batchOf(*r.MovesTo)
	return batch != newBatch && p.drafts[batch].tooMany != ""
}

// removals returns how many members would leave the runbook's batches that are filled.
func (p *planner) removals() (n int) {
	for i := range p.drafts {
		if d := &p.drafts[i]; !d.Filling {
			n += len(d.leaving)
		}
	}
	return n
}

// reason is why those who are to leave a batch should not on the word of this result;
// empty when they may. A single removal of all batches needs no rows: when the last member
// has left the source, the query returns nothing. A row without a key holds it, because the
// row may be the member's.
func (p *planner) reason(d *draft, single bool) string {
	r := p.result
	var doubt string
	switch {
	case r.count == 0 && !single:
		return "the query returned no rows"
	case r.count == p.counts.Bad+r.bad && !single:
		return fmt.Sprintf("the query returned %s, and none can be used", count(r.count, "row"))
	case r.keyless == 1:
		doubt = fmt.Sprintf("1 row has no readable key (row %s); it may be one of these members", numbers(r.keylessRows, 1))
	case r.keyless > 1:
		doubt = fmt.Sprintf("%d rows have no readable key (rows %s); any of them may be one of these members", r.keyless, numbers(r.keylessRows, r.keyless))
	}
	if doubt != "" && d.tooMany != "" {
		return doubt + "; and " + d.tooMany
	}
	return doubt + d.tooMany
}

// share is why so many should not leave at once; empty when they may. One member may
// always: in a small batch that is a large share, and says nothing about the query.
func (p *planner) share(d *draft) string {
	percent := p.rb.DataSource.RemovalGuard
	if len(d.leaving) <= 1 || float64(len(d.leaving))*100 <= percent*float64(d.active) {
		return ""
	}
	gone, of := p.gone(d), count(d.active, "member")
	elsewhere := len(d.leaving) - gone
	var what string
	switch {
	case elsewhere == 0:
		what = fmt.Sprintf("no longer returns %d of %s", gone, of)
	case gone == 0:
		what = fmt.Sprintf("now has another batch for %d of %s", elsewhere, of)
	default:
		what = fmt.Sprintf("no longer returns %d and now has another batch for %d of %s", gone, elsewhere, of)
	}
	return fmt.Sprintf("the query %s, more than the removal_guard of %s allows", what, humanize.Percent(percent))
}

// gone is how many of those who are to leave a batch have no row any more. The others have another batch now.
func (p *planner) gone(d *draft) (n int) {
	for _, r := range d.leaving {
		if _, present := p.result.byKey[r.Key]; !present {
			n++
		}
	}
	return n
}

// smallShrinkage is the number of people who may always leave the batches of a runbook at once, as far as the guard of
// each batch lets them.
const smallShrinkage = 10

// guardAll keeps people in all batches when too many have left the result: where each has a batch of their own, no batch
// loses more than one.
func (p *planner) guardAll() {
	percent, gone, active := p.rb.DataSource.RemovalGuard, 0, 0
	for i := range p.drafts {
		if d := &p.drafts[i]; !d.Filling && !d.Manual {
			gone += p.gone(d)
			active += d.active
		}
	}
	if gone <= smallShrinkage || float64(gone)*100 <= percent*float64(active) {
		return
	}
	for i := range p.drafts {
		if d := &p.drafts[i]; !d.Filling && d.tooMany == "" && p.gone(d) > 0 {
			d.tooMany = fmt.Sprintf("the query no longer returns %d of %s of all batches, more than the removal_guard of %s allows", gone, count(active, "member"), humanize.Percent(percent))
		}
	}
}

// guardAdditions holds the additions when there are too many, all of them together. A
// query that has lost its WHERE clause returns people who are not to be migrated.
func (p *planner) guardAdditions(entering []coming) *HeldAdditions {
	guard := p.rb.DataSource.AdditionGuard
	var people []Addition
	for _, c := range entering {
		if p.isAddition(c) {
			people = append(people, Addition{Key: p.result.rows[c.row].key, Start: c.start})
		}
	}
	members := 0
	for i := range p.drafts {
		if d := &p.drafts[i]; !d.Manual {
			for _, m := range d.Members {
				if !m.gone() {
					members++
				}
			}
		}
	}
	reason := tooManyAdditions(guard, len(people), members)
	if reason == "" || p.revision == p.situation.Confirmed {
		return nil
	}
	return &HeldAdditions{People: people, Of: members, Reason: reason}
}

// smallGrowth is the number of people that one result may always add. A new runbook and a
// small batch grow by a few people at a time, which is a large share and says nothing about
// the query.
const smallGrowth = 10

// tooManyAdditions returns why the guard holds the additions of people to the members of the
// runbook's batches; empty when it does not. A first fill exceeds each share, except 100%,
// which leaves the number alone.
func tooManyAdditions(guard runbook.AdditionGuard, people, members int) string {
	var limit string
	switch {
	case people > guard.Number:
		limit = fmt.Sprintf("more than the addition_guard's number of %d allows", guard.Number)
	case people > smallGrowth && guard.Share < 100 && float64(people)*100 > guard.Share*float64(members):
		limit = fmt.Sprintf("more than the addition_guard's share of %s allows", humanize.Percent(guard.Share))
	default:
		return ""
	}
	return fmt.Sprintf("the query returns %d new people for %s, %s", people, count(members, "member"), limit)
}

// isAddition reports whether a person who enters a batch is new: neither moves to it nor
// was a member before.
func (p *planner) isAddition(c coming) bool {
	return len(c.from) == 0 && !p.situation.Former[p.result.rows[c.row].key]
}

// digest makes the revision: a digest of the usable rows' keys and starts. It covers all rows, not only
// those that would be added, so that it stays the same while a confirmed result is applied:
// after a crash the next tick applies the rest. Without automation the same rows add fewer
// people, so that this is part of it.
func (p *planner) digest() string {
	digest := sha256.New()
	fmt.Fprintln(digest, p.situation.Automation)
	for _, i := range p.inKeyOrder() {
		row := &p.result.rows[i]
		start := ""
		if !p.result.immediate() { // then it is the time of the tick
			start = p.result.startOf(row, p.situation.Now).UTC().Format(time.RFC3339Nano)
		}
		fmt.Fprintf(digest, "%q %s\n", row.key, start)
	}
	return hex.EncodeToString(digest.Sum(nil)[:8])
}
