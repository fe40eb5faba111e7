package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/clock"
	"github.com/matoolkit/matoolkit/local/functionshost"
)

// The host of the tests runs this test binary as its handler. It does not start with
// a clock that is a year ahead, and its timer then fails once it is a month ahead.
func TestMain(m *testing.M) {
	if os.Getenv("TEST_ROLE") != "handler" {
		os.Exit(m.Run())
	}
	ahead, _ := time.ParseDuration(os.Getenv(functionshost.ClockSetting)) // none is 0
	if ahead > 365*24*time.Hour {
		fmt.Fprintln(os.Stderr, "a year is too much")
		os.Exit(1)
	}
	panic(http.ListenAndServe("127.0.0.1:"+os.Getenv("FUNCTIONS_CUSTOMHANDLER_PORT"), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ahead > 30*24*time.Hour {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"Outputs":{},"Logs":[],"ReturnValue":null}`)
	})))
}

// startHost starts a Functions host whose app has the scheduler's timer only.
func startHost(t *testing.T, c *clock.Clock) string {
	t.Helper()
	self := testenv.Must(os.Executable())(t)
	dir := t.TempDir()
	for file, text := range map[string]string{
		"host.json":                     fmt.Sprintf(`{"version":"2.0","customHandler":{"description":{"defaultExecutablePath":%q}}}`, self),
		"scheduler-timer/function.json": `{"bindings":[{"type":"timerTrigger","direction":"in","name":"timer","schedule":"0 0 0 29 2 *","useMonitor":false}]}`,
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	host := testenv.Started(functionshost.Start(t.Context(), functionshost.Config{
		AppDir: dir, Addr: "127.0.0.1:0", Clock: c, Settings: map[string]string{"TEST_ROLE": "handler"}, Output: io.Discard,
	}))(t)
	return host.URL() + "/api"
}

// execute runs the command as its user does.
func execute(ctx context.Context, args ...string) (status int, out, errs string) {
	var o, e bytes.Buffer
	root := cli.NewRoot(command.Environment{Stdout: &o, Stderr: &e})
	root.AddCommand(localCommand())
	addVerify(root, func(string) string { return "" })
	root.SetArgs(args)
	status = cli.Execute(ctx, root)
	return status, o.String(), e.String()
}

func TestClockAndTick(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	api := startHost(t, clock.New(func() time.Time { return noon }))
	for _, step := range []struct {
		args   string
		status int
		out    string // the whole output
		errs   string // part of the errors
	}{
		{"clock", 0, "2026-03-01 12:00:00Z, the real time\n", ""},
		{"clock --advance 90m", 0, "2026-03-01 13:30:00Z, 1h30m0s ahead of the real time\n", ""},
		{"clock --to 2026-03-06T13:00:00+01:00", 0, "2026-03-06 12:00:00Z, 5d ahead of the real time\n", ""},
		{"clock --advance 30s -q", 0, "2026-03-06T12:00:30Z\n", ""},
		{"clock", 0, "2026-03-06 12:00:30Z, 5d 30s ahead of the real time\n", ""},
		{"clock -o json", 0, "{\n  \"now\": \"2026-03-06T12:00:30.000Z\",\n  \"offsetSeconds\": 432030\n}\n", ""},
		{"clock -o yaml", 0, "now: \"2026-03-06T12:00:30.000Z\"\noffsetSeconds: 432030\n", ""},
		{"clock -o csv", exit.WrongUsage, "", "local clock cannot print CSV"},
		{"tick -q", 0, "scheduler-timer\n", ""},
		{"clock --to 2026-03-05T00:00:00Z", exit.Refused, "", "the clock only moves forward: it is already 2026-03-06T12:00:30Z, not before 2026-03-05T00:00:00Z"},
		{"clock --advance 5", exit.WrongUsage, "", "--advance: duration \"5\" has no unit"},
		{"clock --advance=", exit.WrongUsage, "", "--advance: missing; give advance"},
		{"clock --to tomorrow", exit.WrongUsage, "", "--to: \"tomorrow\" is not a time with a zone"},
		{"clock --to 2026-03-07T00:00:00Z --advance 5d", exit.WrongUsage, "", "--advance and --to cannot be given together"},
		{"clock 5d", exit.WrongUsage, "", "too many arguments, from \"5d\" on: matoolkit local clock"},
		{"clock --advance 30d", 0, "2026-04-05 12:00:30Z, 35d 30s ahead of the real time\n", ""},
		{"tick", exit.Failed, "", "scheduler-timer: the handler answered 500"},
		{"clock --advance 400d", exit.Failed, "", "the clock was moved, but the handler did not start with it: "},
	} {
		status, out, errs := execute(t.Context(), append([]string{"local", "--api-url", api}, strings.Fields(step.args)...)...)
		if status != step.status || out != step.out || !strings.Contains(errs, step.errs) || step.errs == "" && errs != "" {
			t.Errorf("%s: status %d, %q, %q", step.args, status, out, errs)
		}
	}
}

func TestTickTellsHowLongItTook(t *testing.T) {
	t.Parallel()
	api := startHost(t, nil)
	status, out, errs := execute(t.Context(), "local", "tick", "-o", "json", "--api-url", api)
	var ran functionshost.Run
	if err := json.Unmarshal([]byte(out), &ran); status != 0 || err != nil || ran.Function != "scheduler-timer" || errs != "" {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
	if status, out, errs := execute(t.Context(), "local", "tick", "--api-url", api); status != 0 || !strings.HasPrefix(out, "scheduler-timer ran, in ") || errs != "" {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
	if status, _, errs := execute(t.Context(), "local", "clock", "--advance", "1d", "--api-url", api); status != exit.Refused || !strings.Contains(errs, "cannot move the clock") {
		t.Errorf("status %d, %q", status, errs)
	}
}

func TestOnlyALocalSystemHasAClock(t *testing.T) {
	t.Parallel()
	other := http.Server{Handler: http.NotFoundHandler()}
	listener := listen(t)
	go func() { _ = other.Serve(listener) }() // until it is closed
	t.Cleanup(func() { _ = other.Close() })
	nobody := listen(t)
	if err := nobody.Close(); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		url    string
		status int
		want   string
	}{
		{"https://my-api.azurewebsites.net", exit.WrongUsage, "is not a local system"},
		{"https://127.0.0.1:7071", exit.WrongUsage, "is not a local system"},
		{"http://" + listener.Addr().String(), exit.Failed, "is not a local system: it answers 404"},
		{"http://" + nobody.Addr().String(), exit.Unavailable, "is \"matoolkit local up\" running?"},
	} {
		for _, command := range []string{"clock --advance 1d", "tick"} {
			args := append([]string{"local", "--api-url", tc.url}, strings.Fields(command)...)
			if status, out, errs := execute(t.Context(), args...); status != tc.status || out != "" || !strings.Contains(errs, tc.want) {
				t.Errorf("%s at %s: status %d, %q, %q", command, tc.url, status, out, errs)
			}
		}
	}
}

func TestUpTellsThatTheClockWasMoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kept, err := clock.Open(filepath.Join(dir, "clock.json"))
	if err == nil {
		err = kept.Advance(5 * 24 * time.Hour)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out := &until{text: "ready in", reached: stop}
	root := cli.NewRoot(command.Environment{Stdout: out, Stderr: t.Output()})
	root.AddCommand(localCommand())
	root.SetArgs([]string{"local", "up", "--parts", "servicebus", "--free-ports", "--data-dir", dir})
	if status := cli.Execute(ctx, root); status != 0 || !strings.Contains(out.String(), "5d ahead of the real time") {
		t.Errorf("status %d, %q", status, out.String())
	}
}

// until keeps the written text and signals when it contains a given text.
type until struct {
	mu      sync.Mutex
	b       strings.Builder
	text    string
	reached func()
}

func (u *until) Write(p []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	n, err := u.b.Write(p)
	if strings.Contains(u.b.String(), u.text) {
		u.reached()
	}
	return n, err
}

func (u *until) String() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.b.String()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	return testenv.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
}
