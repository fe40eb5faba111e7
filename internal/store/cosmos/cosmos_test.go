package cosmos_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/matoolkit/matoolkit/internal/store"
	cosmosstore "github.com/matoolkit/matoolkit/internal/store/cosmos"
	"github.com/matoolkit/matoolkit/internal/store/storetest"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

// open starts a server with a container and opens a store over it.
func open(t *testing.T) (*cosmosstore.Store, *cosmos.Server) {
	t.Helper()
	server := testenv.Started(cosmos.Start(t.Context(), cosmos.Config{}))(t)
	return provisioned(t, cosmosstore.Config{Endpoint: server.URL(), Key: cosmos.DefaultKey, Database: "matoolkit-test", Container: "state"}), server
}

func provisioned(t *testing.T, c cosmosstore.Config) *cosmosstore.Store {
	t.Helper()
	s, err := cosmosstore.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // provisioning is repeatable
		if err := s.Provision(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// TestConformance runs the suite over local/cosmos. No query may need more than the index.
func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Driver {
		s, server := open(t)
		t.Cleanup(func() {
			if n := server.Stats().Unindexed; n > 0 {
				t.Errorf("%d pages of queries are not served by the index policy", n)
			}
		})
		inject := func(f cosmos.Fault) func(*testing.T) func() {
			return func(*testing.T) func() { return server.Inject(f) }
		}
		return storetest.Driver{
			Store: s, Unavailable: inject(cosmos.Fault{Status: 503}), LoseAnswer: inject(cosmos.Fault{DropAfter: true, Count: 1}),
			Full: inject(cosmos.Fault{Status: 403, SubStatus: 1014}),
		}
	})
}

// TestConformanceLive runs the suite over the account that COSMOS_TEST_ENDPOINT names: Azure's
// official emulator, or Azure. Without COSMOS_TEST_KEY it signs in as Azure's tools do. The
// database matoolkit-test and its container state are created if the caller may, and keep what
// the suite writes.
func TestConformanceLive(t *testing.T) {
	t.Parallel()
	c := cosmosstore.Config{Endpoint: os.Getenv("COSMOS_TEST_ENDPOINT"), Key: os.Getenv("COSMOS_TEST_KEY"), Database: "matoolkit-test", Container: "state"}
	if c.Endpoint == "" {
		return
	}
	if c.Key == "" {
		credential, err := azidentity.NewDefaultAzureCredential(nil)
		if err != nil {
			t.Fatal(err)
		}
		c.Credential = azcore.TokenCredential(credential)
	}
	storetest.Run(t, func(t *testing.T) storetest.Driver { return storetest.Driver{Store: provisioned(t, c)} })
}

// TestOutagesAreUnavailable: what the service, the network and a firewall do in an outage.
func TestOutagesAreUnavailable(t *testing.T) {
	t.Parallel()
	s, server := open(t)
	k := store.Key{PK: "p", ID: "a", Type: "thing"}
	for _, status := range []int{503, 403, 401, 408, 500} {
		remove := server.Inject(cosmos.Fault{Status: status})
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		if _, err := store.Read[int](ctx, s, k); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("a read answered with %d: %v", status, err)
		}
		cancel()
		remove()
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := s.Ping(ctx); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("no server: %v", err)
	}
}

// TestIndexPolicyHasThePathsOfTheQueries compares the index policy with the paths that the
// queries of the suite filter or sort by. It has no other: each costs RU with every write.
func TestIndexPolicyHasThePathsOfTheQueries(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	needed := map[string]bool{"/pk/?": true} // by which every query finds its partition
	t.Run("suite", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) storetest.Driver {
			s, server := open(t)
			t.Cleanup(func() {
				mu.Lock()
				defer mu.Unlock()
				for _, path := range server.QueriedPaths() {
					needed[path] = true
				}
			})
			return storetest.Driver{Store: s}
		})
	})
	for _, path := range []string{"/id/?", "/_ts/?"} { // which are always indexed
		delete(needed, path)
	}
	policy := indexPolicy(t)
	for _, path := range policy.IncludedPaths {
		if !needed[path.Path] {
			t.Errorf("%s is in the policy, and no query filters or sorts by it", path.Path)
		}
	}
	for path := range needed {
		if !slices.Contains(policy.IncludedPaths, azcosmos.IncludedPath{Path: path}) {
			t.Errorf("%s is not in the policy, and a query needs it", path)
		}
	}
}

