package functionshost

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
)

func TestStartAndItsFailures(t *testing.T) {
	t.Parallel()
	missing := t.TempDir()
	write(t, filepath.Join(missing, "host.json"), fmt.Sprintf(hostJSON, "handler"))
	write(t, filepath.Join(missing, "tick", "function.json"), yearly)
	staged := app(t, map[string]string{"tick": yearly})
	for name, tc := range map[string]struct {
		config Config
		want   string
	}{
		"the handler is not there":  {Config{AppDir: missing}, "start the handler"},
		"the handler ends at once":  {Config{AppDir: staged, Settings: map[string]string{"FAKE_LAST_WORDS": "settings: COSMOS_ENDPOINT is missing"}}, "COSMOS_ENDPOINT is missing"},
		"an override of no list":    {Config{AppDir: staged, Settings: map[string]string{OverridePrefix + "customHandler__description__arguments": "x"}}, "arguments"},
		"an address of the network": {Config{AppDir: staged, Addr: "0.0.0.0:0"}, "loopback"},
		"a broken override":         {Config{AppDir: staged, Settings: map[string]string{OverridePrefix + "version__x": "1"}}, "version is not a section"},
		"no app":                    {Config{AppDir: t.TempDir()}, "host.json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := map[string]string{"FAKE_ROLE": "handler"}
			for k, v := range tc.config.Settings {
				settings[k] = v
			}
			tc.config.Settings, tc.config.Output = settings, io.Discard
			if tc.config.Addr == "" {
				tc.config.Addr = "127.0.0.1:0"
			}
			_, err := Start(t.Context(), tc.config)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestSlowStartIsAStartError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "host.json"), `{"version":"2.0","customHandler":{"initializationTimeout":"00:00:00.2","description":{"defaultExecutablePath":"/bin/sleep","arguments":["60"]}}}`)
	write(t, filepath.Join(dir, "tick", "function.json"), yearly)
	_, err := Start(t.Context(), Config{AppDir: dir, Addr: "127.0.0.1:0"})
	if err == nil || !strings.Contains(err.Error(), "initializationTimeout") {
		t.Errorf("error %v", err)
	}
}

func TestTheHandlersEnvironment(t *testing.T) {
	t.Setenv("NOT_FOR_THE_HANDLER", "secret")
	s := run(t, Config{AppDir: app(t, map[string]string{"tick": yearly}), Settings: map[string]string{"MINE": "1"}}, nil)
	p := testenv.Must(s.supervisor.ready(t.Context()))(t)
	response := testenv.Must(http.Get(p.url + "/environment"))(t)
	defer response.Body.Close()
	var environment []string
	if err := json.NewDecoder(response.Body).Decode(&environment); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, entry := range environment {
		name, value, _ := strings.Cut(entry, "=")
		got[name] = value
	}
	port := strings.TrimPrefix(p.url, "http://127.0.0.1:")
	for name, want := range map[string]string{"MINE": "1", "FUNCTIONS_CUSTOMHANDLER_PORT": port, "FUNCTIONS_HTTPWORKER_PORT": port, "FUNCTIONS_APP_ROOT_PATH": s.app.root, "NOT_FOR_THE_HANDLER": ""} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	if got["FUNCTIONS_CUSTOMHANDLER_WORKER_ID"] == "" || got["FUNCTIONS_CUSTOMHANDLER_WORKER_ID"] != got["FUNCTIONS_HTTPWORKER_ID"] {
		t.Errorf("worker ids %q and %q", got["FUNCTIONS_CUSTOMHANDLER_WORKER_ID"], got["FUNCTIONS_HTTPWORKER_ID"])
	}
}

func TestAnInvocationOnTheWire(t *testing.T) {
	t.Parallel()
	var got *http.Request
	var body []byte
	s := run(t, Config{AppDir: app(t, map[string]string{"tick": yearly}), Settings: map[string]string{OverridePrefix + "telemetryMode": "OpenTelemetry"}}, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		success(w)
	})
	if err := s.Invoke(t.Context(), "tick", []byte(`{"Data":{},"Metadata":{}}`)); err != nil {
		t.Fatal(err)
	}
	if got.Method != http.MethodPost || got.URL.String() != "/tick" || got.Header.Get("Fake-Chunked") != "true" || string(body) != `{"Data":{},"Metadata":{}}` {
		t.Errorf("%s %s, chunked %q, %s", got.Method, got.URL, got.Header.Get("Fake-Chunked"), body)
	}
	for name, pattern := range map[string]string{
		"Content-Type": "application/json; charset=utf-8", "User-Agent": "Azure-Functions-Host/4.", "X-Azure-Functions-HostVersion": "4.",
		"X-Azure-Functions-InvocationId": "", "Traceparent": "00-",
	} {
		if value := got.Header.Get(name); value == "" || !strings.HasPrefix(value, pattern) {
			t.Errorf("%s is %q", name, value)
		}
	}
	if len(got.Header.Get("Traceparent")) != 55 || !strings.HasSuffix(got.Header.Get("Traceparent"), "-01") {
		t.Errorf("traceparent %q", got.Header.Get("Traceparent"))
	}
}

