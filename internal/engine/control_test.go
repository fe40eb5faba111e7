package engine_test

import (
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/model"
)

func TestPauseKeepsTheResultAndHoldsTheNextStep(t *testing.T) {
	t.Parallel()
	p := enter(t, 2, `{"Upn":"ann@x","Kind":"User"}`)
	p.on(model.RunStarted{})
	p.mode = model.Paused
	result := model.StepResult{Step: 0, JobID: p.jobID(), OK: true, Result: []byte(`{"id":1}`)}
	d := p.on(result)
	p.want(model.RunRunning, model.StepSucceeded, model.StepPending)
	wantOutcome(t, d, released())
	if p.run.PausedAt == nil || p.run.DeadlineAt != nil || p.run.WakeAt != nil {
		t.Fatalf("paused at %v, with a deadline %v and a wake-up %v", p.run.PausedAt, p.run.DeadlineAt, p.run.WakeAt)
	}
	if d := p.on(result); !d.Repeated {
		t.Fatalf("%+v", d)
	} else {
		wantOutcome(t, d, released())
	}
	p.nothing(model.RunReleased{Task: "r"})
	p.mode = model.Running
	wantOutcome(t, p.on(model.RunReleased{Task: "r"}), model.Dispatch{Step: 1})
	again := p.on(model.RunReleased{Task: "r"})
	if !again.Repeated {
		t.Fatalf("released again: %+v", again)
	}
	wantOutcome(t, again, model.Dispatch{Step: 1})
	p.nothing(model.RunReleased{Task: "another"})
	p.answer(`true`)
	p.want(model.RunSucceeded, model.StepSucceeded, model.StepSucceeded)
}

func TestPauseHoldsTheStartOfARun(t *testing.T) {
	t.Parallel()
	p := enter(t, 2, `{"Upn":"ann@x","Kind":"User"}`)
	p.mode = model.Paused
	wantOutcome(t, p.on(model.RunStarted{}), released())
	p.want(model.RunWaiting, model.StepPending)
	if d := p.on(model.RunStarted{}); !d.Repeated {
		t.Fatalf("%+v", d)
	}
	p.mode = model.Running
	wantOutcome(t, p.on(model.RunReleased{Task: "r"}), model.Dispatch{Step: 0})
	p.want(model.RunRunning, model.StepDispatched)
}

func TestPauseHoldsARetryUntilItIsOver(t *testing.T) {
	t.Parallel()
	p := enter(t, 2, `{"Upn":"ann@x","Kind":"User"}`)
	p.on(model.RunStarted{})
	p.mode = model.Paused
	p.refuse("busy")
	p.after(30 * time.Second)
	wantOutcome(t, p.on(model.RetryDue{Step: 0, Count: 1}), released())
	p.after(time.Hour)
	p.mode = model.Running
	wantOutcome(t, p.on(model.RunReleased{Task: "r"}), model.Dispatch{Step: 0})
	if s := p.step(); p.jobID() != "step-20000017000-retry-1" || s.Attempts != 1 {
		t.Fatalf("%+v", s)
	}
}

func TestTimeForPollingDoesNotRunWhileItIsHeld(t *testing.T) {
	t.Parallel()
	p := enter(t, 3, `{"UserId":"u"}`) // polls every 30 s, for 70 s
	p.on(model.RunStarted{})
	p.mode = model.Paused
	p.answer(`{"complete":false}`)
	p.after(30 * time.Second)
	wantOutcome(t, p.on(model.PollDue{Step: 0, Count: 1}), released())
	p.want(model.RunRunning, model.StepPolling)
	p.after(time.Hour)
	p.mode = model.Running
	wantOutcome(t, p.on(model.RunReleased{Task: "r"}), model.Dispatch{Step: 0})
	d := p.answer(`{"complete":false}`)
	wantOutcome(t, d, model.Dispatch{Step: 0, At: p.at.Add(30 * time.Second)})
	p.after(30 * time.Second)
	d = p.answer(`{"complete":false}`)
	wantOutcome(t, d, model.Poll{Step: 0, At: p.at.Add(10 * time.Second)})
	p.after(10 * time.Second)
	p.on(model.PollDue{Step: 0, Count: 3})
	p.want(model.RunFailed, model.StepPollTimeout)
}

