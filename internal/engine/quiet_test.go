package engine_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/model"
)

// At noon of the tests' day, which is 13:00 in Berlin, it is quiet until 18:00 there.
const quietly = `quiet_hours: {time_zone: Europe/Berlin, windows: [{from: "08:00", to: "18:00"}]}
`

const untilSix = "quiet hours until 2026-03-01T17:00:00Z"

var six = time.Date(2026, 3, 1, 17, 0, 0, 0, time.UTC)

// rested is a scheduled batch whose cut-over is now.
func rested(t *testing.T, source string) *crowd {
	t.Helper()
	return batchOf(t, source+quietly, false)
}

func TestNoPhaseBeginsInQuietHours(t *testing.T) {
	t.Parallel()
	c := rested(t, three)
	wantOutcome(t, model.Decision{Messages: engine.NextDue(&c.b, c.at)})
	wantOutcome(t, c.must(model.PhaseDue{Phase: 1}))
	c.wantPhase(1, model.PhasePending, untilSix)
	c.wantStale(model.PhaseDue{Phase: 1}) // nothing is written for the same reason
	c.wantStale(model.PhaseDue{Phase: 2}) // which is behind it
	c.at = six.Add(-time.Nanosecond)
	c.wantStale(model.PhaseDue{Phase: 1})
	c.at = six
	if effects := engine.NextDue(&c.b, c.at); len(effects) != 1 || effects[0].(model.Announce).Phase != 1 {
		t.Fatalf("effects %v", effects)
	}
	c.must(model.PhaseDue{Phase: 1})
	c.wantPhase(1, model.PhaseDispatched, "")
}

func TestWhatHasBegunGoesOnInQuietHours(t *testing.T) {
	t.Parallel()
	c := rested(t, three)
	c.at = now.Add(-6 * time.Hour) // 07:00 in Berlin: two phases are due
	c.must(model.PhaseDue{Phase: 1})
	c.at = now
	if d := c.must(model.PhaseDue{Phase: 1}); !d.Repeated {
		t.Fatalf("the fan-out does not go on: %+v", d)
	}
	wantOutcome(t, c.must(model.PageFannedOut{Phase: 1, Page: 3}))
	c.wantPhase(2, model.PhasePending, untilSix) // whose turn it would be
	d := c.must(model.MembersJoined{Members: 1, Key: "zoe"})
	if len(outcome(d)) != 1 || outcome(d)[0].(model.CatchUp).Page != 4 {
		t.Fatalf("effects %v", d.Messages)
	}
}

func TestInitIsNotHeldByQuietHours(t *testing.T) {
	t.Parallel()
	c := rested(t, prepared)
	if effects := engine.NextDue(&c.b, c.at); len(effects) != 1 || effects[0].(model.Announce).Phase != 1 {
		t.Fatalf("effects %v", effects)
	}
	c.must(model.PhaseDue{Phase: 1})
	c.wantPhase(1, model.PhaseDispatched, "")
	wantOutcome(t, c.endInit(1, true))
	c.wantPhase(2, model.PhasePending, untilSix)
}

func TestManualBatchHasNoQuietHours(t *testing.T) {
	t.Parallel()
	c := batchOf(t, three+quietly, true)
	if c.b.Quiet != nil {
		t.Fatalf("%+v", c.b.Quiet)
	}
	c.must(next(c.b))
	c.wantPhase(1, model.PhaseDispatched, "")
	if at := engine.StartsAt(&c.b, &c.b.Phases[1], now); !at.Equal(now) {
		t.Fatalf("starts at %s", at)
	}
	c.must(model.VersionPublished{Version: 4})
	if c.b.Quiet != nil {
		t.Fatalf("%+v", c.b.Quiet)
	}
}

