package cosmos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/matoolkit/matoolkit/internal/store"
)

// Apply implements store.Documents: one write is a request of its own, several are a
// transactional batch.
func (s *Store) Apply(ctx context.Context, writes store.Writes) (store.Applied, error) {
	if err := writes.Check(); err != nil {
		return nil, err
	}
	s.counts.writes.Add(1)
	applied, err := s.apply(ctx, writes)
	if errors.Is(err, store.ErrChanged) {
		s.counts.conflicts.Add(1)
	}
	return applied, err
}

func (s *Store) apply(ctx context.Context, writes store.Writes) (store.Applied, error) {
	if len(writes) == 1 {
		etag, err := s.single(ctx, writes[0])
		return store.Applied{{ETag: etag}}, err
	}
	pk := writes[0].Key.PK
	batch := s.container.NewTransactionalBatch(partition(pk))
	for _, w := range writes {
		if err := appendTo(&batch, w); err != nil {
			return nil, err
		}
	}
	response, err := s.container.ExecuteTransactionalBatch(ctx, batch, nil)
	if err != nil {
		return nil, fmt.Errorf("applying %d writes in %s: %w", len(writes), pk, classify(err))
	}
	if !response.Success {
		return nil, culprit(writes, response.OperationResults)
	}
	applied := make(store.Applied, len(writes))
	for i, r := range response.OperationResults {
		applied[i].ETag = string(r.ETag)
		if i < len(writes) && writes[i].Op == store.OpGet {
			if applied[i].Document, err = document(r.ResourceBody); err != nil {
				return nil, err
			}
		}
	}
	return applied, nil
}

// culprit returns the error of the first operation that failed for a reason of its own.
func culprit(writes store.Writes, results []azcosmos.TransactionalBatchResult) error {
	for i, r := range results {
		if r.StatusCode != http.StatusFailedDependency && r.StatusCode >= 300 && i < len(writes) {
			if newer(writes[i], int(r.StatusCode)) {
				return fmt.Errorf("operation %d on %s: %w", i, writes[i].Key, store.ErrNewer)
			}
			return fmt.Errorf("operation %d on %s: %w", i, writes[i].Key, statusError(r.StatusCode))
		}
	}
	return fmt.Errorf("%w: a transactional batch failed without naming the failed operation", store.ErrUnavailable)
}

func (s *Store) single(ctx context.Context, w store.Write) (etag string, err error) {
	pk := partition(w.Key.PK)
	var body []byte
	if w.Op == store.OpCreate || w.Op == store.OpReplace || w.Op == store.OpUpsert {
		if body, err = encode(w); err != nil {
			return "", err
		}
	}
	var response azcosmos.ItemResponse
	switch w.Op {
	case store.OpCreate:
		response, err = s.container.CreateItem(ctx, pk, body, nil)
	case store.OpReplace:
		response, err = s.container.ReplaceItem(ctx, pk, w.Key.ID, body, &azcosmos.ItemOptions{IfMatchEtag: match(w)})
	case store.OpUpsert:
		response, err = s.container.UpsertItem(ctx, pk, body, nil)
	case store.OpReplaceUnlessNewer:
		var changes azcosmos.PatchOperations
		if changes, err = unlessNewer(w); err != nil {
			return "", err
		}
		response, err = s.container.PatchItem(ctx, pk, w.Key.ID, changes, nil)
	case store.OpPatch:
		response, err = s.container.PatchItem(ctx, pk, w.Key.ID, changes(w), &azcosmos.ItemOptions{IfMatchEtag: match(w)})
	case store.OpDelete:
		response, err = s.container.DeleteItem(ctx, pk, w.Key.ID, &azcosmos.ItemOptions{IfMatchEtag: match(w)})
	default:
		return "", fmt.Errorf("store: operation %d on %s is unknown", w.Op, w.Key)
	}
	if err != nil {
		var response *azcore.ResponseError
		if errors.As(err, &response) && newer(w, response.StatusCode) {
			return "", fmt.Errorf("writing %s: %w", w.Key, store.ErrNewer)
		}
		return "", fmt.Errorf("writing %s: %w", w.Key, classify(err))
	}
	return string(response.ETag), nil
}

func appendTo(batch *azcosmos.TransactionalBatch, w store.Write) error {
	switch w.Op {
	case store.OpCreate, store.OpReplace, store.OpUpsert:
		body, err := encode(w)
		if err != nil {
			return err
		}
		switch w.Op {
		case store.OpCreate:
			batch.CreateItem(body, nil)
		case store.OpReplace:
			batch.ReplaceItem(w.Key.ID, body, &azcosmos.TransactionalBatchItemOptions{IfMatchETag: match(w)})
		default:
			batch.UpsertItem(body, nil)
		}
	case store.OpReplaceUnlessNewer:
		changes, err := unlessNewer(w)
		if err != nil {
			return err
		}
		batch.PatchItem(w.Key.ID, changes, nil)
	case store.OpPatch:
		batch.PatchItem(w.Key.ID, changes(w), &azcosmos.TransactionalBatchItemOptions{IfMatchETag: match(w)})
	case store.OpGet:
		batch.ReadItem(w.Key.ID, nil)
	case store.OpDelete:
		batch.DeleteItem(w.Key.ID, &azcosmos.TransactionalBatchItemOptions{IfMatchETag: match(w)})
	default:
		return fmt.Errorf("store: operation %d on %s is unknown", w.Op, w.Key)
	}
	return nil
}

// match returns the ETag that the service compares; nil for any.
func match(w store.Write) *azcore.ETag {
	if w.Version.ETag == "" {
		return nil
	}
	etag := azcore.ETag(w.Version.ETag)
	return &etag
}

func changes(w store.Write) azcosmos.PatchOperations {
	var p azcosmos.PatchOperations
	for _, c := range w.Changes {
		if c.Set != nil {
			p.AppendSet("/doc"+c.Path, c.Set)
			continue
		}
		p.AppendIncrement("/doc"+c.Path, int64(c.By))
	}
	return p
}

// unlessNewer returns the patch of an OpReplaceUnlessNewer: it sets the whole document.
func unlessNewer(w store.Write) (azcosmos.PatchOperations, error) {
	var p azcosmos.PatchOperations
	doc, err := store.Encode(w.Doc)
	if err != nil {
		return p, fmt.Errorf("store: %s cannot be written as JSON: %w", w.Key, err)
	}
	p.SetCondition(fmt.Sprintf("FROM c WHERE NOT IS_DEFINED(c.doc.%[1]s) OR c.doc.%[1]s <= %[2]d", w.Field, w.Revision))
	p.AppendSet("/doc", json.RawMessage(doc))
	return p, nil
}

// newer reports whether a status means that an OpReplaceUnlessNewer found a higher revision: the
// condition of its patch does not hold.
func newer(w store.Write, code int) bool {
	return w.Op == store.OpReplaceUnlessNewer && code == http.StatusPreconditionFailed
}
