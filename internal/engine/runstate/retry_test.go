package runstate

import (
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// runningStep returns a transition of a member's run whose only step, with this definition, is
// dispatched.
func runningStep(step model.Step, d runbook.Step) *transition {
	sent := noon.Add(-time.Minute)
	step.Status, step.Job, step.DispatchedAt = model.StepDispatched, "attempt-1", &sent
	d.Name, d.WorkerID, d.Function = "copy", "w1", "Copy"
	return &transition{
		rb: &runbook.Runbook{}, definitions: []runbook.Step{d},
		run: &model.Run{Batch: 7, Phase: 1, Member: 3, Kind: model.KindPhase, PhaseName: "move", Status: model.RunRunning, Steps: []model.Step{step}},
		now: noon,
	}
}

// TestFailureIsRetriedOrFinal pins whether a failure is retried, and when.
func TestFailureIsRetriedOrFinal(t *testing.T) {
	t.Parallel()
	const minute = time.Minute
	for name, tt := range map[string]struct {
		step    model.Step
		retry   runbook.Retry
		mode    model.DispatchMode
		removed bool          // the member was removed
		after   time.Duration // what the worker asks for
		wait    time.Duration // until the retry
		retries int           // after the failure
		final   model.RunStatus
	}{
		"a retry is left":                          {retry: runbook.Retry{MaxRetries: 2, Interval: minute}, wait: minute, retries: 1},
		"the last retry":                           {step: model.Step{RetryCount: 1}, retry: runbook.Retry{MaxRetries: 2, Interval: minute}, wait: minute, retries: 2},
		"no retry is left":                         {step: model.Step{RetryCount: 2}, retry: runbook.Retry{MaxRetries: 2, Interval: minute}, retries: 2, final: model.RunFailed},
		"the policy has none":                      {retry: runbook.Retry{Interval: minute}, final: model.RunFailed},
		"retries of earlier attempts do not count": {step: model.Step{RetryCount: 5, RetriesBefore: 5}, retry: runbook.Retry{MaxRetries: 1, Interval: minute}, wait: minute, retries: 6},
		"the worker asks for a longer wait":        {retry: runbook.Retry{MaxRetries: 1, Interval: minute}, after: time.Hour, wait: time.Hour, retries: 1},
		"the worker asks for a shorter wait":       {retry: runbook.Retry{MaxRetries: 1, Interval: minute}, after: time.Second, wait: minute, retries: 1},
		"the worker asks for more than a day":      {retry: runbook.Retry{MaxRetries: 1, Interval: minute}, after: 72 * time.Hour, wait: runbook.MaxRetryWait, retries: 1},
		"the batch is paused":                      {retry: runbook.Retry{MaxRetries: 1, Interval: minute}, mode: model.Paused, wait: minute, retries: 1},
		"the batch is cancelled":                   {retry: runbook.Retry{MaxRetries: 1, Interval: minute}, mode: model.Cancelled, final: model.RunCancelled},
		"the member was removed":                   {retry: runbook.Retry{MaxRetries: 1, Interval: minute}, removed: true, final: model.RunCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := runningStep(tt.step, runbook.Step{Retry: &tt.retry})
			r.mode = tt.mode
			if tt.removed {
				r.run.CancelReason = model.ReasonRemoved
			}
			if err := r.onFailed("busy", tt.after); err != nil {
				t.Fatal(err)
			}
			step := r.run.Steps[0]
			if step.RetryCount != tt.retries || step.Error != "busy" {
				t.Errorf("retry count %d, error %q; want %d and the error of the worker", step.RetryCount, step.Error, tt.retries)
			}
			if tt.final != "" {
				if r.run.Status != tt.final || step.Status != model.StepFailed || step.RetryAfter != nil {
					t.Errorf("run %s, step %s, retry after %v; want run %s and no retry", r.run.Status, step.Status, step.RetryAfter, tt.final)
				}
				return
			}
			if r.run.Status != model.RunRunning || step.Status != model.StepPending || step.Job != "" || step.RetryAfter == nil || !step.RetryAfter.Equal(noon.Add(tt.wait)) {
				t.Errorf("run %s, step %s, job %q, retry after %v; want a retry after %s", r.run.Status, step.Status, step.Job, step.RetryAfter, tt.wait)
			}
		})
	}
}

