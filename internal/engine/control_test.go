package engine_test

import (
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
)

func TestPauseKeepsTheResultAndHoldsTheNextStep(t *testing.T) {
	t.Parallel()
	p := enter(t, 2, `{"Upn":"ann@x","Kind":"User"}`)
	p.on(engine.RunStarted{})
	p.gate = engine.Paused
	result := engine.StepResult{Step: 0, JobID: p.step().JobID, OK: true, Result: []byte(`{"id":1}`)}
	d := p.on(result)
	p.want(engine.RunRunning, engine.StepSucceeded, engine.StepPending)
	wantOutcome(t, d, released())
	if p.run.HeldAt == nil || p.run.DeadlineAt != nil || p.run.WakeAt != nil {
		t.Fatalf("held at %v, with a deadline %v and a wake-up %v", p.run.HeldAt, p.run.DeadlineAt, p.run.WakeAt)
	}
	if d := p.on(result); !d.Repeated {
		t.Fatalf("%+v", d)
	} else {
		wantOutcome(t, d, released())
	}
	p.nothing(engine.RunReleased{Task: "r"})
	p.gate = engine.Open
	wantOutcome(t, p.on(engine.RunReleased{Task: "r"}), engine.Dispatch{Step: 1})
	again := p.on(engine.RunReleased{Task: "r"})
	if !again.Repeated {
		t.Fatalf("released again: %+v", again)
	}
	wantOutcome(t, again, engine.Dispatch{Step: 1})
	p.nothing(engine.RunReleased{Task: "another"})
	p.answer(`true`)
	p.want(engine.RunSucceeded, engine.StepSucceeded, engine.StepSucceeded)
}

func TestPauseHoldsTheStartOfARun(t *testing.T) {
	t.Parallel()
	p := enter(t, 2, `{"Upn":"ann@x","Kind":"User"}`)
	p.gate = engine.Paused
	wantOutcome(t, p.on(engine.RunStarted{}), released())
	p.want(engine.RunWaiting, engine.StepPending)
	if d := p.on(engine.RunStarted{}); !d.Repeated {
		t.Fatalf("%+v", d)
	}
	p.gate = engine.Open
	wantOutcome(t, p.on(engine.RunReleased{Task: "r"}), engine.Dispatch{Step: 0})
	p.want(engine.RunRunning, engine.StepDispatched)
}

func TestPauseHoldsARetryUntilItIsOver(t *testing.T) {
	t.Parallel()
	p := enter(t, 2, `{"Upn":"ann@x","Kind":"User"}`)
	p.on(engine.RunStarted{})
	p.gate = engine.Paused
	p.refuse("busy")
	p.after(30 * time.Second)
	wantOutcome(t, p.on(engine.RetryDue{Step: 0, Count: 1}), released())
	p.after(time.Hour)
	p.gate = engine.Open
	wantOutcome(t, p.on(engine.RunReleased{Task: "r"}), engine.Dispatch{Step: 0})
	if s := p.step(); s.JobID != "step-20000017000-retry-1" || s.Attempts != 1 {
		t.Fatalf("%+v", s)
	}
}

func TestTimeForPollingDoesNotRunWhileItIsHeld(t *testing.T) {
	t.Parallel()
	p := enter(t, 3, `{"UserId":"u"}`) // polls every 30 s, for 70 s
	p.on(engine.RunStarted{})
	p.answer(`{"complete":false}`)
	p.gate = engine.Paused
	p.after(30 * time.Second)
	wantOutcome(t, p.on(engine.PollDue{Step: 0, Count: 1}), released())
	p.want(engine.RunRunning, engine.StepPolling)
	p.after(time.Hour)
	p.gate = engine.Open
	wantOutcome(t, p.on(engine.RunReleased{Task: "r"}), engine.Dispatch{Step: 0})
	d := p.answer(`{"complete":false}`)
	wantOutcome(t, d, engine.Poll{Step: 0, At: p.at.Add(30 * time.Second)})
	p.after(30 * time.Second)
	p.on(engine.PollDue{Step: 0, Count: 2})
	d = p.answer(`{"complete":false}`)
	wantOutcome(t, d, engine.Poll{Step: 0, At: p.at.Add(10 * time.Second)})
	p.after(10 * time.Second)
	p.on(engine.PollDue{Step: 0, Count: 3})
	p.want(engine.RunFailed, engine.StepPollTimeout)
}

func TestClockThatIsSetBackDuringAPauseTakesNoTimeFromPolling(t *testing.T) {
	t.Parallel()
	p := enter(t, 3, `{"UserId":"u"}`)
	p.on(engine.RunStarted{})
	p.answer(`{"complete":false}`)
	began := *p.step().PollStartedAt
	p.gate = engine.Paused
	p.after(30 * time.Second)
	p.on(engine.PollDue{Step: 0, Count: 1})
	p.after(-time.Hour)
	p.gate = engine.Open
	p.on(engine.RunReleased{Task: "r"})
	if got := *p.step().PollStartedAt; !got.Equal(began) {
		t.Fatalf("polling began at %s, was %s", got, began)
	}
}

