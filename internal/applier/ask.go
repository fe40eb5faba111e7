package applier

import (
	"context"
	"slices"

	"github.com/matoolkit/matoolkit/internal/model"
)

// Ask reports whether an event would change nothing now. It fails with the refusal that the command of
// the event would get. It writes nothing.
func (a *Applier) Ask(ctx context.Context, batch int, e model.Event, prime func(*Snapshot)) (unchanged bool, err error) {
	c := On(e)
	c.Prime = prime
	ds, err := a.Preview(ctx, batch, c)
	return err == nil && !slices.ContainsFunc(ds, func(d model.Decision) bool { return !d.Empty() || len(d.Next) > 0 }), err
}
