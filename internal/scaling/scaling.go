// Package scaling runs the ticks of the container scaler: it reads the container groups and the messages,
// has package scaler make the plan, and carries it out. It stores the result of each tick for the status,
// and the attempts at messages, to count the containers that ended before they received theirs.
//
// A tick may come late, twice or together with another, and may die at any moment: the groups that exist
// are the state, and their names follow from the messages, so that no message gets two. The stored record
// informs, and keeps two ticks from running at once, which could together exceed the limit. Without the
// store a tick creates and deletes as always.
package scaling

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/matoolkit/matoolkit/internal/scaler"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Azure reads and changes container groups, and reads messages. *aci.Client is one.
type Azure interface {
	Settings() *scaler.Settings
	// Groups returns the groups of the scaler, with their states.
	Groups(ctx context.Context) (scaler.Inventory, error)
	// Waiting returns the subscriptions with their messages, and settles none.
	Waiting(ctx context.Context) (scaler.Waiting, error)
	// Create creates a group unless one of its name exists, and reports whether it did. It does not wait
	// for the container. An error is scaler.ErrRefused, ErrNoCapacity or ErrExhausted if there is no group: after
	// another one there may be.
	Create(ctx context.Context, g scaler.Group) (bool, error)
	// Delete deletes a group that has ended, and reports whether it did. It succeeds if there is none, or if it runs.
	Delete(ctx context.Context, name string) (bool, error)
}

// Config configures a Scaler.
type Config struct {
	Azure Azure // nil: the scaler is off
	Store store.Documents
	Now   func() time.Time
	NewID func() string // never the same twice
	Log   *slog.Logger
}

// Scaler has the use cases of the container scaler. It is safe for concurrent use.
type Scaler struct {
	settings *scaler.Settings // nil: off
	azure    Azure
	store    store.Documents
	now      func() time.Time
	newID    func() string
	log      *slog.Logger
	off      sync.Once // logs that the scaler is off
}

// New returns a Scaler.
func New(c Config) *Scaler {
	s := &Scaler{azure: c.Azure, store: c.Store, now: c.Now, newID: c.NewID, log: c.Log}
	if c.Azure != nil {
		s.settings = c.Azure.Settings()
	}
	return s
}

// updates is how often a change of the record is tried when other ticks change it too.
const updates = 3

// update changes the record. If change returns false, it writes nothing.
func (s *Scaler) update(ctx context.Context, change func(*scaler.Record) bool) error {
	for try := 1; ; try++ {
		item, err := store.OrNone(store.Read[scaler.Record](ctx, s.store, store.ScalerKey()))
		if err != nil || !change(&item.Doc) {
			return err
		}
		write := store.Create(store.ScalerKey(), item.Doc)
		if item.ETag != "" {
			write = store.Replace(store.ScalerKey(), item.Doc, item.Version)
		}
		if _, err = s.store.Apply(ctx, store.Writes{write}); try == updates || !errors.Is(err, store.ErrChanged) && !errors.Is(err, store.ErrExists) {
			return err
		}
	}
}
