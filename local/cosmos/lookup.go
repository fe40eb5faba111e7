package cosmos

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/matoolkit/matoolkit/local/cosmos/document"
	"github.com/matoolkit/matoolkit/local/cosmos/query"
)

// The service has an index of every path that the container's policy includes, so a
// query that selects a few items of a large partition by those is cheap there. This
// package makes an index when such a
// query first needs one: the query read many documents of a partition,
// selected few, and compares paths with constants. The index only reduces the
// documents to examine; WHERE still decides on each.

const (
	learnScanned = 1000 // documents a page looks at before an index is worth it
	learnFactor  = 10   // and how many it looks at for each that it keeps
	maxLookups   = 8    // every index makes every write dearer
	maxSorted    = 6    // and so does one that is in the order of a path
)

// lookup is an index over a partition's documents by the values at some paths.
type lookup struct {
	name  string
	paths []string // as SQLite writes them: $.a.b

	// sorted is a path by whose values the documents that are equal at paths are in
	// order, and those of one value by id; empty where they are in the order of ids.
	sorted string
}

// rank and value are the SQL expressions that order documents by a path: first by the
// value's type, as ORDER BY does, then by the value.
func rank(path string) string {
	return "CASE json_type(CAST(body AS TEXT), '" + path + "') WHEN 'null' THEN 1 WHEN 'false' THEN 2 WHEN 'true' THEN 3 " +
		"WHEN 'integer' THEN 4 WHEN 'real' THEN 4 WHEN 'text' THEN 5 WHEN 'array' THEN 6 WHEN 'object' THEN 7 ELSE 0 END"
}

func value(path string) string { return "ifnull(" + extract(path) + ", 0)" }

const rankOfText = 5

// place gives the rank and the value of a sort key, for keys of which SQLite surely has
// the same.
func place(key document.Value) (rank int, value any, ok bool) {
	switch key.Kind {
	case document.Undefined:
		return 0, 0, true
	case document.Null:
		return 1, 0, true
	case document.Boolean:
		if key.Bool {
			return 3, 1, true
		}
		return 2, 0, true
	case document.Number:
		value, ok = sqlValue(key)
		return 4, value, ok
	case document.String:
		value, ok = sqlValue(key)
		return rankOfText, value, ok
	}
	return 0, nil, false
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
			values[jsonPath(e.Path)] = value
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
		serves := l.sorted == ""
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

// sortedFor picks the index in the order of a path that uses the most comparisons of a
// query.
func (st *store) sortedFor(values map[string]any, path string) *lookup {
	var best *lookup
	for _, l := range *st.lookups.Load() {
		serves := l.sorted == path
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

// sortPath is the one path that a query is sorted by, where an index can be in its order.
func sortPath(q *query.Query) string {
	if order := q.Order(); len(order) == 1 && plain(order[0].Path) && order[0].Path[0] != "id" {
		return jsonPath(order[0].Path)
	}
	return ""
}

// prefixPath is a path that has to begin with a text for a query to select a document.
func prefixPath(q *query.Query) string {
	for _, path := range q.Prefixes() {
		if plain(path) && path[0] != "id" {
			return jsonPath(path)
		}
	}
	return ""
}

func jsonPath(steps []string) string { return "$." + strings.Join(steps, ".") }

func stepsOf(path string) []string { return strings.Split(strings.TrimPrefix(path, "$."), ".") }

// behind is the least text that is greater than all that begin with a prefix; empty
// where there is none.
func behind(prefix string) string {
	runes := []rune(prefix)
	for len(runes) > 0 {
		last := len(runes) - 1
		if next := runes[last] + 1; next <= unicode.MaxRune {
			if utf16.IsSurrogate(next) {
				next = 0xE000
			}
			runes[last] = next
			return string(runes)
		}
		runes = runes[:last]
	}
	return ""
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
	if l.sorted = sortPath(q); l.sorted == "" {
		l.sorted = prefixPath(q)
	}
	if len(l.paths) == 0 || !st.lacks(l) {
		return nil
	}
	return st.change(func(g *group) (func(), error) {
		if !st.lacks(l) {
			return func() {}, nil
		}
		l.name = fmt.Sprintf("lookup%d", len(*st.lookups.Load())+1)
		var columns []string
		for _, path := range l.paths {
			columns = append(columns, extract(path))
		}
		stored := slices.Clone(l.paths)
		if l.sorted != "" {
			columns = append(columns, rank(l.sorted), value(l.sorted))
			stored = append(stored, "^"+l.sorted)
		}
		if _, err := g.tx.Exec(fmt.Sprintf(`CREATE INDEX %s ON items (container, pk, %s, id)`, l.name, strings.Join(columns, ", "))); err != nil {
			return nil, err
		}
		if _, err := g.tx.Exec(`INSERT INTO lookups (name, paths) VALUES (?, ?)`, l.name, strings.Join(stored, " ")); err != nil {
			return nil, err
		}
		all := append(slices.Clone(*st.lookups.Load()), l)
		return func() { st.lookups.Store(&all) }, nil
	})
}

// lacks says whether an index is neither there nor one too many.
func (st *store) lacks(l *lookup) bool {
	most, n := maxLookups, 0
	if l.sorted != "" {
		most = maxSorted
	}
	for _, have := range *st.lookups.Load() {
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
		for _, path := range strings.Fields(paths) {
			if sorted, ok := strings.CutPrefix(path, "^"); ok {
				l.sorted = sorted
			} else {
				l.paths = append(l.paths, path)
			}
		}
		all = append(all, l)
	}
	st.lookups.Store(&all)
	return rows.Err()
}
