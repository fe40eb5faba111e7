package functionshost

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

const (
	// answerWithin is how long a proxied request may go without an answer.
	answerWithin = 240 * time.Second
	// maxUpload is the largest body of a request, in bytes.
	maxUpload = 100 << 20
	// repeatable is the largest body that the host still has when it repeats a request.
	repeatable = 64 << 10
)

// errTooLarge is the error of a body above maxUpload.
var errTooLarge = errors.New("the body of the request is larger than 100 MB")

// handler serves the host's own /, /admin and /_local, and proxies what an httpTrigger's route
// and methods let through; anything else is 404 without a body.
func (s *Server) handler() http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite:       rewrite,
		Transport:     proxied{s},
		FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil {
				s.log.Warn("proxied request failed", "path", r.URL.Path, "error", err)
			}
			w.WriteHeader(http.StatusInternalServerError)
		},
	}
	if s.exchanges != "" {
		proxy.ModifyResponse = s.exchanges.record
	}
	prefix := "/" + strings.Trim(s.app.host.Extensions.HTTP.RoutePrefix, "/")
	admin, local := s.admin(), s.local()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.EscapedPath()
		switch {
		case path == "/":
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html><body>Your Functions host is up and running.</body></html>") // the caller is gone if this fails
			return
		case path == "/admin" || strings.HasPrefix(path, "/admin/"):
			admin.ServeHTTP(w, r)
			return
		case strings.HasPrefix(path, "/_local/"):
			local.ServeHTTP(w, r)
			return
		case s.supervisor.stopped():
			refuse(w, http.StatusServiceUnavailable, "the host is restarting")
			return
		}
		f := s.httpFunction(r, prefix)
		switch {
		case f == nil:
			w.WriteHeader(http.StatusNotFound)
		case s.withoutProxying:
			s.envelope(w, r, f)
		default:
			proxy.ServeHTTP(w, r)
		}
	})
}

// httpFunction returns the function that a request is for; nil for none. Paths are compared in
// any case. One with a segment .. is never served: the real host resolves it first.
func (s *Server) httpFunction(r *http.Request, prefix string) *function {
	path := r.URL.EscapedPath()
	if prefix = strings.TrimSuffix(prefix, "/"); len(path) < len(prefix) || !strings.EqualFold(path[:len(prefix)], prefix) {
		return nil
	}
	rest := path[len(prefix):]
	if rest != "" && rest[0] != '/' {
		return nil
	}
	for segment := range strings.SplitSeq(path, "/") {
		if name, err := url.PathUnescape(segment); err != nil || name == "." || name == ".." {
			return nil
		}
	}
	for i, f := range s.app.functions {
		if f.http != nil && f.http.allows(r.Method) && f.http.route.matches(rest) {
			return &s.app.functions[i]
		}
	}
	return nil
}

// slash is an escaped slash, which the host escapes once more.
var slash = regexp.MustCompile(`(?i)%2f`)

// rewrite keeps method, path, query, headers and body as they came, except that an escaped slash
// is escaped once more. It adds the host's own headers over any that the caller sent.
func rewrite(r *httputil.ProxyRequest) {
	r.Out.URL.RawQuery = r.In.URL.RawQuery
	raw := slash.ReplaceAllStringFunc(r.In.URL.EscapedPath(), func(s string) string { return "%25" + s[1:] })
	if path, err := url.PathUnescape(raw); err == nil {
		r.Out.URL.Path, r.Out.URL.RawPath = path, raw
	}
	r.Out.Host = "" // that of the handler's address
	r.SetXForwarded()
	id := uuid.NewString()
	r.Out.Header.Set("X-Azure-Functions-HostVersion", hostVersion)
	r.Out.Header.Set("X-Azure-Functions-InvocationId", id)
	r.Out.Header.Set("x-ms-invocation-id", id)
	r.Out.Header.Set("traceparent", traceparent(r.In.Header.Get("traceparent")))
}

var validTraceparent = regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// traceparent returns that of a new span in the trace of another one, or in a new trace.
func traceparent(of string) string {
	var id [24]byte
	_, _ = rand.Read(id[:]) // never fails
	trace := hex.EncodeToString(id[:16])
	if validTraceparent.MatchString(of) {
		trace = of[3:35]
	}
	return "00-" + trace + "-" + hex.EncodeToString(id[16:]) + "-01"
}

