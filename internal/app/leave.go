package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store"
)

// RemoveMember takes a member out of a batch: what is pending or under way for the
// member is cancelled, and the runbook's on_member_removed steps are run. A rollback
// that has begun is carried to its end first. Errors: CodeNotFound, CodeConflict,
// CodeInvalid, CodeUnavailable.
func (a *App) RemoveMember(ctx context.Context, by Caller, batch, member int, why string) (MemberView, error) {
	if err := checkWhy(why); err != nil {
		return MemberView{}, err
	}
	for {
		view, err := a.remove(ctx, by, batch, member, why)
		if errors.Is(err, store.ErrChanged) {
			continue
		}
		if err != nil {
			return MemberView{}, a.outward(err)
		}
		return view, nil
	}
}

func (a *App) remove(ctx context.Context, by Caller, batch, member int, why string) (MemberView, error) {
	b, err := a.batch(ctx, batch)
	if err != nil {
		return MemberView{}, err
	}
	m, err := a.member(ctx, batch, member)
	if err != nil {
		return MemberView{}, err
	}
	rb, err := a.runbook(ctx, b.Doc.Runbook, b.Doc.Version)
	if err != nil {
		return MemberView{}, err
	}
	now := a.now().UTC()
	d, err := engine.Decide(engine.State{Batch: &b.Doc, Member: &m.Doc, Runbook: rb}, engine.MemberLeft{By: by.Name}, now)
	if err != nil {
		return MemberView{}, err
	}
	next := &m.Doc
	if d.Member != nil {
		next = d.Member
		ops := []store.Op{
			store.Replace(store.MemberKey(batch, member), next, m.ETag),
			a.auditOp(store.AuditRecord{
				At: now, Actor: by.actor(), Action: "remove-member", Batch: batch, Target: fmt.Sprintf("member %d (%s)", member, next.Key), Why: why,
				Before: memberFacts(map[int]engine.MemberStatus{member: m.Doc.Status}).text(), After: memberFacts(map[int]engine.MemberStatus{member: next.Status}).text(),
			}),
		}
		if d.Batch != nil {
			ops = append(ops, store.Replace(store.BatchKey(batch), d.Batch, b.ETag))
		}
		if _, err := a.store.Commit(ctx, ops...); err != nil {
			return MemberView{}, err
		}
		a.log.Info("member removed", "BatchId", batch, "member", member, "by", by.Name)
	}
	if err := a.bus.Send(ctx, message.TopicOrchestratorEvents, leaveMessage(batch, next)); err != nil {
		return MemberView{}, err
	}
	return memberView(&b.Doc, *next, rb.Secret), nil
}

func (a *App) member(ctx context.Context, batch, id int) (store.Item[engine.Member], error) {
	m, err := store.Read[engine.Member](ctx, a.store, store.MemberKey(batch, id))
	if errors.Is(err, store.ErrNotFound) {
		return m, &Error{Code: CodeNotFound, Message: fmt.Sprintf("batch %d has no member %d", batch, id), Cause: err}
	}
	return m, err
}

// memberRemoved sets going what a member's removal asks for: the removal steps wait
// for the member, and what the member is in is ended.
func (a *App) memberRemoved(ctx context.Context, e message.MemberEvent) error {
	at := a.now()
	b, err := a.known(ctx, e.BatchID)
	if err != nil {
		return err
	}
	key := store.MemberKey(e.BatchID, e.BatchMemberID)
	m, err := store.Read[engine.Member](ctx, a.store, key)
	if errors.Is(err, store.ErrNotFound) {
		return reject("batch %d has no member %d", e.BatchID, e.BatchMemberID)
	}
	if err != nil {
		return err
	}
	if m.Doc.Status != engine.MemberRemoved {
		return reject("member %d of batch %d is %s: it was not removed", e.BatchMemberID, e.BatchID, m.Doc.Status)
	}
	if m.Doc.Leaving {
		if m, err = a.queueRemoval(ctx, &b.Doc, m, at); err != nil {
			return err
		}
	} else if m.Doc.OpenPhase != 0 && m.Doc.OpenPhase == m.Doc.Removal { // in case its start was cut short
		if err := a.startRun(ctx, e.BatchID, m.Doc.Removal, m.Doc.ID); err != nil {
			return err
		}
	}
	if err := a.stopMember(ctx, e.BatchID, m.Doc); err != nil {
		return err
	}
	return a.reportShards(ctx, e.BatchID, m.Doc.Page)
}

