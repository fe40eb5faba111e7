package cosmos

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/local/cosmos/document"
	"github.com/matoolkit/matoolkit/local/cosmos/query"
)

// The service indexes every path, so a query that selects a few items of a
// large partition is cheap there. Here an index is made when a query first
// shows that it is needed: it looked at many documents of a partition, kept
// few, and compares paths with constants. The index only narrows what is
// looked at; WHERE decides on each document all the same.

const (
	learnScanned = 1000 // documents a page looks at before an index is worth it
	learnFactor  = 10   // and how many it looks at for each that it keeps
	maxLookups   = 8    // every index makes every write dearer
)

// lookup is an index over a partition's documents by the values at some paths.
type lookup struct {
	name  string
	paths []string // as SQLite writes them: $.a.b
}

const lookupSchema = `CREATE TABLE IF NOT EXISTS lookups (name TEXT PRIMARY KEY, paths TEXT NOT NULL)`

// extract is the SQL expression of an index column; a query must use the same.
func extract(path string) string {
	return "json_extract(CAST(body AS TEXT), '" + path + "')"
}

// narrowing returns the comparisons of a query that an index can serve, by
// path, with their values as SQL sees them.
func narrowing(q *query.Query) map[string]any {
	values := map[string]any{}
	for _, e := range q.Equalities() {
		if value, ok := sqlValue(e.Value); ok && plain(e.Path) && !slices.Equal(e.Path, []string{"id"}) {
			values["$."+strings.Join(e.Path, ".")] = value
		}
	}
	return values
}

// plain says whether a path is made of simple names of stored members.
func plain(path []string) bool {
	for _, step := range path {
		for i := 0; i < len(step); i++ {
			c := step[i]
			if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && (c == '_' || c >= '0' && c <= '9') {
				continue
			}
			return false // among them the system properties, which are not stored
		}
	}
	return len(path) > 0
}

// sqlValue gives the value that SQLite extracts from a document that has v,
// for the values where both surely agree.
func sqlValue(v document.Value) (any, bool) {
	switch v.Kind {
	case document.String:
		return v.Text, !strings.ContainsAny(v.Text, "\x00\ufffd")
	case document.Number:
		return v.Num, math.Abs(v.Num) <= 1<<53
	}
	return nil, false
}

// lookupFor picks the index that uses the most comparisons of a query.
func (st *store) lookupFor(values map[string]any) *lookup {
	var best *lookup
	for _, l := range *st.lookups.Load() {
		serves := true
		for _, path := range l.paths {
			_, compared := values[path]
			serves = serves && compared
		}
		if serves && (best == nil || len(l.paths) > len(best.paths)) {
			best = l
		}
	}
	return best
}

// learn makes an index for a query that has just shown that it needs one.
func (st *store) learn(q *query.Query, scanned, selected int) error {
	if scanned < learnScanned || selected*learnFactor > scanned {
		return nil
	}
	l := &lookup{}
	for path := range narrowing(q) {
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
		l.name = fmt.Sprintf("lookup%d", len(*st.lookups.Load())+1)
		columns := make([]string, len(l.paths))
		for i, path := range l.paths {
			columns[i] = extract(path)
		}
		if _, err := g.tx.Exec(fmt.Sprintf(`CREATE INDEX %s ON items (container, pk, %s, id)`, l.name, strings.Join(columns, ", "))); err != nil {
			return nil, err
		}
		if _, err := g.tx.Exec(`INSERT INTO lookups (name, paths) VALUES (?, ?)`, l.name, strings.Join(l.paths, " ")); err != nil {
			return nil, err
		}
		all := append(slices.Clone(*st.lookups.Load()), l)
		return func() { st.lookups.Store(&all) }, nil
	})
}

// lacks says whether an index is neither there nor one too many.
func (st *store) lacks(l *lookup) bool {
	all := *st.lookups.Load()
	return len(all) < maxLookups && !slices.ContainsFunc(all, func(have *lookup) bool { return slices.Equal(have.paths, l.paths) })
}

func (st *store) loadLookups() error {
	rows, err := st.writes.Query(`SELECT name, paths FROM lookups ORDER BY rowid`)
	if err != nil {
		return err
	}
	defer rows.Close()
	var all []*lookup
	for rows.Next() {
		l, paths := &lookup{}, ""
		if err := rows.Scan(&l.name, &paths); err != nil {
			return err
		}
		l.paths = strings.Fields(paths)
		all = append(all, l)
	}
	st.lookups.Store(&all)
	return rows.Err()
}
