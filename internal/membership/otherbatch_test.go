package membership_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/problem"
)

// TestRefuseInOtherBatch checks that a refusal names the first people in the order of the file, and
// lists at most 100.
func TestRefuseInOtherBatch(t *testing.T) {
	t.Parallel()
	if err := membership.RefuseInOtherBatch(nil, 5, "added", nil, true); err != nil {
		t.Fatal(err)
	}
	var taken []membership.InOtherBatch
	lines := map[string]int{}
	for i := 110; i > 0; i-- {
		key := fmt.Sprintf("p%03d@x", i)
		taken = append(taken, membership.InOtherBatch{Key: key, Reason: "batch 7 of runbook flat"})
		lines[key] = i + 1
	}
	var e *problem.Error
	if err := membership.RefuseInOtherBatch(taken, 200, "added", lines, true); !errors.As(err, &e) || e.Code != api.CodeConflict {
		t.Fatal(err)
	}
	const first = "110 of 200 people cannot be added: p001@x is in batch 7 of runbook flat; p002@x is in batch 7 of runbook flat; p003@x is in batch 7 of runbook flat; and 107 more."
	if !strings.HasPrefix(e.Message, first) || !strings.Contains(e.Message, "--allow-in-other-batches") {
		t.Error(e.Message)
	}
	if n := len(e.Problems); n != 101 || e.Problems[0].Line != 2 || e.Problems[100].Message != "10 more people are in other batches" {
		t.Errorf("%d problems, from %+v to %+v", n, e.Problems[0], e.Problems[n-1])
	}
	err := membership.RefuseInOtherBatch(taken[:1], 1, "retried", nil, false)
	if got, want := err.Error(), "1 of 1 person cannot be retried: p110@x is in batch 7 of runbook flat. Remove them there, or leave them out"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
