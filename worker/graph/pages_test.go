package graph_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/worker/graph"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

// A list is read to its end. An answer that is none is refused, and not taken for an empty list.
func TestListsAreReadWhole(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ first, says string }{
		"two pages":              {`{"value":[{"id":"a"}],"@odata.nextLink":"SERVER/v1.0/list?$skiptoken=1"}`, ""},
		"no list":                {`{}`, "not a list"},
		"a list of another kind": {`{"value":{}}`, "not a list"},
		"a page elsewhere":       {`{"value":[],"@odata.nextLink":"https://elsewhere.example/v1.0/list"}`, "leads to elsewhere.example"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if r.URL.Query().Has("$skiptoken") {
					fmt.Fprint(w, `{"value":[{"id":"b"}]}`)
					return
				}
				fmt.Fprint(w, strings.ReplaceAll(tc.first, "SERVER", "http://"+r.Host))
			}))
			t.Cleanup(server.Close)
			client := testenv.Must(graph.New(graph.Config{
				URL: server.URL, Scope: "https://graph.microsoft.com/.default", Credential: &credential{}, Policy: throttle.Default(),
			}))(t)
			all, err := client.ReadAll(t.Context(), "/v1.0/list")
			if tc.says == "" && (err != nil || fmt.Sprint(all) != "[map[id:a] map[id:b]]") || tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)) {
				t.Errorf("got %v, %v, want %q", all, err, tc.says)
			}
		})
	}
}
