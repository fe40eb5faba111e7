// Package orchestrator processes the messages of the topics orchestrator-events and
// worker-results, and sweeps the batches in each tick.
//
// A handler turns its message into events of package engine. Package applier has the engine
// decide on them, stores the decisions and sends their messages. Handling a message a second
// time is harmless.
//
// Each message type leads to one handler:
//
//	batch-init        onBatchInit       starts the init steps of a batch
//	phase-due         onPhaseDue        dispatches one page of a phase
//	member-added      onMemberAdded     starts the earlier phases of a page of late members
//	member-removed    onMemberRemoved   starts the removal steps of a member
//	worker-result     onResult          continues, retries or ends the step of the job
//	worker-results    handleResults     tries the results of a group together, and each that fails alone
//	poll-check        onPollCheck       polls a step
//	retry-check       onRetryCheck      dispatches a step again
//	deadline-check    onDeadlineCheck   fails a step without a result, or puts its deadline off
//	batch-work        onBatchWork       works through a batch one page at a time
//	worker-catalog    workers.Registry.OnCatalog
//	worker-heartbeat  workers.Registry.OnHeartbeat
//
// A result, for example, goes from HandleResult over onResult and applier.Run to engine.Decide,
// which has package runstate decide whether the step is retried. Then applier.Run writes the run
// to the store and sends the retry-check, or the next job, to the bus. The results of a group first
// go through applier.TryEach, which does so for all together.
//
// The sweep sends messages again that were lost, and schedules the messages of the next
// interval.
package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/deadletter"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbookstore"
	"github.com/matoolkit/matoolkit/internal/sealing"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/workers"
)

// Orchestrator processes messages and sweeps batches. It is safe for concurrent use.
type Orchestrator struct {
	store        store.Store
	bus          bus.Sender
	now          func() time.Time
	log          *slog.Logger
	watcher      bus.Watcher
	applier      *applier.Applier
	runbooks     *runbookstore.Reader
	sealer       *sealing.Sealer
	workers      *workers.Registry
	deadLetters  *deadletter.Messages
	members      *membership.Registrar
	onMailResult func(context.Context, message.Result) error
	suspectLane  chan struct{} // holds one element while a suspect message is processed
}

// Config has the dependencies of an Orchestrator. All fields except Waiting are required.
type Config struct {
	Store       store.Store
	Bus         bus.Sender
	Now         func() time.Time
	Log         *slog.Logger
	Waiting     bus.Watcher // nil: the age of the messages in a subscription is unknown
	Applier     *applier.Applier
	Runbooks    *runbookstore.Reader
	Sealer      *sealing.Sealer
	Workers     *workers.Registry
	DeadLetters *deadletter.Messages
	Members     *membership.Registrar

	// OnMailResult takes the results of jobs that send notifications.
	OnMailResult func(context.Context, message.Result) error
}

// New returns an Orchestrator with the dependencies of c.
func New(c Config) *Orchestrator {
	return &Orchestrator{
		store: c.Store, bus: c.Bus, now: c.Now, log: c.Log, watcher: c.Waiting,
		applier: c.Applier, runbooks: c.Runbooks, sealer: c.Sealer, workers: c.Workers,
		deadLetters: c.DeadLetters, members: c.Members, onMailResult: c.OnMailResult,
		suspectLane: make(chan struct{}, 1),
	}
}

// HandleEvent processes a message of the topic orchestrator-events. An error asks the broker
// to deliver the message again.
func (o *Orchestrator) HandleEvent(ctx context.Context, m message.Delivery) error {
	return o.handle(ctx, delivery{topic: message.TopicOrchestratorEvents, message: m, process: func(ctx context.Context) error {
		switch strings.ToLower(m.Type) {
		case message.TypeBatchInit:
			return decodeThen(ctx, m, o.onBatchInit)
		case message.TypePhaseDue:
			return decodeThen(ctx, m, o.onPhaseDue)
		case message.TypePollCheck:
			return decodeThen(ctx, m, o.onPollCheck)
		case message.TypeRetryCheck:
			return decodeThen(ctx, m, o.onRetryCheck)
		case message.TypeDeadlineCheck:
			return decodeThen(ctx, m, o.onDeadlineCheck)
		case message.TypeMemberAdded:
			return decodeThen(ctx, m, o.onMemberAdded)
		case message.TypeMemberRemoved:
			return decodeThen(ctx, m, o.onMemberRemoved)
		case message.TypeBatchWork:
			return decodeThen(ctx, m, o.onBatchWork)
		case "":
			return message.Reject("the message has no application property %s", message.PropertyMessageType)
		}
		return message.Reject("no handler for messages of type %q", m.Type)
	}})
}

// HandleResult processes a message of the topic worker-results: one or several results, a
// catalogue or a heartbeat. An error asks the broker to deliver the message again.
func (o *Orchestrator) HandleResult(ctx context.Context, m message.Delivery) error {
	if strings.EqualFold(m.Type, message.TypeWorkerResults) {
		return o.handleResults(ctx, m)
	}
	return o.handle(ctx, delivery{topic: message.TopicWorkerResults, message: m, process: func(ctx context.Context) error {
		switch {
		case strings.EqualFold(m.Type, message.TypeWorkerCatalog):
			return decodeThen(ctx, m, func(ctx context.Context, c message.Catalog) error {
				defer o.runbooks.ExpireSecrets() // the functions can have secret parameters
				return o.workers.OnCatalog(ctx, m, c)
			})
		case strings.EqualFold(m.Type, message.TypeWorkerHeartbeat):
			return decodeThen(ctx, m, func(ctx context.Context, h message.Heartbeat) error { return o.workers.OnHeartbeat(ctx, m, h) })
		}
		return decodeThen(ctx, m, o.onResult)
	}})
}

// decodeThen decodes the body of a message and calls next with it.
func decodeThen[T any](ctx context.Context, m message.Delivery, next func(context.Context, T) error) error {
	var body T
	if err := json.Unmarshal(m.Body, &body); err != nil {
		return message.Reject("the body is not the JSON of a %T: %v", body, err)
	}
	return next(ctx, body)
}

// rejectRefusal turns a refusal of the engine into the rejection of a message.
func rejectRefusal(err error) error {
	var refusal *model.Refusal
	if errors.As(err, &refusal) {
		return message.Reject("%s", refusal.Reason)
	}
	return err
}
