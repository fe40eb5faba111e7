package orchestrator

import (
	"context"
	"errors"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// onMemberAdded brings the page of a late member to where the others are.
func (or *Orchestrator) onMemberAdded(ctx context.Context, m message.MemberEvent) error {
	b, err := or.applier.LoadBatchForMessage(ctx, m.BatchID)
	if err != nil {
		return err
	}
	member, err := store.Read[model.Member](ctx, or.store, store.MemberKey(m.BatchID, m.BatchMemberID))
	if errors.Is(err, store.ErrNotFound) {
		return message.Reject("batch %d has no member %d", m.BatchID, m.BatchMemberID)
	}
	if err != nil {
		return err
	}
	page := member.Doc.Page
	switch b.Doc.DispatchMode() {
	case model.Cancelled:
		return or.stopPage(ctx, m.BatchID, page, "stopped")
	case model.Paused: // resuming the batch comes back to it
		return or.sendUnsent(ctx, m.BatchID, page)
	}
	if joiningAt(&b.Doc, page) < 0 { // it has caught up, perhaps without announcing the next
		return or.announceJoin(ctx, m.BatchID, page)
	}
	open, err := or.joinWindowOpen(ctx, &b.Doc, page)
	if err != nil {
		return err
	}
	if !open {
		return or.waitToJoin(ctx, &b.Doc, page)
	}
	c := applier.On(model.CatchUpDue{Page: page})
	c.Prime = func(s *applier.Snapshot) { applier.Prime(s, s.BatchKey(), b) }
	if _, _, err = or.applier.Run(ctx, m.BatchID, c); err != nil {
		return applier.RejectRefusal(err)
	}
	// If the batch was cancelled as its page was made, its jobs are revoked.
	if mode, err := or.applier.ReadDispatchMode(ctx, m.BatchID); err != nil || mode != model.Cancelled {
		return err
	}
	return or.stopPage(ctx, m.BatchID, page, "stopped")
}
