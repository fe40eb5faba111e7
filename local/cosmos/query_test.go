package cosmos_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/matoolkit/matoolkit/local/cosmos"
)

var everywhere = azcosmos.NewPartitionKey()

func queryStatus(t *testing.T, c *azcosmos.ContainerClient, pk azcosmos.PartitionKey, text string, o *azcosmos.QueryOptions, status int) {
	t.Helper()
	_, err := c.NewQueryItemsPager(text, pk, o).NextPage(context.Background())
	wantStatus(t, err, status)
}

func TestPagesCoverEverythingOnce(t *testing.T) {
	t.Parallel()
	c := newContainer(t, newClient(t))
	var want []string
	for i := range 25 {
		id := fmt.Sprintf("i%02d", i)
		mustCreate(t, c, id, fmt.Sprintf(`"n":%d,"even":%v`, 24-i, i%2 == 0))
		want = append(want, `"`+id+`"`)
	}
	reversed := slices.Clone(want)
	slices.Reverse(reversed)
	var even []string
	for i := 0; i < 25; i += 2 {
		even = append(even, want[i])
	}
	for text, want := range map[string][]string{
		"SELECT VALUE c.id FROM c":                                             want,
		"SELECT VALUE c.id FROM c WHERE c.even = true":                         even,
		"SELECT VALUE c.id FROM c ORDER BY c.n":                                reversed,
		"SELECT VALUE c.id FROM c ORDER BY c.n DESC":                           want,
		"SELECT VALUE c.id FROM c ORDER BY c.even DESC OFFSET 0 LIMIT 13":      even,
		"SELECT TOP 11 VALUE c.id FROM c":                                      want[:11],
		"SELECT TOP 11 VALUE c.id FROM c ORDER BY c.n":                         reversed[:11],
		"SELECT VALUE c.id FROM c OFFSET 3 LIMIT 12":                           want[3:15],
		"SELECT VALUE c.id FROM c ORDER BY c.n OFFSET 3 LIMIT 12":              reversed[3:15],
		"SELECT VALUE COUNT(1) FROM c WHERE c.n >= 20":                         {"5"},
		"SELECT VALUE c.id FROM c WHERE STARTSWITH(c.id, 'i1')":                want[10:20],
		"SELECT VALUE c.id FROM c WHERE c.id = 'i07'":                          want[7:8],
		"SELECT VALUE c.id FROM c WHERE c.id = 'i07' AND STARTSWITH(c.id,'x')": nil,
		"SELECT VALUE c.id FROM c WHERE c.id = 'i07' OR c.id = 'i09'":          {want[7], want[9]},
		"SELECT VALUE c.id FROM c WHERE c.id = 7":                              nil,
	} {
		for _, size := range []int32{1, 4, 25, 100, -1} {
			if got := queryAll(t, c, p1, text, &azcosmos.QueryOptions{PageSizeHint: size}); !slices.Equal(got, want) {
				t.Errorf("%s in pages of %d:\n got %v\nwant %v", text, size, got, want)
			}
		}
	}
}

func TestPagesUnderWritesNeitherRepeatNorHideRows(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := newContainer(t, newClient(t))
	for i := range 10 {
		mustCreate(t, c, fmt.Sprint("i", i), fmt.Sprintf(`"n":%d`, i))
	}
	for _, text := range []string{"SELECT VALUE c.id FROM c", "SELECT VALUE c.id FROM c ORDER BY c.n"} {
		pager := c.NewQueryItemsPager(text, p1, &azcosmos.QueryOptions{PageSizeHint: 4})
		page, err := pager.NextPage(ctx)
		wantStatus(t, err, 0)
		got := fmt.Sprintf("%s", page.Items)
		_, err = c.DeleteItem(ctx, p1, "i0", nil)
		wantStatus(t, err, 0)
		for pager.More() {
			page, err := pager.NextPage(ctx)
			wantStatus(t, err, 0)
			got += fmt.Sprintf(" %s", page.Items)
		}
		if want := `["i0" "i1" "i2" "i3"] ["i4" "i5" "i6" "i7"] ["i8" "i9"]`; got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
		mustCreate(t, c, "i0", `"n":0`)
	}
}