func TestPauseHoldsARollback(t *testing.T) {
	t.Parallel()
	p := undoable(t)
	p.answer(`{"id":1}`)
	p.gate = engine.Paused
	wantOutcome(t, p.refuse("no"), released())
	p.want(engine.RunRollingBack)
	p.gate = engine.Open
	wantOutcome(t, p.on(engine.RunReleased{Task: "r"}), engine.Dispatch{Step: 3})
}

func TestPausedBatchBeginsNothingAndResumesWhatItHeld(t *testing.T) {
	t.Parallel()
	c := batchOf(t, source, false)
	c.must(engine.PhaseDue{Phase: 1})
	c.initEnds(true)
	c.must(engine.PhaseDue{Phase: 2})
	c.must(engine.BatchPaused{By: by})
	if d := c.must(engine.BatchPaused{By: engine.Mark{By: "bob"}}); !d.Repeated || c.b.Paused.By != "ada" {
		t.Fatalf("paused again: %+v", d)
	}
	c.wantStale(engine.PhaseDue{Phase: 2})
	wantOutcome(t, c.must(engine.PhaseWalked{Phase: 2, Pages: 3})) // a page was on its way
	c.wantStale(engine.PhaseDue{Phase: 3})
	d := c.must(engine.BatchResumed{})
	if c.b.Paused != nil || len(outcome(d)) != 2 || outcome(d)[0] != any(engine.Release{}) || outcome(d)[1].(engine.Announce).Phase != 3 {
		t.Fatalf("effects %v", d.Messages)
	}
	again := c.must(engine.BatchResumed{})
	if !again.Repeated || len(outcome(again)) != 2 {
		t.Fatalf("resumed again: %+v", again)
	}
}

func TestResumeTakesUpTheWalkAndTheInitThatThePauseHeldUp(t *testing.T) {
	t.Parallel()
	c := batchOf(t, source, false)
	c.must(engine.BatchPaused{By: by})
	c.wantStale(engine.PhaseDue{Phase: 1})
	d := c.must(engine.BatchResumed{})
	if len(outcome(d)) != 2 || outcome(d)[1].(engine.Announce).Phase != 1 {
		t.Fatalf("init is not announced: %v", d.Messages)
	}
	c.must(engine.PhaseDue{Phase: 1})
	c.initEnds(true)
	c.must(engine.PhaseDue{Phase: 2})
	c.must(engine.BatchPaused{By: by})
	d = c.must(engine.BatchResumed{})
	if len(outcome(d)) != 2 || outcome(d)[1].(engine.Announce).Phase != 2 {
		t.Fatalf("the walk is not taken up: %v", d.Messages)
	}
}

func TestManualBatchThatIsPausedIsNotAdvanced(t *testing.T) {
	t.Parallel()
	c := manual(t)
	c.must(engine.BatchPaused{By: by})
	_, err := c.on(next(c.b))
	wantRefusal(t, err, "paused by ada")
}

func TestBatchThatHasNotBegunIsCancelledAtOnce(t *testing.T) {
	t.Parallel()
	c := manual(t)
	wantOutcome(t, c.must(engine.BatchStopped{By: by}))
	c.wantBatch(engine.BatchCancelled)
	for _, p := range c.b.Phases {
		if p.Status != engine.PhaseCancelled {
			t.Fatalf("phase %s is %s", p.Name, p.Status)
		}
	}
	if d := c.must(engine.BatchStopped{By: by}); !d.Repeated {
		t.Fatalf("cancelled again: %+v", d)
	}
	c.wantStale(engine.BatchDrained{})
}

func TestCancelStopsWhatIsUnderWayAndBeginsNothing(t *testing.T) {
	t.Parallel()
	c := manual(t)
	c.must(next(c.b))
	c.initEnds(true)
	c.must(next(c.b))
	c.must(engine.PhaseWalked{Phase: 2, Pages: 3})
	c.must(engine.BatchPaused{By: by})
	revoke := engine.Revoke{Through: by.At.Add(5 * time.Second)}
	wantOutcome(t, c.must(engine.BatchStopped{By: by}), revoke, engine.Stop{})
	c.wantBatch(engine.BatchCancelling)
	if c.b.Paused != nil || c.b.Cancelled == nil || c.b.Gate() != engine.Stopped {
		t.Fatalf("paused %v, cancelled %v", c.b.Paused, c.b.Cancelled)
	}
	c.wantPhase(3, engine.PhaseCancelled, "cancelled")
	if d := c.must(engine.BatchStopped{By: by}); !d.Repeated {
		t.Fatalf("cancelled again: %+v", d)
	} else {
		wantOutcome(t, d, revoke, engine.Stop{})
	}
	c.wantStale(engine.PhaseDue{Phase: 3})
	for _, e := range []engine.Event{next(c.b), engine.BatchPaused{}, engine.BatchResumed{}, engine.MembersJoined{Members: 1}} {
		_, err := c.on(e)
		wantRefusal(t, err, "batch 42 is being cancelled: ")
	}
	c.counts(2, 10, 0)
	c.wantBatch(engine.BatchCancelling)
	c.must(engine.BatchDrained{})
	c.wantBatch(engine.BatchCancelled)
	c.wantPhase(2, engine.PhaseCompleted, "")
	c.wantStale(engine.BatchDrained{})
}

