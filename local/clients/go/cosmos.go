package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

var cosmos = map[string]func(run){
	"items": func(r run) {
		c := r.container("items")
		_, err := c.CreateItem(r, pkP, []byte(`{"id": "1", "pk": "p", "n": 1}`), nil)
		r.must(err)
		_, err = c.ReplaceItem(r, pkP, "1", []byte(`{"id": "1", "pk": "p", "n": 2}`), nil)
		r.must(err)
		got, err := c.ReadItem(r, pkP, "1", nil)
		r.must(err)
		var item struct{ N int }
		r.must(json.Unmarshal(got.Value, &item))
		r.equal(item.N, 2)
		_, err = c.DeleteItem(r, pkP, "1", nil)
		r.must(err)
		_, err = c.ReadItem(r, pkP, "1", nil)
		r.status(err, http.StatusNotFound)
	},
	"query": func(r run) {
		c := r.container("query")
		for i := range 3 {
			_, err := c.CreateItem(r, pkP, fmt.Appendf(nil, `{"id": "%d", "pk": "p", "n": %[1]d}`, i), nil)
			r.must(err)
		}
		pages := c.NewQueryItemsPager("SELECT * FROM c WHERE c.n > @n ORDER BY c.n", pkP, &azcosmos.QueryOptions{
			QueryParameters: []azcosmos.QueryParameter{{Name: "@n", Value: 0}},
		})
		count := 0
		for pages.More() {
			page, err := pages.NextPage(r)
			r.must(err)
			count += len(page.Items)
		}
		r.equal(count, 2)
	},
	"etag": func(r run) {
		c := r.container("etag")
		item := []byte(`{"id": "1", "pk": "p"}`)
		created, err := c.CreateItem(r, pkP, item, nil)
		r.must(err)
		_, err = c.ReplaceItem(r, pkP, "1", item, &azcosmos.ItemOptions{IfMatchEtag: &created.ETag})
		r.must(err)
		_, err = c.ReplaceItem(r, pkP, "1", item, &azcosmos.ItemOptions{IfMatchEtag: &created.ETag})
		r.status(err, http.StatusPreconditionFailed)
	},
	"containers": func(r run) {
		client := r.cosmosClient(os.Getenv("COSMOS_KEY"))
		_, err := client.CreateDatabase(r, azcosmos.DatabaseProperties{ID: "containers"}, nil)
		r.must(err)
		database, err := client.NewDatabase("containers")
		r.must(err)
		_, err = database.CreateContainer(r, azcosmos.ContainerProperties{ID: "one", PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}}}, nil)
		r.must(err)
		c, err := database.NewContainer("one")
		r.must(err)
		read, err := c.Read(r, nil)
		r.must(err)
		r.equal(read.ContainerProperties.IndexingPolicy.IncludedPaths, []azcosmos.IncludedPath{{Path: "/*"}})
		listed, err := database.NewQueryContainersPager("SELECT * FROM c WHERE c.id = 'one'", nil).NextPage(r)
		r.must(err)
		r.equal(len(listed.Containers), 1)
		databases, err := client.NewQueryDatabasesPager("SELECT * FROM c WHERE c.id = 'containers'", nil).NextPage(r)
		r.must(err)
		r.equal(len(databases.Databases), 1)
		_, err = c.Delete(r, nil)
		r.must(err)
		_, err = database.Delete(r, nil)
		r.must(err)
		_, err = database.Read(r, nil)
		r.status(err, http.StatusNotFound)
	},
	"statuses": func(r run) {
		c := r.container("statuses")
		item := []byte(`{"id": "1", "pk": "p"}`)
		_, err := c.CreateItem(r, pkP, item, nil)
		r.must(err)
		_, err = c.CreateItem(r, pkP, item, nil)
		r.status(err, http.StatusConflict)
		_, err = c.ReplaceItem(r, pkP, "2", []byte(`{"id": "2", "pk": "p"}`), nil)
		r.status(err, http.StatusNotFound)
		_, err = c.DeleteItem(r, pkQ, "1", nil)
		r.status(err, http.StatusNotFound)
		etag := azcore.ETag(`"0"`)
		_, err = c.DeleteItem(r, pkP, "1", &azcosmos.ItemOptions{IfMatchEtag: &etag})
		r.status(err, http.StatusPreconditionFailed)
	},
	"upsert": func(r run) {
		c := r.container("upsert")
		for i, status := range []int{http.StatusCreated, http.StatusOK} {
			got, err := c.UpsertItem(r, pkP, fmt.Appendf(nil, `{"id": "1", "pk": "p", "n": %d}`, i), nil)
			r.must(err)
			r.equal(got.RawResponse.StatusCode, status)
		}
		r.equal(r.number(c, "1"), 1)
	},
	"patch": func(r run) {
		c := r.container("patch")
		_, err := c.CreateItem(r, pkP, []byte(`{"id": "1", "pk": "p", "n": 1}`), nil)
		r.must(err)
		var operations azcosmos.PatchOperations
		operations.AppendSet("/text", "x")
		operations.AppendIncrement("/n", 2)
		_, err = c.PatchItem(r, pkP, "1", operations, nil)
		r.must(err)
		r.equal(r.number(c, "1"), 3)
		operations.SetCondition("FROM c WHERE c.n = 1")
		_, err = c.PatchItem(r, pkP, "1", operations, nil)
		r.status(err, http.StatusPreconditionFailed)
		r.equal(r.number(c, "1"), 3)
	},
	"batch": func(r run) {
		c := r.container("batch")
		_, err := c.CreateItem(r, pkP, []byte(`{"id": "1", "pk": "p", "n": 1}`), nil)
		r.must(err)
		var increment azcosmos.PatchOperations
		increment.AppendIncrement("/n", 5)
		batch := c.NewTransactionalBatch(pkP)
		batch.CreateItem([]byte(`{"id": "2", "pk": "p"}`), nil)
		batch.ReplaceItem("1", []byte(`{"id": "1", "pk": "p", "n": 2}`), nil)
		batch.PatchItem("1", increment, nil)
		batch.DeleteItem("2", nil)
		r.equal(r.execute(c, batch), []int32{201, 200, 200, 204})
		r.equal(r.number(c, "1"), 7)
	},
	"batch-rollback": func(r run) {
		c := r.container("batch-rollback")
		_, err := c.CreateItem(r, pkP, []byte(`{"id": "1", "pk": "p"}`), nil)
		r.must(err)
		batch := c.NewTransactionalBatch(pkP)
		batch.CreateItem([]byte(`{"id": "2", "pk": "p"}`), nil)
		batch.CreateItem([]byte(`{"id": "1", "pk": "p"}`), nil)
		r.equal(r.execute(c, batch), []int32{424, 409})
		_, err = c.ReadItem(r, pkP, "2", nil)
		r.status(err, http.StatusNotFound)
	},
	"partition-query": func(r run) {
		c := r.spread("partition-query")
		r.equal(r.all(c, pkP, "SELECT VALUE c.n FROM c ORDER BY c.n DESC", 2), []int{8, 6, 4, 2, 0})
		r.equal(r.all(c, pkP, "SELECT VALUE COUNT(1) FROM c", 2), []int{5})
		const query = "SELECT VALUE c.n FROM c ORDER BY c.n"
		first, err := c.NewQueryItemsPager(query, pkP, &azcosmos.QueryOptions{PageSizeHint: 2}).NextPage(r)
		r.must(err)
		r.equal(fmt.Sprintf("%s", first.Items), "[0 2]")
		next, err := c.NewQueryItemsPager(query, pkP, &azcosmos.QueryOptions{PageSizeHint: 2, ContinuationToken: first.ContinuationToken}).NextPage(r)
		r.must(err)
		r.equal(fmt.Sprintf("%s", next.Items), "[4 6]")
	},
	"all-partitions": func(r run) {
		c := r.spread("all-partitions")
		for _, size := range []int32{100, 3} {
			got := r.all(c, azcosmos.NewPartitionKey(), "SELECT VALUE c.n FROM c WHERE c.n > 5", size)
			slices.Sort(got)
			r.equal(got, []int{6, 7, 8, 9})
		}
	},
	"hierarchical-key": func(r run) {
		c := r.containerOf(azcosmos.ContainerProperties{ID: "hierarchical-key", PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{
			Kind: azcosmos.PartitionKeyKindMultiHash, Version: 2, Paths: []string{"/a", "/b"},
		}})
		pk := azcosmos.NewPartitionKeyString("a").AppendString("x")
		_, err := c.CreateItem(r, pk, []byte(`{"id": "1", "a": "a", "b": "x", "n": 1}`), nil)
		r.must(err)
		_, err = c.ReadItem(r, pk, "1", nil)
		r.must(err)
		r.equal(r.all(c, pk, "SELECT VALUE c.n FROM c", 10), []int{1})
	},
	"too-large": func(r run) {
		item := `{"id": "1", "pk": "p", "text": "` + strings.Repeat("x", 3<<20) + `"}`
		_, err := r.container("too-large").CreateItem(r, pkP, []byte(item), nil)
		r.status(err, http.StatusRequestEntityTooLarge)
	},
	"wrong-partition-key": func(r run) {
		_, err := r.container("wrong-partition-key").CreateItem(r, pkQ, []byte(`{"id": "1", "pk": "p"}`), nil)
		r.status(err, http.StatusBadRequest)
		r.subStatus(err, "1001")
	},
	"missing-container": func(r run) {
		c, err := r.cosmosClient(os.Getenv("COSMOS_KEY")).NewContainer("clients", "none")
		r.must(err)
		_, err = c.ReadItem(r, pkP, "1", nil)
		r.status(err, http.StatusNotFound)
		r.subStatus(err, "1003")
	},
	"wrong-key": func(r run) {
		client := r.cosmosClient(base64.StdEncoding.EncodeToString([]byte("wrong")))
		_, err := client.CreateDatabase(r, azcosmos.DatabaseProperties{ID: "wrong-key"}, nil)
		r.status(err, http.StatusUnauthorized)
	},
	"change-feed": func(r run) {
		_, err := r.spread("change-feed").ReadChangeFeed(r, &azcosmos.ChangeFeedOptions{FeedRange: &azcosmos.FeedRange{MaxExclusive: "FF"}})
		r.must(err)
	},
	"unique-keys": func(r run) {
		r.containerOf(azcosmos.ContainerProperties{
			ID: "unique-keys", PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}},
			UniqueKeyPolicy: &azcosmos.UniqueKeyPolicy{UniqueKeys: []azcosmos.UniqueKey{{Paths: []string{"/n"}}}},
		})
	},
}

