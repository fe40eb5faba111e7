package functionshost

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/clock"
	"github.com/matoolkit/matoolkit/local/servicebus"
)

const fiveDays = 5 * 24 * time.Hour

// local asks for something under /_local/ and gives the status and the body.
func local(ctx context.Context, s *Server, method, path, body string) (int, string, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.URL()+"/_local/"+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, strings.TrimSpace(string(text)), err
}

func move(t *testing.T, s *Server, body string) clock.Reading {
	t.Helper()
	status, text, err := local(t.Context(), s, "POST", "clock", body)
	var reading clock.Reading
	if err == nil {
		err = json.Unmarshal([]byte(text), &reading)
	}
	if err != nil || status != http.StatusOK {
		t.Fatalf("%s: %d %s, %v", body, status, text, err)
	}
	return reading
}

func environment(t *testing.T, s *Server) []string {
	t.Helper()
	p := testenv.Must(s.supervisor.ready(t.Context()))(t)
	response := testenv.Must(http.Get(p.url + "/environment"))(t)
	defer response.Body.Close()
	var all []string
	if err := json.NewDecoder(response.Body).Decode(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestTheHandlerGoesByTheMovedClock(t *testing.T) {
	t.Parallel()
	s := run(t, Config{Clock: clock.New(nil), AppDir: app(t, map[string]string{"tick": yearly})}, func(w http.ResponseWriter, r *http.Request) { success(w) })
	if got := environment(t, s); slices.ContainsFunc(got, func(v string) bool { return strings.HasPrefix(v, ClockSetting) }) {
		t.Errorf("before any move the handler is told %q", got)
	}
	for i, body := range []string{`{"advance":"5d"}`, `{"advance":"90m"}`, `{"to":"` + time.Now().Add(6*24*time.Hour).Format(time.RFC3339) + `"}`} {
		before := s.HandlerPID()
		reading := move(t, s, body)
		if want := []int64{432000, 437400}; i < len(want) && reading.OffsetSeconds != want[i] || i == len(want) && (reading.OffsetSeconds < 6*86400-2 || reading.OffsetSeconds > 6*86400) {
			t.Errorf("%s answers %+v", body, reading)
		}
		if behind := time.Now().Add(time.Duration(reading.OffsetSeconds) * time.Second).Sub(reading.Now); behind < 0 || behind > time.Minute {
			t.Errorf("%s answers a time that is %s behind", body, behind)
		}
		if pid := s.HandlerPID(); pid == 0 || pid == before {
			t.Errorf("%s is answered with the handler %d, which was %d", body, pid, before)
		}
		want := ClockSetting + "=" + (time.Duration(reading.OffsetSeconds) * time.Second).String()
		if got := environment(t, s); !slices.Contains(got, want) {
			t.Errorf("the handler is not told %s: %q", want, got)
		}
		if err := s.Invoke(t.Context(), "tick", []byte("{}")); err != nil {
			t.Error(err)
		}
		status, text, err := local(t.Context(), s, "GET", "clock", "")
		var again clock.Reading
		if err == nil {
			err = json.Unmarshal([]byte(text), &again)
		}
		if err != nil || status != http.StatusOK || again.OffsetSeconds != reading.OffsetSeconds || again.Now.Before(reading.Now) || again.Now.Location() != time.UTC {
			t.Errorf("it is shown as %d %s: %v", status, text, err)
		}
	}
}

func TestMovesThatAreRefused(t *testing.T) {
	t.Parallel()
	handle := func(w http.ResponseWriter, r *http.Request) { success(w) }
	staged := app(t, map[string]string{"tick": yearly})
	s := run(t, Config{Clock: clock.New(nil), AppDir: staged}, handle)
	pid := s.HandlerPID()
	for body, want := range map[string]string{
		``:                              `{"advance":"5d"}`,
		`[]`:                            "cannot unmarshal array",
		`{"advance":"5d"} {}`:           "more than one JSON value",
		`{}`:                            "give advance, such as 5d",
		`{"forward":"5d"}`:              "forward",
		`{"advance":5}`:                 "advance",
		`{"advance":"-5d"}`:             "advance: duration",
		`{"advance":"5d","to":"x"}`:     "not both",
		`{"to":"tomorrow"}`:             "not a time with a zone",
		`{"to":"2020-03-06T09:00:00Z"}`: "only moves forward",
		`{"advance":"` + strings.Repeat("1", 5000) + `d"}`: "the body is not",
	} {
		status, text, err := local(t.Context(), s, "POST", "clock", body)
		var said struct{ Error string }
		if err == nil {
			err = json.Unmarshal([]byte(text), &said)
		}
		if err != nil || status != http.StatusBadRequest || !strings.Contains(said.Error, want) {
			t.Errorf("%.60s: %d %s, %v; want %q", body, status, text, err, want)
		}
	}
	response := testenv.Must(http.Post(s.URL()+"/_local/clock", "text/plain", strings.NewReader(`{"advance":"5d"}`)))(t)
	if _ = response.Body.Close(); response.StatusCode != http.StatusUnsupportedMediaType {
		t.Errorf("what a page in the browser can send is answered %d", response.StatusCode)
	}
	if s.clock.Offset() != 0 || s.HandlerPID() != pid {
		t.Errorf("the clock is %s ahead, the handler %d was %d", s.clock.Offset(), s.HandlerPID(), pid)
	}

	fixed := run(t, Config{AppDir: staged}, handle)
	if status, text, err := local(t.Context(), fixed, "POST", "clock", `{"advance":"5d"}`); err != nil || status != http.StatusConflict || !strings.Contains(text, "cannot move the clock") {
		t.Errorf("a host without a clock of its own: %d %s, %v", status, text, err)
	}
}

func TestCallsEndBeforeTheClockMoves(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan string, 10), make(chan struct{})
	s := run(t, Config{Clock: clock.New(nil), AppDir: app(t, map[string]string{"tick": yearly, "admin-http": catchAll})}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		entered <- string(body)
		if string(body) != "late" {
			<-leave
		}
		success(w)
	})
	before := s.HandlerPID()
	ended := make(chan error, 3)
	go func() { ended <- s.Invoke(t.Context(), "tick", []byte("invoked")) }()
	go func() {
		response, err := http.Post(s.URL()+"/api/x", "text/plain", strings.NewReader("proxied"))
		if err == nil && response.StatusCode != http.StatusOK {
			err = fmt.Errorf("answered %s", response.Status)
		}
		ended <- err
	}()
	<-entered
	<-entered
	moved := make(chan error, 1)
	go func() {
		status, text, err := local(t.Context(), s, "POST", "clock", `{"advance":"5d"}`)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("%d %s", status, text)
		}
		moved <- err
	}()
	testenv.Eventually(t, "the handler taking no more calls", func() bool { return s.HandlerPID() == 0 })
	go func() { ended <- s.Invoke(t.Context(), "tick", []byte("late")) }()
	select {
	case err := <-moved:
		t.Fatalf("moved with calls that run: %v", err)
	case body := <-entered:
		t.Fatalf("%s began with the clock as it was", body)
	case <-time.After(50 * time.Millisecond):
	}
	if s.clock.Offset() != 0 {
		t.Errorf("the clock is %s ahead while calls run", s.clock.Offset())
	}
	close(leave)
	if err := <-moved; err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := <-ended; err != nil {
			t.Errorf("a call was cut short: %v", err)
		}
	}
	if pid := s.HandlerPID(); pid == before || s.clock.Offset() != fiveDays {
		t.Errorf("handler %d, which was %d; the clock is %s ahead", pid, before, s.clock.Offset())
	}
}

