package tds

import (
	"encoding/binary"
	"fmt"
)

// Column is one of a result.
type Column struct {
	Name string
	Type Type
	// NotNull columns of some types are sent as another type than those that can be
	// NULL.
	NotNull bool
}

// Result is the server's answer to a query. The zero value is a statement without
// rows.
type Result struct {
	Columns []Column
	// Rows hold a value for each column, of the Go type that the column's type names,
	// or nil for NULL.
	Rows [][]any
	// Plain rows are never compressed: every NULL stands where its value would.
	Plain bool
	// More are the result sets that follow.
	More []Result

	// Hold, if not nil, stops the answer after HoldAfter rows until the channel is
	// closed, the client cancels (Attention), or the server is closed.
	Hold      <-chan struct{}
	HoldAfter int
	// Cut ends the connection after CutAfter rows, in the middle of the next row where
	// there is one.
	Cut      bool
	CutAfter int
	// Error, if not nil, ends the result after the rows.
	Error *Error
	// EndsTransaction: the error makes the server roll the transaction back.
	EndsTransaction bool
}

// encoded is a result as bytes.
type encoded struct {
	Result
	head []byte
	rows [][]byte
	more []encoded
}

func (r Result) encode() (encoded, error) {
	e := encoded{Result: r}
	if len(r.Columns) > 0 {
		e.head = binary.LittleEndian.AppendUint16([]byte{tokenColMetadata}, uint16(len(r.Columns)))
	}
	for _, c := range r.Columns {
		if c.Type.value == nil {
			return e, fmt.Errorf("the column %s has no type", c.Name)
		}
		e.head = binary.LittleEndian.AppendUint32(e.head, 0) // user type
		flags := uint16(1)                                   // nullable
		if c.NotNull {
			flags = 0
		}
		e.head = binary.LittleEndian.AppendUint16(e.head, flags)
		e.head = append(append(e.head, c.Type.info(!c.NotNull)...), bVarChar(c.Name)...)
	}
	for i, row := range r.Rows {
		b, err := r.row(row)
		if err != nil {
			return e, fmt.Errorf("row %d: %w", i+1, err)
		}
		e.rows = append(e.rows, b)
	}
	for i, more := range r.More {
		m, err := more.encode()
		if err != nil {
			return e, fmt.Errorf("result set %d: %w", i+2, err)
		}
		e.more = append(e.more, m)
	}
	return e, nil
}

// row is ROW, or NBCROW where a value is NULL ([MS-TDS] 2.2.7.19, 2.2.7.14).
func (r Result) row(values []any) ([]byte, error) {
	if len(values) != len(r.Columns) {
		return nil, fmt.Errorf("%d values for %d columns", len(values), len(r.Columns))
	}
	nulls := make([]byte, (len(values)+7)/8)
	compressed := false
	for i, v := range values {
		if v == nil && !r.Plain {
			nulls[i/8] |= 1 << (i % 8)
			compressed = true
		}
	}
	b := []byte{tokenRow}
	if compressed {
		b = append([]byte{tokenNBCRow}, nulls...)
	}
	for i, v := range values {
		cell, err := r.Columns[i].Type.cell(v, !r.Columns[i].NotNull)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", r.Columns[i].Name, err)
		}
		if v == nil && compressed {
			continue
		}
		b = append(b, cell...)
	}
	return b, nil
}