// TestFailureInARollbackIsRetriedInACancelledBatch checks that a rollback is carried to its end.
func TestFailureInARollbackIsRetriedInACancelledBatch(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*model.Run){
		"rollback": func(r *model.Run) { r.Status, r.Steps[0].Rollback = model.RunRollingBack, "undo" },
		"removal":  func(r *model.Run) { r.Kind = model.KindRemoval },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := runningStep(model.Step{}, runbook.Step{Retry: &runbook.Retry{MaxRetries: 1, Interval: time.Minute}})
			r.mode = model.Cancelled
			change(r.run)
			if err := r.onFailed("busy", 0); err != nil {
				t.Fatal(err)
			}
			if s := r.run.Steps[0]; s.RetryCount != 1 || s.RetryAfter == nil || r.run.Status.Terminal() {
				t.Errorf("run %s, step %+v: want a retry", r.run.Status, s)
			}
		})
	}
}

// TestRetryDelay pins the back-off: the wait before the retry with a number.
func TestRetryDelay(t *testing.T) {
	t.Parallel()
	const minute = time.Minute
	exponential := runbook.Retry{Interval: minute, Backoff: runbook.BackoffExponential}
	bounded := exponential
	bounded.MaxInterval = 3 * minute
	for _, tt := range []struct {
		name   string
		retry  runbook.Retry
		number int // counted from the present attempt
		want   time.Duration
	}{
		{"constant, first", runbook.Retry{Interval: minute}, 1, minute},
		{"constant, tenth", runbook.Retry{Interval: minute}, 10, minute},
		{"constant, longer than a day", runbook.Retry{Interval: 48 * time.Hour}, 1, 48 * time.Hour},
		{"no interval", runbook.Retry{}, 1, 0},
		{"exponential, first", exponential, 1, minute},
		{"exponential, second", exponential, 2, 2 * minute},
		{"exponential, fourth", exponential, 4, 8 * minute},
		{"exponential, hundredth", exponential, 100, runbook.MaxRetryWait},
		{"exponential with a bound, second", bounded, 2, 2 * minute},
		{"exponential with a bound, third", bounded, 3, 3 * minute},
		{"a bound without back-off has no effect", runbook.Retry{Interval: 5 * minute, MaxInterval: minute}, 1, 5 * minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, before := range []int{0, 7} {
				r := runningStep(model.Step{}, runbook.Step{Retry: &tt.retry})
				r.run.Steps[0].RetriesBefore, r.run.Steps[0].RetryCount = before, before+tt.number
				if got := r.retryDelay(); got != tt.want {
					t.Errorf("after %d retries of earlier attempts: %s, want %s", before, got, tt.want)
				}
			}
		})
	}
}

// TestRetryDelayJitter checks that jitter only lengthens the wait, within its share, that it differs
// between members and retries, and that the same retry always waits the same time.
func TestRetryDelayJitter(t *testing.T) {
	t.Parallel()
	const interval = 100 * time.Minute
	delay := func(member, retry int) time.Duration {
		r := runningStep(model.Step{}, runbook.Step{Retry: &runbook.Retry{Interval: interval, Jitter: 20}})
		r.run.Member, r.run.Steps[0].RetryCount = member, retry
		return r.retryDelay()
	}
	distinct := map[time.Duration]bool{}
	for member := 1; member <= 20; member++ {
		for retry := 1; retry <= 3; retry++ {
			got := delay(member, retry)
			if got < interval || got >= interval+interval/5 {
				t.Errorf("member %d, retry %d: %s is not within 20%% of %s", member, retry, got, interval)
			}
			if again := delay(member, retry); again != got {
				t.Errorf("member %d, retry %d: %s, then %s", member, retry, got, again)
			}
			distinct[got] = true
		}
	}
	if len(distinct) < 40 {
		t.Errorf("only %d distinct waits of 60", len(distinct))
	}
}
