package app

import (
	"context"
	"errors"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store"
)

// heard is what was last heard of a worker: when it answered, and when the job that
// it answered had been sent. As a worker takes jobs in the order they were sent, the
// ones sent since still wait for it. A page's jobs are all sent at one moment: while
// the worker is at the page, all of them do.
type heard struct {
	AnsweredAt time.Time `json:"answeredAt"`
	SentAt     time.Time `json:"sentAt"`
}

// Every process notes an answer of a worker this often at most; a worker that was
// not heard of for quiet is not taken to be busy.
const (
	noteEvery = 30 * time.Second
	quiet     = 2 * time.Minute
)

// answerCache tells when this process last noted an answer of a worker.
type answerCache = *lru.Cache[string, time.Time]

func newAnswerCache() answerCache {
	cache, err := lru.New[string, time.Time](256)
	if err != nil {
		panic(err) // only a size below 1 is refused
	}
	return cache
}

// noteAnswer notes that a worker answered a job. It is of no consequence where that
// fails: a deadline is then taken for what it is.
func (a *App) noteAnswer(ctx context.Context, step engine.Step) {
	now := a.now().UTC()
	if last, ok := a.answers.Get(step.WorkerID); step.DispatchedAt == nil || ok && now.Sub(last) < noteEvery && !now.Before(last) {
		return
	}
	a.answers.Add(step.WorkerID, now)
	_, err := a.store.Commit(ctx, store.Upsert(store.WorkerKey(step.WorkerID), heard{AnsweredAt: now, SentAt: *step.DispatchedAt}))
	if err != nil {
		a.log.Warn("a worker's answer was not noted", "worker", step.WorkerID, "error", err)
	}
}

// deadlineCheck fails a step whose job was not answered in time, unless the job is
// known to wait behind others that its worker is busy with: a batch that is larger
// than its worker does in the steps' timeout would else fail as a whole.
func (a *App) deadlineCheck(ctx context.Context, c message.DeadlineCheck) error {
	if strings.TrimSpace(c.JobID) == "" {
		return reject("the deadline check names no job")
	}
	run, key, index, _, err := a.runOf(ctx, c.BatchID, c.StepExecutionID)
	if err != nil {
		return err
	}
	e := engine.DeadlineDue{Step: index, JobID: c.JobID}
	if e.Queued, err = a.queued(ctx, run.Doc.Steps[index]); err != nil {
		return err
	}
	return a.decideRun(ctx, key, run, e)
}

// queued tells whether a step's job is known to wait for its worker.
func (a *App) queued(ctx context.Context, step engine.Step) (bool, error) {
	if step.Status != engine.StepDispatched {
		return false, nil
	}
	worker, err := store.Read[heard](ctx, a.store, store.WorkerKey(step.WorkerID))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return a.now().Sub(worker.Doc.AnsweredAt) < quiet && !worker.Doc.SentAt.After(*step.DispatchedAt), nil
}
