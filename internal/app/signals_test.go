package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

// journal is what processes log, as the handler writes it: lines of JSON.
type journal struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.lines.Write(line)
}

func (j *journal) log() *slog.Logger { return slog.New(slog.NewJSONHandler(j, nil)) }

// of gives the lines of an event, in order.
func (j *journal) of(t testing.TB, event string) (found []map[string]any) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	for line := range strings.Lines(j.lines.String()) {
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
		return app.New(app.Config{Store: s.store, Bus: s.bus, Waiting: s.bus, Now: s.clock.Now, Log: j.log(), Sources: s.sources()})
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

func TestBatchThatFailsIsToldEachTimeItDoes(t *testing.T) {
	t.Parallel()
	play(t, func(t *testing.T, s *stage) {
		j := s.listen()
		s.script = script{"Do": inTurn(fails(errNo), fails(errNo), always("true"))}
		s.publish(oneStep(", retry: {max_retries: 0}"))
		b := s.batch("one", people(1))
		s.advance(b.ID)
		s.wantStatus(b.ID, "failed")
		line := s.wantEvents(j, app.EventBatchFailed, 1)[0]
		if line["BatchId"] != float64(b.ID) || line["RunbookName"] != "one" || line["reason"] != "no phase completed; failed: only" {
			t.Errorf("%v", line)
		}
		told := len(j.of(t, app.EventBatchFailed))
		for _, p := range slices.Clone(s.past) { // long after, one after the other
			s.give(p)
		}
		s.tick()
		if again := len(j.of(t, app.EventBatchFailed)); again != told {
			t.Errorf("it is told %d times, and %d when all comes again", told, again)
		}
		s.retry(b.ID, app.Selection{})
		s.wantStatus(b.ID, "failed")
		if again := len(j.of(t, app.EventBatchFailed)); again <= told {
			t.Error("that it failed again is not told")
		}
		told = len(j.of(t, app.EventBatchFailed))
		s.retry(b.ID, app.Selection{})
		s.wantStatus(b.ID, "completed")
		if again := len(j.of(t, app.EventBatchFailed)); again != told {
			t.Error("that it completed is told as a failure")
		}
	})
}

// Whoever is killed after the batch failed leaves it to the message that comes again, or
// to the tick where none does.
func TestBatchThatFailsIsToldWhereverItsEndIsCutShort(t *testing.T) {
	t.Parallel()
	for _, comesAgain := range []bool{true, false} {
		t.Run(fmt.Sprintf("its message comes again: %v", comesAgain), func(t *testing.T) {
			t.Parallel()
			whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
				j := s.listen()
				s.publish(oneStep(", retry: {max_retries: 0}"))
				s.script = script{"Do": fails(errNo)}
				b := s.batch("one", people(1))
				s.park = func(kind, _ string) bool { return kind == "" }
				s.advance(b.ID)
				result := s.parked[0]
				s.wantEvents(j, app.EventBatchFailed, 0)
				cut := s.killed(write, func(ctx context.Context, a *app.App) error { return result.handle(a, ctx, result.m) })
				if comesAgain {
					s.unpark()
				} else {
					s.park, s.parked = nil, nil
					for range 3 { // what is lost is made up for a part at a time
						s.pass(31 * time.Minute)
						s.tick()
					}
				}
				s.wantStatus(b.ID, "failed")
				if n := len(j.of(t, app.EventBatchFailed)); n < 1 || n > 2 || n == 2 && !cut {
					t.Errorf("cut short after write %d it is told %d times", write, n)
				}
				return cut
			})
		})
	}
}

func TestNothingIsToldOfWhatGoesWell(t *testing.T) {
	t.Parallel()
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
		for _, event := range app.Events {
			if lines := j.of(t, event); len(lines) > 0 != (event == app.EventTick || event == app.EventOldestMessage) {
				t.Errorf("%d lines of %s: %v", len(lines), event, lines)
			}
		}
		for _, line := range j.of(t, app.EventTick) {
			if line["Failed"] != false {
				t.Errorf("%v", line)
			}
		}
	})
}

// stuck is a line of stuck-steps as a text.
func stuckText(line map[string]any) string {
	return fmt.Sprintf("batch %v of %v: %v for %vs, silent %v", line["BatchId"], line["RunbookName"], line["Count"], line["OldestSeconds"], line["SilentWorkers"])
}