func TestClockThatIsSetBackDuringAPauseTakesNoTimeFromPolling(t *testing.T) {
	t.Parallel()
	p := enter(t, 3, `{"UserId":"u"}`)
	p.on(model.RunStarted{})
	p.mode = model.Paused
	p.answer(`{"complete":false}`)
	began := *p.step().PollStartedAt
	p.after(30 * time.Second)
	p.on(model.PollDue{Step: 0, Count: 1})
	p.after(-time.Hour)
	p.mode = model.Running
	p.on(model.RunReleased{Task: "r"})
	if got := *p.step().PollStartedAt; !got.Equal(began) {
		t.Fatalf("polling began at %s, was %s", got, began)
	}
}

func TestPauseHoldsARollback(t *testing.T) {
	t.Parallel()
	p := undoable(t)
	p.answer(`{"id":1}`)
	p.mode = model.Paused
	wantOutcome(t, p.refuse("no"), released())
	p.want(model.RunRollingBack)
	p.mode = model.Running
	wantOutcome(t, p.on(model.RunReleased{Task: "r"}), model.Dispatch{Step: 3})
}

func TestPausedBatchBeginsNothingAndResumesWhatItHeld(t *testing.T) {
	t.Parallel()
	c := batchOf(t, source, false)
	c.must(model.PhaseDue{Phase: 1})
	c.initEnds(true)
	c.must(model.PhaseDue{Phase: 2})
	c.must(model.BatchPaused{By: by})
	if d := c.must(model.BatchPaused{By: model.Attribution{By: "bob"}}); !d.Repeated || c.b.Paused.By != "ada" {
		t.Fatalf("paused again: %+v", d)
	}
	c.wantStale(model.PhaseDue{Phase: 2})
	wantOutcome(t, c.must(model.PageFannedOut{Phase: 2, Page: 3})) // a page was on its way
	c.wantStale(model.PhaseDue{Phase: 3})
	d := c.must(model.BatchResumed{})
	if c.b.Paused != nil || len(outcome(d)) != 2 || outcome(d)[0] != any(model.Release{}) || outcome(d)[1].(model.Announce).Phase != 3 {
		t.Fatalf("effects %v", d.Messages)
	}
	again := c.must(model.BatchResumed{})
	if !again.Repeated || len(outcome(again)) != 2 {
		t.Fatalf("resumed again: %+v", again)
	}
}

func TestResumeContinuesTheFanOutAndTheInitThatThePauseDelayed(t *testing.T) {
	t.Parallel()
	c := batchOf(t, source, false)
	c.must(model.BatchPaused{By: by})
	c.wantStale(model.PhaseDue{Phase: 1})
	d := c.must(model.BatchResumed{})
	if len(outcome(d)) != 2 || outcome(d)[1].(model.Announce).Phase != 1 {
		t.Fatalf("init is not announced: %v", d.Messages)
	}
	c.must(model.PhaseDue{Phase: 1})
	c.initEnds(true)
	c.must(model.PhaseDue{Phase: 2})
	c.must(model.BatchPaused{By: by})
	d = c.must(model.BatchResumed{})
	if len(outcome(d)) != 2 || outcome(d)[1].(model.Announce).Phase != 2 {
		t.Fatalf("the fan-out is not taken up: %v", d.Messages)
	}
}

func TestManualBatchThatIsPausedIsNotAdvanced(t *testing.T) {
	t.Parallel()
	c := manual(t)
	c.must(model.BatchPaused{By: by})
	_, err := c.on(next(c.b))
	wantRefusal(t, err, "paused by ada")
}

