package orchestrator

import (
	"context"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// onMemberRemoved starts the removal steps of a member and ends the runs that the member
// is in.
func (o *Orchestrator) onMemberRemoved(ctx context.Context, m message.MemberEvent) error {
	b, member, err := o.loadMemberForMessage(ctx, m)
	if err != nil {
		return err
	}
	c := applier.On(model.RemovalDue{Member: m.BatchMemberID})
	c.Prime = func(s *applier.Snapshot) {
		applier.Prime(s, s.BatchKey(), b)
		applier.Prime(s, store.MemberKey(m.BatchID, m.BatchMemberID), member)
	}
	if _, _, err := o.applier.Run(ctx, m.BatchID, c); err != nil {
		return rejectRefusal(err)
	}
	return o.reportShardsOfPage(ctx, m.BatchID, member.Doc.Page)
}

// removalsPerPage is the number of confirmed removals that one message carries out.
const removalsPerPage = 40

// removePage removes one page of the members whose removal was confirmed, and with the last
// page ends the removal hold.
func (o *Orchestrator) removePage(ctx context.Context, b *model.Batch, m message.BatchWork) (more bool, err error) {
	if b.RemovalHold == nil || b.RemovalHold.Confirmed == nil || b.RemovalHold.Out || b.Status.Terminal() {
		return false, nil // all are removed, and this message was delivered again
	}
	hold, err := store.ReadRemovalHold(ctx, o.store, b)
	if err != nil {
		return false, err
	}
	// Another hold may have replaced this one before its members were read.
	fresh, err := o.applier.LoadBatchForMessage(ctx, b.ID)
	if err != nil {
		return false, err
	}
	if now := fresh.Doc.RemovalHold; now == nil || now.Confirmed == nil || *now.Confirmed != *b.RemovalHold.Confirmed || !strings.HasPrefix(m.Task+"-", membership.RemovalTask(now)+"-") {
		return false, nil
	}
	first := min(m.Page*removalsPerPage, len(hold.Doc.Members))
	page := hold.Doc.Members[first:min(first+removalsPerPage, len(hold.Doc.Members))]
	by := audit.Caller{Name: b.RemovalHold.Confirmed.By}
	if hold.Doc.By != nil {
		by.Kind, by.TenantID, by.ObjectID = api.ActorKind(hold.Doc.By.Kind), hold.Doc.By.TenantID, hold.Doc.By.ObjectID
	}
	leave := membership.Leave{By: by, Why: b.RemovalHold.Confirmed.Why}
	leaving := page
	if b.RemovalHold.Move {
		leave.Moves = hold.Doc.Moves
		leaving = slices.DeleteFunc(slices.Clone(page), func(member int) bool { return hold.Doc.Moves[member].IsZero() })
	}
	if _, err := o.members.RemoveMembers(ctx, b.ID, leaving, leave); err != nil {
		return false, err
	}
	if first+len(page) < len(hold.Doc.Members) {
		return true, nil
	}
	return false, o.members.EndRemovalHold(ctx, b.ID)
}
