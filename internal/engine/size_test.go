package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// fiveSteps is a runbook of one phase of five steps, of which each has the lines of more.
func fiveSteps(more string) string {
	var y strings.Builder
	y.WriteString(`
name: move
data_source: {type: csv, primary_key: Upn}

phases:
  - name: move
    offset: T-0
    steps:
`)
	for i := range 5 {
		fmt.Fprintf(&y, "      - {name: step-%d, worker_id: worker-01, function: No-Op, params: {Value: \"{{Name}}\"}%s}\n", i+1, more)
	}
	return y.String()
}

// TestSizeOfStoredRun keeps the size of a stored run in which three of five steps have succeeded:
// the run does not repeat what the version of its runbook says.
func TestSizeOfStoredRun(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		more string
		most int
	}{
		"plain steps":         {"", 1_117},
		"steps with policies": {", poll: {interval: 1m, timeout: 2h}, timeout: 10m, retry: {max_retries: 3, interval: 1m, backoff: exponential, max_interval: 10m, jitter: 20%}", 1_117},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := enterOf(t, read(t, fiveSteps(tt.more)), 1, `{"Name":"Person 1"}`)
			p.after(123 * time.Millisecond) // as exact as the applier's times
			p.on(model.RunStarted{})
			for range 3 {
				p.answer("true")
			}
			p.run.NoteStatuses()
			stored, err := json.Marshal(p.run)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d bytes", len(stored))
			if len(stored) > tt.most {
				t.Errorf("a stored run has %d bytes, want at most %d: %s", len(stored), tt.most, stored)
			}
		})
	}
}
