// Package notification announces what waits for a person: it derives events from the state, and sends
// each once to the targets of the rules that name it.
//
// The scheduler calls it in each tick. A delivery is created in the store before it is sent, under a key
// that follows from the rule and the event, and each attempt is stored before it is made. So ticks that
// run late, twice or concurrently send an event once. A process that dies between the sending and the
// storing of the result sends again, with the same delivery id.
package notification

import (
	"context"
	"log/slog"
	"time"

	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Poster posts notifications to addresses that settings of the handler have.
type Poster interface {
	// CheckTarget returns an error if the setting has no usable address, or the key's setting, if one is
	// named, no usable key.
	CheckTarget(urlSetting, keySetting string) error
	// Post posts a JSON body, signed if keySetting is not empty. Errors do not contain the address.
	Post(ctx context.Context, urlSetting, keySetting, id string, body []byte) error
}

// Notifier has the use cases of notifications. It is safe for concurrent use.
type Notifier struct {
	store  store.Store
	bus    bus.Sender
	now    func() time.Time
	newID  func() string
	log    *slog.Logger
	audit  *audit.Log
	poster Poster
}

// Config configures a Notifier.
type Config struct {
	Store  store.Store
	Bus    bus.Sender
	Now    func() time.Time
	NewID  func() string // 16 lower-case letters and digits, never the same twice
	Log    *slog.Logger
	Audit  *audit.Log
	Poster Poster // nil: rules can name no webhook
}

// New returns a Notifier.
func New(c Config) *Notifier {
	return &Notifier{store: c.Store, bus: c.Bus, now: c.Now, newID: c.NewID, log: c.Log, audit: c.Audit, poster: c.Poster}
}