// wantStuck ticks and holds what is told of it against what should be.
func (s *stage) wantStuck(j *journal, want ...string) {
	s.t.Helper()
	before := len(j.of(s.t, app.EventStuckSteps))
	if err := s.app.Tick(s.ctx); err != nil { // what follows from it waits
		s.t.Fatal(describe(err))
	}
	var got []string
	for _, line := range j.of(s.t, app.EventStuckSteps)[before:] {
		got = append(got, stuckText(line))
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		s.t.Fatalf("at %s %q, want %q", s.clock.Now().Format(time.TimeOnly), got, want)
	}
}

func TestWorkerThatTakesNoJobsIsToldBeforeTheirDeadlines(t *testing.T) {
	t.Parallel()
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
		// One answer, to whatever job, and it is at work.
		s.answers(1, "Do", "true", nil)
		s.wantStuck(j)
		s.answers(2, "Do", "true", nil)
		s.answers(3, "Do", "true", nil)
		s.wantStatus(b.ID, "completed")
		s.pass(10 * time.Minute)
		s.wantStuck(j)
	})
}

func TestWorkerThatFallsSilentIsToldSinceItsLastAnswer(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	j := s.listen()
	s.script = script{"Do": fails(errLost)}
	s.publish(oneStep(""))
	s.publish(strings.NewReplacer("name: one", "name: other", "function: Do", "function: Other").Replace(oneStep("")))
	s.advance(s.batch("one", people(2)).ID)
	s.pass(20 * time.Minute)
	s.advance(s.batch("other", people(1)).ID) // done at once
	s.pass(6 * time.Minute)
	s.wantStuck(j, "batch 1 of one: 2 for 360s, silent [worker-01]")
}

// Of steps that are late by more and by less the longest is told, whichever is looked at
// first.
func TestOldestOfWhatIsStuckIsTold(t *testing.T) {
	t.Parallel()
	for _, later := range []int{1, 2} {
		s := newStage(t, false)
		j := s.listen()
		s.publish(oneStep("}\n      - {name: then, worker_id: worker-01, function: Then"))
		s.script = script{"Do": fails(errLost), "Then": fails(errLost)}
		s.park = func(kind, _ string) bool { return kind == message.TypeDeadlineCheck }
		s.advance(s.batch("one", people(2)).ID)
		s.pass(2 * time.Minute)
		s.answers(later, "Do", "true", nil)
		s.pass(38 * time.Minute) // each step has 30
		s.wantStuck(j, "batch 1 of one: 2 for 600s, silent <nil>")
	}
}

// A worker of which nothing can be read does not keep others from being told of.
func TestWorkerThatCannotBeReadIsPassedOver(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
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
	if !strings.Contains(j.lines.String(), "it cannot be told whether a worker answers") {
		t.Error("that worker-01 cannot be read is not told")
	}
}

// What the sweep reads anyway does: only of a worker whose jobs are near their deadline is
// it looked up when it answered last, once, however many jobs there are.
func TestTickReadsOneThingMoreForAWorkerWhoseJobsAreNearTheirDeadline(t *testing.T) {
	t.Parallel()
	for _, members := range []int{1, 40} {
		s := newStage(t, false)
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

func TestStepsWhoseMessageWasLostAreTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step, lost   string
		script       worker
		early, after time.Duration // when it is late by less than is taken for a loss, and by more
		want         string
	}{
		"poll":     {", poll: {interval: 10m, timeout: 1h}", message.TypePollCheck, always(unfinished), 11 * time.Minute, 13 * time.Minute, "2 for 180s, silent []"},
		"retry":    {", retry: {max_retries: 1, interval: 5m}", message.TypeRetryCheck, fails(errNo), 6 * time.Minute, 9 * time.Minute, "2 for 240s, silent []"},
		"deadline": {", timeout: 3m", message.TypeDeadlineCheck, fails(errLost), 4 * time.Minute, 8 * time.Minute, "2 for 300s, silent []"},
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
			s.settle() // the sweep has made up for it
			s.wantStuck(j)
		})
	}
}

