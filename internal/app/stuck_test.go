package app_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/alert"
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

// stuckText is a line of stuck-steps as a text.
func stuckText(line map[string]any) string {
	return fmt.Sprintf("batch %v of %v: %v for %vs, silent %v", line["BatchId"], line["RunbookName"], line["Count"], line["OldestSeconds"], line["SilentWorkers"])
}

// wantStuck ticks and compares the reported steps.
func (s *stage) wantStuck(j *journal, want ...string) {
	s.t.Helper()
	before := len(j.of(s.t, alert.StuckSteps))
	if err := s.app.Tick(s.ctx); err != nil { // what follows from it waits
		s.t.Fatal(describe(err))
	}
	var got []string
	for _, line := range j.of(s.t, alert.StuckSteps)[before:] {
		got = append(got, stuckText(line))
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		s.t.Fatalf("at %s %q, want %q", s.clock.Now().Format(time.TimeOnly), got, want)
	}
}

func TestWorkerThatTakesNoJobsIsReportedBeforeTheirDeadlines(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		j := s.listen()
		s.script = script{"Do": fails(errLost)}
		s.publish(oneStep("")) // 30 minutes
		b := s.batch("one", people(3))
		s.advance(b.ID)
		s.pass(24 * time.Minute)
		s.wantStuck(j)
		s.pass(2 * time.Minute)
		s.wantStuck(j, "batch 1 of one: 3 for 1560s, silent [worker-01]")
		s.wantStatus(b.ID, "active")
		// One answer to any job, and it counts as working.
		s.answers(1, "Do", "true", nil)
		s.wantStuck(j)
		s.answers(2, "Do", "true", nil)
		s.answers(3, "Do", "true", nil)
		s.wantStatus(b.ID, "completed")
		s.pass(10 * time.Minute)
		s.wantStuck(j)
	})
}

func TestWorkerThatFallsSilentIsReportedSinceItsLastAnswer(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	j := s.listen()
	s.script = script{"Do": fails(errLost)}
	s.publish(oneStep(""))
	s.publish(strings.NewReplacer("name: one", "name: other", "function: Do", "function: Other").Replace(oneStep("")))
	s.advance(s.batch("one", people(2)).ID)
	s.pass(20 * time.Minute)
	s.advance(s.batch("other", people(1), api.AllowInOtherBatches).ID) // done at once
	s.pass(6 * time.Minute)
	s.wantStuck(j, "batch 1 of one: 2 for 360s, silent [worker-01]")
}

// Of several late steps the oldest is reported, in any order of reads.
func TestOldestStuckStepIsReported(t *testing.T) {
	t.Parallel()
	for _, later := range []int{1, 2} {
		s := newStage(t, false)
		j := s.listen()
		s.publish(oneStep("}\n      - {name: then, worker_id: worker-01, function: Then"))
		s.script = script{"Do": fails(errLost), "Then": fails(errLost)}
		s.park = ofType(message.TypeDeadlineCheck)
		s.advance(s.batch("one", people(2)).ID)
		s.pass(2 * time.Minute)
		s.answers(later, "Do", "true", nil)
		s.pass(38*time.Minute + runstate.JobGracePeriod) // each step has 30
		s.wantStuck(j, "batch 1 of one: 2 for 600s, silent <nil>")
	}
}

// A worker of which nothing can be read does not keep others from being told of.
func TestWorkerThatCannotBeReadIsPassedOver(t *testing.T) {
	t.Parallel()
	s := newStage(t, false, azure)
	j := s.listen()
	s.publish(oneStep("}\n      - {name: then, worker_id: worker-02, function: Then"))
	s.script = script{"Do": fails(errLost)}
	s.advance(s.batch("one", people(2)).ID)
	s.pass(2 * time.Minute)
	s.answers(1, "Do", "true", nil)
	s.pass(26 * time.Minute)
	defer s.cosmos.Inject(cosmos.Fault{
		On: []cosmos.Operation{cosmos.Read}, Status: http.StatusBadRequest,
		Match: func(r cosmos.Request) bool { return r.ID == store.WorkerKey("worker-01").ID },
	})()
	s.wantStuck(j, "batch 1 of one: 1 for 1560s, silent [worker-02]")
	if !strings.Contains(j.String(), "failed to read the record of a worker") {
		t.Error("the failure to read worker-01 is not logged")
	}
}

