package memory

import (
	"context"
	"fmt"

	"github.com/matoolkit/matoolkit/internal/store"
)

// Hook decides the outcome of an operation. The store calls it before the operation, from
// several goroutines at once; it may wait until the context ends.
type Hook func(ctx context.Context, op Operation) Fault

// Kind is the kind of an Operation.
type Kind string

// The kinds.
const (
	KindPing  Kind = "ping"
	KindRead  Kind = "read"
	KindQuery Kind = "query"
	KindWrite Kind = "write"
)

// Operation is one operation of a Store.
type Operation struct {
	Kind      Kind
	Name      string // the method of the contract: Apply, MembersOfPage, ...
	Partition string // empty for all partitions
	ID        string // of the document that a point read reads
	Writes    store.Writes
}

// String names the operation in a log or a trace.
func (o Operation) String() string {
	text := fmt.Sprintf("%s %s %s", o.Kind, o.Name, o.Partition)
	if o.ID != "" {
		text += "/" + o.ID
	}
	for _, w := range o.Writes {
		text += " " + w.Key.ID
	}
	return text
}

// Fault is the outcome of an operation. The zero value carries it out.
type Fault struct {
	Before error // the operation fails with it and is not carried out
	After  error // the operation is carried out, and if it succeeds, fails with it: its answer is lost
	// Retry repeats an operation that fails with Before or After, with another call of the
	// hook, as the SDK of the service does: a write whose answer was lost can come to
	// ErrExists or ErrChanged by itself.
	Retry bool
	// Then is called when the operation has been carried out, also if the store refused it, and
	// before the caller has the answer. It may wait. Nil does nothing.
	Then func()
}

// The faults that a caller has to survive.
var (
	Unavailable = Fault{Before: fmt.Errorf("%w: a fault of the test", store.ErrUnavailable)}
	AnswerLost  = Fault{After: fmt.Errorf("%w: the answer was lost by the test", store.ErrUnavailable)}
	Conflict    = Fault{Before: fmt.Errorf("%w: a fault of the test", store.ErrChanged)}
)
