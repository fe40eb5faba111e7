// Package store is the contract of the state of batches and runbooks: versioned JSON documents
// in partitions. It offers what a decision needs and no more: point reads, named reads with
// plain parameters, and one atomic write of documents of one partition, guarded by ETags.
//
// Three drivers implement it: store/cosmos keeps the documents in Azure Cosmos DB, store/postgres in
// PostgreSQL, and store/memory in the memory of this process, for tests and simulations. Package
// storetest holds the suite that all pass. The files of this package define the documents' keys (items.go), their
// content, and the reads; each read states its order, its paging and its cost in request
// units (RU).
//
// A store reads its own writes across processes. In Cosmos DB the account therefore has the
// default consistency Strong or Bounded Staleness: with Session a read may be older than the
// message that asked for it.
package store

import (
	"context"
	"errors"
	"fmt"
)

// Errors that callers tell apart with errors.Is.
var (
	ErrNotFound = errors.New("store: no such item")
	ErrExists   = errors.New("store: the item exists already")
	ErrChanged  = errors.New("store: another write changed the item")
	// ErrNewer is returned for a ReplaceUnlessNewer if the stored item is newer.
	ErrNewer    = errors.New("store: a newer revision of the item is stored")
	ErrTooLarge = errors.New("store: the item or the batch is too large")
	// ErrRefused is returned for a document that the service takes for malformed, such as one
	// that nests too deep. To repeat the write does not help.
	ErrRefused = errors.New("store: the service refuses the request")
	// ErrFull is returned for a write to a partition that has no room left. The service takes
	// 20 GB in one.
	ErrFull = errors.New("store: the partition is full")
	// ErrContinuation is returned for a list with a continuation that is not one of this list.
	ErrContinuation = errors.New("store: the continuation does not belong to this query")
	ErrUnavailable  = errors.New("store: the store cannot be reached, is overloaded or denies access")
	// ErrLater is returned for a Replace of a document that has more fields than were read.
	ErrLater = errors.New("store: the item was written by a later version of this program and has fields that this version does not know")
)

// SizeError is an ErrTooLarge with the size of the document, or of the documents of one Apply.
type SizeError struct{ Bytes int }

func (e *SizeError) Error() string {
	return fmt.Sprintf("%v: %d bytes; at most %d are allowed in one document, and in one transaction", ErrTooLarge, e.Bytes, MaxBytes)
}

// Is makes the error an ErrTooLarge for errors.Is.
func (e *SizeError) Is(target error) bool { return target == ErrTooLarge }

// Store is a store of documents. It is safe for concurrent use.
type Store interface {
	Documents
	Batches
	Members
	Runs
	Shards
	ChangeMarks
	Cache
	Records
	Runbooks
	Workers
	Audit
	Messages
	Notifications

	// Ping reports whether the store answers.
	Ping(ctx context.Context) error

	// Counts returns the operations since the store was opened.
	Counts() Counts
}

// Documents reads and writes documents by their keys.
type Documents interface {
	// ReadDocument is a point read. It costs 1 RU for each KB. It fails with ErrNotFound and
	// ErrUnavailable. Read decodes the document.
	ReadDocument(ctx context.Context, k Key) (Document, error)

	// Apply carries out all writes or none. All are of one partition, and there are at most
	// MaxOperations of them with at most MaxBytes together. It costs about 6 RU for each KB and
	// 0.2 RU for each indexed field that is written.
	//
	// A driver may carry out concurrent Applies of one partition together. Each has the result, the
	// error and the effect that it has if they happen one after the other, in the order in which
	// those to one item came. An ETag that it returns may be that of a version which a later one
	// has replaced; a write that is guarded by it fails with ErrChanged.
	//
	// If ctx ends before the writes were sent, none is carried out.
	//
	// It fails with ErrExists, ErrChanged, ErrNewer, ErrNotFound, ErrTooLarge and ErrLater as the writes
	// say; with ErrRefused and ErrFull, which a repetition does not change; and with
	// ErrUnavailable if the outcome is not known: the writes may have been carried out, so that
	// the caller repeats its whole decision, which reads the state again.
	Apply(ctx context.Context, writes Writes) (Applied, error)

	// ApplyEach is an Apply of each of several writes of one partition, which come at the same time
	// and in this order. A driver that carries out Applies together so carries out these without a
	// goroutine for each.
	ApplyEach(ctx context.Context, all []Writes) []Outcome
}

// Counts are the operations of a Store since it was opened. One Apply is one write, also if the
// driver carries out several together.
type Counts struct {
	Reads     int64 `json:"reads"`
	Queries   int64 `json:"queries"`
	Writes    int64 `json:"writes"`
	Conflicts int64 `json:"conflicts"`
}

// OrNone turns ErrNotFound into an item without an ETag.
func OrNone[T any](item Item[T], err error) (Item[T], error) {
	if errors.Is(err, ErrNotFound) {
		return Item[T]{}, nil
	}
	return item, err
}
