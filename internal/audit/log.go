// Package audit writes audit records: who did what, when and why. The record of a change is in the
// same write as the change. The record of a read of personal data is written before the answer, once
// in each readWindow.
//
// The package does not know HTTP and tokens: the triggers make the Caller.
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

// Config configures a Log.
type Config struct {
	Store store.Store
	Now   func() time.Time
	NewID func() string // 16 lower-case letters and digits, never the same twice
}

// New returns a Log.
func New(c Config) *Log {
	return &Log{
		store: c.Store, now: c.Now, newID: c.NewID,
		reads: newReadCache(),
	}
}