func TestCancelledRunEndsWithTheJobInFlight(t *testing.T) {
	t.Parallel()
	p := enter(t, 2, `{"Upn":"ann@x","Kind":"User"}`)
	p.member, _ = engine.Enter(p.member, 3)
	p.on(engine.RunStarted{})
	job := p.step().JobID
	p.gate = engine.Stopped
	p.nothing(engine.RunStopped{Reason: "the batch is cancelled"})
	p.want(engine.RunRunning, engine.StepDispatched, engine.StepPending)
	result := engine.StepResult{Step: 0, JobID: job, OK: true, Result: []byte(`{"id":1}`)}
	d := p.on(result)
	p.want(engine.RunCancelled, engine.StepSucceeded, engine.StepCancelled)
	wantOutcome(t, d, engine.CountRun{Outcome: engine.RunCancelled}, start(3))
	if p.member.Status != engine.MemberActive {
		t.Fatalf("member %s", p.member.Status)
	}
	p.nothing(engine.RunStopped{Reason: "the batch is cancelled"})
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
	p.on(engine.RunStarted{})
	p.answer(`{"complete":false}`)
	began := *p.run.Steps[0].PollStartedAt
	p.after(30 * time.Second)
	p.on(engine.PollDue{Step: 0, Count: 1})
	revoked := engine.StepResult{Step: 0, JobID: p.step().JobID, Error: "revoked", Revoked: true}
	p.gate = engine.Paused
	p.after(time.Second)
	wantOutcome(t, p.on(revoked), released())
	p.want(engine.RunRunning, engine.StepPending)
	p.after(time.Hour)
	p.gate = engine.Open
	wantOutcome(t, p.on(engine.RunReleased{Task: "resumed"}), engine.Dispatch{Step: 0})
	if s := p.step(); s.JobID == revoked.JobID || !s.PollStartedAt.Equal(began.Add(time.Hour)) {
		t.Fatalf("dispatched again as %+v", s)
	}
	p.answer(`{"complete":false}`)
	p.want(engine.RunRunning, engine.StepPolling)
}

// Its batch was resumed within the time that the revocation covers.
func TestJobThatWasRevokedThoughItsBatchGoesOnIsDispatchedABitLater(t *testing.T) {
	t.Parallel()
	p := enter(t, 2, `{"Upn":"ann@x","Kind":"User"}`)
	p.on(engine.RunStarted{})
	seen := map[string]bool{}
	for range 100 {
		if seen[p.step().JobID] {
			t.Fatalf("job %s was dispatched before", p.step().JobID)
		}
		seen[p.step().JobID] = true
		d := p.on(engine.StepResult{Step: 0, JobID: p.step().JobID, Error: "revoked", Revoked: true})
		at := p.at.Add(5 * time.Second)
		wantOutcome(t, d, engine.Retry{Step: 0, At: at})
		p.nothing(engine.RetryDue{Step: 0}) // of the time before
		p.after(5 * time.Second)
		wantOutcome(t, p.on(engine.RetryDue{Step: 0}), engine.Dispatch{Step: 0})
	}
	p.on(engine.StepResult{Step: 0, JobID: p.step().JobID, Error: "revoked", Revoked: true})
	p.want(engine.RunFailed, engine.StepFailed, engine.StepCancelled)
}