// stopMember ends the run that a removed member is in, and with it the ones behind it.
// Where somebody else has just done so, who may have died of it, what followed from it
// is done again.
func (a *App) stopMember(ctx context.Context, batch int, m engine.Member) error {
	stopped := "" // the ETag of the run when it was last told to stop
	for m.OpenPhase != 0 && m.OpenPhase != m.Removal && ctx.Err() == nil {
		run, err := store.Read[engine.Run](ctx, a.store, store.RunKey(batch, m.OpenPhase, m.ID))
		if err != nil || run.Doc.Status == engine.RunRollingBack || run.Doc.Stopping != "" || run.ETag == stopped {
			return err // the last: the batch is cancelled, and the job in flight ends the run
		}
		stopped = run.ETag
		err = a.runEvent(ctx, run, true, engine.RunStopped{Reason: "the member was removed"})
		if !errors.Is(err, errOutdated) {
			return err
		}
		fresh, err := store.Read[engine.Member](ctx, a.store, store.MemberKey(batch, m.ID))
		if err != nil {
			return err
		}
		if m = fresh.Doc; m.OpenPhase != 0 && m.OpenPhase == m.Removal {
			return a.startRun(ctx, batch, m.Removal, m.ID)
		}
	}
	return ctx.Err()
}

// queueRemoval makes the run of the member's removal steps, where there are any, as
// the last that the member goes through, and starts it where the member is free, as of a
// moment before the batch was read (see walkPage).
func (a *App) queueRemoval(ctx context.Context, b *engine.Batch, m store.Item[engine.Member], at time.Time) (store.Item[engine.Member], error) {
	next := m.Doc
	next.Leaving = false
	key := store.MemberKey(b.ID, next.ID)
	if next.Removal == 0 {
		outcome, err := a.store.Commit(ctx, store.Replace(key, next, m.ETag))
		if err == nil {
			m.Doc, m.ETag = next, outcome.ETag(0)
		}
		return m, err
	}
	p, ok := b.Phase(next.Removal)
	if !ok {
		return m, store.ErrChanged // the batch was read before the member was removed
	}
	rb, err := a.runbook(ctx, b.Runbook, p.Version)
	if err != nil {
		return m, err
	}
	run, err := engine.NewRun(b, *p, &m.Doc, rb, a.now())
	if err != nil {
		return m, err
	}
	next, free := engine.Enter(next, p.ID)
	d := engine.Decision{Run: &run}
	if free {
		started, err := engine.Decide(engine.State{Run: &run, Member: &next, Runbook: rb, Gate: b.Gate()}, engine.RunStarted{}, at)
		if err != nil {
			return m, err
		}
		if !started.Run.Status.Terminal() { // what ends at once is counted when it is started below
			d = started
		}
	}
	runKey := store.RunKey(b.ID, p.ID, next.ID)
	outcome, err := a.store.Commit(ctx, store.Create(runKey, d.Run), store.Replace(key, next, m.ETag))
	if errors.Is(err, store.ErrExists) { // the run was made meanwhile, and the member changed with it
		return m, store.ErrChanged
	}
	if err != nil {
		return m, err
	}
	m.Doc, m.ETag = next, outcome.ETag(1)
	a.remember(runKey, d.Run, outcome.ETag(0))
	if free && d.Run.Status == engine.RunWaiting && d.Run.HeldAt == nil {
		return m, a.startRun(ctx, b.ID, p.ID, next.ID)
	}
	return m, a.carryOut(ctx, b, d.Run, d.Effects)
}

// reportShards reports the empty shards of a page, where that was cut short before.
func (a *App) reportShards(ctx context.Context, batch, page int) error {
	shards, err := a.store.ShardsOfPage(ctx, batch, page, store.ShardFilter{Unreported: true})
	if err != nil {
		return err
	}
	for _, shard := range shards {
		if err := a.closeShard(ctx, batch, shard); err != nil {
			return err
		}
	}
	return nil
}
