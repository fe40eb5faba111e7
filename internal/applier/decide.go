package applier

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cenkalti/backoff/v5"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Command asks for decisions on one batch, which are written at once. Both functions are
// called for each attempt, on the state that it loads.
type Command struct {
	// events are the events to decide, in their order.
	Events func(*Snapshot) ([]model.Event, error)
	// extra are operations of the same write, such as audit records; nil: none. It is called
	// when all events are decided, also where they change nothing.
	Extra func(*Snapshot, []model.Decision) (store.Writes, error)
	// once does not take the decisions again where they lose a race: ErrChanged.
	Once bool
	// more leaves the summary of the batch to a write that follows.
	More bool
	// prime gives the first attempt documents that its caller has just read; nil: none.
	Prime func(*Snapshot)
}

// On is the command of events that are known beforehand.
func On(events ...model.Event) Command {
	return Command{Events: func(*Snapshot) ([]model.Event, error) { return events, nil }}
}

// Decide takes a decision on a batch, and all that follow from it: see run.
func (a *Applier) Decide(ctx context.Context, batch int, events ...model.Event) error {
	_, _, err := a.Run(ctx, batch, On(events...))
	return err
}

// Run carries out every decision of the engine: it loads what the events need, lets the
// engine decide, writes the decisions at once, sends their messages and goes on
// with the events that follow, each with what follows from it in turn. A decision that lost
// a race is taken again, alone, on the state as it is then.
//
// Anything may be cut short between a write and what follows from it: whatever led to the
// first event comes again, and its decision, which changes nothing then, has the same
// messages sent and the same events decided. It gives the state after the first command
// and the decisions of it.
func (a *Applier) Run(ctx context.Context, batch int, c Command) (first *Snapshot, decisions []model.Decision, err error) {
	work := []Command{c}
	for len(work) > 0 {
		s, ds, err := a.attempt(ctx, batch, work[0])
		if first == nil {
			first, decisions = s, ds
		}
		if err != nil {
			return first, decisions, err
		}
		next, err := a.follow(ctx, s, ds, work[0].More)
		if err != nil {
			return first, decisions, err
		}
		work = append(next, work[1:]...)
	}
	return first, decisions, nil
}

// attempt takes and writes the decisions of one command.
func (a *Applier) attempt(ctx context.Context, batch int, c Command) (*Snapshot, []model.Decision, error) {
	var s *Snapshot
	var decisions []model.Decision
	fresh := false
	err := retryOnConflict(ctx, func() (err error) {
		s = a.snapshot(ctx, batch)
		s.fresh = fresh
		if c.Prime != nil {
			c.Prime(s)
			c.Prime = nil
		}
		if decisions, err = a.decideAll(ctx, s, c); err == nil {
			err = a.write(s, decisions, c)
		}
		if errors.Is(err, store.ErrTooLarge) {
			if smaller, ok := split(s.events); ok {
				c = smaller
				return fmt.Errorf("%w: %w", store.ErrChanged, err)
			}
		}
		fresh = err != nil
		if c.Once && conflict(err) {
			return backoff.Permanent(err)
		}
		return err
	})
	return s, decisions, err
}

// split has the page that a decision was about made without starting its runs, where with
// their parameters they did not fit into one write.
func split(events []model.Event) (Command, bool) {
	if len(events) != 1 {
		return Command{}, false
	}
	e, ok := events[0].(model.PageDue)
	if !ok || e.Split {
		return Command{}, false
	}
	e.Split = true
	return On(e), true
}

// errOutdated: what was recalled of a run does not do for the event at hand.
var ErrOutdated = errors.New("app: the recalled run is out of date")

func (a *Applier) decideAll(ctx context.Context, s *Snapshot, c Command) ([]model.Decision, error) {
	events, err := c.Events(s)
	if err != nil {
		return nil, err
	}
	s.events = events
	decisions := make([]model.Decision, 0, len(events))
	for _, e := range events {
		if on, ok := e.(model.OnRun); ok {
			if _, releases := on.RunEvent.(model.RunReleased); releases { // it must be sure of the batch
				if _, err := s.LoadBatch(); err != nil {
					return nil, err
				}
			}
		}
		d, err := engine.Decide(s, e, s.Now)
		if (err != nil || d.Stale || d.Repeated) && len(s.recalled) > 0 && !s.fresh {
			return nil, ErrOutdated // by what is remembered only a write that is guarded is decided
		}
		if err != nil {
			return decisions, err
		}
		if on, ok := e.(model.OnRun); ok && d.Stale {
			a.log.InfoContext(ctx, "event is out of date", logkey.BatchID, s.batch, logkey.Phase, on.Phase, logkey.MemberID, on.Member, logkey.EventType, fmt.Sprintf("%T", on.RunEvent))
		}
		s.take(d.Writes)
		decisions = append(decisions, d)
	}
	return decisions, nil
}

