package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matoolkit/matoolkit/internal/alert"
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/bus"
	busmemory "github.com/matoolkit/matoolkit/internal/bus/memory"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

// journal collects the processes' log as the handler writes it: lines of JSON.
type journal struct{ testenv.Buffer }

func (j *journal) log() *slog.Logger { return slog.New(slog.NewJSONHandler(j, nil)) }

// of gives the lines of an event, in order.
func (j *journal) of(t testing.TB, event string) (found []map[string]any) {
	t.Helper()
	for line := range strings.Lines(j.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if fields["Event"] == event {
			found = append(found, fields)
		}
	}
	return found
}

// listen gives the stage two processes that write to a journal, and that look at what
// waits at the broker.
func (s *stage) listen() *journal {
	j := &journal{}
	process := func() *app.App {
		return app.New(app.Config{Store: s.store, Bus: s.bus, Waiting: s.bus, Now: s.clock.Now, Log: j.log(), Sources: s.sources(), Artifacts: s.artifacts})
	}
	s.app, s.other, s.log = process(), process(), j.log()
	return j
}

// wantEvents holds how often an event was told against how often it should have been.
// Two processes that do the same at the same moment may both tell of it.
func (s *stage) wantEvents(j *journal, event string, want int) []map[string]any {
	s.t.Helper()
	lines := j.of(s.t, event)
	if len(lines) < want || want == 0 && len(lines) > 0 || !s.hard && len(lines) > want {
		s.t.Fatalf("%d lines of %s, want %d: %v", len(lines), event, want, lines)
	}
	return lines
}

func TestBatchThatFailsIsReportedEachTimeItDoes(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		j := s.listen()
		s.script = script{"Do": inTurn(fails(errNo), fails(errNo), always("true"))}
		b := s.startBatch(oneStep(", retry: {max_retries: 0}"), people(1))
		s.wantStatus(b.ID, "failed")
		line := s.wantEvents(j, alert.BatchFailed, 1)[0]
		if line["BatchId"] != float64(b.ID) || line["RunbookName"] != "one" || line["Reason"] != "no phase completed; failed: only" {
			t.Errorf("%v", line)
		}
		told := len(j.of(t, alert.BatchFailed))
		for _, p := range slices.Clone(s.past) { // long after, one after the other
			s.give(p)
		}
		s.tick()
		if again := len(j.of(t, alert.BatchFailed)); again != told {
			t.Errorf("it is told %d times, and %d when all comes again", told, again)
		}
		s.retry(b.ID, api.Selection{})
		s.wantStatus(b.ID, "failed")
		if again := len(j.of(t, alert.BatchFailed)); again <= told {
			t.Error("that it failed again is not told")
		}
		told = len(j.of(t, alert.BatchFailed))
		s.retry(b.ID, api.Selection{})
		s.wantStatus(b.ID, "completed")
		if again := len(j.of(t, alert.BatchFailed)); again != told {
			t.Error("that it completed is told as a failure")
		}
	})
}

// A process killed after the batch failed leaves the report to the redelivered message,
// or to the tick.
func TestBatchThatFailsIsReportedWhereverItsEndIsCutShort(t *testing.T) {
	t.Parallel()
	for _, comesAgain := range []bool{true, false} {
		t.Run(fmt.Sprintf("its message comes again: %v", comesAgain), func(t *testing.T) {
			whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
				j := s.listen()
				s.publish(oneStep(", retry: {max_retries: 0}"))
				s.script = script{"Do": fails(errNo)}
				b := s.batch("one", people(1))
				s.park = ofType("")
				s.advance(b.ID)
				result := s.parked[0]
				s.wantEvents(j, alert.BatchFailed, 0)
				cut := s.kill(write, result.handle)
				if comesAgain {
					s.unpark()
				} else {
					s.park, s.parked = nil, nil
					for range 3 { // what is lost is made up for a part at a time
						s.tickAfter(31 * time.Minute)
					}
				}
				s.wantStatus(b.ID, "failed")
				if n := len(j.of(t, alert.BatchFailed)); n < 1 || n > 2 || n == 2 && !cut {
					t.Errorf("cut short after write %d it is told %d times", write, n)
				}
				return cut
			})
		})
	}
}

func TestSuccessRaisesNoAlert(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		j := s.listen()
		table := s.table()
		table.put(dawn.Add(3*time.Hour), "ann") // create is past due, and switch due at noon
		s.publish(strings.Replace(found(twoPhases, `quiet_hours:
  time_zone: Europe/Berlin
  windows:
    - {from: "08:00", to: "18:00"}
`), "offset: T-0\n", "offset: T-0\n    approval: required\n", 1))
		s.automate("found")
		s.tick()
		s.publish(oneStep(`, poll: {interval: 7m, timeout: 1h}, timeout: 12m`))
		s.script = script{"Do": inTurn(always(unfinished), always(unfinished), always("true"))}
		b := s.batch("one", people(3))
		s.advance(b.ID)
		for range 9 * 12 { // to the second the end of the quiet hours is a tick's
			s.tick()
			s.pass(5 * time.Minute)
		}
		s.wantStatus(b.ID, "completed")
		s.wantPhases(1, "create completed 1/0/0, switch pending 0/0/0")
		for _, event := range alert.All {
			if lines := j.of(t, event); len(lines) > 0 != (event == alert.Tick || event == alert.OldestMessage) {
				t.Errorf("%d lines of %s: %v", len(lines), event, lines)
			}
		}
		for _, line := range j.of(t, alert.Tick) {
			if line["Failed"] != false {
				t.Errorf("%v", line)
			}
		}
	})
}

