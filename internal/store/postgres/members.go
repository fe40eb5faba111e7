package postgres

import (
	"context"
	"encoding/json"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

func ofMembers(batch int) (pk string, q *statement) {
	pk = store.BatchPartition(batch)
	return pk, of(pk, "member")
}

// Members implements store.Members.
func (s *Store) Members(ctx context.Context, batch int, f store.MemberFilter, page store.Paging) (store.Page[model.Member], error) {
	pk, q := ofMembers(batch)
	in(q, "status", f.Statuses).startsWith("fields->>'key'", f.KeyPrefix)
	if f.Text != "" {
		q.where("strpos(fields->>'search', ?) > 0", f.Text)
	}
	o := order{store.Sort{By: store.FieldID}, []store.Field{store.FieldID, store.FieldMemberKey, store.FieldStatus, store.FieldAddedAt}}
	return list[model.Member](ctx, s, pk, q, o, documentColumns, page)
}

// MembersOfPage implements store.Members.
func (s *Store) MembersOfPage(ctx context.Context, batch, page int, status model.MemberStatus) ([]store.Item[model.Member], error) {
	pk, q := ofMembers(batch)
	return items[model.Member](ctx, s, pk, q.number("page", "=", page).is("status", string(status)), " ORDER BY id")
}

// MembersByID implements store.Members.
func (s *Store) MembersByID(ctx context.Context, batch int, ids []int) ([]store.Item[model.Member], error) {
	return byKey[model.Member](ctx, s, ids, func(id int) store.Key { return store.MemberKey(batch, id) }, " ORDER BY id")
}

// MemberValues implements store.Members. The server cannot take a value out of a document with an escaped
// NUL, so that it returns the documents.
func (s *Store) MemberValues(ctx context.Context, batch int, column string, ids []int) (map[int]json.RawMessage, error) {
	values := map[int]json.RawMessage{}
	members, err := s.MembersByID(ctx, batch, ids)
	for _, m := range members {
		if value, ok := m.Doc.Data[column]; ok {
			values[m.Doc.ID] = value
		}
	}
	return values, err
}

// withID are the fields of a member with its number as id.
const withID = "fields || jsonb_build_object('id', fields->'memberId')"

// MembersByKey implements store.Members.
func (s *Store) MembersByKey(ctx context.Context, batch int, keys []string) ([]store.MemberClaim, error) {
	pk, q := ofMembers(batch)
	q.where("md5(fields->>'key') = ANY(ARRAY(SELECT md5(k) FROM unnest(?::text[]) k))", texts(keys))
	return project[store.MemberClaim](ctx, s, pk, in(q, "key", keys), withID)
}

// LastMember implements store.Members.
func (s *Store) LastMember(ctx context.Context, batch int) (int, error) {
	pk, q := ofMembers(batch)
	found, err := items[model.Member](ctx, s, pk, q, " ORDER BY id DESC LIMIT 1")
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return found[0].Doc.ID, nil
}

// LeavingMembers implements store.Members.
func (s *Store) LeavingMembers(ctx context.Context, batch int) ([]store.Item[model.Member], error) {
	pk, q := ofMembers(batch)
	return items[model.Member](ctx, s, pk, q.where("fields->>'leaving' IS NOT NULL"), "")
}

// FailedMembers implements store.Members.
func (s *Store) FailedMembers(ctx context.Context, batch int) ([]store.FailedMember, error) {
	pk, q := ofMembers(batch)
	return project[store.FailedMember](ctx, s, pk, q.where("fields->>'status' = 'failed'"), "fields")
}

// MemberProjections implements store.Members.
func (s *Store) MemberProjections(ctx context.Context, batch int) ([]store.MemberProjection, error) {
	pk, q := ofMembers(batch)
	return project[store.MemberProjection](ctx, s, pk, q, withID)
}
