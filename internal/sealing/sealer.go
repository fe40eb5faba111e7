// Package sealing encrypts the secrets of members, results and unprocessable messages, fills
// them into jobs, and removes them from views and logs.
//
// The value of a secret exists in plain text in three places only: in an input (a file, a row of
// a data source, a result) until it is written, in a job on its way to the worker, and in the
// worker.
package sealing

import (
	"context"
	"fmt"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbookstore"
	"github.com/matoolkit/matoolkit/internal/secret"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Sealer encrypts and decrypts secrets. It is safe for concurrent use. Its methods return
// secret.ErrUnavailable while the key vault does not answer, and secret.ErrLost for a secret
// whose key is deleted.
type Sealer struct {
	store    store.Store
	runbooks *runbookstore.Reader
	secrets  *secret.Box
	keyed    bool // a key for secrets is configured
}

// Config has the dependencies of a Sealer.
type Config struct {
	Store    store.Store
	Runbooks *runbookstore.Reader
	Secrets  *secret.Box // nil: no key is configured, and runbooks with secrets are refused
}

// New returns a Sealer with the dependencies of c.
func New(c Config) *Sealer {
	keyed := c.Secrets != nil
	if !keyed {
		c.Secrets = secret.New(noKey{})
	}
	return &Sealer{store: c.Store, runbooks: c.Runbooks, secrets: c.Secrets, keyed: keyed}
}

// noKey is the key store of a deployment without a key.
type noKey struct{}

var errNoKey = fmt.Errorf("%w: no key is configured: set KEY_VAULT_URL and SECRETS_KEY_NAME", secret.ErrUnavailable)

func (noKey) Current(context.Context) (secret.Key, error) { return secret.Key{}, errNoKey }

func (noKey) Version(context.Context, string) (secret.Key, error) { return secret.Key{}, errNoKey }

// CheckKey checks that there is a key to encrypt the secrets of a runbook with. Errors:
// CodeConflict if none is configured, secret.ErrUnavailable.
func (s *Sealer) CheckKey(ctx context.Context, names []string) error {
	if !s.keyed {
		return problem.New(api.CodeConflict, "the runbook has secrets (%s), and this deployment has no key to encrypt them with: create one in Key Vault and set KEY_VAULT_URL and SECRETS_KEY_NAME (docs/deploy.md)", strings.Join(names, ", "))
	}
	return s.secrets.Check(ctx)
}

// DigestKey returns the key for digests of data with secrets. Without the key, a short secret
// could be guessed from its digest.
func (s *Sealer) DigestKey(ctx context.Context) ([]byte, error) { return s.secrets.DigestKey(ctx) }

// ContentDigest returns the digest to store of a request with a member CSV: the digest itself,
// or a digest of it with a key if the runbook has secrets.
func (s *Sealer) ContentDigest(ctx context.Context, rb *runbook.Runbook, digest string) (string, error) {
	if len(rb.Secret) == 0 {
		return digest, nil
	}
	return s.secrets.Digest(ctx, []byte(digest))
}

// SameContent reports whether ContentDigest made content from digest.
func (s *Sealer) SameContent(ctx context.Context, content, digest string) (bool, error) {
	if content == digest || !strings.Contains(content, ".") {
		return content == digest, nil
	}
	return s.secrets.SameDigest(ctx, content, []byte(digest))
}
