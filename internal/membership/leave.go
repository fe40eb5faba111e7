package membership

import (
	"context"
	"fmt"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// RemoveMember takes a member out of a batch: what is pending or under way for the
// member is cancelled, and the runbook's on_member_removed steps are run. A rollback
// that has begun is carried to its end first. Errors: CodeNotFound, CodeConflict,
// CodeInvalid, CodeUnavailable.
func (ms *Registrar) RemoveMember(ctx context.Context, by audit.Caller, batch, member int, why string) (api.Member, error) {
	if err := audit.CheckReason(why); err != nil {
		return api.Member{}, err
	}
	view, err := ms.remove(ctx, by, batch, member, why)
	if err != nil {
		return api.Member{}, err
	}
	return view, nil
}

func (ms *Registrar) remove(ctx context.Context, by audit.Caller, batch, member int, why string) (api.Member, error) {
	b, err := ms.applier.ReadBatch(ctx, batch)
	if err != nil {
		return api.Member{}, err
	}
	m, err := ms.applier.ReadMember(ctx, batch, member)
	if err != nil {
		return api.Member{}, err
	}
	c := applier.On(model.MemberLeft{Member: member, By: by.Name})
	c.Prime = func(s *applier.Snapshot) {
		applier.Prime(s, s.BatchKey(), b)
		applier.Prime(s, store.MemberKey(batch, member), m)
	}
	c.Extra = func(s *applier.Snapshot, ds []model.Decision) (store.Writes, error) {
		if ds[0].Empty() {
			return nil, nil
		}
		was, next := s.Member(member)
		return store.Writes{ms.audit.Record(store.AuditRecord{
			At: s.Now.UTC(), Actor: by.Actor(), Action: "remove-member", Batch: batch, Target: fmt.Sprintf("member %d (%s)", member, next.Key), Why: why,
			Before: audit.MemberFacts(map[int]model.MemberStatus{member: was.Status}).JSON(), After: audit.MemberFacts(map[int]model.MemberStatus{member: next.Status}).JSON(),
		})}, nil
	}
	s, ds, err := ms.applier.Run(ctx, batch, c)
	if err != nil {
		return api.Member{}, err
	}
	if !ds[0].Empty() {
		ms.log.InfoContext(ctx, "member removed", logkey.BatchID, batch, logkey.MemberID, member, logkey.By, by.Name)
	}
	rb, err := ms.runbooks.Load(ctx, b.Doc.Runbook, b.Doc.Version)
	if err != nil {
		return api.Member{}, err
	}
	_, next := s.Member(member)
	return apiview.Member(s.After(), *next, rb.Secret), nil
}
