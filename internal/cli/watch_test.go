package cli_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/internal/cli/batches"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

// script is a batch as successive looks find it.
type script struct {
	looks  []look
	paused map[int]string // why, by look
	// pausedBy is who paused the batch, by look; ada where it is not said.
	pausedBy map[int]string
	change   map[int]func(*api.Batch) // of a batch that follows its schedule, by look
	at       int
	calls    int
}

type look struct {
	status, current string
	phases          []api.Phase
	err             error
}

func (s *script) now() look { return s.looks[min(s.at, len(s.looks)-1)] }

func (s *script) Follow(context.Context, int, string) (api.Batch, string, bool, error) {
	s.calls++
	l := s.now()
	b := api.Batch{ID: 42, RunbookName: "moves", Status: l.status, CurrentPhase: l.current, IsManual: true}
	if why, ok := s.paused[s.at]; ok {
		b.Paused = &api.Attribution{By: cmp.Or(s.pausedBy[s.at], "ada"), At: start, Why: why}
	}
	if s.change != nil {
		begins := start.Add(25 * time.Hour)
		b.IsManual, b.BatchStartTime = false, &begins
		if change := s.change[s.at]; change != nil {
			change(&b)
		}
	}
	b.Phases = l.phases
	return b, "", true, l.err
}

var start = time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)

// follow watches a script on a clock that moves on with each wait, one read per wait.
func follow(s *script, o batches.WatchOptions, show func(render.Progress)) (last render.Progress, pauses []time.Duration, err error) {
	now := start
	o.Now = func() time.Time { return now }
	o.Wait = func(_ context.Context, d time.Duration) error {
		pauses = append(pauses, d)
		now = now.Add(d)
		s.at++
		if s.at > len(s.looks)+5 {
			return errors.New("watched past the end")
		}
		return nil
	}
	last, err = batches.Watch(context.Background(), s, 42, o, show)
	return last, pauses, err
}

func phase(id int, name, status string, members, succeeded, failed, running int) api.Phase {
	p := api.Phase{ID: id, Name: name, Status: status, Members: members, Succeeded: succeeded, Failed: failed, Running: running}
	p.Waiting = members - succeeded - failed - running
	if status != "pending" {
		p.DispatchedAt = &start
	}
	if status == "completed" || status == "failed" {
		end := start.Add(90 * time.Second)
		p.CompletedAt = &end
	}
	return p
}

func outageOf(status int) error {
	return &apiclient.Error{Status: status, Code: apiclient.CodeUnreachable, Detail: "no answer from http://127.0.0.1:1"}
}

// migration is a batch of two phases with an outage on the way.
func migration() *script {
	idlePhases := []api.Phase{phase(1, "prepare", "completed", 10, 9, 1, 0), phase(2, "move", "pending", 9, 0, 0, 0)}
	return &script{looks: []look{
		{"detected", "", []api.Phase{phase(1, "prepare", "pending", 10, 0, 0, 0), phase(2, "move", "pending", 10, 0, 0, 0)}, nil},
		{"active", "prepare", []api.Phase{phase(1, "prepare", "pending", 10, 0, 0, 0), phase(2, "move", "pending", 10, 0, 0, 0)}, nil},
		{"active", "prepare", []api.Phase{phase(1, "prepare", "dispatched", 10, 0, 0, 10), phase(2, "move", "pending", 10, 0, 0, 0)}, nil},
		{"active", "prepare", []api.Phase{phase(1, "prepare", "dispatched", 10, 2, 0, 8), phase(2, "move", "pending", 10, 0, 0, 0)}, nil},
		{err: outageOf(0)},
		{err: outageOf(503)},
		{"active", "prepare", []api.Phase{phase(1, "prepare", "dispatched", 10, 6, 1, 3), phase(2, "move", "pending", 10, 0, 0, 0)}, nil},
		{"active", "prepare", idlePhases, nil},
		{"active", "prepare", idlePhases, nil},
		{"active", "move", idlePhases, nil},
		{"active", "move", []api.Phase{idlePhases[0], phase(2, "move", "dispatched", 9, 0, 0, 9)}, nil},
		{"completed", "move", []api.Phase{idlePhases[0], phase(2, "move", "completed", 9, 9, 0, 0)}, nil},
	}}
}

