package cosmos

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"sync/atomic"
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
// documents to examine; WHERE still decides on each. A write changes the entries only of the
// indexes in which its document has another place than before.

// lookup is an index over a partition's documents by the values at some paths. A document that
// does not have them is not in it.
type lookup struct {
	number int64
	paths  []string // as in $.a.b

	// sorted is a path by whose values the documents that are equal at paths are in
	// order, and those of one value by id; empty where they are in the order of ids.
	sorted string

	// moved counts the moves of documents, before they are committed, and settled is that number when
	// all entries were written last.
	moved, settled atomic.Int64
}

// lookups are all indexes of a store.
type lookups struct {
	all   []*lookup
	tree  pathTree // of all paths
	slots int      // of the tree
	read  []int    // the slots of all indexes
	at    []slots  // of each index
}

// slots are where a tree puts the values of an index's paths.
type slots struct {
	equal  []int
	sorted int // -1 for none
}

// entry is the place of a document in a lookup: the values at its paths, and the one that the
// documents with the same values are sorted by.
type entry struct {
	equal, sorted []byte
	item          int64 // seq of the document
}

// same reports whether two places are the same, or both none.
func (e *entry) same(other *entry) bool {
	if e == nil || other == nil {
		return e == other
	}
	return e.item == other.item && bytes.Equal(e.equal, other.equal) && bytes.Equal(e.sorted, other.sorted)
}

func newLookups(all []*lookup) *lookups {
	ls := &lookups{all: all, tree: pathTree{slot: -1}}
	slot := func(path string) int {
		t := &ls.tree
		for _, step := range stepsOf(path) {
			next := t.children[step]
			if next == nil {
				if t.children == nil {
					t.children = map[string]*pathTree{}
				}
				next = &pathTree{slot: ls.slots}
				ls.slots++
				t.children[step] = next
			}
			t = next
		}
		return t.slot
	}
	for _, l := range all {
		at := slots{sorted: -1}
		for _, path := range l.paths {
			at.equal = append(at.equal, slot(path))
		}
		if l.sorted != "" {
			at.sorted = slot(l.sorted)
		}
		ls.at = append(ls.at, at)
		ls.read = append(ls.read, at.equal...)
		if at.sorted >= 0 {
			ls.read = append(ls.read, at.sorted)
		}
	}
	slices.Sort(ls.read)
	ls.read = slices.Compact(ls.read)
	return ls
}

// pathTree is a set of paths. Each node has a slot for the value that a document has there.
type pathTree struct {
	slot     int
	children map[string]*pathTree
}

// find fills the slots in one pass over a document. As in document.Lookup, the first member of a
// name counts.
func (t *pathTree) find(text []byte, values [][]byte) {
	left := len(t.children)
	if left == 0 || text[0] != '{' {
		return
	}
	document.EachNamed(text, func(name, value []byte) bool {
		if c := t.children[string(name)]; c != nil && values[c.slot] == nil {
			values[c.slot] = value
			c.find(value, values)
			left--
		}
		return left > 0
	})
}

// entries returns the entry of a document in each lookup, nil where it is not in one.
func (ls *lookups) entries(doc []byte, item int64) []*entry {
	values := make([][]byte, ls.slots)
	ls.tree.find(doc, values)
	read := make([]document.Value, ls.slots)
	wrong := make([]bool, ls.slots)
	for _, slot := range ls.read {
		var ok bool
		read[slot], ok = parsed(values[slot])
		wrong[slot] = !ok
	}
	all := make([]*entry, len(ls.all))
	for i, at := range ls.at {
		all[i] = at.entry(read, wrong, item)
	}
	return all
}

func (at slots) entry(values []document.Value, wrong []bool, item int64) *entry {
	for _, slot := range at.equal {
		if wrong[slot] || !comparedWith(values[slot]) {
			return nil
		}
	}
	if at.sorted >= 0 && wrong[at.sorted] {
		return nil
	}
	e := &entry{sorted: []byte{}, item: item}
	for _, slot := range at.equal {
		e.equal = appendEqual(e.equal, values[slot])
	}
	if at.sorted >= 0 {
		e.sorted = appendSorted(e.sorted, values[at.sorted])
	}
	return e
}

