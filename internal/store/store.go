// Package store keeps the state of batches and runbooks in Azure Cosmos DB.
//
// It offers what a decision needs and no more: point reads, one atomic write of
// one or several items of a partition, guarded by ETags, and queries within one
// partition. What is in the items is its users' business; items.go says how they
// are named. There is one implementation, over azcosmos; on a laptop and in tests
// it talks to local/cosmos.
//
// The account must read its own writes across processes: default consistency
// Strong or Bounded Staleness. With Session consistency a read may be older than
// the message that asked for it.
package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// Errors that callers tell apart with errors.Is.
var (
	ErrNotFound = errors.New("store: no such item")
	ErrExists   = errors.New("store: the item exists already")
	ErrChanged  = errors.New("store: the item was changed by somebody else")
	ErrTooLarge = errors.New("store: the item or the batch is too large")
	// ErrRefused is of what the service takes for malformed, such as a document that nests
	// too deep. Repeating it does not help.
	ErrRefused = errors.New("store: the service refuses the request")
	// ErrFull is of a write to a logical partition that has no room left. The service takes
	// 20 GB in one.
	ErrFull = errors.New("store: the partition is full")
	// ErrContinuation is of a Query that is to go on where none was.
	ErrContinuation = errors.New("store: the continuation is not one of this query")
	ErrUnavailable  = errors.New("store: the store cannot be reached, is overloaded or denies access")
	// ErrLater is of a Replace of an item that has more than was read of it.
	ErrLater = errors.New("store: the item was written by a later version of this program, whose work would be lost")
)

// Config says where the state is. Key is for the local server and the emulator;
// without it Credential is used.
type Config struct {
	Endpoint   string // https://<account>.documents.azure.com
	Database   string
	Container  string
	Key        string
	Credential azcore.TokenCredential
	HTTPClient policy.Transporter // nil: the SDK's own
}

// Store is safe for concurrent use.
type Store struct {
	client    *azcosmos.Client
	database  string
	name      string
	container *azcosmos.ContainerClient
	counts    counts
}

type counts struct{ reads, queries, writes, conflicts atomic.Int64 }

// Counts is what a Store has asked of the service since it was opened. A
// transactional batch is one write.
type Counts struct {
	Reads     int64 `json:"reads"`
	Queries   int64 `json:"queries"`
	Writes    int64 `json:"writes"`
	Conflicts int64 `json:"conflicts"`
}

// Open makes a Store. It does not connect: the first operation does.
func Open(c Config) (*Store, error) {
	options := &azcosmos.ClientOptions{}
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
	return &Store{client: client, database: c.Database, name: c.Container, container: container}, nil
}

func newClient(c Config, options *azcosmos.ClientOptions) (*azcosmos.Client, error) {
	if c.Key == "" {
		if c.Credential == nil {
			return nil, errors.New("neither a key nor a credential is given")
		}
		return azcosmos.NewClient(c.Endpoint, c.Credential, options)
	}
	key, err := azcosmos.NewKeyCredential(c.Key)
	if err != nil {
		return nil, errors.New("the key is not base64")
	}
	return azcosmos.NewClientWithKey(c.Endpoint, key, options)
}

// transport keeps as many connections open as invocations run at once: the
// default of two idle ones would open a connection for nearly every request.
func transport() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 256, 256
	t.DialContext = (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	t.DisableCompression = true
	return &http.Client{Transport: t}
}

// Ping tells whether the container answers.
func (s *Store) Ping(ctx context.Context) error {
	_, err := s.container.Read(ctx, nil)
	return classify(err)
}