func TestContinuationTokenBelongsToItsQuery(t *testing.T) {
	t.Parallel()
	c := newContainer(t, newClient(t))
	mustCreate(t, c, "a", "")
	mustCreate(t, c, "b", "")
	page, err := c.NewQueryItemsPager("SELECT * FROM c", p1, &azcosmos.QueryOptions{PageSizeHint: 1}).NextPage(context.Background())
	wantStatus(t, err, 0)
	if page.ContinuationToken == nil {
		t.Fatal("the first page of two has no continuation token")
	}
	queryStatus(t, c, p1, "SELECT * FROM c", &azcosmos.QueryOptions{ContinuationToken: page.ContinuationToken}, 0)
	queryStatus(t, c, p1, "SELECT c.id FROM c", &azcosmos.QueryOptions{ContinuationToken: page.ContinuationToken}, 400)
	garbage := "garbage"
	queryStatus(t, c, p1, "SELECT * FROM c", &azcosmos.QueryOptions{ContinuationToken: &garbage}, 400)
}

func TestCrossPartitionQueries(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := newContainer(t, newClient(t))
	for i := range 3 {
		for _, pk := range []string{"p1", "p2", "p3"} {
			item := fmt.Appendf(nil, `{"id":"i%d","pk":%q,"n":%d}`, i, pk, i)
			_, err := c.CreateItem(ctx, azcosmos.NewPartitionKeyString(pk), item, nil)
			wantStatus(t, err, 0)
		}
	}
	found := queryAll(t, c, everywhere, "SELECT c.pk, c.id FROM c WHERE c.n > 0", &azcosmos.QueryOptions{PageSizeHint: 2})
	slices.Sort(found)
	if got := slices.Compact(found); len(got) != 6 {
		t.Errorf("found %v, want 6 rows", found)
	}
	for _, refused := range []string{
		"SELECT * FROM c ORDER BY c.n",
		"SELECT TOP 1 * FROM c",
		"SELECT VALUE COUNT(1) FROM c",
		"SELECT * FROM c OFFSET 0 LIMIT 1",
	} {
		queryStatus(t, c, everywhere, refused, nil, http.StatusBadRequest)
	}
	// A filter on the whole key makes it a query of one partition.
	if got := queryAll(t, c, everywhere, "SELECT VALUE c.id FROM c WHERE c.pk = 'p2' ORDER BY c.n DESC", nil); fmt.Sprint(got) != `["i2" "i1" "i0"]` {
		t.Errorf("got %v", got)
	}
	no := false
	queryStatus(t, c, everywhere, "SELECT * FROM c", &azcosmos.QueryOptions{EnableCrossPartitionQuery: &no}, http.StatusBadRequest)
}

func TestReadManyItems(t *testing.T) {
	t.Parallel()
	c := newContainer(t, newClient(t))
	var identities []azcosmos.ItemIdentity
	for i := range 5 {
		mustCreate(t, c, fmt.Sprint("i", i), "")
		identities = append(identities, azcosmos.ItemIdentity{ID: fmt.Sprint("i", i), PartitionKey: p1})
	}
	identities = append(identities, azcosmos.ItemIdentity{ID: "absent", PartitionKey: p1}, azcosmos.ItemIdentity{ID: "i0", PartitionKey: p2})
	response, err := c.ReadManyItems(context.Background(), identities, nil)
	wantStatus(t, err, 0)
	if len(response.Items) != 5 {
		t.Errorf("found %d items, want 5", len(response.Items))
	}
}

func TestOrderByNeedsAnIndex(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	client := newClient(t)
	c := newContainer(t, client)
	mustCreate(t, c, "a", `"x":1,"y":2`)
	mustCreate(t, c, "b", `"x":1,"y":1`)
	mustCreate(t, c, "c", `"x":0,"y":3`)
	const text = "SELECT VALUE c.id FROM c ORDER BY c.x ASC, c.y DESC"
	queryStatus(t, c, p1, text, nil, http.StatusBadRequest)

	container, err := c.Read(ctx, nil)
	wantStatus(t, err, 0)
	properties := container.ContainerProperties
	properties.IndexingPolicy = &azcosmos.IndexingPolicy{
		Automatic: true, IndexingMode: azcosmos.IndexingModeConsistent,
		IncludedPaths: []azcosmos.IncludedPath{{Path: "/*"}},
		CompositeIndexes: [][]azcosmos.CompositeIndex{{
			{Path: "/x", Order: azcosmos.CompositeIndexDescending}, {Path: "/y", Order: azcosmos.CompositeIndexAscending},
		}},
	}
	_, err = c.Replace(ctx, *properties, nil)
	wantStatus(t, err, 0)
	if got := fmt.Sprint(queryAll(t, c, p1, text, nil)); got != `["c" "a" "b"]` {
		t.Errorf("got %s", got)
	}

	properties.IndexingPolicy.ExcludedPaths = []azcosmos.ExcludedPath{{Path: "/payload/*"}, {Path: "/x/?"}}
	properties.IndexingPolicy.CompositeIndexes = nil
	_, err = c.Replace(ctx, *properties, nil)
	wantStatus(t, err, 0)
	queryStatus(t, c, p1, "SELECT * FROM c ORDER BY c.payload.n", nil, http.StatusBadRequest)
	queryStatus(t, c, p1, "SELECT * FROM c ORDER BY c.x", nil, http.StatusBadRequest)
	queryStatus(t, c, p1, "SELECT * FROM c ORDER BY c.y", nil, 0)
}

