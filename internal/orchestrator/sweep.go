package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/panics"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/workers"
)

// sweepsAtOnce is the number of batches that a tick sweeps concurrently.
const sweepsAtOnce = 4

// Sweep sweeps the batches of one tick: it sends the lost messages of each batch again. A batch that
// fails does not prevent the sweep of the others.
type Sweep struct {
	orchestrator *Orchestrator
	ctx          context.Context
	now          time.Time
	jobs         *workers.JobTally
	read         func(context.Context, *model.Batch)
	all          errgroup.Group

	mu       sync.Mutex
	failures []error
}

// NewSweep begins the sweep of a tick. It calls read, concurrently, once with each batch that has not
// ended as it was before the sweep changed it.
func (o *Orchestrator) NewSweep(ctx context.Context, read func(context.Context, *model.Batch)) *Sweep {
	s := &Sweep{orchestrator: o, ctx: ctx, now: o.now().UTC(), jobs: &workers.JobTally{}, read: read}
	s.all.SetLimit(sweepsAtOnce)
	return s
}

// part is one task of a sweep for a batch.
type part int

const (
	lostMessages part = 1 << iota // sends lost messages again
	phases                        // changes the batch to a newer version and announces phases
)

// Add sweeps listed batches.
func (s *Sweep) Add(batches []store.Item[store.BatchSummary]) { s.add(batches, lostMessages|phases, 0) }

// AddLost sends the lost messages of listed batches. AddPhases is to follow when the data source of
// their runbook is synced: the messages of the sync are not lost.
func (s *Sweep) AddLost(batches []store.Item[store.BatchSummary]) { s.add(batches, lostMessages, 0) }

// AddPhases takes listed batches to the newer version of their runbook, and announces phases. synced
// is the version by which the data source of the runbook was synced just now; 0 for none: see
// applier.Transition.
func (s *Sweep) AddPhases(batches []store.Item[store.BatchSummary], synced int) {
	s.add(batches, phases, synced)
}

func (s *Sweep) add(batches []store.Item[store.BatchSummary], of part, synced int) {
	for _, listed := range batches {
		s.all.Go(func() error {
			v := visit{Sweep: s, part: of, synced: synced}
			if err := panics.Catch(s.ctx, func() error { return v.sweepListed(listed) }); err != nil {
				s.fail(fmt.Errorf("batch %d: %w", listed.Doc.ID, err))
			}
			return nil
		})
	}
}

func (s *Sweep) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = append(s.failures, err)
}

// Await waits for the batches that were added.
func (s *Sweep) Await() { _ = s.all.Wait() }

// Wait waits for the sweep of all batches, logs the problems of their workers, and returns the errors
// of batches. It also returns the workers that give no sign of life; complete is false if there may be
// more.
func (s *Sweep) Wait() (absent []workers.Absent, complete bool, err error) {
	s.Await()
	absent, complete = s.orchestrator.workers.LogProblems(s.ctx, s.jobs)
	s.mu.Lock()
	defer s.mu.Unlock()
	return absent, complete && len(s.failures) == 0, errors.Join(s.failures...)
}

// visit is one visit of a sweep to one batch.
type visit struct {
	*Sweep
	part   part
	synced int
}

// errNoBatch: a listed batch does not exist.
var errNoBatch = errors.New("orchestrator: the batch does not exist")

// sweepListed sweeps one listed batch. If the batch does not exist because its creation was
// interrupted, sweepListed deletes its summary after membership.AbandonAfter.
func (v *visit) sweepListed(listed store.Item[store.BatchSummary]) error {
	err := v.sweepBatch(listed.Doc)
	if errors.Is(err, errNoBatch) && listed.Doc.ExpiresAt != nil && v.part&lostMessages != 0 { // the tick that deleted it was cut short
		return v.orchestrator.deleteEntry(v.ctx, listed.Doc.ID)
	}
	if !listed.Doc.Creating || !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if v.part&lostMessages == 0 || v.now.Sub(listed.Doc.DetectedAt) <= membership.AbandonAfter {
		return nil // it may be in creation
	}
	_, err = v.orchestrator.store.Apply(v.ctx, store.Writes{store.Delete(store.EntryKey(listed.Doc.ID), listed.ETag)})
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrChanged) { // another tick deleted it, or the batch exists by now: the next tick reads it
		return nil
	}
	if err != nil {
		return err
	}
	written, err := store.OrNone(store.Read[model.Batch](v.ctx, v.orchestrator.store, store.BatchKey(listed.Doc.ID)))
	if err != nil || written.ETag == "" {
		return err
	}
	return v.orchestrator.applier.UpsertSummary(v.ctx, &written.Doc) // its request came again a moment ago
}

