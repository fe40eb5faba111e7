package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestRoute(t *testing.T) {
	t.Parallel()
	named := func(name string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("By", name+" "+r.URL.EscapedPath())
		})
	}
	var log bytes.Buffer
	h := route(named("triggers"), named("api"), named("pages"), slog.New(slog.NewTextHandler(&log, nil)))
	ask := func(line string, header ...string) *httptest.ResponseRecorder {
		method, path, _ := strings.Cut(line, " ")
		r := httptest.NewRequest(method, path, strings.NewReader("{}"))
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	for line, want := range map[string]string{
		"GET /api": "api /api", "GET /api/health": "api /api/health", "GET /API/health": "api /api/health", "GET /Api/Health": "api /api/Health",
		"GET /apix": "triggers /apix", "GET /": "triggers /", "GET /ap": "triggers /ap", "POST /worker-results": "triggers /worker-results",
		"GET /admin-http": "triggers /admin-http", "GET /api/runbooks/a%252Fb": "api /api/runbooks/a%252Fb",
		"GET /api/console": "pages /api/console", "GET /API/console/waves/7": "pages /api/console/waves/7", "GET /api/console/config.json": "api /api/console/config.json",
		"GET /api/consoles": "api /api/consoles",
	} {
		if got := ask(line).Header().Get("By"); got != want {
			t.Errorf("%s is served by %q, want %q", line, got, want)
		}
	}
	if got := ask("POST /admin-http", "x-ms-invocation-id", "1").Header().Get("By"); got != "triggers /admin-http" {
		t.Errorf("a request from outside is served by %q", got)
	}
	if log.Len() > 0 {
		t.Errorf("log: %s", &log)
	}

	// A host that invokes the HTTP function.
	w := ask("POST /admin-http", "X-Azure-Functions-InvocationId", "1")
	var reply struct {
		Outputs map[string]struct {
			StatusCode, Body string
		}
		Logs []string
	}
	if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil {
		t.Fatal(err)
	}
	answer := reply.Outputs[httpOutput]
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" || answer.StatusCode != strconv.Itoa(http.StatusInternalServerError) || !strings.Contains(answer.Body, "enableProxyingHttpRequest") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if !strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), "enableProxyingHttpRequest") {
		t.Errorf("log: %s", &log)
	}
	raw, err := os.ReadFile("../functions/" + httpFunction + "/function.json")
	if err != nil {
		t.Fatal(err)
	}
	var function struct {
		Bindings []struct{ Direction, Name string }
	}
	if err := json.Unmarshal(raw, &function); err != nil {
		t.Fatal(err)
	}
	if b := function.Bindings; len(b) != 2 || b[1].Direction != "out" || b[1].Name != httpOutput {
		t.Errorf("the bindings are %+v", b)
	}
}
