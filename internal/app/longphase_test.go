package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/audit"
)

// TestLongestPhaseIsStored checks that a page of members, which is created in one write, can have the
// longest phase that a runbook can have.
func TestLongestPhaseIsStored(t *testing.T) {
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
	b := w.createBatch(long(500), people(49))
	must(w.app.Advance(w.ctx, audit.Caller{}, b.ID, w.next(b.ID)))(t)
	w.due(b.ID, 1)
	if p := w.phases(b.ID)[0]; p.Running != 49 {
		t.Fatalf("%+v", p)
	}
}
