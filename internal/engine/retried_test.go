package engine_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// failure is a member who failed in the second phase of three, the last of which
// was fanned out since; all members of the page have ended.
type failure struct {
	t      *testing.T
	rb     *runbook.Runbook
	active *runbook.Runbook // version 5; nil: the same
	batch  model.Batch
	member model.Member
	runs   []*model.Run
	shards map[int]*model.Shard
}

const tried = header + `
phases:
  - name: create
    offset: T-2d
    steps: [{name: new, worker_id: w1, function: New}]
  - name: move
    offset: T-1d
    steps:
      - {name: copy, worker_id: w1, function: Copy}
      - {name: switch, worker_id: w1, function: Switch, output_params: {SwitchId: id}, on_failure: undo}
  - name: clean
    offset: T-0
    steps: [{name: tidy, worker_id: w1, function: Tidy}]
rollbacks:
  undo: [{name: remove, worker_id: w1, function: Remove}]
`

// FailedAt is a member who failed at a step of the second phase.
func failedAt(t *testing.T, step int) *failure {
	t.Helper()
	return failedAndUndone(t, step, func(p *person) { p.answer(`{"id":1}`) })
}

// failedAndUndone is FailedAt, with what ends each step of the rollback.
func failedAndUndone(t *testing.T, step int, undo func(p *person)) *failure {
	t.Helper()
	rb := read(t, tried)
	c := &crowd{t: t, rb: rb, b: engine.NewBatch(42, rb, 3, 30, nil, "ada", now)}
	f := &failure{t: t, rb: rb, shards: map[int]*model.Shard{}}
	p := &person{t: t, rb: rb, at: now}
	p.member = model.Member{ID: 17, Page: 1, Key: "ann", Status: model.MemberActive}
	for phase := 1; phase <= 3; phase++ {
		c.must(next(c.b))
		c.must(model.PageFannedOut{Phase: phase, Page: 1})
		shard := &model.Shard{Phase: phase, Page: 1, Runs: 29, Succeeded: 29, Reported: true}
		f.shards[phase] = shard
		if phase < 3 { // who has failed has no run where a phase begins later
			p.batch, p.member.OpenPhase = c.b, phase
			var err error
			if p.run, err = runstate.New(&c.b, c.b.Phases[phase-1], &p.member, rb, now); err != nil {
				t.Fatal(err)
			}
			p.on(model.RunStarted{})
			for i := 0; !p.run.Status.Terminal(); i++ {
				switch {
				case phase == 2 && i == step:
					p.refuse("no")
				case p.run.Status == model.RunRollingBack:
					undo(p)
				default:
					p.answer(`{"id":1}`)
				}
			}
			shard.Runs++
			shard.Count(p.run.Status)
			run := p.run
			f.runs = append(f.runs, &run)
		}
		c.counts(phase, shard.Succeeded, shard.Failed)
	}
	c.wantBatch(model.BatchCompleted)
	f.batch, f.member = c.b, p.member
	if f.member.Status != model.MemberFailed || f.member.OpenPhase != 0 {
		t.Fatalf("member %+v", f.member)
	}
	return f
}

func (f *failure) try(e model.Event) (model.Decision, error) {
	f.t.Helper()
	state := model.MemoryState{Batch: &f.batch, Members: []*model.Member{&f.member}, Runs: f.runs, Shards: slices.Collect(maps.Values(f.shards)), Runbooks: map[int]*runbook.Runbook{3: f.rb, 4: f.rb, 5: cmp.Or(f.active, f.rb)}}
	before := text(f.t, state)
	d, err := engine.Decide(state, e, now)
	if text(f.t, state) != before {
		f.t.Fatalf("%T changed what it was decided on", e)
	}
	if err != nil || d.Batch == nil {
		return d, err
	}
	f.batch, f.member = *d.Batch, *d.Members[0]
	for _, run := range d.Runs {
		known := false
		for i := range f.runs {
			if f.runs[i].Phase == run.Phase {
				f.runs[i], known = run, true
			}
		}
		if !known {
			f.runs = append(f.runs, run)
		}
	}
	for _, s := range d.Shards {
		f.shards[s.Phase] = s
	}
	return d, nil
}

