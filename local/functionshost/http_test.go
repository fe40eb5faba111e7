package functionshost

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/loopback"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

func TestHTTPIsProxiedAsItCame(t *testing.T) {
	t.Parallel()
	cut := make(chan struct{})
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	s := run(t, Config{AppDir: app(t, map[string]string{"admin-http": catchAll, "tick": yearly})}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/large":
			_, _ = w.Write(large)
		case "/api/missing":
			http.NotFound(w, r)
		case "/api/redirect":
			http.Redirect(w, r, "/api/large", http.StatusFound)
		case "/api/stream":
			_, _ = io.WriteString(w, "first")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			close(cut)
		default:
			body, _ := io.ReadAll(r.Body)
			for _, name := range []string{"X-Azure-Functions-HostVersion", "X-Azure-Functions-InvocationId", "x-ms-invocation-id", "X-Mine", "User-Agent", "Fake-Chunked"} {
				w.Header().Set("Got-"+name, r.Header.Get(name))
			}
			w.Header().Set("Got-Line", r.Method+" "+r.URL.EscapedPath()+"?"+r.URL.RawQuery)
			_, _ = w.Write(body)
		}
	})
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	do := func(method, path string, body io.Reader) (*http.Response, string) {
		t.Helper()
		r := testenv.Must(http.NewRequestWithContext(t.Context(), method, s.URL()+path, body))(t)
		r.Header.Set("X-Mine", "kept")
		r.Header.Set("X-Ms-Invocation-Id", "forged")
		r.Header.Set("User-Agent", "caller")
		r.Header.Set(HeaderKey, DefaultMasterKey)
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text := testenv.Must(io.ReadAll(response.Body))(t)
		return response, string(text)
	}

	response, body := do("POST", "/api/runbooks/a%2Fb?x=1&x=2&y=%zz;1", io.MultiReader(strings.NewReader("in chunks")))
	h := response.Header
	if h.Get("Got-Line") != "POST /api/runbooks/a%252Fb?x=1&x=2&y=%zz;1" || body != "in chunks" || h.Get("Got-Fake-Chunked") != "true" {
		t.Errorf("the handler saw %q, chunked %q, body %q", h.Get("Got-Line"), h.Get("Got-Fake-Chunked"), body)
	}
	if h.Get("Got-X-Mine") != "kept" || h.Get("Got-User-Agent") != "caller" {
		t.Errorf("the caller's headers came as %v", h)
	}
	if id := h.Get("Got-X-Ms-Invocation-Id"); id == "" || id == "forged" || id != h.Get("Got-X-Azure-Functions-Invocationid") || h.Get("Got-X-Azure-Functions-Hostversion") == "" {
		t.Errorf("the host's headers came as %v", h)
	}
	if _, body := do("GET", "/api/large", nil); body != string(large) {
		t.Errorf("a large answer came with %d of %d bytes", len(body), len(large))
	}
	for path, want := range map[string]int{"/api/missing": 404, "/api/redirect": 302} {
		if response, _ := do("GET", path, nil); response.StatusCode != want {
			t.Errorf("%s gave %d, want %d as the handler answered", path, response.StatusCode, want)
		}
	}
	for line, want := range map[string]int{
		"POST /tick": 404, "POST /admin-http": 404, "GET /": 200, "DELETE /api/x": 404, "GET /apix": 404, "GET /admin": 404,
		"GET /admin/host/status": 200, "GET /admin/host/ping": 200, "POST /admin/functions/tick": 415,
	} {
		method, path, _ := strings.Cut(line, " ")
		if response, _ := do(method, path, nil); response.StatusCode != want || response.Header.Get("Got-Line") != "" {
			t.Errorf("%s gave %d, want %d from the host itself", line, response.StatusCode, want)
		}
	}

	ctx, leave := context.WithCancel(t.Context())
	r := testenv.Must(http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+"/api/stream", nil))(t)
	streamed := testenv.Must(client.Do(r))(t)
	first := make([]byte, 5)
	if _, err := io.ReadFull(streamed.Body, first); err != nil || string(first) != "first" {
		t.Errorf("the stream began with %q, %v", first, err)
	}
	leave()
	_ = streamed.Body.Close()
	select {
	case <-cut:
	case <-time.After(10 * time.Second):
		t.Error("the handler never learned that the caller left")
	}
}

func TestAProxiedRequestFindsTheNextProcess(t *testing.T) {
	t.Parallel()
	port := testenv.Must(loopback.Reserve(0))(t)
	defer port.Close()
	ended := &process{url: "http://127.0.0.1:" + strconv.Itoa(port.Number), proxy: &http.Transport{}}
	next := &process{proxy: &http.Transport{}, url: report(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	})}
	defer next.proxy.CloseIdleConnections()
	s := &Server{supervisor: &supervisor{current: ended, changed: make(chan struct{})}}
	time.AfterFunc(20*time.Millisecond, func() { s.supervisor.set(next, starting) })
	r := testenv.Must(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://host/api/x", io.NopCloser(strings.NewReader("the body"))))(t)
	response, err := proxied{s}.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != "the body" {
		t.Errorf("the next process got %q, %v", body, err)
	}
}
