package cosmos

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

// TestEncodedBatch: what a transactional batch sends for each kind of write.
func TestEncodedBatch(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		write store.Write
		want  string
	}{
		"create": {store.Create(key("a"), 1), `"Create","minimalReturnPreference":true,"resourceBody":{"id":"a","pk":"p","type":"thing","doc":1}}`},
		"replace": {
			store.Replace(key(`a"b`), "<é>", store.Version{ETag: `"1"`}),
			`"Replace","id":"a\"b","ifMatch":"\"1\"","minimalReturnPreference":true,"resourceBody":{"id":"a\"b","pk":"p","type":"thing","doc":"<é>"}}`,
		},
		"upsert": {store.Upsert(key("a"), nil), `"Upsert","minimalReturnPreference":true,"resourceBody":{"id":"a","pk":"p","type":"thing","doc":null}}`},
		"replace unless newer": {
			store.ReplaceUnlessNewer(key("a"), map[string]int{"n": 2}, "n", 2),
			`"Patch","id":"a","minimalReturnPreference":true,"resourceBody":{"condition":"FROM c WHERE NOT IS_DEFINED(c.doc.n) OR c.doc.n \u003c= 2","operations":[{"op":"set","path":"/doc","value":{"n":2}}]}}`,
		},
		"patch": {
			store.Patch(key("a"), `"1"`, store.Increment("/n", -1), store.Set("/at", "x")),
			`"Patch","id":"a","ifMatch":"\"1\"","minimalReturnPreference":true,"resourceBody":{"operations":[{"op":"incr","path":"/doc/n","value":-1},{"op":"set","path":"/doc/at","value":"x"}]}}`,
		},
		"delete": {store.Delete(key("a"), `"1"`), `"Delete","id":"a","ifMatch":"\"1\"","minimalReturnPreference":true}`},
		"get":    {store.Get(key("a")), `"Read","id":"a"}`},
	} {
		a, err := encoded(store.Writes{tc.write})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := testenv.Must(encodeBatch(a.Writes))(t)
		if want := `[{"operationType":` + tc.want + `]`; string(got) != want || !json.Valid(got) {
			t.Errorf("%s:\n%s, want\n%s", name, got, want)
		}
	}
}

// counting counts the bytes of the answers to batches.
type counting struct {
	http.RoundTripper
	bytes atomic.Int64
}

func (c *counting) Do(r *http.Request) (*http.Response, error) {
	response, err := c.RoundTrip(r)
	if err == nil && r.Header.Get("x-ms-cosmos-is-batch-request") != "" {
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return nil, err
		}
		c.bytes.Add(int64(len(body)))
		response.Body = io.NopCloser(strings.NewReader(string(body)))
	}
	return response, err
}

// TestBatchReturnsNoWrites: a batch that reads a document does not return those that it writes.
func TestBatchReturnsNoWrites(t *testing.T) {
	t.Parallel()
	server := testenv.Started(cosmos.Start(t.Context(), cosmos.Config{}))(t)
	wire := &counting{RoundTripper: http.DefaultTransport}
	s := testenv.Must(Open(Config{Endpoint: server.URL(), Key: cosmos.DefaultKey, Database: "d", Container: "c", HTTPClient: wire}))(t)
	if err := s.Provision(t.Context()); err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat("x", 100_000)
	applied, err := s.Apply(t.Context(), store.Writes{store.Create(key("a"), large), store.Create(key("b"), "read me"), store.Get(key("b"))})
	if err != nil {
		t.Fatal(err)
	}
	if doc := applied[2].Document; string(doc.Doc) != `"read me"` || doc.ETag != applied[1].ETag || doc.Key != key("b") {
		t.Errorf("read %+v", doc)
	}
	if n := wire.bytes.Load(); n == 0 || n > 2000 {
		t.Errorf("the answer has %d bytes", n)
	}
	stored := testenv.Must(s.ReadDocument(t.Context(), key("a")))(t)
	if string(stored.Doc) != `"`+large+`"` || stored.ETag != applied[0].ETag {
		t.Errorf("%d bytes are stored as %s, want %s", len(stored.Doc), stored.ETag, applied[0].ETag)
	}
}
