package engine_test

import (
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/model"
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
	c.must(model.PhaseDue{Phase: 1})
	c.endInit(1, true)
	c.must(model.PhaseDue{Phase: 2})
	c.must(model.PageFannedOut{Phase: 2, Page: 3})
	return c
}

// endInit starts the init run of an execution and lets it succeed or fail.
func (c *crowd) endInit(phase int, ok bool) model.Decision {
	c.t.Helper()
	p := &person{t: c.t, rb: c.rb, batch: c.b, at: c.at}
	p.without(phase)
	var d model.Decision
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
	wantOutcome(t, c.must(model.VersionPublished{Version: 2}))
	c.wantPhase(2, model.PhaseDispatched, "")
	c.wantPhase(3, model.PhaseSuperseded, "superseded by version 2")
	c.wantPhase(4, model.PhaseSkipped, "past due when version 2 was published")
	c.wantPhase(5, model.PhasePending, "")
	if len(c.b.Phases) != 5 || c.b.Version != 2 || c.phase(5).Version != 2 || c.phase(2).Version != 1 {
		t.Fatalf("%+v", c.b.Phases)
	}
	c.counts(2, 100, 0)
	c.wantPhase(2, model.PhaseCompleted, "")
	c.wantBatch(model.BatchActive)
	c.at = now.Add(time.Hour)
	c.wantStale(model.PhaseDue{Phase: 3})
	c.wantStale(model.PhaseDue{Phase: 4})
	c.through(5, 100, 0)
	c.wantBatch(model.BatchCompleted)
}

func TestNewVersionRunsWhatIsPastDueAgainWhereAsked(t *testing.T) {
	t.Parallel()
	c := halfway(t)
	d := c.must(model.VersionPublished{Version: 2, Rerun: true})
	c.wantPhase(4, model.PhasePending, "")
	if len(outcome(d)) != 1 || outcome(d)[0].(model.Announce).Phase != 4 {
		t.Fatalf("effects %v", d.Messages)
	}
	c.must(model.PhaseDue{Phase: 4})
	c.wantPhase(4, model.PhaseDispatched, "")
}

func TestNewVersionIsTakenOnce(t *testing.T) {
	t.Parallel()
	c := halfway(t)
	c.must(model.VersionPublished{Version: 2})
	for _, version := range []int{2, 1} {
		c.wantStale(model.VersionPublished{Version: version, Rerun: true, RerunInit: true})
	}
	c.must(model.BatchCancelRequested{By: by})
	c.wantStale(model.VersionPublished{Version: 3})
}

func TestInitIsRunAgainForANewVersionOnlyIfAsked(t *testing.T) {
	t.Parallel()
	c := halfway(t)
	d := c.must(model.VersionPublished{Version: 2, RerunInit: true})
	c.wantBatch(model.BatchDetected)
	if len(outcome(d)) != 1 || outcome(d)[0].(model.Announce).Phase != 4 || c.phase(4).Kind != model.KindInit {
		t.Fatalf("effects %v", d.Messages)
	}
	c.at = now.Add(2 * time.Hour)
	c.wantStale(model.PhaseDue{Phase: 6})
	c.must(model.PhaseDue{Phase: 4})
	c.wantBatch(model.BatchInitDispatched)
	c.counts(2, 100, 0) // what is under way goes on meanwhile
	c.wantPhase(2, model.PhaseCompleted, "")
	d = c.endInit(4, true)
	c.wantBatch(model.BatchActive)
	if len(outcome(d)) != 1 || outcome(d)[0].(model.Announce).Phase != 6 {
		t.Fatalf("effects %v", d.Messages)
	}
}

// Nothing else would come that ends the batch.
func TestBatchEndsWithTheInitThatWasRunAgainWhereNothingIsLeftToDo(t *testing.T) {
	t.Parallel()
	c := halfway(t)
	c.at = now.Add(2 * time.Hour)
	c.must(model.PhaseDue{Phase: 3})
	c.must(model.PageFannedOut{Phase: 3, Page: 3})
	c.must(model.VersionPublished{Version: 2, RerunInit: true}) // 4: init
	c.must(model.PhaseDue{Phase: 4})
	c.counts(2, 100, 0)
	c.counts(3, 100, 0)
	c.wantBatch(model.BatchInitDispatched)
	c.endInit(4, true)
	c.wantBatch(model.BatchCompleted)
}

