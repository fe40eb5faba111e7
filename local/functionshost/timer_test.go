package functionshost

import (
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/local/clock"
)

// firing is the body that the handler receives.
type firing struct {
	Data struct {
		Timer struct {
			Schedule       map[string]bool
			ScheduleStatus *struct{ Last, Next, LastUpdated string }
			IsPastDue      bool
		}
	}
	Metadata struct{ Sys map[string]string }
}

// timers runs a host with one timer function and gives its firings.
func timers(t *testing.T, c Config, function string) (*Server, <-chan firing) {
	t.Helper()
	firings := make(chan firing, 100)
	c.AppDir = app(t, map[string]string{"tick": function})
	return run(t, c, func(w http.ResponseWriter, r *http.Request) {
		var f firing
		if err := json.NewDecoder(r.Body).Decode(&f); err != nil {
			t.Error(err)
		}
		firings <- f
		success(w)
	}), firings
}

func receive(t *testing.T, firings <-chan firing) firing {
	t.Helper()
	select {
	case f := <-firings:
		return f
	case <-time.After(10 * time.Second):
		t.Fatal("the timer did not fire")
		return firing{}
	}
}

func at(clock string) time.Time {
	t, err := time.Parse("15:04:05", clock)
	if err != nil {
		panic(err)
	}
	return time.Date(2026, 1, 2, t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

const five = `{"bindings":[{"type":"timerTrigger","direction":"in","name":"timer","schedule":"0 */5 * * * *"}]}`

func TestATimerFiresOnItsSchedule(t *testing.T) {
	t.Parallel()
	_, firings := timers(t, Config{}, secondly)
	first, second := receive(t, firings), receive(t, firings)
	if f := first.Data.Timer; f.ScheduleStatus != nil || f.IsPastDue || !f.Schedule["AdjustForDST"] {
		t.Errorf("a schedule below a minute has no status: %+v", f)
	}
	one, err1 := time.Parse(time.RFC3339Nano, first.Metadata.Sys["UtcNow"])
	two, err2 := time.Parse(time.RFC3339Nano, second.Metadata.Sys["UtcNow"])
	if err1 != nil || err2 != nil || !two.Truncate(time.Second).After(one.Truncate(time.Second)) {
		t.Errorf("fired at %s and %s, within one second", first.Metadata.Sys["UtcNow"], second.Metadata.Sys["UtcNow"])
	}
}

func TestOneFiringAtATime(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}, 10), make(chan struct{})
	s := run(t, Config{AppDir: app(t, map[string]string{"tick": yearly})}, func(w http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		<-leave
		success(w)
	})
	for range 3 {
		byHand(t, s, "TICK")
	}
	<-entered
	byHand(t, s, "tick")
	byHand(t, s, "tick")
	select {
	case <-entered:
		t.Error("a second firing began beside the first")
	case <-time.After(50 * time.Millisecond):
	}
	close(leave)
	<-entered
}

func byHand(t *testing.T, s *Server, name string) {
	t.Helper()
	response, err := http.Post(s.URL()+"/admin/functions/"+name+"?code="+DefaultMasterKey, "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusAccepted {
		text, _ := io.ReadAll(response.Body)
		t.Fatalf("by hand: %s %s", response.Status, text)
	}
}

func TestScheduleStatus(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	noon := func() time.Time { return at("12:01:30") }
	s, firings := timers(t, Config{DataDir: data, Clock: clock.New(noon)}, five)
	byHand(t, s, "tick")
	f := receive(t, firings).Data.Timer
	if f.ScheduleStatus == nil || f.ScheduleStatus.Last != "0001-01-01T00:00:00+00:00" || f.ScheduleStatus.LastUpdated != f.ScheduleStatus.Last || f.ScheduleStatus.Next != "2026-01-02T12:05:00+00:00" || f.IsPastDue {
		t.Errorf("a timer that never ran is handed %+v", f)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	// The host was away at 12:05, so the occurrence is made up, once.
	s, firings = timers(t, Config{DataDir: data, Clock: clock.New(func() time.Time { return at("12:17:00") })}, five)
	f = receive(t, firings).Data.Timer
	if !f.IsPastDue || f.ScheduleStatus.Next != "2026-01-02T12:05:00+00:00" {
		t.Errorf("a missed occurrence is handed over as %+v", f)
	}
	byHand(t, s, "tick")
	f = receive(t, firings).Data.Timer
	if f.IsPastDue || f.ScheduleStatus.Last != "2026-01-02T12:17:00+00:00" || f.ScheduleStatus.Next != "2026-01-02T12:20:00+00:00" {
		t.Errorf("after that it is handed %+v", f)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	// No occurrence was missed: the timer fires only on request.
	s, firings = timers(t, Config{DataDir: data, Clock: clock.New(func() time.Time { return at("12:18:00") })}, five)
	byHand(t, s, "tick")
	if f = receive(t, firings).Data.Timer; f.IsPastDue || f.ScheduleStatus.Last != "2026-01-02T12:17:00+00:00" {
		t.Errorf("a restart in between is handed %+v", f)
	}
}

func TestBrokenScheduleStatusIsRefused(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	write(t, filepath.Join(data, "timers", "tick.json"), "{")
	_, err := Start(t.Context(), Config{AppDir: app(t, map[string]string{"tick": five}), Addr: "127.0.0.1:0", DataDir: data, Settings: map[string]string{"FAKE_ROLE": "handler"}})
	if err == nil || !strings.Contains(err.Error(), "schedule status") {
		t.Errorf("error %v", err)
	}
}

func TestRunOnStartupAndNoMonitor(t *testing.T) {
	t.Parallel()
	_, firings := timers(t, Config{}, strings.Replace(five, `"name"`, `"runOnStartup":true,"useMonitor":false,"name"`, 1))
	if f := receive(t, firings).Data.Timer; f.IsPastDue || f.ScheduleStatus != nil {
		t.Errorf("the first firing is %+v", f)
	}
}
