package engine_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/model"
)

const timed = header + `
retry: {max_retries: 1, interval: 30s}
phases:
  - name: move
    offset: T-0
    steps:
      - {name: copy, worker_id: w1, function: Copy, timeout: 10m, output_params: {CopyId: id}}
      - {name: quick, worker_id: w1, function: Quick, timeout: 1m, retry: {max_retries: 0}}
`

func dated(t *testing.T) *person {
	t.Helper()
	p := enterOf(t, read(t, timed), 1, `{"Upn":"ann@x"}`)
	p.on(model.RunStarted{})
	return p
}

func (p *person) overdue() model.DeadlineDue {
	return model.DeadlineDue{Step: p.run.Current, JobID: p.jobID()}
}

// early checks that a deadline that comes before its time comes again, just after it.
func (p *person) early(e model.DeadlineDue, by time.Duration) {
	p.t.Helper()
	d := p.on(e)
	if !d.Repeated || len(d.Runs) > 0 {
		p.t.Fatalf("a deadline that is to come: %+v", d)
	}
	wantOutcome(p.t, d, model.Deadline{Step: e.Step, At: p.at.Add(by + time.Second)})
}

func TestStepWithoutAResultByItsDeadlineFollowsItsRetryPolicy(t *testing.T) {
	t.Parallel()
	p := dated(t)
	if p.run.DeadlineAt == nil || !p.run.DeadlineAt.Equal(now.Add(10*time.Minute+runstate.JobGracePeriod)) {
		t.Fatalf("deadline %v", p.run.DeadlineAt)
	}
	first := p.overdue()
	p.after(10*time.Minute + runstate.JobGracePeriod - time.Second)
	p.early(first, time.Second)
	p.after(time.Second - time.Millisecond) // by the clock of a process that is a little behind
	p.early(first, time.Millisecond)
	p.after(time.Millisecond)
	d := p.on(first)
	p.want(model.RunRunning, model.StepPending)
	wantOutcome(t, d, model.Retry{Step: 0, At: p.at.Add(30 * time.Second)})
	if want := "no result within 10m0s"; !strings.Contains(p.step().Error, want) || !strings.Contains(p.step().Error, "w1") {
		t.Fatalf("reason %q", p.step().Error)
	}
	if p.run.DeadlineAt != nil {
		t.Fatalf("a deadline stands for a job that is no longer waited for: %s", p.run.DeadlineAt)
	}
	p.after(30 * time.Second)
	p.on(model.RetryDue{Step: 0, Count: 1})
	p.nothing(first)
	p.after(10*time.Minute + runstate.JobGracePeriod)
	p.on(p.overdue())
	p.want(model.RunFailed, model.StepFailed, model.StepCancelled)
	if p.member.Status != model.MemberFailed || !strings.Contains(p.member.Error, "no result within") {
		t.Fatalf("member %s: %s", p.member.Status, p.member.Error)
	}
}

func TestDeadlineNamesTheCauseThatItIsGiven(t *testing.T) {
	t.Parallel()
	p := dated(t)
	p.after(10*time.Minute + runstate.JobGracePeriod)
	due := p.overdue()
	due.Cause = "worker w1 was last seen at noon"
	p.on(due)
	if want := "no result within 10m0s: worker w1 was last seen at noon"; p.step().Error != want {
		t.Fatalf("reason %q, want %q", p.step().Error, want)
	}
}

// The worker ends a job when it expires; what it answers then must find the step.
func TestResultThatComesWithinTheSettleTimeCounts(t *testing.T) {
	t.Parallel()
	p := dated(t)
	p.after(10*time.Minute + runstate.JobGracePeriod - time.Second)
	p.early(p.overdue(), time.Second)
	p.answer(`{"id":1}`)
	p.want(model.RunRunning, model.StepSucceeded, model.StepDispatched)
}

func TestDeadlineThatComesAgainRepeatsItsEffects(t *testing.T) {
	t.Parallel()
	p := dated(t)
	p.after(10*time.Minute + runstate.JobGracePeriod)
	due := p.overdue()
	at := p.at.Add(30 * time.Second)
	p.on(due)
	p.after(time.Second)
	d := p.on(due)
	if !d.Repeated || len(d.Runs) > 0 {
		t.Fatalf("%+v", d)
	}
	wantOutcome(t, d, model.Retry{Step: 0, At: at})
}

