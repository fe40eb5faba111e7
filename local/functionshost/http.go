package functionshost

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
)

// answerWithin is how long a proxied request may go without an answer.
const answerWithin = 240 * time.Second

// handler serves the host's own /admin and /_local and proxies what an httpTrigger's route
// and methods let through; anything else is 404.
func (s *Server) handler() http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite:       rewrite,
		Transport:     proxied{s},
		FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil {
				s.log.Warn("proxied request failed", "path", r.URL.Path, "error", err)
			}
			w.WriteHeader(http.StatusBadGateway)
		},
	}
	prefix := "/" + strings.Trim(s.app.host.Extensions.HTTP.RoutePrefix, "/")
	admin, local := s.admin(), s.local()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.EscapedPath()
		if path == "/admin" || strings.HasPrefix(path, "/admin/") {
			admin.ServeHTTP(w, r)
			return
		}
		if strings.HasPrefix(path, "/_local/") {
			local.ServeHTTP(w, r)
			return
		}
		rest, ok := strings.CutPrefix(path, strings.TrimSuffix(prefix, "/"))
		if s.supervisor.stopped() {
			refuse(w, http.StatusServiceUnavailable, "the host is restarting")
			return
		}
		if ok && (rest == "" || rest[0] == '/') {
			for _, f := range s.app.functions {
				if f.http != nil && f.http.allows(r.Method) && f.http.route.matches(rest) {
					proxy.ServeHTTP(w, r)
					return
				}
			}
		}
		http.NotFound(w, r)
	})
}

// rewrite keeps method, path, query, headers and body as they came and adds the
// host's own headers over any that the caller forged.
func rewrite(r *httputil.ProxyRequest) {
	r.Out.URL.RawQuery = r.In.URL.RawQuery
	id := uuid.NewString()
	r.Out.Header.Set("X-Azure-Functions-HostVersion", hostVersion)
	r.Out.Header.Set("X-Azure-Functions-InvocationId", id)
	r.Out.Header.Set("x-ms-invocation-id", id)
}

// proxied sends a request to the ready process. It tries ten times to
// connect: a process that just ended is being replaced.
type proxied struct{ s *Server }

func (t proxied) RoundTrip(r *http.Request) (*http.Response, error) {
	const attempts = 10
	if r.Body != nil {
		r.Body = io.NopCloser(r.Body) // a transport closes what it could not even begin to send
	}
	wait := 50 * time.Millisecond
	for attempt := 1; ; attempt++ {
		response, err := t.once(r)
		if err == nil || attempt == attempts || !errors.Is(err, errAway) && !notConnected(err) {
			return response, err
		}
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-time.After(wait):
		}
		wait = min(2*wait, 250*time.Millisecond)
	}
}

func notConnected(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) && dial.Op == "dial"
}

func (t proxied) once(r *http.Request) (*http.Response, error) {
	p, err := t.s.supervisor.acquire(r.Context())
	if err != nil {
		return nil, err
	}
	// The server cancels a request's context after the last byte of its answer.
	stop := context.AfterFunc(r.Context(), func() { t.s.supervisor.release(p) })
	response, err := t.to(p, r)
	if err != nil && stop() {
		t.s.supervisor.release(p)
	}
	return response, err
}

func (t proxied) to(p *process, r *http.Request) (*http.Response, error) {
	target, err := url.Parse(p.url)
	if err != nil {
		return nil, err
	}
	r.URL.Scheme, r.URL.Host = target.Scheme, target.Host
	return p.proxy.RoundTrip(r)
}

// admin serves the few of the host's own addresses that a person or a script
// uses: status, and running a timer now.
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
		if t := s.timerToRun(w, r); t != nil {
			t.runNow()
			w.WriteHeader(http.StatusAccepted)
		}
	})
	return mux
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