func TestWhoeverGivesUpMovesNothing(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}, 1), make(chan struct{})
	s := run(t, Config{Clock: clock.New(nil), AppDir: app(t, map[string]string{"tick": yearly})}, func(w http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		<-leave
		success(w)
	})
	before := s.HandlerPID()
	ended := make(chan error, 1)
	go func() { ended <- s.Invoke(t.Context(), "tick", []byte("{}")) }()
	<-entered
	ctx, giveUp := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _, _ = local(ctx, s, "POST", "clock", `{"advance":"5d"}`)
	}()
	testenv.Eventually(t, "the handler taking no more calls", func() bool { return s.HandlerPID() == 0 })
	giveUp()
	<-gone
	testenv.Eventually(t, "the same handler going on", func() bool { return s.HandlerPID() == before })
	close(leave)
	if err := <-ended; err != nil || s.clock.Offset() != 0 {
		t.Errorf("the clock is %s ahead; the call that ran: %v", s.clock.Offset(), err)
	}
	if err := s.Invoke(t.Context(), "tick", []byte("{}")); err != nil {
		t.Error(err)
	}
}

func TestAHandlerThatDoesNotStartWithTheMovedClock(t *testing.T) {
	t.Parallel()
	s := run(t, Config{Clock: clock.New(nil), Settings: map[string]string{"FAKE_REFUSES": ClockSetting}, AppDir: app(t, map[string]string{"tick": yearly})}, nil)
	status, text, err := local(t.Context(), s, "POST", "clock", `{"advance":"5d"}`)
	if err != nil || status != http.StatusBadGateway || !strings.Contains(text, ClockSetting+" is refused") {
		t.Errorf("%d %s, %v", status, text, err)
	}
	if s.HandlerPID() != 0 || s.clock.Offset() != fiveDays {
		t.Errorf("handler %d, the clock is %s ahead", s.HandlerPID(), s.clock.Offset())
	}
}

