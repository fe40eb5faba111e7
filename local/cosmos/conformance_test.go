package cosmos_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

// The conformance suite speaks to an account through azcosmos only. It runs
// against a local server, or against the account that COSMOS_TEST_ENDPOINT
// and COSMOS_TEST_KEY name: the official emulator or Azure.

func newClient(t testing.TB) *azcosmos.Client {
	t.Helper()
	endpoint, key := os.Getenv("COSMOS_TEST_ENDPOINT"), os.Getenv("COSMOS_TEST_KEY")
	if endpoint == "" {
		server := start(t, cosmos.Config{})
		endpoint, key = server.URL(), server.Key()
	}
	return clientFor(t, endpoint, key)
}

func start(t testing.TB, config cosmos.Config) *cosmos.Server {
	t.Helper()
	server := testenv.Must(cosmos.Start(context.Background(), config))(t)
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return server
}

func clientFor(t testing.TB, endpoint, key string) *azcosmos.Client {
	t.Helper()
	credential := testenv.Must(azcosmos.NewKeyCredential(key))(t)
	return testenv.Must(azcosmos.NewClientWithKey(endpoint, credential, nil))(t)
}

// newContainer makes a container of its own for a test, in a new database.
func newContainer(t testing.TB, client *azcosmos.Client, paths ...string) *azcosmos.ContainerClient {
	t.Helper()
	ctx := context.Background()
	if len(paths) == 0 {
		paths = []string{"/pk"}
	}
	name := "conformance-" + uuid.NewString()
	if _, err := client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: name}, nil); err != nil {
		t.Fatal(err)
	}
	database := testenv.Must(client.NewDatabase(name))(t)
	t.Cleanup(func() {
		if _, err := database.Delete(ctx, nil); err != nil {
			t.Errorf("delete database: %v", err)
		}
	})
	properties := azcosmos.ContainerProperties{ID: "things", PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: paths, Version: 2}}
	if len(paths) > 1 {
		properties.PartitionKeyDefinition.Kind = azcosmos.PartitionKeyKindMultiHash
	}
	if _, err := database.CreateContainer(ctx, properties, nil); err != nil {
		t.Fatal(err)
	}
	return testenv.Must(database.NewContainer("things"))(t)
}

var p1, p2 = azcosmos.NewPartitionKeyString("p1"), azcosmos.NewPartitionKeyString("p2")

// doc is a document in partition p1 with the given members besides its id.
func doc(id, members string) []byte {
	if members != "" {
		members = "," + members
	}
	return []byte(fmt.Sprintf(`{"id":%q,"pk":"p1"%s}`, id, members))
}

func mustCreate(t testing.TB, c *azcosmos.ContainerClient, id, members string) azcosmos.ItemResponse {
	t.Helper()
	response, err := c.CreateItem(context.Background(), p1, doc(id, members), nil)
	if err != nil {
		t.Fatalf("create %s: %v", id, err)
	}
	return response
}

// wantStatus demands an error with this status, or none for 0.
func wantStatus(t testing.TB, err error, status int) {
	t.Helper()
	if status == 0 {
		if err != nil {
			t.Fatalf("unexpected error: %v", err)
		}
		return
	}
	var response *azcore.ResponseError
	if !errors.As(err, &response) {
		t.Fatalf("error is %v, want status %d", err, status)
	}
	if response.StatusCode != status {
		t.Fatalf("status is %d, want %d: %v", response.StatusCode, status, err)
	}
}

// members decodes a document without its system properties.
func members(t testing.TB, text []byte) map[string]any {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatalf("decode %s: %v", text, err)
	}
	for name := range all {
		if strings.HasPrefix(name, "_") {
			delete(all, name)
		}
	}
	return all
}

func wantItem(t testing.TB, c *azcosmos.ContainerClient, id, want string) azcosmos.ItemResponse {
	t.Helper()
	response, err := c.ReadItem(context.Background(), p1, id, nil)
	if err != nil {
		t.Fatalf("read %s: %v", id, err)
	}
	got := fmt.Sprint(members(t, response.Value))
	if want := fmt.Sprint(members(t, doc(id, want))); got != want {
		t.Fatalf("item %s is %s, want %s", id, got, want)
	}
	return response
}

