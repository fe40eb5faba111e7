package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store"
)

// deadlineCheck fails a step whose job was not answered in time, unless the job is known
// to wait for its worker (see outlook).
func (a *App) deadlineCheck(ctx context.Context, c message.DeadlineCheck) error {
	switch n := len(c.JobID); {
	case strings.TrimSpace(c.JobID) == "":
		return reject("the deadline check names no job")
	case n > longestJobID:
		return reject("the deadline check names a job with an id of %d bytes; at most %d are possible", n, longestJobID)
	}
	phase, member, index, err := stepPlace(c.BatchID, c.StepExecutionID)
	if err != nil {
		return err
	}
	if a.resultsMayCome() {
		return a.checkLater(ctx, c)
	}
	_, _, err = a.run(ctx, c.BatchID, command{events: func(s *snapshot) ([]engine.Event, error) {
		run, err := s.stepRun(c.StepExecutionID, phase, member, index)
		if err != nil {
			return nil, err
		}
		e := engine.DeadlineDue{Step: index, JobID: c.JobID}
		if step := run.Steps[index]; step.Status == engine.StepDispatched && step.JobID == c.JobID {
			look, err := a.outlookOf(ctx, run, index)
			if err != nil {
				return nil, err
			}
			gate, err := s.LoadGate()
			if err != nil {
				return nil, err
			}
			decides := !look.Waits || step.Refused != nil || run.Stops(gate)
			if decides && a.waiting != nil {
				if a.behind(ctx) {
					return nil, errBehind
				}
				// A heartbeat may have been processed after the first look, and so wait no more.
				if look, err = a.outlookOf(ctx, run, index); err != nil {
					return nil, err
				}
			}
			e.Queued, e.Silent, e.Cause = look.Waits, look.Silent, look.Cause
		} else if len(s.recalled) > 0 { // by a run that is out of date the job would look lost
			return nil, errOutdated
		}
		return []engine.Event{engine.OnRun{Phase: phase, Member: member, RunEvent: e}}, nil
	}})
	return err
}

// longestJobID is more than the length of any id of a job. It leaves room for it in the id of a
// message, which has 128 characters at most.
const longestJobID = 80

// laterCheck is how long a deadline that waits for results waits until it is
// checked again.
const laterCheck = 10 * time.Second

// checkLater checks a deadline again when results that were dead-lettered or put back have had time
// to come. The id of the check derives from the job and from a time that is the same for all
// checks of about now, so that several checks of one deadline become one.
func (a *App) checkLater(ctx context.Context, c message.DeadlineCheck) error {
	at := a.now().UTC().Truncate(laterCheck).Add(laterCheck)
	a.log.InfoContext(ctx, "deadline waits for results that were dead-lettered or put back", logkey.BatchID, c.BatchID, logkey.JobID, c.JobID)
	return a.bus.Send(ctx, message.TopicOrchestratorEvents, checkDeadlineAt(c, at))
}

// errBehind: the handler was away, and results or heartbeats of that time are still in
// its subscription. The next tick announces the deadline again.
var errBehind = errors.New("app: the handler is behind with what the workers sent")

// behind reports whether results or heartbeats that came long ago are not processed yet.
// Until they are, no job is taken for lost. What cannot be seen is not waited for.
func (a *App) behind(ctx context.Context) bool {
	looking, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	oldest, found, err := a.waiting.Oldest(looking, message.TopicWorkerResults, message.SubscriptionOrchestrator)
	return err == nil && found && a.now().Sub(oldest) > message.HeartbeatInterval
}

// outlookOf judges the job of a dispatched step.
func (a *App) outlookOf(ctx context.Context, run *engine.Run, index int) (outlook, error) {
	step := run.Steps[index]
	worker, err := a.workerRecord(ctx, step.WorkerID)
	if err != nil {
		return outlook{}, err
	}
	job := message.Job{JobID: step.JobID, BatchID: run.Batch}
	look := worker.outlook(step.WorkerID, dispatchedJob{job.ID(), *step.DispatchedAt, step.Timeout, step.QueuedUntil != nil}, a.now().UTC(), a.startup)
	if look.Unseen && a.subscriptionMissing(ctx, step.WorkerID) {
		look.Cause += "; " + missingSubscription(step.WorkerID)
	}
	return look, nil
}

// workerRecord reads what is known of a worker: nothing of one that was never heard from.
func (a *App) workerRecord(ctx context.Context, id string) (workerRecord, error) {
	item, err := store.Read[workerRecord](ctx, a.store, store.WorkerKey(id))
	if errors.Is(err, store.ErrNotFound) {
		return workerRecord{ID: id}, nil
	}
	return item.Doc, err
}

func missingSubscription(worker string) string {
	return fmt.Sprintf("subscription %s of topic %s is missing", message.WorkerSubscription(worker), message.TopicWorkerJobs)
}

// lookAge is for how long what was seen of a worker's subscription is reused: many jobs
// reach their deadline together.
const lookAge = 30 * time.Second

// subscriptionMissing reports whether the broker says that a worker has no subscription.
// What cannot be seen, for want of a right or of a broker, is not reported as missing.
func (a *App) subscriptionMissing(ctx context.Context, worker string) bool {
	if a.waiting == nil {
		return false
	}
	now := a.now()
	if last, ok := a.looks.Get(worker); ok && now.Sub(last.at) < lookAge && !now.Before(last.at) {
		return last.missing
	}
	looking, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	_, _, err := a.waiting.Oldest(looking, message.TopicWorkerJobs, message.WorkerSubscription(worker))
	missing := errors.Is(err, bus.ErrNotFound)
	if err != nil && !missing {
		a.log.InfoContext(ctx, "failed to look at a worker's subscription", logkey.WorkerID, worker, logkey.Error, err)
	}
	a.looks.Add(worker, subscriptionLook{at: now, missing: missing})
	return missing
}

// subscriptionLook is what was seen of a worker's subscription.
type subscriptionLook struct {
	at      time.Time
	missing bool
}

func newLookCache() *lru.Cache[string, subscriptionLook] {
	cache, err := lru.New[string, subscriptionLook](256)
	if err != nil {
		panic(err) // only a size below 1 is refused
	}
	return cache
}