func TestRefusedQueryNamesTheCause(t *testing.T) {
	t.Parallel()
	c := newContainer(t, newClient(t))
	_, err := c.NewQueryItemsPager("SELECT DISTINCT c.x FROM c", p1, nil).NextPage(context.Background())
	wantStatus(t, err, http.StatusBadRequest)
	var response *azcore.ResponseError
	if !errors.As(err, &response) || !strings.Contains(err.Error(), "DISTINCT is not supported") {
		t.Errorf("the error does not say why: %v", err)
	}
}

func TestDatabasesAndContainers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	client := newClient(t)
	c := newContainer(t, client)
	read, err := c.Read(ctx, nil)
	wantStatus(t, err, 0)
	if p := read.ContainerProperties; p.ID != "things" || p.ResourceID == "" || p.PartitionKeyDefinition.Paths[0] != "/pk" || p.ETag == nil {
		t.Errorf("the container is described as %+v", p)
	}
	ranges, err := c.ReadFeedRanges(ctx, nil)
	wantStatus(t, err, 0)
	if len(ranges) == 0 {
		t.Error("the container has no partition key range")
	}

	name := "listed-" + strings.ToLower(t.Name())
	throughput := azcosmos.NewManualThroughputProperties(400)
	_, err = client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: name}, &azcosmos.CreateDatabaseOptions{ThroughputProperties: &throughput})
	wantStatus(t, err, 0)
	_, err = client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: name}, nil)
	wantStatus(t, err, http.StatusConflict)
	page, err := client.NewQueryDatabasesPager("SELECT * FROM d WHERE d.id = '"+name+"'", nil).NextPage(ctx)
	wantStatus(t, err, 0)
	if len(page.Databases) != 1 || page.Databases[0].ID != name {
		t.Errorf("listed %+v", page.Databases)
	}

	database, err := client.NewDatabase(name)
	wantStatus(t, err, 0)
	for _, id := range []string{"one", "two"} {
		_, err = database.CreateContainer(ctx, azcosmos.ContainerProperties{ID: id, PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}}}, nil)
		wantStatus(t, err, 0)
	}
	_, err = database.CreateContainer(ctx, azcosmos.ContainerProperties{ID: "one", PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}}}, nil)
	wantStatus(t, err, http.StatusConflict)
	containers, err := database.NewQueryContainersPager("SELECT * FROM c", nil).NextPage(ctx)
	wantStatus(t, err, 0)
	if len(containers.Containers) != 2 {
		t.Errorf("listed %+v", containers.Containers)
	}

	one, err := database.NewContainer("one")
	wantStatus(t, err, 0)
	mustCreate(t, one, "a", "")
	_, err = one.Delete(ctx, nil)
	wantStatus(t, err, 0)
	_, err = one.ReadItem(ctx, p1, "a", nil)
	wantStatus(t, err, http.StatusNotFound)
	_, err = database.CreateContainer(ctx, azcosmos.ContainerProperties{ID: "one", PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}}}, nil)
	wantStatus(t, err, 0)
	_, err = one.ReadItem(ctx, p1, "a", nil)
	wantStatus(t, err, http.StatusNotFound)
	_, err = database.Delete(ctx, nil)
	wantStatus(t, err, 0)
	_, err = database.Read(ctx, nil)
	wantStatus(t, err, http.StatusNotFound)
	_, err = one.ReadItem(ctx, p1, "a", nil)
	wantStatus(t, err, http.StatusNotFound)
}

