package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// guard decides of each batch whether those who are to leave do so, all of them or
// none. A result that shrinks a lot is more often a broken query than the truth, and
// people who have left are not taken back as if nothing had been.
func (p *planner) guard() {
	for i := range p.drafts {
		d := &p.drafts[i]
		if len(d.leaving) == 0 {
			continue
		}
		slices.SortFunc(d.leaving, func(a, b Removal) int {
			return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Member, b.Member))
		})
		if d.HeldOf > 0 { // of those who came since, many may leave as well
			d.active = max(min(d.active, d.HeldOf), len(d.leaving))
		}
		reason := p.doubt()
		if reason == "" && !d.Filling {
			reason = p.tooMany(d)
		}
		switch {
		case reason == "":
			d.change.Remove = d.leaving
		case d.Filling:
			// Nothing has begun, so there is nothing to confirm: the next result tells.
			d.stay = true
		default:
			d.stay = true
			d.change.Held = &Held{Removals: d.leaving, Active: d.active, Reason: reason}
		}
	}
}

// doubt is why nobody should leave on the word of this result; empty when they may.
func (p *planner) doubt() string {
	switch r := p.result; {
	case r.count == 0:
		return "the query returned no rows"
	case r.count == p.counts.Bad+r.bad:
		return fmt.Sprintf("the query returned %s, and none can be used", count(r.count, "row"))
	case r.keyless == 1:
		return fmt.Sprintf("1 row has no readable key (row %s); it may be one of these members", numbers(r.keylessRows, 1))
	case r.keyless > 1:
		return fmt.Sprintf("%d rows have no readable key (rows %s); any of them may be one of these members", r.keyless, numbers(r.keylessRows, r.keyless))
	}
	return ""
}

// tooMany is why so many should not leave at once; empty when they may.
func (p *planner) tooMany(d *draft) string {
	percent := p.rb.DataSource.RemovalGuard
	if float64(len(d.leaving))*100 <= percent*float64(d.active) {
		return ""
	}
	elsewhere := 0
	for _, r := range d.leaving {
		if _, present := p.result.byKey[r.Key]; present {
			elsewhere++
		}
	}
	gone, of := len(d.leaving)-elsewhere, count(d.active, "member")
	var what string
	switch {
	case elsewhere == 0:
		what = fmt.Sprintf("no longer returns %d of %s", gone, of)
	case gone == 0:
		what = fmt.Sprintf("now has another batch for %d of %s", elsewhere, of)
	default:
		what = fmt.Sprintf("no longer returns %d and now has another batch for %d of %s", gone, elsewhere, of)
	}
	return fmt.Sprintf("the query %s, more than the removal_guard of %s%% allows", what, strconv.FormatFloat(percent, 'f', -1, 64))
}
