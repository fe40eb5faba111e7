package engine_test

import (
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
)

const prepared = header + `
init: [{name: prepare, worker_id: w1, function: Prepare}]
phases:
  - name: create
    offset: T-1d
    steps: [{name: new, worker_id: w1, function: New}]
  - name: move
    offset: T-0
    steps: [{name: copy, worker_id: w1, function: Copy}]
`

// halfway is a scheduled batch, an hour before its second phase is due; the first
// is under way.
func halfway(t *testing.T) *crowd {
	t.Helper()
	c := &crowd{t: t, rb: read(t, prepared), at: now}
	start := now.Add(time.Hour)
	c.b = engine.NewBatch(42, c.rb, 1, 100, &start, "", now)
	c.must(engine.PhaseDue{Phase: 1})
	c.endInit(1, true)
	c.must(engine.PhaseDue{Phase: 2})
	c.must(engine.PhaseWalked{Phase: 2, Pages: 3})
	return c
}

// endInit starts the init run of an execution and lets it succeed or fail.
func (c *crowd) endInit(phase int, ok bool) engine.Decision {
	c.t.Helper()
	p := &person{t: c.t, rb: c.rb, batch: c.b, at: c.at}
	p.without(phase)
	var d engine.Decision
	if ok {
		d = p.answer(`true`)
	} else {
		d = p.refuse("no")
	}
	c.b = p.batch
	return d
}

func TestNewVersionSupersedesWhatIsPendingAndSkipsWhatIsPastDue(t *testing.T) {
	t.Parallel()
	c := halfway(t)
	wantOutcome(t, c.must(engine.VersionPublished{Version: 2}))
	c.wantPhase(2, engine.PhaseDispatched, "")
	c.wantPhase(3, engine.PhaseSuperseded, "superseded by version 2")
	c.wantPhase(4, engine.PhaseSkipped, "past due when version 2 was published")
	c.wantPhase(5, engine.PhasePending, "")
	if len(c.b.Phases) != 5 || c.b.Version != 2 || c.phase(5).Version != 2 || c.phase(2).Version != 1 {
		t.Fatalf("%+v", c.b.Phases)
	}
	c.counts(2, 100, 0)
	c.wantPhase(2, engine.PhaseCompleted, "")
	c.wantBatch(engine.BatchActive)
	c.at = now.Add(time.Hour)
	c.wantStale(engine.PhaseDue{Phase: 3})
	c.wantStale(engine.PhaseDue{Phase: 4})
	c.through(5, 100, 0)
	c.wantBatch(engine.BatchCompleted)
}

func TestNewVersionRunsWhatIsPastDueAgainWhereAsked(t *testing.T) {
	t.Parallel()
	c := halfway(t)
	d := c.must(engine.VersionPublished{Version: 2, Rerun: true})
	c.wantPhase(4, engine.PhasePending, "")
	if len(outcome(d)) != 1 || outcome(d)[0].(engine.Announce).Phase != 4 {
		t.Fatalf("effects %v", d.Messages)
	}
	c.must(engine.PhaseDue{Phase: 4})
	c.wantPhase(4, engine.PhaseDispatched, "")
}

func TestNewVersionIsTakenOnce(t *testing.T) {
	t.Parallel()
	c := halfway(t)
	c.must(engine.VersionPublished{Version: 2})
	for _, version := range []int{2, 1} {
		c.wantStale(engine.VersionPublished{Version: version, Rerun: true, RerunInit: true})
	}
	c.must(engine.BatchStopped{By: by})
	c.wantStale(engine.VersionPublished{Version: 3})
}

