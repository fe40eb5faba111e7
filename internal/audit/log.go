// Package audit knows who does something, and records who did what, when and why. Records of
// changes are written together with the change; reads of personal data are recorded before the
// answer, once for a while.
//
// It knows nothing of HTTP and of tokens: an edge makes the Caller.
package audit

import (
	"time"

	"github.com/matoolkit/matoolkit/internal/store"
)

// Log writes audit records. It is safe for concurrent use.
type Log struct {
	store store.Store
	now   func() time.Time
	newID func() string
	reads readCache
}

// Config is what a Log is made of.
type Config struct {
	Store store.Store
	Now   func() time.Time
	NewID func() string // 16 lower-case letters and digits, never the same twice
}

// New makes a Log.
func New(c Config) *Log {
	return &Log{
		store: c.Store, now: c.Now, newID: c.NewID,
		reads: newReadCache(),
	}
}
