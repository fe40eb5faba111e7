package orchestrator

import (
	"context"
	"errors"
	"slices"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// checkPage starts the checks of the members of one page. A request that another one has followed is
// out of date. In a batch that has ended or is being cancelled it lets go the members who wait for their
// checks: a cancellation waits for the phases behind them.
func (o *Orchestrator) checkPage(ctx context.Context, b *model.Batch, m message.BatchWork) (more bool, err error) {
	if b.Checks == nil || b.Checks.Task != m.Task {
		return false, nil
	}
	if m.Page < 1 || m.Page > b.PageCount() {
		return false, message.Reject("batch %d has no page %d", b.ID, m.Page)
	}
	if b.Status.Terminal() {
		if err := o.endChecks(ctx, b.ID, m.Page); err != nil {
			return false, err
		}
	}
	members, err := o.store.MembersOfPage(ctx, b.ID, m.Page, "")
	if err != nil {
		return false, err
	}
	members = slices.DeleteFunc(members, func(member store.Item[model.Member]) bool {
		if b.HasEnded() {
			return member.Doc.OpenPhase != model.CheckPhase
		}
		return member.Doc.Status == model.MemberRemoved && member.Doc.OpenPhase == 0
	})
	err = forEach(ctx, members, func(member store.Item[model.Member]) error {
		err := o.members.CheckMember(ctx, b, member, m.Task)
		var refusal *model.Refusal
		if errors.As(err, &refusal) {
			o.log.WarnContext(ctx, "member not checked", logkey.BatchID, b.ID, logkey.MemberID, member.Doc.ID, logkey.Reason, refusal.Reason)
			return nil
		}
		return err
	})
	if err != nil || m.Page < b.PageCount() {
		return err == nil, err
	}
	return false, o.applier.Decide(ctx, b.ID, model.ChecksDispatched{Task: m.Task, Pages: m.Page})
}

// endChecks ends the checks of one page of a batch that has ended. A process that ended may have stored
// them and not sent their jobs.
func (o *Orchestrator) endChecks(ctx context.Context, batch, page int) error {
	runs, err := o.store.RunsOfPage(ctx, batch, page, store.RunSelection{Phase: model.CheckPhase, Statuses: []model.RunStatus{model.RunWaiting, model.RunRunning}})
	if err != nil {
		return err
	}
	return forEach(ctx, runs, func(run store.Item[model.Run]) error {
		return o.applier.Decide(ctx, batch, model.OnRun{Phase: run.Doc.Phase, Member: run.Doc.Member, RunEvent: model.RunCancelRequested{Reason: model.ReasonEnded}})
	})
}

// sweepChecks asks for the checks of all members again, if the message that asked for them was lost.
func (s *sweep) sweepChecks(ctx context.Context) error {
	var outbox applier.Outbox
	if err := outbox.Add(s.batch, engine.ChecksDue(s.batch, s.now), s.now); err != nil {
		return err
	}
	for i := range outbox.Events {
		outbox.Events[i].ID += "-" + s.task
	}
	return s.applier.Send(ctx, &outbox)
}