func TestInitIsRunAgainForANewVersionOnlyIfAsked(t *testing.T) {
	t.Parallel()
	c := halfway(t)
	d := c.must(engine.VersionPublished{Version: 2, RerunInit: true})
	c.wantBatch(engine.BatchDetected)
	if len(outcome(d)) != 1 || outcome(d)[0].(engine.Announce).Phase != 4 || c.phase(4).Kind != engine.KindInit {
		t.Fatalf("effects %v", d.Messages)
	}
	c.at = now.Add(2 * time.Hour)
	c.wantStale(engine.PhaseDue{Phase: 6})
	c.must(engine.PhaseDue{Phase: 4})
	c.wantBatch(engine.BatchInitDispatched)
	c.counts(2, 100, 0) // what is under way goes on meanwhile
	c.wantPhase(2, engine.PhaseCompleted, "")
	d = c.endInit(4, true)
	c.wantBatch(engine.BatchActive)
	if len(outcome(d)) != 1 || outcome(d)[0].(engine.Announce).Phase != 6 {
		t.Fatalf("effects %v", d.Messages)
	}
}

// Nothing else would come that ends the batch.
func TestBatchEndsWithTheInitThatWasRunAgainWhereNothingIsLeftToDo(t *testing.T) {
	t.Parallel()
	c := halfway(t)
	c.at = now.Add(2 * time.Hour)
	c.must(engine.PhaseDue{Phase: 3})
	c.must(engine.PhaseWalked{Phase: 3, Pages: 3})
	c.must(engine.VersionPublished{Version: 2, RerunInit: true}) // 4: init
	c.must(engine.PhaseDue{Phase: 4})
	c.counts(2, 100, 0)
	c.counts(3, 100, 0)
	c.wantBatch(engine.BatchInitDispatched)
	c.endInit(4, true)
	c.wantBatch(engine.BatchCompleted)
}

func TestNewVersionWhileInitRunsWaitsForIt(t *testing.T) {
	t.Parallel()
	for _, ok := range []bool{true, false} {
		c := &crowd{t: t, rb: read(t, prepared), at: now}
		start := now.Add(time.Hour)
		c.b = engine.NewBatch(42, c.rb, 1, 100, &start, "", now)
		c.must(engine.PhaseDue{Phase: 1})
		wantOutcome(t, c.must(engine.VersionPublished{Version: 2, Rerun: true, RerunInit: true}))
		c.wantStale(engine.PhaseDue{Phase: 4})
		d := c.endInit(1, ok)
		c.wantBatch(engine.BatchDetected)
		if len(outcome(d)) != 1 || outcome(d)[0].(engine.Announce).Phase != 4 {
			t.Fatalf("effects %v", d.Messages)
		}
		c.must(engine.PhaseDue{Phase: 4})
		c.endInit(4, true)
		c.wantBatch(engine.BatchActive)
	}
}

func TestInitThatHasNotBegunIsTheNewVersions(t *testing.T) {
	t.Parallel()
	c := &crowd{t: t, rb: read(t, prepared), at: now}
	start := now.Add(time.Hour)
	c.b = engine.NewBatch(42, c.rb, 1, 100, &start, "", now)
	d := c.must(engine.VersionPublished{Version: 2})
	c.wantPhase(1, engine.PhaseSuperseded, "version 2")
	if len(outcome(d)) != 1 || outcome(d)[0].(engine.Announce).Phase != 4 {
		t.Fatalf("effects %v", d.Messages)
	}
	c.rb = read(t, three)
	c.must(engine.VersionPublished{Version: 3, Rerun: true})
	c.wantBatch(engine.BatchActive) // the newest version has no init
}

func TestBatchDoesNotWaitForAnInitThatANewerVersionDoesNotHave(t *testing.T) {
	t.Parallel()
	c := halfway(t)
	c.must(engine.VersionPublished{Version: 2, RerunInit: true})
	c.wantBatch(engine.BatchDetected)
	c.rb = read(t, three)
	c.must(engine.VersionPublished{Version: 3})
	c.wantBatch(engine.BatchActive)
}

