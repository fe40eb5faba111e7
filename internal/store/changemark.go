package store

import (
	"context"
	"time"
)

// ChangeMarks is the read by which a caller follows a batch without reading it again.
type ChangeMarks interface {
	// ChangeMark returns a text that is another one after each write in the partition of a batch:
	// of the batch, its members, runs, counters or audit records. It does not cost a write. It is
	// empty if the partition has no documents, or if so many were written in the second before now
	// that the driver cannot tell whether another one followed.
	//
	// One query, which costs about 4 RU, however large the batch is. It fails with ErrUnavailable.
	ChangeMark(ctx context.Context, batch int, now time.Time) (string, error)
}
