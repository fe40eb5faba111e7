package cosmos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/group"
)

// Apply implements store.Documents. Applies of one partition that come at the same time share
// transactional batches.
func (s *Store) Apply(ctx context.Context, writes store.Writes) (store.Applied, error) {
	o := s.ApplyEach(ctx, []store.Writes{writes})[0]
	return o.Applied, o.Err
}

// ApplyEach implements store.Documents.
func (s *Store) ApplyEach(ctx context.Context, all []store.Writes) []store.Outcome {
	outcomes := make([]store.Outcome, len(all))
	var applies []*group.Apply
	var places []int // of the applies among all
	for i, writes := range all {
		if outcomes[i].Err = writes.Check(); outcomes[i].Err != nil {
			continue
		}
		s.counts.writes.Add(1)
		var a *group.Apply
		if a, outcomes[i].Err = encoded(writes); outcomes[i].Err == nil {
			applies, places = append(applies, a), append(places, i)
		}
	}
	for n, o := range s.commits.apply(ctx, applies...) {
		if errors.Is(o.Err, store.ErrChanged) {
			s.counts.conflicts.Add(1)
		}
		if errors.Is(o.Err, store.ErrTooLarge) { // the service does not say how large
			o.Err = fmt.Errorf("%w: %w", &store.SizeError{Bytes: applies[n].Bytes}, o.Err)
		}
		outcomes[places[n]] = o
	}
	return outcomes
}

// encodedBody is the content of a request for one operation, in place of the document.
type encodedBody []byte

// overhead is about how many bytes an operation has in a batch besides its body.
const overhead = 150

// encoded returns writes with their documents as JSON, which is made once, however often the writes
// are sent.
func encoded(writes store.Writes) (*group.Apply, error) {
	ready, bytes := make(store.Writes, len(writes)), 0
	for i, w := range writes {
		var size int
		var err error
		switch w.Op {
		case store.OpCreate, store.OpReplace, store.OpUpsert:
			var body []byte
			body, err = encode(w)
			w.Doc, size = encodedBody(body), len(body)
		case store.OpReplaceUnlessNewer:
			var body []byte
			body, err = encodeJSON(w.Key, w.Doc)
			w.Doc, size = encodedBody(body), len(body)
		case store.OpPatch:
			w.Changes, size, err = encodeChanges(w)
		case store.OpGet, store.OpDelete:
		default:
			err = fmt.Errorf("store: operation %d on %s is unknown", w.Op, w.Key)
		}
		if err != nil {
			return nil, err
		}
		ready[i], bytes = w, bytes+size+len(w.Key.ID)+overhead
	}
	return group.New(ready, bytes), nil
}

func encodeChanges(w store.Write) (changes []store.Change, bytes int, err error) {
	changes = slices.Clone(w.Changes)
	for i, c := range changes {
		if c.Set != nil {
			body, err := encodeJSON(w.Key, c.Set)
			if err != nil {
				return nil, 0, err
			}
			changes[i].Set, bytes = json.RawMessage(body), bytes+len(body)
		}
		bytes += len(c.Path) + overhead/2
	}
	return changes, bytes, nil
}

// transact carries out one write as a request of its own, and several as a transactional batch.
func (s *Store) transact(ctx context.Context, writes store.Writes) (store.Applied, error) {
	if len(writes) == 1 && writes[0].Op != store.OpGet {
		etag, err := s.single(ctx, writes[0])
		if err != nil {
			return nil, err
		}
		return store.Applied{{ETag: etag}}, nil
	}
	results, success, err := s.execute(ctx, writes)
	if err != nil {
		return nil, err
	}
	if !success {
		return nil, culprit(writes, results)
	}
	if len(results) != len(writes) {
		return nil, fmt.Errorf("%w: a transactional batch of %d operations has %d results", store.ErrUnavailable, len(writes), len(results))
	}
	applied := make(store.Applied, len(writes))
	for i, r := range results {
		applied[i].ETag = r.ETag
		if writes[i].Op == store.OpGet {
			if applied[i].Document, err = document(r.Document); err != nil {
				return nil, err
			}
		}
	}
	return applied, nil
}

// culprit returns the refusal of the first operation that failed for a reason of its own.
func culprit(writes store.Writes, results []batchResult) error {
	for i, r := range results {
		if r.Status != http.StatusFailedDependency && r.Status >= 300 && i < len(writes) {
			if newer(writes[i], r.Status) {
				return &group.Refusal{Operation: i, Err: store.ErrNewer}
			}
			return &group.Refusal{Operation: i, Err: statusError(r.Status)}
		}
	}
	return fmt.Errorf("%w: a transactional batch failed without naming the failed operation", store.ErrUnavailable)
}

func (s *Store) single(ctx context.Context, w store.Write) (etag string, err error) {
	pk := partition(w.Key.PK)
	body, _ := w.Doc.(encodedBody)
	var response azcosmos.ItemResponse
	switch w.Op {
	case store.OpCreate:
		response, err = s.container.CreateItem(ctx, pk, body, nil)
	case store.OpReplace:
		response, err = s.container.ReplaceItem(ctx, pk, w.Key.ID, body, &azcosmos.ItemOptions{IfMatchEtag: match(w)})
	case store.OpUpsert:
		response, err = s.container.UpsertItem(ctx, pk, body, nil)
	case store.OpReplaceUnlessNewer:
		response, err = s.container.PatchItem(ctx, pk, w.Key.ID, patchOf(w), nil)
	case store.OpPatch:
		response, err = s.container.PatchItem(ctx, pk, w.Key.ID, patchOf(w), &azcosmos.ItemOptions{IfMatchEtag: match(w)})
	case store.OpDelete:
		response, err = s.container.DeleteItem(ctx, pk, w.Key.ID, &azcosmos.ItemOptions{IfMatchEtag: match(w)})
	}
	if err != nil {
		var response *azcore.ResponseError
		if errors.As(err, &response) && newer(w, response.StatusCode) {
			return "", store.ErrNewer
		}
		return "", classify(err)
	}
	return string(response.ETag), nil
}

// match returns the ETag that the service compares; nil for any.
func match(w store.Write) *azcore.ETag {
	if w.Version.ETag == "" {
		return nil
	}
	etag := azcore.ETag(w.Version.ETag)
	return &etag
}

// patchOf returns the patch of a write. That of an OpReplaceUnlessNewer sets the whole document.
func patchOf(w store.Write) azcosmos.PatchOperations {
	var p azcosmos.PatchOperations
	if w.Op == store.OpReplaceUnlessNewer {
		body, _ := w.Doc.(encodedBody)
		p.SetCondition(fmt.Sprintf("FROM c WHERE NOT IS_DEFINED(c.doc.%[1]s) OR c.doc.%[1]s <= %[2]d", w.Field, w.Revision))
		p.AppendSet("/doc", json.RawMessage(body))
		return p
	}
	for _, c := range w.Changes {
		if c.Set != nil {
			p.AppendSet("/doc"+c.Path, c.Set)
			continue
		}
		p.AppendIncrement("/doc"+c.Path, int64(c.By))
	}
	return p
}

// newer reports whether a status means that an OpReplaceUnlessNewer found a higher revision: the
// condition of its patch does not hold.
func newer(w store.Write, code int) bool {
	return w.Op == store.OpReplaceUnlessNewer && code == http.StatusPreconditionFailed
}