func TestBatchThatHasNotBegunIsCancelledAtOnce(t *testing.T) {
	t.Parallel()
	c := manual(t)
	wantOutcome(t, c.must(model.BatchCancelRequested{By: by}))
	c.wantBatch(model.BatchCancelled)
	for _, p := range c.b.Phases {
		if p.Status != model.PhaseCancelled {
			t.Fatalf("phase %s is %s", p.Name, p.Status)
		}
	}
	if d := c.must(model.BatchCancelRequested{By: by}); !d.Repeated {
		t.Fatalf("cancelled again: %+v", d)
	}
	if d := c.must(model.BatchDrained{}); !d.Repeated {
		t.Fatalf("drained again: %+v", d)
	}
}

func TestCancelStopsWhatIsUnderWayAndBeginsNothing(t *testing.T) {
	t.Parallel()
	c := manual(t)
	c.must(next(c.b))
	c.initEnds(true)
	c.must(next(c.b))
	c.must(model.PageFannedOut{Phase: 2, Page: 3})
	c.must(model.BatchPaused{By: by})
	revoke := model.Revoke{Through: by.At.Add(5 * time.Second)}
	wantOutcome(t, c.must(model.BatchCancelRequested{By: by}), revoke, model.CancelRuns{})
	c.wantBatch(model.BatchCancelling)
	if c.b.Paused != nil || c.b.Cancelled == nil || c.b.DispatchMode() != model.Cancelled {
		t.Fatalf("paused %v, cancelled %v", c.b.Paused, c.b.Cancelled)
	}
	c.wantPhase(3, model.PhaseCancelled, "cancelled")
	if d := c.must(model.BatchCancelRequested{By: by}); !d.Repeated {
		t.Fatalf("cancelled again: %+v", d)
	} else {
		wantOutcome(t, d, revoke, model.CancelRuns{})
	}
	c.wantStale(model.PhaseDue{Phase: 3})
	for _, e := range []model.Event{next(c.b), model.BatchPaused{}, model.BatchResumed{}, model.MembersJoined{Members: 1}} {
		_, err := c.on(e)
		wantRefusal(t, err, "batch 42 is being cancelled: ")
	}
	c.counts(2, 10, 0)
	c.wantBatch(model.BatchCancelling)
	c.must(model.BatchDrained{})
	c.wantBatch(model.BatchCancelled)
	c.wantPhase(2, model.PhaseCompleted, "")
	if d := c.must(model.BatchDrained{}); !d.Repeated {
		t.Fatalf("drained again: %+v", d)
	}
}

func TestCancelledRunEndsWithTheJobInFlight(t *testing.T) {
	t.Parallel()
	p := enter(t, 2, `{"Upn":"ann@x","Kind":"User"}`)
	p.member, _ = runstate.Enter(p.member, 3)
	p.on(model.RunStarted{})
	job := p.jobID()
	p.mode = model.Cancelled
	p.nothing(model.RunCancelRequested{Reason: "the batch is cancelled"})
	p.want(model.RunRunning, model.StepDispatched, model.StepPending)
	result := model.StepResult{Step: 0, JobID: job, OK: true, Result: []byte(`{"id":1}`)}
	d := p.on(result)
	p.want(model.RunCancelled, model.StepSucceeded, model.StepCancelled)
	wantOutcome(t, d, model.CountRun{Outcome: model.RunCancelled}, start(3))
	if p.member.Status != model.MemberActive {
		t.Fatalf("member %s", p.member.Status)
	}
	p.nothing(model.RunCancelRequested{Reason: "the batch is cancelled"})
	if d := p.on(result); !d.Repeated {
		t.Fatalf("the result again: %+v", d)
	}
	if string(p.member.WorkerData["UserId"]) != "1" {
		t.Fatalf("worker data %v", p.member.WorkerData)
	}
}