// An administrator can approve during quiet hours, so the gate is named first.
func TestGateIsNamedBeforeQuietHours(t *testing.T) {
	t.Parallel()
	c := rested(t, strings.Replace(three, "offset: T-2d", "offset: T-2d\n    approval: required", 1))
	c.must(model.PhaseDue{Phase: 1})
	c.wantPhase(1, model.PhasePending, "waits for an administrator's approval")
	wantOutcome(t, c.must(model.PhaseApproved{Phase: 1, By: by}))
	c.wantPhase(1, model.PhasePending, untilSix)
	c.wantStale(model.PhaseDue{Phase: 1})
	if again := c.must(model.PhaseApproved{Phase: 1, By: by}); !again.Repeated || len(outcome(again)) > 0 {
		t.Fatalf("%+v", again)
	}
	c.at = six
	c.must(model.PhaseDue{Phase: 1})
	c.wantPhase(1, model.PhaseDispatched, "")
}

func TestGateThatIsShutWhenTheQuietHoursEndIsNamedThen(t *testing.T) {
	t.Parallel()
	c := rested(t, strings.Replace(gated, "    approval: required\n", "", 1))
	c.at = now.Add(-6 * time.Hour) // the second phase is not due yet
	c.must(model.PhaseDue{Phase: 1})
	c.must(model.PageFannedOut{Phase: 1, Page: 3})
	c.counts(1, 96, 4)
	c.at = now
	c.must(model.PhaseDue{Phase: 2})
	c.wantPhase(2, model.PhasePending, untilSix)
	c.b.Phases[0].Succeeded, c.b.Phases[0].Failed = 94, 6
	c.at = six
	c.must(model.PhaseDue{Phase: 2})
	c.wantPhase(2, model.PhasePending, "where 94 of 100 did")
}

func TestFilledBatchWaitsForTheEndOfQuietHours(t *testing.T) {
	t.Parallel()
	c := filling(t, three+quietly, 0)
	wantOutcome(t, c.must(model.BatchFilled{}))
	c.wantBatch(model.BatchActive)
	c.wantPhase(1, model.PhasePending, untilSix)
}

func TestPausedBatchThatIsResumedInQuietHoursWaitsForTheirEnd(t *testing.T) {
	t.Parallel()
	c := rested(t, three)
	c.must(model.BatchPaused{By: by})
	wantOutcome(t, c.must(model.BatchResumed{}), model.Release{})
}

// A phase that waited for the end of quiet hours is not past due: no member has completed it.
func TestNewVersionBringsItsOwnQuietHours(t *testing.T) {
	t.Parallel()
	c := rested(t, three)
	c.must(model.PhaseDue{Phase: 1})
	c.rb = read(t, three+strings.Replace(quietly, "18:00", "20:00", 1))
	wantOutcome(t, c.must(model.VersionPublished{Version: 4}))
	c.wantPhase(4, model.PhasePending, "quiet hours until 2026-03-01T19:00:00Z")
	c.rb = read(t, three)
	d := c.must(model.VersionPublished{Version: 5})
	if c.b.Quiet != nil || len(outcome(d)) != 1 || outcome(d)[0].(model.Announce).Phase != 7 {
		t.Fatalf("quiet hours %+v, effects %v", c.b.Quiet, d.Messages)
	}
	c.wantPhase(7, model.PhasePending, "")
}