func TestNewVersionWhileInitRunsWaitsForIt(t *testing.T) {
	t.Parallel()
	for _, ok := range []bool{true, false} {
		c := &crowd{t: t, rb: read(t, prepared), at: now}
		start := now.Add(time.Hour)
		c.b = engine.NewBatch(42, c.rb, 1, 100, &start, "", now)
		c.must(model.PhaseDue{Phase: 1})
		wantOutcome(t, c.must(model.VersionPublished{Version: 2, Rerun: true, RerunInit: true}))
		c.wantStale(model.PhaseDue{Phase: 4})
		d := c.endInit(1, ok)
		c.wantBatch(model.BatchDetected)
		if len(outcome(d)) != 1 || outcome(d)[0].(model.Announce).Phase != 4 {
			t.Fatalf("effects %v", d.Messages)
		}
		c.must(model.PhaseDue{Phase: 4})
		c.endInit(4, true)
		c.wantBatch(model.BatchActive)
	}
}

func TestInitThatHasNotBegunIsTheNewVersions(t *testing.T) {
	t.Parallel()
	c := &crowd{t: t, rb: read(t, prepared), at: now}
	start := now.Add(time.Hour)
	c.b = engine.NewBatch(42, c.rb, 1, 100, &start, "", now)
	d := c.must(model.VersionPublished{Version: 2})
	c.wantPhase(1, model.PhaseSuperseded, "version 2")
	if len(outcome(d)) != 1 || outcome(d)[0].(model.Announce).Phase != 4 {
		t.Fatalf("effects %v", d.Messages)
	}
	c.rb = read(t, three)
	c.must(model.VersionPublished{Version: 3, Rerun: true})
	c.wantBatch(model.BatchActive) // the newest version has no init
}

func TestBatchDoesNotWaitForAnInitThatANewerVersionDoesNotHave(t *testing.T) {
	t.Parallel()
	c := halfway(t)
	c.must(model.VersionPublished{Version: 2, RerunInit: true})
	c.wantBatch(model.BatchDetected)
	c.rb = read(t, three)
	c.must(model.VersionPublished{Version: 3})
	c.wantBatch(model.BatchActive)
}

func TestInitThatFailsForANewVersionLetsFinishWhatIsUnderWayAndFailsTheBatch(t *testing.T) {
	t.Parallel()
	c := halfway(t)
	c.must(model.VersionPublished{Version: 2, RerunInit: true})
	c.must(model.PhaseDue{Phase: 4})
	wantOutcome(t, c.endInit(4, false))
	c.wantBatch(model.BatchActive)
	c.wantPhase(6, model.PhaseCancelled, "init failed")
	c.counts(2, 100, 0)
	c.wantBatch(model.BatchFailed)
	if c.b.Error != `init failed: step "prepare": no` {
		t.Fatalf("error %q", c.b.Error)
	}
}

