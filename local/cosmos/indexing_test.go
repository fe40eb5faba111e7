package cosmos_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/matoolkit/matoolkit/local/cosmos"
)

func withPolicy(t *testing.T, c *azcosmos.ContainerClient, want int, policy azcosmos.IndexingPolicy) {
	t.Helper()
	container, err := c.Read(context.Background(), nil)
	wantStatus(t, err, 0)
	properties := *container.ContainerProperties
	properties.IndexingPolicy = &policy
	_, err = c.Replace(context.Background(), properties, nil)
	wantStatus(t, err, want)
}

func included(paths ...string) azcosmos.IndexingPolicy {
	policy := azcosmos.IndexingPolicy{Automatic: true, IndexingMode: azcosmos.IndexingModeConsistent}
	if !slices.Contains(paths, "/*") {
		policy.ExcludedPaths = []azcosmos.ExcludedPath{{Path: "/*"}}
	}
	for _, path := range paths {
		policy.IncludedPaths = append(policy.IncludedPaths, azcosmos.IncludedPath{Path: path})
	}
	return policy
}

// A filter on an indexed path is charged for the rows that it finds; a filter on another
// path reads the whole partition, counts a scan and returns the same rows.
func TestFilterOnAnExcludedPathIsAScan(t *testing.T) {
	t.Parallel()
	server := start(t, cosmos.Config{})
	c := newContainer(t, clientFor(t, server.URL(), server.Key()))
	withPolicy(t, c, 0, included("/pk/?", "/type/?", "/doc/n/?", "/doc/list/[]/state/?", "/doc/tags/[]/?"))
	for first := 0; first < 1100; first += 100 { // so many that indexes of the server's own would be worth it
		batch := c.NewTransactionalBatch(p1)
		for i := first; i < first+100; i++ {
			batch.CreateItem(doc(fmt.Sprintf("i%03d", i), fmt.Sprintf(`"type":"run","doc":{"n":%d,"secret":%d,"list":[{"state":"s%d","other":%d}],"tags":["t%d"]}`, i, i, i, i, i)), nil)
		}
		response, err := c.ExecuteTransactionalBatch(context.Background(), batch, nil)
		if wantStatus(t, err, 0); !response.Success {
			t.Fatal(batchStatuses(response))
		}
	}
	for text, indexed := range map[string]bool{
		"c.doc.n = 7": true,
		"c.type = 'run' AND c.doc.n IN (7, 5000)":          true,
		"c.doc.n BETWEEN 7 AND 7":                          true,
		"c.id = 'i007'":                                    true,
		"IS_DEFINED(c.doc.n) AND c.doc.n = 7":              true,
		`ARRAY_CONTAINS(c.doc.list, {"state":"s7"}, true)`: true,
		`ARRAY_CONTAINS(c.doc.tags, "t7")`:                 true,
		`ARRAY_CONTAINS(["i007"], c.id)`:                   true,

		"c.doc.secret = 7":                                           false,
		"c.doc.n = 7 AND c.doc.secret = 7":                           false,
		"c.doc.n = 7 OR NOT (c.doc.secret != 7)":                     false,
		"NOT IS_DEFINED(c.doc.absent) AND c.doc.n = 7":               false,
		`ARRAY_CONTAINS(c.doc.list, {"other":7}, true)`:              false,
		`ARRAY_CONTAINS(c.doc.list, {"state":"s7","other":7}, true)`: false,
	} {
		queryAll(t, c, p1, "SELECT VALUE c.id FROM c WHERE "+text, nil)
		server.ResetStats()
		page, err := c.NewQueryItemsPager("SELECT VALUE c.id FROM c WHERE "+text, p1, nil).NextPage(context.Background())
		if wantStatus(t, err, 0); len(page.Items) != 1 || string(page.Items[0]) != `"i007"` {
			t.Errorf("%s gives %s", text, page.Items)
		}
		if got := server.Stats().Unindexed; got == 0 != indexed {
			t.Errorf("%s: %d scans are counted", text, got)
		}
		narrowed := !indexed && (strings.HasPrefix(text, "c.doc.n = 7 AND") || strings.HasSuffix(text, "AND c.doc.n = 7")) // by what is indexed
		if (page.RequestCharge < 3) != indexed && !narrowed {
			t.Errorf("%s is charged %v", text, page.RequestCharge)
		}
	}
	for path, want := range map[string]int{"n": 0, "secret": http.StatusBadRequest} {
		queryStatus(t, c, p1, "SELECT * FROM c WHERE c.type = 'run' ORDER BY c.doc."+path, nil, want)
	}
	queryStatus(t, c, p1, "SELECT * FROM c ORDER BY c.id", nil, 0)
	queryStatus(t, c, p1, "SELECT * FROM c ORDER BY c._ts", nil, 0)
	withPolicy(t, c, 0, azcosmos.IndexingPolicy{IndexingMode: azcosmos.IndexingModeNone})
	queryStatus(t, c, p1, "SELECT * FROM c ORDER BY c.doc.n", nil, http.StatusBadRequest)
}