func TestJobThatWasRevokedIsDispatchedAgainWhenTheBatchIsResumed(t *testing.T) {
	t.Parallel()
	p := enter(t, 3, `{"UserId":"u"}`)
	p.on(model.RunStarted{})
	p.answer(`{"complete":false}`)
	began := *p.run.Steps[0].PollStartedAt
	p.after(30 * time.Second)
	revoked := model.StepResult{Step: 0, JobID: p.jobID(), Error: "revoked", Revoked: true}
	p.mode = model.Paused
	p.after(time.Second)
	wantOutcome(t, p.on(revoked), released())
	p.want(model.RunRunning, model.StepPending)
	p.after(time.Hour)
	p.mode = model.Running
	wantOutcome(t, p.on(model.RunReleased{}), model.Dispatch{Step: 0})
	if s := p.step(); p.jobID() == revoked.JobID || !s.PollStartedAt.Equal(began.Add(time.Hour)) {
		t.Fatalf("dispatched again as %+v", s)
	}
	p.answer(`{"complete":false}`)
	p.want(model.RunRunning, model.StepPolling)
}

// Its batch was resumed within the time that the revocation covers.
func TestJobThatWasRevokedThoughItsBatchGoesOnIsDispatchedABitLater(t *testing.T) {
	t.Parallel()
	p := enter(t, 2, `{"Upn":"ann@x","Kind":"User"}`)
	p.on(model.RunStarted{})
	seen := map[string]bool{}
	for range 100 {
		if seen[p.jobID()] {
			t.Fatalf("job %s was dispatched before", p.jobID())
		}
		seen[p.jobID()] = true
		d := p.on(model.StepResult{Step: 0, JobID: p.jobID(), Error: "revoked", Revoked: true})
		at := p.at.Add(5 * time.Second)
		wantOutcome(t, d, model.Retry{Step: 0, At: at})
		p.nothing(model.RetryDue{Step: 0}) // of the time before
		p.after(5 * time.Second)
		wantOutcome(t, p.on(model.RetryDue{Step: 0}), model.Dispatch{Step: 0})
	}
	p.on(model.StepResult{Step: 0, JobID: p.jobID(), Error: "revoked", Revoked: true})
	p.want(model.RunFailed, model.StepFailed, model.StepCancelled)
}

func TestPauseRevokesWhatWasDispatchedAndIsRepeatable(t *testing.T) {
	t.Parallel()
	c := manual(t)
	wantOutcome(t, c.must(model.BatchPaused{By: by}), model.Revoke{Through: by.At.Add(5 * time.Second)})
	wantOutcome(t, c.must(model.BatchPaused{By: model.Attribution{By: "bea", At: now.Add(time.Hour)}}), model.Revoke{Through: by.At.Add(5 * time.Second)})
	c.must(model.BatchResumed{})
	if r := engine.Revocation(&c.b); r != nil {
		t.Fatalf("a batch that goes on revokes %v", r)
	}
}

