package database

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/matoolkit/matoolkit/internal/panics"
)

// decode makes the JSON of a value of one column that is not NULL.
type decode func(value any) (json.RawMessage, error)

// session is a connection with a query under way.
type session struct {
	rows    *sql.Rows
	columns []string
	decode  []decode // for each column
	// deaf: the driver does not stop stepping to the next row when the context ends.
	deaf bool
	// end frees what the query held, after rows was closed. Its error means that the end of
	// the result was not what it seemed.
	end func() error
}

// result is the rows of a session.
type result struct {
	session
	cancel context.CancelFunc // ends the query
	values []any
	json   []json.RawMessage
	number int   // of the row
	err    error // what Next gives from now on
	ended  bool
	// stuck is filled when a step returns that was not waited for.
	stuck  chan error
	failed error // the panic of a step
}

// read makes the rows of a session. cancel ends its query.
func read(s session, cancel context.CancelFunc) *result {
	r := &result{session: s, cancel: cancel, values: make([]any, len(s.columns)), json: make([]json.RawMessage, len(s.columns))}
	return r
}

// Columns are the names of the columns.
func (r *result) Columns() []string { return r.columns }

// Next gives the next row. io.EOF is the end of a result that is complete.
func (r *result) Next(ctx context.Context) ([]json.RawMessage, error) {
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

func (r *result) next(ctx context.Context) ([]json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, r.cancel)
	defer stop()
	if !r.step(ctx) {
		if r.stuck != nil {
			return nil, ctx.Err()
		}
		return nil, r.complete(ctx)
	}
	r.number++
	targets := make([]any, len(r.values))
	for i := range targets {
		targets[i] = &r.values[i]
	}
	if err := r.rows.Scan(targets...); err != nil {
		return nil, fmt.Errorf("row %d: %w", r.number, because(ctx, err))
	}
	for i, v := range r.values {
		var err error
		if v == nil {
			r.json[i] = json.RawMessage("null")
		} else if r.json[i], err = r.decode[i](v); err != nil {
			return nil, fmt.Errorf("row %d, column %q: %w", r.number, r.columns[i], err)
		}
	}
	return r.json, nil
}

// step goes to the next row, if there is one.
func (r *result) step(ctx context.Context) bool {
	if !r.deaf {
		return r.rows.Next()
	}
	stepped := make(chan error, 1)
	go func() {
		stepped <- panics.Catch(ctx, func() error {
			if r.rows.Next() {
				return nil
			}
			return io.EOF
		})
	}()
	select {
	case err := <-stepped:
		if err != nil && err != io.EOF {
			r.failed = err
		}
		return err == nil
	case <-ctx.Done():
		r.stuck = stepped
		return false
	}
}

// complete gives io.EOF if there are no further rows because all were read.
func (r *result) complete(ctx context.Context) error {
	if err := cmp.Or(r.failed, r.rows.Err()); err != nil {
		return fmt.Errorf("the result ended early, after %d rows: %w", r.number, because(ctx, err))
	}
	if r.rows.NextResultSet() {
		return errors.New("the query returns more than one result; use one statement")
	}
	r.ended = true
	if err := errors.Join(r.rows.Err(), r.rows.Close(), r.end()); err != nil {
		return fmt.Errorf("read the end of the result, after %d rows: %w", r.number, because(ctx, err))
	}
	return io.EOF
}

// Close ends the query, also where rows are left.
func (r *result) Close() error {
	if r.err == nil {
		r.err = errors.New("the result was closed before its end")
	}
	if r.ended {
		r.cancel()
		return nil
	}
	r.ended = true
	r.cancel()
	closeAll := func() {
		// Its error does not matter: this result already counts as incomplete.
		_ = r.rows.Close()
		_ = r.end()
	}
	if r.stuck != nil {
		go func() {
			_ = panics.Catch(context.Background(), func() error {
				defer closeAll()
				return <-r.stuck
			})
		}()
		return nil
	}
	closeAll()
	return nil
}

// because says that a context ended where that is why err came about: drivers say many
// things when they are cut short.
func because(ctx context.Context, err error) error {
	if ctx.Err() == nil || errors.Is(err, ctx.Err()) {
		return err
	}
	return fmt.Errorf("%w (%w)", ctx.Err(), err)
}