func (f *failure) must(e model.Event) model.Decision {
	f.t.Helper()
	d, err := f.try(e)
	if err != nil {
		f.t.Fatal(err)
	}
	return d
}

// resume is the member's run after the retry.
func (f *failure) resume() *person {
	p := &person{t: f.t, rb: f.rb, batch: f.batch, member: f.member, run: *f.runs[1], at: now}
	if p.run.Version == 5 {
		p.rb = f.active
	}
	p.on(model.RunStarted{})
	return p
}

func TestRetriedMemberBeginsAgainAtTheStepThatFailed(t *testing.T) {
	t.Parallel()
	f := failedAt(t, 0)
	wantOutcome(t, f.must(model.MemberRetried{Member: 17, Task: "t"}), start(2))
	if f.member.Status != model.MemberActive || f.member.Error != "" || f.member.FailedAt != nil || f.member.FailedIn != "" || f.member.OpenPhase != 2 {
		t.Fatalf("member %+v", f.member)
	}
	if f.batch.Status != model.BatchActive || f.batch.CompletedAt != nil {
		t.Fatalf("batch %s", f.batch.Status)
	}
	p := f.resume()
	p.want(model.RunRunning, model.StepDispatched, model.StepPending)
	if p.jobID() != "step-20000017000-attempt-2" {
		t.Fatalf("job %s was sent before", p.jobID())
	}
}

func TestRetriedMemberWhoWasRolledBackBeginsAgainAtTheFirstStep(t *testing.T) {
	t.Parallel()
	f := failedAt(t, 1)
	f.must(model.MemberRetried{Member: 17, Task: "t"})
	p := f.resume()
	p.want(model.RunRunning, model.StepDispatched, model.StepPending, model.StepSucceeded)
	if p.jobID() != "step-20000017000-attempt-2" {
		t.Fatalf("job %s", p.jobID())
	}
	p.answer(`true`)
	p.answer(`{"id":2}`)
	p.want(model.RunSucceeded, model.StepSucceeded, model.StepSucceeded)
	if p.run.Current != 1 {
		t.Fatalf("the run ended at step %d, which undid the attempt before", p.run.Current)
	}

	f = failedAt(t, 1)
	f.must(model.MemberRetried{Member: 17, Task: "t"})
	p = f.resume()
	p.answer(`true`)
	p.refuse("again")
	p.want(model.RunRollingBack)
	if len(p.run.Steps) != 4 || p.jobID() != "step-20000017003-attempt-1" {
		t.Fatalf("the second rollback is step %d of %d, job %s", p.run.Current, len(p.run.Steps), p.jobID())
	}
}

