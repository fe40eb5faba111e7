package runstate

import (
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// TestJobDeadline pins when a dispatched job is judged: its timeout and the grace period after its
// dispatch, or later while it is known to wait for its worker.
func TestJobDeadline(t *testing.T) {
	t.Parallel()
	const minute = time.Minute
	at := func(d time.Duration) *time.Time { v := noon.Add(d); return &v }
	for name, tt := range map[string]struct {
		timeout time.Duration
		step    model.Step
		want    time.Duration // after the dispatch at noon
	}{
		"the timeout and the grace period":          {10 * minute, model.Step{}, 10*minute + JobGracePeriod},
		"queued, but not beyond the deadline":       {10 * minute, model.Step{QueuedUntil: at(minute)}, 10*minute + JobGracePeriod},
		"queued: after a further timeout":           {2 * minute, model.Step{QueuedUntil: at(20 * minute)}, 22 * minute},
		"queued: after five minutes at most":        {time.Hour, model.Step{QueuedUntil: at(2 * time.Hour)}, 2*time.Hour + 5*minute},
		"queued: after the grace period at least":   {time.Second, model.Step{QueuedUntil: at(minute)}, minute + JobGracePeriod},
		"its worker is silent: after the next look": {10 * minute, model.Step{QueuedUntil: at(20 * minute), SilentAt: at(20 * minute)}, 20*minute + silentLook},
		"refused: not put off":                      {2 * minute, model.Step{QueuedUntil: at(20 * minute), Refused: &model.RefusedJob{}}, 2*minute + JobGracePeriod},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.step.DispatchedAt = at(0)
			if got := jobDeadline(tt.step, runbook.Step{Timeout: tt.timeout}).Sub(noon); got != tt.want {
				t.Errorf("jobDeadline is %s after the dispatch, want %s", got, tt.want)
			}
		})
	}
}

// TestDeadlineOutcome pins what the deadline of a job in flight does: nothing before its time, a
// failure for a job that is lost, and a later deadline for a job that waits for its worker.
func TestDeadlineOutcome(t *testing.T) {
	t.Parallel()
	const timeout = 2 * time.Minute
	end := timeout + JobGracePeriod
	type result string
	const stale, early, putOff, retried, cancelled result = "stale", "early", "put off", "retried", "cancelled"
	for name, tt := range map[string]struct {
		after time.Duration // after the dispatch
		event model.DeadlineDue
		mode  model.DispatchMode
		want  result
	}{
		"another job":                         {after: end, event: model.DeadlineDue{JobID: "step-10000003000-attempt-0"}, want: stale},
		"another step":                        {after: end, event: model.DeadlineDue{JobID: "step-10000003000-attempt-1", Step: 1}, want: stale},
		"before its time":                     {after: end - time.Second, event: model.DeadlineDue{JobID: "step-10000003000-attempt-1"}, want: early},
		"the job is lost":                     {after: end, event: model.DeadlineDue{JobID: "step-10000003000-attempt-1"}, want: retried},
		"the job is queued":                   {after: end, event: model.DeadlineDue{JobID: "step-10000003000-attempt-1", Queued: true}, want: putOff},
		"the worker is silent":                {after: end, event: model.DeadlineDue{JobID: "step-10000003000-attempt-1", Silent: true}, want: putOff},
		"queued, but the batch was paused":    {after: end, event: model.DeadlineDue{JobID: "step-10000003000-attempt-1", Queued: true}, mode: model.Paused, want: putOff},
		"queued, but the batch was cancelled": {after: end, event: model.DeadlineDue{JobID: "step-10000003000-attempt-1", Queued: true}, mode: model.Cancelled, want: cancelled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := runningStep(model.Step{}, runbook.Step{Timeout: timeout, Retry: &runbook.Retry{MaxRetries: 1, Interval: time.Minute}})
			r.mode = tt.mode
			r.state, r.member = model.MemoryState{}, &model.Member{ID: 3, Status: model.MemberActive, OpenPhase: 1}
			r.now = r.run.Steps[0].DispatchedAt.Add(tt.after)
			d, err := r.onDeadline(tt.event)
			if err != nil {
				t.Fatal(err)
			}
			step := r.run.Steps[0]
			got := retried
			switch {
			case d.Stale:
				got = stale
			case d.Repeated:
				got = early
			case r.run.Status == model.RunCancelled:
				got = cancelled
			case step.Status == model.StepDispatched && r.run.DeadlineAt.After(r.now):
				got = putOff
			}
			if got != tt.want {
				t.Fatalf("%s, want %s", got, tt.want)
			}
			if got == retried && (step.RetryCount != 1 || len(step.Abandoned) != 1 || step.Abandoned[0].JobID != "step-10000003000-attempt-1") {
				t.Errorf("the lost job is not given up: %+v", step)
			}
		})
	}
}
