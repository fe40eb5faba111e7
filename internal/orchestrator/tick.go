package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/workers"
)

// sweepsAtOnce is how many batches a tick sweeps at a time.
const sweepsAtOnce = 4

// SweepAll sweeps the batches, several at a time, and logs what it finds of the workers.
func (or *Orchestrator) SweepAll(ctx context.Context, batches []store.Item[store.BatchSummary]) error {
	now := or.now().UTC()
	failures := make([]error, len(batches))
	jobs := &workers.JobTally{}
	var all errgroup.Group
	all.SetLimit(sweepsAtOnce)
	for i, e := range batches {
		all.Go(func() error {
			err := or.tickBatch(ctx, e.Doc, now, jobs)
			if e.Doc.Creating && errors.Is(err, store.ErrNotFound) { // it is being written, or never was to the end
				err = nil
				if now.Sub(e.Doc.DetectedAt) > applier.AbandonAfter {
					_, err = or.store.Apply(ctx, store.Writes{store.Delete(store.EntryKey(e.Doc.ID), e.ETag)})
				}
				if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrChanged) { // another tick did, or it was made after all
					err = nil
				}
			}
			if err != nil {
				failures[i] = fmt.Errorf("batch %d: %w", e.Doc.ID, err)
			}
			return nil
		})
	}
	_ = all.Wait()
	or.workers.LogProblems(ctx, jobs)
	return errors.Join(failures...)
}

func (or *Orchestrator) tickBatch(ctx context.Context, listed store.BatchSummary, now time.Time, jobs *workers.JobTally) error {
	b, err := store.Read[model.Batch](ctx, or.store, store.BatchKey(listed.ID))
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(listed, store.SummaryOf(&b.Doc)) { // the process that changed the batch died before it wrote the summary
		if err := or.applier.UpsertSummary(ctx, &b.Doc); err != nil {
			return err
		}
	}
	if b.Doc.Status.Terminal() {
		return or.announceErasure(ctx, &b.Doc, now)
	}
	for {
		next, err := or.applier.Transition(ctx, b)
		if err == nil {
			b = next
			break
		}
		if !errors.Is(err, store.ErrChanged) {
			return err
		}
		if b, err = store.Read[model.Batch](ctx, or.store, store.BatchKey(listed.ID)); err != nil {
			return err
		}
	}
	s := or.sweepOf(&b.Doc, now)
	defer func() { s.found.tell(ctx, or, &b.Doc, 0) }()
	for _, part := range []func(context.Context) error{s.phases, s.control, s.runs, s.members} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	or.workers.Tally(ctx, &b.Doc, jobs)
	return nil
}

// sweep is one tick's look at one batch.
type sweep struct {
	orchestrator *Orchestrator
	batch        *model.Batch
	now          time.Time
	again        string // what the ids of messages that are sent again end with
	found        *stuck
}

// sweepOf makes a sweep. A message that is sent again needs an id that the broker does
// not remember.
func (or *Orchestrator) sweepOf(b *model.Batch, now time.Time) *sweep {
	return &sweep{orchestrator: or, batch: b, now: now, again: applier.SweepTask(now), found: &stuck{now: now}}
}

// phases announces those that begin before the next tick, and takes up those whose
// announcement, walk or end was lost.
func (s *sweep) phases(ctx context.Context) error {
	if s.batch.DispatchMode() != model.Running {
		return s.unsentOnComplete(ctx)
	}
	if s.batch.Filling {
		return nil
	}
	if engine.StopWhenReached(s.batch, s.now) {
		return s.orchestrator.applier.Decide(ctx, s.batch.ID, model.FailureCounted{})
	}
	s.found.phase(s.batch)
	o := applier.Outbox{Events: applier.UpcomingPhases(s.batch, s.now, s.again)}
	for _, p := range s.batch.Phases {
		switch {
		case p.Status == model.PhasePending && p.Kind == model.KindInit && !s.batch.Manual && s.batch.Status == model.BatchDetected:
			o.Events = append(o.Events, applier.PhaseDueMessage(s.batch, p, 1, s.again, time.Time{}))
		case p.Status == model.PhaseDispatched && !p.FannedOut && s.now.Sub(*p.DispatchedAt) > applier.SweepGrace:
			made, err := s.orchestrator.store.LastShard(ctx, s.batch.ID, p.ID)
			if err != nil {
				return err
			}
			walkedAt := *p.DispatchedAt
			if made != nil {
				open, since, err := s.orchestrator.windowOpen(ctx, s.batch.ID, p.ID, made.Doc.Page+1)
				if err == nil && open {
					open, err = s.orchestrator.workersKeepUp(ctx, s.batch, p, made.Doc.Page+1)
				}
				if err != nil {
					return err
				}
				if !open && (made.Doc.Sent || made.Doc.Open == 0) { // else the jobs of this page may be unsent
					continue
				}
				walkedAt = slices.MaxFunc([]time.Time{made.Doc.MadeAt, since}, time.Time.Compare)
			}
			if s.now.Sub(walkedAt) > applier.SweepGrace {
				s.found.since(walkedAt)
				o.Events = append(o.Events, applier.PhaseDueMessage(s.batch, p, 1, s.again, time.Time{}))
			}
		case p.Status == model.PhaseDispatched && p.FannedOut && p.ShardsClosed >= p.Shards && p.Kind == model.KindPhase:
			if err := s.ended(ctx, p); err != nil {
				return err
			}
		}
	}
	if err := s.orchestrator.reportAll(ctx, s.batch.ID); err != nil {
		return err
	}
	return s.orchestrator.applier.Send(ctx, &o)
}

