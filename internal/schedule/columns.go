package schedule

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// layout says where in a row of the result the values are that the runbook uses.
type layout struct {
	width int // how many columns the result has
	key   column
	time  *column // the batch time; nil when immediate
	used  []column
	// others are the columns that the runbook does not use, which are kept for later versions.
	others []column
	// header is the prefix of every row's hash: a runbook that uses other columns
	// sees every row as changed.
	header []byte
}

type column struct {
	name   string // as the runbook writes it
	at     int    // place in the result, from 0
	format string // of a multi-valued column
}

// ColumnsError tells that a result cannot be used at all, since it lacks columns
// that the runbook uses or has them twice. It names columns and holds no data.
type ColumnsError struct{ Faults []string }

func (e *ColumnsError) Error() string { return strings.Join(e.Faults, "; ") }

// match finds the columns that the runbook uses among those of the result. A name
// is matched exactly; databases that answer in capitals are understood as long as
// only one column can be meant.
func match(rb *runbook.Runbook, result []string) (layout, error) {
	m := matcher{result: result, formats: map[string]string{}}
	for _, mv := range rb.DataSource.MultiValued {
		m.formats[mv.Name] = mv.Format
	}
	l := layout{width: len(result)}
	names := rb.Columns()
	used := names
	names = nil
	for _, name := range used {
		if rb.Optional(name) && !m.has(name) {
			continue
		}
		names = append(names, name)
		l.used = append(l.used, m.find(name))
	}
	l.key = m.find(rb.DataSource.PrimaryKey)
	switch ds := rb.DataSource; {
	case ds.BatchTimeColumn != "":
		c := m.find(ds.BatchTimeColumn)
		l.time = &c
	case ds.BatchTime != runbook.BatchTimeImmediate:
		return layout{}, &ColumnsError{Faults: []string{"the runbook has neither batch_time_column nor batch_time"}}
	}
	if len(m.faults) > 0 {
		return layout{}, &ColumnsError{Faults: append(m.faults, "the query returns "+listed(result))}
	}
	l.others = m.others(l.used)
	var err error
	if l.header, err = json.Marshal(names); err != nil {
		return layout{}, err
	}
	l.header = append(l.header, '\n')
	return l, nil
}

type matcher struct {
	result  []string
	formats map[string]string
	faults  []string
}

func (m *matcher) find(name string) column {
	var exact, alike []int
	for i, have := range m.result {
		switch {
		case have == name:
			exact = append(exact, i)
		case strings.EqualFold(have, name):
			alike = append(alike, i)
		}
	}
	found := exact
	if len(exact) == 0 {
		found = alike
	}
	switch len(found) {
	case 0:
		m.fault("column %q, which the runbook uses, is not in the result", clip(name))
	case 1:
		return column{name: name, at: found[0], format: m.formats[name]}
	default:
		m.fault("column %q, which the runbook uses, is in the result %d times", clip(name), len(found))
	}
	return column{}
}

// has reports whether a column of the result can be meant by a name.
func (m *matcher) has(name string) bool {
	return slices.ContainsFunc(m.result, func(have string) bool { return strings.EqualFold(have, name) })
}

// others returns the columns of the result that the runbook does not use.
func (m *matcher) others(used []column) (others []column) {
	for at, name := range m.result {
		if !slices.ContainsFunc(used, func(c column) bool { return c.at == at }) {
			others = append(others, column{name: name, at: at, format: m.formats[name]})
		}
	}
	return others
}

// fault records an error once, even if the key is read twice.
func (m *matcher) fault(format string, args ...any) {
	fault := fmt.Sprintf(format, args...)
	for _, f := range m.faults {
		if f == fault {
			return
		}
	}
	m.faults = append(m.faults, fault)
}

func listed(names []string) string {
	const most = 20
	if len(names) == 0 {
		return "no columns"
	}
	var quoted []string
	for _, name := range names[:min(len(names), most)] {
		quoted = append(quoted, fmt.Sprintf("%q", clip(name)))
	}
	if len(names) > most {
		quoted = append(quoted, fmt.Sprintf("and %d more", len(names)-most))
	}
	return strings.Join(quoted, ", ")
}
