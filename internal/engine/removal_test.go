package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/model"
)

const removing = header + `
phases:
  - name: move
    offset: T-0
    steps: [{name: copy, worker_id: w1, function: Copy, params: {Name: "{{Upn}}"}, on_failure: undo}]
on_member_removed:
  - {name: stop, worker_id: w1, function: Stop, params: {Name: "{{Upn}}"}}
  - {name: tell, worker_id: w1, function: Tell}
rollbacks:
  undo: [{name: remove, worker_id: w1, function: Remove}]
`

// removed returns a removed member of the first phase.
func removed(t *testing.T) *person {
	t.Helper()
	p := enterOf(t, read(t, removing), 1, `{"Upn":"ann@x"}`)
	p.on(model.RunStarted{})
	p.leaves()
	return p
}

func (p *person) leaves() model.Decision {
	p.t.Helper()
	d, err := engine.Decide(model.MemoryState{Batch: &p.batch, Members: []*model.Member{&p.member}, Runbook: p.rb}, model.MemberLeft{Member: p.member.ID}, p.at)
	if err != nil {
		p.t.Fatal(err)
	}
	if len(d.Members) > 0 {
		p.member = *d.Members[0]
	}
	if d.Batch != nil {
		p.batch = *d.Batch
	}
	return d
}

func TestRemovalEndsWhatIsUnderWayAndThenRunsTheRemovalSteps(t *testing.T) {
	t.Parallel()
	p := removed(t)
	if p.member.Status != model.MemberRemoved || !p.member.Leaving || p.member.Removal != 2 || p.member.RemovedAt == nil {
		t.Fatalf("member %+v", p.member)
	}
	execution := p.batch.Phases[1]
	if execution.Kind != model.KindRemoval || execution.Open != 1 || execution.Status != model.PhaseDispatched {
		t.Fatalf("execution %+v", execution)
	}
	var free bool
	if p.member, free = runstate.Enter(p.member, 2); free {
		t.Fatal("the removal steps do not wait for the phase")
	}
	wantOutcome(t, p.on(model.RunCancelRequested{Reason: "the member was removed"})) // not before the job in flight has ended
	p.want(model.RunRunning, model.StepDispatched)
	wantOutcome(t, p.answer(`true`), model.CountRun{Outcome: model.RunSucceeded}, start(2))
	var err error
	if p.run, err = runstate.New(&p.batch, execution, &p.member, p.rb, p.at); err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, p.on(model.RunStarted{}), model.Dispatch{Step: 0})
	if p.jobID() != "step-20000017000-attempt-1" || string(p.step().Params) != `{"Name":"ann@x"}` {
		t.Fatalf("dispatched %s %s", p.jobID(), p.step().Params)
	}
	p.answer(`true`)
	wantOutcome(t, p.answer(`true`), model.CountRemoval{Outcome: model.RunSucceeded})
	if p.member.Status != model.MemberRemoved || p.member.Error != "" {
		t.Fatalf("member %+v", p.member)
	}
}

func TestRemovalAskedForAgainCountsOnce(t *testing.T) {
	t.Parallel()
	p := removed(t)
	d := p.leaves()
	if !d.Repeated || d.Batch != nil || p.batch.Phases[1].Open != 1 {
		t.Fatalf("%+v", d)
	}
	wantOutcome(t, d, model.Remove{})
}

func TestRemovalStepsAreOneExecutionForAllMembersOfAVersion(t *testing.T) {
	t.Parallel()
	p := removed(t)
	p.member = model.Member{ID: 18, Page: 1, Status: model.MemberActive}
	p.leaves()
	if len(p.batch.Phases) != 2 || p.batch.Phases[1].Open != 2 {
		t.Fatalf("executions %+v", p.batch.Phases)
	}
	p.batch.Version = 4
	p.member = model.Member{ID: 19, Page: 1, Status: model.MemberActive}
	p.leaves()
	if len(p.batch.Phases) != 3 || p.batch.Phases[2].Version != 4 || p.member.Removal != 3 {
		t.Fatalf("executions %+v", p.batch.Phases)
	}
}

func TestRemovalWithoutRemovalStepsOnlyEndsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	p := enter(t, 2, `{"Upn":"ann@x","Kind":"User"}`)
	p.on(model.RunStarted{})
	d := p.leaves()
	wantOutcome(t, d, model.Remove{})
	if d.Batch.Removed != 1 || len(d.Batch.Phases) != len(p.batch.Phases) || p.member.Removal != 0 {
		t.Fatalf("%+v", d)
	}
	wantOutcome(t, p.on(model.RunCancelRequested{Reason: "the member was removed"}))
	wantOutcome(t, p.answer(`{"id":1}`), model.CountRun{Outcome: model.RunCancelled})
	p.want(model.RunCancelled, model.StepSucceeded, model.StepCancelled)
	if p.run.Error != "the member was removed" || p.run.CancelReason != "" {
		t.Fatalf("the run ended with %q, stopping %q", p.run.Error, p.run.CancelReason)
	}
}

