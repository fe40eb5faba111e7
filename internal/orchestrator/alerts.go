package orchestrator

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/matoolkit/matoolkit/internal/alert"
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/panics"
	"github.com/matoolkit/matoolkit/internal/workers"
)

// LogOldestMessages logs for each subscription of this app the age of its oldest message. A
// failure is logged only. It takes at most workers.WatchTimeout.
func (o *Orchestrator) LogOldestMessages(ctx context.Context) {
	if o.watcher == nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, workers.WatchTimeout)
	defer cancel()
	topics := []string{message.TopicOrchestratorEvents, message.TopicWorkerResults}
	ages, failures := make([]time.Duration, len(topics)), make([]error, len(topics))
	var all sync.WaitGroup
	for i, topic := range topics {
		all.Go(func() {
			failures[i] = panics.Catch(ctx, func() error {
				at, found, err := o.watcher.Oldest(limited, topic, message.SubscriptionOrchestrator)
				if found {
					ages[i] = max(0, o.now().Sub(at))
				}
				return err
			})
		})
	}
	all.Wait()
	for i, topic := range topics {
		log := o.log.With(logkey.Topic, topic, logkey.Subscription, message.SubscriptionOrchestrator)
		if err := failures[i]; err != nil {
			log.WarnContext(ctx, "failed to read the age of the oldest message", logkey.Error, err)
			continue
		}
		log.InfoContext(ctx, "age of the oldest message", logkey.Event, alert.OldestMessage, logkey.AgeSeconds, seconds(ages[i]))
	}
}

// silentAfter is how long a worker may give no sign of life while jobs wait for it.
const silentAfter = model.TickInterval

// stuckSteps counts the phases, runs and jobs of a batch that should have made progress and
// did not.
type stuckSteps struct {
	now           time.Time
	count         int
	longest       time.Duration          // how long the first of them is overdue
	visibleAt     map[string][]time.Time // by worker, of jobs that near their deadline
	silentWorkers []string
}

// add counts something that was due at a time.
func (s *stuckSteps) add(due time.Time) {
	s.count++
	s.longest = max(s.longest, s.now.Sub(due))
}

// addPhases counts the phases that were due at the tick before and have not begun.
func (s *stuckSteps) addPhases(b *model.Batch) {
	for _, e := range engine.NextDue(b, s.now.Add(-model.TickInterval-model.SweepGrace)) {
		if e, ok := e.(model.Announce); ok {
			if p, ok := b.Phase(e.Phase); ok && p.DueAt != nil {
				s.add(*p.DueAt)
			}
		}
	}
}

// addRun counts a run whose poll, retry or deadline has passed without its message. It records
// the job of any other run for addSilentWorkers.
func (s *stuckSteps) addRun(run *model.Run) {
	switch {
	case run.Status.Terminal():
	case run.DeadlineAt == nil:
		if run.WakeAt != nil && s.now.Sub(*run.WakeAt) > model.SweepGrace {
			s.add(*run.WakeAt)
		}
	case s.now.Sub(*run.DeadlineAt) > model.SweepGrace:
		s.add(*run.DeadlineAt)
	default:
		if step := run.Steps[run.Current]; run.Worker != "" && step.JobInFlight() && s.now.Sub(step.VisibleAt()) >= silentAfter {
			if s.visibleAt == nil {
				s.visibleAt = map[string][]time.Time{}
			}
			s.visibleAt[run.Worker] = append(s.visibleAt[run.Worker], step.VisibleAt())
		}
	}
}

// addSilentWorkers counts the jobs whose worker has given no sign of life for silentAfter. The
// sweep has only jobs that near their deadline: as long as workers answer in time this costs
// nothing, and otherwise one read for each worker. A failure is logged only: the next tick
// counts again.
func (s *stuckSteps) addSilentWorkers(ctx context.Context, o *Orchestrator) {
	for _, id := range slices.Sorted(maps.Keys(s.visibleAt)) {
		worker, err := o.workers.ReadRecord(ctx, id)
		if err != nil {
			o.log.WarnContext(ctx, "failed to read the record of a worker", logkey.WorkerID, id, logkey.Error, err)
			continue
		}
		silent := false
		for _, visibleAt := range s.visibleAt[id] {
			from := slices.MaxFunc([]time.Time{visibleAt, worker.LastSeen()}, time.Time.Compare)
			if s.now.Sub(from) >= silentAfter && o.workers.State(&worker, visibleAt, s.now) != api.WorkerScaledToZero {
				s.add(from)
				silent = true
			}
		}
		if silent {
			s.silentWorkers = append(s.silentWorkers, id)
		}
	}
}

// log logs the stuck steps if there are any. A batch with many has one record for each page.
func (s *stuckSteps) log(ctx context.Context, o *Orchestrator, b *model.Batch, page int) {
	if s.count == 0 {
		return
	}
	o.log.WarnContext(ctx, "steps are stuck", logkey.Event, alert.StuckSteps, logkey.BatchID, b.ID, logkey.Runbook, b.Runbook,
		logkey.Count, s.count, logkey.OldestSeconds, seconds(s.longest), logkey.SilentWorkers, s.silentWorkers, logkey.Page, page)
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }
