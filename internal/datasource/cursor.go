package datasource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Cursor is a [Rows] that keeps the rules of all sources: an error and the end stay, the context of a call ends the query,
// and a result that was closed early is not complete.
type Cursor struct {
	columns []string
	next    func(context.Context) ([]json.RawMessage, error)
	cancel  context.CancelFunc
	end     func(complete bool)
	err     error // what Next returns from now on
	ended   bool
}

// NewCursor makes the Rows of a query that is under way. next returns the values of the next row, or io.EOF if all rows were
// read. cancel ends the query. end is called once, after cancel unless the result is complete, and frees what the query held.
func NewCursor(columns []string, next func(context.Context) ([]json.RawMessage, error), cancel context.CancelFunc, end func(complete bool)) *Cursor {
	return &Cursor{columns: columns, next: next, cancel: cancel, end: end}
}

// Columns are the names of the columns.
func (c *Cursor) Columns() []string { return c.columns }

// Next returns the next row. io.EOF is the end of a result that is complete.
func (c *Cursor) Next(ctx context.Context) ([]json.RawMessage, error) {
	if c.err != nil {
		return nil, c.err
	}
	row, err := c.read(ctx)
	if err == nil {
		return row, nil
	}
	c.err = err
	if err == io.EOF { // itself
		c.ended = true
		c.end(true)
	}
	_ = c.Close()
	return nil, err
}

func (c *Cursor) read(ctx context.Context) ([]json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, c.cancel)()
	return c.next(ctx)
}

// Close ends the query, also where rows are left.
func (c *Cursor) Close() error {
	if c.err == nil {
		c.err = errors.New("the result was closed before its end")
	}
	c.cancel()
	if !c.ended {
		c.ended = true
		c.end(false)
	}
	return nil
}

// Decode makes the JSON of a value of one column that is not NULL.
type Decode[V any] func(V) (json.RawMessage, error)

// DecodeRow writes the JSON of the values of a row to row, as many as it has. value returns a value, and whether it is NULL.
// number, from 1, and columns are for errors.
func DecodeRow[V any](row []json.RawMessage, number int, columns []string, decode []Decode[V], value func(i int) (v V, null bool)) error {
	for i := range row {
		v, null := value(i)
		if null {
			row[i] = json.RawMessage("null")
			continue
		}
		var err error
		if row[i], err = decode[i](v); err != nil {
			return fmt.Errorf("row %d, column %q: %w", number, columns[i], err)
		}
	}
	return nil
}