// An administrator skipped the rollback's step while a worker had its job.
func TestRetryWaitsForAnUndoThatWasSkipped(t *testing.T) {
	t.Parallel()
	ended := now.Add(30*time.Minute + runstate.JobGracePeriod)
	skip := func(p *person) { p.on(model.StepResolved{Step: p.run.Current, Skip: true, By: by}) }
	t.Run("in the phase that was undone", func(t *testing.T) {
		t.Parallel()
		f := failedAndUndone(t, 1, skip)
		f.must(model.MemberRetried{Member: 17, Task: "t"})
		p := f.resume()
		p.want(model.RunRunning, model.StepPending, model.StepPending, model.StepSkipped)
		if p.run.WakeAt == nil || !p.run.WakeAt.Equal(ended) {
			t.Fatalf("the first step begins at %v, want %s", p.run.WakeAt, ended)
		}
		p.after(ended.Sub(p.at))
		wantOutcome(t, p.on(model.RetryDue{Step: 0}), model.Dispatch{Step: 0})
	})
	t.Run("in the next one", func(t *testing.T) {
		t.Parallel()
		f := failedAndUndone(t, 1, skip)
		p := &person{t: t, rb: f.rb, batch: f.batch, member: f.member, at: now}
		p.member.Status, p.member.OpenPhase = model.MemberActive, 3
		var err error
		if p.run, err = runstate.New(&p.batch, p.batch.Phases[2], &p.member, p.rb, now); err != nil {
			t.Fatal(err)
		}
		wantOutcome(t, p.on(model.RunStarted{}), model.Retry{Step: 0, At: ended})
	})
	t.Run("of init", func(t *testing.T) {
		t.Parallel()
		p := initOf(t, undoing)
		p.refuse("no")
		skip(p)
		d, err := engine.Decide(model.MemoryState{Batch: &p.batch, Runs: []*model.Run{&p.run}, Runbook: p.rb}, model.SequenceRetried{Phase: 1, Task: "t"}, p.at)
		if err != nil {
			t.Fatal(err)
		}
		p.batch, p.run = *d.Batch, *d.Runs[0]
		wantOutcome(t, p.on(model.RunStarted{}), model.Retry{Step: 0, At: ended})
	})
}

func TestRemovalStepThatWasSkippedKeepsTheMemberBusy(t *testing.T) {
	t.Parallel()
	p := removed(t)
	p.answer(`true`)
	p.member.OpenPhase = 2
	var err error
	if p.run, err = runstate.New(&p.batch, p.batch.Phases[1], &p.member, p.rb, p.at); err != nil {
		t.Fatal(err)
	}
	p.on(model.RunStarted{})
	p.on(model.StepResolved{Step: 0, Skip: true, By: by})
	p.want(model.RunRunning, model.StepSkipped, model.StepDispatched)
	if ended := now.Add(30*time.Minute + runstate.JobGracePeriod); p.member.UndoingUntil == nil || !p.member.UndoingUntil.Equal(ended) {
		t.Fatalf("the member is busy until %v, want %s", p.member.UndoingUntil, ended)
	}
}

func TestPhasesThatARetriedMemberMissedFollowInOrder(t *testing.T) {
	t.Parallel()
	f := failedAt(t, 0)
	d := f.must(model.MemberRetried{Member: 17, Task: "t"})
	if len(f.member.Queue) != 1 || f.member.Queue[0] != 3 || len(d.Runs) != 2 || d.Runs[1].Phase != 3 || d.Runs[1].Status != model.RunWaiting {
		t.Fatalf("queue %v, runs %v", f.member.Queue, d.Runs)
	}
}

func TestPhasesThatANewerVersionRanAgainFollowThatMemberToo(t *testing.T) {
	t.Parallel()
	f := failedAt(t, 0)
	c := &crowd{t: t, rb: f.rb, b: f.batch}
	c.b.Status, c.b.CompletedAt, c.b.Ended = model.BatchActive, nil, false
	c.must(model.VersionPublished{Version: 4, Rerun: true}) // 4: create, 5: move, 6: clean
	c.must(next(c.b))
	c.must(model.PageFannedOut{Phase: 4, Page: 1})
	f.batch, f.shards[4] = c.b, &model.Shard{Phase: 4, Page: 1, Runs: 29, Open: 29}
	f.must(model.MemberRetried{Member: 17, Task: "t"})
	if !slices.Equal(f.member.Queue, []int{3, 4}) {
		t.Fatalf("queue %v", f.member.Queue)
	}
}