// sweepBatch brings one batch up to date: its summary, its runbook version, its phases, what
// its dispatch mode asks for, its runs and its members.
func (v *visit) sweepBatch(listed store.BatchSummary) error {
	o, ctx := v.orchestrator, v.ctx
	b, err := store.Read[model.Batch](ctx, o.store, store.BatchKey(listed.ID))
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("%w: %w", errNoBatch, err)
	}
	if err != nil {
		return err
	}
	lost := v.part&lostMessages != 0
	if lost && !reflect.DeepEqual(listed, store.SummaryOf(&b.Doc)) { // the process that changed the batch ended before it wrote the summary
		if err := o.applier.UpsertSummary(ctx, &b.Doc); err != nil {
			return err
		}
	}
	if b.Doc.Status.Terminal() {
		if lost {
			return v.sweepEnded(&b.Doc)
		}
		return nil
	}
	if lost {
		v.read(ctx, &b.Doc)
	}
	var parts []func(*sweep, context.Context) error
	if v.part&phases != 0 {
		if b, err = o.transitionBatch(ctx, b, v.synced); err != nil {
			return err
		}
		parts = append(parts, (*sweep).sweepPhases)
	}
	if lost {
		parts = append(parts, (*sweep).sweepDispatchMode, (*sweep).sweepChecks, (*sweep).sweepRuns, (*sweep).sweepMembers)
	}
	s := &sweep{Orchestrator: o, batch: &b.Doc, now: v.now, task: model.TickTask(v.now), stuck: &stuckSteps{now: v.now}}
	defer func() { s.stuck.log(ctx, o, &b.Doc, 0) }()
	for _, do := range parts {
		if err := do(s, ctx); err != nil {
			return err
		}
	}
	if lost {
		o.applier.ReportOpenDetached(ctx, &b.Doc)
		o.workers.Tally(ctx, &b.Doc, v.jobs)
	}
	return nil
}

// sweepEnded deletes a batch that has expired, erases its secrets if they are due, and repeats the lost
// messages of its detached steps.
func (v *visit) sweepEnded(b *model.Batch) error {
	o, ctx := v.orchestrator, v.ctx
	if b.HasExpired(v.now) {
		return o.expireBatch(ctx, b)
	}
	if err := o.announceErasure(ctx, b, v.now); err != nil || !b.HasOpenDetached() {
		return err
	}
	o.applier.ReportOpenDetached(ctx, b)
	s := &sweep{Orchestrator: o, batch: b, now: v.now, task: model.TickTask(v.now), stuck: &stuckSteps{now: v.now}}
	defer func() { s.stuck.log(ctx, o, b, 0) }()
	for _, do := range []func(*sweep, context.Context) error{(*sweep).sweepUnsent, (*sweep).sweepPaused, (*sweep).sweepRuns} {
		if err := do(s, ctx); err != nil {
			return err
		}
	}
	o.workers.Tally(ctx, b, v.jobs)
	return nil
}

// sweepUnsent sends the first jobs of detached steps that were not sent.
func (s *sweep) sweepUnsent(ctx context.Context) error { return s.sendUnsentSequences(ctx, s.batch) }

// sweepPaused releases detached steps that were paused when their batch ended.
func (s *sweep) sweepPaused(ctx context.Context) error {
	lost, err := s.releaseLost(ctx)
	if err != nil || !lost {
		return err
	}
	return s.applier.Send(ctx, &applier.Outbox{Events: []bus.Message{applier.BatchWorkMessage(s.batch.ID, message.WorkRelease, s.task, 0)}})
}

// transitionBatch takes a batch over to the active version of its runbook, as applier.Transition
// does, and returns the batch as it is then.
func (o *Orchestrator) transitionBatch(ctx context.Context, b store.Item[model.Batch], synced int) (store.Item[model.Batch], error) {
	changed := false
	err := store.RetryOnConflict(ctx, func() (err error) {
		if changed {
			if b, err = store.Read[model.Batch](ctx, o.store, store.BatchKey(b.Doc.ID)); err != nil {
				return err
			}
		}
		changed = true
		b, err = o.applier.Transition(ctx, b, synced)
		return err
	})
	return b, err
}

// sweep is the sweep of one batch in one tick.
type sweep struct {
	*Orchestrator
	batch *model.Batch
	now   time.Time
	task  string // ends the ids of messages that are sent again, so that the broker does not drop them
	stuck *stuckSteps
}

// sweepPhases announces the phases that begin before the next tick, and repeats the
// announcement, the fan-out or the end of a phase that was lost.
func (s *sweep) sweepPhases(ctx context.Context) error {
	switch {
	case s.batch.IsListing():
		return s.sweepItems(ctx)
	case s.batch.DispatchMode() != model.Running:
		return s.sendUnsentSequences(ctx, s.batch)
	case s.batch.Filling:
		return nil
	case engine.StopWhenReached(s.batch, s.now):
		return s.applier.Decide(ctx, s.batch.ID, model.FailureCounted{})
	}
	s.stuck.addPhases(s.batch)
	var outbox applier.Outbox
	if err := outbox.Add(s.batch, engine.UpcomingPhases(s.batch, s.now, s.task), s.now); err != nil {
		return err
	}
	for _, p := range s.batch.Phases {
		announce, err := s.sweepPhase(ctx, p)
		if err != nil {
			return err
		}
		if announce {
			outbox.Events = append(outbox.Events, applier.PhaseDueMessage(s.batch, p, 1, s.task, time.Time{}))
		}
	}
	if err := s.reportAllShards(ctx, s.batch.ID); err != nil {
		return err
	}
	return s.applier.Send(ctx, &outbox)
}

// sweepPhase repeats the end of a phase whose end was lost, and reports whether to announce
// the phase again.
func (s *sweep) sweepPhase(ctx context.Context, p model.Phase) (announce bool, err error) {
	switch {
	case p.Status == model.PhasePending:
		return p.Kind.PrecedesPhases() && !s.batch.Manual && s.batch.Status == model.BatchDetected, nil
	case p.Status != model.PhaseDispatched:
		return false, nil
	case p.Kind == model.KindDetached:
		if p.SequenceUnsent() {
			return false, s.applier.Decide(ctx, s.batch.ID, model.OnRun{Phase: p.ID, RunEvent: model.RunStarted{}})
		}
		return false, nil
	case !p.FannedOut:
		return s.fanOutStuck(ctx, p)
	case p.Kind == model.KindPhase && p.ShardsClosed >= p.Shards:
		return false, s.endPhase(ctx, p)
	}
	return false, nil
}

// fanOutStuck reports whether the fan-out of a phase has stopped although its window is open,
// or with unsent jobs on its last page.
func (s *sweep) fanOutStuck(ctx context.Context, p model.Phase) (bool, error) {
	since := *p.DispatchedAt
	if s.now.Sub(since) <= model.SweepGrace {
		return false, nil
	}
	last, err := s.store.LastShard(ctx, s.batch.ID, p.ID)
	if err != nil {
		return false, err
	}
	if last != nil {
		open, yieldedAt, err := s.nextPageOpen(ctx, p, last.Doc.Page+1)
		if err != nil || !open && (last.Doc.Sent || last.Doc.Open == 0) {
			return false, err
		}
		since = slices.MaxFunc([]time.Time{last.Doc.MadeAt, yieldedAt}, time.Time.Compare)
	}
	if s.now.Sub(since) <= model.SweepGrace {
		return false, nil
	}
	s.stuck.add(since)
	return true, nil
}

// nextPageOpen reports whether a page of a phase may be begun. Since is when the window opened
// for it: see engine.FanOutWindowOpen.
func (s *sweep) nextPageOpen(ctx context.Context, p model.Phase, page int) (open bool, since time.Time, err error) {
	open, since, err = engine.FanOutWindowOpen(storedShards{ctx, s.store, s.batch.ID}, p.ID, page)
	if err != nil || !open {
		return false, since, err
	}
	open, err = s.workersKeepUp(ctx, s.batch, p, page)
	return open, since, err
}

