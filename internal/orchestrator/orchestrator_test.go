package orchestrator_test

import (
	"context"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/memory"
)

// TestDocumentedMessageTypesHaveHandlers sends a message of each type in the package comment. Its
// body is not JSON, which only the handler of the type can find.
func TestDocumentedMessageTypesHaveHandlers(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("orchestrator.go")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^//\t([a-z-]+) `).FindAllStringSubmatch(string(source), -1) {
		documented[row[1]] = true
	}
	events := []string{
		message.TypeBatchInit, message.TypePhaseDue, message.TypeMemberAdded, message.TypeMemberRemoved,
		message.TypePollCheck, message.TypeRetryCheck, message.TypeDeadlineCheck, message.TypeBatchWork,
	}
	results := []string{message.TypeWorkerResult, message.TypeWorkerResults, message.TypeWorkerCatalog, message.TypeWorkerHeartbeat}
	if len(documented) != len(events)+len(results) {
		t.Errorf("documented: %v", documented)
	}
	a := app.New(app.Config{Store: memory.New(memory.Config{}), Log: slog.New(slog.DiscardHandler)})
	for _, kind := range append(events, results...) {
		handle := a.HandleResult
		if !strings.HasPrefix(kind, "worker-") {
			handle = a.HandleEvent
		}
		if !documented[kind] {
			t.Errorf("%s is not in the package comment", kind)
		}
		if err := handle(t.Context(), message.Delivery{ID: kind, Type: kind, Body: []byte("no JSON"), DeliveryCount: 1}); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	page, err := a.UnprocessableMessages(t.Context(), api.ListOptions{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Items) != len(documented) {
		t.Errorf("%d messages are stored, want %d", len(page.Items), len(documented))
	}
	for _, m := range page.Items {
		if !strings.HasPrefix(m.Reason, "the body is not the JSON of a message.") {
			t.Errorf("%s: %s", m.Type, m.Reason)
		}
	}
}

// TestPanicOfAMessageEndsNoProcess delivers a message ten times whose processing panics, as the
// host does. A suspect is processed in a goroutine of its own.
func TestPanicOfAMessageEndsNoProcess(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	a := app.New(app.Config{Store: panicking{memory.New(memory.Config{})}, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }})
	m := message.Delivery{ID: "m", Type: message.TypePhaseDue, Body: []byte(`{"BatchId":1,"PhaseName":"move","PhaseExecutionId":1,"RunbookName":"x","RunbookVersion":1}`)}
	for m.DeliveryCount = 4; m.DeliveryCount <= 10; m.DeliveryCount++ {
		_ = a.HandleEvent(t.Context(), m) // each failure asks for another delivery
	}
	page, err := a.UnprocessableMessages(t.Context(), api.ListOptions{})
	if err != nil || len(page.Items) != 1 || !strings.Contains(page.Items[0].Reason, "panic: broken") {
		t.Errorf("%d messages are stored: %+v, %v", len(page.Items), page.Items, err)
	}
}

// panicking is a store whose reads of batches panic.
type panicking struct{ store.Store }

func (s panicking) ReadDocument(ctx context.Context, key store.Key) (store.Document, error) {
	if key.PK == store.BatchPartition(1) {
		panic("broken")
	}
	return s.Store.ReadDocument(ctx, key)
}

// TestMessageAboveTheLimitIsStored delivers the beginning of a message: it is stored, and cannot be
// replayed.
func TestMessageAboveTheLimitIsStored(t *testing.T) {
	t.Parallel()
	a := app.New(app.Config{Store: memory.New(memory.Config{}), Log: slog.New(slog.DiscardHandler)})
	m := message.Delivery{ID: "m", Body: []byte(`{"JobId":"x`), Size: 5 << 20, DeliveryCount: 1}
	for range 2 {
		if err := a.HandleResult(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	page, err := a.UnprocessableMessages(t.Context(), api.ListOptions{})
	if err != nil || len(page.Items) != 1 || page.Items[0].Size != 5<<20 || !strings.Contains(page.Items[0].Reason, "about 5242880 bytes") {
		t.Fatalf("stored %+v, %v", page.Items, err)
	}
	if _, err := a.Replay(t.Context(), audit.Caller{Name: "ada"}, page.Items[0].ID, ""); err == nil || !strings.Contains(err.Error(), "too large to replay") {
		t.Errorf("a replay: %v", err)
	}
}