var pkP, pkQ = azcosmos.NewPartitionKeyString("p"), azcosmos.NewPartitionKeyString("q")

func (r run) cosmosClient(key string) *azcosmos.Client {
	credential, err := azcosmos.NewKeyCredential(key)
	r.must(err)
	client, err := azcosmos.NewClientWithKey(os.Getenv("COSMOS_ENDPOINT"), credential, nil)
	r.must(err)
	return client
}

// container creates a container with the partition key /pk.
func (r run) container(name string) *azcosmos.ContainerClient {
	return r.containerOf(azcosmos.ContainerProperties{ID: name, PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}}})
}

func (r run) containerOf(properties azcosmos.ContainerProperties) *azcosmos.ContainerClient {
	client := r.cosmosClient(os.Getenv("COSMOS_KEY"))
	if _, err := client.CreateDatabase(r, azcosmos.DatabaseProperties{ID: "clients"}, nil); !isStatus(err, http.StatusConflict) {
		r.must(err)
	}
	database, err := client.NewDatabase("clients")
	r.must(err)
	_, err = database.CreateContainer(r, properties, nil)
	r.must(err)
	container, err := database.NewContainer(properties.ID)
	r.must(err)
	return container
}

// spread creates a container with 10 items: those with an even n in partition p, the others in q.
func (r run) spread(name string) *azcosmos.ContainerClient {
	c := r.container(name)
	for n := 9; n >= 0; n-- {
		pk, value := pkP, "p"
		if n%2 == 1 {
			pk, value = pkQ, "q"
		}
		_, err := c.CreateItem(r, pk, fmt.Appendf(nil, `{"id": "%d", "pk": %q, "n": %[1]d}`, n, value), nil)
		r.must(err)
	}
	return c
}

