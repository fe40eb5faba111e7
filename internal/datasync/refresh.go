package datasync

import (
	"context"
	"errors"
	"maps"

	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/schedule"
	"github.com/matoolkit/matoolkit/internal/sealing"
	"github.com/matoolkit/matoolkit/internal/store"
)

// refreshMembers writes the data of the source's rows into members whose rows changed. Only the
// tick that has the runbook's lease writes these data, so that it does not conflict with other
// changes of a member.
func (s *syncRun) refreshMembers(ctx context.Context, c schedule.Change) error {
	rows := map[int]schedule.Row{}
	ids := make([]int, 0, len(c.Refresh))
	for _, r := range c.Refresh {
		rows[r.Member] = r.Row
		ids = append(ids, r.Member)
	}
	limit := 90
	for len(ids) > 0 {
		some := ids[:min(limit, len(ids))]
		members, err := s.syncer.store.MembersByID(ctx, c.Batch, some)
		if err != nil {
			return err
		}
		var ops store.Writes
		for _, m := range members {
			op, err := s.refreshMember(ctx, c.Batch, m, rows[m.Doc.ID])
			if err != nil {
				return err
			}
			ops = append(ops, op)
		}
		if len(ops) > 0 {
			if _, err = s.syncer.store.Apply(ctx, ops); errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrTooLarge) && limit > 1 {
				limit = max(1, limit/2)
				continue
			}
			if err != nil {
				return err
			}
		}
		ids = ids[len(some):]
	}
	if len(c.Refresh) > 0 {
		s.syncer.log.InfoContext(ctx, "members refreshed", logkey.BatchID, c.Batch, logkey.Members, len(c.Refresh))
	}
	return nil
}

// refreshMember gives the write that puts a row into a member. It keeps columns that only an
// older version of the runbook uses.
func (s *syncRun) refreshMember(ctx context.Context, batch int, m store.Item[model.Member], row schedule.Row) (store.Write, error) {
	data := maps.Clone(m.Doc.Data)
	if data == nil {
		data = row.Data
	}
	fresh, err := s.syncer.sealer.SealData(ctx, s.rb, batch, m.Doc.ID, row.Data)
	if err != nil {
		return store.Write{}, err
	}
	maps.Copy(data, fresh)
	guard := ""
	if len(s.rb.Secret) > 0 { // a run that ends may erase secrets at the same time
		guard = m.ETag
		sealing.KeepErased(data, m.Doc.Data)
	}
	return store.Patch(store.MemberKey(batch, m.Doc.ID), guard, store.Set("/data", data), store.Set("/hash", row.Hash)), nil
}