func TestItemLifeCycle(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := newContainer(t, newClient(t))

	created := mustCreate(t, c, "a", `"n":1,"text":"ä\u0000\"\\"`)
	if len(created.Value) != 0 {
		t.Errorf("a create returned content without being asked: %s", created.Value)
	}
	if created.ETag == "" || created.RequestCharge <= 0 || created.ActivityID == "" || created.SessionToken == nil {
		t.Errorf("headers are missing: %+v", created.Response)
	}
	_, err := c.CreateItem(ctx, p1, doc("a", ""), nil)
	wantStatus(t, err, http.StatusConflict)

	read := wantItem(t, c, "a", `"n":1,"text":"ä\u0000\"\\"`)
	if read.ETag != created.ETag {
		t.Errorf("the ETag read is %s, the one written %s", read.ETag, created.ETag)
	}
	var system struct {
		Rid  string `json:"_rid"`
		Self string `json:"_self"`
		ETag string `json:"_etag"`
		TS   int64  `json:"_ts"`
	}
	if err := json.Unmarshal(read.Value, &system); err != nil {
		t.Fatal(err)
	}
	if system.Rid == "" || system.Self == "" || system.ETag != string(read.ETag) || system.TS == 0 {
		t.Errorf("system properties are wrong: %+v", system)
	}

	replaced, err := c.ReplaceItem(ctx, p1, "a", read.Value, &azcosmos.ItemOptions{EnableContentResponseOnWrite: true})
	wantStatus(t, err, 0)
	if replaced.ETag == read.ETag || !strings.Contains(string(replaced.Value), strings.Trim(string(replaced.ETag), `"`)) {
		t.Errorf("a replace must make a new ETag and return it in the content: %s %s", replaced.ETag, replaced.Value)
	}

	upserted, err := c.UpsertItem(ctx, p1, doc("a", `"n":2`), nil)
	wantStatus(t, err, 0)
	if upserted.RawResponse.StatusCode != http.StatusOK {
		t.Errorf("an upsert of what exists answered %d", upserted.RawResponse.StatusCode)
	}
	upserted, err = c.UpsertItem(ctx, p1, doc("b", ""), nil)
	wantStatus(t, err, 0)
	if upserted.RawResponse.StatusCode != http.StatusCreated {
		t.Errorf("an upsert of what is new answered %d", upserted.RawResponse.StatusCode)
	}
	wantItem(t, c, "a", `"n":2`)

	_, err = c.DeleteItem(ctx, p1, "a", nil)
	wantStatus(t, err, 0)
	_, err = c.ReadItem(ctx, p1, "a", nil)
	wantStatus(t, err, http.StatusNotFound)
	_, err = c.ReplaceItem(ctx, p1, "a", doc("a", ""), nil)
	wantStatus(t, err, http.StatusNotFound)
	_, err = c.DeleteItem(ctx, p1, "a", nil)
	wantStatus(t, err, http.StatusNotFound)
}

func TestIfMatchGuardsEveryKindOfWrite(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := newContainer(t, newClient(t))
	set := azcosmos.PatchOperations{}
	set.AppendSet("/n", 9)
	writes := map[string]func(o *azcosmos.ItemOptions) error{
		"replace": func(o *azcosmos.ItemOptions) error {
			_, err := c.ReplaceItem(ctx, p1, "replace", doc("replace", `"n":9`), o)
			return err
		},
		"upsert": func(o *azcosmos.ItemOptions) error {
			_, err := c.UpsertItem(ctx, p1, doc("upsert", `"n":9`), o)
			return err
		},
		"patch":  func(o *azcosmos.ItemOptions) error { _, err := c.PatchItem(ctx, p1, "patch", set, o); return err },
		"delete": func(o *azcosmos.ItemOptions) error { _, err := c.DeleteItem(ctx, p1, "delete", o); return err },
	}
	for name, write := range writes {
		stale := mustCreate(t, c, name, `"n":1`).ETag
		replaced, err := c.ReplaceItem(ctx, p1, name, doc(name, `"n":2`), nil)
		wantStatus(t, err, 0)
		wantStatus(t, write(&azcosmos.ItemOptions{IfMatchEtag: &stale}), http.StatusPreconditionFailed)
		wantItem(t, c, name, `"n":2`)
		wantStatus(t, write(&azcosmos.ItemOptions{IfMatchEtag: &replaced.ETag}), 0)
		if name == "delete" {
			continue
		}
		wantItem(t, c, name, `"n":9`)
		wantStatus(t, write(&azcosmos.ItemOptions{IfMatchEtag: &replaced.ETag}), http.StatusPreconditionFailed)
	}
}

