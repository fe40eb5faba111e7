package app

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store"
)

// What an operator may have to be woken for is told in the log, by lines whose attribute
// Event has one of these values. The alerts in infra/automation/alerts find them by it;
// docs/telemetry.md tells of each line what else it has, and when it can come twice.
const (
	EventTick               = "tick"                // a tick has ended: without these nothing is made up for
	EventOldestMessage      = "oldest-message"      // how long messages wait for this app
	EventBatchFailed        = "batch-failed"        // a batch has ended failed
	EventPhaseStopped       = "phase-stopped"       // a phase's stop_when has paused its batch
	EventStuckSteps         = "stuck-steps"         // what did not come about by itself
	EventMessageUnprocessed = "message-unprocessed" // a message is kept for an administrator
	EventRemovalsHeld       = "removals-held"       // people wait for an administrator's word to leave
	EventAdditionsHeld      = "additions-held"      // people wait for an administrator's confirmation to be added
	EventRunbookNotSynced   = "runbook-not-synced"  // a runbook's batches do not follow its data source
	EventWorkerGone         = "worker-gone"         // jobs wait for a worker that is gone
	EventCredentialExpiring = "credential-expiring" // a worker's credential expires soon, or has expired
)

// Events are all of them.
var Events = []string{
	EventTick, EventOldestMessage, EventBatchFailed, EventPhaseStopped, EventStuckSteps, EventMessageUnprocessed, EventRemovalsHeld, EventAdditionsHeld, EventRunbookNotSynced,
	EventWorkerGone, EventCredentialExpiring,
}

// lookTime is how long a tick may take to look at the subscriptions.
const lookTime = 5 * time.Second

// tellOldest tells of each subscription of this app for how long its oldest message has
// waited. That it cannot be told is no reason for a tick to fail, nor to wait.
func (a *App) tellOldest(ctx context.Context) {
	if a.waiting == nil {
		return
	}
	looking, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	topics := []string{message.TopicOrchestratorEvents, message.TopicWorkerResults}
	ages, failures := make([]time.Duration, len(topics)), make([]error, len(topics))
	var all sync.WaitGroup
	for i, topic := range topics {
		all.Go(func() {
			at, found, err := a.waiting.Oldest(looking, topic, message.SubscriptionOrchestrator)
			if failures[i] = err; found {
				ages[i] = max(0, a.now().Sub(at))
			}
		})
	}
	all.Wait()
	for i, topic := range topics {
		log := a.log.With(logkey.Topic, topic, logkey.Subscription, message.SubscriptionOrchestrator)
		if err := failures[i]; err != nil {
			log.WarnContext(ctx, "it cannot be told how long messages wait", logkey.Error, err)
			continue
		}
		log.InfoContext(ctx, "the oldest message", logkey.Event, EventOldestMessage, logkey.AgeSeconds, seconds(ages[i]))
	}
}

// tellFailed tells that a batch has failed, unless its line in the list tells so already.
// That line is written afterwards: whoever is killed in between leaves it to whoever does
// the same again, or to the next tick, so that it is told twice rather than never.
func (a *App) tellFailed(ctx context.Context, b *engine.Batch) error {
	listed, err := orNone(store.Read[store.BatchSummary](ctx, a.store, store.EntryKey(b.ID)))
	if err != nil || listed.Doc.Status == engine.BatchFailed {
		return err
	}
	a.log.WarnContext(ctx, "a batch has failed", logkey.Event, EventBatchFailed, logkey.BatchID, b.ID, logkey.Runbook, b.Runbook, logkey.RunbookVersion, b.Version, logkey.Reason, b.Error)
	return nil
}

// stuck is what a look at a batch finds that did not come about by itself.
type stuck struct {
	now     time.Time
	count   int
	late    time.Duration // of what is late longest
	waiting map[string][]time.Time
	silent  []string // workers that answer nothing
}

// silentAfter is for how long a worker may answer nothing while jobs wait for it.
const silentAfter = TickInterval

// since counts something that should have come about at a time.
func (s *stuck) since(at time.Time) {
	s.count++
	s.late = max(s.late, s.now.Sub(at))
}

// phase counts a phase that could have begun at the tick before, as the batch stands.
func (s *stuck) phase(b *engine.Batch) {
	for _, e := range engine.NextDue(b, s.now.Add(-TickInterval-grace)) {
		if e, ok := e.(engine.Announce); ok {
			if p, ok := b.Phase(e.Phase); ok && p.DueAt != nil {
				s.since(*p.DueAt)
			}
		}
	}
}

// run counts a run whose poll, retry or deadline has passed without its message. One
// that waits for a job is remembered, for it depends on the worker: see workers.
func (s *stuck) run(run *engine.Run) {
	switch {
	case run.Status.Terminal():
	case run.DeadlineAt == nil:
		if run.WakeAt != nil && s.now.Sub(*run.WakeAt) > grace {
			s.since(*run.WakeAt)
		}
	case s.now.Sub(*run.DeadlineAt) > grace:
		s.since(*run.DeadlineAt)
	default:
		if step := run.Steps[run.Current]; step.DispatchedAt != nil && s.now.Sub(*step.DispatchedAt) >= silentAfter {
			if s.waiting == nil {
				s.waiting = map[string][]time.Time{}
			}
			s.waiting[step.WorkerID] = append(s.waiting[step.WorkerID], *step.DispatchedAt)
		}
	}
}

// workers counts the jobs whose worker has answered nothing for silentAfter. The sweep
// has only those that are near their deadline, so that this costs nothing as long as
// jobs are answered in good time, and one read for each worker where they are not. What
// cannot be read is left to the next tick: nothing else waits for it.
func (s *stuck) workers(ctx context.Context, a *App) {
	for _, id := range slices.Sorted(maps.Keys(s.waiting)) {
		worker, err := a.workerRecord(ctx, id)
		if err != nil {
			a.log.WarnContext(ctx, "failed to read the record of a worker", logkey.WorkerID, id, logkey.Error, err)
			continue
		}
		silent := false
		for _, sent := range s.waiting[id] {
			from := later(sent, worker.lastSeen())
			if s.now.Sub(from) >= silentAfter && worker.state(sent, s.now, a.startup) != api.WorkerScaledToZero {
				s.since(from)
				silent = true
			}
		}
		if silent {
			s.silent = append(s.silent, id)
		}
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// tell tells what was found, if anything. Of a batch with much that is late each page
// of it has its line.
func (s *stuck) tell(ctx context.Context, a *App, b *engine.Batch, page int) {
	if s.count == 0 {
		return
	}
	a.log.WarnContext(ctx, "steps are stuck", logkey.Event, EventStuckSteps, logkey.BatchID, b.ID, logkey.Runbook, b.Runbook,
		logkey.Count, s.count, logkey.OldestSeconds, seconds(s.late), logkey.SilentWorkers, s.silent, logkey.Page, page)
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }
