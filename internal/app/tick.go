package app

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store"
)

// TickInterval is how often the scheduler ticks.
const TickInterval = 5 * time.Minute

// lookAhead is for how long in advance the beginning of phases is announced: a tick may
// take ten minutes, and the next begins only then.
const lookAhead = 3 * TickInterval

// grace is how long something due may be late before the sweep takes it up: its
// message is then taken for lost.
const grace = 2 * time.Minute

// Tick is what the scheduler does every five minutes, over all batches that have not
// ended and all runbooks whose batches follow a data source. Of the batches it is the
// safety net: what falls due before the next tick is scheduled for its exact moment,
// and what was due and never came about is announced again. The runbooks' batches are
// brought into line with what their queries give. A batch or a runbook that fails is
// reported and does not keep the others from their turn.
func (a *App) Tick(ctx context.Context) (err error) {
	var batches []store.Item[store.BatchSummary]
	defer func() {
		a.log.InfoContext(ctx, "tick", logkey.Event, EventTick, logkey.Batches, len(batches), logkey.Failed, err != nil)
	}()
	a.tellOldest(ctx)
	batches, err = a.store.BatchesToSweep(ctx, a.now())
	if err != nil {
		return err
	}
	a.tickDeadLetters(ctx) // before the sweep takes what is in them for lost
	swept := a.sweepAll(ctx, batches)
	batches = slices.DeleteFunc(batches, func(e store.Item[store.BatchSummary]) bool { return e.Doc.EraseAt != nil }) // they have ended
	return errors.Join(swept, a.syncAll(ctx, batches))                                                                // last, for a data source may take its time
}

// abandoned is after how long a batch is given up that is listed as in the making and
// is not there.
const abandoned = 24 * time.Hour

