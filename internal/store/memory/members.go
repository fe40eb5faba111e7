package memory

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

type member = model.Member

// Members implements store.Members.
func (s *Store) Members(ctx context.Context, batch int, f store.MemberFilter, page store.Paging) (store.Page[member], error) {
	o := order{store.Sort{By: store.FieldID}, []store.Field{store.FieldID, store.FieldMemberKey, store.FieldStatus, store.FieldAddedAt}}
	return list(ctx, s, "Members", store.BatchPartition(batch), "member", f, o, page, func(_ *document, m *member) bool {
		return oneOf(f.Statuses, m.Status) && strings.HasPrefix(m.Key, f.KeyPrefix) && strings.Contains(m.Search, f.Text)
	})
}

// MembersOfPage implements store.Members.
func (s *Store) MembersOfPage(ctx context.Context, batch, page int, status model.MemberStatus) ([]store.Item[member], error) {
	return all(ctx, s, "MembersOfPage", store.BatchPartition(batch), "member", func(_ *document, m *member) bool {
		return m.Page == page && (status == "" || m.Status == status)
	})
}

// MembersByID implements store.Members.
func (s *Store) MembersByID(ctx context.Context, batch int, ids []int) ([]store.Item[member], error) {
	return all(ctx, s, "MembersByID", store.BatchPartition(batch), "member", func(_ *document, m *member) bool {
		return slices.Contains(ids, m.ID)
	})
}

// MemberValues implements store.Members.
func (s *Store) MemberValues(ctx context.Context, batch int, column string, ids []int) (map[int]json.RawMessage, error) {
	values := map[int]json.RawMessage{}
	for chunk := range slices.Chunk(ids, 200) {
		found, err := project(ctx, s, "MemberValues", store.BatchPartition(batch), "member", func(_ *document, m *member) bool {
			return slices.Contains(chunk, m.ID) && m.Data[column] != nil
		}, func(m *member) member { return member{ID: m.ID, Data: m.Data} })
		if err != nil {
			return nil, err
		}
		for _, m := range found {
			values[m.ID] = m.Data[column]
		}
	}
	return values, nil
}

// MembersByKey implements store.Members.
func (s *Store) MembersByKey(ctx context.Context, batch int, keys []string) ([]store.MemberClaim, error) {
	return project(ctx, s, "MembersByKey", store.BatchPartition(batch), "member", func(_ *document, m *member) bool {
		return slices.Contains(keys, m.Key)
	}, func(m *member) store.MemberClaim {
		return store.MemberClaim{MemberPresence: presence(m), ID: m.ID, Key: m.Key, Claim: m.Claim, RemovedBy: m.RemovedBy, Overridden: len(m.Overrides) > 0, MovedToBatch: m.MovedToBatch}
	})
}

// LastMember implements store.Members.
func (s *Store) LastMember(ctx context.Context, batch int) (int, error) {
	ids, err := project(ctx, s, "LastMember", store.BatchPartition(batch), "member", always, func(m *member) int { return m.ID })
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	return ids[len(ids)-1], nil
}

// LeavingMembers implements store.Members.
func (s *Store) LeavingMembers(ctx context.Context, batch int) ([]store.Item[member], error) {
	return all(ctx, s, "LeavingMembers", store.BatchPartition(batch), "member", func(_ *document, m *member) bool { return m.Leaving })
}

// FailedMembers implements store.Members.
func (s *Store) FailedMembers(ctx context.Context, batch int) ([]store.FailedMember, error) {
	return project(ctx, s, "FailedMembers", store.BatchPartition(batch), "member", func(_ *document, m *member) bool {
		return m.Status == model.MemberFailed
	}, store.FailedMemberOf)
}

// MemberProjections implements store.Members.
func (s *Store) MemberProjections(ctx context.Context, batch int) ([]store.MemberProjection, error) {
	return project(ctx, s, "MemberProjections", store.BatchPartition(batch), "member", always, projection)
}

func projection(m *member) store.MemberProjection {
	return store.MemberProjection{
		MemberPresence: presence(m), ID: m.ID, Key: m.Key, Hash: m.Hash, RemovedBy: m.RemovedBy, AddedBy: m.AddedBy, RemovedAt: m.RemovedAt, MovedTo: m.MovedTo, MovedToBatch: m.MovedToBatch,
	}
}

func presence(m *member) store.MemberPresence {
	return store.MemberPresence{
		Status: m.Status, OpenPhase: m.OpenPhase, Leaving: m.Leaving, Removal: m.Removal, BusyUntil: m.BusyUntil, UndoingUntil: m.UndoingUntil,
	}
}
