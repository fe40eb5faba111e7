package applier

import (
	"context"
	"errors"
	"fmt"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// ReadMember returns a member of a batch. Errors: model.NotFound.
func (a *Applier) ReadMember(ctx context.Context, batch, id int) (store.Item[model.Member], error) {
	m, err := store.Read[model.Member](ctx, a.store, store.MemberKey(batch, id))
	if errors.Is(err, store.ErrNotFound) {
		return m, fmt.Errorf("%w: %w", &model.NotFound{Batch: batch, Member: id}, err)
	}
	return m, err
}

// ReadBatch returns a batch. Errors: model.NotFound.
func (a *Applier) ReadBatch(ctx context.Context, id int) (store.Item[model.Batch], error) {
	b, err := store.Read[model.Batch](ctx, a.store, store.BatchKey(id))
	if errors.Is(err, store.ErrNotFound) {
		return b, fmt.Errorf("%w: %w", &model.NotFound{Batch: id}, err)
	}
	return b, err
}

// LoadBatchForMessage returns the batch that a message names. It rejects a message of a batch that
// does not exist.
func (a *Applier) LoadBatchForMessage(ctx context.Context, id int) (store.Item[model.Batch], error) {
	now := a.now()
	b, err := store.Read[model.Batch](ctx, a.store, store.BatchKey(id))
	if errors.Is(err, store.ErrNotFound) {
		return b, message.Reject("there is no batch %d", id)
	}
	if err != nil {
		return b, err
	}
	a.batches.noteMode(&b.Doc, now)
	return b, a.ensureRevoked(ctx, &b.Doc)
}