// Else what the job does would come after what undoes it.
func TestRunOfARemovedMemberEndsWithItsJobInFlight(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(p *person) model.Decision
		want model.StepStatus
	}{
		"a failure, which is neither retried nor rolled back": {func(p *person) model.Decision { return p.refuse("no") }, model.StepFailed},
		"an answer that is not complete":                      {func(p *person) model.Decision { return p.answer(`{"complete":false}`) }, model.StepCancelled},
		"the deadline": {func(p *person) model.Decision {
			p.after(30*time.Minute + runstate.JobGracePeriod)
			return p.on(p.overdue())
		}, model.StepFailed},
		"an expiry": {func(p *person) model.Decision {
			return p.on(model.StepResult{Step: 0, JobID: p.jobID(), Error: "expired", Expired: true})
		}, model.StepCancelled},
		"a revocation": {func(p *person) model.Decision {
			return p.on(model.StepResult{Step: 0, JobID: p.jobID(), Error: "revoked", Revoked: true})
		}, model.StepCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rb := strings.Replace(removing, "function: Copy,", "function: Copy, retry: {max_retries: 3, interval: 1m}, poll: {interval: 1m, timeout: 1h},", 1)
			p := enterOf(t, read(t, rb), 1, `{"Upn":"ann@x"}`)
			p.on(model.RunStarted{})
			p.leaves()
			p.member, _ = runstate.Enter(p.member, 2)
			wantOutcome(t, p.on(model.RunCancelRequested{Reason: "the member was removed"}))
			p.nothing(model.RunCancelRequested{Reason: "the member was removed"})
			wantOutcome(t, c.end(p), model.CountRun{Outcome: model.RunCancelled}, start(2))
			p.want(model.RunCancelled, c.want)
			if p.member.OpenPhase != 2 {
				t.Fatalf("the member is in %d", p.member.OpenPhase)
			}
		})
	}
}

// A job that an administrator no longer waits for may still run: what undoes waits.
func TestUndoWaitsForAJobThatWasSkipped(t *testing.T) {
	t.Parallel()
	rb := strings.Replace(removing, "on_failure: undo}]", "on_failure: undo}, {name: check, worker_id: w1, function: Check, on_failure: undo}]", 1)
	begin := func(t *testing.T) *person {
		p := enterOf(t, read(t, rb), 1, `{"Upn":"ann@x"}`)
		p.on(model.RunStarted{})
		p.on(model.StepResolved{Step: 0, Skip: true, By: by})
		p.want(model.RunRunning, model.StepSkipped, model.StepDispatched)
		return p
	}
	ended := now.Add(30*time.Minute + runstate.JobGracePeriod)
	t.Run("a rollback", func(t *testing.T) {
		t.Parallel()
		p := begin(t)
		wantOutcome(t, p.refuse("no"), model.Retry{Step: 2, At: ended})
		p.want(model.RunRollingBack, model.StepSkipped, model.StepFailed, model.StepPending)
		p.nothing(model.RetryDue{Step: 2}) // a message that comes early
		p.after(ended.Sub(p.at))
		wantOutcome(t, p.on(model.RetryDue{Step: 2}), model.Dispatch{Step: 2})
		if s := p.step(); s.Attempts != 1 || s.RetryCount != 0 || s.RetryAfter != nil {
			t.Fatalf("%+v", s)
		}
	})
	t.Run("a rollback, once the job was answered", func(t *testing.T) {
		t.Parallel()
		p := begin(t)
		p.on(model.StepResult{Step: 0, JobID: p.run.JobID(0), OK: true})
		wantOutcome(t, p.refuse("no"), model.Dispatch{Step: 2})
	})
	t.Run("a removal", func(t *testing.T) {
		t.Parallel()
		p := begin(t)
		p.leaves()
		p.member, _ = runstate.Enter(p.member, 2)
		p.on(model.RunCancelRequested{Reason: "the member was removed"})
		p.answer(`true`)
		var err error
		if p.run, err = runstate.New(&p.batch, p.batch.Phases[1], &p.member, p.rb, p.at); err != nil {
			t.Fatal(err)
		}
		wantOutcome(t, p.on(model.RunStarted{}), model.Retry{Step: 0, At: ended})
		p.after(ended.Sub(p.at))
		wantOutcome(t, p.on(model.RetryDue{Step: 0}), model.Dispatch{Step: 0})
	})
}

func TestRunOfARemovedMemberIsCancelledWhenItWouldBegin(t *testing.T) {
	t.Parallel()
	p := enter(t, 2, `{"Upn":"ann@x","Kind":"User"}`)
	p.member.Status = model.MemberRemoved
	wantOutcome(t, p.on(model.RunStarted{}), model.CountRun{Outcome: model.RunCancelled})
	p.want(model.RunCancelled, model.StepCancelled)
}

func TestRunThatTheMemberHasNotComeToIsLeftToItsTurn(t *testing.T) {
	t.Parallel()
	p := enter(t, 3, `{"UserId":"u"}`)
	p.member.OpenPhase, p.member.Queue = 2, []int{3}
	p.nothing(model.RunCancelRequested{Reason: "the member was removed"})
	p.nothing(model.RunStarted{})
}