func TestInitThatFailsForANewVersionLetsFinishWhatIsUnderWayAndFailsTheBatch(t *testing.T) {
	t.Parallel()
	c := halfway(t)
	c.must(engine.VersionPublished{Version: 2, RerunInit: true})
	c.must(engine.PhaseDue{Phase: 4})
	wantOutcome(t, c.endInit(4, false))
	c.wantBatch(engine.BatchActive)
	c.wantPhase(6, engine.PhaseCancelled, "init failed")
	c.counts(2, 100, 0)
	c.wantBatch(engine.BatchFailed)
	if c.b.Error != `init failed: step "prepare": no` {
		t.Fatalf("error %q", c.b.Error)
	}
}

func TestInitThatIsRetriedBringsBackWhatItsFailureCancelled(t *testing.T) {
	t.Parallel()
	p := initOf(t, prepared)
	p.refuse("no")
	if p.batch.Status != engine.BatchFailed {
		t.Fatalf("batch %s", p.batch.Status)
	}
	wantOutcome(t, p.retrySequence("t"), start(1))
	if p.batch.Status != engine.BatchInitDispatched || p.batch.Error != "" || p.batch.CompletedAt != nil {
		t.Fatalf("batch %s: %s", p.batch.Status, p.batch.Error)
	}
	p.on(engine.RunStarted{})
	p.answer(`true`)
	if p.batch.Status != engine.BatchActive {
		t.Fatalf("batch %s", p.batch.Status)
	}

	c := halfway(t)
	c.must(engine.VersionPublished{Version: 2, RerunInit: true})
	c.must(engine.PhaseDue{Phase: 4})
	p = &person{t: t, rb: c.rb, batch: c.b, at: now}
	p.without(4)
	p.refuse("no")
	p.retrySequence("t")
	if got := p.batch.Phases[5]; got.Status != engine.PhasePending || got.Reason != "" {
		t.Fatalf("phase %+v", got)
	}
	if d := p.retrySequence("t"); !d.Repeated {
		t.Fatalf("%+v", d)
	}
	_, err := p.tryRetrySequence("another")
	wantRefusal(t, err, "have not failed")
}

func TestFailedInitOfAnOldVersionIsNotRetried(t *testing.T) {
	t.Parallel()
	c := &crowd{t: t, rb: read(t, prepared), at: now}
	start := now.Add(time.Hour)
	c.b = engine.NewBatch(42, c.rb, 1, 100, &start, "", now)
	c.must(engine.PhaseDue{Phase: 1})
	c.must(engine.VersionPublished{Version: 2, RerunInit: true})
	p := &person{t: t, rb: c.rb, batch: c.b, at: now}
	p.without(1)
	p.refuse("no")
	old := p.run
	_, err := p.tryRetrySequence("t")
	wantRefusal(t, err, "newer")
	p.onBatch(engine.PhaseDue{Phase: 4})
	p.without(4)
	p.refuse("no")
	last := p.run
	p.run = old
	_, err = p.tryRetrySequence("t") // the batch has failed for the other one
	wantRefusal(t, err, "newer")
	p.run = last
	p.retrySequence("t")
}

func TestManualBatchSkipsThePhasesThatItWasAdvancedTo(t *testing.T) {
	t.Parallel()
	c := midway(t)
	c.must(engine.VersionPublished{Version: 4}) // 4: create, 5: move, 6: clean
	c.wantPhase(4, engine.PhaseSkipped, "past due")
	c.wantPhase(5, engine.PhaseSkipped, "past due")
	c.wantPhase(6, engine.PhasePending, "")
	_, err := c.on(next(c.b))
	wantRefusal(t, err, `still in phase "move"`)
	c.counts(2, 100, 0)
	wantOutcome(t, c.must(next(c.b)), engine.Announce{Phase: 6})
}

func TestWorkUnderWayEndsUnderTheVersionThatBeganIt(t *testing.T) {
	t.Parallel()
	p := enter(t, 3, `{"UserId":"u"}`)
	p.on(engine.RunStarted{})
	p.answer(`{"complete":false}`)
	p.onBatchVersion(4)
	p.after(30 * time.Second)
	wantOutcome(t, p.on(engine.PollDue{Step: 0, Count: 1}), engine.Dispatch{Step: 0})
	if p.run.Version != 3 {
		t.Fatalf("the run is of version %d", p.run.Version)
	}
	p.answer(`{"complete":true}`)
	p.want(engine.RunSucceeded)
}