func TestPhasesWhoseMessageWasLostAreTold(t *testing.T) {
	t.Parallel()
	t.Run("due and not begun", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, false)
		j := s.listen()
		s.table().put(dawn.Add(day), "ann", "bob")
		s.publish(found([]string{"create T-12h New"}, ""))
		s.automate("found")
		s.tick()
		s.pass(12*time.Hour - 10*time.Minute)
		s.tick()
		s.park = func(kind, _ string) bool { return kind == message.TypePhaseDue }
		s.pass(16 * time.Minute) // for six it has been due
		s.wantStuck(j)
		s.pass(2 * time.Minute)
		s.wantStuck(j, "batch 1 of found: 1 for 480s, silent <nil>")
		s.park = nil
		s.pass(5 * time.Minute)
		s.tick()
		s.wantCalls(1, "New")
		s.wantStuck(j)
	})
	t.Run("begun and not gone through", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, false)
		j := s.listen()
		s.publish(oneStep(""))
		b := s.batch("one", people(2))
		s.park = func(kind, _ string) bool { return kind == message.TypePhaseDue }
		s.advance(b.ID)
		s.pass(3 * time.Minute)
		if s.phaseText(b.ID) == "only dispatched 0/0/0" {
			s.wantStuck(j, "batch 1 of one: 1 for 180s, silent <nil>")
		}
		s.unpark()
		s.wantStatus(b.ID, "completed")
	})
}

// However much is late, each page of it is told once: the first by the tick, the others
// by the messages that go on with it.
func TestAllThatIsStuckIsToldPageByPage(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	j := s.listen()
	s.script = script{"Do": fails(errLost)}
	s.publish(oneStep(""))
	b := s.batch("one", people(120))
	s.advance(b.ID)
	s.pass(26 * time.Minute)
	s.tick()
	lines, counted, pages := j.of(t, app.EventStuckSteps), 0.0, ""
	for _, line := range lines {
		counted += line["Count"].(float64)
		pages += fmt.Sprint(line["Page"])
	}
	if len(lines) != 3 || counted != 120 || pages != "012" {
		t.Errorf("%v", lines)
	}
}

