package datasync

import (
	"errors"
	"fmt"
	"testing"

	"github.com/matoolkit/matoolkit/internal/schedule"
	"github.com/matoolkit/matoolkit/internal/store"
)

// TestPublicMessage checks that administrators read errors of their data as they are, and no detail of
// internal errors.
func TestPublicMessage(t *testing.T) {
	t.Parallel()
	columns := &schedule.ColumnsError{Faults: []string{"the result has no column Upn"}}
	internal := errors.New("index out of range")
	for _, tt := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("query: %w", columns), "the result has no column Upn"},
		{errors.Join(&subjectError{"batch 4", internal}, &subjectError{"batch 5", columns}), "batch 4: " + publicMessage(internal) + "; batch 5: the result has no column Upn"},
		{fmt.Errorf("%w: %w", errOutOfTime, store.ErrUnavailable), errOutOfTime.Error()},
		{errInactive, "no version of the runbook is active"},
	} {
		if got := publicMessage(tt.err); got != tt.want {
			t.Errorf("%v: got %q, want %q", tt.err, got, tt.want)
		}
	}
	if text := publicMessage(internal); text == internal.Error() {
		t.Errorf("an internal error is shown: %q", text)
	}
}