func TestWatchGoesOnToTheEndOfTheBatch(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	lines := render.NewLines(&out, true)
	last, pauses, err := follow(migration(), batches.WatchOptions{}, lines.Show)
	lines.Close()
	if err != nil || last.Batch.Status != "completed" || last.Lost != nil {
		t.Errorf("%+v, %v", last, err)
	}
	const ms = time.Millisecond
	want := []time.Duration{1000 * ms, 1000 * ms, 1000 * ms, 1000 * ms, 4000 * ms, 4000 * ms, 1000 * ms, 1000 * ms, 1500 * ms, 2250 * ms, 1000 * ms}
	if !reflect.DeepEqual(pauses, want) {
		t.Errorf("pauses %v, want %v", pauses, want)
	}
	golden(t, "watch-lines", out.String())
}

func TestWatchUntilIdle(t *testing.T) {
	t.Parallel()
	pending := []api.Phase{phase(1, "prepare", "pending", 10, 0, 0, 0), phase(2, "move", "pending", 10, 0, 0, 0)}
	done := []api.Phase{phase(1, "prepare", "failed", 10, 0, 10, 0), phase(2, "move", "pending", 10, 0, 0, 0)}
	for _, tt := range []struct {
		name  string
		looks []look
		want  int // the look that ends the watch
	}{
		{"a batch that was never advanced is idle", []look{{"detected", "", pending, nil}}, 0},
		{"a phase that is announced and has not begun is not idle", []look{{"active", "prepare", pending, nil}, {"active", "prepare", done, nil}}, 1},
		{"init that is announced is not idle", []look{{"init_dispatched", "init", pending, nil}, {"failed", "init", pending, nil}}, 1},
		{"another phase that still runs is not idle", []look{
			{"active", "move", []api.Phase{phase(1, "prepare", "dispatched", 10, 9, 0, 1), phase(2, "move", "completed", 9, 9, 0, 0)}, nil},
			{"active", "move", []api.Phase{phase(1, "prepare", "completed", 10, 10, 0, 0), phase(2, "move", "completed", 10, 10, 0, 0)}, nil},
		}, 1},
		{"a phase that a new version is to run again is idle", []look{
			{"active", "prepare", []api.Phase{phase(1, "prepare", "completed", 10, 10, 0, 0), phase(2, "prepare", "pending", 10, 0, 0, 0)}, nil},
		}, 0},
		{"what removes members is idle where nobody is being removed", []look{
			{"active", "prepare", []api.Phase{phase(1, "prepare", "completed", 10, 10, 0, 0), removal(1)}, nil},
			{"active", "prepare", []api.Phase{phase(1, "prepare", "completed", 10, 10, 0, 0), removal(0)}, nil},
		}, 1},
		{"a batch that is being cancelled is not idle", []look{{"cancelling", "prepare", done, nil}, {"cancelled", "prepare", done, nil}}, 1},
	} {
		s := &script{looks: tt.looks}
		if _, _, err := follow(s, batches.WatchOptions{UntilIdle: true}, func(render.Progress) {}); err != nil || s.at != tt.want {
			t.Errorf("%s: ended at look %d with %v, want %d", tt.name, s.at, err, tt.want)
		}
	}
}

