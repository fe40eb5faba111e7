package cosmos

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Members implements store.Members.
func (s *Store) Members(ctx context.Context, batch int, f store.MemberFilter, page store.Paging) (store.Page[model.Member], error) {
	q := newQuery("c.type = 'member'")
	if len(f.Statuses) > 0 {
		q.where("ARRAY_CONTAINS(@statuses, c.doc.status)", "@statuses", f.Statuses)
	}
	q.startsWith("c.doc.key", f.KeyPrefix)
	if f.Text != "" {
		q.where("CONTAINS(c.doc.search, @text)", "@text", f.Text)
	}
	order, err := orderBy(page.Sort, store.Sort{By: store.FieldID}, store.FieldID, store.FieldMemberKey, store.FieldStatus, store.FieldAddedAt)
	if err != nil {
		return store.Page[model.Member]{}, err
	}
	return list[model.Member](ctx, s, store.BatchPartition(batch), q.items(order), page)
}

// MembersOfPage implements store.Members.
func (s *Store) MembersOfPage(ctx context.Context, batch, page int, status model.MemberStatus) ([]store.Item[model.Member], error) {
	q := newQuery("c.type = 'member'")
	q.where("c.doc.page = @page", "@page", page)
	if status != "" {
		q.where("c.doc.status = @status", "@status", status)
	}
	return all[model.Member](ctx, s, store.BatchPartition(batch), q.items(" ORDER BY c.id"))
}

// MembersByID implements store.Members.
func (s *Store) MembersByID(ctx context.Context, batch int, ids []int) ([]store.Item[model.Member], error) {
	q := newQuery("c.type = 'member'")
	q.where("ARRAY_CONTAINS(@ids, c.doc.memberId)", "@ids", ids)
	return all[model.Member](ctx, s, store.BatchPartition(batch), q.items(" ORDER BY c.id"))
}

// MemberValues implements store.Members.
func (s *Store) MemberValues(ctx context.Context, batch int, column string, ids []int) (map[int]json.RawMessage, error) {
	name, err := store.Encode(column) // the query language has the texts of JSON
	if err != nil {
		return nil, err
	}
	values := map[int]json.RawMessage{}
	for chunk := range slices.Chunk(ids, idsAtOnce) {
		q := newQuery("c.type = 'member'")
		q.where("ARRAY_CONTAINS(@ids, c.doc.memberId)", "@ids", chunk)
		found, err := project[struct {
			ID    int             `json:"id"`
			Value json.RawMessage `json:"shown"`
		}](ctx, s, store.BatchPartition(batch), q.fields("c.doc.memberId AS id, c.doc.data["+string(name)+"] AS shown"))
		if err != nil {
			return nil, err
		}
		for _, m := range found {
			if m.Value != nil {
				values[m.ID] = m.Value
			}
		}
	}
	return values, nil
}

// presenceFields are the fields of store.MemberPresence.
const presenceFields = "c.doc.status AS status, c.doc.openPhase AS openPhase, c.doc.leaving AS leaving, c.doc.removal AS removal, " +
	"c.doc.busyUntil AS busyUntil, c.doc.undoingUntil AS undoingUntil"

// MembersByKey implements store.Members.
func (s *Store) MembersByKey(ctx context.Context, batch int, keys []string) ([]store.MemberClaim, error) {
	q := newQuery("c.type = 'member'")
	q.where("ARRAY_CONTAINS(@keys, c.doc.key)", "@keys", keys)
	return project[store.MemberClaim](ctx, s, store.BatchPartition(batch), q.fields("c.doc.memberId AS id, c.doc.key AS key, c.doc.claim AS claim, c.doc.removedBy AS removedBy, c.doc.movedToBatch AS movedToBatch, IS_DEFINED(c.doc.overrides) AS overridden, "+presenceFields))
}

// LastMember implements store.Members.
func (s *Store) LastMember(ctx context.Context, batch int) (int, error) {
	last, err := first[model.Member](ctx, s, store.BatchPartition(batch), newQuery("c.type = 'member'").items(" ORDER BY c.id DESC"))
	if err != nil || last == nil {
		return 0, err
	}
	return last.Doc.ID, nil
}

// LeavingMembers implements store.Members.
func (s *Store) LeavingMembers(ctx context.Context, batch int) ([]store.Item[model.Member], error) {
	return all[model.Member](ctx, s, store.BatchPartition(batch), newQuery("c.type = 'member'", "c.doc.leaving = true").items(""))
}

// FailedMembers implements store.Members.
func (s *Store) FailedMembers(ctx context.Context, batch int) ([]store.FailedMember, error) {
	return project[store.FailedMember](ctx, s, store.BatchPartition(batch), newQuery("c.type = 'member'", "c.doc.status = 'failed'").
		fields("c.doc.memberId AS memberId, c.doc.page AS page, c.doc.key AS key, c.doc.failedIn AS failedIn, c.doc.failedStep AS failedStep, "+
			"c.doc.failedAs AS failedAs, c.doc.failedVersion AS failedVersion, c.doc.undone AS undone, c.doc.error AS error, c.doc.failedAt AS failedAt"))
}

// MemberProjections implements store.Members.
func (s *Store) MemberProjections(ctx context.Context, batch int) ([]store.MemberProjection, error) {
	return project[store.MemberProjection](ctx, s, store.BatchPartition(batch), newQuery("c.type = 'member'").
		fields("c.doc.memberId AS id, c.doc.key AS key, c.doc.hash AS hash, c.doc.removedBy AS removedBy, c.doc.addedBy AS addedBy, c.doc.removedAt AS removedAt, c.doc.movedTo AS movedTo, c.doc.movedToBatch AS movedToBatch, "+presenceFields))
}
