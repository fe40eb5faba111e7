package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// MaxOperations is how many operations one Commit takes.
const MaxOperations = 100

// Op is one operation of a Commit.
type Op struct {
	kind  opKind
	key   Key
	item  any
	etag  string
	patch []Change
}

// Key is the place of the item that the operation is on.
func (op Op) Key() Key { return op.key }

type opKind int

const (
	opCreate opKind = iota
	opReplace
	opUpsert
	opPatch
	opRead
	opDelete
)

// Change is one change of a Patch, at a JSON pointer below the item's doc.
type Change struct {
	path string
	by   int
	set  any
}

// Increment adds to a number.
func Increment(path string, by int) Change { return Change{path: path, by: by} }

// Set gives a field a value.
func Set(path string, value any) Change { return Change{path: path, set: value} }

// Create stores a new item. It fails with ErrExists where there is one.
func Create(k Key, doc any) Op { return Op{kind: opCreate, key: k, item: doc} }

// Replace stores the next version of an item that is still at the given ETag. It
// fails with ErrChanged where it is not, with ErrNotFound where there is none, and with
// ErrLater where the item has fields that it would lose.
func Replace(k Key, doc any, etag string) Op {
	return Op{kind: opReplace, key: k, item: doc, etag: etag}
}

// Upsert stores an item whatever was there.
func Upsert(k Key, doc any) Op { return Op{kind: opUpsert, key: k, item: doc} }

// Patch changes at most ten fields of an item: one that is still at the given
// ETag, or whatever its version where the ETag is empty. It fails as Replace does, but
// never with ErrLater: all other fields stay.
func Patch(k Key, etag string, changes ...Change) Op {
	return Op{kind: opPatch, key: k, etag: etag, patch: changes}
}

// Delete removes an item that is still at the given ETag. It fails as Patch does.
func Delete(k Key, etag string) Op { return Op{kind: opDelete, key: k, etag: etag} }

// Get reads an item within the same transaction, after the operations before it.
func Get(k Key) Op { return Op{kind: opRead, key: k} }

// Outcome is what a Commit gave for each operation.
type Outcome struct {
	bodies [][]byte // of use only for Get: the service sends others along with it
	etags  []string
}

// ETag is the version that the operation at place i of the Commit made.
func (o Outcome) ETag(i int) string { return o.etags[i] }

// Decode reads what the Get at place i of the Commit saw.
func Decode[T any](o Outcome, i int) (Item[T], error) {
	if i >= len(o.bodies) || len(o.bodies[i]) == 0 || string(o.bodies[i]) == "null" {
		return Item[T]{}, fmt.Errorf("store: operation %d answered no item", i)
	}
	return decode[T](o.bodies[i], "")
}

// Commit carries out all operations or none. All are of one partition.
//
// Errors: ErrExists, ErrChanged, ErrNotFound, ErrTooLarge, ErrLater as the operations say;
// ErrRefused and ErrFull, which a repetition does not change;
// ErrUnavailable where the outcome is not known: the operations may have been
// carried out, so the caller repeats its whole decision, which sees what is there.
func (s *Store) Commit(ctx context.Context, ops ...Op) (Outcome, error) {
	if len(ops) == 0 {
		return Outcome{}, errors.New("store: nothing to commit")
	}
	pk := ops[0].key.PK
	if slices.ContainsFunc(ops, func(o Op) bool { return o.key.PK != pk }) {
		return Outcome{}, errors.New("store: a commit must stay within one partition")
	}
	s.counts.writes.Add(1)
	outcome, err := s.commit(ctx, pk, ops)
	if errors.Is(err, ErrChanged) {
		s.counts.conflicts.Add(1)
	}
	return outcome, err
}

func (s *Store) commit(ctx context.Context, pk string, ops []Op) (Outcome, error) {
	if len(ops) == 1 {
		etag, err := s.single(ctx, pk, ops[0])
		return Outcome{etags: []string{etag}}, err
	}
	batch := s.container.NewTransactionalBatch(partition(pk))
	for _, op := range ops {
		if err := op.appendTo(&batch); err != nil {
			return Outcome{}, err
		}
	}
	response, err := s.container.ExecuteTransactionalBatch(ctx, batch, nil)
	if err != nil {
		return Outcome{}, fmt.Errorf("committing %d operations in %s: %w", len(ops), pk, classify(err))
	}
	if !response.Success {
		return Outcome{}, culprit(ops, response.OperationResults)
	}
	var outcome Outcome
	for _, r := range response.OperationResults {
		outcome.bodies = append(outcome.bodies, r.ResourceBody)
		outcome.etags = append(outcome.etags, string(r.ETag))
	}
	return outcome, nil
}