// The stop_when of a phase pauses the batch: the phase may never end, so a script that
// waits for it gets an error. It continues after an administrator's pause.
func TestWatchUntilIdleEndsWhenAStopWhenPauses(t *testing.T) {
	t.Parallel()
	running := look{"active", "prepare", []api.Phase{phase(1, "prepare", "dispatched", 10, 2, 1, 7)}, nil}
	s := &script{looks: []look{running, running, running}, paused: map[int]string{1: "ada pauses", 2: "stop_when: 1"}, pausedBy: map[int]string{2: "system"}}
	last, _, err := follow(s, batches.WatchOptions{UntilIdle: true}, func(render.Progress) {})
	if err != nil || s.at != 2 {
		t.Errorf("ended at look %d with %v", s.at, err)
	}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		batch, running := last.Batch, last.Phases[0]
		running.Kind = "phase"
		batch.Phases = []api.Phase{running}
		var answer any = batch
		switch {
		case r.Method == http.MethodPost:
			answer = api.AdvanceResult{Batch: last.Batch, Advanced: "prepare", Repeated: true, Phase: last.Phases[0], NextPhase: "cut over"}
		case strings.HasSuffix(r.URL.Path, "/phases"):
			view := last.Phases[0]
			view.Kind = "phase"
			answer = api.Page[api.Phase]{Items: []api.Phase{view}}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(api.Close)
	var notices bytes.Buffer
	root := cli.NewRoot(command.Environment{
		Stdout: io.Discard, Stderr: &notices, Now: func() time.Time { return start },
		Token: func(context.Context) (string, error) { return "token", nil },
		Wait:  func(context.Context, time.Duration) error { return errors.New("it watches on") },
		Getenv: func(name string) string {
			return map[string]string{"MATOOLKIT_API_URL": api.URL, "MATOOLKIT_CONFIG_DIR": t.TempDir()}[name]
		},
	})
	root.SetArgs([]string{"batch", "advance", "42", "--phase", "prepare", "--wait"})
	if status := cli.Execute(t.Context(), root); status != exit.Failed {
		t.Errorf("exit status %d:\n%s", status, notices.String())
	}
	for _, want := range []string{
		"Phase prepare had already started; nothing was started now. It is running: 2 of 10 members succeeded, 1 failed. Next: cut over.",
		"1 member failed. Show them: matoolkit batch members 42 --status failed", "batch 42 is paused by system: stop_when: 1",
		"To continue: matoolkit batch resume 42\nTo end the batch: matoolkit batch cancel 42",
	} {
		if !strings.Contains(notices.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, notices.String())
		}
	}
}

func removal(running int) api.Phase {
	p := phase(3, "on_member_removed", "dispatched", 1, 1-running, 0, running)
	p.Kind = "removal"
	return p
}

// intervention is a batch that is paused, held at a gate and cancelled.
func intervention() *script {
	prepared := func(next api.Phase) []api.Phase {
		return []api.Phase{phase(1, "prepare", "completed", 10, 9, 1, 0), next}
	}
	gated := phase(2, "cut over", "pending", 10, 0, 0, 0)
	gated.Approval = true
	held := gated
	held.Reason = "it waits for an administrator's approval"
	approved := held
	approved.Reason, approved.Approved = "", &api.Attribution{By: "bob", Why: "signed"}
	running := phase(2, "cut over", "dispatched", 10, 0, 0, 10)
	running.Approval, running.Approved = true, approved.Approved
	superseded := gated
	superseded.ID, superseded.RunbookVersion, superseded.Status, superseded.Members = 4, 2, "superseded", 0
	superseded.Waiting = 0
	superseded.Reason = "superseded by version 3"
	stopped := running
	stopped.Status, stopped.Running, stopped.Cancelled, stopped.Reason = "cancelled", 0, 10, "the batch is cancelled"
	return &script{
		looks: []look{
			{"active", "prepare", []api.Phase{phase(1, "prepare", "dispatched", 10, 2, 0, 8), gated}, nil},
			{"active", "prepare", []api.Phase{phase(1, "prepare", "dispatched", 10, 3, 0, 7), gated}, nil},
			{"active", "prepare", prepared(gated), nil},
			{"active", "prepare", prepared(held), nil},
			{"active", "prepare", prepared(approved), nil},
			{"active", "cut over", prepared(running), nil},
			{"cancelling", "cut over", prepared(running), nil},
			{"cancelled", "cut over", append(prepared(stopped), superseded), nil},
		},
		paused: map[int]string{1: "throttled", 2: "throttled"},
	}
}

