package datasync

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/schedule"
	"github.com/matoolkit/matoolkit/internal/store"
)

// refreshMembers gives members whose rows changed the data of their rows, many in one write. When
// one of them changes meanwhile, refreshMembers tries again with fewer.
func (s *syncRun) refreshMembers(ctx context.Context, c schedule.Change) error {
	rows := map[int]schedule.Row{}
	ids := make([]int, 0, len(c.Refresh))
	for _, r := range c.Refresh {
		rows[r.Member] = r.Row
		ids = append(ids, r.Member)
	}
	limit := 45 // members, each with the run that it is in
	for len(ids) > 0 {
		n := 0
		err := store.RetryOnConflict(ctx, func() error {
			n = min(limit, len(ids))
			err := s.refreshPage(ctx, c.Batch, ids[:n], rows)
			if errors.Is(err, store.ErrTooLarge) && limit > 1 {
				err = fmt.Errorf("%w: %w", store.ErrChanged, err)
			}
			if store.Overtaken(err) {
				limit = max(1, limit/2)
			}
			return err
		})
		if err != nil {
			return err
		}
		s.done.Changed += n
		ids = ids[n:]
	}
	if len(c.Refresh) > 0 {
		s.syncer.log.InfoContext(ctx, "members refreshed", logkey.BatchID, c.Batch, logkey.Members, len(c.Refresh))
	}
	return nil
}

// refreshPage refreshes some members of a batch in one write. It fails with ErrChanged if one of
// them changes meanwhile.
func (s *syncRun) refreshPage(ctx context.Context, batch int, ids []int, rows map[int]schedule.Row) error {
	members, err := s.syncer.store.MembersByID(ctx, batch, ids)
	if err != nil {
		return err
	}
	e := model.MembersRefreshed{Display: s.rb.Display}
	for _, m := range members {
		row := rows[m.Doc.ID]
		data, err := s.sealRow(ctx, batch, &m.Doc, row.Data)
		if err != nil {
			return err
		}
		e.Members = append(e.Members, model.RefreshedMember{Member: m.Doc.ID, Data: data, Hash: row.Hash})
	}
	c := applier.On(e)
	c.Once = true
	c.Prime = func(st *applier.Snapshot) {
		for _, m := range members {
			applier.Prime(st, store.MemberKey(batch, m.Doc.ID), m)
		}
	}
	_, _, err = s.syncer.applier.Run(ctx, batch, c)
	return err
}

// sealRow returns the data of a row with its secrets encrypted for a member. A secret that an
// administrator corrected keeps its encrypted value where the row has the same, so that the engine
// sees that the source agrees.
func (s *syncRun) sealRow(ctx context.Context, batch int, m *model.Member, data map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	sealed, err := s.syncer.sealer.SealData(ctx, s.rb, batch, m.ID, data)
	if err != nil || len(m.Overrides) == 0 {
		return sealed, err
	}
	overridden := map[string]json.RawMessage{}
	for name := range m.Overrides {
		if value, ok := data[name]; ok {
			overridden[name] = value
		}
	}
	corrected, err := s.syncer.sealer.SealCorrection(ctx, s.rb, batch, m, overridden)
	next := maps.Clone(sealed)
	maps.Copy(next, corrected)
	return next, err
}
