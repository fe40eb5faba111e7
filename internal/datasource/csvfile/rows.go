package csvfile

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/matoolkit/matoolkit/internal/datasource"
)

// rows is a datasource.Rows.
type rows struct {
	text    *text
	body    io.Closer
	bound   func() error // why the query has ended
	stop    func()
	whole   func() error
	columns []string
	values  []json.RawMessage
	err     error // what Next gives from now on
}

var errClosed = errors.New("the result was closed before its end")

func (r *rows) Columns() []string { return r.columns }

func (r *rows) Next(ctx context.Context) ([]json.RawMessage, error) {
	if r.err == nil {
		r.err = r.during(ctx, r.next)
	}
	if r.err != nil {
		return nil, r.err
	}
	return r.values, nil
}

func (r *rows) next() error {
	fields, err := r.text.row(len(r.columns))
	if err == io.EOF {
		if err := r.whole(); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	r.values = r.values[:0]
	for _, f := range fields {
		v, err := datasource.Value(f)
		if err != nil {
			return err
		}
		r.values = append(r.values, v)
	}
	return nil
}

// during runs read, and ends it when ctx does. An end of the file that is seen after
// that is not believed: the server may have ended its answer because the reader left.
func (r *rows) during(ctx context.Context, read func() error) error {
	if err := r.ended(ctx); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, r.stop)()
	err := read()
	if err != nil && r.ended(ctx) != nil {
		return r.ended(ctx)
	}
	return err
}

// ended returns the error of ctx or else of the query's context.
func (r *rows) ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return r.bound()
}

func (r *rows) Close() error {
	if r.err == nil {
		r.err = errClosed
	}
	r.stop()
	_ = r.body.Close() // nothing was written
	return nil
}
