// Package orchestrator handles messages: what falls due, what workers answer, and work over the
// pages of a batch. Its sweep, part of each tick, takes up what was lost.
//
// Each handler turns a message into events; package applier carries out what the engine decides
// on them. Handling a message a second time is harmless.
package orchestrator

import (
	"log/slog"
	"time"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/deadletter"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/runbookstore"
	"github.com/matoolkit/matoolkit/internal/sealing"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/workers"
)

// Orchestrator handles messages. It is safe for concurrent use.
type Orchestrator struct {
	store       store.Store
	bus         bus.Sender
	now         func() time.Time
	log         *slog.Logger
	waiting     bus.Watcher
	applier     *applier.Applier
	runbooks    *runbookstore.Reader
	sealer      *sealing.Sealer
	workers     *workers.Registry
	deadLetters *deadletter.Messages
	members     *membership.Registrar
	lane        chan struct{} // holds one element while a suspect message is processed
}

// Config is what an Orchestrator is made of.
type Config struct {
	Store       store.Store
	Bus         bus.Sender
	Now         func() time.Time
	Log         *slog.Logger
	Waiting     bus.Watcher // nil: nothing asks for how long messages wait
	Applier     *applier.Applier
	Runbooks    *runbookstore.Reader
	Sealer      *sealing.Sealer
	Workers     *workers.Registry
	DeadLetters *deadletter.Messages
	Members     *membership.Registrar
}

// New makes an Orchestrator.
func New(c Config) *Orchestrator {
	return &Orchestrator{
		store: c.Store, bus: c.Bus, now: c.Now, log: c.Log, waiting: c.Waiting, applier: c.Applier, runbooks: c.Runbooks, sealer: c.Sealer, workers: c.Workers, deadLetters: c.DeadLetters, members: c.Members,
		lane: make(chan struct{}, 1),
	}
}
