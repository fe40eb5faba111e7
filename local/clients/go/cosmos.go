package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

var cosmos = map[string]func(run){
	"items": func(r run) {
		c := r.container("items")
		pk := azcosmos.NewPartitionKeyString("p")
		_, err := c.CreateItem(r, pk, []byte(`{"id": "1", "pk": "p", "n": 1}`), nil)
		r.must(err)
		_, err = c.ReplaceItem(r, pk, "1", []byte(`{"id": "1", "pk": "p", "n": 2}`), nil)
		r.must(err)
		got, err := c.ReadItem(r, pk, "1", nil)
		r.must(err)
		var item struct{ N int }
		r.must(json.Unmarshal(got.Value, &item))
		r.equal(item.N, 2)
		_, err = c.DeleteItem(r, pk, "1", nil)
		r.must(err)
		_, err = c.ReadItem(r, pk, "1", nil)
		r.status(err, http.StatusNotFound)
	},
	"query": func(r run) {
		c := r.container("query")
		pk := azcosmos.NewPartitionKeyString("p")
		for i := range 3 {
			_, err := c.CreateItem(r, pk, fmt.Appendf(nil, `{"id": "%d", "pk": "p", "n": %[1]d}`, i), nil)
			r.must(err)
		}
		pages := c.NewQueryItemsPager("SELECT * FROM c WHERE c.n > @n ORDER BY c.n", pk, &azcosmos.QueryOptions{
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
		pk := azcosmos.NewPartitionKeyString("p")
		item := []byte(`{"id": "1", "pk": "p"}`)
		created, err := c.CreateItem(r, pk, item, nil)
		r.must(err)
		_, err = c.ReplaceItem(r, pk, "1", item, &azcosmos.ItemOptions{IfMatchEtag: &created.ETag})
		r.must(err)
		_, err = c.ReplaceItem(r, pk, "1", item, &azcosmos.ItemOptions{IfMatchEtag: &created.ETag})
		r.status(err, http.StatusPreconditionFailed)
	},
}

// container creates a container with the partition key /pk.
func (r run) container(name string) *azcosmos.ContainerClient {
	key, err := azcosmos.NewKeyCredential(os.Getenv("COSMOS_KEY"))
	r.must(err)
	client, err := azcosmos.NewClientWithKey(os.Getenv("COSMOS_ENDPOINT"), key, nil)
	r.must(err)
	if _, err = client.CreateDatabase(r, azcosmos.DatabaseProperties{ID: "clients"}, nil); !isStatus(err, http.StatusConflict) {
		r.must(err)
	}
	database, err := client.NewDatabase("clients")
	r.must(err)
	_, err = database.CreateContainer(r, azcosmos.ContainerProperties{ID: name, PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}}}, nil)
	r.must(err)
	container, err := database.NewContainer(name)
	r.must(err)
	return container
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
