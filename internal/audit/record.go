package audit

import (
	"slices"
	"unicode/utf8"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Record returns the operation that stores a record, with an id of its own. It belongs into the same
// write as the change that it records. The caller fills in At and By.
func (l *Log) Record(r store.AuditRecord) store.Write {
	if !slices.Contains(api.AuditActions, r.Action) {
		panic("no audit action: " + r.Action) // only a constant of this package can be it
	}
	r.At = r.At.UTC()
	return store.Create(store.AuditKey(r.Partition(), store.SortableTime(r.At)+"-"+l.newID()), r)
}

// CheckReason refuses a reason that is too long. It may be empty. Errors: CodeInvalid.
func CheckReason(why string) error {
	if n := utf8.RuneCountInString(why); n > api.MaxReason {
		return problem.New(api.CodeInvalid, "the reason has %d characters; at most %d are allowed", n, api.MaxReason)
	}
	return nil
}