// What the sweep reads anyway does: only of a worker whose jobs are near their deadline is
// it looked up when it answered last, once, however many jobs there are.
func TestTickReadsOneThingMoreForAWorkerWhoseJobsAreNearTheirDeadline(t *testing.T) {
	t.Parallel()
	for _, members := range []int{1, 40} {
		s := newStage(t, false, azure)
		newMeter(s)
		s.script = script{"Do": fails(errLost)}
		s.publish(oneStep("")) // 30 minutes
		s.advance(s.batch("one", people(members)).ID)
		s.pass(20 * time.Minute)
		want := s.costOfATick()
		s.pass(6 * time.Minute)
		want[0]++                 // when the worker answered last
		want[3] += int64(members) // the deadlines, for their moment
		if got := s.costOfATick(); got != want {
			t.Errorf("%d members: it cost %s, want %s", members, got, want)
		}
	}
}

func TestStepsWhoseMessageWasLostAreReported(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step, lost   string
		script       worker
		early, after time.Duration // when it is late by less than is taken for a loss, and by more
		want         string
	}{
		"poll":     {", poll: {interval: 10m, timeout: 1h}", message.TypePollCheck, always(unfinished), 11 * time.Minute, 13 * time.Minute, "2 for 180s, silent []"},
		"retry":    {", retry: {max_retries: 1, interval: 5m}", message.TypeRetryCheck, fails(errNo), 6 * time.Minute, 9 * time.Minute, "2 for 240s, silent []"},
		"deadline": {", timeout: 3m", message.TypeDeadlineCheck, fails(errLost), 4 * time.Minute, 8 * time.Minute, "2 for 270s, silent []"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, false)
			j := s.listen()
			s.publish(oneStep(c.step))
			s.script = script{"Do": c.script}
			b := s.batch("one", people(2))
			s.park = func(kind, _ string) bool { return kind == c.lost }
			s.advance(b.ID)
			s.pass(c.early)
			s.wantStuck(j)
			s.pass(c.after - c.early)
			if len(s.parked) == 0 {
				t.Fatal("nothing was lost")
			}
			s.wantStuck(j, "batch 1 of one: "+strings.Replace(c.want, "silent []", "silent <nil>", 1))
			s.park, s.parked = nil, nil
			s.deliverAll() // the sweep has made up for it
			s.wantStuck(j)
		})
	}
}

func TestPhasesWhoseMessageWasLostAreReported(t *testing.T) {
	t.Parallel()
	t.Run("due and not begun", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, false)
		j := s.listen()
		s.table().put(dawn.Add(day), "ann", "bob")
		s.findBatches(found([]string{"create T-12h New"}, ""))
		s.tickAfter(12*time.Hour - 10*time.Minute)
		s.park = ofType(message.TypePhaseDue)
		s.pass(16 * time.Minute) // for six it has been due
		s.wantStuck(j)
		s.pass(2 * time.Minute)
		s.wantStuck(j, "batch 1 of found: 1 for 480s, silent <nil>")
		s.park = nil
		s.tickAfter(5 * time.Minute)
		s.wantCalls(1, "New")
		s.wantStuck(j)
	})
	t.Run("begun and not gone through", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, false)
		j := s.listen()
		b := s.createBatch(oneStep(""), people(2))
		s.park = ofType(message.TypePhaseDue)
		s.advance(b.ID)
		s.pass(3 * time.Minute)
		if s.phaseText(b.ID) == "only dispatched 0/0/0" {
			s.wantStuck(j, "batch 1 of one: 1 for 180s, silent <nil>")
		}
		s.unpark()
		s.wantStatus(b.ID, "completed")
	})
}

// Each page of late steps is reported once: the first by the tick, the others by its
// follow-up messages.
func TestStuckStepsAreReportedPageByPage(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	j := s.listen()
	s.script = script{"Do": fails(errLost)}
	s.startBatch(oneStep(""), people(120))
	s.tickAfter(26 * time.Minute)
	lines, counted, pages := j.of(t, alert.StuckSteps), 0.0, []string{}
	for _, line := range lines {
		counted += line["Count"].(float64)
		pages = append(pages, fmt.Sprint(line["Page"]))
	}
	slices.Sort(pages) // a page sends the message of the next one before its record
	if counted != 120 || !slices.Equal(pages, []string{"0", "1", "2"}) {
		t.Errorf("%v", lines)
	}
}

// What waits because an administrator has paused the batch is not stuck, nor is it when the
// batch goes on.
func TestPausedBatchIsNotStuck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step   string
		script worker
	}{
		"poll":  {", poll: {interval: 10m, timeout: 2h}", always(unfinished)},
		"retry": {", retry: {max_retries: 3, interval: 10m}", fails(errNo)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, false)
			j := s.listen()
			s.publish(oneStep(c.step))
			s.script = script{"Do": c.script}
			b := s.batch("one", people(2))
			s.advance(b.ID)
			s.pass(time.Minute)
			s.pause(b.ID)
			for range 8 {
				s.pass(5 * time.Minute)
				s.wantStuck(j)
			}
			s.resume(b.ID)
			s.wantStuck(j)
			s.pass(5 * time.Minute)
			s.wantStuck(j)
		})
	}
}