func (p *person) onBatchVersion(version int) {
	p.t.Helper()
	p.onBatch(engine.VersionPublished{Version: version})
	if p.batch.Version != version {
		p.t.Fatalf("the batch is of version %d", p.batch.Version)
	}
}

func TestInitThatFailedIsRunForANewerVersionWithoutAsking(t *testing.T) {
	t.Parallel()
	c := halfway(t)
	c.must(engine.VersionPublished{Version: 2, RerunInit: true})
	c.must(engine.PhaseDue{Phase: 4})
	p := &person{t: t, rb: c.rb, batch: c.b, at: now}
	p.without(4)
	p.refuse("no")
	c.b, c.at = p.batch, now.Add(2*time.Hour)
	c.must(engine.VersionPublished{Version: 3, Rerun: true}) // 7: init, 8: create, 9: move
	c.wantBatch(engine.BatchDetected)
	p.batch = c.b
	_, err := p.tryRetrySequence("t")
	wantRefusal(t, err, "newer")
	c.must(engine.PhaseDue{Phase: 7})
	c.endInit(7, true)
	c.through(8, 100, 0)
	c.through(9, 100, 0)
	c.counts(2, 100, 0)
	c.wantBatch(engine.BatchCompleted)
}

func TestInitThatFailedDoesNotFailABatchWhoseNewerVersionHasNone(t *testing.T) {
	t.Parallel()
	c := halfway(t)
	c.must(engine.VersionPublished{Version: 2, RerunInit: true})
	c.must(engine.PhaseDue{Phase: 4})
	p := &person{t: t, rb: c.rb, batch: c.b, at: now}
	p.without(4)
	p.refuse("no")
	c.b, c.at, c.rb = p.batch, now.Add(2*time.Hour), read(t, three)
	c.must(engine.VersionPublished{Version: 3, Rerun: true}) // 7: create, 8: move, 9: clean
	for phase := 7; phase <= 9; phase++ {
		c.through(phase, 100, 0)
	}
	p.batch = c.b
	_, err := p.tryRetrySequence("t")
	wantRefusal(t, err, "newer")
	c.counts(2, 100, 0)
	c.wantBatch(engine.BatchCompleted)
}

// Members would else come to the newer version's first, on the pages that the walk
// has not reached.
func TestPhaseOfANewerVersionWaitsForTheWalkOfAnOlderOnes(t *testing.T) {
	t.Parallel()
	c := halfway(t)
	c.at = now.Add(time.Hour)
	c.counts(2, 100, 0)
	c.must(engine.PhaseDue{Phase: 3})
	wantOutcome(t, c.must(engine.VersionPublished{Version: 2, Rerun: true})) // 4: create, 5: move
	c.wantStale(engine.PhaseDue{Phase: 4})
	d := c.must(engine.PhaseWalked{Phase: 3, Pages: 3})
	if len(outcome(d)) != 1 || outcome(d)[0].(engine.Announce).Phase != 4 {
		t.Fatalf("effects %v", d.Messages)
	}
}

func TestGateOfANewVersionLooksAtThePhaseBeforeOfItsOwn(t *testing.T) {
	t.Parallel()
	c := batchOf(t, gated, false)
	c.through(1, 100, 0)
	c.must(engine.PhaseApproved{Phase: 2, By: by})
	c.through(2, 0, 100) // "move" failed for all, which the newer version makes good
	c.b.Status, c.b.CompletedAt, c.b.Ended = engine.BatchActive, nil, false
	c.must(engine.VersionPublished{Version: 4, Rerun: true}) // 3: create, 4: move
	c.through(3, 100, 0)
	c.wantPhase(4, engine.PhasePending, "approval")
}

