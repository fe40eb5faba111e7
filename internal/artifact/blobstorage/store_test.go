package blobstorage_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/matoolkit/matoolkit/internal/artifact"
	"github.com/matoolkit/matoolkit/internal/artifact/artifacttest"
	"github.com/matoolkit/matoolkit/internal/artifact/blobstorage"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/blob"
	"github.com/matoolkit/matoolkit/local/entra"
)

type identity struct{ directory *entra.Server }

func (i identity) GetToken(_ context.Context, options policy.TokenRequestOptions) (azcore.AccessToken, error) {
	token, err := i.directory.IssueAppToken(entra.DefaultWorkerClientID, options.Scopes[0])
	return azcore.AccessToken{Token: token, ExpiresOn: time.Now().Add(time.Hour)}, err
}

func directory(t *testing.T) *entra.Server {
	t.Helper()
	c := entra.DefaultConfig()
	c.Addr = "127.0.0.1:0"
	return testenv.Started(entra.Start(t.Context(), c))(t)
}

func open(t *testing.T, d *entra.Server, config blob.Config) (*blobstorage.Store, *blob.Server) {
	t.Helper()
	config.Certificate = testenv.Must(d.ServerCertificate())(t)
	config.Authority, config.TenantID, config.VerifyToken = d.URL(), entra.DefaultTenantID, d.VerifyToken
	account := testenv.Started(blob.Start(t.Context(), config))(t)
	if err := account.EnsureContainer("artifacts"); err != nil {
		t.Fatal(err)
	}
	return store(t, d, account, "artifacts"), account
}

func store(t *testing.T, d *entra.Server, account *blob.Server, container string) *blobstorage.Store {
	t.Helper()
	client := d.HTTPClient()
	client.Transport.(*http.Transport).TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{} // Blob Storage speaks HTTP/1.1
	return testenv.Must(blobstorage.New(blobstorage.Config{
		Endpoint: account.URL(), Container: container, Credential: identity{d}, HTTP: client,
		Retry: policy.RetryOptions{MaxRetries: 2, RetryDelay: time.Millisecond, MaxRetryDelay: time.Millisecond},
	}))(t)
}

func TestContract(t *testing.T) {
	t.Parallel()
	d := directory(t)
	artifacttest.Run(t, func(t *testing.T) artifact.Store {
		s, _ := open(t, d, blob.Config{PageSize: 5})
		return s
	})
}

var (
	key    = artifact.NewKey("owner", "bundle")
	bundle = artifact.Artifact{Properties: artifact.Properties{Key: key, Fingerprint: "f1", Generation: 1, ContentType: "text/plain"}, Content: []byte("one")}
)

// An answer that is lost after the write is no conflict of the writer with itself.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	d := directory(t)
	s, account := open(t, d, blob.Config{})
	account.Fail(blob.Fault{Method: "PUT", Count: 1, Lost: true})
	if _, err := s.Put(t.Context(), bundle); err != nil {
		t.Error(err)
	}
	account.Fail(blob.Fault{Method: "DELETE", Count: 1, Lost: true})
	if err := s.Delete(t.Context(), key, 1); err != nil {
		t.Error(err)
	}
	if _, err := s.Get(t.Context(), key); !errors.Is(err, artifact.ErrNotFound) {
		t.Error(err)
	}
}