func TestRetryTakesBackWhatWasCounted(t *testing.T) {
	t.Parallel()
	f := failedAt(t, 0)
	f.must(model.MemberRetried{Member: 17, Task: "t"})
	for phase, want := range map[int]model.Shard{
		1: {Phase: 1, Page: 1, Runs: 30, Yielded: 1, Succeeded: 30, Reported: true},
		2: {Phase: 2, Page: 1, Runs: 30, Yielded: 1, Open: 1, Succeeded: 29},
		3: {Phase: 3, Page: 1, Runs: 30, Yielded: 1, Open: 1, Succeeded: 29},
	} {
		got := *f.shards[phase]
		if got.YieldedAt = nil; got != want {
			t.Errorf("shard of phase %d: %+v, want %+v", phase, got, want)
		}
	}
	for phase, want := range map[int][4]int{1: {1, 30, 0, 0}, 2: {0, 0, 0, 0}, 3: {0, 0, 0, 0}} {
		p := f.batch.Phases[phase-1]
		if got := [4]int{p.ShardsClosed, p.Succeeded, p.Failed, p.Cancelled}; got != want {
			t.Errorf("phase %d counts %v, want %v", phase, got, want)
		}
		if reopened := p.Status == model.PhaseDispatched; reopened != (phase > 1) || reopened == (p.CompletedAt != nil) {
			t.Errorf("phase %d is %s", phase, p.Status)
		}
	}
}

func TestRunThatWasCancelledBehindTheFailureIsBroughtBack(t *testing.T) {
	t.Parallel()
	f := failedAt(t, 0)
	behind := &person{t: t, rb: f.rb, batch: f.batch, member: f.member, at: now}
	behind.member.OpenPhase = 3
	var err error
	if behind.run, err = runstate.New(&f.batch, f.batch.Phases[2], &f.member, f.rb, now); err != nil {
		t.Fatal(err)
	}
	behind.on(model.RunStarted{})
	behind.want(model.RunCancelled)
	f.runs = append(f.runs, &behind.run)
	f.shards[3] = &model.Shard{Phase: 3, Page: 1, Runs: 30, Succeeded: 29, Cancelled: 1}
	f.must(model.MemberRetried{Member: 17, Task: "t"})
	if got := *f.shards[3]; got != (model.Shard{Phase: 3, Page: 1, Runs: 30, Open: 1, Succeeded: 29}) {
		t.Fatalf("shard %+v", got)
	}
	if r := f.runs[2]; r.Status != model.RunWaiting || r.EndedAt != nil || r.Error != "" || r.Steps[0].Status != model.StepPending {
		t.Fatalf("run %+v", r)
	}
}

// Who joined late goes through the newest execution of each phase, and so may come
// to one of an older version after one of a newer.
func TestRunOfAnOlderVersionThatWasCancelledBehindTheFailureIsBroughtBackToo(t *testing.T) {
	t.Parallel()
	f := failedAt(t, 0)
	first := *f.runs[0]
	first.Status = model.RunCancelled
	f.runs[0] = &first
	f.shards[1] = &model.Shard{Phase: 1, Page: 1, Runs: 30, Succeeded: 29, Cancelled: 1}
	f.must(model.MemberRetried{Member: 17, Task: "t"})
	if f.member.OpenPhase != 2 || !slices.Equal(f.member.Queue, []int{1, 3}) || f.shards[1].Open != 1 {
		t.Fatalf("member %+v, shard %+v", f.member, f.shards[1])
	}
}

// Else the run that is yet to be ended would be lost to the member.
func TestRetryWaitsUntilTheRunsBehindTheFailureHaveEnded(t *testing.T) {
	t.Parallel()
	f := failedAt(t, 0)
	f.member.OpenPhase = 3
	if _, err := f.try(model.MemberRetried{Member: 17, Task: "t"}); !errors.Is(err, model.ErrNotYet) {
		t.Fatalf("got %v", err)
	}
}

func TestRetryLeavesAPhaseThatHasNotComeToTheMembersPageToTheFanOut(t *testing.T) {
	t.Parallel()
	f := failedAt(t, 0)
	delete(f.shards, 3)
	f.runs = slices.DeleteFunc(f.runs, func(r *model.Run) bool { return r.Phase == 3 })
	f.batch.Phases[2].FannedOut = false
	f.must(model.MemberRetried{Member: 17, Task: "t"})
	if f.member.OpenPhase != 2 || slices.Contains(f.member.Queue, 3) {
		t.Fatalf("the member is in %d, then %v", f.member.OpenPhase, f.member.Queue)
	}
}

