package cosmos_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
	cosmosstore "github.com/matoolkit/matoolkit/internal/store/cosmos"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

// Another server has the address: a proxy, or after an outage one that took the port. Its answers say
// nothing about the items.
func TestAnswersOfAnotherServerAreAnOutage(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"an object": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{}`)) },
		"a page":    func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`<html>`)) },
		"not found": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no such page", http.StatusNotFound) },
		"conflict":  func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusConflict) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(answer)
			defer server.Close()
			wire := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
			s := testenv.Must(cosmosstore.Open(cosmosstore.Config{Endpoint: server.URL, Key: cosmos.DefaultKey, Database: "d", Container: "c", HTTPClient: wire}))(t)
			if item, err := store.Read[model.Batch](t.Context(), s, store.BatchKey(1)); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("read: %+v %v", item.Doc, err)
			}
			if found, err := s.UnfinishedBatches(t.Context(), "r"); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("query: %+v %v", found, err)
			}
			if _, err := s.Apply(t.Context(), store.Writes{store.Create(store.BatchKey(1), model.Batch{ID: 1})}); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("write: %v", err)
			}
		})
	}
}
