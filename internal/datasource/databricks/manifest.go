package databricks

import (
	"errors"
	"fmt"
)

// manifest describes the result. What completeness is judged by is a pointer: a number
// that is not there is not 0.
type manifest struct {
	Format string `json:"format"`
	Schema struct {
		Count   *int     `json:"column_count"`
		Columns []column `json:"columns"`
	} `json:"schema"`
	Rows      *int64  `json:"total_row_count"`
	Count     *int    `json:"total_chunk_count"`
	Chunks    []chunk `json:"chunks"` // left out where there are none
	Truncated bool    `json:"truncated"`
}

type column struct {
	Name     string `json:"name"`
	Type     string `json:"type_name"`
	Text     string `json:"type_text"` // as in SQL, with what belongs to the type
	Position *int   `json:"position"`

	convert conversion
}

type chunk struct {
	Index  *int   `json:"chunk_index"`
	Offset *int64 `json:"row_offset"` // rows before it
	Rows   *int64 `json:"row_count"`
}

// plan is a manifest that was checked: the columns, and how many rows each chunk has.
type plan struct {
	columns []column
	rows    []int64
}

// check refuses a result that is not whole, that contradicts itself or that cannot be
// converted.
func (m manifest) check() (plan, error) {
	switch {
	case m.Truncated:
		return plan{}, errors.New("it was truncated: the workspace limits the size of a result")
	case m.Format != "JSON_ARRAY":
		return plan{}, fmt.Errorf("its format is %q and not JSON_ARRAY", m.Format)
	case m.Rows == nil || m.Count == nil:
		return plan{}, errors.New("its number of rows or chunks is missing")
	case len(m.Chunks) != *m.Count:
		return plan{}, fmt.Errorf("it has %d chunks and describes %d of them", *m.Count, len(m.Chunks))
	}
	columns, err := m.columns()
	if err != nil {
		return plan{}, err
	}
	p := plan{columns: columns}
	var sum int64
	for i, c := range m.Chunks {
		if c.Index == nil || *c.Index != i || c.Offset == nil || *c.Offset != sum || c.Rows == nil || *c.Rows < 0 {
			return plan{}, fmt.Errorf("chunk %d of %d does not follow the previous one", i+1, len(m.Chunks))
		}
		p.rows = append(p.rows, *c.Rows)
		sum += *c.Rows
	}
	if sum != *m.Rows {
		return plan{}, fmt.Errorf("it has %d rows and its chunks have %d", *m.Rows, sum)
	}
	return p, nil
}

func (m manifest) columns() ([]column, error) {
	n := len(m.Schema.Columns)
	if n == 0 {
		return nil, errors.New("it has no columns: the statement is not a query")
	}
	if m.Schema.Count != nil && *m.Schema.Count != n {
		return nil, fmt.Errorf("it has %d columns and describes %d of them", *m.Schema.Count, n)
	}
	for i, c := range m.Schema.Columns {
		if c.Position == nil || *c.Position != i {
			return nil, fmt.Errorf("column %d of %d is not described in its place", i+1, n)
		}
		convert, err := c.conversion()
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", c.Name, err)
		}
		m.Schema.Columns[i].convert = convert
	}
	return m.Schema.Columns, nil
}
