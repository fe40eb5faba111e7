package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// The fan-out of a phase goes by a window: the page after the last one that was begun
// waits until the page that is engine.FanOutWindow before it has yielded. So a batch of
// any size has a few pages of jobs at its workers, and a batch that starts behind it does
// not wait behind all of it. The page's shard counts the yields, and the page that yields
// announces the next. Members who poll have jobs after they have yielded: where a phase polls,
// the jobs of the batch are counted for each page, and the page waits while there are too many.

// windowOpen reports whether a page of a phase may be begun: the page that is
// engine.FanOutWindow before it has yielded. Since is when the last run of that page
// yielded, zero where none has since it was made.
func (or *Orchestrator) windowOpen(ctx context.Context, batch, phase, page int) (open bool, since time.Time, err error) {
	before := page - engine.FanOutWindow
	if before < 1 {
		return true, since, nil
	}
	shard, err := store.Read[model.Shard](ctx, or.store, store.ShardKey(batch, phase, before))
	if errors.Is(err, store.ErrNotFound) { // a page that late members made has no part in an earlier phase
		return true, since, nil
	}
	if at := shard.Doc.YieldedAt; at != nil {
		since = *at
	}
	return shard.Doc.HasYielded(), since, err
}

// fanOutJobs is from how many jobs of the batch at one worker on a phase that polls begins no
// further page. It is one page more than the pages that have not yielded have jobs, so that
// only members who have yielded reach it.
const fanOutJobs = (engine.FanOutWindow + 1) * model.PageSize

// workersKeepUp reports whether the workers keep up with the polls of a phase, so that a page of
// it may be begun: no worker that the phase polls has fanOutJobs of the batch. Without this
// bound the members of a large batch poll faster than their worker answers.
func (or *Orchestrator) workersKeepUp(ctx context.Context, b *model.Batch, p model.Phase, page int) (bool, error) {
	if page <= engine.FanOutWindow {
		return true, nil
	}
	rb, err := or.runbooks.Load(ctx, b.Runbook, p.Version)
	if err != nil {
		return false, err
	}
	phase, _ := rb.Phase(p.Name)
	var workers []string
	for _, step := range phase.Steps {
		if step.Poll == nil || slices.Contains(workers, step.WorkerID) {
			continue
		}
		workers = append(workers, step.WorkerID)
		jobs, err := or.store.CountJobs(ctx, b.ID, store.JobFilter{Worker: step.WorkerID})
		if err != nil || jobs >= fanOutJobs {
			return false, err
		}
	}
	return true, nil
}

// waitForWorkers announces a page of a phase again for later, unless it is made: then this
// message sends its jobs. The announcements of one page that wait become one.
func (or *Orchestrator) waitForWorkers(ctx context.Context, m message.PhaseDue, page int) (waits bool, err error) {
	_, err = store.Read[model.Shard](ctx, or.store, store.ShardKey(m.BatchID, m.PhaseExecutionID, page))
	if !errors.Is(err, store.ErrNotFound) {
		return false, err
	}
	m.Page = page
	// Every second second, so that they meet, and after the time of this message by a clock that is late.
	at := or.now().Add(3 * windowWait).Truncate(2 * windowWait)
	id := fmt.Sprintf("phase-due-batch-%d-%d-page-%d-at-%d", m.BatchID, m.PhaseExecutionID, page, at.Unix())
	return true, or.bus.Send(ctx, message.TopicOrchestratorEvents, applier.EventMessage(id, message.TypePhaseDue, m, at))
}

// Other work over the members of a batch comes to pages that have been begun before, and
// late members come on pages of any size: for these the jobs in flight are counted.

// windowJobs is from how many jobs in flight on a retry, a resumption or a late page waits.
const windowJobs = engine.FanOutWindow * model.PageSize

// windowWait is after what time what waits for jobs in flight counts them again.
const windowWait = time.Second

// workWindowOpen reports whether a retry or a resumption may go on to a page, and
// otherwise sends its message again for later. It counts the jobs of the work's task.
func (or *Orchestrator) workWindowOpen(ctx context.Context, b *model.Batch, m message.BatchWork) (bool, error) {
	if m.Page <= engine.FanOutWindow || b.DispatchMode() != model.Running {
		return true, nil
	}
	jobs, err := or.store.CountJobs(ctx, b.ID, store.JobFilter{Task: m.Task})
	if err != nil || jobs < windowJobs {
		return err == nil, err
	}
	at := or.now().Add(windowWait).Truncate(windowWait)
	return false, or.bus.Send(ctx, message.TopicOrchestratorEvents, applier.EventMessage(fmt.Sprintf("%s-at-%d", applier.BatchWorkID(m), at.Unix()), message.TypeBatchWork, m, at))
}

// releases reports whether a resumption is under way: the runs that it has released have
// jobs in flight.
func (or *Orchestrator) releases(ctx context.Context, b *model.Batch) (bool, error) {
	if b.PageCount() <= engine.FanOutWindow {
		return false, nil
	}
	jobs, err := or.store.CountJobs(ctx, b.ID, store.JobFilter{})
	return jobs >= model.PageSize, err
}

// joiningAt is the place of a page among those that are catching up; -1 if it is not one.
func joiningAt(b *model.Batch, page int) int {
	return slices.IndexFunc(b.Joining, func(j model.Join) bool { return j.Page == page })
}

// joinWindowOpen reports whether a page of late members may catch up: it is among the first
// engine.FanOutWindow that wait for that, and the pages before it leave room in the window.
func (or *Orchestrator) joinWindowOpen(ctx context.Context, b *model.Batch, page int) (bool, error) {
	i := joiningAt(b, page)
	if i < 0 || i >= engine.FanOutWindow || page <= engine.FanOutWindow {
		return i < engine.FanOutWindow, nil
	}
	jobs, err := or.store.CountJobs(ctx, b.ID, store.JobFilter{FirstPage: page - 2*engine.FanOutWindow, BeforePage: page})
	return err == nil && jobs+i*model.PageSize < windowJobs, err
}

// waitToJoin announces a page of late members again for later. One that is not among the
// first is announced when it is.
func (or *Orchestrator) waitToJoin(ctx context.Context, b *model.Batch, page int) error {
	i := joiningAt(b, page)
	if i >= engine.FanOutWindow {
		return nil
	}
	m := applier.MemberAddedMessage(b, b.Joining[i])
	m.At = or.now().Add(windowWait).Truncate(windowWait)
	m.ID = fmt.Sprintf("%s-at-%d", m.ID, m.At.Unix())
	return or.bus.Send(ctx, message.TopicOrchestratorEvents, m)
}

// announceJoin announces the pages of late members that may be among the first now: of
// several pages that caught up at once each can be the one that finds them so.
func (or *Orchestrator) announceJoin(ctx context.Context, batch, page int) error {
	return or.applier.Decide(ctx, batch, model.PageCaughtUp{Page: page})
}