func TestLateResultIsRecordedAndChangesNothingElse(t *testing.T) {
	t.Parallel()
	p := dated(t)
	p.after(10*time.Minute + runstate.JobGracePeriod)
	lost := p.jobID()
	p.on(p.overdue())
	p.after(30 * time.Second)
	p.on(model.RetryDue{Step: 0, Count: 1})
	before := p.run
	late := model.StepResult{Step: 0, JobID: lost, OK: true, Result: json.RawMessage(`{"id":1}`)}
	d := p.on(late)
	if d.Stale || d.Repeated || len(d.Members) > 0 || len(outcome(d)) > 0 {
		t.Fatalf("the late result did more than be recorded: %+v", d)
	}
	if a := p.step().Abandoned; len(a) != 1 || a[0].JobID != lost || !a[0].OK || string(a[0].Result) != `{"id":1}` || !a[0].Late.Equal(p.at) {
		t.Fatalf("recorded as %+v", a)
	}
	recorded := p.run.Steps[0].Abandoned
	p.run.Steps[0].Abandoned = before.Steps[0].Abandoned
	if text(t, p.run) != text(t, before) {
		t.Fatalf("the run went from %s to %s", text(t, before), text(t, p.run))
	}
	p.run.Steps[0].Abandoned = recorded
	p.nothing(late)
	p.answer(`{"id":2}`)
	p.want(model.RunRunning, model.StepSucceeded, model.StepDispatched)
	if string(p.run.Outputs["CopyId"]) != "2" {
		t.Fatalf("outputs %s", p.run.Outputs["CopyId"])
	}
}

func TestLateResultOfARunThatHasEndedIsRecorded(t *testing.T) {
	t.Parallel()
	p := dated(t)
	p.answer(`{"id":1}`)
	p.after(time.Minute + runstate.JobGracePeriod)
	lost := p.jobID()
	p.on(p.overdue())
	p.want(model.RunFailed, model.StepSucceeded, model.StepFailed)
	ended := p.member
	p.on(model.StepResult{Step: 1, JobID: lost, Error: "too slow"})
	p.want(model.RunFailed, model.StepSucceeded, model.StepFailed)
	if a := p.run.Steps[1].Abandoned; len(a) != 1 || a[0].OK || a[0].Error != "too slow" || a[0].Late == nil {
		t.Fatalf("recorded as %+v", a)
	}
	if text(t, ended) != text(t, p.member) {
		t.Fatalf("the member went from %+v to %+v", ended, p.member)
	}
}

func TestResultOfAStepThatTheRunDoesNotHaveIsStale(t *testing.T) {
	t.Parallel()
	p := dated(t)
	for _, step := range []int{-1, 2, 999} {
		p.nothing(model.StepResult{Step: step, JobID: p.jobID(), OK: true})
		p.nothing(model.DeadlineDue{Step: step, JobID: p.jobID()})
		p.nothing(model.PollDue{Step: step, Count: 1})
		p.nothing(model.RetryDue{Step: step, Count: 1})
	}
}

// Ticks of the scheduler come by every five minutes and see to longer deadlines.
func TestOnlyDeadlinesShorterThanATickHaveAMessageOfTheirOwn(t *testing.T) {
	t.Parallel()
	p := dated(t)
	for _, e := range p.outstanding() {
		if _, own := e.(model.Deadline); own {
			t.Fatal("a deadline of ten minutes has a message")
		}
	}
	d := p.answer(`{"id":1}`)
	wantOutcome(t, d, model.Dispatch{Step: 1}, model.Deadline{Step: 1, At: now.Add(time.Minute + runstate.JobGracePeriod)})
}

// wantDeadline checks when the run's job is judged: that is stored, and asked for, as one time.
func (p *person) wantDeadline(at time.Time) {
	p.t.Helper()
	if p.run.DeadlineAt == nil || !p.run.DeadlineAt.Equal(at) {
		p.t.Fatalf("the deadline is %v, want %s", p.run.DeadlineAt, at)
	}
}

func TestDeadlineOfAJobThatWaitsBehindOthersIsPutOff(t *testing.T) {
	t.Parallel()
	p := dated(t)
	p.answer(`{"id":1}`)
	p.after(runstate.JobGracePeriod)
	for range 10 {
		p.after(time.Minute)
		queued := p.overdue()
		queued.Queued = true
		d := p.on(queued)
		p.want(model.RunRunning, model.StepSucceeded, model.StepDispatched)
		wantOutcome(t, d, model.Deadline{Step: 1, At: p.at.Add(time.Minute)})
		p.wantDeadline(p.at.Add(time.Minute))
	}
	p.after(time.Minute - time.Second)
	p.early(p.overdue(), time.Second)
	p.after(time.Second)
	p.on(p.overdue())
	p.want(model.RunFailed, model.StepSucceeded, model.StepFailed)
}

func TestDeadlineThatTheTickSeesToIsPutOffToo(t *testing.T) {
	t.Parallel()
	p := dated(t)
	p.after(10*time.Minute + runstate.JobGracePeriod)
	queued := p.overdue()
	queued.Queued = true
	wantOutcome(t, p.on(queued))
	p.wantDeadline(p.at.Add(5 * time.Minute))
	p.after(time.Minute)
	p.early(p.overdue(), 4*time.Minute) // the tick comes by again
	p.answer(`{"id":1}`)
	p.want(model.RunRunning, model.StepSucceeded)
}

