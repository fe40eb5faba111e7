package datasource

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A source that is busy may say until when. An error of it has the time, and its text ends with it.
func TestPauseOfASource(t *testing.T) {
	t.Parallel()
	began := time.Now()
	for name, tt := range map[string]struct {
		header string
		want   time.Duration // 0: none
	}{
		"none":          {"", 0},
		"seconds":       {"90", 90 * time.Second},
		"a fraction":    {"1.5", 2 * time.Second},
		"a date":        {began.Add(time.Hour).UTC().Format(http.TimeFormat), time.Hour},
		"a date before": {began.Add(-time.Hour).UTC().Format(http.TimeFormat), 0},
		"a year":        {"31536000", 24 * time.Hour},
		"negative":      {"-5", 0},
		"no number":     {"soon", 0},
		"too many":      {"1e300", 0},
	} {
		resp := &http.Response{Header: http.Header{"Retry-After": {tt.header}}}
		cause := AwayAs(resp, errors.New("busy"))
		err := newError("moves", "graph", "PEOPLE", cause, nil)
		until := err.NotBefore
		switch {
		case !err.Away:
			t.Errorf("%s: %v is not away", name, err)
		case tt.want == 0 && (!until.IsZero() || !strings.HasSuffix(err.Error(), ": busy")):
			t.Errorf("%s: %v, not before %v", name, err, until)
		case tt.want > 0 && (until.Sub(began) < tt.want-2*time.Second || until.Sub(began) > tt.want+time.Minute ||
			!strings.HasSuffix(err.Error(), ": busy; it asks for no request before "+until.Format(time.RFC3339))):
			t.Errorf("%s: %v, not before %v", name, err, until)
		}
	}
}