// proxied sends a request to the ready process. It tries ten times to connect: a process that
// just ended is being replaced. A request whose connection is lost before the answer it sends
// again: without a body for two seconds, with one that it still has once.
type proxied struct{ s *Server }

func (t proxied) RoundTrip(r *http.Request) (*http.Response, error) {
	const connects, repeats, repeatFor, pause = 10, 80, 2 * time.Second, 25 * time.Millisecond
	if r.ContentLength > maxUpload {
		return nil, errTooLarge
	}
	sent, err := newUpload(r)
	if err != nil {
		return nil, err
	}
	wait, begun := 50*time.Millisecond, time.Now()
	for connect, repeat := 1, 1; ; {
		response, err := t.once(r, sent)
		delay := wait
		switch {
		case err == nil || r.Context().Err() != nil:
			return response, err
		case errors.Is(err, errAway) || notConnected(err):
			if connect++; connect > connects {
				return nil, err
			}
			wait = min(2*wait, 250*time.Millisecond)
		case errors.Is(err, errTooLarge) || errors.Is(err, errBroken) || isTimeout(err) || !sent.again():
			return nil, err
		case !sent.empty && repeat > 1, repeat >= repeats, time.Since(begun) > repeatFor:
			return nil, err
		default:
			repeat++
			delay = pause
		}
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-time.After(delay):
		}
	}
}

func notConnected(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) && dial.Op == "dial"
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// upload is the body of a request on its way to the handler.
type upload struct {
	empty bool
	begin []byte    // of the body
	rest  io.Reader // of the body; nil: begin is all
	taken bool      // the rest was read from
}

func newUpload(r *http.Request) (*upload, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return &upload{empty: true}, nil
	}
	begin, err := io.ReadAll(io.LimitReader(r.Body, repeatable+1))
	if err != nil {
		return nil, err
	}
	if len(begin) <= repeatable {
		return &upload{begin: begin}, nil
	}
	return &upload{begin: begin, rest: r.Body}, nil
}

// again reports whether the host still has the whole body.
func (u *upload) again() bool { return !u.taken }

// body returns the body to send, nil for none.
func (u *upload) body() *sending {
	if u.empty {
		return nil
	}
	var all io.Reader = bytes.NewReader(u.begin)
	if u.rest != nil {
		u.taken = true
		all = io.MultiReader(all, u.rest)
	}
	return &sending{from: all, left: maxUpload, ended: make(chan struct{})}
}

// sending is a body that is being sent. ended is closed when the transport has read it to its end,
// or has given up.
type sending struct {
	from  io.Reader
	left  int64
	whole atomic.Bool // read to its end
	over  atomic.Bool // ended is closed
	ended chan struct{}
}

func (b *sending) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLarge
	}
	if err == io.EOF {
		b.whole.Store(true)
		_ = b.Close() // never fails
	}
	return n, err
}

func (b *sending) Close() error {
	if !b.over.Swap(true) {
		close(b.ended)
	}
	return nil
}

// errBroken is the error of a request that the handler answered before it had read the body, and
// whose connection it closed then: the host drops such an answer.
var errBroken = errors.New("the handler answered before it had read the body, and closed the connection")

func (t proxied) once(r *http.Request, u *upload) (*http.Response, error) {
	p, err := t.s.supervisor.acquire(r.Context())
	if err != nil {
		return nil, err
	}
	// The server cancels a request's context after the last byte of its answer.
	stop := context.AfterFunc(r.Context(), func() { t.s.supervisor.release(p) })
	response, err := t.to(p, r, u)
	if err != nil && stop() {
		t.s.supervisor.release(p)
	}
	return response, err
}

func (t proxied) to(p *process, r *http.Request, u *upload) (*http.Response, error) {
	target, err := url.Parse(p.url)
	if err != nil {
		return nil, err
	}
	out := *r
	address := *r.URL
	address.Scheme, address.Host = target.Scheme, target.Host
	out.URL = &address
	body := u.body()
	if out.Body = nil; body != nil {
		out.Body = body
	}
	response, err := p.proxy.RoundTrip(&out)
	if err != nil || body == nil {
		return response, err
	}
	select {
	case <-body.ended:
	case <-r.Context().Done():
	}
	if !body.whole.Load() {
		_ = response.Body.Close()
		return nil, errBroken
	}
	return response, nil
}

