// Package sealing encrypts the secrets of members, results and kept messages, puts them into
// jobs, and hides them from everything that people see.
//
// Values of secrets exist in plain text in three places only: in what comes in (files, rows,
// results) until it is written, in a job on its way to the worker, and in the worker.
package sealing

import (
	"github.com/matoolkit/matoolkit/internal/runbookstore"
	"github.com/matoolkit/matoolkit/internal/secret"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Sealer encrypts and decrypts secrets. It is safe for concurrent use.
type Sealer struct {
	store    store.Store
	runbooks *runbookstore.Reader
	secrets  *secret.Box
	keyed    bool // there is a key for secrets
}

// Config is what a Sealer is made of.
type Config struct {
	Store    store.Store
	Runbooks *runbookstore.Reader
	Secrets  *secret.Box // nil: there is no key, and runbooks with secrets are refused
}

// New makes a Sealer.
func New(c Config) *Sealer {
	keyed := c.Secrets != nil
	if !keyed {
		c.Secrets = secret.New(noKey{})
	}
	return &Sealer{
		store: c.Store, runbooks: c.Runbooks, secrets: c.Secrets,
		keyed: keyed,
	}
}