func TestIndexingPolicyIsChecked(t *testing.T) {
	t.Parallel()
	c := newContainer(t, newClient(t))
	composite := func(paths ...string) azcosmos.IndexingPolicy {
		policy := included("/a/?")
		var index []azcosmos.CompositeIndex
		for _, path := range paths {
			index = append(index, azcosmos.CompositeIndex{Path: path, Order: azcosmos.CompositeIndexAscending})
		}
		policy.CompositeIndexes = [][]azcosmos.CompositeIndex{index}
		return policy
	}
	rootless := included("/a/?")
	rootless.ExcludedPaths = nil
	lazy := included("/a/?")
	lazy.IndexingMode = "lazy"
	for name, policy := range map[string]azcosmos.IndexingPolicy{
		"no ending":        included("/a"),
		"no beginning":     included("a/?"),
		"twice":            included("/a/?", "/a/?"),
		"in and out":       {IncludedPaths: []azcosmos.IncludedPath{{Path: "/*"}}, ExcludedPaths: []azcosmos.ExcludedPath{{Path: "/*"}}},
		"no root":          rootless,
		"unknown mode":     lazy,
		"composite of one": composite("/a"),
		"composite of /?":  composite("/a/?", "/b"),
	} {
		t.Run(name, func(t *testing.T) { withPolicy(t, c, http.StatusBadRequest, policy) })
	}
	withPolicy(t, c, 0, composite("/a", "/b"))
}

// By a wildcard, ORDER BY gives only the documents that have the path; by a pattern of its
// own, all, those without it first.
func TestOrderByLeavesOutWhatItsIndexDoesNotHave(t *testing.T) {
	t.Parallel()
	c := newContainer(t, newClient(t))
	for i := range 6 {
		mustCreate(t, c, fmt.Sprint("i", i), []string{`"doc":{"k":1}`, `"doc":{}`, `"doc":{"k":null}`}[i%3])
	}
	for _, tt := range []struct {
		policy azcosmos.IndexingPolicy
		want   string
	}{
		{included("/*"), `["i2" "i5" "i0" "i3"]`},
		{included("/doc/*"), `["i2" "i5" "i0" "i3"]`},
		{included("/doc/*", "/doc/k/?"), `["i1" "i4" "i2" "i5" "i0" "i3"]`},
	} {
		withPolicy(t, c, 0, tt.policy)
		for _, size := range []int32{1, 100} {
			if got := fmt.Sprint(queryAll(t, c, p1, "SELECT VALUE c.id FROM c ORDER BY c.doc.k", &azcosmos.QueryOptions{PageSizeHint: size})); got != tt.want {
				t.Errorf("%+v, pages of %d: %s, want %s", tt.policy.IncludedPaths, size, got, tt.want)
			}
		}
	}
}

// Microsoft's example of a document in about 1 KB, whose creation costs about 15 RU with
// everything indexed.
const cereal = `"description":"Cereals ready-to-eat","tags":[{"name":"cereals"},{"name":"kellogg"},{"name":"crispix"}],"version":1,` +
	`"commonName":"Includes USDA","manufacturerName":"Kellogg","isFromSurvey":false,"foodGroup":"Breakfast","nutrients":[` +
	`{"id":"262","description":"Caffeine","nutritionValue":0,"units":"mg"},{"id":"307","description":"Sodium","nutritionValue":611,"units":"mg"},` +
	`{"id":"309","description":"Zinc","nutritionValue":5.2,"units":"mg"}],"servings":[{"amount":1,"description":"cup","weightInGrams":29}]`

