// Package blobstorage keeps artifacts in Azure Blob Storage, each as a block blob of one container.
package blobstorage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/matoolkit/matoolkit/internal/artifact"
)

// Config says where the artifacts are. All but HTTP and Retry are required.
type Config struct {
	Endpoint   string // of the account, such as https://name.blob.core.windows.net
	Container  string // which exists
	Credential azcore.TokenCredential
	HTTP       *http.Client        // nil: the SDK's
	Retry      policy.RetryOptions // zero: as the SDK does
}

// Store is an artifact.Store. Its identity needs the role Storage Blob Data Contributor on the container.
type Store struct{ container *container.Client }

var _ artifact.Store = (*Store)(nil)

// containerName is the form that Blob Storage documents for names of containers.
var containerName = regexp.MustCompile(`^[a-z0-9](-?[a-z0-9]){2,62}$`)

// Check refuses an endpoint and a container that New does not take.
func Check(endpoint, container string) error {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("invalid endpoint of Blob Storage %q: use one such as https://name.blob.core.windows.net", endpoint)
	}
	if !containerName.MatchString(container) || len(container) > 63 {
		return fmt.Errorf("invalid name of a container of Blob Storage %q: use 3 to 63 lower-case letters, digits and single hyphens", container)
	}
	return nil
}

// New makes a Store. It does not connect.
func New(c Config) (*Store, error) {
	if err := Check(c.Endpoint, c.Container); err != nil {
		return nil, err
	}
	if c.Credential == nil {
		return nil, errors.New("artifacts in Blob Storage: the credential is required")
	}
	options := &container.ClientOptions{ClientOptions: azcore.ClientOptions{Retry: c.Retry}}
	if c.HTTP != nil {
		options.Transport = c.HTTP
	}
	client, err := container.NewClient(strings.TrimSuffix(c.Endpoint, "/")+"/"+c.Container, c.Credential, options)
	if err != nil {
		return nil, err
	}
	return &Store{client}, nil
}

// Names of metadata. Blob Storage compares them without case.
const (
	metaFingerprint = "fingerprint"
	metaGeneration  = "generation"
)

// maxRaces is how often Get, Put and Delete read again after another writer was faster.
const maxRaces = 20

// Put stores an artifact with one request under the condition that the blob has the ETag that was read, or is still missing.
func (s *Store) Put(ctx context.Context, a artifact.Artifact) (artifact.Properties, error) {
	if err := a.Check(); err != nil {
		return artifact.Properties{}, err
	}
	a.Size = int64(len(a.Content))
	b := s.container.NewBlockBlobClient(a.Key.String())
	for range maxRaces {
		old, etag, err := s.stat(ctx, a.Key)
		var stored *artifact.Properties
		when := &blob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)}
		switch {
		case err == nil:
			stored = &old
			when = &blob.ModifiedAccessConditions{IfMatch: &etag}
		case !errors.Is(err, artifact.ErrNotFound):
			return artifact.Properties{}, err
		}
		replaces, err := a.Replaces(stored)
		switch {
		case err != nil:
			return artifact.Properties{}, err
		case !replaces:
			return old, nil
		}
		_, err = b.Upload(ctx, streaming.NopCloser(bytes.NewReader(a.Content)), &blockblob.UploadOptions{
			HTTPHeaders: &blob.HTTPHeaders{BlobContentType: &a.ContentType},
			Metadata: map[string]*string{
				metaFingerprint: &a.Fingerprint, metaGeneration: to.Ptr(strconv.FormatInt(a.Generation, 10)),
			},
			AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: when},
		})
		switch {
		case err == nil:
			return a.Properties, nil
		case !lostRace(err): // which the client's own repetition of a request with a lost answer loses, too
			return artifact.Properties{}, explain(a.Key, err)
		}
	}
	return artifact.Properties{}, contended(a.Key)
}

// Get reads an artifact. After a reading that was interrupted the client goes on under the condition of the ETag: where another
// writer was faster, Get begins again with the newer artifact.
func (s *Store) Get(ctx context.Context, key artifact.Key) (artifact.Artifact, error) {
	for range maxRaces {
		a, err := s.download(ctx, key)
		if !lostRace(err) {
			return a, explain(key, err)
		}
	}
	return artifact.Artifact{}, contended(key)
}

// download reads an artifact, or returns the error of the client.
func (s *Store) download(ctx context.Context, key artifact.Key) (artifact.Artifact, error) {
	answer, err := s.container.NewBlobClient(key.String()).DownloadStream(ctx, nil)
	if err != nil {
		return artifact.Artifact{}, err
	}
	a := artifact.Artifact{}
	if answer.ContentLength != nil && *answer.ContentLength > artifact.MaxSize {
		return a, errors.Join(fmt.Errorf("%w: %s has %d bytes", artifact.ErrInvalid, key, *answer.ContentLength), answer.Body.Close())
	}
	if a.Properties, err = read(key, answer.Metadata, answer.ContentType, answer.ContentLength); err != nil {
		return artifact.Artifact{}, errors.Join(err, answer.Body.Close())
	}
	body := answer.NewRetryReader(ctx, nil)
	a.Content, err = io.ReadAll(body)
	if err = errors.Join(err, body.Close()); err != nil {
		return artifact.Artifact{}, err
	}
	return a, nil
}