// The worker died after the deadline was put off: nothing comes to the job any more.
func TestDeadlineThatWasPutOffEndsWithItsWorker(t *testing.T) {
	t.Parallel()
	p := dated(t)
	p.after(10*time.Minute + runstate.JobGracePeriod)
	queued := p.overdue()
	queued.Queued = true
	p.on(queued)
	p.after(5 * time.Minute)
	lost := p.overdue()
	lost.Cause = "worker w1 was last seen at noon"
	d := p.on(lost)
	p.want(model.RunRunning, model.StepPending)
	wantOutcome(t, d, model.Retry{Step: 0, At: p.at.Add(30 * time.Second)})
	if want := "no result within 10m0s: worker w1 was last seen at noon"; p.step().Error != want {
		t.Fatalf("reason %q, want %q", p.step().Error, want)
	}
}

// Its worker would answer that the job expired, and nothing would be dispatched after that.
func TestRunThatStopsDoesNotWaitForAJobInTheQueue(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(p *person){
		"removed": func(p *person) { p.on(model.RunCancelRequested{Reason: "the member was removed"}) },
		"cancelled": func(p *person) {
			p.mode = model.Cancelled
			p.nothing(model.RunCancelRequested{Reason: "the batch is cancelled"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := dated(t)
			stop(p)
			p.after(10*time.Minute + runstate.JobGracePeriod - time.Second)
			queued := p.overdue()
			queued.Queued = true
			p.early(queued, time.Second)
			p.after(time.Second)
			p.on(queued)
			p.want(model.RunCancelled, model.StepFailed, model.StepCancelled)
		})
	}
}

func TestRunThatStopsAfterItsDeadlineWasPutOffIsJudgedAtOnce(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]model.DispatchMode{"removed": model.Running, "cancelled": model.Cancelled} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := dated(t)
			expired := p.at.Add(10*time.Minute + runstate.JobGracePeriod)
			p.after(10*time.Minute + runstate.JobGracePeriod)
			queued := p.overdue()
			queued.Queued = true
			p.on(queued)
			p.after(time.Minute)
			p.mode = mode
			stop := model.RunCancelRequested{Reason: "enough"}
			wantOutcome(t, p.on(stop), model.Deadline{Step: 0, At: p.at})
			p.wantDeadline(expired)
			p.nothing(stop)
			p.on(queued)
			p.want(model.RunCancelled, model.StepFailed, model.StepCancelled)
		})
	}
}

func TestJobThatExpiredInItsWorkersQueueIsSentAgainAsItWas(t *testing.T) {
	t.Parallel()
	p := dated(t)
	expired := model.StepResult{Step: 0, JobID: p.jobID(), Error: "expired", Expired: true}
	d := p.on(expired)
	wantOutcome(t, d, model.Dispatch{Step: 0})
	if s := p.step(); p.jobID() == expired.JobID || s.RetryCount != 0 || s.Error != "" {
		t.Fatalf("sent again as %+v", s)
	}
	if d := p.on(expired); !d.Repeated {
		t.Fatalf("the expiry again: %+v", d)
	}
	seen := map[string]bool{}
	for i := 0; !p.run.Status.Terminal(); i++ {
		if seen[p.jobID()] || i > 1000 {
			t.Fatalf("job %s was sent before", p.jobID())
		}
		seen[p.jobID()] = true
		p.on(model.StepResult{Step: 0, JobID: p.jobID(), Error: "expired", Expired: true})
	}
	p.want(model.RunFailed, model.StepFailed)
}

func TestDeadlineOfAPollIsTheSteps(t *testing.T) {
	t.Parallel()
	p := enter(t, 3, `{"UserId":"u"}`)
	p.on(model.RunStarted{})
	p.answer(`{"complete":false}`)
	p.after(30 * time.Second)
	p.after(30*time.Minute + runstate.JobGracePeriod)
	p.on(p.overdue())
	p.want(model.RunRunning, model.StepPending)
	if p.step().RetryCount != 1 || p.step().PollStartedAt != nil {
		t.Fatalf("a poll without an answer is a failure with its retry: %+v", p.step())
	}
}

// After an outage of the broker a deadline can come before the worker's heartbeats.
func TestSilentWorkerIsLookedAtTwice(t *testing.T) {
	t.Parallel()
	p := enter(t, 2, `{"Upn":"u","Kind":"User"}`)
	p.on(model.RunStarted{})
	job := p.jobID()
	due := model.DeadlineDue{Step: 0, JobID: job, Silent: true, Cause: "no worker w1"}
	p.after(p.timeout() + runstate.JobGracePeriod)
	again := p.at.Add(45 * time.Second)
	wantOutcome(t, p.on(due), model.Deadline{Step: 0, At: again})
	if got := p.step(); got.Status != model.StepDispatched || !p.run.DeadlineAt.Equal(again) {
		t.Fatalf("%+v, deadline %v", got, p.run.DeadlineAt)
	}
	p.after(45 * time.Second)
	heard := due
	heard.Silent, heard.Queued = false, true
	p.on(heard) // the heartbeats have come
	if p.step().SilentAt != nil {
		t.Fatalf("%+v", p.step())
	}
	p.after(5 * time.Minute)
	p.on(due)
	p.after(45 * time.Second)
	p.on(due)
	if got := p.step(); got.Status == model.StepDispatched {
		t.Fatalf("a worker that stays silent: %+v", got)
	}
}
