package adminhttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/admin"
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/report"
)

func (r fakeReports) Report(_ context.Context, by audit.Caller, id int, format report.Format) (admin.Report, error) {
	return admin.Report{
		Name: fmt.Sprintf("batch-%d.%s", id, format), Media: format.Media(),
		Write: func(_ context.Context, w io.Writer) error {
			if r.early != nil {
				return r.early
			}
			_, _ = io.WriteString(w, "the first, ")
			if r.late != nil {
				return r.late
			}
			_, err := io.WriteString(w, "the second")
			return err
		},
	}, r.note("Report %s %d %s", by.Name, id, format)
}

func TestReportThatFailsBeforeItsFirstByteIsAProblem(t *testing.T) {
	t.Parallel()
	f := newFixture()
	f.app.early = &problem.Error{Code: api.CodeUnavailable, Message: "try again"}
	w := f.send(request{"GET", "/api/batches/7/report?format=html", "reader", "", ""})
	if p := readProblem(t, w); w.Code != 503 || p.Detail != "try again" || w.Header().Get("Content-Disposition") != "" {
		t.Errorf("%d %v %+v", w.Code, w.Header(), p)
	}
}

// An incomplete report must not look complete.
func TestReportThatFailsOnTheWayIsBrokenOff(t *testing.T) {
	t.Parallel()
	f := newFixture()
	f.app.late = errors.New("the store went away")
	logged := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(logged)
		f.handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/api/batches/7/report", nil)
	check(t, err)
	r.Header.Set("Authorization", "Bearer reader")
	answer, err := http.DefaultClient.Do(r)
	check(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusOK || string(body) != "the first, " || err == nil {
		t.Errorf("%d %q, and then %v", answer.StatusCode, body, err)
	}
	<-logged
	if line := f.log.String(); !strings.Contains(line, `"level":"ERROR"`) || !strings.Contains(line, "the store went away") {
		t.Errorf("logged: %s", line)
	}
}

func TestReportOverTheRealSystem(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	admin, reader := r.token(automationID), r.token(reportsID)
	var b api.Batch
	r.call(request{"POST", "/api/runbooks", admin, "application/yaml", moves}, 201, nil)
	media, body := form(t, "runbook", "moves", "file", "UserId,Mail\n=u1,a@contoso.com\n")
	r.call(request{"POST", "/api/batches", admin, media, body}, 201, &b)
	for format, says := range map[string]string{"csv": "'=u1", "html": "</html>"} {
		path := fmt.Sprintf("/api/batches/%d/report?format=%s", b.ID, format)
		header, text := r.text(path, reader)
		if !strings.Contains(text, says) || !strings.HasPrefix(header.Get("Content-Disposition"), "attachment; filename=batch-1-") {
			t.Errorf("%v %s", header, text)
		}
	}
	r.call(request{"GET", "/api/batches/1/report?format=pdf", reader, "", ""}, 400, nil)
	r.call(request{"GET", "/api/batches/9/report", reader, "", ""}, 404, nil)
}

// text gets an answer that is not JSON.
func (r *real) text(path, token string) (http.Header, string) {
	r.t.Helper()
	q, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.url+path, nil)
	check(r.t, err)
	q.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(q)
	check(r.t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	check(r.t, err)
	if answer.StatusCode != http.StatusOK {
		r.t.Fatalf("%s: %d %s", path, answer.StatusCode, body)
	}
	return answer.Header, string(body)
}
