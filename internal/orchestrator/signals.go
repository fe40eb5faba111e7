package orchestrator

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/matoolkit/matoolkit/internal/alert"
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/workers"
)

// TellOldest tells of each subscription of this app for how long its oldest message has
// waited. That it cannot be told is no reason for a tick to fail, nor to wait.
func (or *Orchestrator) TellOldest(ctx context.Context) {
	if or.waiting == nil {
		return
	}
	looking, cancel := context.WithTimeout(ctx, workers.LookTimeout)
	defer cancel()
	topics := []string{message.TopicOrchestratorEvents, message.TopicWorkerResults}
	ages, failures := make([]time.Duration, len(topics)), make([]error, len(topics))
	var all sync.WaitGroup
	for i, topic := range topics {
		all.Go(func() {
			at, found, err := or.waiting.Oldest(looking, topic, message.SubscriptionOrchestrator)
			if failures[i] = err; found {
				ages[i] = max(0, or.now().Sub(at))
			}
		})
	}
	all.Wait()
	for i, topic := range topics {
		log := or.log.With(logkey.Topic, topic, logkey.Subscription, message.SubscriptionOrchestrator)
		if err := failures[i]; err != nil {
			log.WarnContext(ctx, "it cannot be told how long messages wait", logkey.Error, err)
			continue
		}
		log.InfoContext(ctx, "the oldest message", logkey.Event, alert.OldestMessage, logkey.AgeSeconds, seconds(ages[i]))
	}
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
const silentAfter = applier.TickInterval

// since counts something that should have come about at a time.
func (s *stuck) since(at time.Time) {
	s.count++
	s.late = max(s.late, s.now.Sub(at))
}

// phase counts a phase that could have begun at the tick before, as the batch stands.
func (s *stuck) phase(b *model.Batch) {
	for _, e := range engine.NextDue(b, s.now.Add(-applier.TickInterval-applier.SweepGrace)) {
		if e, ok := e.(model.Announce); ok {
			if p, ok := b.Phase(e.Phase); ok && p.DueAt != nil {
				s.since(*p.DueAt)
			}
		}
	}
}

// run counts a run whose poll, retry or deadline has passed without its message. One
// that waits for a job is remembered, for it depends on the worker: see workers.
func (s *stuck) run(run *model.Run) {
	switch {
	case run.Status.Terminal():
	case run.DeadlineAt == nil:
		if run.WakeAt != nil && s.now.Sub(*run.WakeAt) > applier.SweepGrace {
			s.since(*run.WakeAt)
		}
	case s.now.Sub(*run.DeadlineAt) > applier.SweepGrace:
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
func (s *stuck) workers(ctx context.Context, a *Orchestrator) {
	for _, id := range slices.Sorted(maps.Keys(s.waiting)) {
		worker, err := a.workers.Record(ctx, id)
		if err != nil {
			a.log.WarnContext(ctx, "failed to read the record of a worker", logkey.WorkerID, id, logkey.Error, err)
			continue
		}
		silent := false
		for _, sent := range s.waiting[id] {
			from := slices.MaxFunc([]time.Time{sent, worker.LastSeen()}, time.Time.Compare)
			if s.now.Sub(from) >= silentAfter && a.workers.State(&worker, sent, s.now) != api.WorkerScaledToZero {
				s.since(from)
				silent = true
			}
		}
		if silent {
			s.silent = append(s.silent, id)
		}
	}
}

// tell tells what was found, if anything. Of a batch with much that is late each page
// of it has its line.
func (s *stuck) tell(ctx context.Context, a *Orchestrator, b *model.Batch, page int) {
	if s.count == 0 {
		return
	}
	a.log.WarnContext(ctx, "steps are stuck", logkey.Event, alert.StuckSteps, logkey.BatchID, b.ID, logkey.Runbook, b.Runbook,
		logkey.Count, s.count, logkey.OldestSeconds, seconds(s.late), logkey.SilentWorkers, s.silent, logkey.Page, page)
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }
