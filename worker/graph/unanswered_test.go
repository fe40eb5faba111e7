package graph_test

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
	"github.com/matoolkit/matoolkit/worker/graph"
	"github.com/matoolkit/matoolkit/worker/throttle"
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
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"value":["`+groupID+`"]}`)
	}))
	t.Cleanup(server.Close)
	pace := throttle.Default()
	pace.Base = time.Millisecond
	client := testenv.Must(graph.New(graph.Config{
		URL: server.URL, Scope: "https://graph.microsoft.com/.default", Credential: &credential{}, Policy: pace,
		HTTP: &http.Client{Transport: &http.Transport{ResponseHeaderTimeout: 200 * time.Millisecond}},
	}))(t)
	c := testenv.Must(catalog.New(client.Functions()...))(t)
	answer, err := c.Call(t.Context(), "Test-EntraGroupMembership", []byte(`{"UserId":"`+adaID+`","GroupId":"`+groupID+`"}`))
	if err != nil {
		t.Errorf("after %d requests: %v, %v", requests.Load(), answer, err)
	}
}
