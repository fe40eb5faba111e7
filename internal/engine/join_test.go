package engine_test

import (
	"slices"
	"testing"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/model"
)

const three = header + `
phases:
  - name: create
    offset: T-2d
    steps: [{name: new, worker_id: w1, function: New}]
  - name: move
    offset: T-1d
    steps: [{name: copy, worker_id: w1, function: Copy}]
  - name: clean
    offset: T-0
    steps: [{name: tidy, worker_id: w1, function: Tidy}]
`

// midway has its first phase done, the second fanned out and the third to come.
func midway(t *testing.T) *crowd {
	t.Helper()
	c := batchOf(t, three, true)
	c.must(next(c.b))
	c.must(model.PageFannedOut{Phase: 1, Page: 3})
	c.counts(1, 100, 0)
	c.must(next(c.b))
	c.must(model.PageFannedOut{Phase: 2, Page: 3})
	return c
}

func TestLateMembersCatchUpOnThePhasesBehindThemInOrder(t *testing.T) {
	t.Parallel()
	c := midway(t)
	d := c.must(model.MembersJoined{Members: 2, Key: "zoe"})
	want := model.Join{Page: 4, First: 101, Key: "zoe", Phases: []int{1, 2}}
	wantOutcome(t, d, model.CatchUp{Join: want})
	if c.b.Members != 102 || c.b.PageCount() != 4 || len(c.b.Joining) != 1 {
		t.Fatalf("%d members on %d pages, joining %v", c.b.Members, c.b.PageCount(), c.b.Joining)
	}
	for id, status := range map[int]model.PhaseStatus{1: model.PhaseDispatched, 2: model.PhaseDispatched, 3: model.PhasePending} {
		c.wantPhase(id, status, "")
	}
	if c.phase(1).Shards != 4 || c.phase(2).Shards != 4 || c.phase(1).CompletedAt != nil {
		t.Fatalf("phases %+v", c.b.Phases)
	}
}

func TestLateMembersTakePartInThePhasesToCome(t *testing.T) {
	t.Parallel()
	c := midway(t)
	c.must(model.MembersJoined{Members: 2, Key: "zoe"})
	c.counts(1, 102, 0)
	c.counts(2, 102, 0)
	c.must(next(c.b))
	wantOutcome(t, c.must(model.PageFannedOut{Phase: 3, Page: 3}), model.Announce{Phase: 3, Page: 4})
	c.must(model.PageFannedOut{Phase: 3, Page: 4})
	c.counts(3, 102, 0)
	c.wantBatch(model.BatchActive) // until they have caught up, runs of theirs may be missing
	c.must(model.PageCaughtUp{Page: 4})
	c.wantBatch(model.BatchCompleted)
	c.wantStale(model.PageCaughtUp{Page: 4})
}

// No phase is behind the others, so there is nothing to catch up on.
func TestFanOutReachesMembersWhoWereAddedBeforeIt(t *testing.T) {
	t.Parallel()
	c := batchOf(t, three, true)
	join := func(page int) {
		t.Helper()
		wantOutcome(t, c.must(model.MembersJoined{Members: 2, Key: "zoe"}))
		if len(c.b.Joining) > 0 || c.b.PageCount() != page {
			t.Fatalf("%d pages, joining %+v", c.b.PageCount(), c.b.Joining)
		}
	}
	join(4)
	c.must(next(c.b))
	join(5)
	wantOutcome(t, c.must(model.PageFannedOut{Phase: 1, Page: 3}), model.Announce{Phase: 1, Page: 4})
	join(6)
	wantOutcome(t, c.must(model.PageFannedOut{Phase: 1, Page: 5}), model.Announce{Phase: 1, Page: 6})
	c.must(model.PageFannedOut{Phase: 1, Page: 6})
	if p := c.phase(1); !p.FannedOut || p.Shards != 6 {
		t.Fatalf("%+v", p)
	}
	d := c.must(model.MembersJoined{Members: 1, Key: "zoe"}) // from here on it is behind
	wantOutcome(t, d, model.CatchUp{Join: model.Join{Page: 7, First: 107, Key: "zoe", Phases: []int{1}}})
	c.must(model.PageCaughtUp{Page: 7})
	c.counts(1, 107, 0)
	c.wantPhase(1, model.PhaseCompleted, "")
	c.wantBatch(model.BatchActive)
}

