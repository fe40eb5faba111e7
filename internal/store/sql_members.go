package store

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/engine"
)

// Members implements Members.
func (s *Store) Members(ctx context.Context, batch int, f MemberFilter, page Paging) (Page[engine.Member], error) {
	q := newQuery("c.type = 'member'")
	if f.Status != "" {
		q.where("c.doc.status = @status", "@status", f.Status)
	}
	q.startsWith("c.doc.key", f.KeyPrefix)
	order, err := orderBy(page.Sort, Sort{By: FieldID}, FieldID, FieldMemberKey, FieldStatus, FieldAddedAt)
	if err != nil {
		return Page[engine.Member]{}, err
	}
	return list[engine.Member](ctx, s, BatchPartition(batch), q.items(order), page)
}

// MembersOfPage implements Members.
func (s *Store) MembersOfPage(ctx context.Context, batch, page int, status engine.MemberStatus) ([]Item[engine.Member], error) {
	q := newQuery("c.type = 'member'")
	q.where("c.doc.page = @page", "@page", page)
	if status != "" {
		q.where("c.doc.status = @status", "@status", status)
	}
	return all[engine.Member](ctx, s, BatchPartition(batch), q.items(" ORDER BY c.id"))
}

// MembersByID implements Members.
func (s *Store) MembersByID(ctx context.Context, batch int, ids []int) ([]Item[engine.Member], error) {
	q := newQuery("c.type = 'member'")
	q.where("ARRAY_CONTAINS(@ids, c.doc.memberId)", "@ids", ids)
	return all[engine.Member](ctx, s, BatchPartition(batch), q.items(" ORDER BY c.id"))
}

// MembersByKey implements Members. The expression for leaving is that of
// MemberProjection.StillLeaving.
func (s *Store) MembersByKey(ctx context.Context, batch int, keys []string) ([]MemberClaim, error) {
	q := newQuery("c.type = 'member'")
	q.where("ARRAY_CONTAINS(@keys, c.doc.key)", "@keys", keys)
	return project[MemberClaim](ctx, s, BatchPartition(batch), q.fields("c.doc.key AS key, c.doc.status AS status, c.doc.claim AS claim, "+
		"(c.doc.status = 'removed' AND (c.doc.openPhase > 0 OR c.doc.leaving = true AND c.doc.removal > 0)) AS leaving"))
}

// LastMember implements Members.
func (s *Store) LastMember(ctx context.Context, batch int) (int, error) {
	last, err := first[engine.Member](ctx, s, BatchPartition(batch), newQuery("c.type = 'member'").items(" ORDER BY c.id DESC"))
	if err != nil || last == nil {
		return 0, err
	}
	return last.Doc.ID, nil
}

// LeavingMembers implements Members.
func (s *Store) LeavingMembers(ctx context.Context, batch int) ([]Item[engine.Member], error) {
	return all[engine.Member](ctx, s, BatchPartition(batch), newQuery("c.type = 'member'", "c.doc.leaving = true").items(""))
}

// FailedMembers implements Members.
func (s *Store) FailedMembers(ctx context.Context, batch int) ([]FailedMember, error) {
	return project[FailedMember](ctx, s, BatchPartition(batch), newQuery("c.type = 'member'", "c.doc.status = 'failed'").
		fields("c.doc.memberId AS memberId, c.doc.page AS page, c.doc.key AS key, c.doc.failedIn AS failedIn, c.doc.failedStep AS failedStep, c.doc.error AS error"))
}

// MemberProjections implements Members.
func (s *Store) MemberProjections(ctx context.Context, batch int) ([]MemberProjection, error) {
	return project[MemberProjection](ctx, s, BatchPartition(batch), newQuery("c.type = 'member'").
		fields("c.doc.memberId AS id, c.doc.key AS key, c.doc.hash AS hash, c.doc.status AS status, c.doc.removedBy AS removedBy, "+
			"c.doc.addedBy AS addedBy, c.doc.openPhase AS openPhase, c.doc.leaving AS leaving, c.doc.removal AS removal"))
}