func batchStatuses(response azcosmos.TransactionalBatchResponse) []int32 {
	var statuses []int32
	for _, result := range response.OperationResults {
		statuses = append(statuses, result.StatusCode)
	}
	return statuses
}

func TestBatchHappensWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := newContainer(t, newClient(t))
	stale := mustCreate(t, c, "a", `"n":1`).ETag
	mustCreate(t, c, "b", `"n":1`)
	increment := azcosmos.PatchOperations{}
	increment.AppendIncrement("/n", 5)

	batch := c.NewTransactionalBatch(p1)
	batch.CreateItem(doc("c", ""), nil)
	batch.ReplaceItem("a", doc("a", `"n":2`), &azcosmos.TransactionalBatchItemOptions{IfMatchETag: &stale})
	batch.PatchItem("b", increment, nil)
	batch.UpsertItem(doc("d", ""), nil)
	batch.DeleteItem("d", nil)
	response, err := c.ExecuteTransactionalBatch(ctx, batch, nil)
	wantStatus(t, err, 0)
	if got := fmt.Sprint(batchStatuses(response)); !response.Success || got != "[201 200 200 201 204]" {
		t.Fatalf("success %v, statuses %s", response.Success, got)
	}
	if wantItem(t, c, "a", `"n":2`).ETag != response.OperationResults[1].ETag {
		t.Error("the batch returned another ETag than the item has")
	}
	wantItem(t, c, "b", `"n":6`)

	batch = c.NewTransactionalBatch(p1)
	batch.PatchItem("b", increment, nil)
	batch.CreateItem(doc("e", ""), nil)
	batch.ReplaceItem("a", doc("a", `"n":3`), &azcosmos.TransactionalBatchItemOptions{IfMatchETag: &stale})
	batch.DeleteItem("c", nil)
	response, err = c.ExecuteTransactionalBatch(ctx, batch, nil)
	wantStatus(t, err, 0)
	if got := fmt.Sprint(batchStatuses(response)); response.Success || got != "[424 424 412 424]" {
		t.Fatalf("success %v, statuses %s", response.Success, got)
	}
	wantItem(t, c, "a", `"n":2`)
	wantItem(t, c, "b", `"n":6`)
	wantItem(t, c, "c", "")
	_, err = c.ReadItem(ctx, p1, "e", nil)
	wantStatus(t, err, http.StatusNotFound)
}

func queryAll(t testing.TB, c *azcosmos.ContainerClient, pk azcosmos.PartitionKey, text string, o *azcosmos.QueryOptions) []string {
	t.Helper()
	var rows []string
	for pager := c.NewQueryItemsPager(text, pk, o); pager.More(); {
		page, err := pager.NextPage(context.Background())
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for _, row := range page.Items {
			rows = append(rows, string(row))
		}
	}
	return rows
}

func TestQueryReadsOnePartition(t *testing.T) {
	t.Parallel()
	c := newContainer(t, newClient(t))
	mustCreate(t, c, "a", `"type":"run"`)
	mustCreate(t, c, "b", `"type":"phase"`)
	mustCreate(t, c, "c", `"type":"run"`)
	_, err := c.CreateItem(context.Background(), p2, []byte(`{"id":"x","pk":"p2","type":"run"}`), nil)
	wantStatus(t, err, 0)
	o := &azcosmos.QueryOptions{QueryParameters: []azcosmos.QueryParameter{{Name: "@type", Value: "run"}}}
	if got := fmt.Sprint(queryAll(t, c, p1, "SELECT VALUE c.id FROM c WHERE c.type = @type", o)); got != `["a" "c"]` {
		t.Fatalf("got %s", got)
	}
}