// Everybody who was there is gone, and who comes then is all that the phase has.
func TestPhaseReachesWhoIsAddedAfterEverybodyHasLeft(t *testing.T) {
	t.Parallel()
	c := &crowd{t: t, rb: read(t, three), at: now}
	c.b = engine.NewBatch(42, c.rb, 3, 1, nil, "ada", now)
	m := model.Member{ID: 1, Page: 1, Status: model.MemberActive}
	d, err := engine.Decide(model.MemoryState{Batch: &c.b, Members: []*model.Member{&m}, Runbook: c.rb}, model.MemberLeft{Member: 1}, now)
	if err != nil {
		t.Fatal(err)
	}
	c.b = *d.Batch
	c.must(next(c.b))
	c.must(model.MembersJoined{Members: 1, Key: "zoe"})
	wantOutcome(t, c.must(model.PageFannedOut{Phase: 1, Page: 1}), model.Announce{Phase: 1, Page: 2})
	c.must(model.PageFannedOut{Phase: 1, Page: 2})
	if p := &c.b.Phases[0]; !p.FannedOut || p.Shards != 2 {
		t.Fatalf("%+v", p)
	}
	c.b.Phases[0].ShardsClosed = 1 // of the page that nobody is on any more
	c.must(model.PhaseCounted{Phase: 1})
	c.wantPhase(1, model.PhaseDispatched, "")
	c.counts(1, 1, 0)
	c.wantPhase(1, model.PhaseCompleted, "")
}

func TestFanOutContinuesWithThePagesThatWereAddedBehindIt(t *testing.T) {
	t.Parallel()
	c := midway(t)
	c.counts(2, 100, 0)
	c.must(next(c.b))
	d := c.must(model.MembersJoined{Members: 1, Key: "zoe"})
	if got := outcome(d)[0].(model.CatchUp).Phases; !slices.Equal(got, []int{1, 2}) {
		t.Fatalf("the phase that is being fanned out is among those to catch up on: %v", got)
	}
	for range 2 { // the last page of the fan-out comes twice
		wantOutcome(t, c.must(model.PageFannedOut{Phase: 3, Page: 3}), model.Announce{Phase: 3, Page: 4})
	}
	if c.phase(3).FannedOut {
		t.Fatal("the fan-out is over without the last page")
	}
}

func TestLateMembersCatchUpOnTheNewestVersionOfEachPhaseInTheirOrder(t *testing.T) {
	t.Parallel()
	c := midway(t)
	c.must(model.VersionPublished{Version: 4, Rerun: true}) // 4: create, 5: move, 6: clean
	c.counts(2, 100, 0)
	c.must(next(c.b))
	c.must(model.PageFannedOut{Phase: 4, Page: 3})
	d := c.must(model.MembersJoined{Members: 1, Key: "zoe"})
	if got := outcome(d)[0].(model.CatchUp).Phases; !slices.Equal(got, []int{4, 2}) {
		t.Fatalf("phases %v", got)
	}
}

func TestPageThatJoinedFirstCatchesUpFirst(t *testing.T) {
	t.Parallel()
	c := midway(t)
	c.must(model.MembersJoined{Members: 49, Key: "yan"})
	c.must(model.MembersJoined{Members: 1, Key: "zoe"})
	if c.b.PageCount() != 5 || c.b.Joining[1].First != 150 {
		t.Fatalf("joining %+v", c.b.Joining)
	}
	c.must(model.PageCaughtUp{Page: 5})
	if len(c.b.Joining) != 1 || c.b.Joining[0].Page != 4 {
		t.Fatalf("joining %+v", c.b.Joining)
	}
	c.must(model.BatchPaused{By: by})
	d := c.must(model.BatchResumed{})
	if len(outcome(d)) != 2 || outcome(d)[1].(model.CatchUp).Page != 4 {
		t.Fatalf("resume does not take up the catching up: %v", d.Messages)
	}
}

func TestNobodyJoinsABatchThatHasEnded(t *testing.T) {
	t.Parallel()
	c := midway(t)
	c.counts(2, 0, 100)
	c.must(next(c.b))
	c.must(model.PageFannedOut{Phase: 3, Page: 3})
	c.counts(3, 0, 0)
	c.wantBatch(model.BatchCompleted)
	_, err := c.on(model.MembersJoined{Members: 1, Key: "zoe"})
	wantRefusal(t, err, "no member can be added")
}
