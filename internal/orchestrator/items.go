package orchestrator

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

// minReuse is for how long the result of an earlier batch must stay to be that of another one.
const minReuse = time.Minute

// writeItems gives a batch the items that a function listed. If they are those of the owner's batch before,
// whose result is current, the batch ends with that result instead. The batch says which before a member is
// written, so that all deliveries do the same. The list is in the run of the call, so that each writes
// the same members in the same order.
func (o *Orchestrator) writeItems(ctx context.Context, b *model.Batch, _ message.BatchWork) (more bool, err error) {
	call := b.ListingPhase()
	if call == nil || call.Status != model.PhaseCompleted || b.HasEnded() && !b.HasTakenItems() {
		return false, nil
	}
	rb, items, err := o.listedItems(ctx, b, call)
	if err != nil {
		return false, err
	}
	if !b.HasTakenItems() {
		if b, err = o.decideOnItems(ctx, b, items.Fingerprint); err != nil || !b.HasTakenItems() {
			return false, err
		}
	}
	if b.Members == 0 {
		if err := o.members.WriteMembers(ctx, model.Batch{ID: b.ID, DetectedAt: b.DetectedAt, Display: b.Display}, rb, items.People); err != nil {
			return false, err
		}
		o.log.InfoContext(ctx, "items listed", logkey.BatchID, b.ID, logkey.Runbook, b.Runbook, logkey.Members, len(items.People))
	}
	return false, o.applier.Decide(ctx, b.ID, model.ItemsWritten{Members: len(items.People)})
}

// listedItems reads the items that the call of a batch listed.
func (o *Orchestrator) listedItems(ctx context.Context, b *model.Batch, call *model.Phase) (*runbook.Runbook, membership.Items, error) {
	run, err := store.Read[model.Run](ctx, o.store, store.RunKey(b.ID, call.ID, 0))
	if err != nil {
		return nil, membership.Items{}, err
	}
	rb, err := o.runbooks.Load(ctx, b.Runbook, run.Doc.Version)
	if err != nil {
		return nil, membership.Items{}, err
	}
	rows, err := runstate.Items(&run.Doc, rb)
	return rb, membership.ItemsOf(run.Doc.Version, rows), err
}

// decideOnItems lets a batch take its items, or end with the result that they had before. It returns the batch
// as it is then: another delivery may have decided.
func (o *Orchestrator) decideOnItems(ctx context.Context, b *model.Batch, fingerprint string) (*model.Batch, error) {
	unchanged, err := o.unchanged(ctx, b, fingerprint)
	if err != nil {
		return nil, err
	}
	decision := applier.On(model.ItemsTaken{Fingerprint: fingerprint})
	decision.More = true // the members follow, and with them the summary
	if unchanged != nil {
		decision = applier.On(*unchanged)
	}
	first, decisions, err := o.applier.Run(ctx, b.ID, decision)
	if err != nil {
		return nil, err
	}
	if unchanged != nil && !decisions[0].Stale {
		o.log.InfoContext(ctx, "items unchanged", logkey.BatchID, b.ID, logkey.Runbook, b.Runbook, logkey.Reason, fmt.Sprintf("they are those of batch %d", unchanged.Batch))
	}
	return first.After(), nil
}

// unchanged finds that the items of a batch are those of the owner's batch before, whose result is current;
// nil if they are not, and for a forced request.
func (o *Orchestrator) unchanged(ctx context.Context, b *model.Batch, fingerprint string) (*model.ItemsUnchanged, error) {
	if b.Requested.Force || b.Requested.Before == 0 {
		return nil, nil
	}
	before, err := store.OrNone(store.Read[model.Batch](ctx, o.store, store.BatchKey(b.Requested.Before)))
	if err != nil || before.ETag == "" {
		return nil, err
	}
	now, until := o.now(), before.Doc.ExpiresAt()
	if !before.Doc.HasCurrentResult(now) || before.Doc.Requested.Fingerprint != fingerprint || until != nil && until.Sub(now) < minReuse {
		return nil, nil
	}
	return &model.ItemsUnchanged{Batch: cmp.Or(before.Doc.Requested.CachedBatch, before.Doc.ID), Until: until, Fingerprint: fingerprint}, nil
}

// sweepItems repeats what a batch waits for that is listing its items, if it was lost.
func (s *sweep) sweepItems(ctx context.Context) error {
	call := s.batch.ListingPhase()
	var outbox applier.Outbox
	switch {
	case call.Status == model.PhaseCompleted:
		outbox.Events = append(outbox.Events, applier.BatchWorkMessage(s.batch.ID, message.WorkItems, s.task, 0))
	case s.batch.DispatchMode() != model.Running:
		return s.sendUnsentSequences(ctx, s.batch)
	default:
		announce, err := s.sweepPhase(ctx, *call)
		if err != nil || !announce {
			return err
		}
		outbox.Events = append(outbox.Events, applier.PhaseDueMessage(s.batch, *call, 1, s.task, time.Time{}))
	}
	return s.applier.Send(ctx, &outbox)
}