func TestTickTellsHowLongTheOldestMessageHasWaited(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	j := s.listen()
	ages := func() string {
		before := len(j.of(t, app.EventOldestMessage))
		if err := s.app.Tick(s.ctx); err != nil {
			t.Fatal(describe(err))
		}
		var told []string
		for _, line := range j.of(t, app.EventOldestMessage)[before:] {
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
		if err := s.bus.Send(s.ctx, topic, bus.Message{ID: id, Body: []byte("{}"), Properties: map[string]any{message.PropertyMessageType: "nothing"}, At: at}); err != nil {
			t.Fatal(err)
		}
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
	s.settle()
	if lines := j.of(t, app.EventMessageUnprocessed); len(lines) != 2 || lines[0]["Event"] != app.EventMessageUnprocessed || lines[0]["reason"] == "" {
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
	s := newStage(t, false)
	j := s.listen()
	if err := s.broker.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.app.Tick(s.ctx); err != nil {
		t.Fatal(describe(err))
	}
	if ticks := j.of(t, app.EventTick); len(ticks) != 1 || ticks[0]["Failed"] != false {
		t.Errorf("%v", ticks)
	}
	if n := strings.Count(j.lines.String(), "it cannot be told how long messages wait"); n != 2 || len(j.of(t, app.EventOldestMessage)) > 0 {
		t.Errorf("%s", j.lines.String())
	}
}

// A broker that takes a connection and says nothing costs a tick some seconds, not more.
func TestTickDoesNotWaitForABrokerThatSaysNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	away, err := bus.Dial(bus.Config{ConnectionString: fmt.Sprintf("Endpoint=sb://%s;SharedAccessKeyName=k;SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true", mute.Addr())})
	if err != nil {
		t.Fatal(err)
	}
	defer away.Close(t.Context())
	j := &journal{}
	process := app.New(app.Config{Store: s.store, Bus: s.bus, Waiting: away, Now: s.clock.Now, Log: j.log(), Sources: s.sources()})
	ctx, cancel := context.WithTimeout(s.ctx, 20*time.Second)
	defer cancel()
	if err := process.Tick(ctx); err != nil {
		t.Fatal(describe(err))
	}
	if ticks := j.of(t, app.EventTick); len(ticks) != 1 || strings.Count(j.lines.String(), "it cannot be told how long messages wait") != 2 {
		t.Errorf("%s", j.lines.String())
	}
}

func TestTickThatFailsIsTold(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	j := s.listen()
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	if err := s.app.Tick(ctx); err == nil {
		t.Fatal("it did not fail")
	}
	if ticks := j.of(t, app.EventTick); len(ticks) != 1 || ticks[0]["Failed"] != true {
		t.Errorf("%v", ticks)
	}
}

func TestWhatKeepsARunbookFromItsDataSourceIsTold(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	j := s.listen()
	table := s.table()
	table.put(dawn.Add(3*day), crowd(10)...)
	s.publish(found(twoPhases, ""))
	s.automate("found")
	s.tick()
	table.drop("p001", "p002", "p003", "p004", "p005")
	s.tick()
	s.tick() // of what is held still, nothing more is told
	if lines := j.of(t, app.EventRemovalsHeld); len(lines) != 1 || lines[0]["BatchId"] != 1.0 || lines[0]["Members"] != 5.0 || lines[0]["Of"] != 10.0 {
		t.Errorf("%v", lines)
	}
	table.exec("ALTER TABLE people RENAME TO gone")
	s.tick()
	if lines := j.of(t, app.EventRunbookNotSynced); len(lines) != 1 || lines[0]["RunbookName"] != "found" {
		t.Errorf("%v", lines)
	}
	if ticks := j.of(t, app.EventTick); ticks[len(ticks)-1]["Failed"] != false { // the others had their turn
		t.Errorf("%v", ticks)
	}
}

// The alerts find lines by the names of events and attributes, and the table of the
// document says what there is: a name that is changed in one place only wakes nobody.
func TestAlertsAndDocumentKnowTheSameEventsAsTheProgram(t *testing.T) {
	t.Parallel()
	read := func(path string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join("..", "..", path))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	names := func(text, pattern string) (found []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			found = append(found, m[1])
		}
		slices.Sort(found)
		return slices.Compact(found)
	}
	want := slices.Sorted(slices.Values(app.Events))
	alerts := read("infra/automation/alerts/alerts.bicep")
	looked := names(alerts, `Event == "([^"]*)"`)
	for _, list := range names(alerts, `Event in \(([^)]*)\)`) {
		looked = append(looked, names(list, `"([^"]*)"`)...)
	}
	slices.Sort(looked)
	if looked = slices.Compact(looked); !slices.Equal(looked, want) {
		t.Errorf("the alerts look for %q; there are %q", looked, want)
	}
	document := read("docs/telemetry.md")
	if told := names(document, "(?m)^\\| `([a-z-]+)` \\| (?:info|warn|error) \\|"); !slices.Equal(told, want) {
		t.Errorf("the document tells of %q; there are %q", told, want)
	}
	used := names(alerts, `Line\.(\w+)`)
	if len(used) < 5 {
		t.Errorf("the alerts use nothing but %q", used)
	}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	program := ""
	for _, path := range sources {
		if !strings.HasSuffix(path, "_test.go") {
			program += read(filepath.Join("internal", "app", path))
		}
	}
	for _, attribute := range used {
		if !strings.Contains(document, "`"+attribute+"`") {
			t.Errorf("the alerts use the attribute %s, of which the document does not tell", attribute)
		}
		if !regexp.MustCompile(`"` + attribute + `"[,\n]`).MatchString(program) {
			t.Errorf("the alerts use the attribute %s, which the program does not write", attribute)
		}
	}
}

// The document's table of alerts is of those that there are, with their severities.
func TestDocumentTellsOfEveryAlert(t *testing.T) {
	t.Parallel()
	read := func(path string, pattern string) (found []string) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join("..", "..", path))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			found = append(found, m[1]+" "+m[2])
		}
		slices.Sort(found)
		return found
	}
	made := read("infra/automation/alerts/alerts.bicep", `key: '([a-z-]+)'\s+description: '[^']+'\s+severity: (\d)`)
	told := read("docs/telemetry.md", "(?m)^\\| `([a-z-]+)` \\| (\\d) \\|")
	if len(made) < 10 || !slices.Equal(made, told) {
		t.Errorf("made: %q\ntold: %q", made, told)
	}
	defaults := read("infra/automation/alerts/alerts.bicep", `(?m)^param (\w+) (?:int|string) = '?(?:PT)?(\d+)`)
	if len(defaults) < 9 {
		t.Fatalf("%q", defaults)
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "telemetry.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range defaults {
		name, value, _ := strings.Cut(d, " ")
		row := regexp.MustCompile("(?m)^\\|.*`" + name + "` \\|$").FindString(strings.ReplaceAll(string(text), ",000", "000"))
		if !regexp.MustCompile(`\b` + value + `\b`).MatchString(row) {
			t.Errorf("the parameter %s is %s by default; the document says: %s", name, value, row)
		}
	}
}
