// Package runbookstore reads published runbooks, and keeps the parsed versions in memory: a
// version never changes.
//
// It does not publish them: see package runbooks.
package runbookstore

import (
	"github.com/matoolkit/matoolkit/internal/store"
)

// Reader reads published runbooks. It is safe for concurrent use.
type Reader struct {
	store    store.Store
	runbooks runbookCache
}

// Config is what a Reader is made of.
type Config struct {
	Store store.Store
}

// New makes a Reader.
func New(c Config) *Reader {
	return &Reader{
		store:    c.Store,
		runbooks: newRunbookCache(),
	}
}
