package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/model"
)

// refusal is the answer of a replica that did not begin a job that had come again.
func (p *person) refusal(revoked bool) model.StepResult {
	e := model.StepResult{Step: p.run.Current, JobID: p.jobID(), Error: "the job was not begun here", Redelivered: true}
	e.Revoked, e.Expired = revoked, !revoked
	return e
}

// Another replica may run a job that has come again. What follows from its refusal waits
// until that replica has certainly ended it.
func TestRefusalOfAJobThatHasComeAgainWaitsForTheEarlierDelivery(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		revoked bool
		mode    model.DispatchMode
		leaves  bool
		refused time.Duration // after the dispatch
		status  model.RunStatus
		step    model.StepStatus
		effects func(p *person) []any
	}{
		"expired": {refused: 10*time.Minute + time.Second, status: model.RunRunning, step: model.StepDispatched, effects: func(*person) []any {
			return []any{model.Dispatch{Step: 0}}
		}},
		"revoked, and the batch goes on": {revoked: true, refused: time.Minute, status: model.RunRunning, step: model.StepPending, effects: func(p *person) []any {
			return []any{model.Retry{Step: 0, At: p.at.Add(5 * time.Second)}}
		}},
		"revoked, and the batch is paused": {revoked: true, mode: model.Paused, refused: time.Minute, status: model.RunRunning, step: model.StepPending, effects: func(*person) []any {
			return []any{released()}
		}},
		"revoked, and the batch is cancelled": {revoked: true, mode: model.Cancelled, refused: time.Minute, status: model.RunCancelled, step: model.StepCancelled, effects: func(*person) []any {
			return []any{model.CountRun{Outcome: model.RunCancelled}}
		}},
		"expired, and the member is removed": {leaves: true, refused: 10*time.Minute + time.Second, status: model.RunCancelled, step: model.StepCancelled, effects: func(*person) []any {
			return []any{model.CountRun{Outcome: model.RunCancelled}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := dated(t)
			p.mode = c.mode
			ended := now.Add(10*time.Minute + runstate.JobGracePeriod)
			if c.leaves {
				p.on(model.RunCancelRequested{Reason: "the member was removed"})
			}
			p.after(c.refused)
			job := p.jobID()
			refused := p.refusal(c.revoked)
			wantOutcome(t, p.on(refused), model.Deadline{Step: 0, At: ended})
			if p.run.Status != model.RunRunning || p.step().Status != model.StepDispatched || p.jobID() != job {
				t.Fatalf("the refusal ended the job: the run is %s, the step %+v", p.run.Status, p.step())
			}
			if p.run.DeadlineAt == nil || !p.run.DeadlineAt.Equal(ended) || p.run.Worker != "" {
				t.Fatalf("deadline %v, worker %q", p.run.DeadlineAt, p.run.Worker)
			}
			if d := p.on(refused); !d.Repeated {
				t.Fatalf("the refusal again: %+v", d)
			}
			p.after(ended.Sub(p.at) - time.Second)
			p.early(model.DeadlineDue{Step: 0, JobID: job}, time.Second)
			p.after(time.Second)
			due := model.DeadlineDue{Step: 0, JobID: job, Queued: true} // what is known of its worker does not matter any more
			wantOutcome(t, p.on(due), c.effects(p)...)
			s := p.run.Steps[0]
			if p.run.Status != c.status || s.Status != c.step || s.RetryCount != 0 || s.Refused != nil {
				t.Fatalf("the run is %s, the step %+v", p.run.Status, s)
			}
			if len(s.Abandoned) != 1 || s.Abandoned[0].JobID != job || s.Abandoned[0].Until.After(p.at) {
				t.Fatalf("abandoned: %+v", s.Abandoned)
			}
			if c.step == model.StepDispatched && p.jobID() == job {
				t.Fatal("the new attempt has the id of the old job")
			}
		})
	}
}

func TestResultOfTheEarlierDeliveryCounts(t *testing.T) {
	t.Parallel()
	for name, revoked := range map[string]bool{"expired": false, "revoked": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := dated(t)
			job := p.jobID()
			p.after(time.Minute)
			p.on(p.refusal(revoked))
			p.answer(`{"id":1}`)
			p.want(model.RunRunning, model.StepSucceeded, model.StepDispatched)
			if p.run.Steps[0].Refused != nil || len(p.run.Steps[0].Abandoned) != 0 {
				t.Fatalf("%+v", p.run.Steps[0])
			}
			p.nothing(model.StepResult{Step: 0, JobID: job, Error: "refused", Revoked: true, Redelivered: true})
		})
	}
}

// When nothing of the job can run any more, there is nothing to wait for.
func TestRefusalThatComesAfterTheSettleTimeIsTakenAtOnce(t *testing.T) {
	t.Parallel()
	p := dated(t)
	p.after(10*time.Minute + runstate.JobGracePeriod)
	wantOutcome(t, p.on(p.refusal(false)), model.Dispatch{Step: 0})
	if p.step().Attempts != 2 {
		t.Fatalf("%+v", p.step())
	}
}

// A job that was put off while it waited in the queue keeps its own expiry.
func TestRefusalAfterADeadlineWasPutOffWaitsForTheExpiryOnly(t *testing.T) {
	t.Parallel()
	p := dated(t)
	p.after(10 * time.Minute)
	queued := p.overdue()
	queued.Queued = true
	p.on(queued)
	p.after(time.Second)
	wantOutcome(t, p.on(p.refusal(false)), model.Deadline{Step: 0, At: now.Add(10*time.Minute + runstate.JobGracePeriod)})
}

// It says nothing of a job that is no longer waited for and may still run.
func TestRefusalOfAJobThatHasComeAgainDoesNotEndWhatMayStillRun(t *testing.T) {
	t.Parallel()
	rb := strings.Replace(removing, "on_failure: undo}]", "on_failure: undo}, {name: check, worker_id: w1, function: Check, on_failure: undo}]", 1)
	p := enterOf(t, read(t, rb), 1, `{"Upn":"ann@x"}`)
	p.on(model.RunStarted{})
	skipped := p.refusal(true)
	p.on(model.StepResolved{Step: 0, Skip: true, By: by})
	p.nothing(skipped)
	wantOutcome(t, p.refuse("no"), model.Retry{Step: 2, At: now.Add(30*time.Minute + runstate.JobGracePeriod)})
}
