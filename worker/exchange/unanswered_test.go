package exchange_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
)

// A server that takes a request and never answers is like one that is not there: the
// call is repeated.
func TestACallThatIsNeverAnsweredIsRepeated(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) == 1 {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
			return
		}
		fmt.Fprint(w, `{"value":[{"ExchangeGuid":"`+exchangeGUID+`"}]}`)
	}))
	t.Cleanup(server.Close)
	client := testenv.Must(exchange.New(session.Config{
		URL: server.URL, Scope: "https://outlook.office365.com/.default", TenantID: "tenant-1", Credential: credential{}, Policy: pace(),
		HTTP: &http.Client{Timeout: 200 * time.Millisecond},
	}, exchange.Cmdlets{}))(t)
	c := testenv.Must(catalog.New(client.Functions()...))(t)
	if _, err := call(t, c, "Set-ExchangeMailUserGuids", map[string]any{"Identity": "ada", "ExchangeGuid": exchangeGUID}); err != nil {
		t.Errorf("after %d requests: %v", requests.Load(), err)
	}
}