func parsed(text []byte) (document.Value, bool) {
	if text == nil {
		return document.Value{}, true
	}
	v, err := document.Parse(text)
	return v, err == nil
}

// comparedWith reports whether a lookup can have a value among those that queries compare with.
func comparedWith(v document.Value) bool {
	return v.Kind == document.String || v.Kind == document.Number
}

// appendSorted appends a value so that the bytes are in the order of the values.
func appendSorted(dst []byte, v document.Value) []byte {
	dst = append(dst, byte(v.Kind))
	switch v.Kind {
	case document.Boolean:
		if v.Bool {
			return append(dst, 1)
		}
		return append(dst, 0)
	case document.Number:
		bits := math.Float64bits(v.Num + 0) // + 0 makes -0 equal to 0
		if bits>>63 == 0 {
			bits |= 1 << 63
		} else {
			bits = ^bits
		}
		return binary.BigEndian.AppendUint64(dst, bits)
	case document.String:
		return append(dst, v.Text...)
	case document.Array, document.Object:
		return v.Append(dst)
	}
	return dst
}

// appendEqual appends one of several values.
func appendEqual(dst []byte, v document.Value) []byte {
	text := appendSorted(nil, v)
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// equalTo returns the values that a lookup's paths have in the documents that a query selects, one of each
// document. Of a path with several values there are as many.
func (l *lookup) equalTo(values narrowed) (all [][]byte) {
	all = [][]byte{nil}
	for _, path := range l.paths {
		var longer [][]byte
		for _, begin := range all {
			for _, v := range values[path] {
				longer = append(longer, appendEqual(slices.Clip(begin), v))
			}
		}
		all = longer
	}
	return all
}

const lookupSchema = `
CREATE TABLE IF NOT EXISTS settled (epoch INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS learned (number INTEGER PRIMARY KEY, paths TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS entries (
	lookup INTEGER NOT NULL, container INTEGER NOT NULL, pk TEXT NOT NULL, equal BLOB NOT NULL, sorted BLOB NOT NULL, id TEXT NOT NULL,
	item INTEGER NOT NULL, PRIMARY KEY (lookup, container, pk, equal, sorted, id)) WITHOUT ROWID`

// narrowed are the values of which each path has one in the documents that a query selects. At most one
// path has several.
type narrowed map[string][]document.Value

// narrowing returns the comparisons of a query that an index can serve, by path.
func narrowing(q *query.Query) narrowed {
	values := narrowed{}
	for _, e := range q.Equalities() {
		if comparedWith(e.Value) && serviceable(e.Path) {
			values[jsonPath(e.Path)] = []document.Value{e.Value}
		}
	}
	return values
}

// narrowingToOneOf is narrowing with the shortest list of values that a query compares a path with, if it
// has one.
func narrowingToOneOf(q *query.Query) narrowed {
	values := narrowing(q)
	var path string
	var list []document.Value
	for _, steps := range q.Listed() {
		of, ok := q.OneOf(steps)
		if _, equal := values[jsonPath(steps)]; !ok || equal || !serviceable(steps) || len(of) > maxListed {
			continue
		}
		if list == nil || len(of) < len(list) {
			path, list = jsonPath(steps), slices.DeleteFunc(slices.Clone(of), func(v document.Value) bool { return v.Kind == document.Undefined })
		}
	}
	if list != nil && !slices.ContainsFunc(list, func(v document.Value) bool { return !comparedWith(v) }) {
		values[path] = list
	}
	return values
}

// serviceable says whether an index of this package can have a path.
func serviceable(path []string) bool { return plain(path) && !slices.Equal(path, []string{"id"}) }

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

// lookupFor picks the index that uses the most comparisons of a query.
func (st *store) lookupFor(values narrowed) *lookup {
	var best *lookup
	for _, l := range st.lookups.Load().all {
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
func (st *store) sortedFor(values narrowed, path string) *lookup {
	var best *lookup
	for _, l := range st.lookups.Load().all {
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
