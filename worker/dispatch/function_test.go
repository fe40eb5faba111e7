package dispatch_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/testenv"
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

// A job that is sent again as another message, by hand or because the first was lost, is as old as it was: what was
// changed in the tenant between the two was changed after the job.
func TestAJobThatIsSentAgainIsAsOldAsItWas(t *testing.T) {
	t.Parallel()
	first := time.Now().Add(-time.Hour).UTC().Truncate(time.Second)
	for again, want := range map[bool]func(time.Time) bool{true: first.Equal, false: func(at time.Time) bool { return time.Since(at) < 10*time.Minute }} {
		told := make(chan catalog.Job, 1)
		b := start(t, &function{run: func(ctx context.Context, _ string, _ []byte) (any, error) {
			told <- catalog.JobOf(ctx)
			return true, nil
		}}, options{})
		j := dispatched(1, 1, 1, first)[0]
		b.sendWith(t, string(testenv.Must(json.Marshal(j))(t)), map[string]any{message.PropertyRedelivered: again})
		b.result(t)
		if got := <-told; got.Redelivered != again || !want(got.Enqueued) {
			t.Errorf("sent again: %t; redelivered: %t, sent at %v", again, got.Redelivered, got.Enqueued)
		}
	}
}

// The type of an error is a word or two. A text that a function puts there fits into a message all the same, and shows
// no secret.
func TestTheTypeOfAnErrorIsBounded(t *testing.T) {
	t.Parallel()
	b := start(t, &function{run: func(context.Context, string, []byte) (any, error) {
		return nil, &catalog.Failure{Type: "S3cret" + strings.Repeat("<", message.Limit), Message: "no"}
	}}, options{})
	j := job(1)
	j.Secrets = []string{"S3cret"}
	b.send(t, j)
	if got := b.result(t); got.Error == nil || len(got.Error.Type) > 200 || strings.Contains(got.Error.Type, "S3cret") {
		t.Errorf("got %+v", got.Error)
	}
}