func TestInitThatIsRetriedBringsBackWhatItsFailureCancelled(t *testing.T) {
	t.Parallel()
	p := initOf(t, prepared)
	p.refuse("no")
	if p.batch.Status != model.BatchFailed {
		t.Fatalf("batch %s", p.batch.Status)
	}
	wantOutcome(t, p.retrySequence("t"), start(1))
	if p.batch.Status != model.BatchInitDispatched || p.batch.Error != "" || p.batch.CompletedAt != nil {
		t.Fatalf("batch %s: %s", p.batch.Status, p.batch.Error)
	}
	p.on(model.RunStarted{})
	p.answer(`true`)
	if p.batch.Status != model.BatchActive {
		t.Fatalf("batch %s", p.batch.Status)
	}

	c := halfway(t)
	c.must(model.VersionPublished{Version: 2, RerunInit: true})
	c.must(model.PhaseDue{Phase: 4})
	p = &person{t: t, rb: c.rb, batch: c.b, at: now}
	p.without(4)
	p.refuse("no")
	p.retrySequence("t")
	if got := p.batch.Phases[5]; got.Status != model.PhasePending || got.Reason != "" {
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
	c.must(model.PhaseDue{Phase: 1})
	c.must(model.VersionPublished{Version: 2, RerunInit: true})
	p := &person{t: t, rb: c.rb, batch: c.b, at: now}
	p.without(1)
	p.refuse("no")
	old := p.run
	_, err := p.tryRetrySequence("t")
	wantRefusal(t, err, "newer")
	p.onBatch(model.PhaseDue{Phase: 4})
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
	c.must(model.VersionPublished{Version: 4}) // 4: create, 5: move, 6: clean
	c.wantPhase(4, model.PhaseSkipped, "past due")
	c.wantPhase(5, model.PhaseSkipped, "past due")
	c.wantPhase(6, model.PhasePending, "")
	_, err := c.on(next(c.b))
	wantRefusal(t, err, `still in phase "move"`)
	c.counts(2, 100, 0)
	wantOutcome(t, c.must(next(c.b)), model.Announce{Phase: 6})
}

func TestWorkUnderWayEndsUnderTheVersionThatBeganIt(t *testing.T) {
	t.Parallel()
	p := enter(t, 3, `{"UserId":"u"}`)
	p.on(model.RunStarted{})
	p.answer(`{"complete":false}`)
	p.onBatchVersion(4)
	p.after(30 * time.Second)
	wantOutcome(t, p.answer(`{"complete":false}`), model.Dispatch{Step: 0, At: p.at.Add(30 * time.Second)})
	p.after(30 * time.Second)
	if p.run.Version != 3 {
		t.Fatalf("the run is of version %d", p.run.Version)
	}
	p.answer(`{"complete":true}`)
	p.want(model.RunSucceeded)
}

func (p *person) onBatchVersion(version int) {
	p.t.Helper()
	p.onBatch(model.VersionPublished{Version: version})
	if p.batch.Version != version {
		p.t.Fatalf("the batch is of version %d", p.batch.Version)
	}
}

func TestInitThatFailedIsRunForANewerVersionWithoutAsking(t *testing.T) {
	t.Parallel()
	c := halfway(t)
	c.must(model.VersionPublished{Version: 2, RerunInit: true})
	c.must(model.PhaseDue{Phase: 4})
	p := &person{t: t, rb: c.rb, batch: c.b, at: now}
	p.without(4)
	p.refuse("no")
	c.b, c.at = p.batch, now.Add(2*time.Hour)
	c.must(model.VersionPublished{Version: 3, Rerun: true}) // 7: init, 8: create, 9: move
	c.wantBatch(model.BatchDetected)
	p.batch = c.b
	_, err := p.tryRetrySequence("t")
	wantRefusal(t, err, "newer")
	c.must(model.PhaseDue{Phase: 7})
	c.endInit(7, true)
	c.through(8, 100, 0)
	c.through(9, 100, 0)
	c.counts(2, 100, 0)
	c.wantBatch(model.BatchCompleted)
}

func TestInitThatFailedDoesNotFailABatchWhoseNewerVersionHasNone(t *testing.T) {
	t.Parallel()
	c := halfway(t)
	c.must(model.VersionPublished{Version: 2, RerunInit: true})
	c.must(model.PhaseDue{Phase: 4})
	p := &person{t: t, rb: c.rb, batch: c.b, at: now}
	p.without(4)
	p.refuse("no")
	c.b, c.at, c.rb = p.batch, now.Add(2*time.Hour), read(t, three)
	c.must(model.VersionPublished{Version: 3, Rerun: true}) // 7: create, 8: move, 9: clean
	for phase := 7; phase <= 9; phase++ {
		c.through(phase, 100, 0)
	}
	p.batch = c.b
	_, err := p.tryRetrySequence("t")
	wantRefusal(t, err, "newer")
	c.counts(2, 100, 0)
	c.wantBatch(model.BatchCompleted)
}

// Members would else come to the newer version's first, on the pages that the fan-out
// has not reached.
func TestPhaseOfANewerVersionWaitsForTheFanOutOfAnOlderOnes(t *testing.T) {
	t.Parallel()
	c := halfway(t)
	c.at = now.Add(time.Hour)
	c.counts(2, 100, 0)
	c.must(model.PhaseDue{Phase: 3})
	wantOutcome(t, c.must(model.VersionPublished{Version: 2, Rerun: true})) // 4: create, 5: move
	c.wantStale(model.PhaseDue{Phase: 4})
	d := c.must(model.PageFannedOut{Phase: 3, Page: 3})
	if len(outcome(d)) != 1 || outcome(d)[0].(model.Announce).Phase != 4 {
		t.Fatalf("effects %v", d.Messages)
	}
}

func TestGateOfANewVersionLooksAtThePhaseBeforeOfItsOwn(t *testing.T) {
	t.Parallel()
	c := batchOf(t, gated, false)
	c.through(1, 100, 0)
	c.must(model.PhaseApproved{Phase: 2, By: by})
	c.through(2, 0, 100) // "move" failed for all, which the newer version makes good
	c.b.Status, c.b.CompletedAt, c.b.Ended = model.BatchActive, nil, false
	c.must(model.VersionPublished{Version: 4, Rerun: true}) // 3: create, 4: move
	c.through(3, 100, 0)
	c.wantPhase(4, model.PhasePending, "approval")
}

// No member has completed it: skipping it would lose it for all.
func TestPhaseThatWasDueAndStillWaitedIsNotSkipped(t *testing.T) {
	t.Parallel()
	c := batchOf(t, gated, false)
	c.through(1, 100, 0)
	c.wantPhase(2, model.PhasePending, "approval")
	c.must(model.VersionPublished{Version: 4}) // 3: create, 4: move
	c.wantPhase(2, model.PhaseSuperseded, "version 4")
	c.wantPhase(3, model.PhaseSkipped, "past due")
	c.wantPhase(4, model.PhasePending, "approval")
}

// Corrected while it was paused: what fell due meanwhile is the corrected version's.
func TestPhaseThatFellDueWhileItsBatchWasPausedIsNotSkipped(t *testing.T) {
	t.Parallel()
	c := halfway(t)
	c.counts(2, 100, 0)
	c.must(model.BatchPaused{By: by})
	c.at = now.Add(2 * time.Hour)              // "move" fell due an hour ago
	c.must(model.VersionPublished{Version: 2}) // 4: create, 5: move
	c.wantPhase(3, model.PhaseSuperseded, "version 2")
	c.wantPhase(4, model.PhaseSkipped, "past due")
	c.wantPhase(5, model.PhasePending, "")
	d := c.must(model.BatchResumed{})
	if len(outcome(d)) != 2 || outcome(d)[1].(model.Announce).Phase != 5 {
		t.Fatalf("effects %v", d.Messages)
	}
	c.through(5, 100, 0)
	c.wantBatch(model.BatchCompleted)
}

// A removal keeps the batch open after its init has failed, and a version comes.
func TestPhaseOfANewVersionWaitsForTheInitThatFailed(t *testing.T) {
	t.Parallel()
	c := &crowd{t: t, rb: read(t, prepared+"on_member_removed: [{name: stop, worker_id: w1, function: Stop}]\n"), at: now}
	start := now.Add(time.Hour)
	c.b = engine.NewBatch(42, c.rb, 1, 100, &start, "", now)
	c.must(model.PhaseDue{Phase: 1})
	leaver := &person{t: t, rb: c.rb, batch: c.b, member: model.Member{ID: 1, Page: 1, Status: model.MemberActive}, at: now}
	leaver.leaves()
	c.b = leaver.batch
	c.endInit(1, false)
	c.must(model.VersionPublished{Version: 2})
	again, create, move := 0, 0, 0
	for _, p := range c.b.Phases {
		switch {
		case p.Version == 2 && p.Kind == model.KindInit:
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
	c.wantBatch(model.BatchDetected)
	c.at = start
	c.wantStale(model.PhaseDue{Phase: move})
	c.must(model.PhaseDue{Phase: again})
	c.endInit(again, true)
	c.through(create, 99, 0)
	c.must(model.PhaseDue{Phase: move})
	c.wantPhase(move, model.PhaseDispatched, "")
}

// TestDuePhaseThatAFailedInitCancelledIsNotSkipped: a phase that was due, or falls due before the
// newer version is published, and that a failed init kept from beginning has done nothing for
// any member.
func TestDuePhaseThatAFailedInitCancelledIsNotSkipped(t *testing.T) {
	t.Parallel()
	c := &crowd{t: t, rb: read(t, prepared+"on_member_removed: [{name: stop, worker_id: w1, function: Stop}]\n"), at: now}
	start := now.Add(time.Hour)
	c.b = engine.NewBatch(42, c.rb, 1, 100, &start, "", now) // 1: init, 2: create (due), 3: move
	c.must(model.PhaseDue{Phase: 1})
	leaver := &person{t: t, rb: c.rb, batch: c.b, member: model.Member{ID: 1, Page: 1, Status: model.MemberActive}, at: now}
	leaver.leaves() // 4: the removal steps, which keep the batch open
	c.b = leaver.batch
	c.endInit(1, false)
	c.wantPhase(2, model.PhaseCancelled, "init failed")
	c.at = now.Add(2 * time.Hour)
	for i, init := range []int{5, 8} { // and behind it create and move
		c.must(model.VersionPublished{Version: 2 + i})
		c.wantPhase(init+1, model.PhasePending, "")
		c.wantPhase(init+2, model.PhasePending, "")
		c.must(model.PhaseDue{Phase: init})
		c.endInit(init, i == 1)
	}
	c.through(9, 99, 0)
	c.through(10, 99, 0)
	c.wantPhase(10, model.PhaseCompleted, "")
}

// TestPhaseThatBeganAfterAFailedInitIsSkipped: only the latest version of a phase counts. An
// earlier one that a failed init cancelled does not have the members do it a second time.
func TestPhaseThatBeganAfterAFailedInitIsSkipped(t *testing.T) {
	t.Parallel()
	c := halfway(t)
	c.must(model.VersionPublished{Version: 2, RerunInit: true}) // 4: init, 5: create, 6: move
	c.must(model.PhaseDue{Phase: 4})
	c.endInit(4, false)
	c.wantPhase(6, model.PhaseCancelled, "init failed")
	c.at = now.Add(2 * time.Hour)
	c.must(model.VersionPublished{Version: 3}) // 7: init, 8: create, 9: move
	c.wantPhase(8, model.PhaseSkipped, "past due")
	c.must(model.PhaseDue{Phase: 7})
	c.endInit(7, true)
	c.through(9, 100, 0)
	c.must(model.VersionPublished{Version: 4}) // 10: create, 11: move
	c.wantPhase(10, model.PhaseSkipped, "past due")
	c.wantPhase(11, model.PhaseSkipped, "past due")
}

func TestBatchThatEndedOnceStaysWithItsVersion(t *testing.T) {
	t.Parallel()
	f := failedAt(t, 0)
	f.must(model.MemberRetried{Member: 17, Task: "t"})
	c := crowd{t: t, b: f.batch, rb: f.rb}
	c.wantBatch(model.BatchActive)
	c.wantStale(model.VersionPublished{Version: 4, Rerun: true})
}

// Each storm compares the forecast of a version with its effect.
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
	for reason, b := range map[string]model.Batch{
		"it is being cancelled":                 {Version: 1, Status: model.BatchCancelling},
		"it has ended (completed)":              {Version: 1, Status: model.BatchCompleted},
		"it had ended, and a retry reopened it": {Version: 1, Status: model.BatchActive, Ended: true},
		"it follows version 2 already":          {Version: 2, Status: model.BatchActive},
	} {
		s, err := engine.Foresee(&b, read(t, prepared), model.VersionPublished{Version: 2, Rerun: true, RerunInit: true}, now)
		if err != nil || s.Stays != reason || s.Pending != nil {
			t.Errorf("%+v, %v; want %q", s, err, reason)
		}
	}
}
