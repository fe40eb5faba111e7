package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// rows is a result that is being read.
type rows struct {
	conn      *pgconn.PgConn
	reader    *pgconn.ResultReader
	cancel    context.CancelFunc // ends the query
	statement string
	columns   []string
	decode    []decode // for each column
	json      []json.RawMessage
	number    int   // of the row
	err       error // what Next gives from now on
	ended     bool
}

// Columns are the names of the columns.
func (r *rows) Columns() []string { return r.columns }

// Next gives the next row. io.EOF is the end of a result that is complete.
func (r *rows) Next(ctx context.Context) ([]json.RawMessage, error) {
	if r.err != nil {
		return nil, r.err
	}
	row, err := r.next(ctx)
	if err != nil {
		r.err = err
		_ = r.Close()
		return nil, err
	}
	return row, nil
}

func (r *rows) next(ctx context.Context) ([]json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, r.cancel)()
	if !r.reader.NextRow() {
		return nil, r.complete(ctx)
	}
	r.number++
	values := r.reader.Values()
	if len(values) != len(r.decode) {
		return nil, fmt.Errorf("row %d has %d values for %d columns", r.number, len(values), len(r.decode))
	}
	for i, v := range values {
		var err error
		if v == nil {
			r.json[i] = json.RawMessage("null")
		} else if r.json[i], err = r.decode[i](string(v)); err != nil {
			return nil, fmt.Errorf("row %d, column %q: %w", r.number, r.columns[i], err)
		}
	}
	return r.json, nil
}

// complete gives io.EOF if there are no further rows because all were read: the server
// says so at the end, and that it is ready for the next query.
func (r *rows) complete(ctx context.Context) error {
	_, err := r.reader.Close()
	if long := new(pgproto3.ExceededMaxBodyLenErr); errors.As(err, &long) {
		return fmt.Errorf("row %d of the result is longer than %d bytes; remove columns that the runbook does not use", r.number+1, maxRow)
	}
	if err != nil {
		return failed(ctx, fmt.Sprintf("the result ended early, after %d rows", r.number), err, r.statement)
	}
	r.ended = true
	end(r.conn)
	return io.EOF
}

// Close ends the query, also where rows are left.
func (r *rows) Close() error {
	if r.err == nil {
		r.err = errors.New("the result was closed before its end")
	}
	r.cancel()
	if r.ended {
		return nil
	}
	r.ended = true
	// Its error does not matter: this result already counts as incomplete. The driver has
	// the server cancel a query that runs.
	_, _ = r.reader.Close()
	hangUp(r.conn)
	return nil
}