// Stat reads the properties of an artifact.
func (s *Store) Stat(ctx context.Context, key artifact.Key) (artifact.Properties, error) {
	p, _, err := s.stat(ctx, key)
	return p, err
}

func (s *Store) stat(ctx context.Context, key artifact.Key) (artifact.Properties, azcore.ETag, error) {
	answer, err := s.container.NewBlobClient(key.String()).GetProperties(ctx, nil)
	if err != nil {
		return artifact.Properties{}, "", explain(key, err)
	}
	if answer.ETag == nil {
		return artifact.Properties{}, "", fmt.Errorf("%w: %s has no ETag", artifact.ErrUnavailable, key)
	}
	p, err := read(key, answer.Metadata, answer.ContentType, answer.ContentLength)
	return p, *answer.ETag, err
}

// List reads the properties of the artifacts below a key.
func (s *Store) List(ctx context.Context, below artifact.Key) iter.Seq2[artifact.Properties, error] {
	return func(yield func(artifact.Properties, error) bool) {
		pager := s.container.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{
			Prefix: to.Ptr(below.Prefix()), Include: container.ListBlobsInclude{Metadata: true},
		})
		for pager.More() {
			page, err := pager.NextPage(ctx)
			if err != nil {
				yield(artifact.Properties{}, explain(below, err))
				return
			}
			for _, item := range page.Segment.BlobItems {
				p, err := listed(item)
				if !yield(p, err) || err != nil {
					return
				}
			}
		}
	}
}

func listed(item *container.BlobItem) (artifact.Properties, error) {
	if item.Name == nil || item.Properties == nil {
		return artifact.Properties{}, fmt.Errorf("%w: a list has an entry without a name", artifact.ErrUnavailable)
	}
	key, err := artifact.ParseKey(*item.Name)
	if err != nil {
		return artifact.Properties{}, err
	}
	return read(key, item.Metadata, item.Properties.ContentType, item.Properties.ContentLength)
}

// Delete removes an artifact.
func (s *Store) Delete(ctx context.Context, key artifact.Key, generation int64) error {
	for range maxRaces {
		stored, etag, err := s.stat(ctx, key)
		switch {
		case errors.Is(err, artifact.ErrNotFound):
			return nil
		case err != nil:
			return err
		case stored.Generation > generation:
			return &artifact.ConflictError{Stored: stored}
		}
		_, err = s.container.NewBlobClient(key.String()).Delete(ctx, &blob.DeleteOptions{
			AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfMatch: &etag}},
		})
		switch {
		case err == nil || bloberror.HasCode(err, bloberror.BlobNotFound):
			return nil
		case !lostRace(err):
			return explain(key, err)
		}
	}
	return contended(key)
}

// read reads the properties of a blob.
func read(key artifact.Key, metadata map[string]*string, contentType *string, size *int64) (artifact.Properties, error) {
	p := artifact.Properties{Key: key}
	var generation string
	for name, value := range metadata {
		switch {
		case value == nil:
		case strings.EqualFold(name, metaFingerprint):
			p.Fingerprint = *value
		case strings.EqualFold(name, metaGeneration):
			generation = *value
		}
	}
	var err error
	if p.Generation, err = strconv.ParseInt(generation, 10, 64); err != nil || p.Fingerprint == "" || contentType == nil || size == nil {
		return p, fmt.Errorf("%w: the blob %s was not written as an artifact: delete it", artifact.ErrInvalid, key)
	}
	p.ContentType, p.Size = *contentType, *size
	return p, nil
}

func lostRace(err error) bool {
	return bloberror.HasCode(err, bloberror.ConditionNotMet, bloberror.BlobAlreadyExists)
}

func contended(key artifact.Key) error {
	return fmt.Errorf("%w: %s was written by others %d times meanwhile", artifact.ErrUnavailable, key, maxRaces)
}

// explain says what kind of error an answer is, and what to do.
func explain(key artifact.Key, err error) error {
	var answer *azcore.ResponseError
	switch {
	case err == nil || errors.Is(err, artifact.ErrInvalid):
		return err
	case bloberror.HasCode(err, bloberror.BlobNotFound):
		return fmt.Errorf("%w: %s", artifact.ErrNotFound, key)
	case errors.Is(err, context.Canceled) || !errors.As(err, &answer):
		return fmt.Errorf("%w: %s: %w", artifact.ErrUnavailable, key, err)
	}
	switch status := answer.StatusCode; {
	case bloberror.HasCode(err, bloberror.ContainerNotFound):
		return fmt.Errorf("%w: the container of the artifacts does not exist: create it", artifact.ErrRefused)
	case status == http.StatusUnauthorized:
		return fmt.Errorf("%w: the account refuses the token of the identity: both must be of one tenant: %w", artifact.ErrRefused, err)
	case status == http.StatusForbidden:
		return fmt.Errorf("%w: the identity needs the role Storage Blob Data Contributor on the container, and the account's firewall must let it in: %w", artifact.ErrRefused, err)
	case status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || status == http.StatusConflict:
		return fmt.Errorf("%w: %s: %w", artifact.ErrUnavailable, key, err)
	}
	return fmt.Errorf("%w: %s: %w", artifact.ErrRefused, key, err)
}