// unsentOnComplete sends the first job of on_complete steps, where that was cut short before the
// batch was paused or cancelled. No message comes again that sends it. Its worker answers that
// the job is revoked: without that a pause would fail the steps at their deadline, and a
// cancellation would wait for it. A batch does not end before: a phase has not ended while its
// on_complete steps run, and a cancelled batch ends when no run is open.
func (s *sweep) unsentOnComplete(ctx context.Context) error {
	for _, p := range s.batch.Phases {
		if p.Status != model.PhaseDispatched || p.OnCompleteStatus != model.RunRunning || p.OnCompleteSent {
			continue
		}
		if err := s.orchestrator.applier.Decide(ctx, s.batch.ID, model.PhaseCounted{Phase: p.ID}); err != nil {
			return err
		}
	}
	return nil
}

// ended takes up the end of a phase whose members have all ended. On_complete steps
// whose first job is sent see to themselves.
func (s *sweep) ended(ctx context.Context, p model.Phase) error {
	if p.OnCompleteStatus == model.RunRunning && p.OnCompleteSent {
		run, err := store.Read[model.Run](ctx, s.orchestrator.store, store.RunKey(s.batch.ID, p.ID, 0))
		if err == nil && run.Doc.Status != model.RunWaiting && !run.Doc.Status.Terminal() {
			return nil
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return s.orchestrator.applier.Decide(ctx, s.batch.ID, model.PhaseCounted{Phase: p.ID})
}

// control takes up again what a cancelled or a resumed batch asked for.
func (s *sweep) control(ctx context.Context) error {
	var o applier.Outbox
	switch s.batch.DispatchMode() {
	case model.Paused:
		if err := s.orchestrator.applier.Revoke(ctx, s.batch, s.now); err != nil {
			return err
		}
	case model.Cancelled:
		if err := s.orchestrator.applier.Revoke(ctx, s.batch, s.now); err != nil {
			return err
		}
		o.Events = append(o.Events, applier.BatchWorkMessage(s.batch.ID, message.WorkStop, s.again, 0))
		return s.orchestrator.applier.Send(ctx, &o)
	case model.Running:
		paused, err := s.orchestrator.store.HasPausedRuns(ctx, s.batch.ID)
		if err != nil {
			return err
		}
		releases := false
		if paused {
			if releases, err = s.orchestrator.releases(ctx, s.batch); err != nil {
				return err
			}
		}
		if paused && !releases {
			o.Events = append(o.Events, applier.BatchWorkMessage(s.batch.ID, message.WorkRelease, s.again, 0))
		}
	}
	if s.batch.RemovalHold != nil && s.batch.RemovalHold.Confirmed != nil {
		o.Events = append(o.Events, applier.BatchWorkMessage(s.batch.ID, message.WorkLeave, membership.RemovalTask(s.batch.RemovalHold)+"-"+s.again, 0))
	}
	return s.orchestrator.applier.Send(ctx, &o)
}

// runs takes up what is overdue. After an outage that can be very much: all but a
// page of it is left to messages.
func (s *sweep) runs(ctx context.Context) error {
	return s.orchestrator.sweepRuns(ctx, s.batch, message.BatchWork{BatchID: s.batch.ID, Work: message.WorkSweep, Task: s.again}, s.found)
}

// members announces again those whose joining or leaving was not taken up.
func (s *sweep) members(ctx context.Context) error {
	var o applier.Outbox
	for _, j := range s.batch.Joining {
		m := applier.MemberAddedMessage(s.batch, j)
		m.ID += "-" + s.again
		o.Events = append(o.Events, m)
	}
	leaving, err := s.orchestrator.store.LeavingMembers(ctx, s.batch.ID)
	if err != nil {
		return err
	}
	for _, member := range leaving {
		m := applier.MemberRemovedMessage(s.batch.ID, &member.Doc)
		m.ID += "-" + s.again
		o.Events = append(o.Events, m)
	}
	return s.orchestrator.applier.Send(ctx, &o)
}