func indexPolicy(t *testing.T) azcosmos.IndexingPolicy {
	t.Helper()
	text, err := os.ReadFile("index-policy.json")
	if err != nil {
		t.Fatal(err)
	}
	var policy azcosmos.IndexingPolicy
	if err := json.Unmarshal(text, &policy); err != nil {
		t.Fatal(err)
	}
	return policy
}

// A container that was made with another policy gets this version's, and keeps its items.
func TestProvisionBringsTheIndexUpToDate(t *testing.T) {
	t.Parallel()
	server := testenv.Started(cosmos.Start(t.Context(), cosmos.Config{}))(t)
	key, err := azcosmos.NewKeyCredential(cosmos.DefaultKey)
	if err != nil {
		t.Fatal(err)
	}
	client, err := azcosmos.NewClientWithKey(server.URL(), key, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CreateDatabase(t.Context(), azcosmos.DatabaseProperties{ID: "d"}, nil); err != nil {
		t.Fatal(err)
	}
	database, err := client.NewDatabase("d")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := database.CreateContainer(t.Context(), azcosmos.ContainerProperties{
		ID: "c", PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}, Kind: azcosmos.PartitionKeyKindHash},
	}, nil); err != nil {
		t.Fatal(err)
	}
	s, err := cosmosstore.Open(cosmosstore.Config{Endpoint: server.URL(), Key: cosmos.DefaultKey, Database: "d", Container: "c"})
	if err != nil {
		t.Fatal(err)
	}
	k := store.Key{PK: "p", ID: "a", Type: "thing"}
	if _, err := s.Apply(t.Context(), store.Writes{store.Create(k, 1)}); err != nil {
		t.Fatal(err)
	}
	container, err := client.NewContainer("d", "c")
	if err != nil {
		t.Fatal(err)
	}
	provisioned := func() *azcosmos.ContainerProperties {
		t.Helper()
		if err := s.Provision(t.Context()); err != nil {
			t.Fatal(err)
		}
		there, err := container.Read(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return there.ContainerProperties
	}
	first := provisioned()
	if got, want := first.IndexingPolicy, indexPolicy(t); got == nil || fmt.Sprintf("%+v", *got) != fmt.Sprintf("%+v", want) {
		t.Fatalf("the container has the policy %+v, want %+v", got, want)
	}
	if again := provisioned(); *again.ETag != *first.ETag {
		t.Error("the container is changed where nothing has to be")
	}
	// Another version's has a path more, or another one instead.
	for _, without := range []string{"", first.IndexingPolicy.IncludedPaths[7].Path} {
		other := *first.IndexingPolicy
		other.IncludedPaths = append([]azcosmos.IncludedPath{{Path: "/doc/other/?"}}, other.IncludedPaths...)
		other.IncludedPaths = slices.DeleteFunc(other.IncludedPaths, func(p azcosmos.IncludedPath) bool { return p.Path == without })
		properties := *first
		properties.IndexingPolicy = &other
		if _, err := container.Replace(t.Context(), properties, nil); err != nil {
			t.Fatal(err)
		}
		if got := provisioned().IndexingPolicy; !slices.Equal(got.IncludedPaths, first.IndexingPolicy.IncludedPaths) {
			t.Errorf("the policy is still of another version: %+v", got.IncludedPaths)
		}
	}
	if got, err := store.Read[int](t.Context(), s, k); err != nil || got.Doc != 1 {
		t.Errorf("%+v %v", got, err)
	}
}
