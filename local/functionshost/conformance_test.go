package functionshost

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/go-amqp"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/servicebus"
)

// TestConformance has a case for each thing that was seen of a real host of 2024. Concurrency, locks,
// schedules, payloads and the ends of processes have tests of their own besides.
func TestConformance(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*testing.T){
		"a host without enableProxyingHttpRequest ignores it":       ignoresProxying,
		"exit 0 is final, 200 an uncounted restart, others crashes": exitStatuses,
		"a crash restarts the handler on the same port":             samePort,
		"the third crash within 30 minutes stops the host":          thirdCrash,
		"functionTimeout kills the handler two seconds later":       timeoutKills,
		"several timeouts at once give several restarts":            severalTimeouts,
		"the host stops: the handler gets SIGKILL, never SIGTERM":   stopsWithSIGKILL,
		"the host stops: a call that succeeds is abandoned":         stopsAbandoning,
		"any other answer loses ten deliveries":                     failingAnswers,
		"an empty answer, null and 204 wait for functionTimeout":    emptyAnswers,
		"an empty object is success":                                emptyObject,
		"a message: trace, chunks, host name, property types":       messageOnTheWire,
		"a timer never fired":                                       timerNeverFired,
		"proxied headers":                                           proxiedHeaders,
		"proxied paths":                                             proxiedPaths,
		"the page of the host, and its own 404":                     ownPages,
		"large uploads, intact":                                     largeUploads,
		"an upload above 100 MB":                                    uploadAboveTheLimit,
		"an answer before the body was read":                        earlyAnswer,
		"downloads are streamed":                                    downloads,
		"a handler that is away, or silent":                         awayOrSilent,
		"connection lost before the answer: repeated":               repeats,
		"admin API": adminAPI,
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(t) })
	}
}

// all allows all methods that the host knows.
const all = `{"bindings":[{"type":"httpTrigger","direction":"in","name":"req","authLevel":"anonymous","methods":["get","head","post","put","delete"],"route":"{*path}"},{"type":"http","direction":"out","name":"res"}]}`

// web runs a host with an HTTP function.
func web(t *testing.T, c Config, handle http.HandlerFunc) *Server {
	t.Helper()
	c.AppDir, c.Logger = app(t, map[string]string{"admin-http": all, "tick": yearly}), quietly
	return run(t, c, handle)
}

// answerOf sends a request and returns the answer with its body.
func answerOf(t *testing.T, s *Server, method, path string, body io.Reader, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL()+path, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(text)
}

func ignoresProxying(t *testing.T) {
	var envelope struct {
		Data map[string]struct{ Url, Method, Body string }
	}
	s := web(t, Config{WithoutProxying: true}, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/admin-http" || r.Header.Get("X-Ms-Invocation-Id") != "" {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		if err := json.NewDecoder(r.Body).Decode(&envelope); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"Outputs":{"res":{"statusCode":"418","headers":{"X-Mine":"yes"},"body":"short"}}}`)
	})
	response, body := answerOf(t, s, "PUT", "/api/x?y=1", strings.NewReader("hello"))
	if response.StatusCode != http.StatusTeapot || body != "short" || response.Header.Get("X-Mine") != "yes" {
		t.Errorf("%s %q", response.Status, body)
	}
	if got := envelope.Data["req"]; got.Method != http.MethodPut || got.Body != "hello" || !strings.HasSuffix(got.Url, "/api/x?y=1") {
		t.Errorf("%+v", got)
	}
}

func exitStatuses(t *testing.T) {
	for status, want := range map[int]ending{0: final, 200: restarted, 1: crashed, 137: crashed, 143: crashed, -1: crashed} {
		if got := ends(status); got != want {
			t.Errorf("exit status %d: %d, want %d", status, got, want)
		}
	}
}