func TestWatchShowsInterventions(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	lines := render.NewLines(&out, true)
	last, _, err := follow(intervention(), batches.WatchOptions{}, lines.Show)
	lines.Close()
	if err != nil || last.Batch.Status != "cancelled" {
		t.Errorf("%+v, %v", last, err)
	}
	golden(t, "watch-interventions", out.String())

	var drawn bytes.Buffer
	s := intervention()
	s.looks = append(s.looks[:2:2], s.looks[7]) // the frame before the last is drawn before it ends
	bars := render.NewBars(&drawn, 160, false)
	if _, _, err := follow(s, batches.WatchOptions{}, bars.Show); err != nil {
		t.Fatal(err)
	}
	bars.Close()
	for _, want := range []string{"Batch 42  moves  cancelled", " 10/10  cancelled                0 succeeded, 10 cancelled", "approved by bob: signed", "cut over (version 2)"} {
		if !strings.Contains(drawn.String(), want) {
			t.Errorf("no %q in %q", want, drawn.String())
		}
	}
}

func TestWatchEndsOnARefusal(t *testing.T) {
	t.Parallel()
	for _, status := range []int{401, 403, 404} {
		s := &script{looks: []look{{"active", "", nil, nil}, {err: outageOf(status)}}}
		if _, _, err := follow(s, batches.WatchOptions{}, func(render.Progress) {}); err == nil || s.at != 1 {
			t.Errorf("status %d: ended at look %d with %v", status, s.at, err)
		}
	}
}

func TestWatchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := &script{looks: []look{{"active", "", nil, nil}}}
	_, err := batches.Watch(ctx, s, 42, batches.WatchOptions{}, func(render.Progress) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
}

func TestBars(t *testing.T) {
	t.Parallel()
	for _, colored := range []bool{false, true} {
		var out bytes.Buffer
		bars := render.NewBars(&out, 120, colored)
		if _, _, err := follow(migration(), batches.WatchOptions{}, bars.Show); err != nil {
			t.Fatal(err)
		}
		bars.Close()
		shown := out.String()
		for _, want := range []string{"Batch 42  moves  ", "10/10  ", "completed with failures  9 succeeded, 1 failed, 1m30s", "  9/9  ", "completed                1m30s", strings.Repeat("█", 24)} {
			if !strings.Contains(shown, want) {
				t.Errorf("colored %t: no %q in %q", colored, want, shown)
			}
		}
		if got := strings.Contains(shown, "\x1b[32m"); got != colored {
			t.Errorf("colored %t: colours %t in %q", colored, got, shown)
		}
	}
}

var escapes = regexp.MustCompile(`\x1b\[[0-9;]*[a-zA-Z]`)

// However much there is to say beside them, all bars are as long as each other, and no line
// is longer than the terminal is wide.
func TestBarsAreAligned(t *testing.T) {
	t.Parallel()
	for width, colored := range map[int]bool{40: false, 60: true, 61: false, 80: true, 81: false, 100: true} {
		var out bytes.Buffer
		bars := render.NewBars(&out, width, colored)
		if _, _, err := follow(migration(), batches.WatchOptions{}, bars.Show); err != nil {
			t.Fatal(err)
		}
		bars.Close()
		frames := strings.Split(out.String(), "\x1b[J")
		last, longest := frames[len(frames)-1], -1
		for line := range strings.Lines(last) {
			if strings.HasPrefix(line, "Batch") {
				continue
			}
			if n := utf8.RuneCountInString(escapes.ReplaceAllString(strings.TrimSuffix(line, "\n"), "")); n > width {
				t.Errorf("%d columns: a line of %d: %q", width, n, line)
			}
			bar := strings.Count(line, "█") + strings.Count(line, "▓") + strings.Count(line, "▒") + strings.Count(line, "░")
			if longest >= 0 && bar != longest || bar < 4 {
				t.Errorf("%d columns: a bar of %d and one of %d:\n%s", width, longest, bar, last)
			}
			longest = bar
		}
		if longest < 0 {
			t.Errorf("%d columns: no bar in %q", width, out.String())
		}
	}
}

