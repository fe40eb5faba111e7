package render_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

// A batch that completed without some of its members does not look like one that completed with all.
func TestBatchOfWhichMembersFailedIsCompletedWithFailures(t *testing.T) {
	t.Parallel()
	for want, b := range map[string]api.Batch{
		"completed":               {ID: 1, Status: api.BatchCompleted},
		"completed with failures": {ID: 1, Status: api.BatchCompleted, FailedCount: 1},
		"failed":                  {ID: 1, Status: api.BatchFailed, FailedCount: 1},
		"active":                  {ID: 1, Status: api.BatchActive, FailedCount: 1},
	} {
		if got := render.BatchStatus(b); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		var found bytes.Buffer
		p := render.Printer{Stdout: &found}
		if err := p.FoundTable(api.FoundMember{BatchStatus: b.Status, BatchFailed: b.FailedCount}).Print(); err != nil || !strings.Contains(found.String(), want) {
			t.Errorf("found in a batch that is %s: %s, %v", want, found.String(), err)
		}
		var out bytes.Buffer
		lines := render.NewLines(&out, true)
		lines.Show(render.Progress{At: time.Unix(0, 0), Batch: b})
		lines.Close()
		if !strings.Contains(out.String(), "batch 1 is "+want+"\n") {
			t.Errorf("lines %q, want %q", out.String(), want)
		}
	}
}

// The retries of a step that an administrator has repeated are more than those of one attempt.
func TestRetriesOfARepeatedStep(t *testing.T) {
	t.Parallel()
	for count, want := range map[int]string{
		3:  "3 of 5, the first after 2s",
		10: "10 in all, at most 5 in a row, the first after 2s",
	} {
		var out bytes.Buffer
		p := render.Printer{Stdout: &out, Stderr: &out}
		if err := p.PrintStep(1, api.Step{RetryCount: count, MaxRetries: 5, RetryInterval: 2}); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%d retries: %s, %v", count, out.String(), err)
		}
	}
}

// A step says from where its result is, in lists and by itself.
func TestStepFromTheCache(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	for want, c := range map[string]*api.CachedResult{
		"from the cache: done on " + render.Stamp(at) + " by batch 7, member 3": {BatchID: 7, MemberID: 3, At: &at},
		"from the cache: done on " + render.Stamp(at) + " by batch 7\n":         {BatchID: 7, At: &at},
		"waits for the same work of batch 7, member 3":                          {BatchID: 7, MemberID: 3},
	} {
		var out bytes.Buffer
		p := render.Printer{Stdout: &out, Stderr: &out}
		if err := p.PrintStep(1, api.Step{Cached: c}); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("want %q: %s, %v", want, out.String(), err)
		}
	}
}
