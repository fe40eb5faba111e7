package adminhttp_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/admin"

	adminhttp "github.com/matoolkit/matoolkit/functions/admin-http"
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/report"
)

// A caller who sends too many requests gets Retry-After and is served after it. Other
// callers are served all the while.
func TestTooManyRequestsOfOneCaller(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f := &fixture{app: &recorder{}}
	f.handler = adminhttp.New(adminhttp.Config{UseCases: f.app.useCases(), Verifier: tokens{}, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }, Rate: 0.5, Burst: 3})
	list := request{"GET", "/api/batches", "reader", "", ""}
	for i := range 3 {
		if w := f.send(list); w.Code != http.StatusOK {
			t.Fatalf("request %d: %d", i+1, w.Code)
		}
	}
	for range 5 { // what is refused takes nothing
		w := f.send(list)
		if p := readProblem(t, w); w.Code != http.StatusTooManyRequests || p.Error != "too_many_requests" || w.Header().Get("Retry-After") != "2" {
			t.Fatalf("%d, Retry-After %q: %+v", w.Code, w.Header().Get("Retry-After"), p)
		}
	}
	if w := f.send(request{"GET", "/api/batches", "admin", "", ""}); w.Code != http.StatusOK {
		t.Errorf("another caller: %d", w.Code)
	}
	if w := f.send(request{"GET", "/api/health", "", "", ""}); w.Code == http.StatusTooManyRequests {
		t.Errorf("health: %d", w.Code)
	}
	now = now.Add(2 * time.Second)
	if w := f.send(list); w.Code != http.StatusOK {
		t.Errorf("after the wait: %d", w.Code)
	}
	if w := f.send(list); w.Code != http.StatusTooManyRequests {
		t.Errorf("and again: %d", w.Code)
	}
}

// slow are reports that take until they are let go.
type slow struct {
	begun chan struct{}
	let   chan struct{}
}

func (s *slow) Report(context.Context, audit.Caller, int, report.Format) (admin.Report, error) {
	s.begun <- struct{}{}
	<-s.let
	return admin.Report{}, &problem.Error{Code: api.CodeNotFound, Message: "there is no batch 7"}
}

// Of the requests that take long only so many are carried out at once.
func TestTooManyLongRequestsAtOnce(t *testing.T) {
	t.Parallel()
	s := &slow{make(chan struct{}), make(chan struct{})}
	f := &fixture{handler: adminhttp.New(adminhttp.Config{UseCases: adminhttp.UseCases{Reports: s, Batches: fakeBatches{&recorder{}}}, Verifier: tokens{}, Log: slog.New(slog.DiscardHandler), Long: 2})}
	ask := request{"GET", "/api/batches/7/report", "reader", "", ""}
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			if w := f.send(ask); w.Code != http.StatusNotFound {
				t.Errorf("a report that had room: %d", w.Code)
			}
		})
		<-s.begun
	}
	w := f.send(ask)
	if p := readProblem(t, w); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" || !strings.Contains(p.Detail, "2 reports are already running") {
		t.Errorf("%d: %+v", w.Code, p)
	}
	if w := f.send(request{"GET", "/api/batches/7", "reader", "", ""}); w.Code != http.StatusOK {
		t.Errorf("another request: %d", w.Code)
	}
	close(s.let)
	all.Wait()
	go func() { <-s.begun }()
	if w := f.send(ask); w.Code != http.StatusNotFound {
		t.Errorf("a report afterwards: %d", w.Code)
	}
}

// slowSimulator simulates until it is let go.
type slowSimulator struct {
	begun chan struct{}
	let   chan struct{}
}

func (s *slowSimulator) Simulate(context.Context, api.SimulationRequest) (api.Simulation, error) {
	s.begun <- struct{}{}
	<-s.let
	return api.Simulation{Runbook: "rb"}, nil
}