// number reads the n of an item in partition p.
func (r run) number(c *azcosmos.ContainerClient, id string) int {
	got, err := c.ReadItem(r, pkP, id, nil)
	r.must(err)
	var item struct{ N int }
	r.must(json.Unmarshal(got.Value, &item))
	return item.N
}

// all reads all pages of a query that selects numbers.
func (r run) all(c *azcosmos.ContainerClient, pk azcosmos.PartitionKey, query string, size int32) (all []int) {
	for pages := c.NewQueryItemsPager(query, pk, &azcosmos.QueryOptions{PageSizeHint: size}); pages.More(); {
		page, err := pages.NextPage(r)
		r.must(err)
		for _, text := range page.Items {
			var n int
			r.must(json.Unmarshal(text, &n))
			all = append(all, n)
		}
	}
	return all
}

// execute returns the statuses of a batch's operations.
func (r run) execute(c *azcosmos.ContainerClient, batch azcosmos.TransactionalBatch) (statuses []int32) {
	got, err := c.ExecuteTransactionalBatch(r, batch, nil)
	r.must(err)
	for _, result := range got.OperationResults {
		statuses = append(statuses, result.StatusCode)
	}
	return statuses
}

func (r run) subStatus(err error, want string) {
	var response *azcore.ResponseError
	if !errors.As(err, &response) {
		panic(fmt.Errorf("got %w, want sub-status %s", err, want))
	}
	r.equal(response.RawResponse.Header.Get("X-Ms-Substatus"), want)
}

func (r run) status(err error, want int) {
	if !isStatus(err, want) {
		panic(fmt.Errorf("got %w, want status %d", err, want))
	}
}

func isStatus(err error, status int) bool {
	var response *azcore.ResponseError
	return errors.As(err, &response) && response.StatusCode == status
}
