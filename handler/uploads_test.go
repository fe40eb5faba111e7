package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/cosmos"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/functionshost"
)

// hosted runs the real handler under the local host.
func (s *system) hosted(t *testing.T, c functionshost.Config, settings ...string) *functionshost.Server {
	t.Helper()
	dist := filepath.Join(t.TempDir(), "dist")
	if err := functionshost.Stage("..", binary, dist); err != nil {
		t.Fatal(err)
	}
	c.AppDir, c.Addr, c.Settings = dist, "127.0.0.1:0", s.settings()
	for i := 0; i+1 < len(settings); i += 2 {
		c.Settings[settings[i]] = settings[i+1]
	}
	if c.Output == nil {
		c.Output = io.Discard
	}
	c.Logger = slog.New(slog.DiscardHandler)
	h, err := functionshost.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestRefusalReachesTheCallerOfALargeUpload sends uploads that are refused before their body is
// read. The host replaces an answer that it gets too early.
func TestRefusalReachesTheCallerOfALargeUpload(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	h := s.hosted(t, functionshost.Config{})
	limited := s.hosted(t, functionshost.Config{}, "API_REQUESTS_PER_SECOND", "1", "API_REQUEST_BURST", "1")
	token := func(upn string) string {
		t.Helper()
		token, err := s.entra.IssueUserToken(upn, entra.DefaultAdminAPIScope)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	admin, reader := token(entra.DefaultAdminUPN), token(entra.DefaultReaderUPN)
	problem := func(h *functionshost.Server, method, path, token, media string, size int64, chunked bool) int {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, h.URL()+path, io.LimitReader(zeros{}, size))
		if err != nil {
			t.Fatal(err)
		}
		if request.ContentLength = size; chunked {
			request.ContentLength = -1
		}
		request.Header.Set("Content-Type", media)
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Errorf("%s %s with %d bytes: %v", method, path, size, err)
			return 0
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		var problem struct{ Detail string }
		if err != nil || json.Unmarshal(body, &problem) != nil || problem.Detail == "" {
			t.Errorf("%s %s with %d bytes, chunked %v: %s %.200q, %v", method, path, size, chunked, response.Status, body, err)
		}
		return response.StatusCode
	}
	refused := func(h *functionshost.Server, method, path, token, media string, size int64, chunked bool, want int) {
		t.Helper()
		if status := problem(h, method, path, token, media, size, chunked); status != want {
			t.Errorf("%s %s with %d bytes, chunked %v: %d; want %d", method, path, size, chunked, status, want)
		}
	}
	const yaml, form = "application/yaml", "multipart/form-data; boundary=x"
	for _, size := range []int64{5 << 20, 20 << 20, 40 << 20} {
		for _, chunked := range []bool{false, true} {
			refused(h, "POST", "/api/runbooks", "", yaml, size, chunked, 401)
			refused(h, "POST", "/api/batches", reader, form, size, chunked, 403)
			refused(h, "POST", "/api/batches/1/advance", admin, "application/json", size, chunked, 413)
			refused(h, "POST", "/api/runbooks", admin, "text/plain", size, chunked, 415)
			refused(h, "POST", "/api/nothing", admin, yaml, size, chunked, 404)
			// An upload that comes when the caller's second is over is too large.
			stop := keepBusy(t, limited.URL()+"/api/batches", admin)
			status := http.StatusRequestEntityTooLarge
			for i := 0; status == http.StatusRequestEntityTooLarge && i < 10; i++ {
				status = problem(limited, "POST", "/api/runbooks", admin, yaml, size, chunked)
			}
			stop()
			if status != http.StatusTooManyRequests {
				t.Errorf("%d bytes of a caller who sends too many requests, chunked %v: %d", size, chunked, status)
			}
		}
	}

	// Every route.
	status, _, document := get(t, h.URL()+"/api/openapi.json", reader)
	var openapi struct{ Paths map[string]map[string]any }
	if err := json.Unmarshal([]byte(document), &openapi); status != 200 || err != nil || len(openapi.Paths) < 30 {
		t.Fatalf("%d, %v", status, err)
	}
	for path, operations := range openapi.Paths {
		path = regexp.MustCompile(`\{\w+\}`).ReplaceAllString(path, "1")
		for method := range operations {
			if path != "/health" && path != "/console/config.json" { // which need no token
				refused(h, strings.ToUpper(method), "/api"+path, "", yaml, 12<<20, false, 401)
			}
		}
	}

	if runtime.GOOS == "linux" { // the bodies are discarded, not kept
		for _, h := range []*functionshost.Server{h, limited} {
			status, err := os.ReadFile("/proc/" + strconv.Itoa(h.HandlerPID()) + "/status")
			if err != nil {
				t.Fatal(err)
			}
			_, rest, _ := strings.Cut(string(status), "VmHWM:")
			if kilobytes, err := strconv.Atoi(strings.Fields(rest + " -")[0]); err != nil || kilobytes > 100<<10 {
				t.Errorf("the handler took up to %d KB, %v", kilobytes, err)
			}
		}
	}
}

// keepBusy sends requests one after the other, two at a time, until stop is called.
func keepBusy(t *testing.T, url, token string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for ctx.Err() == nil {
				if answer, err := http.DefaultClient.Do(request.Clone(ctx)); err == nil {
					_ = answer.Body.Close()
				}
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

// A host that does not proxy HTTP requests sends them as invocations.
func TestHostWithoutProxyingIsNamed(t *testing.T) {
	t.Parallel()
	var lines testenv.Buffer
	h := newSystem(t).hosted(t, functionshost.Config{WithoutProxying: true, Output: &lines})
	for _, path := range []string{"/api/health", "/api/runbooks"} {
		status, header, body := get(t, h.URL()+path, "")
		if status != 500 || header.Get("Content-Type") != "application/problem+json" || !strings.Contains(body, "enableProxyingHttpRequest") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if !strings.Contains(lines.String(), "[Error]") || !strings.Contains(lines.String(), "enableProxyingHttpRequest") {
		t.Errorf("the log is %s", lines.String())
	}
}

// TestPathsAsTheHostForwardsThem asks for names with characters that the host changes.
func TestPathsAsTheHostForwardsThem(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	h := s.hosted(t, functionshost.Config{})
	token, err := s.entra.IssueUserToken(entra.DefaultAdminUPN, entra.DefaultAdminAPIScope)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"/API/health": 200, "/Api/runbooks": 200, "/api/runbooks/a%2Fb": 404, "/api/runbooks/a%20b": 404} {
		if status, header, body := get(t, h.URL()+path, token); status != want || !strings.Contains(header.Get("Content-Type"), "json") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	// A phase is named in the body.
	yaml := strings.NewReplacer("name: only", `name: "50% done"`, "simple", "percent").Replace(simple)
	var answer map[string]any
	ask(t, http.MethodPost, h.URL()+"/api/runbooks", token, "application/yaml", strings.Replace(yaml, "offset: T-0", "offset: T-0\n    approval: required", 1), &answer)
	media, body := members(t, "percent")
	ask(t, http.MethodPost, h.URL()+"/api/batches", token, media, body, &answer)
	ask(t, http.MethodPost, h.URL()+"/api/batches/1/approve", token, "application/json", `{"phase":"50% done"}`, &answer)
	if answer["name"] != "50% done" {
		t.Errorf("approved %v", answer)
	}
}

// members is a form with one member.
func members(t *testing.T, runbook string) (media, body string) {
	t.Helper()
	const boundary = "members"
	var form bytes.Buffer
	fmt.Fprintf(&form, "--%[1]s\r\nContent-Disposition: form-data; name=\"runbook\"\r\n\r\n%[2]s\r\n--%[1]s\r\nContent-Disposition: form-data; name=\"file\"; filename=\"m.csv\"\r\n\r\nUpn\np@x\n\r\n--%[1]s--\r\n", boundary, runbook)
	return "multipart/form-data; boundary=" + boundary, form.String()
}

// TestHandlerAfterSIGTERMUnderAHost sends the platform's signal: the host starts another handler,
// and counts no crash.
func TestHandlerAfterSIGTERMUnderAHost(t *testing.T) {
	t.Parallel()
	h := newSystem(t).hosted(t, functionshost.Config{})
	for range 4 { // one more than crashes are allowed
		before := h.HandlerPID()
		process, err := os.FindProcess(before)
		if err != nil {
			t.Fatal(err)
		}
		if err := process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		testenv.Eventually(t, "another handler", func() bool { pid := h.HandlerPID(); return pid != 0 && pid != before })
		if status, _, body := get(t, h.URL()+"/api/health", ""); status != 200 {
			t.Errorf("health: %d %s", status, body)
		}
	}
}

// TestRequestOutlivesTheHandler kills the handler while it creates a batch. The host repeats the
// request with the next one: the batch is there once.
func TestRequestOutlivesTheHandler(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	h := s.hosted(t, functionshost.Config{})
	token, err := s.entra.IssueUserToken(entra.DefaultAdminUPN, entra.DefaultAdminAPIScope)
	if err != nil {
		t.Fatal(err)
	}
	var answer map[string]any
	ask(t, http.MethodPost, h.URL()+"/api/runbooks", token, "application/yaml", simple, &answer)
	media, body := members(t, "simple")
	for i, writes := range []int{1, 2} { // the number, and the batch; the host stops at the third crash
		seen := 0
		pid := h.HandlerPID()
		remove := s.cosmos.Inject(cosmos.Fault{On: []cosmos.Operation{cosmos.Create, cosmos.Replace, cosmos.Batch}, Latency: 5 * time.Millisecond, Match: func(cosmos.Request) bool {
			if seen++; seen == writes { // the lock of the faults guards seen
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			return true
		}})
		var batch struct{ ID int }
		ask(t, http.MethodPost, h.URL()+"/api/batches?allowInOtherBatches=true", token, media, body, &batch)
		remove()
		if batch.ID != i+1 || h.HandlerPID() == pid {
			t.Errorf("request %d made batch %d; the handler was %d and is %d", i+1, batch.ID, pid, h.HandlerPID())
		}
	}
	var page struct{ Items []any }
	ask(t, http.MethodGet, h.URL()+"/api/batches", token, "", "", &page)
	if len(page.Items) != 2 {
		t.Errorf("2 requests made %d batches", len(page.Items))
	}
}
