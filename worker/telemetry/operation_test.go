package telemetry_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/worker/calls"
	"github.com/matoolkit/matoolkit/worker/telemetry"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Every call of a worker is recorded as described: its words are known, and only
// the parts in braces are left out.
func TestEveryDescribedCallIsRecordedAsItself(t *testing.T) {
	t.Parallel()
	r, k := record(t)
	nobody := &http.Client{Transport: roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody}, nil
	})}
	for _, name := range calls.Names() {
		api, method, path := telemetry.Exchange, http.MethodPost, "/adminapi/beta/tenant/InvokeCommand"
		if m, p, found := strings.Cut(name, " "); found {
			api, method, path = telemetry.Graph, m, strings.ReplaceAll(p, "{id}", "ada@contoso.example")
		}
		request := testenv.Must(http.NewRequestWithContext(t.Context(), method, "http://127.0.0.1"+path, nil))(t)
		request.Header.Set("X-CmdletName", name)
		response, err := r.Client(nobody, api).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		spans := k.spans.GetSpans()
		if got := spans[len(spans)-1].Name; got != name {
			t.Errorf("%s is recorded as %s", name, got)
		}
	}
	if len(k.spans.GetSpans()) < 15 {
		t.Errorf("only %d calls are described", len(k.spans.GetSpans()))
	}
}