func samePort(t *testing.T) {
	s := web(t, Config{}, func(w http.ResponseWriter, r *http.Request) { success(w) })
	before, err := s.supervisor.ready(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(before.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-before.done
	after, err := s.supervisor.ready(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if before.pid == after.pid || before.url != after.url {
		t.Errorf("%d at %s, then %d at %s", before.pid, before.url, after.pid, after.url)
	}
}

func thirdCrash(t *testing.T) {
	var h history
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if h.crash(at) || h.crash(at.Add(15*time.Minute)) || !h.crash(at.Add(29*time.Minute)) {
		t.Error("it is not the third")
	}
}

// hang never answers a call whose body is hang.
func hang(w http.ResponseWriter, r *http.Request) {
	if body, _ := io.ReadAll(r.Body); string(body) == "hang" {
		<-r.Context().Done()
		return
	}
	success(w)
}

func timeoutKills(t *testing.T) {
	s := web(t, Config{Settings: map[string]string{OverridePrefix + "functionTimeout": "00:00:00.2"}}, hang)
	p, err := s.supervisor.ready(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := s.Invoke(t.Context(), "tick", []byte("hang")); err == nil {
		t.Error("it succeeded")
	}
	<-p.done
	if took := time.Since(began); took < killAfter || took > killAfter+3*time.Second {
		t.Errorf("killed after %s", took)
	}
	if err := s.Invoke(t.Context(), "tick", []byte("{}")); err != nil {
		t.Errorf("the next handler: %v", err)
	}
}

func severalTimeouts(t *testing.T) {
	var log testenv.Buffer
	s := run(t, Config{
		AppDir: app(t, map[string]string{"tick": yearly}), Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Restart: time.Hour, Settings: map[string]string{OverridePrefix + "functionTimeout": "00:00:00.2"},
	}, hang)
	const calls = 4 // one more than crashes are allowed
	var all sync.WaitGroup
	for range calls {
		all.Go(func() { _ = s.Invoke(t.Context(), "tick", []byte("hang")) })
	}
	all.Wait()
	testenv.Eventually(t, "as many restarts", func() bool { return strings.Count(log.String(), "restarted the handler") == calls })
	if err := s.Invoke(t.Context(), "tick", []byte("{}")); err != nil || s.supervisor.stopped() {
		t.Errorf("afterwards: %v", err)
	}
}

func stopsWithSIGKILL(t *testing.T) {
	s := web(t, Config{}, nil)
	p, err := s.supervisor.ready(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	<-p.done
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Errorf("the handler ended with %v", p.cmd.ProcessState)
	}
}

// busHost runs a host with a message function over a broker.
func busHost(t *testing.T, settings map[string]string, handle http.HandlerFunc) (*Server, *servicebus.Server) {
	t.Helper()
	b := broker(t, "127.0.0.1:0", time.Minute)
	c := Config{AppDir: app(t, map[string]string{"on-event": onEvent}), Logger: quietly, Settings: map[string]string{"ServiceBusConnection": b.ConnectionString()}}
	maps.Copy(c.Settings, settings)
	return run(t, c, handle), b
}

func stopsAbandoning(t *testing.T) {
	const calls = 5
	entered, leave := make(chan struct{}, calls), make(chan struct{})
	s, b := busHost(t, nil, func(w http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		<-leave
		success(w)
	})
	send(t, b, "a", "b", "c", "d", "e")
	for range calls {
		<-entered
	}
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	<-s.running.Done()
	close(leave)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	// The broker may deliver one again before the links are closed.
	if st := b.Stats().Entities["orchestrator-events/Subscriptions/orchestrator"]; st.Completed != 0 || st.Abandoned < calls {
		t.Errorf("%+v", st)
	}
}

func failingAnswers(t *testing.T) {
	answers := map[string]func(http.ResponseWriter){
		"500": func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) },
		"404": func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) },
		"302": func(w http.ResponseWriter) { w.Header().Set("Location", "/on-event"); w.WriteHeader(http.StatusFound) },
		"text/plain": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, "{}")
		},
		"no type": func(w http.ResponseWriter) { w.Header()["Content-Type"] = nil; _, _ = io.WriteString(w, "{}") },
		"array": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "[]")
		},
		"closed": func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
	}
	var mu sync.Mutex
	deliveries := map[string]int{}
	_, b := busHost(t, nil, func(w http.ResponseWriter, r *http.Request) {
		body := string(decode(t, r).Data.Msg)
		mu.Lock()
		deliveries[body]++
		mu.Unlock()
		answers[body](w)
	})
	send(t, b, slices.Collect(maps.Keys(answers))...)
	testenv.Eventually(t, "a dead letter each", func() bool { return deadLetters(t, b) == len(answers) })
	mu.Lock()
	defer mu.Unlock()
	for name := range answers {
		if n := deliveries[name]; n != 10 {
			t.Errorf("%s: %d deliveries", name, n)
		}
	}
}

