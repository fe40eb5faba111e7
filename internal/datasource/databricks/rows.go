package databricks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/matoolkit/matoolkit/internal/datasource"
)

// rows reads the chunks one after the other. A chunk that breaks off is fetched again
// and read on from where it was: what lies in the storage does not change. A chunk that
// is not what it should be is an error at once: then the rows before are in doubt too.
type rows struct {
	client *client
	ctx    context.Context // of the query
	stop   context.CancelFunc
	id     string
	first  result // the link to the first chunk came with the statement
	plan   plan

	chunk    int    // the one that is read
	offset   int64  // rows in the chunks before it
	read     int64  // rows of it that were given
	link     *link  // to it; nil: none that is any good
	body     *lines // nil: not fetched
	attempts int    // at this chunk that failed
	values   []json.RawMessage
	err      error // why there is no more; io.EOF: all were given
}

func newRows(ctx context.Context, c *client, st statement, p plan) datasource.Rows {
	r := &rows{client: c, id: st.ID, first: st.Result, plan: p, values: make([]json.RawMessage, len(p.columns))}
	r.ctx, r.stop = context.WithCancel(ctx)
	return r
}

// Columns are as the statement names them; two can have one name.
func (r *rows) Columns() []string {
	names := make([]string, len(r.plan.columns))
	for i, c := range r.plan.columns {
		names[i] = c.Name
	}
	return names
}

// Next gives a row. After an error it gives the same one again.
func (r *rows) Next(ctx context.Context) ([]json.RawMessage, error) {
	if r.err != nil {
		return nil, r.err
	}
	// The reading belongs to the context of the query; this context ends it too.
	release := context.AfterFunc(ctx, r.stop)
	defer release()
	values, err := r.next()
	if err != nil {
		if err != io.EOF && ctx.Err() != nil {
			err = fmt.Errorf("read the result: %w", ctx.Err())
		}
		r.finish(err)
		return nil, err
	}
	return values, nil
}

// Close drops the remaining rows. The statement in the workspace has ended already.
func (r *rows) Close() error {
	r.finish(errors.New("the rows are closed"))
	return nil
}

func (r *rows) finish(err error) {
	if r.err == nil {
		r.err = err
	}
	r.drop()
	r.stop()
}

func (r *rows) drop() {
	if r.body != nil {
		r.body.body.Close()
		r.body = nil
	}
}

func (r *rows) next() ([]json.RawMessage, error) {
	for r.chunk < len(r.plan.rows) {
		row, err := r.line()
		switch {
		case err == nil && row != nil:
			r.read++
			return r.convert(row)
		case err == nil:
			r.drop()
			r.offset += r.read
			r.chunk, r.read, r.link, r.attempts = r.chunk+1, 0, nil, 0
			continue
		}
		r.drop()
		r.attempts++
		var broken interruption
		if !errors.As(err, &broken) || r.attempts >= r.client.attempts || r.ctx.Err() != nil {
			return nil, r.inChunk(err)
		}
		if err := r.client.wait(r.ctx, r.client.backOff<<(r.attempts-1)); err != nil {
			return nil, r.inChunk(err)
		}
		if broken.link {
			r.link = nil
		}
	}
	return nil, io.EOF
}

func (r *rows) inChunk(err error) error {
	return fmt.Errorf("chunk %d of %d of the result: %w", r.chunk+1, len(r.plan.rows), err)
}

// line is the next row of the chunk, nil after the last.
func (r *rows) line() ([]*string, error) {
	if r.body == nil {
		if err := r.fetch(); err != nil {
			return nil, err
		}
	}
	if r.read == r.plan.rows[r.chunk] {
		return nil, r.body.end()
	}
	return r.body.next()
}

// fetch opens the chunk and passes over the rows of it that were given.
func (r *rows) fetch() (err error) {
	if r.link == nil {
		if err := r.findLink(); err != nil {
			return err
		}
	}
	if r.body, err = r.client.fetch(r.ctx, *r.link); err != nil {
		return err
	}
	for range r.read {
		if _, err := r.body.next(); err != nil {
			return err
		}
	}
	return nil
}

// findLink returns the link that came with the statement, or requests one. It
// requests as few as possible: the workspace may close a statement after the link of
// the last chunk.
func (r *rows) findLink() error {
	l, err := r.first.of(r.chunk)
	if err != nil || r.attempts > 0 {
		l, err = r.client.link(r.ctx, r.id, r.chunk)
	}
	if err == nil {
		err = l.check(r.offset, r.plan.rows[r.chunk])
	}
	if err != nil {
		return err
	}
	r.link = &l
	return nil
}

func (r *rows) convert(row []*string) ([]json.RawMessage, error) {
	number := r.offset + r.read // from 1
	if len(row) != len(r.plan.columns) {
		return nil, fmt.Errorf("row %d of the result has %d values and not %d", number, len(row), len(r.plan.columns))
	}
	for i, c := range r.plan.columns {
		if row[i] == nil {
			r.values[i] = json.RawMessage("null")
			continue
		}
		v, err := c.convert(*row[i])
		if err != nil {
			return nil, fmt.Errorf("row %d of the result, column %q of the type %s: %w", number, c.Name, c.kind(), err)
		}
		r.values[i] = v
	}
	return r.values, nil
}
