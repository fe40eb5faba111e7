package apiclient_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/internal/report"
)

func TestReport(t *testing.T) {
	t.Parallel()
	var asked string
	whole := strings.Repeat("a,b\r\n", 20_000_000) // more than any other answer may be
	s, n := server(t, problem(503, "unavailable"), answer(200, "text/csv; charset=utf-8", whole))
	inner := s.Config.Handler
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.RequestURI + " " + r.Header.Get("Authorization")
		inner.ServeHTTP(w, r)
	})
	c, waits := client(t, s.URL)
	var count counting
	if err := c.Report(t.Context(), 7, report.CSV, &count); err != nil || int(count) != len(whole) {
		t.Errorf("%d of %d bytes: %v", count, len(whole), err)
	}
	if asked != "GET /api/batches/7/report?format=csv Bearer token" || n.Load() != 2 || len(*waits) != 1 {
		t.Errorf("asked %q, %d times", asked, n.Load())
	}
}

type counting int

func (c *counting) Write(p []byte) (int, error) { *c += counting(len(p)); return len(p), nil }

func TestReportThatIsNotToBeHad(t *testing.T) {
	t.Parallel()
	broken := func(w http.ResponseWriter) {
		answer(200, "text/csv", "the first")(w)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	for name, tt := range map[string]struct {
		answer func(http.ResponseWriter)
		code   string
		status int
		text   string
	}{
		"there is no batch": {problem(404, "not_found"), "not_found", 404, ""},
		"a sign-in page":    {answer(200, "text/html", "<html>"), apiclient.CodeNotTheAPI, 200, ""},
		"broken off":        {broken, apiclient.CodeUnreachable, 0, "the first"},
	} {
		s, n := server(t, tt.answer)
		c, _ := client(t, s.URL)
		var out bytes.Buffer
		err := c.Report(t.Context(), 7, report.CSV, &out)
		var e *apiclient.Error
		if !errors.As(err, &e) || e.Code != tt.code || e.Status != tt.status || out.String() != tt.text || n.Load() != 1 {
			t.Errorf("%s: %v after %d requests, with %q", name, err, n.Load(), out.String())
		}
	}
}

func TestReportThatNobodyTakes(t *testing.T) {
	t.Parallel()
	s, n := server(t, answer(200, "text/html; charset=utf-8", "<html>"))
	c, _ := client(t, s.URL)
	if err := c.Report(t.Context(), 7, report.HTML, full{}); !errors.Is(err, errFull) || n.Load() != 1 {
		t.Errorf("%v after %d requests", err, n.Load())
	}
	hanging := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer(200, "text/html", "<html>")(w)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(hanging.Close)
	c, _ = client(t, hanging.URL)
	ctx, cancel := context.WithCancel(t.Context())
	if err := c.Report(ctx, 7, report.HTML, stopper{cancel}); !errors.Is(err, context.Canceled) {
		t.Errorf("after it was stopped: %v", err)
	}
}

var errFull = errors.New("the disk is full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

// stopper stops with the first that comes.
type stopper struct{ stop func() }

func (s stopper) Write(p []byte) (int, error) { s.stop(); return len(p), nil }