func TestTickTellsHowLongTheOldestMessageHasWaited(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	j := s.listen()
	ages := func() string {
		before := len(j.of(t, alert.OldestMessage))
		noError(t, s.app.Tick(s.ctx))
		var told []string
		for _, line := range j.of(t, alert.OldestMessage)[before:] {
			told = append(told, fmt.Sprintf("%v/%v %v", line["Topic"], line["Subscription"], line["AgeSeconds"]))
		}
		slices.Sort(told)
		return strings.Join(told, "; ")
	}
	wait := func(d time.Duration) { // without anybody taking what is there
		s.clock.ns.Add(int64(d))
		s.broker.Tick()
	}
	send := func(topic, id string, at time.Time) {
		noError(t, s.bus.Send(s.ctx, topic, bus.Message{ID: id, Body: []byte("{}"), Properties: map[string]any{message.PropertyMessageType: "nothing"}, At: at}))
	}
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() {}, "orchestrator-events/orchestrator 0; worker-results/orchestrator 0"},
		{func() { send(message.TopicOrchestratorEvents, "later", dawn.Add(time.Hour)); wait(10 * time.Minute) }, "orchestrator-events/orchestrator 0; worker-results/orchestrator 0"},
		{func() { send(message.TopicOrchestratorEvents, "first", time.Time{}); wait(90 * time.Second) }, "orchestrator-events/orchestrator 90; worker-results/orchestrator 0"},
		{func() { send(message.TopicWorkerResults, "second", time.Time{}); wait(30 * time.Second) }, "orchestrator-events/orchestrator 120; worker-results/orchestrator 30"},
	} {
		step.do()
		if got := ages(); got != step.want {
			t.Errorf("%s, want %s", got, step.want)
		}
	}
	s.deliverAll()
	if lines := j.of(t, alert.MessageUnprocessable); len(lines) != 2 || lines[0]["Event"] != alert.MessageUnprocessable || lines[0]["Reason"] == "" {
		t.Errorf("what cannot be processed is told as %v", lines)
	}
	send(message.TopicWorkerResults, "third", time.Time{})
	s.clock.ns.Add(int64(-10 * time.Second)) // the broker's may be ahead
	if got, want := ages(), "orchestrator-events/orchestrator 0; worker-results/orchestrator 0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestTickDoesNotFailWhereTheBrokerIsAway(t *testing.T) {
	t.Parallel()
	s := newStage(t, false, azure)
	j := s.listen()
	noError(t, s.broker.(localBroker).Close())
	noError(t, s.app.Tick(s.ctx))
	if ticks := j.of(t, alert.Tick); len(ticks) != 1 || ticks[0]["Failed"] != false {
		t.Errorf("%v", ticks)
	}
	if n := strings.Count(j.String(), "failed to read the age of the oldest message"); n != 2 || len(j.of(t, alert.OldestMessage)) > 0 {
		t.Errorf("%s", j.String())
	}
}

// A broker that does not answer costs a tick some seconds, not more.
func TestTickDoesNotWaitForABrokerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, false, inMemory)
		silent := must(busmemory.New(busmemory.Config{}))(t)
		waiting := silent.Client(func(ctx context.Context, _ busmemory.Call) busmemory.Verdict {
			<-ctx.Done()
			return busmemory.Verdict{Err: bus.Unavailable(ctx.Err())}
		})
		j := &journal{}
		process := app.New(app.Config{Store: s.store, Bus: s.bus, Waiting: waiting, Now: s.clock.Now, Log: j.log(), Sources: s.sources(), Artifacts: s.artifacts})
		began := time.Now()
		noError(t, process.Tick(t.Context()))
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("the tick took %s", took)
		}
		if ticks := j.of(t, alert.Tick); len(ticks) != 1 || strings.Count(j.String(), "failed to read the age of the oldest message") != 2 {
			t.Errorf("%s", j.String())
		}
	})
}

func TestTickThatFailsIsReported(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	j := s.listen()
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	if err := s.app.Tick(ctx); err == nil {
		t.Fatal("it did not fail")
	}
	if ticks := j.of(t, alert.Tick); len(ticks) != 1 || ticks[0]["Failed"] != true {
		t.Errorf("%v", ticks)
	}
}

func TestWhatKeepsARunbookFromItsDataSourceIsReported(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	j := s.listen()
	table := s.tableOf(dawn.Add(3*day), crowd(10)...)
	s.findBatches(found(twoPhases, ""))
	table.drop("p001", "p002", "p003", "p004", "p005")
	s.tick()
	s.tick() // of what is held still, nothing more is told
	if lines := j.of(t, alert.RemovalsHeld); len(lines) != 1 || lines[0]["BatchId"] != 1.0 || lines[0]["Members"] != 5.0 || lines[0]["Of"] != 10.0 {
		t.Errorf("%v", lines)
	}
	table.exec("ALTER TABLE people RENAME TO gone")
	s.tick()
	if lines := j.of(t, alert.RunbookNotSynced); len(lines) != 1 || lines[0]["RunbookName"] != "found" {
		t.Errorf("%v", lines)
	}
	if ticks := j.of(t, alert.Tick); ticks[len(ticks)-1]["Failed"] != false { // the others had their turn
		t.Errorf("%v", ticks)
	}
}
