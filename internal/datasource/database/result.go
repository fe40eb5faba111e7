package database

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/panics"
)

// decode makes the JSON of a value.
type decode = datasource.Decode[any]

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
	values []any
	json   []json.RawMessage
	number int // of the row
	ended  bool
	// stuck is filled when a step returns that was not waited for.
	stuck  chan error
	failed error // the panic of a step
}

// read makes the rows of a session. cancel ends its query.
func read(s session, cancel context.CancelFunc) datasource.Rows {
	r := &result{session: s, values: make([]any, len(s.columns)), json: make([]json.RawMessage, len(s.columns))}
	return datasource.NewCursor(s.columns, r.next, cancel, r.finish)
}

func (r *result) next(ctx context.Context) ([]json.RawMessage, error) {
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
	err := datasource.DecodeRow(r.json, r.number, r.columns, r.decode, func(i int) (any, bool) { return r.values[i], r.values[i] == nil })
	return r.json, err
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

// complete returns io.EOF if there are no further rows because all were read, and ends the query.
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

// finish ends a query that is cut short.
func (r *result) finish(bool) {
	if r.ended {
		return
	}
	r.ended = true
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
		return
	}
	closeAll()
}

// because says that a context ended where that is why err came about: drivers say many
// things when they are cut short.
func because(ctx context.Context, err error) error {
	if ctx.Err() == nil || errors.Is(err, ctx.Err()) {
		return err
	}
	return fmt.Errorf("%w (%w)", ctx.Err(), err)
}
