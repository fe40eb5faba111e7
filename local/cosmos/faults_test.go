package cosmos_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

func TestInjectedStatusIsAnsweredInPlaceOfTheRequest(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	server := start(t, cosmos.Config{})
	c := newContainer(t, clientFor(t, server.URL(), server.Key()))
	for _, status := range []int{http.StatusPreconditionFailed, 449, http.StatusServiceUnavailable, http.StatusRequestTimeout} {
		remove := server.Inject(cosmos.Fault{On: []cosmos.Operation{cosmos.Create}, Status: status})
		_, err := c.CreateItem(ctx, p1, doc("a", ""), nil)
		wantStatus(t, err, status)
		_, err = c.ReadItem(ctx, p1, "a", nil)
		wantStatus(t, err, http.StatusNotFound)
		remove()
	}
	mustCreate(t, c, "a", "")
}

func TestThrottledRequestIsRetriedByTheSDK(t *testing.T) {
	t.Parallel()
	server := start(t, cosmos.Config{})
	c := newContainer(t, clientFor(t, server.URL(), server.Key()))
	met := 0
	server.Inject(cosmos.Fault{
		Match: func(r cosmos.Request) bool {
			if r.ID == "a" && r.PartitionKey == `["p1"]` && r.Container == "things" {
				met++
				return true
			}
			return false
		},
		Count: 2, Status: http.StatusTooManyRequests, SubStatus: 3200, RetryAfter: time.Millisecond,
	})
	mustCreate(t, c, "a", "")
	if met != 3 {
		t.Errorf("the request came %d times, want 3", met)
	}
}

func TestSkipAndCountChooseWhichRequestsAreHit(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	server := start(t, cosmos.Config{})
	c := newContainer(t, clientFor(t, server.URL(), server.Key()))
	server.Inject(cosmos.Fault{On: []cosmos.Operation{cosmos.Upsert}, Skip: 1, Count: 2, Status: 449})
	for i, want := range []int{0, 449, 449, 0} {
		_, err := c.UpsertItem(ctx, p1, doc("a", ""), nil)
		if t.Log("request", i); want == 0 {
			wantStatus(t, err, 0)
		} else {
			wantStatus(t, err, want)
		}
	}
}

func TestDroppedConnectionLeavesTheWriteCommitted(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	server := start(t, cosmos.Config{})
	c := newContainer(t, clientFor(t, server.URL(), server.Key()))
	mustCreate(t, c, "n", `"n":1`)

	server.Inject(cosmos.Fault{On: []cosmos.Operation{cosmos.Create, cosmos.Batch}, Count: 2, DropAfter: true})
	if _, err := c.CreateItem(ctx, p1, doc("a", ""), nil); err == nil {
		t.Fatal("the answer to the create was not lost")
	}
	wantItem(t, c, "a", "")

	increment := azcosmos.PatchOperations{}
	increment.AppendIncrement("/n", 1)
	batch := c.NewTransactionalBatch(p1)
	batch.PatchItem("n", increment, nil)
	if _, err := c.ExecuteTransactionalBatch(ctx, batch, nil); err == nil {
		t.Fatal("the answer to the batch was not lost")
	}
	wantItem(t, c, "n", `"n":2`)
}

func TestLatencyDelaysTheRequest(t *testing.T) {
	t.Parallel()
	server := start(t, cosmos.Config{})
	c := newContainer(t, clientFor(t, server.URL(), server.Key()))
	server.Inject(cosmos.Fault{On: []cosmos.Operation{cosmos.Create}, Latency: time.Hour})
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.CreateItem(ctx, p1, doc("a", ""), nil); err == nil {
		t.Fatal("the create did not wait")
	}
	_, err := c.ReadItem(context.Background(), p1, "a", nil)
	wantStatus(t, err, http.StatusNotFound)
}

func TestLatencyEndsEarly(t *testing.T) {
	t.Parallel()
	server := start(t, cosmos.Config{})
	c := newContainer(t, clientFor(t, server.URL(), server.Key()))
	until := make(chan struct{})
	reached := make(chan struct{}, 1)
	server.Inject(cosmos.Fault{
		On: []cosmos.Operation{cosmos.Create}, Latency: time.Hour, Until: until,
		Match: func(cosmos.Request) bool { reached <- struct{}{}; return true },
	})
	created := make(chan error, 1)
	go func() { _, err := c.CreateItem(context.Background(), p1, doc("a", ""), nil); created <- err }()
	<-reached
	_, err := c.ReadItem(context.Background(), p1, "a", nil)
	wantStatus(t, err, http.StatusNotFound)
	close(until)
	if err := <-created; err != nil {
		t.Error(err)
	}
}

