package orchestrator

import (
	"context"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// onBatchWork goes over the members of a batch, a page at a time. Page 0 holds the
// runs without a member.
func (or *Orchestrator) onBatchWork(ctx context.Context, m message.BatchWork) error {
	b, err := or.applier.LoadBatchForMessage(ctx, m.BatchID)
	if err != nil {
		return err
	}
	var work func(ctx context.Context, b *model.Batch, m message.BatchWork) (more bool, err error)
	switch strings.ToLower(m.Work) {
	case message.WorkRelease:
		work = or.releasePage
	case message.WorkStop:
		work = or.drain
	case message.WorkRetry:
		work = or.retryPage
	case message.WorkMend:
		work = or.mend
	case message.WorkSweep:
		work = or.sweepPage
	case message.WorkErase:
		work = or.erasePage
	case message.WorkLeave:
		work = or.leavePage
	default:
		return message.Reject("no work over a batch is called %q", m.Work)
	}
	if m.Work == message.WorkRelease || m.Work == message.WorkRetry {
		if open, err := or.workWindowOpen(ctx, &b.Doc, m); err != nil || !open {
			return err
		}
	}
	more, err := work(ctx, &b.Doc, m)
	if err != nil || !more {
		return err
	}
	return or.bus.Send(ctx, message.TopicOrchestratorEvents, applier.BatchWorkMessage(m.BatchID, m.Work, m.Task, m.Page+1))
}

// releasePage lets the paused runs of one page go on. It also sends what the runs owe that it
// released before, and those that the process released which paused them. Where the batch is
// paused again, that is all it does: resuming the batch begins anew.
func (or *Orchestrator) releasePage(ctx context.Context, b *model.Batch, m message.BatchWork) (more bool, err error) {
	paused := b.DispatchMode() == model.Paused
	runs, err := or.store.RunsOfPage(ctx, b.ID, m.Page, store.RunSelection{Paused: !paused, Tasks: []string{m.Task, model.TaskResumed}})
	if err != nil {
		return false, err
	}
	// The others may only owe a job that is sent already. A store that is slow must not use up
	// the time of each try on them.
	slices.SortStableFunc(runs, func(x, y store.Item[model.Run]) int {
		switch {
		case (x.Doc.PausedAt == nil) == (y.Doc.PausedAt == nil):
			return 0
		case x.Doc.PausedAt != nil:
			return -1
		}
		return 1
	})
	for _, run := range runs {
		if err := or.applier.Decide(ctx, b.ID, model.OnRun{Phase: run.Doc.Phase, Member: run.Doc.Member, RunEvent: model.RunReleased{Task: m.Task}}); err != nil {
			return false, err
		}
	}
	return m.Page < b.PageCount() && !paused, nil
}
