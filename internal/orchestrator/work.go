package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// pageWork does one kind of work on one page of a batch. If more, the work continues with the
// next page.
type pageWork func(ctx context.Context, b *model.Batch, m message.BatchWork) (more bool, err error)

// onBatchWork works through the members of a batch, one page for each message. Page 0 has the
// runs without a member.
func (o *Orchestrator) onBatchWork(ctx context.Context, m message.BatchWork) error {
	b, err := o.applier.LoadBatchForMessage(ctx, m.BatchID)
	if err != nil {
		return err
	}
	ofTask, ofChecks := store.JobFilter{Task: m.Task}, store.JobFilter{Phase: model.CheckPhase}
	work, ok := map[string]struct {
		do     pageWork
		window *store.JobFilter // the jobs that must not be too many; nil: no page waits
	}{
		message.WorkRelease: {o.releasePage, &ofTask},
		message.WorkCancel:  {o.drainPage, nil},
		message.WorkRetry:   {o.taskPage, &ofTask},
		message.WorkRemove:  {o.taskPage, nil},
		message.WorkMove:    {o.movePage, nil},
		message.WorkMend:    {o.continueResolved, nil},
		message.WorkSweep:   {o.sweepPage, nil},
		message.WorkItems:   {o.writeItems, nil},
		message.WorkErase:   {o.erasePage, nil},
		message.WorkLeave:   {o.removePage, nil},
		message.WorkCheck:   {o.checkPage, &ofChecks},
	}[strings.ToLower(m.Work)]
	if !ok {
		return message.Reject("unknown batch work %q", m.Work)
	}
	if work.window != nil {
		if postponed, err := o.postponeWork(ctx, &b.Doc, m, *work.window); err != nil || postponed {
			return err
		}
	}
	more, err := work.do(ctx, &b.Doc, m)
	if err != nil || !more {
		return err
	}
	return o.bus.Send(ctx, message.TopicOrchestratorEvents, applier.BatchWorkMessage(m.BatchID, m.Work, m.Task, m.Page+1))
}

// Retries and resumptions visit pages that were begun before, and pages of late members have
// any size. Their window is therefore a number of jobs in flight, not of pages.

const (
	// windowJobs is the number of jobs in flight that closes the window of a retry, of a
	// resumption and of pages of late members.
	windowJobs = engine.FanOutWindow * model.PageSize
	// windowDelay is the time until a closed window is checked again.
	windowDelay = time.Second
)

// postponeWork sends a message again for later while the batch has too many jobs of its window in flight.
func (o *Orchestrator) postponeWork(ctx context.Context, b *model.Batch, m message.BatchWork, window store.JobFilter) (postponed bool, err error) {
	if m.Page <= engine.FanOutWindow || b.DispatchMode() != model.Running {
		return false, nil
	}
	window.VisibleAt = o.now()
	jobs, err := o.store.CountJobs(ctx, b.ID, window)
	if err != nil || jobs < windowJobs {
		return false, err
	}
	m.DueAt = o.nextCheck(m.DueAt, windowDelay)
	return true, o.bus.Send(ctx, message.TopicOrchestratorEvents, applier.EventMessage(fmt.Sprintf("%s-at-%d", applier.BatchWorkID(m), m.DueAt.Unix()), message.TypeBatchWork, m, m.DueAt))
}

// nextCheck returns the time for which a message is postponed: the next multiple of the delay,
// so that several messages that wait for the same become one. The time is after dueAt, for which
// the message in hand was postponed, even if the clock of this process is behind the broker's.
// Otherwise the next message could have the id of this one, and the broker would drop it.
func (o *Orchestrator) nextCheck(dueAt time.Time, delay time.Duration) time.Time {
	from := o.now().UTC()
	if dueAt.After(from) {
		from = dueAt.UTC()
	}
	return from.Add(delay).Truncate(delay)
}

// releasePage releases the paused runs of one page. It also sends the jobs that an earlier try
// of it, or a process that paused a run and saw the batch resumed, released and did not send. If the batch is
// paused again it only does the latter: the next resumption begins with the first page. If the
// batch has ended it writes the summary, in case the process that ended the batch did not, and releases
// only detached steps.
func (o *Orchestrator) releasePage(ctx context.Context, b *model.Batch, m message.BatchWork) (more bool, err error) {
	if b.Status.Terminal() {
		if err := o.applier.UpsertSummary(ctx, b); err != nil || !b.HasOpenDetached() {
			return false, err
		}
	}
	paused := b.DispatchMode() == model.Paused
	runs, err := o.store.RunsOfPage(ctx, b.ID, m.Page, store.RunSelection{Paused: !paused, Tasks: []string{m.Task}})
	if err != nil {
		return false, err
	}
	err = forEach(ctx, runs, func(run store.Item[model.Run]) error {
		return o.applier.Decide(ctx, b.ID, model.OnRun{Phase: run.Doc.Phase, Member: run.Doc.Member, RunEvent: model.RunReleased{Task: m.Task}})
	})
	if err != nil {
		return false, err
	}
	return m.Page < b.PageCount() && !paused, nil
}

// continueResolved repeats the decisions that follow a resolved step, in case the process that
// resolved it ended before them. The task of the message is the id of the step execution.
func (o *Orchestrator) continueResolved(ctx context.Context, b *model.Batch, m message.BatchWork) (more bool, err error) {
	id, err := strconv.ParseInt(m.Task, 10, 64)
	if err != nil {
		return false, message.Reject("the task %q is not a step execution id", m.Task)
	}
	phase, member, index, err := model.ParseStepID(id)
	if err != nil {
		return false, message.Reject("%v", err)
	}
	run, err := store.Read[model.Run](ctx, o.store, store.RunKey(b.ID, phase, member))
	if errors.Is(err, store.ErrNotFound) || err == nil && (index >= len(run.Doc.Steps) || run.Doc.Steps[index].Resolved == nil) {
		return false, nil // the engine refused to resolve it
	}
	if err != nil {
		return false, err
	}
	if err := o.applier.Decide(ctx, b.ID, model.OnRun{Phase: phase, Member: member, RunEvent: model.RunMended{}}); err != nil {
		return false, err
	}
	if run.Doc.Status != model.RunWaiting {
		return false, nil
	}
	return false, o.members.StartIfNext(ctx, &run.Doc)
}