// endPhase repeats the decision on the end of a phase whose members have all ended. It leaves
// out a phase whose on-complete steps are running: these end the phase.
func (s *sweep) endPhase(ctx context.Context, p model.Phase) error {
	if p.OnCompleteStatus == model.RunRunning && p.OnCompleteSent {
		run, err := store.Read[model.Run](ctx, s.store, store.RunKey(s.batch.ID, p.ID, 0))
		if err == nil && run.Doc.Status != model.RunWaiting && !run.Doc.Status.Terminal() {
			return nil
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return s.applier.Decide(ctx, s.batch.ID, model.PhaseCounted{Phase: p.ID})
}

// sweepDispatchMode repeats the messages that a pause, a cancellation, a resumption, confirmed removals or
// moves to other batches ask for.
func (s *sweep) sweepDispatchMode(ctx context.Context) error {
	var outbox applier.Outbox
	for _, m := range s.batch.Moves {
		outbox.Events = append(outbox.Events, applier.BatchWorkMessage(s.batch.ID, message.WorkMove, m.Task+"-"+s.task, 0))
	}
	switch s.batch.DispatchMode() {
	case model.Paused:
		if err := s.applier.Revoke(ctx, s.batch, s.now); err != nil {
			return err
		}
	case model.Cancelled:
		if err := s.applier.Revoke(ctx, s.batch, s.now); err != nil {
			return err
		}
		outbox.Events = append(outbox.Events, applier.BatchWorkMessage(s.batch.ID, message.WorkCancel, s.task, 0))
		return s.applier.Send(ctx, &outbox)
	case model.Running:
		lost, err := s.releaseLost(ctx)
		if err != nil {
			return err
		}
		if lost {
			outbox.Events = append(outbox.Events, applier.BatchWorkMessage(s.batch.ID, message.WorkRelease, s.task, 0))
		}
	}
	if s.batch.RemovalHold != nil && s.batch.RemovalHold.Confirmed != nil && !s.batch.RemovalHold.Out {
		outbox.Events = append(outbox.Events, applier.BatchWorkMessage(s.batch.ID, message.WorkLeave, membership.RemovalTask(s.batch.RemovalHold)+"-"+s.task, 0))
	}
	return s.applier.Send(ctx, &outbox)
}

// releaseLost reports whether a running batch has paused runs that no resumption is releasing.
// The runs that a resumption has released have jobs in flight.
func (s *sweep) releaseLost(ctx context.Context) (bool, error) {
	paused, err := s.store.HasPausedRuns(ctx, s.batch.ID)
	if err != nil || !paused || s.batch.PageCount() <= engine.FanOutWindow {
		return paused, err
	}
	jobs, err := s.store.CountJobs(ctx, s.batch.ID, store.JobFilter{VisibleAt: s.now})
	return jobs < model.PageSize, err
}

// sweepRuns sweeps the first page of overdue runs. After an outage there can be many more,
// which are left to messages.
func (s *sweep) sweepRuns(ctx context.Context) error {
	return s.announceOverdueRuns(ctx, s.batch, message.BatchWork{BatchID: s.batch.ID, Work: message.WorkSweep, Task: s.task}, s.stuck)
}

// sweepMembers announces again the late members who have not caught up and the members whose
// removal steps were not started.
func (s *sweep) sweepMembers(ctx context.Context) error {
	var outbox applier.Outbox
	for _, j := range s.batch.Joining {
		m := applier.MemberAddedMessage(s.batch, j, time.Time{})
		m.ID += "-" + s.task
		outbox.Events = append(outbox.Events, m)
	}
	leaving, err := s.store.LeavingMembers(ctx, s.batch.ID)
	if err != nil {
		return err
	}
	for _, member := range leaving {
		m := applier.MemberRemovedMessage(s.batch.ID, &member.Doc)
		m.ID += "-" + s.task
		outbox.Events = append(outbox.Events, m)
	}
	return s.applier.Send(ctx, &outbox)
}