func TestRetryAskedForTwiceIsOne(t *testing.T) {
	t.Parallel()
	f := failedAt(t, 0)
	f.must(model.MemberRetried{Member: 17, Task: "t"})
	again := f.must(model.MemberRetried{Member: 17, Task: "t"})
	if !again.Repeated || again.Batch != nil {
		t.Fatalf("%+v", again)
	}
	wantOutcome(t, again, start(2))
	p := f.resume()
	p.refuse("again")
	f.member, f.runs[1] = p.member, &p.run
	if d := f.must(model.MemberRetried{Member: 17, Task: "t"}); !d.Repeated || !d.Empty() {
		t.Fatalf("the same request retries a second time: %+v", d)
	}
}

// The start of a run that was cancelled comes late, when the member was retried.
func TestLateStartDoesNotTakeARetriedMemberOutOfItsPhase(t *testing.T) {
	t.Parallel()
	f := failedAt(t, 0)
	f.must(model.MemberRetried{Member: 17, Task: "t"})
	behind := &person{t: t, rb: f.rb, batch: f.batch, member: f.member, run: *f.runs[2], at: now}
	behind.nothing(model.RunStarted{})
}

func TestStepThatAMemberFailedAtIsSkippedOrMarkedDoneWithTheRetry(t *testing.T) {
	t.Parallel()
	f := failedAt(t, 0)
	_, err := f.try(model.MemberRetried{Member: 17, Task: "t", Resolve: &model.StepResolved{Step: 1, Skip: true, By: by}})
	wantRefusal(t, err, `member 17 failed at step "copy", not at step "switch"`)
	f.must(model.MemberRetried{Member: 17, Task: "t", Resolve: &model.StepResolved{Step: 0, Skip: true, By: by}})
	p := f.resume()
	p.want(model.RunRunning, model.StepSkipped, model.StepDispatched)

	f = failedAt(t, 1) // and was rolled back: what came before is done again
	_, err = f.try(model.MemberRetried{Member: 17, Task: "t", Resolve: &model.StepResolved{Step: 1, By: by}})
	wantRefusal(t, err, "the result lacks id")
	f.must(model.MemberRetried{Member: 17, Task: "t", Resolve: &model.StepResolved{Step: 1, Result: json.RawMessage(`{"id":5}`), By: by}})
	p = f.resume()
	p.want(model.RunRunning, model.StepDispatched, model.StepSucceeded)
	wantOutcome(t, p.answer(`true`), model.CountRun{Outcome: model.RunSucceeded}, start(3))
	if string(p.member.WorkerData["SwitchId"]) != "5" {
		t.Fatalf("outputs %v", p.member.WorkerData)
	}
}

func TestNobodyIsRetriedWhoHasNotFailedOrWhoseBatchIsCancelled(t *testing.T) {
	t.Parallel()
	f := failedAt(t, 0)
	f.member.Status = model.MemberRemoved
	_, err := f.try(model.MemberRetried{Member: 17, Task: "t"})
	wantRefusal(t, err, "removed")
	f.member.Status = model.MemberFailed
	f.batch.Status = model.BatchCancelled
	_, err = f.try(model.MemberRetried{Member: 17, Task: "t"})
	wantRefusal(t, err, "cancelled")
}

func TestLateMemberMissesNothingOfPhasesThatHaveNoPartForThePage(t *testing.T) {
	t.Parallel()
	f := failedAt(t, 0)
	delete(f.shards, 3) // the page came after that fan-out, and caught up on a newer execution
	f.must(model.MemberRetried{Member: 17, Task: "t"})
	if len(f.member.Queue) != 0 {
		t.Fatalf("queue %v", f.member.Queue)
	}
}