func TestReplies(t *testing.T) {
	t.Parallel()
	s := run(t, Config{AppDir: app(t, map[string]string{"tick": yearly})}, func(w http.ResponseWriter, r *http.Request) {
		var reply struct {
			Status   int
			Type     string
			Location string
			Body     string
		}
		_ = json.NewDecoder(r.Body).Decode(&reply)
		w.Header()["Content-Type"] = nil
		if reply.Type != "" {
			w.Header().Set("Content-Type", reply.Type)
		}
		if reply.Location != "" {
			w.Header().Set("Location", reply.Location)
		}
		w.WriteHeader(reply.Status)
		_, _ = io.WriteString(w, reply.Body)
	})
	for name, tc := range map[string]struct{ reply, want string }{
		"all keys":            {`{"Status":200,"Type":"application/json","Body":"{\"Outputs\":{},\"Logs\":[],\"ReturnValue\":null}"}`, ""},
		"an empty object":     {`{"Status":202,"Type":"application/json; charset=utf-8","Body":"{}"}`, ""},
		"no content type":     {`{"Status":200,"Body":"{}"}`, "content type"},
		"text":                {`{"Status":200,"Type":"text/plain","Body":"{}"}`, "content type"},
		"an array":            {`{"Status":200,"Type":"application/json","Body":"[]"}`, "envelope"},
		"half an object":      {`{"Status":200,"Type":"application/json","Body":"{"}`, "envelope"},
		"an error":            {`{"Status":500,"Type":"application/json","Body":"{}"}`, "500"},
		"an unknown function": {`{"Status":404,"Type":"application/json","Body":"{}"}`, "404"},
		"a redirect":          {`{"Status":302,"Location":"/tick"}`, "302"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := s.Invoke(t.Context(), "tick", []byte(tc.reply))
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestFunctionTimeoutRestartsTheHandler(t *testing.T) {
	t.Parallel()
	s := run(t, Config{AppDir: app(t, map[string]string{"tick": yearly}), Settings: map[string]string{OverridePrefix + "functionTimeout": "00:00:00.3"}}, func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); string(body) == "hang" {
			<-r.Context().Done()
			return
		}
		success(w)
	})
	before := s.HandlerPID()
	if err := s.Invoke(t.Context(), "tick", []byte("hang")); err == nil || !strings.Contains(err.Error(), "functionTimeout") {
		t.Errorf("error %v", err)
	}
	testenv.Eventually(t, "another process", func() bool { pid := s.HandlerPID(); return pid != 0 && pid != before })
	if err := s.Invoke(t.Context(), "tick", []byte("{}")); err != nil {
		t.Error(err)
	}
}

func TestACrashFailsWhatRunsAndIsRestarted(t *testing.T) {
	t.Parallel()
	running := make(chan struct{})
	s := run(t, Config{AppDir: app(t, map[string]string{"tick": yearly})}, func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); string(body) == "hang" {
			close(running)
			<-r.Context().Done()
			return
		}
		success(w)
	})
	before := s.HandlerPID()
	failed := make(chan error, 1)
	go func() { failed <- s.Invoke(context.Background(), "tick", []byte("hang")) }()
	<-running
	if err := s.Invoke(t.Context(), "exit", []byte("{}")); err == nil {
		t.Error("the call that ended the process did not fail")
	}
	if err := <-failed; err == nil {
		t.Error("the call that was running did not fail")
	}
	testenv.Eventually(t, "another process", func() bool { pid := s.HandlerPID(); return pid != 0 && pid != before })
	if err := s.Invoke(t.Context(), "tick", []byte("{}")); err != nil {
		t.Error(err)
	}
}

func TestLinesCarryALevel(t *testing.T) {
	t.Parallel()
	var out testenv.Buffer
	l := &lines{out: &out}
	o, e := l.stream(stdout), l.stream(stderr)
	_, _ = io.WriteString(o, "one\r\ntwo warnings, ha")
	_, _ = io.WriteString(e, "a Warning\nbroken\n")
	_, _ = io.WriteString(o, "lf\nLanguageWorkerConsoleLog x\n")
	_, _ = io.WriteString(e, "c\nd\n")
	_, _ = io.WriteString(o, strings.Repeat("x", longest))
	want := "[Information] one\n[Warning] a Warning\n[Error] broken\n[Information] two warnings, half\n[Debug] LanguageWorkerConsoleLog x\n[Error] c\n[Error] d\n[Information] " + strings.Repeat("x", longest) + "\n"
	if out.String() != want {
		t.Errorf("got %.300q", out.String())
	}
	if got := l.last(); !slices.Equal(got, []string{"broken", "c", "d"}) {
		t.Errorf("the last lines of stderr are %q", got)
	}
}

func TestCloseLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	s := run(t, Config{AppDir: app(t, map[string]string{"tick": secondly})}, func(w http.ResponseWriter, r *http.Request) { success(w) })
	url := s.URL()
	start := time.Now()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 4*time.Second {
		t.Errorf("closing took %s", took)
	}
	if pid := s.HandlerPID(); pid != 0 {
		t.Errorf("the handler lives on as %d", pid)
	}
	if _, err := http.Get(url + "/admin/host/ping"); err == nil {
		t.Error("the address still answers")
	}
}
