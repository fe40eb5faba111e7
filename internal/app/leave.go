package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store"
)

// RemoveMember takes a member out of a batch: what is pending or under way for the
// member is cancelled, and the runbook's on_member_removed steps are run. A rollback
// that has begun is carried to its end first. Errors: CodeNotFound, CodeConflict,
// CodeInvalid, CodeUnavailable.
func (a *App) RemoveMember(ctx context.Context, by Caller, batch, member int, why string) (api.Member, error) {
	if err := checkWhy(why); err != nil {
		return api.Member{}, err
	}
	view, err := a.remove(ctx, by, batch, member, why)
	if err != nil {
		return api.Member{}, err
	}
	return view, nil
}

func (a *App) remove(ctx context.Context, by Caller, batch, member int, why string) (api.Member, error) {
	b, err := a.batch(ctx, batch)
	if err != nil {
		return api.Member{}, err
	}
	m, err := a.member(ctx, batch, member)
	if err != nil {
		return api.Member{}, err
	}
	c := occurred(engine.MemberLeft{Member: member, By: by.Name})
	c.prime = func(s *snapshot) {
		prime(s, s.batchKey(), b)
		prime(s, store.MemberKey(batch, member), m)
	}
	c.extra = func(s *snapshot, ds []engine.Decision) (store.Writes, error) {
		if ds[0].Empty() {
			return nil, nil
		}
		was, next := s.member(member)
		return store.Writes{a.auditOp(store.AuditRecord{
			At: s.now.UTC(), Actor: by.actor(), Action: "remove-member", Batch: batch, Target: fmt.Sprintf("member %d (%s)", member, next.Key), Why: why,
			Before: memberFacts(map[int]engine.MemberStatus{member: was.Status}).text(), After: memberFacts(map[int]engine.MemberStatus{member: next.Status}).text(),
		})}, nil
	}
	s, ds, err := a.run(ctx, batch, c)
	if err != nil {
		return api.Member{}, err
	}
	if !ds[0].Empty() {
		a.log.InfoContext(ctx, "member removed", logkey.BatchID, batch, logkey.MemberID, member, logkey.By, by.Name)
	}
	rb, err := a.runbook(ctx, b.Doc.Runbook, b.Doc.Version)
	if err != nil {
		return api.Member{}, err
	}
	_, next := s.member(member)
	return memberView(s.after(), *next, rb.Secret), nil
}

func (a *App) member(ctx context.Context, batch, id int) (store.Item[engine.Member], error) {
	m, err := store.Read[engine.Member](ctx, a.store, store.MemberKey(batch, id))
	if errors.Is(err, store.ErrNotFound) {
		return m, &Error{Code: api.CodeNotFound, Message: fmt.Sprintf("batch %d has no member %d", batch, id), Cause: err}
	}
	return m, err
}

// memberRemoved sets going what a member's removal asks for: the removal steps wait
// for the member, and what the member is in is ended.
func (a *App) memberRemoved(ctx context.Context, e message.MemberEvent) error {
	b, err := a.known(ctx, e.BatchID)
	if err != nil {
		return err
	}
	m, err := store.Read[engine.Member](ctx, a.store, store.MemberKey(e.BatchID, e.BatchMemberID))
	if errors.Is(err, store.ErrNotFound) {
		return reject("batch %d has no member %d", e.BatchID, e.BatchMemberID)
	}
	if err != nil {
		return err
	}
	c := occurred(engine.RemovalDue{Member: e.BatchMemberID})
	c.prime = func(s *snapshot) {
		prime(s, s.batchKey(), b)
		prime(s, store.MemberKey(e.BatchID, e.BatchMemberID), m)
	}
	if _, _, err := a.run(ctx, e.BatchID, c); err != nil {
		return refused(err)
	}
	return a.reportShards(ctx, e.BatchID, m.Doc.Page)
}

// reportShards reports the empty shards of a page, where that was cut short before.
func (a *App) reportShards(ctx context.Context, batch, page int) error {
	shards, err := a.store.ShardsOfPage(ctx, batch, page, store.ShardFilter{Unreported: true})
	if err != nil {
		return err
	}
	for _, shard := range shards {
		if err := a.decide(ctx, batch, engine.ShardCounted{Phase: shard.Doc.Phase, Page: page, Again: true}); err != nil {
			return err
		}
	}
	return nil
}