func TestPauseRevokesWhatWasDispatchedAndIsRepeatable(t *testing.T) {
	t.Parallel()
	c := manual(t)
	wantOutcome(t, c.must(engine.BatchPaused{By: by}), engine.Revoke{Through: by.At.Add(5 * time.Second)})
	wantOutcome(t, c.must(engine.BatchPaused{By: engine.Mark{By: "bea", At: now.Add(time.Hour)}}), engine.Revoke{Through: by.At.Add(5 * time.Second)})
	c.must(engine.BatchResumed{})
	if r := c.b.Revocation(); r != nil {
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
			p.gate = engine.Paused
			p.answer(`{"id":1}`)
			p.gate = engine.Stopped
			p.on(engine.RunReleased{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := enter(t, 2, `{"Upn":"ann@x","Kind":"User"}`)
			p.on(engine.RunStarted{})
			p.gate = engine.Stopped
			event(p)
			p.want(engine.RunCancelled)
			if p.member.Status != engine.MemberActive {
				t.Fatalf("member %s", p.member.Status)
			}
		})
	}
	t.Run("a poll", func(t *testing.T) {
		t.Parallel()
		p := enter(t, 3, `{"UserId":"u"}`)
		p.on(engine.RunStarted{})
		p.answer(`{"complete":false}`)
		p.gate = engine.Stopped
		p.on(engine.PollDue{Step: 0, Count: 1})
		p.want(engine.RunCancelled, engine.StepCancelled)
	})
	t.Run("a start", func(t *testing.T) {
		t.Parallel()
		p := enter(t, 2, `{"Upn":"ann@x","Kind":"User"}`)
		p.gate = engine.Stopped
		wantOutcome(t, p.on(engine.RunStarted{}), engine.CountRun{Outcome: engine.RunCancelled})
	})
}

func TestStepThatFailsInACancelledBatchIsNotRolledBack(t *testing.T) {
	t.Parallel()
	p := undoable(t)
	p.answer(`{"id":1}`)
	p.gate = engine.Stopped
	p.refuse("no")
	p.want(engine.RunCancelled, engine.StepSucceeded, engine.StepFailed, engine.StepCancelled)
}

func TestCancelLetsARollbackFinish(t *testing.T) {
	t.Parallel()
	p := undoable(t)
	p.answer(`{"id":1}`)
	p.refuse("no")
	p.gate = engine.Stopped
	p.nothing(engine.RunStopped{Reason: "the batch is cancelled"})
	p.answer(`true`)
	p.want(engine.RunRollingBack)
	p.answer(`true`)
	p.want(engine.RunFailed)
}

// A cancelled batch is never resumed, so nothing else would take it up.
func TestCancelLetsARollbackGoOnThatAPauseHeld(t *testing.T) {
	t.Parallel()
	p := undoable(t)
	p.answer(`{"id":1}`)
	p.gate = engine.Paused
	p.refuse("no")
	p.nothing(engine.RunStopped{Reason: "the member was removed"})
	p.gate = engine.Stopped
	wantOutcome(t, p.on(engine.RunStopped{Reason: "the batch is cancelled"}), engine.Dispatch{Step: 3})
	p.want(engine.RunRollingBack)
}

func TestInitThatEndsAfterTheCancelDoesNotBringTheBatchBack(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(p *person){
		"succeeded": func(p *person) { p.answer(`true`) },
		"failed":    func(p *person) { p.refuse("no"); p.answer(`true`) },
		"revoked": func(p *person) {
			p.gate = engine.Stopped
			p.on(engine.StepResult{Step: 0, JobID: p.step().JobID, Error: "revoked", Revoked: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := initOf(t, undoing)
			wantOutcome(t, p.onBatch(engine.BatchStopped{By: by}), engine.Revoke{Through: by.At.Add(5 * time.Second)}, engine.Stop{})
			end(p)
			if p.batch.Status != engine.BatchCancelling || !p.batch.Phases[0].Status.Terminal() {
				t.Fatalf("batch %s, init %s", p.batch.Status, p.batch.Phases[0].Status)
			}
			p.onBatch(engine.BatchDrained{})
			if p.batch.Status != engine.BatchCancelled {
				t.Fatalf("batch %s", p.batch.Status)
			}
		})
	}
}

func TestPhaseWhoseOnCompleteStepsDidNotRunIsCancelledWithItsBatch(t *testing.T) {
	t.Parallel()
	c := batchOf(t, merging, true)
	c.must(next(c.b))
	c.must(engine.PhaseWalked{Phase: 1, Pages: 3})
	c.must(engine.BatchStopped{By: by})
	wantOutcome(t, c.counts(1, 100, 0))
	c.must(engine.BatchDrained{})
	c.wantPhase(1, engine.PhaseCancelled, "cancelled")
}

func TestOnCompleteStepsEndWithTheirBatch(t *testing.T) {
	t.Parallel()
	p := merge(t)
	p.onBatch(engine.BatchStopped{By: by})
	p.gate = engine.Stopped
	p.nothing(engine.RunStopped{Reason: "the batch is cancelled"})
	p.refuse("no")
	p.want(engine.RunCancelled)
	p.onBatch(engine.BatchDrained{})
	if p.batch.Status != engine.BatchCancelled || p.batch.Phases[0].Status != engine.PhaseCancelled {
		t.Fatalf("batch %s, phase %s", p.batch.Status, p.batch.Phases[0].Status)
	}
}
