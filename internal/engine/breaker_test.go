package engine_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/model"
)

// breaking is a batch of 200 members in its second phase, which has a stop_when. 20 have
// failed in the first, and 10 are removed.
func breaking(t *testing.T, stopWhen string) *crowd {
	t.Helper()
	c := batchOf(t, strings.Replace(three, "- name: move\n", "- name: move\n    stop_when: {failed: "+stopWhen+"}\n", 1), true)
	c.b.Members, c.b.Removed = 200, 10
	c.must(next(c.b))
	c.must(model.PageFannedOut{Phase: 1, Page: 3})
	c.counts(1, 170, 20)
	c.must(next(c.b))
	if c.b.Phases[1].StopWhen == nil || c.b.Phases[0].StopWhen != nil {
		t.Fatalf("%+v", c.b.Phases)
	}
	return c
}

// fail counts so many more members as failed in the second phase, and decides on it.
func (c *crowd) fail(n int) model.Decision {
	c.t.Helper()
	c.b.Phases[1].FailedSoFar += n
	return c.must(model.FailureCounted{Phase: 2})
}

func (c *crowd) wantPaused(why string) {
	c.t.Helper()
	got := ""
	if c.b.Paused != nil {
		got = c.b.Paused.By + ": " + c.b.Paused.Why
	}
	if got != why || (c.b.StoppedBy != 0) != (why != "") {
		c.t.Fatalf("paused by %q for phase %d, want %q", got, c.b.StoppedBy, why)
	}
}

func TestFailuresPauseTheBatch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		stopWhen string
		members  int
		under    int // so many failures do not pause the batch, and one more does
		why      string
	}{
		{"10%", 200, 16, "phase move: 17 of 170 members failed; stop_when: 10%"},
		{"25", 200, 24, "phase move: 25 of 170 members failed; stop_when: 25"},
		{"100%", 200, 169, "phase move: 170 of 170 members failed; stop_when: 100%"},
		{"1", 200, 0, "phase move: 1 of 170 members failed; stop_when: 1"},
		{"10%", 34, 0, "phase move: 1 of 4 members failed; stop_when: 10%"}, // the first failure of a small batch is 25%
		{"10%", 30, 0, "phase move: 1 of 1 members failed; stop_when: 10%"}, // members who take part are not fewer than those who fail
		{"0.001%", 100030, 0, "phase move: 1 of 100000 members failed; stop_when: 0.001%"},
		{"4.4%", 780, 32, "phase move: 33 of 750 members failed; stop_when: 4.4%"},
	} {
		t.Run(tt.stopWhen, func(t *testing.T) {
			t.Parallel()
			c := breaking(t, tt.stopWhen)
			c.b.Members = tt.members
			if d := c.fail(tt.under); !d.Stale {
				t.Fatalf("%+v", d)
			}
			c.wantPaused("")
			d := c.fail(1)
			c.wantPaused("system: " + tt.why)
			wantOutcome(t, d, engine.Revocation(&c.b)[0])
			if d := c.fail(5); !d.Repeated { // those who were in flight
				t.Fatalf("%+v", d)
			}
			c.wantPaused("system: " + tt.why)
		})
	}
}

// A resume takes the failures as known: as many again pause the batch again.
func TestFailuresAfterAResumeAreCountedAnew(t *testing.T) {
	t.Parallel()
	c := breaking(t, "10%")
	c.fail(17)
	c.fail(8) // in flight
	c.must(model.BatchResumed{})
	c.wantPaused("")
	if d := c.fail(16); !d.Stale {
		t.Fatalf("%+v", d)
	}
	c.fail(1)
	c.wantPaused("system: phase move: 42 of 170 members failed, 17 of them since the batch was resumed; stop_when: 10%")
	c.must(model.BatchResumed{})
	if d := c.must(model.FailureCounted{Phase: 2}); !d.Stale {
		t.Fatalf("%+v", d)
	}
}

// Resuming a batch that an administrator had paused must not hide new failures.
func TestFailuresDuringAPauseReplaceIt(t *testing.T) {
	t.Parallel()
	c := breaking(t, "10%")
	c.must(model.BatchPaused{By: model.Attribution{By: "ada", At: now, Why: "throttled"}})
	c.fail(17)
	c.wantPaused("system: phase move: 17 of 170 members failed; stop_when: 10%; it was paused by ada: throttled")
	c.must(model.BatchResumed{})
	c.wantPaused("")
	c.must(model.BatchPaused{By: by})
	c.must(model.BatchResumed{})
	c.fail(17)
	c.wantPaused("system: phase move: 34 of 170 members failed, 17 of them since the batch was resumed; stop_when: 10%")
}

// If the process that counted the failure died, the event that ends the phase decides on
// it first: the next phase does not begin.
func TestPhaseDoesNotEndBeforeItsFailuresAreDecidedOn(t *testing.T) {
	t.Parallel()
	for name, event := range map[string]model.Event{
		"the last page": model.PhaseCounted{Phase: 2}, "the end of the fan-out": model.PageFannedOut{Phase: 2, Page: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := breaking(t, "10%")
			p := &c.b.Phases[1]
			p.FailedSoFar, p.Failed, p.Succeeded, p.ShardsClosed = 17, 17, 153, 3
			p.FannedOut = event == model.Event(model.PhaseCounted{Phase: 2})
			if p.FannedOut {
				p.Shards = 3
			}
			if !engine.StopWhenReached(&c.b, now) {
				t.Fatal("the sweep does not see it")
			}
			c.must(event)
			c.wantPhase(2, model.PhaseCompleted, "")
			c.wantPaused("system: phase move: 17 of 170 members failed; stop_when: 10%")
			_, err := c.on(model.Advanced{Phase: "clean"})
			wantRefusal(t, err, "paused by system")
			if engine.StopWhenReached(&c.b, now) {
				t.Fatal("the sweep sees it again")
			}
		})
	}
}