// write writes what the decisions change. What it has written, the snapshot has as loaded.
func (a *Applier) write(s *Snapshot, decisions []model.Decision, c Command) error {
	ops, shards := s.Writes()
	if b := s.Before(); b != nil && s.WritesBatch() {
		ops = append(ops, a.stopRecord(b, s.After())...)
	}
	if c.Extra != nil {
		extra, err := c.Extra(s, decisions)
		if err != nil {
			return err
		}
		ops = append(ops, extra...)
	}
	if len(ops) == 0 {
		return nil
	}
	applied, err := a.store.Apply(s.ctx, ops)
	if err != nil {
		for _, key := range s.changed {
			a.runs.remove(key) // it is read again when the event is
		}
		if errors.Is(err, store.ErrExists) {
			return fmt.Errorf("%w: %w", store.ErrChanged, err)
		}
		return err
	}
	s.Written = applied
	for i, key := range s.changed {
		d := s.docs[key]
		d.version = applied.Version(i)
		if run, ok := d.is.(*model.Run); ok {
			a.remember(key, run, d.version)
		}
	}
	for i, key := range shards {
		shard, err := store.Got[model.Shard](applied, i)
		if err != nil {
			return err
		}
		Prime(s, key, shard)
	}
	if b := s.After(); b != nil && s.WritesBatch() {
		a.modes.saw(b, s.Now)
	}
	return nil
}

// follow sends the messages of decisions that are written and the revocation of a batch
// that is found stopped, brings the summary of the batch up to date, and gives the commands
// that follow.
func (a *Applier) follow(ctx context.Context, s *Snapshot, decisions []model.Decision, more bool) (next []Command, err error) {
	var o Outbox
	repeated := false
	for _, d := range decisions {
		if s.After() == nil && slices.ContainsFunc(d.Messages, aboutBatch) {
			if _, err := s.LoadBatch(); err != nil {
				return nil, err
			}
		}
		repeated = repeated || d.Repeated
		if err := o.Add(s.After(), d.Messages, a.now()); err != nil {
			return nil, err
		}
		for _, e := range d.Next {
			next = append(next, Command{Events: On(e).Events, Prime: s.hand(e, len(next) == 0)})
		}
	}
	if err := a.Send(ctx, &o); err != nil {
		return nil, err
	}
	b := s.After()
	if len(o.controls) > 0 {
		a.modes.enforces(b)
	} else if b != nil {
		if err := a.ensureRevoked(ctx, b); err != nil {
			return nil, err
		}
	}
	if b != nil && !more && (s.WritesBatch() || repeated && (b.Status.Terminal() || b.StoppedBy != 0)) { // written now, or before and perhaps not summarized
		return next, a.UpsertSummary(ctx, b)
	}
	return next, nil
}

// hand gives a following event what the snapshot already has: the shard that was read back
// with its count, a run that has ended, and for the steps of a fan-out the batch. What they decide by a batch that
// has changed since loses the race, or is looked after once the page exists. Where late
// members catch up first, the steps behind that load the batch as it is then.
func (s *Snapshot) hand(e model.Event, first bool) func(*Snapshot) {
	key := s.BatchKey()
	switch e := e.(type) {
	case model.ShardCounted:
		if e.Again {
			return nil
		}
		key = store.ShardKey(s.batch, e.Phase, e.Page)
	case model.CatchUpDue, model.PageDue, model.PageBegun:
		if b, ok := s.known(); !ok || s.countsInBatch() || !first && len(b.Joining) > 0 {
			return nil
		}
	case model.OnRun:
		// A page that is resumed would read each of its runs again. Nothing is sent by the word of
		// a run that has ended.
		key = store.RunKey(s.batch, e.Phase, e.Member)
		if run, ok := s.loaded(key).(*model.Run); !ok || !run.Status.Terminal() {
			return nil
		}
	default:
		return nil
	}
	d, ok := s.docs[key]
	if !ok {
		return nil
	}
	return func(next *Snapshot) { next.docs[key] = &document{was: d.is, is: d.is, version: d.version} }
}

// aboutBatch reports whether a message is made from the batch, not from a run.
func aboutBatch(m model.Message) bool {
	switch m.(type) {
	case model.Dispatch, model.Poll, model.Retry, model.Deadline:
		return false
	}
	return true
}

// conflict reports whether a decision is to be taken again on the state as it is then.
func conflict(err error) bool {
	return slices.ContainsFunc([]error{store.ErrChanged, model.ErrOutdated, ErrOutdated}, func(c error) bool { return errors.Is(err, c) })
}

// retryOnConflict calls do until it does not lose a race, or ctx ends: each time on the
// state as it is then.
func retryOnConflict(ctx context.Context, do func() error) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := do()
		if err == nil || conflict(err) {
			return struct{}{}, err
		}
		return struct{}{}, backoff.Permanent(err)
	}, backoff.WithBackOff(Backoff()), backoff.WithMaxElapsedTime(0))
	return err
}