func TestWhenAPhaseMayStart(t *testing.T) {
	t.Parallel()
	at := func(hour, minute int) time.Time { return time.Date(2026, 3, 1, hour, minute, 0, 0, time.UTC) }
	c := rested(t, strings.Replace(three, "offset: T-0", "offset: T+6h", 1)) // due at 18:00, 19:00 in Berlin
	last := &c.b.Phases[2]
	for _, tt := range []struct {
		name  string
		phase *model.Phase
		by    time.Time
		want  time.Time
	}{
		{"past due, before the quiet hours", &c.b.Phases[0], at(6, 59), at(6, 59)},
		{"past due, as they begin", &c.b.Phases[0], at(7, 0), six},
		{"past due, in them", &c.b.Phases[0], at(16, 59), six},
		{"past due, as they end", &c.b.Phases[0], six, six},
		{"yet to come, after them", last, at(7, 30), at(18, 0)},
		{"yet to come, behind them", last, at(6, 0), at(18, 0)},
		{"an hour late", last, at(19, 0), at(19, 0)},
	} {
		if got := engine.StartsAt(&c.b, tt.phase, tt.by); !got.Equal(tt.want) || got.Location() != time.UTC {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	due := at(7, 0)
	c.b.Phases[0].DueAt = &due
	if got := engine.StartsAt(&c.b, &c.b.Phases[0], at(6, 0)); !got.Equal(six) {
		t.Errorf("due as the quiet hours begin: %s", got)
	}
	init := model.Phase{Kind: model.KindInit}
	if got := engine.StartsAt(&c.b, &init, now); !got.Equal(now) {
		t.Errorf("init: %s", got)
	}
}

// The announcement came to a process whose clock is a little behind the broker's.
func TestPhaseThatFallsDueAsQuietHoursBeginIsHeldWhateverTheClock(t *testing.T) {
	t.Parallel()
	c := &crowd{t: t, rb: read(t, three+quietly), at: now.Add(-5*time.Hour - time.Millisecond)}
	start := now.Add(43 * time.Hour) // the first phase is due at 08:00 in Berlin
	c.b = engine.NewBatch(42, c.rb, 3, 100, &start, "", now)
	c.must(model.PhaseDue{Phase: 1})
	c.wantPhase(1, model.PhasePending, untilSix)
}

func TestQuietHoursAreKeptWithTheBatch(t *testing.T) {
	t.Parallel()
	c := rested(t, three)
	var stored model.Batch
	if err := json.Unmarshal([]byte(text(t, c.b)), &stored); err != nil {
		t.Fatal(err)
	}
	c.b = stored
	c.must(model.PhaseDue{Phase: 1})
	c.wantPhase(1, model.PhasePending, untilSix)
}

// Due times are in the order of the offsets, before the cut-over and after it.
func TestPhasesAfterTheCutOverComeInTheirOrder(t *testing.T) {
	t.Parallel()
	late := strings.NewReplacer("T-1d", "T-0", "T-0", "T+2h", "T-2d", "T-90m").Replace(three)
	c := &crowd{t: t, rb: read(t, late), at: now}
	start := now.Add(time.Hour)
	c.b = engine.NewBatch(42, c.rb, 3, 100, &start, "", now)
	for i, want := range []time.Duration{-90 * time.Minute, 0, 2 * time.Hour} {
		p := c.b.Phases[i]
		if !p.DueAt.Equal(start.Add(want)) || p.OffsetMinutes != -int(want.Minutes()) {
			t.Fatalf("phase %s is due at %s (%d minutes before)", p.Name, p.DueAt, p.OffsetMinutes)
		}
	}
	if effects := engine.NextDue(&c.b, c.at); len(effects) != 1 || effects[0].(model.Announce).Phase != 1 {
		t.Fatalf("effects %v", effects)
	}
	c.wantStale(model.PhaseDue{Phase: 3})
	c.through(1, 100, 0)
	c.at = start.Add(2 * time.Hour)
	c.wantStale(model.PhaseDue{Phase: 3}) // the one of the cut-over comes first
	c.through(2, 100, 0)
	c.wantBatch(model.BatchActive)
	c.through(3, 100, 0)
	c.wantBatch(model.BatchCompleted)
}

func TestNewVersionSkipsWhatIsPastDueAfterTheCutOver(t *testing.T) {
	t.Parallel()
	late := strings.NewReplacer("T-1d", "T+1h", "T-0", "T+2h", "T-2d", "T-0").Replace(three)
	c := &crowd{t: t, rb: read(t, late), at: now}
	c.b = engine.NewBatch(42, c.rb, 3, 100, &now, "", now)
	c.through(1, 100, 0)
	c.at = now.Add(time.Hour)
	c.through(2, 100, 0)
	c.must(model.VersionPublished{Version: 4})
	c.wantPhase(4, model.PhaseSkipped, "past due")
	c.wantPhase(5, model.PhaseSkipped, "past due")
	c.wantPhase(6, model.PhasePending, "")
}
