package cosmos_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

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