func TestRollbackOfARemovedMemberIsCarriedToItsEnd(t *testing.T) {
	t.Parallel()
	p := enterOf(t, read(t, removing), 1, `{"Upn":"ann@x"}`)
	p.on(model.RunStarted{})
	p.refuse("no")
	p.leaves()
	p.nothing(model.RunCancelRequested{Reason: "the member was removed"})
	p.answer(`true`)
	p.want(model.RunFailed)
	if p.member.Status != model.MemberRemoved || p.member.Error == "" {
		t.Fatalf("member %+v", p.member)
	}
}

func TestCancelLetsARemovalBeginAndFinish(t *testing.T) {
	t.Parallel()
	for _, mode := range []model.DispatchMode{model.Cancelled, model.Paused} {
		p := removed(t)
		p.on(model.RunCancelRequested{Reason: "the member was removed"})
		p.member, _ = runstate.Enter(p.member, 2)
		p.answer(`true`)
		var err error
		if p.run, err = runstate.New(&p.batch, p.batch.Phases[1], &p.member, p.rb, p.at); err != nil {
			t.Fatal(err)
		}
		p.mode = mode
		if mode == model.Paused {
			wantOutcome(t, p.on(model.RunStarted{}), released())
			p.mode = model.Cancelled
			wantOutcome(t, p.on(model.RunCancelRequested{Reason: "the batch is cancelled"}), model.Dispatch{Step: 0})
		} else {
			wantOutcome(t, p.on(model.RunStarted{}), model.Dispatch{Step: 0})
		}
		p.nothing(model.RunCancelRequested{Reason: "the batch is cancelled"})
		p.answer(`true`)
		p.refuse("no")
		p.want(model.RunFailed, model.StepSucceeded, model.StepFailed)
		if p.member.Status != model.MemberRemoved || p.member.Error == "" {
			t.Fatalf("member %+v", p.member)
		}
	}
}

func TestBatchEndsOnlyWhenTheRemovalsHave(t *testing.T) {
	t.Parallel()
	p := removed(t)
	p.onBatch(next(p.batch))
	p.onBatch(model.PageFannedOut{Phase: 1, Page: 1})
	c := crowd{t: t, b: p.batch}
	c.counts(1, 1, 0)
	c.wantBatch(model.BatchActive)
	c.b.Phases[1].Open, c.b.Phases[1].Failed = 0, 1
	c.must(model.PhaseCounted{Phase: 2})
	c.wantBatch(model.BatchCompleted) // the removal failed; the migration of the others did not
	c.wantPhase(2, model.PhaseCompleted, "")
}

func TestCancelledBatchWaitsForARemovalThatIsYetToBegin(t *testing.T) {
	t.Parallel()
	p := removed(t)
	p.onBatch(next(p.batch))
	p.onBatch(model.BatchCancelRequested{By: by})
	c := crowd{t: t, b: p.batch}
	c.wantStale(model.BatchDrained{})
	c.b.Phases[1].Open, c.b.Phases[1].Succeeded = 0, 1
	c.must(model.BatchDrained{})
	c.wantBatch(model.BatchCancelled)
	c.wantPhase(2, model.PhaseCompleted, "")
}

func TestNobodyIsRemovedWhoHasFailedOrWhoseBatchHasEnded(t *testing.T) {
	t.Parallel()
	p := enterOf(t, read(t, removing), 1, `{"Upn":"ann@x"}`)
	failed := p.member
	failed.Status = model.MemberFailed
	_, err := engine.Decide(model.MemoryState{Batch: &p.batch, Members: []*model.Member{&failed}, Runbook: p.rb}, model.MemberLeft{Member: 17}, now)
	wantRefusal(t, err, "has failed")
	p.onBatch(model.BatchCancelRequested{By: by})
	_, err = engine.Decide(model.MemoryState{Batch: &p.batch, Members: []*model.Member{&p.member}, Runbook: p.rb}, model.MemberLeft{Member: 17}, now)
	wantRefusal(t, err, "has ended")
	if _, err = engine.Decide(model.MemoryState{Batch: &p.batch, Members: []*model.Member{&p.member}}, model.MemberLeft{Member: 17}, now); err == nil {
		t.Fatal("decided without the runbook")
	}
}

func TestBatchWhoseInitFailedWaitsForTheRemovalsThatHaveBegun(t *testing.T) {
	t.Parallel()
	p := initOf(t, removing+"init: [{name: prepare, worker_id: w1, function: Prepare}]\n")
	p.member = model.Member{ID: 2, Page: 1, Status: model.MemberActive}
	p.leaves()
	p.refuse("no")
	c := crowd{t: t, b: p.batch}
	c.wantBatch(model.BatchActive)
	c.wantPhase(2, model.PhaseCancelled, "init failed")
	c.b.Phases[2].Open, c.b.Phases[2].Succeeded = 0, 1
	c.must(model.PhaseCounted{Phase: 3})
	c.wantBatch(model.BatchFailed)
	if c.b.Error != `init failed: step "prepare": no` {
		t.Fatalf("error %q", c.b.Error)
	}
}