// The stop of a batch may come to a run after its next event.
func TestNothingMoreIsDispatchedForACancelledBatch(t *testing.T) {
	t.Parallel()
	for name, event := range map[string]func(p *person){
		"a result":  func(p *person) { p.answer(`{"id":1}`) },
		"a failure": func(p *person) { p.refuse("no") },
		"a result after a pause": func(p *person) {
			p.mode = model.Paused
			p.answer(`{"id":1}`)
			p.mode = model.Cancelled
			p.on(model.RunReleased{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := enter(t, 2, `{"Upn":"ann@x","Kind":"User"}`)
			p.on(model.RunStarted{})
			p.mode = model.Cancelled
			event(p)
			p.want(model.RunCancelled)
			if p.member.Status != model.MemberActive {
				t.Fatalf("member %s", p.member.Status)
			}
		})
	}
	t.Run("a poll", func(t *testing.T) {
		t.Parallel()
		p := enter(t, 3, `{"UserId":"u"}`)
		p.on(model.RunStarted{})
		p.mode = model.Paused
		p.answer(`{"complete":false}`)
		p.mode = model.Cancelled
		p.on(model.PollDue{Step: 0, Count: 1})
		p.want(model.RunCancelled, model.StepCancelled)
	})
	t.Run("a start", func(t *testing.T) {
		t.Parallel()
		p := enter(t, 2, `{"Upn":"ann@x","Kind":"User"}`)
		p.mode = model.Cancelled
		wantOutcome(t, p.on(model.RunStarted{}), model.CountRun{Outcome: model.RunCancelled})
	})
}

func TestStepThatFailsInACancelledBatchIsNotRolledBack(t *testing.T) {
	t.Parallel()
	p := undoable(t)
	p.answer(`{"id":1}`)
	p.mode = model.Cancelled
	p.refuse("no")
	p.want(model.RunCancelled, model.StepSucceeded, model.StepFailed, model.StepCancelled)
}

func TestCancelLetsARollbackFinish(t *testing.T) {
	t.Parallel()
	p := undoable(t)
	p.answer(`{"id":1}`)
	p.refuse("no")
	p.mode = model.Cancelled
	p.nothing(model.RunCancelRequested{Reason: "the batch is cancelled"})
	p.answer(`true`)
	p.want(model.RunRollingBack)
	p.answer(`true`)
	p.want(model.RunFailed)
}

// A cancelled batch is never resumed, so nothing else would take it up.
func TestCancelLetsARollbackGoOnThatAPauseHeld(t *testing.T) {
	t.Parallel()
	p := undoable(t)
	p.answer(`{"id":1}`)
	p.mode = model.Paused
	p.refuse("no")
	p.nothing(model.RunCancelRequested{Reason: "the member was removed"})
	p.mode = model.Cancelled
	wantOutcome(t, p.on(model.RunCancelRequested{Reason: "the batch is cancelled"}), model.Dispatch{Step: 3})
	p.want(model.RunRollingBack)
}

func TestInitThatEndsAfterTheCancelDoesNotBringTheBatchBack(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(p *person){
		"succeeded": func(p *person) { p.answer(`true`) },
		"failed":    func(p *person) { p.refuse("no"); p.answer(`true`) },
		"revoked": func(p *person) {
			p.mode = model.Cancelled
			p.on(model.StepResult{Step: 0, JobID: p.jobID(), Error: "revoked", Revoked: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := initOf(t, undoing)
			wantOutcome(t, p.onBatch(model.BatchCancelRequested{By: by}), model.Revoke{Through: by.At.Add(5 * time.Second)}, model.CancelRuns{})
			end(p)
			if p.batch.Status != model.BatchCancelling || !p.batch.Phases[0].Status.Terminal() {
				t.Fatalf("batch %s, init %s", p.batch.Status, p.batch.Phases[0].Status)
			}
			p.onBatch(model.BatchDrained{})
			if p.batch.Status != model.BatchCancelled {
				t.Fatalf("batch %s", p.batch.Status)
			}
		})
	}
}

func TestPhaseWhoseOnCompleteStepsDidNotRunIsCancelledWithItsBatch(t *testing.T) {
	t.Parallel()
	c := batchOf(t, merging, true)
	c.must(next(c.b))
	c.must(model.PageFannedOut{Phase: 1, Page: 3})
	c.must(model.BatchCancelRequested{By: by})
	wantOutcome(t, c.counts(1, 100, 0))
	c.must(model.BatchDrained{})
	c.wantPhase(1, model.PhaseCancelled, "cancelled")
}

func TestOnCompleteStepsEndWithTheirBatch(t *testing.T) {
	t.Parallel()
	p := onComplete(t)
	p.onBatch(model.BatchCancelRequested{By: by})
	p.mode = model.Cancelled
	p.nothing(model.RunCancelRequested{Reason: "the batch is cancelled"})
	p.refuse("no")
	p.want(model.RunCancelled)
	p.onBatch(model.BatchDrained{})
	if p.batch.Status != model.BatchCancelled || p.batch.Phases[0].Status != model.PhaseCancelled {
		t.Fatalf("batch %s, phase %s", p.batch.Status, p.batch.Phases[0].Status)
	}
}
