package functionshost

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
)

// The tests run this test binary as the handler. It relays every request to the
// test itself, at FAKE_REPORT, so that each test decides what its handler does.

func TestMain(m *testing.M) {
	switch os.Getenv("FAKE_ROLE") {
	case "handler":
		fakeHandler()
	case "host":
		fakeHost()
	default:
		os.Exit(m.Run())
	}
}

func fakeHandler() {
	fmt.Println("handler starts")
	fmt.Fprintln(os.Stderr, "a warning comes first")
	if line := os.Getenv("FAKE_LAST_WORDS"); line != "" {
		fmt.Fprintln(os.Stderr, line)
		os.Exit(3)
	}
	if os.Getenv("FAKE_REFUSES") != "" && os.Getenv(os.Getenv("FAKE_REFUSES")) != "" {
		fmt.Fprintln(os.Stderr, os.Getenv("FAKE_REFUSES")+" is refused")
		os.Exit(3)
	}
	if _, err := os.Stat(os.Getenv("FAKE_BROKEN")); err == nil {
		os.Exit(3)
	}
	report, err := url.Parse(os.Getenv("FAKE_REPORT"))
	if err != nil {
		panic(err)
	}
	relay := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = report.Scheme, report.Host
		r.Out.URL.RawQuery = r.In.URL.RawQuery
		for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
			r.Out.Header[name] = r.In.Header[name]
		}
		if r.In.ContentLength < 0 {
			r.Out.Header.Set("Fake-Chunked", "true")
		}
	}, FlushInterval: -1, ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }}
	signal.Ignore(syscall.SIGTERM)
	err = http.ListenAndServe("127.0.0.1:"+os.Getenv("FUNCTIONS_CUSTOMHANDLER_PORT"), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if os.Getenv("FAKE_DIRECT") != "" {
			_, _ = io.Copy(io.Discard, r.Body)
			success(w)
			return
		}
		switch r.URL.Path {
		case "/api/early":
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, "refused")
			return
		case "/exit":
			body, _ := io.ReadAll(r.Body)
			code, err := strconv.Atoi(string(body))
			if err != nil {
				code = 7
			}
			os.Exit(code)
		case "/environment":
			_ = json.NewEncoder(w).Encode(os.Environ())
			return
		}
		relay.ServeHTTP(w, r)
	}))
	panic(err)
}

// fakeHost runs a host that is to be killed, and tells its handler's process id.
func fakeHost() {
	s, err := Start(context.Background(), Config{AppDir: os.Getenv("FAKE_APP"), Addr: "127.0.0.1:0", Settings: map[string]string{
		"FAKE_ROLE": "handler", "FAKE_REPORT": os.Getenv("FAKE_REPORT"),
	}, Output: io.Discard})
	if err != nil {
		panic(err)
	}
	fmt.Println(s.HandlerPID())
	select {}
}

// hostJSON is the smallest host.json; %s is the rest of it, with a comma before.
const hostJSON = `{"version":"2.0","functionTimeout":"00:00:20","extensions":{"serviceBus":{"maxConcurrentCalls":8}},
	"customHandler":{"description":{"defaultExecutablePath":%q},"enableProxyingHttpRequest":true,"initializationTimeout":"00:00:10"}}`

// app lays an app out whose handler is this test binary.
func app(t testing.TB, functions map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	self := testenv.Must(os.Executable())(t)
	write(t, filepath.Join(dir, "host.json"), fmt.Sprintf(hostJSON, self))
	for name, text := range functions {
		write(t, filepath.Join(dir, name, "function.json"), text)
	}
	return dir
}

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const (
	yearly   = `{"bindings":[{"type":"timerTrigger","direction":"in","name":"timer","schedule":"0 0 0 1 1 *"}]}`
	secondly = `{"bindings":[{"type":"timerTrigger","direction":"in","name":"timer","schedule":"* * * * * *"}]}`
	catchAll = `{"bindings":[{"type":"httpTrigger","direction":"in","name":"req","authLevel":"anonymous","methods":["get","post"],"route":"{*path}"},{"type":"http","direction":"out","name":"res"}]}`
)

// success is a handler's reply that the host takes.
func success(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"Outputs":{},"Logs":[],"ReturnValue":null}`)
}

// run starts a host over an app whose handler answers as given; the probe is
// answered with 404, which must do.
func run(t testing.TB, c Config, handle http.HandlerFunc) *Server {
	t.Helper()
	if c.Settings == nil {
		c.Settings = map[string]string{}
	}
	c.Settings["FAKE_ROLE"] = "handler"
	c.Settings["FAKE_REPORT"] = report(t, handle)
	if c.Addr == "" {
		c.Addr = "127.0.0.1:0"
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	if c.Output == nil {
		c.Output = io.Discard
	}
	s := testenv.Must(Start(t.Context(), c))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func report(t testing.TB, handle http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		handle(w, r)
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL
}
