package workers

import (
	"context"
	"errors"
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Outlook judges the job of a dispatched step.
func (ws *Registry) Outlook(ctx context.Context, run *model.Run, index int) (JobOutlook, error) {
	step := run.Steps[index]
	worker, err := ws.Record(ctx, step.WorkerID)
	if err != nil {
		return JobOutlook{}, err
	}
	job := message.Job{JobID: step.JobID, BatchID: run.Batch}
	look := worker.outlook(step.WorkerID, dispatchedJob{job.ID(), *step.DispatchedAt, step.Timeout, step.QueuedUntil != nil}, ws.now().UTC(), ws.startup)
	if look.Unseen && ws.subscriptionMissing(ctx, step.WorkerID) {
		look.Cause += "; " + missingSubscription(step.WorkerID)
	}
	return look, nil
}

// Record reads what is known of a worker: nothing of one that was never heard from.
func (ws *Registry) Record(ctx context.Context, id string) (Record, error) {
	item, err := store.Read[Record](ctx, ws.store, store.WorkerKey(id))
	if errors.Is(err, store.ErrNotFound) {
		return Record{ID: id}, nil
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
func (ws *Registry) subscriptionMissing(ctx context.Context, worker string) bool {
	if ws.waiting == nil {
		return false
	}
	now := ws.now()
	if last, ok := ws.looks.Get(worker); ok && now.Sub(last.at) < lookAge && !now.Before(last.at) {
		return last.missing
	}
	looking, cancel := context.WithTimeout(ctx, LookTimeout)
	defer cancel()
	_, _, err := ws.waiting.Oldest(looking, message.TopicWorkerJobs, message.WorkerSubscription(worker))
	missing := errors.Is(err, bus.ErrNotFound)
	if err != nil && !missing {
		ws.log.InfoContext(ctx, "failed to look at a worker's subscription", logkey.WorkerID, worker, logkey.Error, err)
	}
	ws.looks.Add(worker, subscriptionLook{at: now, missing: missing})
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

// LookTimeout is how long a tick may take to look at the subscriptions.
const LookTimeout = 5 * time.Second
