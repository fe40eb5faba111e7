// Package cosmos keeps the state of batches and runbooks in Azure Cosmos DB. It is the only
// package that knows SQL, item ids and the index policy of the container, and the only one that
// imports azcosmos. On a laptop and in tests it talks to local/cosmos.
package cosmos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/matoolkit/matoolkit/internal/store"
)

var _ store.Store = (*Store)(nil)

// Config names the container. Key is for the local server and the emulator; without it
// Credential is used.
type Config struct {
	Endpoint   string // https://<account>.documents.azure.com
	Database   string
	Container  string
	Key        string
	Credential azcore.TokenCredential
	HTTPClient policy.Transporter // nil: the SDK's own
}

// Store implements store.Store over Azure Cosmos DB.
type Store struct {
	client    *azcosmos.Client
	database  string
	name      string
	container *azcosmos.ContainerClient
	counts    counts
	commits   *committer
}

type counts struct{ reads, queries, writes, conflicts atomic.Int64 }

// Open returns a Store. It does not connect: the first operation does.
func Open(c Config) (*Store, error) {
	options := &azcosmos.ClientOptions{}
	options.PerCallPolicies = []policy.Policy{batchCodec{}}
	options.PerRetryPolicies = []policy.Policy{throttleWatch{}, serviceOnly{}}
	options.Transport = c.HTTPClient
	if c.HTTPClient == nil {
		options.Transport = transport()
	}
	client, err := newClient(c, options)
	if err != nil {
		return nil, fmt.Errorf("store: %s: %w", c.Endpoint, err)
	}
	container, err := client.NewContainer(c.Database, c.Container)
	if err != nil {
		return nil, fmt.Errorf("store: container %s/%s: %w", c.Database, c.Container, err)
	}
	s := &Store{client: client, database: c.Database, name: c.Container, container: container}
	s.commits = newCommitter(s.transact)
	return s, nil
}

func newClient(c Config, options *azcosmos.ClientOptions) (*azcosmos.Client, error) {
	if c.Key == "" {
		if c.Credential == nil {
			return nil, errors.New("a key or a credential is required")
		}
		return azcosmos.NewClient(c.Endpoint, c.Credential, options)
	}
	key, err := azcosmos.NewKeyCredential(c.Key)
	if err != nil {
		return nil, errors.New("the key is not base64")
	}
	return azcosmos.NewClientWithKey(c.Endpoint, key, options)
}

// transport keeps as many connections open as there are invocations at once: with the
// default of two idle ones nearly every request would open a connection.
func transport() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 256, 256
	t.DialContext = (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	t.DisableCompression = true
	return &http.Client{Transport: t}
}

// Ping implements store.Store: it reads the container.
func (s *Store) Ping(ctx context.Context) error {
	_, err := s.container.Read(ctx, nil)
	return classify(err)
}

// Provision creates the database and the container if they do not exist, and gives the
// container the index policy of this version. In Azure the infrastructure does that; the
// handler has no right to.
func (s *Store) Provision(ctx context.Context) error {
	_, err := s.client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: s.database}, nil)
	if err = classify(err); err != nil && !errors.Is(err, store.ErrExists) {
		return err
	}
	database, err := s.client.NewDatabase(s.database)
	if err != nil {
		return err
	}
	policy, err := indexing()
	if err != nil {
		return err
	}
	_, err = database.CreateContainer(ctx, azcosmos.ContainerProperties{
		ID:                     s.name,
		IndexingPolicy:         policy,
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{PartitionKeyPath}, Kind: azcosmos.PartitionKeyKindHash},
	}, nil)
	if err = classify(err); !errors.Is(err, store.ErrExists) {
		return err
	}
	there, err := s.container.Read(ctx, nil)
	if err != nil {
		return classify(err)
	}
	if properties := *there.ContainerProperties; !same(properties.IndexingPolicy, policy) {
		properties.IndexingPolicy = policy
		_, err = s.container.Replace(ctx, properties, nil)
	}
	return classify(err)
}

// Counts implements store.Store.
func (s *Store) Counts() store.Counts {
	return store.Counts{Reads: s.counts.reads.Load(), Queries: s.counts.queries.Load(), Writes: s.counts.writes.Load(), Conflicts: s.counts.conflicts.Load()}
}
