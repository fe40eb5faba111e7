package schedule

import (
	"iter"
	"maps"
	"slices"
	"strings"
)

// keysByCase finds rows whose key differs only in case from another key: of a member,
// of a person removed from the row's batch, or of another row. Whether this is the same
// person cannot be known, so it neither adds nor removes a member. A row with an exactly
// known key is used.
func (p *planner) keysByCase() {
	unknown := p.unknown()
	if len(unknown) == 0 {
		return // as on most ticks
	}
	members := byCase(maps.Keys(p.homes), maps.Keys(p.leaving))
	removed, rows := byCase(maps.Keys(p.byHand)), byCase(maps.Keys(p.result.byKey))
	for _, row := range unknown {
		folded := fold(row.key)
		for _, key := range members[folded] {
			p.left[key] = true
		}
		if row.bad {
			continue
		}
		outside := slices.DeleteFunc(slices.Clone(removed[folded]), func(key string) bool { return !p.staysOut(key, row) })
		alike := slices.DeleteFunc(slices.Clone(rows[folded]), func(key string) bool { return key == row.key })
		switch {
		case len(members[folded]) > 0:
			p.notUsed(row, "the key of the member %q", members[folded])
		case len(outside) > 0:
			p.notUsed(row, "the key of %q, whom an administrator removed from that batch", outside)
		case len(alike) > 0:
			p.notUsed(row, "the key %q of another row", alike)
		}
	}
}

// notUsed reports a row whose key differs only in case from the key that the text names, with
// the first of the other keys.
func (p *planner) notUsed(row *row, text string, others []string) {
	column := p.result.layout.key.name
	p.unused[row.key] = true
	p.counts.Bad++
	p.problem(row, column, CodeKeyCase, "column %s: %q differs only in case from "+text+": correct the keys; until then no member is added or removed",
		clip(column), clip(row.key), clip(slices.Min(others)))
}

// unknown returns the rows whose key belongs to no present or former member.
func (p *planner) unknown() []*row {
	var rows []*row
	for i := range p.result.rows {
		row := &p.result.rows[i]
		if len(p.homes[row.key]) == 0 && !p.leaving[row.key] && len(p.byHand[row.key]) == 0 {
			rows = append(rows, row)
		}
	}
	return rows
}

// staysOut reports whether an administrator removed the person from the row's batch.
// With batch_time: immediate every batch is another, and the next one is only minutes
// away: a removed person stays out until that batch ends.
func (p *planner) staysOut(key string, row *row) bool {
	removed := p.byHand[key]
	if p.result.immediate() {
		return len(removed) > 0
	}
	batch, exists := p.byStart[p.result.startOf(row, p.situation.Now)]
	return exists && slices.Contains(removed, batch)
}

// byCase groups keys that differ in nothing but capital letters.
func byCase(keys ...iter.Seq[string]) map[string][]string {
	groups := map[string][]string{}
	for _, seq := range keys {
		for key := range seq {
			folded := fold(key)
			groups[folded] = append(groups[folded], key)
		}
	}
	return groups
}

func fold(key string) string { return strings.ToLower(key) }
