package runstate

import (
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// oneStep parses a runbook of one phase with one step, which may be retried.
func oneStep(t *testing.T) *runbook.Runbook {
	t.Helper()
	rb, diagnostics := runbook.Parse([]byte(`
name: move
data_source: {type: csv, connection: PEOPLE_CSV, query: people.csv, primary_key: Upn, batch_time: immediate}
phases:
  - name: move
    offset: T-0
    steps: [{name: copy, worker_id: w1, function: Copy, timeout: 1m, retry: {max_retries: 3, interval: 1m}}]
`))
	if rb == nil {
		t.Fatal(diagnostics.Err())
	}
	return rb
}

// TestAttemptCounting pins which dispatches begin an attempt, which are retries of one, and the job
// ids that follow from the counts.
func TestAttemptCounting(t *testing.T) {
	t.Parallel()
	r := runningStep(model.Step{}, runbook.Step{})
	member := &model.Member{ID: 3, Page: 1, Key: "ann", Status: model.MemberActive, OpenPhase: 1}
	run := *r.run
	run.Runbook, run.Version, run.Page, run.Status = "move", 1, 1, model.RunWaiting
	run.Steps[0] = model.Step{Status: model.StepPending}
	rb, now := oneStep(t), noon
	result := func(change func(*model.StepResult)) func(model.Step) model.RunEvent {
		return func(model.Step) model.RunEvent {
			e := model.StepResult{JobID: run.JobID(0), Error: "busy"}
			change(&e)
			return e
		}
	}
	retry := func(s model.Step) model.RunEvent { return model.RetryDue{Count: s.RetryCount} }
	failed := result(func(*model.StepResult) {})
	expired := result(func(e *model.StepResult) { e.Expired = true })
	revoked := result(func(e *model.StepResult) { e.Revoked = true })
	for _, tt := range []struct {
		name                        string
		event                       func(model.Step) model.RunEvent
		after                       time.Duration
		attempts, retries, expiries int
		job                         string // empty: none is dispatched
	}{
		{"the run starts", func(model.Step) model.RunEvent { return model.RunStarted{} }, 0, 1, 0, 0, "attempt-1"},
		{"the job fails: a retry waits", failed, 0, 1, 1, 0, ""},
		{"the retry is no attempt", retry, time.Minute, 1, 1, 0, "retry-1"},
		{"the job expires unstarted: an attempt, no retry", expired, 0, 2, 1, 1, "attempt-2"},
		{"the job is revoked though the batch is running: postponed", revoked, 0, 2, 1, 2, ""},
		{"the postponed job is an attempt", retry, revokedDelay, 3, 1, 2, "attempt-3"},
		{"the job fails again", failed, 0, 3, 2, 2, ""},
		{"the second retry", retry, time.Minute, 3, 2, 2, "retry-2"},
	} {
		now = now.Add(tt.after)
		s := model.MemoryState{Runs: []*model.Run{&run}, Members: []*model.Member{member}, Runbook: rb}
		d, err := Decide(s, model.OnRun{Phase: 1, Member: 3, RunEvent: tt.event(run.Steps[0])}, nil, now)
		if err != nil || len(d.Runs) != 1 {
			t.Fatalf("%s: %v, %+v", tt.name, err, d)
		}
		run = *d.Runs[0]
		if len(d.Members) == 1 {
			member = d.Members[0]
		}
		step := run.Steps[0]
		if step.Attempts != tt.attempts || step.RetryCount != tt.retries || step.Expiries != tt.expiries {
			t.Errorf("%s: %d attempts, %d retries, %d expiries; want %d, %d, %d", tt.name, step.Attempts, step.RetryCount, step.Expiries, tt.attempts, tt.retries, tt.expiries)
		}
		job := ""
		if tt.job != "" {
			job = "step-10000003000-" + tt.job
		}
		if step.Status == model.StepDispatched && run.JobID(0) != job || step.Status != model.StepDispatched && job != "" {
			t.Errorf("%s: step %s with job %q, want %q", tt.name, step.Status, run.JobID(0), job)
		}
	}
}

// TestExpiriesAreBounded checks that a job does not expire for ever.
func TestExpiriesAreBounded(t *testing.T) {
	t.Parallel()
	for name, expire := range map[string]func(*transition) error{
		"expired": func(r *transition) error { return r.onExpired("too late") },
		"revoked": func(r *transition) error { return r.onRevoked("paused") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := runningStep(model.Step{Expiries: mostExpiries}, runbook.Step{Retry: &runbook.Retry{MaxRetries: 5}})
			if err := expire(r); err != nil {
				t.Fatal(err)
			}
			if s := r.run.Steps[0]; s.Status != model.StepFailed || r.run.Status != model.RunFailed || s.RetryCount != 0 {
				t.Errorf("run %s, step %+v: want a failure without a retry", r.run.Status, s)
			}
		})
	}
}
