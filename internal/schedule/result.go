package schedule

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// Result collects the rows of one answer of a runbook's query. It keeps of a row what
// the runbook uses, in as little memory as it can, and nothing that it was given.
// It is not safe for concurrent use while rows are added.
type Result struct {
	layout layout
	// hashKey, if not nil, keys the hashes of rows.
	hashKey []byte
	zone    *time.Location
	rows    []row          // those whose key can be read, each key once
	byKey   map[string]int // place in rows
	count   int            // of all rows

	starts  []time.Time       // each once, in UTC
	byStart map[time.Time]int // place in starts
	byText  map[string]int    // the same, by the text of the batch time

	keyless     int   // rows whose key cannot be read
	keylessRows []int // the numbers of the first of them
	problems    problems
	bad         int // rows that are not used
	buf         bytes.Buffer
}

// row is a row that is kept. Its data is one string: the values that the runbook uses in the order of
// the columns, a line each, since compact JSON has no line ends, and then those of keepOthers.
type row struct {
	number int
	start  int // place in Result.starts; noStart without one
	bad    bool
	twice  bool // its key is in other rows, too
	hash   [hashBytes]byte
	key    string
	data   string // empty when bad
}

const (
	noStart   = -1
	hashBytes = 16
	// namedRows bounds how many rows a sentence names by number.
	namedRows = 5
)

// HashWith keys the hashes of rows, so that secret values cannot be guessed from them
// without the key. Call it before adding rows.
func (r *Result) HashWith(key []byte) { r.hashKey = key }

// NewResult begins a result with these columns. The error is a [*ColumnsError]: the
// result lacks what the runbook uses.
func NewResult(rb *runbook.Runbook, columns []string) (*Result, error) {
	l, err := match(rb, columns)
	if err != nil {
		return nil, err
	}
	return &Result{
		layout: l, zone: rb.DataSource.Location(),
		byKey: map[string]int{}, byStart: map[time.Time]int{}, byText: map[string]int{},
	}, nil
}

// Add takes the next row: a JSON value for each column, which it does not keep. A
// faulty row becomes a problem and is not used.
func (r *Result) Add(values []json.RawMessage) {
	r.count++
	a := adding{Result: r, row: row{number: r.count, start: noStart}}
	a.read(values)
	switch first, twice := r.byKey[a.row.key]; {
	case a.row.key == "":
		r.keyless++
		if len(r.keylessRows) < namedRows {
			r.keylessRows = append(r.keylessRows, r.count)
		}
	case twice:
		r.duplicate(&r.rows[first], &a)
	default:
		r.byKey[a.row.key] = len(r.rows)
		if a.row.bad {
			a.row.data = ""
		}
		r.rows = append(r.rows, a.row)
	}
	if a.row.bad {
		r.bad++
	}
}

// duplicate refuses a row and the one before it that has the same key: nothing tells
// which of them is right.
func (r *Result) duplicate(first *row, a *adding) {
	const text = "%q is in row %d and again in row %d"
	if !first.twice {
		before := adding{Result: r, row: *first}
		before.fault(r.layout.key.name, CodeDuplicateKey, text, clip(first.key), first.number, a.row.number)
		if !first.bad {
			r.bad++
		}
		first.bad, first.twice, first.data = true, true, ""
	}
	a.fault(r.layout.key.name, CodeDuplicateKey, text, clip(first.key), first.number, a.row.number)
}

// Len is how many rows were added, those with problems included.
func (r *Result) Len() int { return r.count }

// Rows gives the rows that can be used, in the order of the result.
func (r *Result) Rows() iter.Seq[Row] {
	return func(yield func(Row) bool) {
		for i := range r.rows {
			if !r.rows[i].bad && !yield(r.row(i)) {
				return
			}
		}
	}
}

// Has reports whether a row has a key, also one that cannot be used.
func (r *Result) Has(key string) bool {
	_, present := r.byKey[key]
	return present
}

// Complete reports whether the result can tell that a person is gone from the source: it has a row that can
// be used, and none whose key cannot be read.
func (r *Result) Complete() bool { return r.keyless == 0 && r.count > r.bad }

// StartOf gives the start of the batch that the row of a key belongs to; not ok where no row that can be
// used has the key.
func (r *Result) StartOf(key string, now time.Time) (start time.Time, ok bool) {
	i, present := r.byKey[key]
	if !present || r.rows[i].bad {
		return time.Time{}, false
	}
	return r.startOf(&r.rows[i], now), true
}

// Problems returns the problems of rows in order, at most [MaxProblems], and their
// total number.
func (r *Result) Problems() ([]Problem, int) {
	return sortedProblems(slices.Clone(r.problems.first)), r.problems.total
}

// Starts gives the starts of the batches that the usable rows belong to, in UTC and in
// order: with batch_time: immediate, the one start for now.
func (r *Result) Starts(now time.Time) []time.Time {
	found := map[time.Time]bool{}
	for i := range r.rows {
		if !r.rows[i].bad {
			found[r.startOf(&r.rows[i], now)] = true
		}
	}
	return slices.SortedFunc(maps.Keys(found), time.Time.Compare)
}

func (r *Result) immediate() bool { return r.layout.time == nil }

// startOf is when the batch of a usable row starts.
func (r *Result) startOf(row *row, now time.Time) time.Time {
	if r.immediate() {
		return ImmediateStart(now)
	}
	return r.starts[row.start]
}

// row makes what callers see of a usable row.
func (r *Result) row(i int) Row {
	kept := &r.rows[i]
	out := Row{
		Number: kept.number, Key: kept.key, Hash: hex.EncodeToString(kept.hash[:]),
		Data: make(map[string]json.RawMessage, len(r.layout.used)+len(r.layout.others)),
	}
	if kept.start != noStart {
		out.Start = r.starts[kept.start]
	}
	var others []runbook.RowColumn
	for i, line := range bytes.Split([]byte(kept.data), []byte{'\n'}) {
		if i < len(r.layout.used) {
			out.Data[r.layout.used[i].name] = line
			continue
		}
		place, value, _ := bytes.Cut(line, []byte{' '})
		at, _ := strconv.Atoi(string(place))
		others = append(others, runbook.RowColumn{Name: r.layout.others[at].name, Value: value})
	}
	out.Data = runbook.KeepRow(out.Data, others)
	return out
}