func emptyAnswers(t *testing.T) {
	answers := map[string]func(http.ResponseWriter){
		"empty": func(w http.ResponseWriter) { w.Header().Set("Content-Type", "application/json") },
		"null": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "null")
		},
		"204": func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) },
	}
	for name, reply := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := web(t, Config{Settings: map[string]string{OverridePrefix + "functionTimeout": "00:00:00.3"}}, func(w http.ResponseWriter, _ *http.Request) { reply(w) })
			began := time.Now()
			if err := s.Invoke(t.Context(), "tick", []byte("{}")); err == nil || !strings.Contains(err.Error(), "functionTimeout") || time.Since(began) < 300*time.Millisecond {
				t.Errorf("%v after %s", err, time.Since(began))
			}
		})
	}
}

func emptyObject(t *testing.T) {
	s := web(t, Config{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}")
	})
	if err := s.Invoke(t.Context(), "tick", []byte("{}")); err != nil {
		t.Error(err)
	}
}

func messageOnTheWire(t *testing.T) {
	// The chunks are seen on the wire only: net/http puts them together.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	sizes := make(chan []string, 1)
	go func() {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		defer connection.Close()
		r := textproto.NewReader(bufio.NewReader(connection))
		for line := "x"; line != ""; {
			line, _ = r.ReadLine()
		}
		var all []string
		for {
			size, err := r.ReadLine()
			n := 0
			if _, scan := fmt.Sscanf(size, "%x", &n); err != nil || scan != nil {
				break
			}
			all = append(all, size)
			if _, err := io.CopyN(io.Discard, r.R, int64(n)+2); err != nil || n == 0 {
				break
			}
		}
		sizes <- all
		_, _ = io.WriteString(connection, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
	}()
	s := web(t, Config{}, nil)
	real, err := s.supervisor.ready(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := &process{url: "http://" + listener.Addr().String(), client: real.client, done: make(chan struct{})}
	s.supervisor.set(elsewhere, starting)
	if err := s.Invoke(t.Context(), "tick", bytes.Repeat([]byte("x"), 2500)); err != nil {
		t.Error(err)
	}
	s.supervisor.set(real, starting)
	if got := <-sizes; !slices.Equal(got, []string{"400", "400", "1c4", "0"}) {
		t.Errorf("the chunks have the sizes %q", got)
	}

	const trace = "0123456789abcdef0123456789abcdef"
	headers, payloads := make(chan http.Header, 1), make(chan []byte, 1)
	_, b := busHost(t, map[string]string{OverridePrefix + "telemetryMode": "OpenTelemetry"}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		headers <- r.Header
		payloads <- body
		success(w)
	})
	sender, err := client(t, b).NewSender("orchestrator-events", nil)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	err = sender.SendMessage(t.Context(), &azservicebus.Message{Body: []byte("x"), ApplicationProperties: map[string]any{
		"traceparent": "00-" + trace + "-0123456789abcdef-01", "n": int64(7), "f": 1.5, "b": true, "s": "text", "t": at,
		"id": amqp.UUID{0x2f, 0x0c, 0x8f, 0x5e, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 1},
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := (<-headers).Get("Traceparent"); !strings.HasPrefix(got, "00-"+trace+"-") || strings.Contains(got, "-0123456789abcdef-") {
		t.Errorf("traceparent %q does not continue that of the message", got)
	}
	var payload struct {
		Metadata struct {
			Client                struct{ FullyQualifiedNamespace string }
			ApplicationProperties map[string]any
		}
	}
	if err := json.Unmarshal(<-payloads, &payload); err != nil {
		t.Fatal(err)
	}
	if got := payload.Metadata.Client.FullyQualifiedNamespace; got != "127.0.0.1" {
		t.Errorf("the namespace is %q, want a host name without a port", got)
	}
	p := payload.Metadata.ApplicationProperties
	if p["n"] != 7.0 || p["f"] != 1.5 || p["b"] != true || p["s"] != "text" || p["t"] != "2026-01-02T03:04:05Z" || p["id"] != "2f0c8f5e-0000-4000-8000-000000000001" {
		t.Errorf("properties %v", p)
	}
	type described struct{ Descriptor, Value any } // as the AMQP library decodes what a .NET client sends
	got := applicationProperties(map[string]any{
		"at": &described{"com.microsoft:datetime-offset", at.Unix()*ticksPerSecond - time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).Unix()*ticksPerSecond},
		"in": &described{"com.microsoft:timespan", int64(3723 * ticksPerSecond)}, "to": &described{"com.microsoft:uri", "https://example.com"},
	})
	if string(got) != `{"at":"2026-01-02T03:04:05+00:00","in":"01:02:03","to":"https://example.com"}` {
		t.Errorf("described properties: %s", got)
	}
}

func timerNeverFired(t *testing.T) {
	s, firings := timers(t, Config{Logger: quietly}, five)
	byHand(t, s, "tick")
	const never = "0001-01-01T00:00:00+00:00"
	if f := receive(t, firings).Data.Timer.ScheduleStatus; f == nil || f.Last != never || f.LastUpdated != never {
		t.Errorf("the status is %+v", f)
	}
	s, firings = timers(t, Config{Logger: quietly}, secondly)
	if f := receive(t, firings).Data.Timer.ScheduleStatus; f != nil {
		t.Errorf("a schedule below a minute has the status %+v", f)
	}
	_ = s
}

// echo answers with what the handler received.
func echo(w http.ResponseWriter, r *http.Request) {
	for name, values := range r.Header {
		w.Header()["Got-"+name] = values
	}
	w.Header().Set("Got-Host", r.Host)
	w.Header().Set("Got-Line", r.Method+" "+r.RequestURI)
}

func proxiedHeaders(t *testing.T) {
	s := web(t, Config{}, echo)
	forged := []string{
		"X-Forwarded-For", "6.6.6.6", "X-Forwarded-Host", "evil", "X-Forwarded-Proto", "gopher",
		"X-Azure-Functions-HostVersion", "forged", "X-Azure-Functions-InvocationId", "forged", "X-Ms-Invocation-Id", "forged",
	}
	response, _ := answerOf(t, s, "GET", "/api/x", nil, forged...)
	h := response.Header
	if h.Get("Got-X-Forwarded-For") != "127.0.0.1" || h.Get("Got-X-Forwarded-Host") != s.Addr() || h.Get("Got-X-Forwarded-Proto") != "http" {
		t.Errorf("forwarded for %q by %q as %q", h["Got-X-Forwarded-For"], h["Got-X-Forwarded-Host"], h["Got-X-Forwarded-Proto"])
	}
	for _, name := range []string{"X-Azure-Functions-Hostversion", "X-Azure-Functions-Invocationid", "X-Ms-Invocation-Id"} {
		if got := h["Got-"+name]; len(got) != 1 || got[0] == "forged" || got[0] == "" {
			t.Errorf("%s is %q", name, got)
		}
	}
	if got := h.Get("Got-Traceparent"); !validTraceparent.MatchString(got) {
		t.Errorf("traceparent %q", got)
	}
	const trace = "0123456789abcdef0123456789abcdef"
	response, _ = answerOf(t, s, "GET", "/api/x", nil, "traceparent", "00-"+trace+"-0123456789abcdef-01")
	if got := response.Header.Get("Got-Traceparent"); !strings.HasPrefix(got, "00-"+trace) {
		t.Errorf("traceparent %q does not continue the caller's", got)
	}
}

func proxiedPaths(t *testing.T) {
	s := web(t, Config{}, echo)
	for line, want := range map[string]string{
		"GET /api/runbooks/a%2Fb?x=%2F": "GET /api/runbooks/a%252Fb?x=%2F", "GET /api/a%20b%25c%C3%BC": "GET /api/a%20b%25c%C3%BC", "GET /API/health": "GET /API/health",
		"HEAD /api/x": "HEAD /api/x", "GET /api/../x": "", "GET /api/a/..%2F..": "GET /api/a/..%252F..", "GET /api/%2e%2e/x": "", "PATCH /api/x": "",
	} {
		method, path, _ := strings.Cut(line, " ")
		response, body := answerOf(t, s, method, path, nil)
		got := response.Header.Get("Got-Line")
		if want == "" && (response.StatusCode != http.StatusNotFound || body != "" || got != "") || want != "" && got != want {
			t.Errorf("%s: %s, the handler saw %q", line, response.Status, got)
		}
	}
	p, err := s.supervisor.ready(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The fake handler relays requests; the host wrote its own address.
	if got := hostHeader(t, s, p); got != strings.TrimPrefix(p.url, "http://") {
		t.Errorf("Host is %q", got)
	}
}

// hostHeader returns the Host that a proxied request has on the wire.
func hostHeader(t *testing.T, s *Server, p *process) string {
	t.Helper()
	in := httptest.NewRequest(http.MethodGet, s.URL()+"/api/x", nil)
	in.Host = "api.example.com"
	var host string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { host = r.Host }))
	defer server.Close()
	elsewhere := &process{url: server.URL, proxy: p.proxy, done: make(chan struct{})}
	s.supervisor.set(elsewhere, starting)
	s.http.Handler.ServeHTTP(httptest.NewRecorder(), in)
	s.supervisor.set(p, starting)
	if host == strings.TrimPrefix(server.URL, "http://") {
		return strings.TrimPrefix(p.url, "http://")
	}
	return host
}

func ownPages(t *testing.T) {
	s := web(t, Config{}, echo)
	if response, body := answerOf(t, s, "GET", "/", nil); response.StatusCode != http.StatusOK || !strings.Contains(body, "running") {
		t.Errorf("GET /: %s %q", response.Status, body)
	}
	if response, body := answerOf(t, s, "GET", "/nothing", nil); response.StatusCode != http.StatusNotFound || body != "" {
		t.Errorf("GET /nothing: %s %q", response.Status, body)
	}
}

// zeros is a body of so many bytes. Chunked, it has no length.
func zeros(n int64, isChunked bool) io.Reader {
	if isChunked {
		return io.LimitReader(zero{}, n)
	}
	return bytes.NewReader(make([]byte, n))
}

type zero struct{}

func (zero) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func largeUploads(t *testing.T) {
	s := web(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		_, _ = fmt.Fprint(w, n, err)
	})
	for _, isChunked := range []bool{false, true} {
		if response, body := answerOf(t, s, "POST", "/api/x", zeros(20<<20, isChunked)); response.StatusCode != http.StatusOK || body != "20971520 <nil>" {
			t.Errorf("chunked %v: %s %q", isChunked, response.Status, body)
		}
	}
}

func uploadAboveTheLimit(t *testing.T) {
	s := web(t, Config{}, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/api/x", io.LimitReader(zero{}, maxUpload+1))
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = maxUpload + 1
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if response.StatusCode != http.StatusInternalServerError || len(body) != 0 {
		t.Errorf("%s %q", response.Status, body)
	}
}

func earlyAnswer(t *testing.T) {
	s := web(t, Config{}, nil)
	if response, body := answerOf(t, s, "POST", "/api/early", zeros(64<<10, false)); response.StatusCode != http.StatusUnauthorized || body != "refused" {
		t.Errorf("a small body: %s %q", response.Status, body)
	}
	if response, body := answerOf(t, s, "POST", "/api/early", zeros(40<<20, true)); response.StatusCode != http.StatusInternalServerError || body != "" {
		t.Errorf("a large body: %s %q", response.Status, body)
	}
}

func downloads(t *testing.T) {
	leave := make(chan struct{})
	s := web(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "first\n")
		w.(http.Flusher).Flush()
		<-leave
		_, _ = io.CopyN(w, zero{}, 50<<20)
	})
	response, err := http.Get(s.URL() + "/api/x")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	r := bufio.NewReader(response.Body)
	if line, err := r.ReadString('\n'); err != nil || line != "first\n" {
		t.Fatalf("%q, %v", line, err)
	}
	close(leave)
	if n, err := io.Copy(io.Discard, r); err != nil || n != 50<<20 {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func awayOrSilent(t *testing.T) {
	s := web(t, Config{answer: 100 * time.Millisecond}, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	if response, body := answerOf(t, s, "GET", "/api/silent", nil); response.StatusCode != http.StatusInternalServerError || body != "" {
		t.Errorf("silent: %s %q", response.Status, body)
	}
	exit(t, s, "0")
	if response, body := answerOf(t, s, "GET", "/api/away", nil); response.StatusCode != http.StatusInternalServerError || body != "" {
		t.Errorf("away: %s %q", response.Status, body)
	}
}

func repeats(t *testing.T) {
	var mu sync.Mutex
	sent := map[string][]string{}
	s := web(t, Config{}, func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		sent[r.URL.Path] = append(sent[r.URL.Path], r.Header.Get("X-Ms-Invocation-Id"))
		panic(http.ErrAbortHandler)
	})
	var all sync.WaitGroup
	for path, q := range map[string]struct {
		method, body string
		least, most  int
	}{
		"/api/get": {"GET", "", 20, 80}, "/api/delete": {"DELETE", "", 20, 80}, "/api/post": {"POST", "", 20, 80}, "/api/body": {"POST", "x", 1, 2},
	} {
		all.Go(func() {
			var body io.Reader
			if q.body != "" {
				body = strings.NewReader(q.body)
			}
			r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), q.method, s.URL()+path, body)
			if err != nil {
				t.Error(err)
				return
			}
			response, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				t.Error(err)
				return
			}
			text, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			mu.Lock()
			defer mu.Unlock()
			ids := slices.Compact(slices.Clone(sent[path]))
			if n := len(sent[path]); response.StatusCode != http.StatusInternalServerError || len(text) != 0 || n < q.least || n > q.most || len(ids) != 1 {
				t.Errorf("%s: %s %q, sent %d times with the ids %q", path, response.Status, text, n, ids)
			}
		})
	}
	all.Wait()
}