// The members in flight when the batch is paused all fail and end the last phase: the batch
// fails, and the pause, which has the reason, is gone.
func TestBatchThatFailsAfterAStopNamesTheStop(t *testing.T) {
	t.Parallel()
	c := batchOf(t, header+`
phases:
  - {name: only, offset: T-0, stop_when: {failed: 10%}, steps: [{name: new, worker_id: w1, function: New}]}
`, true)
	c.b.Members = 20
	c.must(next(c.b))
	c.must(model.PageFannedOut{Phase: 1, Page: c.b.PageCount()})
	c.b.Phases[0].FailedSoFar = 2
	c.must(model.FailureCounted{Phase: 1})
	c.wantPaused("system: phase only: 2 of 20 members failed; stop_when: 10%")
	c.b.Phases[0].FailedSoFar = 20
	c.counts(1, 0, 20)
	if c.b.Status != model.BatchFailed || c.b.Error != "no phase completed; failed: only; stopped: phase only: 20 of 20 members failed; stop_when: 10%" {
		t.Fatalf("%s: %q", c.b.Status, c.b.Error)
	}
}

func TestFailuresOfABatchThatHasEndedPauseNothing(t *testing.T) {
	t.Parallel()
	c := breaking(t, "10%")
	c.fail(17)
	c.must(model.BatchCancelRequested{By: by})
	c.wantPaused("")
	if d := c.fail(20); !d.Stale {
		t.Fatalf("%+v", d)
	}
}

func TestRunThatFailsIsCounted(t *testing.T) {
	t.Parallel()
	for stopWhen, counted := range map[string]bool{"": false, "stop_when: {failed: 10%},": true} {
		rb := read(t, `name: n
data_source: {type: csv, primary_key: K}
phases:
  - {name: p, offset: T-0, `+stopWhen+` steps: [{name: s, worker_id: w, function: F}]}
`)
		for _, ok := range []bool{true, false} {
			b := engine.NewBatch(42, rb, 1, 1, nil, "ada", now)
			m := model.Member{ID: 1, Page: 1, Status: model.MemberActive, OpenPhase: 1}
			run, err := runstate.New(&b, b.Phases[0], &m, rb, now)
			if err != nil {
				t.Fatal(err)
			}
			state := model.MemoryState{Runs: []*model.Run{&run}, Members: []*model.Member{&m}, Runbook: rb}
			d, err := engine.Decide(state, on(&run, model.RunStarted{}), now)
			if err != nil {
				t.Fatal(err)
			}
			state.Runs = d.Runs
			if d, err = engine.Decide(state, on(&run, model.StepResult{JobID: d.Runs[0].JobID(0), OK: ok, Error: "no"}), now); err != nil {
				t.Fatal(err)
			}
			want := []any{model.CountRun{Outcome: d.Runs[0].Status}}
			if counted && !ok {
				want = append(want, model.CountFailures{})
			}
			wantOutcome(t, d, want...)
		}
	}
}

// For any events in any order: between two pauses lie a resume and as many failures as
// the stop_when names, and a running batch has fewer failures than that since its last
// resume.
func TestBreakerProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c := breaking(t, rapid.SampledFrom([]string{"10%", "3", "1", "50%"}).Draw(rt, "stop_when"))
		threshold := map[string]int{"10%": 17, "3": 3, "1": 1, "50%": 85}[c.b.Phases[1].StopWhen.String()]
		since := 0 // failures since the last resume of a batch that the breaker had paused
		for range rapid.IntRange(1, 60).Draw(rt, "events") {
			before := c.b.StoppedBy
			switch rapid.IntRange(0, 4).Draw(rt, "event") {
			case 0, 1:
				n := min(rapid.IntRange(1, 12).Draw(rt, "failed"), 170-c.b.Phases[1].FailedSoFar) // no more take part
				since += n
				c.fail(n)
			case 2:
				c.must(model.FailureCounted{Phase: 2})
			case 3:
				c.must(model.BatchPaused{By: by})
			case 4:
				if before != 0 {
					since = 0
				}
				c.must(model.BatchResumed{})
			}
			if tripped := c.b.StoppedBy != 0; tripped != (since >= threshold) && c.b.StoppedBy == before {
				rt.Fatalf("%d failures since the last resume, %d pause the batch; paused %+v", since, threshold, c.b.Paused)
			}
			if (c.b.StoppedBy != 0) && c.b.Paused == nil {
				rt.Fatal("stopped and not paused")
			}
		}
	})
}

// A retry takes a member out of those who have failed.
func TestRetriedMemberIsNoFailure(t *testing.T) {
	t.Parallel()
	f := failedAt(t, 0)
	f.batch.Status, f.batch.CompletedAt, f.batch.Ended = model.BatchActive, nil, false
	p := &f.batch.Phases[1]
	stop := *breaking(t, "2").b.Phases[1].StopWhen
	p.StopWhen, p.FailedSoFar, p.FailedBefore = &stop, 2, 2
	f.must(model.MemberRetried{Member: 17, Task: "t"})
	if got := f.batch.Phases[1]; got.FailedSoFar != 1 || got.FailedBefore != 1 {
		t.Fatalf("%+v", got)
	}
}
