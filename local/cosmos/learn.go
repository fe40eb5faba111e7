package cosmos

import (
	"errors"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/local/cosmos/query"
)

const (
	learnScanned = 1000 // documents a page looks at before an index is worth it
	learnFactor  = 10   // and how many it looks at for each that it keeps
	maxLookups   = 8    // every index makes every write dearer
	maxSorted    = 6    // and so does one that is in the order of a path
)

// learn makes an index for a query that has just shown that it needs one.
func (st *store) learn(q *query.Query, scanned, selected int) error {
	if scanned < learnScanned || selected*learnFactor > scanned {
		return nil
	}
	l := &lookup{}
	if l.sorted = sortPath(q); l.sorted == "" {
		l.sorted = prefixPath(q)
	}
	values := narrowing(q)
	if l.sorted == "" {
		values = narrowingToOneOf(q)
	}
	for path := range values {
		l.paths = append(l.paths, path)
	}
	slices.Sort(l.paths)
	if len(l.paths) == 0 || !st.lacks(l) {
		return nil
	}
	return st.change(func(g *group) (func(), error) {
		if !st.lacks(l) {
			return func() {}, nil
		}
		have := st.lookups.Load().all
		l.number = int64(len(have) + 1)
		stored := slices.Clone(l.paths)
		if l.sorted != "" {
			stored = append(stored, "^"+l.sorted)
		}
		if _, err := g.tx.Exec(`INSERT INTO learned (number, paths) VALUES (?, ?)`, l.number, strings.Join(stored, " ")); err != nil {
			return nil, err
		}
		if err := g.fill(l); err != nil {
			return nil, err
		}
		all := newLookups(append(slices.Clone(have), l))
		return func() { st.lookups.Store(all) }, nil
	})
}

// fill enters all documents into a new lookup.
func (g *group) fill(l *lookup) error {
	type row struct {
		seq, container int64
		pk, id         string
		body           []byte
	}
	only := newLookups([]*lookup{l})
	for last := int64(-1); ; {
		rows, err := g.tx.Query(`SELECT seq, container, pk, id, body FROM items WHERE seq > ? ORDER BY seq LIMIT 1000`, last)
		if err != nil {
			return err
		}
		var some []row
		for rows.Next() {
			var r row
			if err := rows.Scan(&r.seq, &r.container, &r.pk, &r.id, &r.body); err != nil {
				return errors.Join(err, rows.Close())
			}
			some = append(some, r)
		}
		if err := rows.Err(); err != nil || len(some) == 0 {
			return err
		}
		for _, r := range some {
			if e := only.entries(r.body, r.seq)[0]; e != nil {
				if _, err := g.statement(insertEntry).Exec(l.number, r.container, r.pk, e.equal, e.sorted, r.id, r.seq); err != nil {
					return err
				}
			}
		}
		last = some[len(some)-1].seq
	}
}

// lacks says whether an index is neither there nor one too many.
func (st *store) lacks(l *lookup) bool {
	most, n := maxLookups, 0
	if l.sorted != "" {
		most = maxSorted
	}
	for _, have := range st.lookups.Load().all {
		if (have.sorted == "") == (l.sorted == "") {
			n++
		}
		if have.sorted == l.sorted && slices.Equal(have.paths, l.paths) {
			return false
		}
	}
	return n < most
}

func (st *store) loadLookups() error {
	rows, err := st.writes.Query(`SELECT number, paths FROM learned ORDER BY number`)
	if err != nil {
		return err
	}
	defer rows.Close()
	var all []*lookup
	for rows.Next() {
		l, paths := &lookup{}, ""
		if err := rows.Scan(&l.number, &paths); err != nil {
			return err
		}
		for _, path := range strings.Fields(paths) {
			if sorted, ok := strings.CutPrefix(path, "^"); ok {
				l.sorted = sorted
			} else {
				l.paths = append(l.paths, path)
			}
		}
		all = append(all, l)
	}
	st.lookups.Store(newLookups(all))
	return rows.Err()
}