func TestATimerThatTheClockWasMovedOverFiresOnce(t *testing.T) {
	t.Parallel()
	s, firings := timers(t, Config{Clock: clock.New(func() time.Time { return at("12:01:30") })}, five)
	move(t, s, `{"advance":"3m"}`) // nothing falls due before 12:05
	move(t, s, `{"advance":"5d"}`) // 1440 occurrences
	f := receive(t, firings)
	if !f.Data.Timer.IsPastDue || f.Metadata.Sys["UtcNow"] != "2026-01-07T12:04:30Z" || f.Data.Timer.ScheduleStatus.Next != "2026-01-02T12:05:00+00:00" {
		t.Errorf("the occurrence that was passed over is handed over as %+v", f)
	}
	byHand(t, s, "tick")
	f = receive(t, firings)
	if f.Data.Timer.IsPastDue || f.Data.Timer.ScheduleStatus.Last != "2026-01-07T12:04:30+00:00" || f.Data.Timer.ScheduleStatus.Next != "2026-01-07T12:05:00+00:00" {
		t.Errorf("then comes %+v", f)
	}
}

func TestTheClockIsMovedWhileATimerFires(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan firing, 10), make(chan struct{})
	s := run(t, Config{Clock: clock.New(func() time.Time { return at("12:01:30") }), AppDir: app(t, map[string]string{"tick": five})}, func(w http.ResponseWriter, r *http.Request) {
		var f firing
		if err := json.NewDecoder(r.Body).Decode(&f); err != nil {
			t.Error(err)
		}
		entered <- f
		<-leave
		success(w)
	})
	byHand(t, s, "tick")
	<-entered
	moved := make(chan struct{})
	go func() {
		defer close(moved)
		if status, text, err := local(t.Context(), s, "POST", "clock", `{"advance":"4m"}`); err != nil || status != http.StatusOK {
			t.Errorf("%d %s, %v", status, text, err)
		}
	}()
	testenv.Eventually(t, "the handler taking no more calls", func() bool { return s.HandlerPID() == 0 })
	close(leave)
	if f := <-entered; !f.Data.Timer.IsPastDue || f.Metadata.Sys["UtcNow"] != "2026-01-02T12:05:30Z" {
		t.Errorf("after the move comes %+v", f)
	}
	<-moved
}

func TestATimerIsRunToItsEnd(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan bool)
	s := run(t, Config{AppDir: app(t, map[string]string{"tick": yearly})}, func(w http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		if <-leave {
			success(w)
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
	})
	type answer struct {
		status int
		text   string
		err    error
	}
	for well, want := range map[bool]answer{true: {200, `{"function":"tick","tookMs":`, nil}, false: {502, "500 Internal Server Error", nil}} {
		answered := make(chan answer, 1)
		go func() {
			status, text, err := local(t.Context(), s, "POST", "functions/TICK", "{}")
			answered <- answer{status, text, err}
		}()
		<-entered
		select {
		case got := <-answered:
			t.Errorf("answered before the run ended: %+v", got)
		case <-time.After(20 * time.Millisecond):
		}
		leave <- well
		if got := <-answered; got.err != nil || got.status != want.status || !strings.Contains(got.text, want.text) {
			t.Errorf("answered %+v, want %+v", got, want)
		}
	}
	if status, text, err := local(t.Context(), s, "POST", "functions/tock", "{}"); err != nil || status != http.StatusNotFound {
		t.Errorf("no such timer: %d %s, %v", status, text, err)
	}
	if status, text, err := local(t.Context(), s, "GET", "elsewhere", ""); err != nil || status != http.StatusNotFound {
		t.Errorf("no such address: %d %s, %v", status, text, err)
	}
}

// Moving the clock repeatedly takes no message away from its receiver and delivers
// none twice.
func TestMessagesFlowWhileTheClockIsMoved(t *testing.T) {
	t.Parallel()
	const messages, moves = 300, 4
	c := clock.New(nil)
	b := testenv.Started(servicebus.Start(t.Context(), servicebus.Config{Addr: "127.0.0.1:0", Topology: servicebus.DefaultTopology(), Key: "SAS_KEY_VALUE", Now: c.Now, Locks: time.Now}))(t)
	var mu sync.Mutex
	seen := map[string]int{}
	s := run(t, Config{Clock: c, AppDir: app(t, map[string]string{"on-event": onEvent}), Settings: map[string]string{"ServiceBusConnection": b.ConnectionString()}}, func(w http.ResponseWriter, r *http.Request) {
		d := decode(t, r)
		mu.Lock()
		seen[string(d.Data.Msg)+", delivery "+d.Metadata.DeliveryCount]++
		mu.Unlock()
		success(w)
	})
	for i := range moves {
		var bodies []string
		for n := range messages / moves {
			bodies = append(bodies, fmt.Sprint(i, " ", n))
		}
		send(t, b, bodies...)
		move(t, s, `{"advance":"1d"}`)
		b.Tick()
	}
	testenv.Eventually(t, "an empty subscription", func() bool { return left(t, b) == 0 })
	mu.Lock()
	defer mu.Unlock()
	for body, n := range seen {
		if n != 1 || !strings.HasSuffix(body, ", delivery 1") {
			t.Errorf("%s came %d times", body, n)
		}
	}
	// What the client gives back because it came late is delivered again, uncounted.
	if st := b.Stats().Entities["orchestrator-events/Subscriptions/orchestrator"]; len(seen) != messages || st.Completed != messages || st.Abandoned != 0 {
		t.Errorf("%d messages came; %+v", len(seen), st)
	}
}