// Provision makes the database and the container where they do not exist, and has the
// container index what this version asks for. In Azure the infrastructure does that, and
// the handler has no right to.
func (s *Store) Provision(ctx context.Context) error {
	_, err := s.client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: s.database}, nil)
	if err = classify(err); err != nil && !errors.Is(err, ErrExists) {
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
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}, Kind: azcosmos.PartitionKeyKindHash},
	}, nil)
	if err = classify(err); !errors.Is(err, ErrExists) {
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

// Counts tells what has been asked of the service so far.
func (s *Store) Counts() Counts {
	return Counts{Reads: s.counts.reads.Load(), Queries: s.counts.queries.Load(), Writes: s.counts.writes.Load(), Conflicts: s.counts.conflicts.Load()}
}

// Item is a stored value with its place and its version.
//
// An item may have fields that T lacks: a later version of the program wrote it. It can
// be read, patched and deleted, but a Replace with its ETag fails with ErrLater.
type Item[T any] struct {
	ID   string `json:"id"`
	PK   string `json:"pk"`
	Type string `json:"type"`
	Doc  T      `json:"doc"`
	ETag string `json:"_etag,omitempty"`
}

// Read is a point read. Errors: ErrNotFound, ErrUnavailable.
func Read[T any](ctx context.Context, s *Store, k Key) (Item[T], error) {
	s.counts.reads.Add(1)
	response, err := s.container.ReadItem(ctx, partition(k.PK), k.ID, nil)
	if err != nil {
		return Item[T]{}, fmt.Errorf("reading %s: %w", k, classify(err))
	}
	return decode[T](response.Value, string(response.ETag))
}

func decode[T any](body []byte, etag string) (Item[T], error) {
	var stored Item[json.RawMessage]
	if err := json.Unmarshal(body, &stored); err != nil {
		return Item[T]{}, fmt.Errorf("store: an item cannot be read: %w", err)
	}
	item := Item[T]{ID: stored.ID, PK: stored.PK, Type: stored.Type, ETag: cmp.Or(etag, stored.ETag)}
	if stored.Doc == nil {
		return item, nil
	}
	strict := json.NewDecoder(bytes.NewReader(stored.Doc))
	strict.DisallowUnknownFields()
	unknown := strict.Decode(&item.Doc)
	if unknown == nil {
		return item, nil
	}
	item.Doc = *new(T)
	if err := json.Unmarshal(stored.Doc, &item.Doc); err != nil {
		return item, fmt.Errorf("store: an item cannot be read: %w", err)
	}
	if item.ETag != "" { // without one, nothing is replaced
		item.ETag = later + strings.TrimPrefix(unknown.Error(), "json: ") + later + item.ETag
	}
	return item, nil
}

// later stands in the ETag of an item that has fields unknown here, around what is said
// of the first of them. An ETag of the service has no such character.
const later = "\x00"

// service takes an ETag to what the service knows it by.
func service(etag string) azcore.ETag {
	return azcore.ETag(etag[strings.LastIndex(etag, later)+1:])
}

func partition(pk string) azcosmos.PartitionKey { return azcosmos.NewPartitionKeyString(pk) }

// classify turns the SDK's errors into this package's. Any other status of the service
// stays as it is.
func classify(err error) error {
	if err == nil {
		return nil
	}
	var response *azcore.ResponseError
	if !errors.As(err, &response) {
		if errors.Is(err, context.Canceled) {
			return err
		}
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if response.StatusCode == http.StatusForbidden && subStatus(response.RawResponse) == partitionFull {
		return fmt.Errorf("%w (HTTP %d, substatus %d)", ErrFull, response.StatusCode, partitionFull)
	}
	if kind := status(response.StatusCode); kind != nil {
		return fmt.Errorf("%w (HTTP %d)", kind, response.StatusCode)
	}
	if response.StatusCode == http.StatusBadRequest {
		return fmt.Errorf("%w (HTTP %d): %s", ErrRefused, response.StatusCode, explanation(response.RawResponse))
	}
	return err
}

// partitionFull is the service's substatus of a 403 for a logical partition without room.
const partitionFull = 1014

// explanation is what the service says of a refusal.
func explanation(r *http.Response) string {
	var answer struct {
		Message string `json:"message"`
	}
	if r != nil {
		if body, err := runtime.Payload(r); err == nil {
			_ = json.Unmarshal(body, &answer) // an answer that is not JSON explains nothing
		}
	}
	return cmp.Or(answer.Message, "it gives no reason")
}

func subStatus(r *http.Response) int {
	if r == nil {
		return 0
	}
	n, _ := strconv.Atoi(r.Header.Get("x-ms-substatus"))
	return n
}

func status(code int) error {
	switch code {
	case http.StatusNotFound:
		return ErrNotFound
	case http.StatusConflict:
		return ErrExists
	case http.StatusPreconditionFailed, 449:
		return ErrChanged
	case http.StatusRequestEntityTooLarge:
		return ErrTooLarge
	case http.StatusUnauthorized, http.StatusForbidden: // a firewall, or a role that is not yet assigned: it passes
		return ErrUnavailable
	case http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusGone,
		http.StatusServiceUnavailable, http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout:
		return ErrUnavailable
	}
	return nil
}

// statusError is the error of one operation of a batch. Access is denied to a batch as a
// whole, so that a 403 of one operation is that of a full partition.
func statusError(code int32) error {
	switch code {
	case http.StatusForbidden:
		return fmt.Errorf("%w (HTTP %d)", ErrFull, code)
	case http.StatusBadRequest:
		return fmt.Errorf("%w (HTTP %d)", ErrRefused, code)
	}
	if kind := status(int(code)); kind != nil {
		return fmt.Errorf("%w (HTTP %d)", kind, code)
	}
	return errors.New("store: refused with HTTP " + strconv.Itoa(int(code)))
}
