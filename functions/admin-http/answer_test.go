package adminhttp_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	adminhttp "github.com/matoolkit/matoolkit/functions/admin-http"
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
)

type allBatches = adminhttp.Batches

// oneBatch answers with one batch.
type oneBatch struct {
	allBatches
	is api.Batch
}

func (b oneBatch) Batch(context.Context, audit.Caller, int) (api.Batch, error) { return b.is, nil }

func TestTimesAreInUTCWithMilliseconds(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 18, 0, 0, 987_654_321, time.FixedZone("", 3600))
	start := at.Truncate(time.Hour)
	h := &recorder{}
	cases := h.useCases()
	cases.Batches = oneBatch{cases.Batches, api.Batch{ID: 7, DetectedAt: at, BatchStartTime: &start, EarlierStarts: []time.Time{start}}}
	request := httptest.NewRequest(http.MethodGet, "/api/batches/7", nil)
	request.Header.Set("Authorization", "Bearer reader")
	w := httptest.NewRecorder()
	adminhttp.New(adminhttp.Config{UseCases: cases, Verifier: tokens{}, Log: slog.New(slog.DiscardHandler)}).ServeHTTP(w, request)
	for _, want := range []string{
		`"detectedAt":"2026-03-01T17:00:00.987Z"`, `"batchStartTime":"2026-03-01T17:00:00.000Z"`, `"earlierStarts":["2026-03-01T17:00:00.000Z"]`,
	} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s is not in %s", want, w.Body)
		}
	}
}
