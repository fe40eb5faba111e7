package orchestrator

import (
	"context"
	"errors"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// leaveAtOnce is how many confirmed removals one message carries out.
const leaveAtOnce = 40

// leavePage removes some of the members whose removal was confirmed, and asks for the
// next of them.
func (or *Orchestrator) leavePage(ctx context.Context, b *model.Batch, m message.BatchWork) (more bool, err error) {
	if b.RemovalHold == nil || b.RemovalHold.Confirmed == nil || b.Status.Terminal() {
		return false, nil // all are out, and this came again
	}
	h, err := store.OrNone(store.Read[store.RemovalHold](ctx, or.store, store.HoldKey(b.ID)))
	if err != nil {
		return false, err
	}
	// Another hold may have followed this one before its members were read.
	fresh, err := or.applier.LoadBatchForMessage(ctx, b.ID)
	if err != nil {
		return false, err
	}
	if now := fresh.Doc.RemovalHold; now == nil || now.Confirmed == nil || *now.Confirmed != *b.RemovalHold.Confirmed || !strings.HasPrefix(m.Task+"-", membership.RemovalTask(now)+"-") {
		return false, nil
	}
	first := min(m.Page*leaveAtOnce, len(h.Doc.Members))
	some := h.Doc.Members[first:min(first+leaveAtOnce, len(h.Doc.Members))]
	by := audit.Caller{Name: b.RemovalHold.Confirmed.By}
	if h.Doc.By != nil {
		by.Kind, by.TenantID, by.ObjectID = api.ActorKind(h.Doc.By.Kind), h.Doc.By.TenantID, h.Doc.By.ObjectID
	}
	if _, err := or.members.RemoveMembers(ctx, b.ID, some, by, b.RemovalHold.Confirmed.Why); err != nil {
		return false, err
	}
	if first+len(some) < len(h.Doc.Members) {
		return true, nil
	}
	return false, or.members.EndRemovalHold(ctx, b.ID)
}

// onMemberRemoved sets going what a member's removal asks for: the removal steps wait
// for the member, and what the member is in is ended.
func (or *Orchestrator) onMemberRemoved(ctx context.Context, e message.MemberEvent) error {
	b, err := or.applier.LoadBatchForMessage(ctx, e.BatchID)
	if err != nil {
		return err
	}
	m, err := store.Read[model.Member](ctx, or.store, store.MemberKey(e.BatchID, e.BatchMemberID))
	if errors.Is(err, store.ErrNotFound) {
		return message.Reject("batch %d has no member %d", e.BatchID, e.BatchMemberID)
	}
	if err != nil {
		return err
	}
	c := applier.On(model.RemovalDue{Member: e.BatchMemberID})
	c.Prime = func(s *applier.Snapshot) {
		applier.Prime(s, s.BatchKey(), b)
		applier.Prime(s, store.MemberKey(e.BatchID, e.BatchMemberID), m)
	}
	if _, _, err := or.applier.Run(ctx, e.BatchID, c); err != nil {
		return applier.RejectRefusal(err)
	}
	return or.reportShards(ctx, e.BatchID, m.Doc.Page)
}

// reportShards reports the empty shards of a page, where that was cut short before.
func (or *Orchestrator) reportShards(ctx context.Context, batch, page int) error {
	shards, err := or.store.ShardsOfPage(ctx, batch, page, store.ShardFilter{Unreported: true})
	if err != nil {
		return err
	}
	for _, shard := range shards {
		if err := or.applier.Decide(ctx, batch, model.ShardCounted{Phase: shard.Doc.Phase, Page: page, Again: true}); err != nil {
			return err
		}
	}
	return nil
}