// Nobody has been through it: it would be lost to all.
func TestPhaseThatWasDueAndStillWaitedIsNotSkipped(t *testing.T) {
	t.Parallel()
	c := batchOf(t, gated, false)
	c.through(1, 100, 0)
	c.wantPhase(2, engine.PhasePending, "approval")
	c.must(engine.VersionPublished{Version: 4}) // 3: create, 4: move
	c.wantPhase(2, engine.PhaseSuperseded, "version 4")
	c.wantPhase(3, engine.PhaseSkipped, "past due")
	c.wantPhase(4, engine.PhasePending, "approval")
}

// Corrected while it was paused: what fell due meanwhile is the corrected version's.
func TestPhaseThatFellDueWhileItsBatchWasPausedIsNotSkipped(t *testing.T) {
	t.Parallel()
	c := halfway(t)
	c.counts(2, 100, 0)
	c.must(engine.BatchPaused{By: by})
	c.at = now.Add(2 * time.Hour)               // "move" fell due an hour ago
	c.must(engine.VersionPublished{Version: 2}) // 4: create, 5: move
	c.wantPhase(3, engine.PhaseSuperseded, "version 2")
	c.wantPhase(4, engine.PhaseSkipped, "past due")
	c.wantPhase(5, engine.PhasePending, "")
	d := c.must(engine.BatchResumed{})
	if len(outcome(d)) != 2 || outcome(d)[1].(engine.Announce).Phase != 5 {
		t.Fatalf("effects %v", d.Messages)
	}
	c.through(5, 100, 0)
	c.wantBatch(engine.BatchCompleted)
}

// A removal keeps the batch open after its init has failed, and a version comes.
func TestPhaseOfANewVersionWaitsForTheInitThatFailed(t *testing.T) {
	t.Parallel()
	c := &crowd{t: t, rb: read(t, prepared+"on_member_removed: [{name: stop, worker_id: w1, function: Stop}]\n"), at: now}
	start := now.Add(time.Hour)
	c.b = engine.NewBatch(42, c.rb, 1, 100, &start, "", now)
	c.must(engine.PhaseDue{Phase: 1})
	leaver := &person{t: t, rb: c.rb, batch: c.b, member: engine.Member{ID: 1, Page: 1, Status: engine.MemberActive}, at: now}
	leaver.leaves()
	c.b = leaver.batch
	c.endInit(1, false)
	c.must(engine.VersionPublished{Version: 2})
	again, create, move := 0, 0, 0
	for _, p := range c.b.Phases {
		switch {
		case p.Version == 2 && p.Kind == engine.KindInit:
			again = p.ID
		case p.Version == 2 && p.Name == "create":
			create = p.ID
		case p.Version == 2 && p.Name == "move":
			move = p.ID
		}
	}
	if again == 0 || create == 0 || move == 0 {
		t.Fatalf("phases %+v", c.b.Phases)
	}
	c.wantBatch(engine.BatchDetected)
	c.at = start
	c.wantStale(engine.PhaseDue{Phase: move})
	c.must(engine.PhaseDue{Phase: again})
	c.endInit(again, true)
	c.through(create, 99, 0)
	c.must(engine.PhaseDue{Phase: move})
	c.wantPhase(move, engine.PhaseDispatched, "")
}

