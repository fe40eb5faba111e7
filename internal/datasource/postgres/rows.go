package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/matoolkit/matoolkit/internal/datasource"
)

// rows is a result that is being read.
type rows struct {
	conn      *pgconn.PgConn
	reader    *pgconn.ResultReader
	statement string
	columns   []string
	decode    []decode // for each column
	json      []json.RawMessage
	number    int // of the row
}

func (r *rows) next(ctx context.Context) ([]json.RawMessage, error) {
	if !r.reader.NextRow() {
		return nil, r.complete(ctx)
	}
	r.number++
	values := r.reader.Values()
	if len(values) != len(r.decode) {
		return nil, fmt.Errorf("row %d has %d values for %d columns", r.number, len(values), len(r.decode))
	}
	err := datasource.DecodeRow(r.json, r.number, r.columns, r.decode, func(i int) (string, bool) { return string(values[i]), values[i] == nil })
	return r.json, err
}

// complete returns io.EOF if there are no further rows because all were read: the server
// says so at the end, and that it is ready for the next query.
func (r *rows) complete(ctx context.Context) error {
	_, err := r.reader.Close()
	if long := new(pgproto3.ExceededMaxBodyLenErr); errors.As(err, &long) {
		return fmt.Errorf("row %d of the result is longer than %d bytes; remove columns that the runbook does not use", r.number+1, maxRow)
	}
	if err != nil {
		return failed(ctx, fmt.Sprintf("the result ended early, after %d rows", r.number), err, r.statement)
	}
	return io.EOF
}

// end ends the query. Of one that is cut short the error does not matter: the result already counts as incomplete. The
// driver has the server cancel a query that runs.
func (r *rows) end(complete bool) {
	if complete {
		end(r.conn)
		return
	}
	_, _ = r.reader.Close()
	hangUp(r.conn)
}
