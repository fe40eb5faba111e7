package orchestrator

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// onMemberAdded starts the phases that a page of late members has missed.
func (o *Orchestrator) onMemberAdded(ctx context.Context, m message.MemberEvent) error {
	b, member, err := o.loadMemberForMessage(ctx, m)
	if err != nil {
		return err
	}
	page := member.Doc.Page
	if stopped, err := o.finishPageUnlessRunning(ctx, &b.Doc, page); stopped || err != nil {
		return err
	}
	if joinIndex(&b.Doc, page) < 0 {
		// The page has caught up, but the process may have ended before it announced the pages
		// behind it. Each of several pages that catch up at once can be the one that does so.
		return o.applier.Decide(ctx, m.BatchID, model.PageCaughtUp{Page: page})
	}
	open, err := o.joinWindowOpen(ctx, &b.Doc, page)
	if err != nil {
		return err
	}
	if !open {
		return o.postponeJoin(ctx, &b.Doc, page, m.DueAt)
	}
	c := applier.On(model.CatchUpDue{Page: page})
	c.Prime = func(s *applier.Snapshot) { applier.Prime(s, s.BatchKey(), b) }
	if _, _, err = o.applier.Run(ctx, m.BatchID, c); err != nil {
		return rejectRefusal(err)
	}
	return o.cancelPageIfRequested(ctx, m.BatchID, page)
}

// loadMemberForMessage loads the batch and the member of a message. It rejects the message if
// there is no such batch or member.
func (o *Orchestrator) loadMemberForMessage(ctx context.Context, m message.MemberEvent) (b store.Item[model.Batch], member store.Item[model.Member], err error) {
	if b, err = o.applier.LoadBatchForMessage(ctx, m.BatchID); err != nil {
		return b, member, err
	}
	member, err = store.Read[model.Member](ctx, o.store, store.MemberKey(m.BatchID, m.BatchMemberID))
	if errors.Is(err, store.ErrNotFound) {
		err = message.Reject("batch %d has no member %d", m.BatchID, m.BatchMemberID)
	}
	return b, member, err
}

// joinIndex returns the position of a page among the pages that are catching up, -1 if it is
// not one of them.
func joinIndex(b *model.Batch, page int) int {
	return slices.IndexFunc(b.Joining, func(j model.Join) bool { return j.Page == page })
}

// joinWindowOpen reports whether a page of late members may catch up: it is among the first
// engine.FanOutWindow that are catching up, and the jobs of the pages before it leave room in
// the window.
func (o *Orchestrator) joinWindowOpen(ctx context.Context, b *model.Batch, page int) (bool, error) {
	i := joinIndex(b, page)
	if i < 0 || i >= engine.FanOutWindow || page <= engine.FanOutWindow {
		return i < engine.FanOutWindow, nil
	}
	jobs, err := o.store.CountJobs(ctx, b.ID, store.JobFilter{VisibleAt: o.now(), FirstPage: page - 2*engine.FanOutWindow, BeforePage: page})
	return err == nil && jobs+i*model.PageSize < windowJobs, err
}

// postponeJoin announces a page of late members for later. A page that is not among the first
// is announced when it is. DueAt is that of the message in hand.
func (o *Orchestrator) postponeJoin(ctx context.Context, b *model.Batch, page int, dueAt time.Time) error {
	i := joinIndex(b, page)
	if i >= engine.FanOutWindow {
		return nil
	}
	return o.bus.Send(ctx, message.TopicOrchestratorEvents, applier.MemberAddedMessage(b, b.Joining[i], o.nextCheck(dueAt, windowDelay)))
}

// checkEarlierPhases returns model.ErrNotYet if a phase is being dispatched and a page of late
// members waits to catch up: its members have not begun the phases before this one.
func (o *Orchestrator) checkEarlierPhases(ctx context.Context, b *model.Batch, p *model.Phase, page int) error {
	if joinIndex(b, page) < 0 || p.Status != model.PhaseDispatched || p.FannedOut {
		return nil
	}
	open, err := o.joinWindowOpen(ctx, b, page)
	if err == nil && !open {
		return model.ErrNotYet
	}
	return err
}