func adminAPI(t *testing.T) {
	var calls atomic.Int64
	b := broker(t, "127.0.0.1:0", time.Minute)
	s := run(t, Config{
		AppDir: app(t, map[string]string{"admin-http": all, "tick": yearly, "on-event": onEvent}), Logger: quietly, MasterKey: "k",
		Settings: map[string]string{"ServiceBusConnection": b.ConnectionString()},
	}, func(w http.ResponseWriter, _ *http.Request) { calls.Add(1); success(w) })
	for _, tc := range []struct {
		line, media, key string
		want             int
	}{
		{"GET /admin/host/status", "", "", 401},
		{"GET /admin/host/status", "", "wrong", 401},
		{"GET /admin/host/status", "", "k", 200},
		{"POST /admin/functions/tick", "application/json", "", 401},
		{"POST /admin/functions/tick", "", "k", 415},
		{"POST /admin/functions/none", "application/json", "k", 404},
		{"POST /admin/functions/tick", "application/json", "k", 202},
		{"POST /admin/functions/on-event", "application/json", "k", 202},
		{"POST /admin/functions/admin-http", "application/json", "k", 202},
	} {
		method, path, _ := strings.Cut(tc.line, " ")
		if response, _ := answerOf(t, s, method, path, strings.NewReader(`{"input":"x"}`), "Content-Type", tc.media, HeaderKey, tc.key); response.StatusCode != tc.want {
			t.Errorf("%s with the key %q: %s, want %d", tc.line, tc.key, response.Status, tc.want)
		}
	}
	testenv.Eventually(t, "the runs", func() bool { return calls.Load() == 2 })
}
