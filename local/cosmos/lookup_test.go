package cosmos_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/matoolkit/matoolkit/local/cosmos"
)

// A query that selects little of a large partition scans it once; from then
// on it is charged for what it finds, gives the same rows, and sees writes.
func TestSelectiveQueriesStopScanningThePartition(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	server := start(t, cosmos.Config{DataDir: dir})
	c := newContainer(t, clientFor(t, server.URL(), server.Key()))
	var want []string
	for first := 0; first < 3000; first += 100 {
		batch := c.NewTransactionalBatch(p1)
		for i := first; i < first+100; i++ {
			id := fmt.Sprintf("i%04d", i)
			batch.CreateItem(doc(id, fmt.Sprintf(`"type":"run","doc":{"page":%d,"name":"é%d"}`, i%100, i%100)), nil)
			if i%100 == 7 {
				want = append(want, `"`+id+`"`)
			}
		}
		response, err := c.ExecuteTransactionalBatch(ctx, batch, nil)
		if wantStatus(t, err, 0); !response.Success {
			t.Fatal(batchStatuses(response))
		}
	}
	for _, text := range []string{
		"SELECT VALUE c.id FROM c WHERE c.type = 'run' AND c.doc.page = 7",
		"SELECT VALUE c.id FROM c WHERE c.doc.page = 7.0 AND c.type = 'run' ORDER BY c.id",
		"SELECT VALUE c.id FROM c WHERE c.doc.name = 'é7' ORDER BY c.doc.page",
		"SELECT VALUE c.id FROM c WHERE c.type = 'run' AND c.doc.page = 7 AND (c.doc.name = 'é7' OR c.doc.name = 'x')",
	} {
		for round := range 3 {
			got := queryAll(t, c, p1, text, &azcosmos.QueryOptions{PageSizeHint: 20})
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Fatalf("%s, round %d: got %v, want %v", text, round, got, want)
			}
		}
		page, err := c.NewQueryItemsPager(text, p1, nil).NextPage(ctx)
		if wantStatus(t, err, 0); page.RequestCharge > 5 {
			t.Errorf("%s is charged %v: it still scans the partition", text, page.RequestCharge)
		}
	}
	var move azcosmos.PatchOperations
	move.AppendSet("/doc/page", 8)
	_, err := c.PatchItem(ctx, p1, "i0007", move, nil)
	wantStatus(t, err, 0)
	_, err = c.DeleteItem(ctx, p1, "i0107", nil)
	wantStatus(t, err, 0)
	if got := queryAll(t, c, p1, "SELECT VALUE c.id FROM c WHERE c.type = 'run' AND c.doc.page = 7", nil); !slices.Equal(got, want[2:]) {
		t.Errorf("after a patch and a delete got %v", got)
	}
}