func TestWriteIsChargedForWhatItsContainerIndexes(t *testing.T) {
	t.Parallel()
	c := newContainer(t, newClient(t))
	for i, tt := range []struct {
		policy azcosmos.IndexingPolicy
		want   float64 // without the partition key's value, which the example does not have
	}{
		{azcosmos.IndexingPolicy{Automatic: true, IncludedPaths: []azcosmos.IncludedPath{{Path: "/*"}}, ExcludedPaths: []azcosmos.ExcludedPath{{Path: "/pk/?"}}}, 15},
		{included("/version/?", "/nutrients/[]/id/?", "/absent/?", "/servings/?"), 5 + 4*0.4},
		{included("/nutrients/*", "/tags/[]/name/?"), 5 + 15*0.4},
		{azcosmos.IndexingPolicy{IndexingMode: azcosmos.IndexingModeNone}, 5},
	} {
		withPolicy(t, c, 0, tt.policy)
		created := mustCreate(t, c, fmt.Sprint("cereal", i), cereal)
		if d := float64(created.RequestCharge) - tt.want; d*d > 0.001 {
			t.Errorf("policy %d: the document is created for %v RU, want %v", i, created.RequestCharge, tt.want)
		}
	}
}

// Every kind of write is charged for the values that the index gets or loses, and the
// server counts what it charged, reads and queries apart, since they cost twice
// under a stronger consistency.
func TestEachKindOfWriteIsChargedForItsIndex(t *testing.T) {
	t.Parallel()
	server := start(t, cosmos.Config{})
	c := newContainer(t, clientFor(t, server.URL(), server.Key()))
	ctx := context.Background()
	two, none := doc("a", `"n":[1, 2],"m":3`), doc("a", `"m":3`)
	var patch azcosmos.PatchOperations
	patch.AppendSet("/n", []int{7, 8})
	charge := func(r azcosmos.ItemResponse, err error) float64 {
		t.Helper()
		wantStatus(t, err, 0)
		return float64(r.RequestCharge)
	}
	batched := func(body []byte) float64 {
		t.Helper()
		batch := c.NewTransactionalBatch(p1)
		batch.UpsertItem(body, nil)
		r, err := c.ExecuteTransactionalBatch(ctx, batch, nil)
		wantStatus(t, err, 0)
		return float64(r.RequestCharge)
	}
	// The same writes with and without an index; each gives what it cost.
	writes := []func() float64{
		func() float64 { return charge(c.CreateItem(ctx, p1, two, nil)) },
		func() float64 { return charge(c.ReplaceItem(ctx, p1, "a", two, nil)) },
		func() float64 { return charge(c.UpsertItem(ctx, p1, none, nil)) },
		func() float64 { return charge(c.PatchItem(ctx, p1, "a", patch, nil)) },
		func() float64 { return batched(two) },
		func() float64 { return charge(c.DeleteItem(ctx, p1, "a", nil)) },
	}
	names, values := []string{"create", "replace", "upsert", "patch", "batch", "delete"}, []float64{2, 2, 0, 2, 2, 2}
	withPolicy(t, c, 0, included())
	plain := make([]float64, len(writes))
	for i, write := range writes {
		plain[i] = write()
	}
	withPolicy(t, c, 0, included("/n/[]/?"))
	server.ResetStats()
	total := 0.0
	for i, write := range writes {
		got := write()
		total += got
		if d := got - plain[i] - 0.4*values[i]; d*d > 0.001 {
			t.Errorf("%s: %v RU, without an index %v; the index has %v values", names[i], got, plain[i], values[i])
		}
	}
	if s := server.Stats(); s.ReadRU != 0 || s.Stored != 0 || (s.RU-total)*(s.RU-total) > 0.001 {
		t.Errorf("%v RU were charged, %+v counted", total, s)
	}
	total += charge(c.CreateItem(ctx, p1, two, nil))
	read := charge(c.ReadItem(ctx, p1, "a", nil))
	page, err := c.NewQueryItemsPager("SELECT * FROM c", p1, nil).NextPage(ctx)
	wantStatus(t, err, 0)
	read += float64(page.RequestCharge)
	s := server.Stats()
	if total += read; (s.ReadRU-read)*(s.ReadRU-read) > 0.001 || (s.RU-total)*(s.RU-total) > 0.001 {
		t.Errorf("%v RU were charged, %v of them for reads; %+v counted", total, read, s)
	}
	if s.Stored < int64(len(two))-2 || s.Stored > int64(len(two))+200 { // with what the service adds
		t.Errorf("%d bytes are stored of a document of %d", s.Stored, len(two))
	}
}
