package signin

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/MicahParks/jwkset"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"

	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/panics"
)

const (
	// refreshAfter is the age at which keys are fetched anew, beside the
	// requests that use the old ones meanwhile.
	refreshAfter = 12 * time.Hour
	// unusableAfter is the age at which keys are no longer trusted: a key that
	// was withdrawn must stop working even if the provider cannot be reached.
	unusableAfter = 48 * time.Hour
	// unknownKeyEvery is how often a token with an unknown key may cause a
	// fetch: anyone can send such tokens.
	unknownKeyEvery = time.Minute
	// failureEvery is how often a fetch is tried while fetching fails.
	failureEvery = 5 * time.Second

	fetchTimeout     = 10 * time.Second
	maxDocumentBytes = 1 << 20
)

// keyStore is one tenant's signing keys and issuers, fetched when first needed.
// It is the storage behind keyfunc; of the storage interface only reading one
// key is changed.
type keyStore struct {
	jwkset.Storage // in memory
	ctx            context.Context
	config         Config
	tenantID       string
	fetches        singleflight.Group

	mu       sync.Mutex
	accepted []string // issuers
	fetched  time.Time
	tried    time.Time
	failed   error // of the last try
}

func newKeyStore(ctx context.Context, config Config, tenantID string) *keyStore {
	return &keyStore{Storage: jwkset.NewMemoryStorage(), ctx: ctx, config: config, tenantID: tenantID}
}

// issuers are those of the tenant's tokens, versions 2 and 1.
func (k *keyStore) issuers() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.accepted
}

// KeyRead returns the key with this ID. It fetches the keys when there are none
// that may be used, or when the ID is unknown and the last fetch was a while
// ago.
func (k *keyStore) KeyRead(ctx context.Context, id string) (jwkset.JWK, error) {
	age := k.age()
	if age >= unusableAfter {
		if err := k.fetch(ctx, failureEvery); err != nil {
			return jwkset.JWK{}, err
		}
	} else if age >= refreshAfter {
		go func() {
			if err := panics.Catch(k.ctx, func() error { return k.fetch(k.ctx, unknownKeyEvery) }); err != nil {
				slog.WarnContext(k.ctx, "failed to refresh the signing keys; keeping the old ones", logkey.TenantID, k.tenantID, logkey.Error, err)
			}
		}()
	}
	key, err := k.Storage.KeyRead(ctx, id)
	if !errors.Is(err, jwkset.ErrKeyNotFound) {
		return key, err
	}
	if err := k.fetch(ctx, unknownKeyEvery); err != nil {
		return jwkset.JWK{}, err
	}
	return k.Storage.KeyRead(ctx, id)
}

// age is the time since the keys were fetched, or more than any limit when
// they never were.
func (k *keyStore) age() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fetched.IsZero() {
		return unusableAfter
	}
	return k.config.Now().Sub(k.fetched)
}

// fetch renews the keys unless that was tried less than every ago; then it
// repeats the answer of that try. Callers that come together share one fetch,
// which goes on when one of them gives up.
func (k *keyStore) fetch(ctx context.Context, every time.Duration) error {
	result := k.fetches.DoChan("", func() (any, error) {
		k.mu.Lock()
		now := k.config.Now()
		if k.failed != nil {
			every = failureEvery
		}
		recent, failed := !k.tried.IsZero() && now.Sub(k.tried) < every, k.failed
		if !recent {
			k.tried = now
		}
		k.mu.Unlock()
		if recent {
			return nil, failed
		}
		return nil, k.renew(now)
	})
	select {
	case r := <-result:
		if r.Err != nil {
			return &Error{Kind: ErrUnavailable, Reason: "tokens cannot be verified at the moment", cause: r.Err}
		}
		return nil
	case <-ctx.Done():
		return &Error{Kind: ErrUnavailable, Reason: "tokens cannot be verified at the moment", cause: ctx.Err()}
	}
}

func (k *keyStore) renew(now time.Time) error {
	ctx, cancel := context.WithTimeout(k.ctx, fetchTimeout)
	defer cancel()
	keys, issuers, err := k.load(ctx)
	if err == nil {
		err = k.Storage.KeyReplaceAll(ctx, keys)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.failed = err
	if err == nil {
		k.accepted, k.fetched = issuers, now
	}
	return err
}

// load reads both OpenID configurations of the tenant, for their issuers, and
// the keys that the one of version 2 points to. Version 1 tokens are signed
// with the same keys. The issuers' hosts are the provider's to say: that of
// version 1 is https://sts.windows.net in the public cloud.
func (k *keyStore) load(ctx context.Context) ([]jwkset.JWK, []string, error) {
	base := k.config.Instance + "/" + k.tenantID
	var v1, v2 struct {
		Issuer  string `json:"issuer"`
		JWKSURI string `json:"jwks_uri"`
	}
	var set struct {
		Keys []struct {
			jwkset.JWKMarshal
			Issuer string `json:"issuer"`
		} `json:"keys"`
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return panics.Catch(groupCtx, func() error { return k.get(groupCtx, base+"/.well-known/openid-configuration", &v1) })
	})
	group.Go(func() error {
		return panics.Catch(groupCtx, func() error {
			if err := k.get(groupCtx, base+"/v2.0/.well-known/openid-configuration", &v2); err != nil {
				return err
			}
			return k.get(groupCtx, v2.JWKSURI, &set)
		})
	})
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	if err := errors.Join(k.ours(v1.Issuer, "/"), k.ours(v2.Issuer, "/v2.0")); err != nil {
		return nil, nil, err
	}
	var keys []jwkset.JWK
	for _, entry := range set.Keys {
		// The key set can hold keys for other issuers, such as the one of
		// personal accounts. Such a key must not sign for this tenant.
		if issuer := strings.ReplaceAll(entry.Issuer, "{tenantid}", k.tenantID); issuer != "" && issuer != v2.Issuer {
			continue
		}
		key, err := jwkset.NewJWKFromMarshal(entry.JWKMarshal, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{})
		if err != nil {
			slog.WarnContext(ctx, "ignoring an invalid signing key", logkey.KeyID, entry.KID, logkey.Error, err)
			continue
		}
		if _, ok := key.Key().(*rsa.PublicKey); ok {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, nil, fmt.Errorf("%s has no RSA key for issuer %s", v2.JWKSURI, v2.Issuer)
	}
	return keys, []string{v2.Issuer, v1.Issuer}, nil
}

// ours refuses an issuer of another tenant on any host.
func (k *keyStore) ours(issuer, suffix string) error {
	if u, err := url.Parse(issuer); err != nil || u.Scheme != "https" || !strings.EqualFold(u.Path, "/"+k.tenantID+suffix) {
		return fmt.Errorf("issuer %q does not belong to tenant %s", issuer, k.tenantID)
	}
	return nil
}

func (k *keyStore) get(ctx context.Context, address string, into any) error {
	if !strings.HasPrefix(address, "https://") {
		return fmt.Errorf("refuse to fetch %q: not https", address)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	response, err := k.config.HTTPClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", address, response.Status)
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxDocumentBytes)).Decode(into); err != nil {
		return fmt.Errorf("GET %s: %w", address, err)
	}
	return nil
}