// Two simulations run at once, of two callers: each keeps a processor busy.
func TestTooManySimulationsAtOnce(t *testing.T) {
	t.Parallel()
	s := &slowSimulator{make(chan struct{}), make(chan struct{})}
	f := &fixture{handler: adminhttp.New(adminhttp.Config{UseCases: adminhttp.UseCases{Simulator: s}, Verifier: tokens{}, Log: slog.New(slog.DiscardHandler)})}
	ask := func(who string) request {
		return request{"POST", "/api/simulate", who, jsonMedia, `{"yamlContent":"name: rb","members":"Key\n","start":"2026-03-01T18:00:00Z"}`}
	}
	refusedFor := func(who, says string) {
		t.Helper()
		w := f.send(ask(who))
		if p := readProblem(t, w); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" || !strings.Contains(p.Detail, says) {
			t.Errorf("%s: %d %+v", who, w.Code, p)
		}
	}
	var all sync.WaitGroup
	begin := func(who string) {
		all.Go(func() {
			if w := f.send(ask(who)); w.Code != http.StatusOK {
				t.Errorf("%s, who had room: %d", who, w.Code)
			}
		})
		<-s.begun
	}
	begin("reader")
	refusedFor("reader", "1 simulations of")
	begin("admin")
	refusedFor("none", "2 simulations are already running")
	close(s.let)
	all.Wait()
	go func() { <-s.begun }()
	if w := f.send(ask("reader")); w.Code != http.StatusOK {
		t.Errorf("afterwards: %d", w.Code)
	}
}

// Eight large uploads are read at once, and small ones beside fewer. An upload that does not
// say how large it is counts as a large one.
func TestTooManyUploadsAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture()
	f.handler = adminhttp.New(adminhttp.Config{UseCases: f.app.useCases(), Verifier: tokens{}, Log: slog.New(slog.DiscardHandler), TempDir: t.TempDir()})
	media, body := form(t, "file", "Key\n1\n")
	upload := func(body io.Reader, length int64) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/api/batches/7/members", body)
		r.ContentLength = length
		r.Header.Set("Authorization", "Bearer admin")
		r.Header.Set("Content-Type", media)
		w := httptest.NewRecorder()
		f.handler.ServeHTTP(w, r)
		return w
	}
	var all sync.WaitGroup
	begin := func() (end func()) {
		sending, sent := io.Pipe()
		all.Go(func() {
			if w := upload(sending, -1); w.Code >= 300 {
				t.Errorf("a large upload: %d %s", w.Code, w.Body)
			}
		})
		if _, err := io.WriteString(sent, body[:10]); err != nil { // it is being read
			t.Fatal(err)
		}
		return func() {
			if _, err := io.WriteString(sent, body[10:]); err != nil {
				t.Error(err)
			}
			_ = sent.Close()
		}
	}
	var ends []func()
	for range 7 {
		ends = append(ends, begin())
	}
	if w := upload(strings.NewReader(body), int64(len(body))); w.Code >= 300 {
		t.Errorf("a small one beside seven: %d %s", w.Code, w.Body)
	}
	ends = append(ends, begin())
	for _, length := range []int64{-1, 40 << 20, int64(len(body))} {
		if w := upload(strings.NewReader(body), length); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
			t.Errorf("one of %d bytes beside eight: %d", length, w.Code)
		}
	}
	for _, end := range ends {
		end()
	}
	all.Wait()
	if w := upload(strings.NewReader(body), 40<<20); w.Code >= 300 {
		t.Errorf("a large one afterwards: %d %s", w.Code, w.Body)
	}
}

// An upload that cannot be kept on disk is refused, and changes nothing. No upload leaves a
// file behind, however it ends.
func TestTemporaryFilesOfUploads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := newFixture()
	f.handler = adminhttp.New(adminhttp.Config{UseCases: f.app.useCases(), Verifier: tokens{}, Log: slog.New(slog.DiscardHandler), TempDir: filepath.Join(dir, "missing")})
	media, body := form(t, "file", "Key\n1\n")
	w := f.send(request{"POST", "/api/batches/7/members", "admin", media, body})
	if p := readProblem(t, w); w.Code != http.StatusServiceUnavailable || !strings.Contains(p.Detail, "cannot be stored") || len(f.app.calls) > 0 {
		t.Errorf("%d %+v, %q", w.Code, p, f.app.calls)
	}

	f.handler = adminhttp.New(adminhttp.Config{UseCases: f.app.useCases(), Verifier: tokens{}, Log: slog.New(slog.DiscardHandler), TempDir: dir})
	for want, body := range map[int]string{http.StatusBadRequest: body[:len(body)/2], http.StatusOK: body} {
		if w := f.send(request{"POST", "/api/batches/7/members", "admin", media, body}); w.Code != want {
			t.Errorf("%d, want %d: %s", w.Code, want, w.Body)
		}
	}
	f.app.err = errors.New("no")
	if w := f.send(request{"POST", "/api/batches/7/members", "admin", media, body}); w.Code != http.StatusInternalServerError {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%d files are left: %v", len(left), err)
	}
}
