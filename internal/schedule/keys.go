package schedule

import (
	"slices"
	"strings"
)

// keysByCase finds rows whose key differs in nothing but capital letters from another
// key: of a member without a row, of somebody who was removed from the batch that the
// row belongs to, or of another row. Whether this is the same person cannot be known,
// so nobody is added and nobody is removed. A row whose very key is known is used: it
// is clear whose it is.
func (p *planner) keysByCase() {
	absent, removed, rows := p.membersByCase(), p.removedByCase(), p.rowsByCase()
	for i := range p.result.rows {
		row := &p.result.rows[i]
		if p.known(row.key) {
			continue
		}
		folded := fold(row.key)
		for _, key := range absent[folded] {
			p.left[key] = true
		}
		if row.bad {
			continue
		}
		switch like := others(rows[folded], row.key); {
		case len(absent[folded]) > 0:
			p.notUsed(row, "the key of the member %q", slices.Min(absent[folded]))
		case len(like) > 0:
			p.notUsed(row, "the key %q of another row", slices.Min(like))
		default:
			like = slices.DeleteFunc(slices.Clone(removed[folded]), func(key string) bool { return !p.staysOut(key, row) })
			if len(like) > 0 {
				p.notUsed(row, "the key of %q, whom an administrator removed from that batch,", slices.Min(like))
			}
		}
	}
}

// notUsed reports a row whose key is, but for capital letters, what the text says of
// the other key.
func (p *planner) notUsed(row *row, text, other string) {
	column := p.result.layout.key.name
	p.unused[row.key] = true
	p.counts.Bad++
	p.problem(row, column, CodeKeyCase, "column %s: %q is "+text+" but for capital letters; nobody is added or removed until it is clear whether they are one person",
		clip(column), clip(row.key), clip(other))
}

// known tells that a key is that of a member, or of somebody who was one.
func (p *planner) known(key string) bool {
	return len(p.homes[key]) > 0 || p.leaving[key] || len(p.byHand[key]) > 0
}

// staysOut tells that an administrator removed somebody from the batch of a row. With
// batch_time: immediate every batch is another, and the next one is only minutes away:
// who was removed stays out while that batch lasts.
func (p *planner) staysOut(key string, row *row) bool {
	removed := p.byHand[key]
	if p.result.immediate() {
		return len(removed) > 0
	}
	batch, exists := p.byStart[p.result.startOf(row, p.situation.Now)]
	return exists && slices.Contains(removed, batch)
}

// membersByCase gives, by folded key, the keys of members without a row, and of those
// who are still leaving.
func (p *planner) membersByCase() map[string][]string {
	absent := map[string][]string{}
	add := func(key string) {
		if _, present := p.result.byKey[key]; !present {
			absent[fold(key)] = append(absent[fold(key)], key)
		}
	}
	for key := range p.homes {
		add(key)
	}
	for key := range p.leaving {
		add(key)
	}
	return absent
}

// removedByCase gives, by folded key, the keys of those whom an administrator removed.
func (p *planner) removedByCase() map[string][]string {
	removed := map[string][]string{}
	for key := range p.byHand {
		removed[fold(key)] = append(removed[fold(key)], key)
	}
	return removed
}

// rowsByCase gives, by folded key, the keys of rows where there are several.
func (p *planner) rowsByCase() map[string][]string {
	first := make(map[string]int, len(p.result.rows))
	several := map[string][]string{}
	for i := range p.result.rows {
		key := p.result.rows[i].key
		folded := fold(key)
		at, again := first[folded]
		switch {
		case !again:
			first[folded] = i
		case len(several[folded]) == 0:
			several[folded] = []string{p.result.rows[at].key, key}
		default:
			several[folded] = append(several[folded], key)
		}
	}
	return several
}

// others are the keys but for one.
func others(keys []string, but string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return key == but })
}

func fold(key string) string { return strings.ToLower(key) }
