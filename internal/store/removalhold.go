package store

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/model"
)

// ReadRemovalHold reads the members of the removal hold of a batch; none, and no ETag, where nothing was
// ever held. The batch alone decides whether removals are held: a decision that ends the hold, such as
// another start, does not write this document, and the members of an ended hold are left out.
func ReadRemovalHold(ctx context.Context, s Documents, b *model.Batch) (Item[RemovalHoldMembers], error) {
	h, err := OrNone(Read[RemovalHoldMembers](ctx, s, HoldKey(b.ID)))
	if b.RemovalHold == nil {
		h.Doc.Members, h.Doc.Moves, h.Doc.By = nil, nil, nil
	}
	return h, err
}