// culprit is the first operation that failed for a reason of its own.
func culprit(ops []Op, results []azcosmos.TransactionalBatchResult) error {
	for i, r := range results {
		if r.StatusCode != http.StatusFailedDependency && r.StatusCode >= 300 && i < len(ops) {
			return fmt.Errorf("operation %d on %s: %w", i, ops[i].key, statusError(r.StatusCode))
		}
	}
	return fmt.Errorf("%w: a batch failed without saying which operation did", ErrUnavailable)
}

func (s *Store) single(ctx context.Context, pk string, op Op) (etag string, err error) {
	body, err := op.body()
	if err != nil {
		return "", err
	}
	var response azcosmos.ItemResponse
	switch op.kind {
	case opCreate:
		response, err = s.container.CreateItem(ctx, partition(pk), body, nil)
	case opReplace:
		etag := service(op.etag)
		response, err = s.container.ReplaceItem(ctx, partition(pk), op.key.ID, body, &azcosmos.ItemOptions{IfMatchEtag: &etag})
	case opUpsert:
		response, err = s.container.UpsertItem(ctx, partition(pk), body, nil)
	case opPatch:
		options := &azcosmos.ItemOptions{}
		if op.etag != "" {
			etag := service(op.etag)
			options.IfMatchEtag = &etag
		}
		response, err = s.container.PatchItem(ctx, partition(pk), op.key.ID, op.changes(), options)
	case opDelete:
		etag := service(op.etag)
		response, err = s.container.DeleteItem(ctx, partition(pk), op.key.ID, &azcosmos.ItemOptions{IfMatchEtag: &etag})
	default:
		return "", errors.New("store: a read alone is not a commit")
	}
	if err != nil {
		return "", fmt.Errorf("writing %s: %w", op.key, classify(err))
	}
	return string(response.ETag), nil
}

func (op Op) appendTo(batch *azcosmos.TransactionalBatch) error {
	body, err := op.body()
	if err != nil {
		return err
	}
	switch op.kind {
	case opCreate:
		batch.CreateItem(body, nil)
	case opReplace:
		etag := service(op.etag)
		batch.ReplaceItem(op.key.ID, body, &azcosmos.TransactionalBatchItemOptions{IfMatchETag: &etag})
	case opUpsert:
		batch.UpsertItem(body, nil)
	case opPatch:
		options := &azcosmos.TransactionalBatchItemOptions{}
		if op.etag != "" {
			etag := service(op.etag)
			options.IfMatchETag = &etag
		}
		batch.PatchItem(op.key.ID, op.changes(), options)
	case opRead:
		batch.ReadItem(op.key.ID, nil)
	case opDelete:
		etag := service(op.etag)
		batch.DeleteItem(op.key.ID, &azcosmos.TransactionalBatchItemOptions{IfMatchETag: &etag})
	}
	return nil
}

func (op Op) body() ([]byte, error) {
	if op.kind == opDelete && op.etag == "" {
		return nil, fmt.Errorf("store: %s would be removed without an ETag", op.key)
	}
	if op.item == nil {
		return nil, nil
	}
	if op.kind == opReplace && op.etag == "" {
		return nil, fmt.Errorf("store: %s would be replaced without an ETag", op.key)
	}
	if told := strings.Split(op.etag, later); op.kind == opReplace && len(told) > 1 {
		return nil, fmt.Errorf("%s: %w: %s", op.key, ErrLater, told[1])
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false) // or "<" would take six bytes of the service's limit
	if err := encoder.Encode(Item[any]{ID: op.key.ID, PK: op.key.PK, Type: op.key.Type, Doc: op.item}); err != nil {
		return nil, fmt.Errorf("store: %s cannot be written as JSON: %w", op.key, err)
	}
	return body.Bytes(), nil
}

func (op Op) changes() azcosmos.PatchOperations {
	var p azcosmos.PatchOperations
	for _, c := range op.patch {
		if c.set != nil {
			p.AppendSet("/doc"+c.path, c.set)
			continue
		}
		p.AppendIncrement("/doc"+c.path, int64(c.by))
	}
	return p
}
