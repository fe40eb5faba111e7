package app_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/problem"
)

// A page of members is created in one write: publishing refuses a phase too large
// for it, so that it does not fail in the middle of a migration.
func TestPhaseThatCouldNotBeStoredIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	long := func(steps int) string {
		var b strings.Builder
		b.WriteString("name: long\ndata_source: {type: csv, primary_key: Upn}\nphases:\n  - name: only\n    offset: T-0\n    steps:\n")
		for i := range steps {
			fmt.Fprintf(&b, "      - {name: step-%d, worker_id: worker-01, function: F}\n", i)
		}
		return b.String()
	}
	_, err := w.app.PublishRunbook(w.ctx, audit.Caller{}, "", []byte(long(500)), api.PublishOptions{})
	var e *problem.Error
	if !errors.As(err, &e) || e.Code != api.CodeInvalid || len(e.Problems) != 1 || e.Problems[0].Field != "phases[0].steps" {
		t.Fatalf("%v", err)
	}
	b := w.createBatch(long(100), people(49))
	must(w.app.Advance(w.ctx, audit.Caller{}, b.ID, w.next(b.ID)))(t)
	w.due(b.ID, 1)
	if p := w.phases(b.ID)[0]; p.Running != 49 {
		t.Fatalf("%+v", p)
	}
}