func (a *App) sweepAll(ctx context.Context, batches []store.Item[store.BatchSummary]) error {
	now := a.now().UTC()
	failures := make([]error, len(batches))
	jobs := &jobTally{}
	var all errgroup.Group
	all.SetLimit(atOnce)
	for i, e := range batches {
		all.Go(func() error {
			err := a.tickBatch(ctx, e.Doc, now, jobs)
			if e.Doc.Creating && errors.Is(err, store.ErrNotFound) { // it is being written, or never was to the end
				err = nil
				if now.Sub(e.Doc.DetectedAt) > abandoned {
					_, err = a.store.Apply(ctx, store.Writes{store.Delete(store.EntryKey(e.Doc.ID), e.ETag)})
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
	a.tellWorkers(ctx, jobs)
	return errors.Join(failures...)
}

func (a *App) tickBatch(ctx context.Context, listed store.BatchSummary, now time.Time, jobs *jobTally) error {
	b, err := store.Read[engine.Batch](ctx, a.store, store.BatchKey(listed.ID))
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(listed, store.SummaryOf(&b.Doc)) { // the process that changed the batch died before it wrote the summary
		if err := a.list(ctx, &b.Doc); err != nil {
			return err
		}
	}
	if b.Doc.Status.Terminal() {
		return a.announceErasure(ctx, &b.Doc, now)
	}
	for {
		next, err := a.transition(ctx, b)
		if err == nil {
			b = next
			break
		}
		if !errors.Is(err, store.ErrChanged) {
			return err
		}
		if b, err = store.Read[engine.Batch](ctx, a.store, store.BatchKey(listed.ID)); err != nil {
			return err
		}
	}
	s := a.sweepOf(&b.Doc, now)
	defer func() { s.found.tell(ctx, a, &b.Doc, 0) }()
	for _, part := range []func(context.Context) error{s.phases, s.control, s.runs, s.members} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	a.tallyJobs(ctx, &b.Doc, jobs)
	return nil
}

// sweep is one tick's look at one batch.
type sweep struct {
	app   *App
	batch *engine.Batch
	now   time.Time
	again string // what the ids of messages that are sent again end with
	found *stuck
}

// sweepOf makes a sweep. A message that is sent again needs an id that the broker does
// not remember.
func (a *App) sweepOf(b *engine.Batch, now time.Time) *sweep {
	return &sweep{app: a, batch: b, now: now, again: fmt.Sprintf("tick-%d", now.Unix()/int64(TickInterval/time.Second)), found: &stuck{now: now}}
}

// announceDue announces what falls due before the next tick in a batch that has just
// been made, or may just go on.
func (a *App) announceDue(ctx context.Context, b *engine.Batch) error {
	var o outbox
	a.sweepOf(b, a.now().UTC()).upcoming(&o)
	return a.send(ctx, &o)
}

// upcoming announces the phases that begin soon, for their moment. Init
// may end before: should it not, the announcement comes to nothing.
func (s *sweep) upcoming(o *outbox) {
	if s.batch.Gate() != engine.Open || s.batch.Filling || s.batch.Status.Terminal() {
		return
	}
	for _, p := range s.batch.Phases {
		if p.Status != engine.PhasePending || p.DueAt == nil {
			continue
		}
		soon := s.now.Add(lookAhead)
		at, walk := s.start(p)
		if at.Before(soon) {
			o.events = append(o.events, announcement(s.batch, p, 1, walk, at))
		}
		if p.Reason == "" && at.After(*p.DueAt) && at.After(s.now) && p.DueAt.Before(soon) { // it will say that it is quiet
			o.events = append(o.events, announcement(s.batch, p, 1, "", *p.DueAt))
		}
	}
}

// phases announces those that begin before the next tick, and takes up those whose
// announcement, walk or end was lost.
func (s *sweep) phases(ctx context.Context) error {
	if s.batch.Gate() != engine.Open {
		return s.unsentOnComplete(ctx)
	}
	if s.batch.Filling {
		return nil
	}
	if s.batch.Trips(s.now) {
		return s.app.decide(ctx, s.batch.ID, engine.FailureCounted{})
	}
	s.found.phase(s.batch)
	var o outbox
	s.upcoming(&o)
	for _, p := range s.batch.Phases {
		switch {
		case p.Status == engine.PhasePending && p.Kind == engine.KindInit && !s.batch.Manual && s.batch.Status == engine.BatchDetected:
			o.events = append(o.events, announcement(s.batch, p, 1, s.again, time.Time{}))
		case p.Status == engine.PhaseDispatched && !p.Walked && s.now.Sub(*p.DispatchedAt) > grace:
			made, err := s.app.store.LastShard(ctx, s.batch.ID, p.ID)
			if err != nil {
				return err
			}
			walkedAt := *p.DispatchedAt
			if made != nil {
				open, since, err := s.app.windowOpen(ctx, s.batch.ID, p.ID, made.Doc.Page+1)
				if err == nil && open {
					open, err = s.app.workersKeepUp(ctx, s.batch, p, made.Doc.Page+1)
				}
				if err != nil {
					return err
				}
				if !open && (made.Doc.Sent || made.Doc.Open == 0) { // else the jobs of this page may be unsent
					continue
				}
				walkedAt = later(made.Doc.MadeAt, since)
			}
			if s.now.Sub(walkedAt) > grace {
				s.found.since(walkedAt)
				o.events = append(o.events, announcement(s.batch, p, 1, s.again, time.Time{}))
			}
		case p.Status == engine.PhaseDispatched && p.Walked && p.ShardsClosed >= p.Shards && p.Kind == engine.KindPhase:
			if err := s.ended(ctx, p); err != nil {
				return err
			}
		}
	}
	if err := s.app.reportAll(ctx, s.batch.ID); err != nil {
		return err
	}
	return s.app.send(ctx, &o)
}

// start is when a pending phase is to begin, and what tells its announcement from
// those for other moments.
func (s *sweep) start(p engine.Phase) (at time.Time, walk string) {
	at = s.batch.StartsAt(&p, s.now)
	switch {
	case at.Equal(*p.DueAt):
		return at, ""
	case at.After(s.now): // quiet hours end then, also by a clock that is a little behind
		return at.Add(time.Second), fmt.Sprintf("at-%d", at.Unix())
	case s.now.Sub(*p.DueAt) > grace:
		return at, s.again
	}
	return at, ""
}

// unsentOnComplete sends the first job of on_complete steps, where that was cut short before the
// batch was paused or cancelled. No message comes again that sends it. Its worker answers that
// the job is revoked: without that a pause would fail the steps at their deadline, and a
// cancellation would wait for it. A batch does not end before: a phase has not ended while its
// on_complete steps run, and a cancelled batch ends when no run is open.
func (s *sweep) unsentOnComplete(ctx context.Context) error {
	for _, p := range s.batch.Phases {
		if p.Status != engine.PhaseDispatched || p.Merge != engine.RunRunning || p.MergeSent {
			continue
		}
		if err := s.app.decide(ctx, s.batch.ID, engine.PhaseCounted{Phase: p.ID}); err != nil {
			return err
		}
	}
	return nil
}

// ended takes up the end of a phase whose members have all ended. On_complete steps
// whose first job is sent see to themselves.
func (s *sweep) ended(ctx context.Context, p engine.Phase) error {
	if p.Merge == engine.RunRunning && p.MergeSent {
		run, err := store.Read[engine.Run](ctx, s.app.store, store.RunKey(s.batch.ID, p.ID, 0))
		if err == nil && run.Doc.Status != engine.RunWaiting && !run.Doc.Status.Terminal() {
			return nil
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return s.app.decide(ctx, s.batch.ID, engine.PhaseCounted{Phase: p.ID})
}

// control takes up again what a cancelled or a resumed batch asked for.
func (s *sweep) control(ctx context.Context) error {
	var o outbox
	switch s.batch.Gate() {
	case engine.Paused:
		if err := s.app.revoke(ctx, s.batch, s.now); err != nil {
			return err
		}
	case engine.Stopped:
		if err := s.app.revoke(ctx, s.batch, s.now); err != nil {
			return err
		}
		o.events = append(o.events, workMessage(s.batch.ID, message.WorkStop, s.again, 0))
		return s.app.send(ctx, &o)
	case engine.Open:
		paused, err := s.app.store.HasPausedRuns(ctx, s.batch.ID)
		if err != nil {
			return err
		}
		releases := false
		if paused {
			if releases, err = s.app.releases(ctx, s.batch); err != nil {
				return err
			}
		}
		if paused && !releases {
			o.events = append(o.events, workMessage(s.batch.ID, message.WorkRelease, s.again, 0))
		}
	}
	if s.batch.Held != nil && s.batch.Held.Confirmed != nil {
		o.events = append(o.events, workMessage(s.batch.ID, message.WorkLeave, leaveTask(s.batch.Held)+"-"+s.again, 0))
	}
	return s.app.send(ctx, &o)
}

// runs takes up what is overdue. After an outage that can be very much: all but a
// page of it is left to messages.
func (s *sweep) runs(ctx context.Context) error {
	return s.app.sweepRuns(ctx, s.batch, message.BatchWork{BatchID: s.batch.ID, Work: message.WorkSweep, Task: s.again}, s.found)
}

// members announces again those whose joining or leaving was not taken up.
func (s *sweep) members(ctx context.Context) error {
	var o outbox
	for _, j := range s.batch.Joining {
		m := joinMessage(s.batch, j)
		m.ID += "-" + s.again
		o.events = append(o.events, m)
	}
	leaving, err := s.app.store.LeavingMembers(ctx, s.batch.ID)
	if err != nil {
		return err
	}
	for _, member := range leaving {
		m := leaveMessage(s.batch.ID, &member.Doc)
		m.ID += "-" + s.again
		o.events = append(o.events, m)
	}
	return s.app.send(ctx, &o)
}
