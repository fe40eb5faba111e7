package dispatch_test

import (
	"context"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/dispatch"
)

// A function may know which job it runs for.
func TestFunctionsLearnTheirJob(t *testing.T) {
	t.Parallel()
	b := start(t, &function{run: func(ctx context.Context, _ string, _ []byte) (any, error) {
		j := catalog.JobOf(ctx)
		return map[string]any{"ID": j.ID, "BatchID": j.BatchID, "Step": j.StepExecutionID, "Log": j.Log != nil, "EffectID": j.EffectID}, nil
	}}, options{config: dispatch.Config{}})
	first, retry, older := job(7), job(7), job(8)
	first.EffectID, retry.EffectID, retry.JobID = "42/7/1", "42/7/1", "step-7-attempt-2"
	for _, tc := range []struct {
		job  message.Job
		want string
	}{
		{first, `{"BatchID":42,"EffectID":"42/7/1","ID":"batch-42-step-7-attempt-1","Log":true,"Step":7}`},
		{retry, `{"BatchID":42,"EffectID":"42/7/1","ID":"batch-42-step-7-attempt-2","Log":true,"Step":7}`},
		// Of an orchestrator that knows no effect ids.
		{older, `{"BatchID":42,"EffectID":"batch-42-step-8-attempt-1","ID":"batch-42-step-8-attempt-1","Log":true,"Step":8}`},
	} {
		b.send(t, tc.job)
		if got := b.result(t); string(got.Result) != tc.want {
			t.Errorf("got %s %+v, want %s", got.Result, got.Error, tc.want)
		}
	}
}

// A job that another worker gave back is known as one that may have been begun.
func TestFunctionsLearnThatTheirJobComesAgain(t *testing.T) {
	t.Parallel()
	first := until(nil)
	b := start(t, first, options{config: dispatch.Config{ShutdownGrace: 50 * time.Millisecond}})
	b.send(t, job(1))
	awaitStart(t, first)
	b.stop()
	await(t, "the worker stops", b.stopped)

	told := make(chan catalog.Job, 1)
	second := &function{run: func(ctx context.Context, _ string, _ []byte) (any, error) {
		told <- catalog.JobOf(ctx)
		return true, nil
	}}
	work(t, dial(t, b.server.ConnectionString()), second, dispatch.Config{})
	b.result(t)
	if got := <-told; !got.Redelivered || got.Enqueued.IsZero() || time.Since(got.Enqueued) > time.Hour {
		t.Errorf("got %+v", got)
	}
}