// envelope invokes an HTTP function as a host does that does not know enableProxyingHttpRequest.
func (s *Server) envelope(w http.ResponseWriter, r *http.Request, f *function) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxUpload))
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	type object = map[string]any
	payload, err := json.Marshal(object{
		"Data": object{f.http.Name: object{
			"Url": "http://" + r.Host + r.URL.RequestURI(), "Method": r.Method, "Query": object{}, "Headers": r.Header, "Params": object{}, "Identities": []any{}, "Body": string(body),
		}},
		"Metadata": object{"sys": object{"MethodName": f.name, "UtcNow": s.clock.Now().UTC(), "RandGuid": uuid.NewString()}},
	})
	var reply *reply
	if err == nil {
		reply, err = s.call(r.Context(), f.name, payload, "")
	}
	var output struct {
		StatusCode json.RawMessage
		Headers    map[string]string
		Body       string
	}
	if err == nil {
		err = json.Unmarshal(reply.Outputs[f.http.output], &output)
	}
	status := 0
	if err == nil {
		_, err = fmt.Sscan(strings.Trim(string(output.StatusCode), `"`), &status)
	}
	if err != nil || status < 100 || status > 599 {
		s.log.Warn("an HTTP function failed", "function", f.name, "error", err)
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	for name, value := range output.Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, output.Body) // the caller is gone if this fails
}

// DefaultMasterKey is the key of the admin API if Config has none.
const DefaultMasterKey = "MASTER_KEY_VALUE"

// HeaderKey is the header of the master key.
const HeaderKey = "X-Functions-Key"

// admin serves the few of the host's own addresses that a person or a script uses: status, and
// running a function now.
func (s *Server) admin() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /admin/host/status", func(w http.ResponseWriter, r *http.Request) {
		state := "Running"
		switch {
		case s.supervisor.stopped():
			state = "Offline"
		case s.HandlerPID() == 0:
			state = "Initializing"
		}
		answer(w, http.StatusOK, map[string]any{
			"handlerPid": s.HandlerPID(), // not in the real one: for those who end it on purpose
			"id":         "local", "state": state, "version": hostVersion, "processUptime": time.Since(s.started).Milliseconds(), "functionAppContentEditingState": "NotAllowed",
		})
	})
	mux.HandleFunc("GET /admin/host/ping", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("POST /admin/functions/{name}", func(w http.ResponseWriter, r *http.Request) {
		if !sentAsJSON(w, r) {
			return
		}
		for _, f := range s.app.functions {
			if strings.EqualFold(f.name, r.PathValue("name")) {
				s.runByHand(f, r)
				w.WriteHeader(http.StatusAccepted)
				return
			}
		}
		w.WriteHeader(http.StatusNotFound)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(HeaderKey) != s.masterKey && r.URL.Query().Get("code") != s.masterKey {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// runByHand starts a function. The input of the request is the body of a message.
func (s *Server) runByHand(f function, r *http.Request) {
	switch {
	case f.timer != nil:
		s.timers[strings.ToLower(f.name)].runNow()
	case f.bus != nil:
		var request struct{ Input string }
		_ = json.NewDecoder(io.LimitReader(r.Body, maxReply)).Decode(&request) // no input is an empty message
		s.triggers.Go(func() {
			if err := s.invoke(s.running, f.name, messagePayload(f.name, "", f.bus, inputMessage(request.Input), s.clock.Now()), ""); err != nil {
				s.log.Warn("a run by hand failed", "function", f.name, "error", err)
			}
		})
	default:
		s.log.Warn("a run by hand has no HTTP request; the function is not called", "function", f.name)
	}
}

// timerToRun is the timer in the path. Where there is none, it has answered.
func (s *Server) timerToRun(w http.ResponseWriter, r *http.Request) *timerTrigger {
	if !sentAsJSON(w, r) {
		return nil
	}
	t := s.timers[strings.ToLower(r.PathValue("name"))]
	if t == nil {
		refuse(w, http.StatusNotFound, "unknown timer function: only timers can be run by hand")
	}
	return t
}

// sentAsJSON refuses what a page in the browser could send without asking first.
func sentAsJSON(w http.ResponseWriter, r *http.Request) bool {
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		return true
	}
	refuse(w, http.StatusUnsupportedMediaType, "Content-Type must be application/json")
	return false
}

func refuse(w http.ResponseWriter, status int, why string) {
	answer(w, status, map[string]any{"error": why})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the caller is gone if this fails
}