// On a narrow terminal the command that comes next is the last thing to be cut off.
func TestWatchKeepsWhatIsToBeGivenNext(t *testing.T) {
	t.Parallel()
	var drawn bytes.Buffer
	bars := render.NewBars(&drawn, 80, false)
	bars.Show(render.Progress{
		Batch:  api.Batch{ID: 42, RunbookName: "first-hour", Status: "active", IsManual: true, CurrentPhase: "prepare"},
		Phases: []api.Phase{{ID: 1, Name: "prepare", Status: "completed"}, {ID: 2, Name: "cut-over", Status: "pending", Members: 3, Waiting: 3}},
	})
	bars.Close()
	for _, want := range []string{"(next is cut-over: matoolkit batch advance 42)", "pending                  3 waiting"} {
		if !strings.Contains(drawn.String(), want) {
			t.Errorf("no %q in %q", want, drawn.String())
		}
	}
}

// A batch that waits for its worker says so, once for each reason, also without hints, as
// advance --wait watches.
func TestWatchShowsWhichWorkerABatchWaitsFor(t *testing.T) {
	t.Parallel()
	seen := start.Add(-3 * time.Minute)
	until := start.Add(5 * time.Minute)
	gone := api.WorkerWait{WorkerID: "worker-01", State: api.WorkerGone, JobsQueued: 37, Since: &seen, Reason: "last seen then"}
	fewer := gone
	fewer.JobsQueued = 36
	throttled := api.WorkerWait{WorkerID: "worker-01", State: api.WorkerAlive, JobsQueued: 30, ThrottledUntil: &until, Reason: "throttled until then"}
	waits := [][]api.WorkerWait{nil, {gone}, {fewer}, {throttled}, nil}
	s := &script{change: map[int]func(*api.Batch){}}
	for i, w := range waits {
		s.looks = append(s.looks, look{"active", "move", []api.Phase{phase(1, "move", "dispatched", 45, 0, 0, 45)}, nil})
		s.change[i] = func(b *api.Batch) { b.WaitsFor = w }
	}
	s.looks = append(s.looks, look{"completed", "move", []api.Phase{phase(1, "move", "completed", 45, 45, 0, 0)}, nil})
	var out bytes.Buffer
	lines := render.NewLines(&out, false)
	if _, _, err := follow(s, batches.WatchOptions{}, lines.Show); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		if _, says, ok := strings.Cut(strings.TrimSpace(line), "waits for "); ok {
			got = append(got, says)
		}
	}
	want := []string{"worker worker-01: last seen on 2026-01-02 03:01:00Z; 37 jobs queued", "worker worker-01: throttled until 2026-01-02 03:09:00Z; 30 jobs queued"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("told %q, want %q\n%s", got, want, out.String())
	}
	var drawn bytes.Buffer
	s.at, s.looks = 0, s.looks[:2]
	bars := render.NewBars(&drawn, 200, false)
	bars.Show(render.Progress{At: start, Batch: api.Batch{ID: 42, RunbookName: "moves", Status: "active", WaitsFor: []api.WorkerWait{gone}}})
	bars.Close()
	if !strings.Contains(drawn.String(), "waits for worker worker-01: last seen on 2026-01-02 03:01:00Z; 37 jobs queued") {
		t.Errorf("drawn: %q", drawn.String())
	}
}
