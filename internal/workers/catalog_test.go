package workers_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store/memory"
	"github.com/matoolkit/matoolkit/internal/workers"
)

// TestClockAheadDoesNotKeepLaterCataloguesOut announces catalogues whose times are ahead of the
// times at which the broker enqueued them.
func TestClockAheadDoesNotKeepLaterCataloguesOut(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	registry := workers.New(workers.Config{
		Store: memory.New(memory.Config{}), Now: func() time.Time { return start.Add(2 * time.Hour) }, Log: slog.New(slog.DiscardHandler),
	})
	announce := func(function string, at, enqueued time.Time) {
		t.Helper()
		c := message.Catalog{WorkerID: "worker-01", Version: "1.0", Timestamp: at, Functions: []message.CatalogFunction{{Name: function}}}
		body, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := registry.OnCatalog(t.Context(), message.Delivery{Body: body, EnqueuedAt: enqueued}, c); err != nil {
			t.Fatal(err)
		}
	}
	wantFunction := func(want string) {
		t.Helper()
		if w, err := registry.Worker(t.Context(), "worker-01"); err != nil || len(w.Functions) != 1 || w.Functions[0].Name != want {
			t.Errorf("%+v, %v; want the function %s", w, err, want)
		}
	}
	announce("Old", start.Add(1000*time.Hour), start)
	announce("New", start.Add(time.Minute), start.Add(time.Minute))
	announce("Old", start.Add(1000*time.Hour), start)
	wantFunction("New")
	// The broker enqueues two catalogues at one time. The worker's times show which is later.
	announce("Newer", start.Add(time.Hour+time.Millisecond), start.Add(time.Hour))
	announce("Newest", start.Add(time.Hour+2*time.Millisecond), start.Add(time.Hour))
	wantFunction("Newest")
	announce("Newer", start.Add(time.Hour+time.Millisecond), start.Add(time.Hour))
	wantFunction("Newest")
}

// TestOnlyAnnouncedCataloguesAreRead asks for many workers of which one exists.
func TestOnlyAnnouncedCataloguesAreRead(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Config{})
	registry := workers.New(workers.Config{Store: s, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	c := message.Catalog{WorkerID: "w7", Version: "1.0", Timestamp: time.Now(), Functions: []message.CatalogFunction{{Name: "Copy"}}}
	body, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := registry.OnCatalog(t.Context(), message.Delivery{Body: body, EnqueuedAt: time.Now()}, c); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for i := range 1000 {
		ids = append(ids, fmt.Sprint("w", i))
	}
	before := s.Counts()
	known, err := registry.Catalogs(t.Context(), ids)
	if err != nil || len(known.Workers) != 1 || len(known.Workers["w7"]) != 1 {
		t.Errorf("%+v, %v", known, err)
	}
	if n := s.Counts(); n.Reads-before.Reads != 1 || n.Queries-before.Queries != 1 {
		t.Errorf("%d reads and %d queries", n.Reads-before.Reads, n.Queries-before.Queries)
	}
}