func TestMetadataFaults(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	server := start(t, cosmos.Config{})
	client := clientFor(t, server.URL(), server.Key())
	newContainer(t, client)
	server.Inject(cosmos.Fault{
		On: []cosmos.Operation{cosmos.Metadata}, Count: 1, Status: http.StatusForbidden,
		Match: func(r cosmos.Request) bool { return r.Database == "refused" },
	})
	database, err := client.NewDatabase("refused")
	wantStatus(t, err, 0)
	_, err = database.Read(ctx, nil)
	wantStatus(t, err, http.StatusForbidden)
	_, err = database.Read(ctx, nil)
	wantStatus(t, err, http.StatusNotFound)
}

func TestAbandonedQueryLeavesTheServerWhole(t *testing.T) {
	t.Parallel()
	server := start(t, cosmos.Config{})
	c := newContainer(t, clientFor(t, server.URL(), server.Key()))
	for first := 0; first < 2000; first += 100 {
		batch := c.NewTransactionalBatch(p1)
		for i := first; i < first+100; i++ {
			batch.UpsertItem(doc(fmt.Sprint("i", i), ""), nil)
		}
		_, err := c.ExecuteTransactionalBatch(context.Background(), batch, nil)
		wantStatus(t, err, 0)
	}
	for delay := range 10 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(delay)*time.Millisecond)
		_, _ = c.NewQueryItemsPager("SELECT * FROM c WHERE CONTAINS(c.id, 'absent')", p1, nil).NextPage(ctx) // ended or given up
		cancel()
	}
	if got := queryAll(t, c, p1, "SELECT VALUE COUNT(1) FROM c", nil); got[0] != "2000" {
		t.Errorf("%s items are left", got)
	}
}

// What no account has is asked for over HTTP, by tests of processes.
func TestFaultsAreAskedForOverHTTP(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	server := start(t, cosmos.Config{})
	c := newContainer(t, clientFor(t, server.URL(), server.Key()))
	ask := func(method, media, body string) int {
		request := testenv.Must(http.NewRequestWithContext(ctx, method, server.URL()+"/_local/faults", strings.NewReader(body)))(t)
		request.Header.Set("Content-Type", media)
		response := testenv.Must(http.DefaultClient.Do(request))(t)
		defer response.Body.Close()
		return response.StatusCode
	}
	for _, wrong := range []string{
		``, `[]`, `{}`, `{"latencyMs":-1}`, `{"status":200}`, `{"status":503,"on":["Wash"]}`, `{"status":503,"partition":7}`, `{"status":503,"other":1}`,
	} {
		if got := ask(http.MethodPost, "application/json", wrong); got != http.StatusBadRequest {
			t.Errorf("%s: %d", wrong, got)
		}
	}
	if got := ask(http.MethodPost, "text/plain", `{"status":412}`); got != http.StatusBadRequest {
		t.Errorf("as text: %d", got)
	}
	if got := ask(http.MethodGet, "application/json", ""); got != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", got)
	}
	mustCreate(t, c, "a", "") // nothing of these is in force

	if got := ask(http.MethodPost, "application/json", `{"on":["Upsert"],"partition":"p1","skip":1,"count":1,"status":412}`); got != http.StatusNoContent {
		t.Fatalf("POST: %d", got)
	}
	for i, want := range []int{0, http.StatusPreconditionFailed, 0} {
		_, err := c.UpsertItem(ctx, p1, doc("a", ""), nil)
		if t.Log("request", i); want == 0 && err != nil {
			t.Error(err)
		} else if want != 0 {
			wantStatus(t, err, want)
		}
	}
	ask(http.MethodPost, "application/json", `{"on":["Upsert"],"partition":"another","status":412}`)
	if _, err := c.UpsertItem(ctx, p1, doc("a", ""), nil); err != nil {
		t.Errorf("in another partition: %v", err)
	}
	ask(http.MethodPost, "application/json", `{"on":["Upsert"],"status":412}`)
	_, err := c.UpsertItem(ctx, p1, doc("a", ""), nil)
	wantStatus(t, err, http.StatusPreconditionFailed)
	if got := ask(http.MethodDelete, "", ""); got != http.StatusNoContent {
		t.Errorf("DELETE: %d", got)
	}
	if _, err := c.UpsertItem(ctx, p1, doc("a", ""), nil); err != nil {
		t.Errorf("after DELETE: %v", err)
	}
}

func TestLatencyDelaysRequestsForItems(t *testing.T) {
	t.Parallel()
	const latency = 30 * time.Millisecond
	server := start(t, cosmos.Config{Latency: latency})
	c := newContainer(t, clientFor(t, server.URL(), server.Key()))
	began := time.Now()
	mustCreate(t, c, "a", "")
	if _, err := c.ReadItem(context.Background(), p1, "a", nil); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 2*latency {
		t.Errorf("a write and a read took %v, want %v at least", took, 2*latency)
	}
}