func TestReadThatFindsTheKnownVersionAnswersNotModified(t *testing.T) {
	t.Parallel()
	server := start(t, cosmos.Config{})
	c := newContainer(t, clientFor(t, server.URL(), server.Key()))
	tag := mustCreate(t, c, "a", "").ETag

	credential, err := azcosmos.NewKeyCredential(server.Key())
	wantStatus(t, err, 0)
	client, err := azcosmos.NewClientWithKey(server.URL(), credential, &azcosmos.ClientOptions{
		ClientOptions: azcore.ClientOptions{PerCallPolicies: []policy.Policy{withHeader{"If-None-Match", string(tag)}}},
	})
	wantStatus(t, err, 0)
	conditional, err := client.NewContainer(databaseOf(t, server), c.ID())
	wantStatus(t, err, 0)
	response, err := conditional.ReadItem(context.Background(), p1, "a", nil)
	wantStatus(t, err, 0)
	if response.RawResponse.StatusCode != http.StatusNotModified || len(response.Value) != 0 {
		t.Errorf("status %d with %q, want 304 and nothing", response.RawResponse.StatusCode, response.Value)
	}
	_, err = c.UpsertItem(context.Background(), p1, doc("a", `"n":1`), nil)
	wantStatus(t, err, 0)
	response, err = conditional.ReadItem(context.Background(), p1, "a", nil)
	wantStatus(t, err, 0)
	if response.RawResponse.StatusCode != http.StatusOK {
		t.Errorf("status %d after a change, want 200", response.RawResponse.StatusCode)
	}
}

// databaseOf names the only database of a server.
func databaseOf(t *testing.T, server *cosmos.Server) string {
	t.Helper()
	page, err := clientFor(t, server.URL(), server.Key()).NewQueryDatabasesPager("SELECT * FROM d", nil).NextPage(context.Background())
	wantStatus(t, err, 0)
	return page.Databases[0].ID
}

type staticToken string

func (s staticToken) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: string(s), ExpiresOn: time.Now().Add(time.Hour)}, nil
}

func TestEntraTokensAreLeftToTheVerifier(t *testing.T) {
	t.Parallel()
	verify := func(token string) error {
		if token != "a.good+token/==" {
			return errors.New("unknown token")
		}
		return nil
	}
	for _, test := range []struct {
		verify func(string) error
		token  staticToken
		status int
	}{
		{verify, "a.good+token/==", 0},
		{verify, "a.bad.token", http.StatusUnauthorized},
		{nil, "a.good+token/==", http.StatusUnauthorized},
	} {
		server := start(t, cosmos.Config{VerifyToken: test.verify})
		newContainer(t, clientFor(t, server.URL(), server.Key()))
		client, err := azcosmos.NewClient(server.URL(), test.token, nil)
		wantStatus(t, err, 0)
		database, err := client.NewDatabase(databaseOf(t, server))
		wantStatus(t, err, 0)
		switch _, err = database.Read(context.Background(), nil); {
		case test.status == 0 && err != nil:
			t.Errorf("a good token was refused: %v", err)
		case test.status != 0 && (err == nil || !strings.Contains(err.Error(), "401")):
			t.Errorf("error is %v, want 401", err)
		}
	}
}

func TestOnlyLoopbackIsServed(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0", "nonsense"} {
		if server, err := cosmos.Start(context.Background(), cosmos.Config{Addr: addr}); err == nil {
			server.Close()
			t.Errorf("%q was accepted", addr)
		}
	}
}

func TestStatsCountWhatWasServed(t *testing.T) {
	t.Parallel()
	server := start(t, cosmos.Config{})
	c := newContainer(t, clientFor(t, server.URL(), server.Key()))
	server.ResetStats()
	mustCreate(t, c, "a", "")
	wantItem(t, c, "a", "")
	queryAll(t, c, p1, "SELECT * FROM c", nil)
	batch := c.NewTransactionalBatch(p1)
	batch.UpsertItem(doc("b", ""), nil)
	batch.UpsertItem(doc("c", ""), nil)
	_, err := c.ExecuteTransactionalBatch(context.Background(), batch, nil)
	wantStatus(t, err, 0)
	got := server.Stats()
	size := int64(len(doc("a", "")))
	if got.PointReads != 1 || got.SingleWrites != 1 || got.Queries != 1 || got.Batches != 1 || got.BatchOperations != 2 ||
		got.BytesWritten != 3*size || got.RU < 18 || got.Commits != 2 {
		t.Errorf("stats are %+v", got)
	}
}