// TestDuePhaseThatAFailedInitCancelledIsNotSkipped: a phase that was due, or falls due before the
// newer version is published, and that a failed init kept from beginning has done nothing for
// any member.
func TestDuePhaseThatAFailedInitCancelledIsNotSkipped(t *testing.T) {
	t.Parallel()
	c := &crowd{t: t, rb: read(t, prepared+"on_member_removed: [{name: stop, worker_id: w1, function: Stop}]\n"), at: now}
	start := now.Add(time.Hour)
	c.b = engine.NewBatch(42, c.rb, 1, 100, &start, "", now) // 1: init, 2: create (due), 3: move
	c.must(engine.PhaseDue{Phase: 1})
	leaver := &person{t: t, rb: c.rb, batch: c.b, member: engine.Member{ID: 1, Page: 1, Status: engine.MemberActive}, at: now}
	leaver.leaves() // 4: the removal steps, which keep the batch open
	c.b = leaver.batch
	c.endInit(1, false)
	c.wantPhase(2, engine.PhaseCancelled, "init failed")
	c.at = now.Add(2 * time.Hour)
	for i, init := range []int{5, 8} { // and behind it create and move
		c.must(engine.VersionPublished{Version: 2 + i})
		c.wantPhase(init+1, engine.PhasePending, "")
		c.wantPhase(init+2, engine.PhasePending, "")
		c.must(engine.PhaseDue{Phase: init})
		c.endInit(init, i == 1)
	}
	c.through(9, 99, 0)
	c.through(10, 99, 0)
	c.wantPhase(10, engine.PhaseCompleted, "")
}

// TestPhaseThatBeganAfterAFailedInitIsSkipped: only the latest version of a phase counts. An
// earlier one that a failed init cancelled does not have the members do it a second time.
func TestPhaseThatBeganAfterAFailedInitIsSkipped(t *testing.T) {
	t.Parallel()
	c := halfway(t)
	c.must(engine.VersionPublished{Version: 2, RerunInit: true}) // 4: init, 5: create, 6: move
	c.must(engine.PhaseDue{Phase: 4})
	c.endInit(4, false)
	c.wantPhase(6, engine.PhaseCancelled, "init failed")
	c.at = now.Add(2 * time.Hour)
	c.must(engine.VersionPublished{Version: 3}) // 7: init, 8: create, 9: move
	c.wantPhase(8, engine.PhaseSkipped, "past due")
	c.must(engine.PhaseDue{Phase: 7})
	c.endInit(7, true)
	c.through(9, 100, 0)
	c.must(engine.VersionPublished{Version: 4}) // 10: create, 11: move
	c.wantPhase(10, engine.PhaseSkipped, "past due")
	c.wantPhase(11, engine.PhaseSkipped, "past due")
}

func TestBatchThatEndedOnceStaysWithItsVersion(t *testing.T) {
	t.Parallel()
	f := failedAt(t, 0)
	f.must(engine.MemberRetried{Member: 17, Task: "t"})
	c := crowd{t: t, b: f.batch, rb: f.rb}
	c.wantBatch(engine.BatchActive)
	c.wantStale(engine.VersionPublished{Version: 4, Rerun: true})
}

// Each storm holds what is foreseen of a version to what comes about.
func TestWhatAVersionDoesIsForeseen(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 7))
	runbooks := allVersions(t)
	seen := map[string]bool{}
	for range 400 {
		s := newSystem(runbooks, random.IntN, t.Fatalf)
		s.live()
		maps.Copy(seen, s.foreseen)
	}
	for _, kind := range []string{"stays", "ends", "under way", "superseded", "skipped", "again", "pending", "init", "init again"} {
		if !seen[kind] {
			t.Errorf("no batch had %q foreseen", kind)
		}
	}
}

func TestWhyABatchStaysWithItsVersionIsForeseen(t *testing.T) {
	t.Parallel()
	for reason, b := range map[string]engine.Batch{
		"it is being cancelled":                          {Version: 1, Status: engine.BatchCancelling},
		"it has ended (completed)":                       {Version: 1, Status: engine.BatchCompleted},
		"it had ended, and only a retry opened it again": {Version: 1, Status: engine.BatchActive, Ended: true},
		"it follows version 2 already":                   {Version: 2, Status: engine.BatchActive},
	} {
		s, err := engine.Foresee(&b, read(t, prepared), engine.VersionPublished{Version: 2, Rerun: true, RerunInit: true}, now)
		if err != nil || s.Stays != reason || s.Pending != nil {
			t.Errorf("%+v, %v; want %q", s, err, reason)
		}
	}
}