// A newer writer between the reading and the write of an older one wins.
func TestNewerWriterBetween(t *testing.T) {
	t.Parallel()
	d := directory(t)
	s, account := open(t, d, blob.Config{})
	newer := bundle
	newer.Fingerprint, newer.Generation = "f2", 2
	for _, before := range []bool{false, true} {
		if before {
			if _, err := s.Put(t.Context(), bundle); err != nil {
				t.Fatal(err)
			}
			newer.Fingerprint, newer.Generation = "f4", 4
		}
		older := bundle
		older.Fingerprint, older.Generation = "older", newer.Generation-1
		account.Fail(blob.Fault{Method: "PUT", Count: 1, Status: 503, Code: "ServerBusy", Then: func() {
			account.Heal()
			if _, err := s.Put(t.Context(), newer); err != nil {
				t.Error(err)
			}
		}})
		var conflict *artifact.ConflictError
		if _, err := s.Put(t.Context(), older); !errors.As(err, &conflict) || conflict.Stored.Generation != newer.Generation {
			t.Errorf("the older writer: %v", err)
		}
		if got, err := s.Stat(t.Context(), key); err != nil || got.Fingerprint != newer.Fingerprint {
			t.Errorf("stored: %+v, %v", got, err)
		}
		if err := s.Delete(t.Context(), key, 10); err != nil {
			t.Fatal(err)
		}
	}
}

// A writer that comes while an artifact is read does not fail the reader, who gets the newer artifact, or an error that a
// repetition can end.
func TestWriterDuringTheReading(t *testing.T) {
	t.Parallel()
	d := directory(t)
	s, account := open(t, d, blob.Config{})
	one := bundle
	for _, always := range []bool{false, true} {
		one.Generation += 10
		one.Fingerprint = fmt.Sprint("f", one.Generation)
		one.Content = bytes.Repeat([]byte{byte(one.Generation)}, 100_000)
		if _, err := s.Put(t.Context(), one); err != nil {
			t.Fatal(err)
		}
		fault := blob.Fault{Method: "GET", Cut: true, Then: func() {
			one.Generation++
			one.Fingerprint = fmt.Sprint("f", one.Generation)
			one.Content = bytes.Repeat([]byte{byte(one.Generation)}, 100_000)
			if _, err := s.Put(t.Context(), one); err != nil {
				t.Error(err)
			}
		}}
		if !always {
			fault.Count = 1
		}
		account.Fail(fault)
		got, err := s.Get(t.Context(), key)
		account.Heal()
		switch {
		case always && (!errors.Is(err, artifact.ErrUnavailable) || errors.Is(err, artifact.ErrRefused)):
			t.Errorf("with a writer during each reading: %v", err)
		case !always && (err != nil || got.Generation != one.Generation || !bytes.Equal(got.Content, one.Content)):
			t.Errorf("with a writer during the first reading: generation %d, %d bytes, %v", got.Generation, len(got.Content), err)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	d := directory(t)
	for about, c := range map[string]struct {
		fault     blob.Fault
		container string
		allowed   bool
		want      error
	}{
		"outage":       {blob.Fault{Status: 503, Code: "ServerBusy"}, "artifacts", true, artifact.ErrUnavailable},
		"throttling":   {blob.Fault{Status: 429, Code: "TooManyRequests"}, "artifacts", true, artifact.ErrUnavailable},
		"no answer":    {blob.Fault{Lost: true, Method: "HEAD"}, "artifacts", true, artifact.ErrUnavailable},
		"no container": {blob.Fault{Method: "NONE"}, "other", true, artifact.ErrRefused},
		"no role":      {blob.Fault{Method: "NONE"}, "artifacts", false, artifact.ErrRefused},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			_, account := open(t, d, blob.Config{Allowed: func(string, string) bool { return c.allowed }})
			s := store(t, d, account, c.container)
			account.Fail(c.fault)
			_, putErr := s.Put(t.Context(), bundle)
			_, statErr := s.Stat(t.Context(), key)
			for _, err := range []error{putErr, statErr, s.Delete(t.Context(), key, 1)} {
				if !errors.Is(err, c.want) || errors.Is(err, artifact.ErrNotFound) {
					t.Errorf("got %v, want %v", err, c.want)
				}
			}
		})
	}
	for _, endpoint := range []string{"", "http://name.blob.core.windows.net", "https://name.blob.core.windows.net?sig=x", "name"} {
		if _, err := blobstorage.New(blobstorage.Config{Endpoint: endpoint, Container: "artifacts", Credential: identity{d}}); err == nil {
			t.Errorf("the endpoint %q was accepted", endpoint)
		}
	}
}
