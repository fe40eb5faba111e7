// Package idempotency finds the record of a request that its caller named by a key
// (Idempotency-Key), so that the same request, sent again, does nothing twice.
//
// It does not write the records: they belong into the write that they are about.
package idempotency

import (
	"github.com/matoolkit/matoolkit/internal/sealing"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Records finds idempotency records. It is safe for concurrent use.
type Records struct {
	store  store.Store
	sealer *sealing.Sealer
}

// Config is what a Records is made of.
type Config struct {
	Store  store.Store
	Sealer *sealing.Sealer
}

// New makes a Records.
func New(c Config) *Records {
	return &Records{
		store: c.Store, sealer: c.Sealer,
	}
}
