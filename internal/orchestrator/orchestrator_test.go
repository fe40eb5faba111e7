package orchestrator_test

import (
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/message"
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
	results := []string{message.TypeWorkerResult, message.TypeWorkerCatalog, message.TypeWorkerHeartbeat}
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
