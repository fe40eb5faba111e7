package simulate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/datasource/csvfile"
)

// Rows is a result of the query of a data source, with values that are JSON.
type Rows struct {
	Columns []string
	Values  [][]json.RawMessage
}

// source is the list of members in the place of what the runbook's query returns: all
// rows but those of people who have not joined it yet, or have left it. All values of a file are
// text.
type source struct {
	now   func() time.Time
	leave []Coming
	key   string
	takes func(key string) bool // whether a row is looked at
	needs []string              // columns that the runbook uses
	start time.Time             // that offsets of members count from

	columns []string
	rows    [][]json.RawMessage
	keys    []string        // of the rows, as far as there are any
	over    map[string]bool // keys of people whose immediate batch has ended
}

// read takes the file in.
func (s *source) read(ctx context.Context, path string) error {
	absolute, err := filepath.Abs(path) // a name such as https://… is a file's here, too
	if err != nil {
		return err
	}
	file, err := csvfile.Open(datasource.Spec{Connection: absolute, Columns: s.needs})
	if err != nil {
		return err
	}
	rows, err := file.Query(ctx)
	if err != nil {
		return err
	}
	defer rows.Close()
	s.columns = slices.Clone(rows.Columns())
	for {
		values, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			return s.known()
		}
		if err != nil {
			return err
		}
		s.take(slices.Clone(values))
	}
}

// take adds a row. Its key is a text or a number.
func (s *source) take(values []json.RawMessage) {
	var key string
	column := slices.IndexFunc(s.columns, func(c string) bool { return strings.EqualFold(strings.TrimSpace(c), s.key) })
	if column >= 0 && column < len(values) && json.Unmarshal(values[column], &key) != nil {
		key = string(values[column])
	}
	if key = strings.TrimSpace(key); s.takes(key) {
		s.rows, s.keys = append(s.rows, values), append(s.keys, key)
	}
}

// known holds the answers to the list.
func (s *source) known() error {
	for _, c := range s.leave {
		if !slices.Contains(s.keys, c.Member) {
			return fmt.Errorf("no row has the key %q (answers, line %d)", c.Member, c.Line)
		}
	}
	return nil
}

// there tells whether a row is on the list now.
func (s *source) there(key string) bool {
	if s.over[key] {
		return false
	}
	for _, c := range s.leave {
		if c.Member != key {
			continue
		}
		if c.Joins != nil && s.now().Before(c.Joins.of(s.start)) || c.Leaves != nil && !s.now().Before(c.Leaves.of(s.start)) {
			return false
		}
	}
	return true
}

// done removes people from the list permanently: the query of an immediate batch
// leaves out finished people, or the next batch would include them again.
func (s *source) done(key string) {
	if s.over == nil {
		s.over = map[string]bool{}
	}
	s.over[key] = true
}

// next is when the list changes next; zero for never.
func (s *source) next() time.Time {
	var first time.Time
	for _, c := range s.leave {
		for _, m := range []*Moment{c.Joins, c.Leaves} {
			if m == nil {
				continue
			}
			// The scheduler sees it at its next tick, for which something must be due then.
			if at := m.of(s.start); at.After(s.now()) && (first.IsZero() || at.Before(first)) {
				first = at
			}
		}
	}
	return first
}

func (s *source) open(datasource.Spec) (datasource.Source, error) { return s, nil }

// Query begins with the list as it is now.
func (s *source) Query(context.Context) (datasource.Rows, error) {
	var rows [][]json.RawMessage
	for i, row := range s.rows {
		if s.there(s.keys[i]) {
			rows = append(rows, row)
		}
	}
	return &result{columns: s.columns, rows: rows}, nil
}

// result is a datasource.Rows of rows that are there.
type result struct {
	columns []string
	rows    [][]json.RawMessage
}

func (r *result) Columns() []string { return r.columns }

func (r *result) Next(context.Context) ([]json.RawMessage, error) {
	if len(r.rows) == 0 {
		return nil, io.EOF
	}
	row := r.rows[0]
	r.rows = r.rows[1:]
	return row, nil
}

func (r *result) Close() error { return nil }
