package dispatch_test

import (
	"context"
	"testing"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/dispatch"
)

// A function may know which job it runs for.
func TestFunctionsAreToldTheirJob(t *testing.T) {
	t.Parallel()
	b := start(t, &function{run: func(ctx context.Context, _ string, _ []byte) (any, error) {
		j := catalog.JobOf(ctx)
		return map[string]any{"ID": j.ID, "BatchID": j.BatchID, "Step": j.StepExecutionID, "Log": j.Log != nil}, nil
	}}, options{config: dispatch.Config{}})
	b.send(t, job(7))
	if got := b.result(t); string(got.Result) != `{"BatchID":42,"ID":"batch-42-step-7-attempt-1","Log":true,"Step":7}` {
		t.Fatalf("got %s %+v", got.Result, got.Error)
	}
}
