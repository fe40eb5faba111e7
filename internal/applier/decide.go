package applier

import (
	"context"
	"errors"
	"fmt"

	"github.com/cenkalti/backoff/v5"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// errOutdated: a decision on a document that this process recalled writes nothing, or fails. Only a
// write checks that the document is current, so the decision is taken again on the stored one.
var errOutdated = errors.New("applier: the recalled document is out of date")

// Command asks for decisions on one batch, which are written together. Its functions are called
// again for each attempt, on the state that the attempt loads.
type Command struct {
	// Events returns the events to decide, in their order.
	Events func(*Snapshot) ([]model.Event, error)
	// Extra returns further operations of the same write, such as audit records; nil: none. Run
	// calls it after the decisions, also if they change nothing.
	Extra func(*Snapshot, []model.Decision) (store.Writes, error)
	// Once makes a command that loses a race fail with store.ErrChanged. Run decides others again.
	Once bool
	// More leaves the summary of the batch to a command that the caller runs next.
	More bool
	// Prime gives the snapshot of the first attempt documents that the caller has just read; nil:
	// none.
	Prime func(*Snapshot)
}

// On returns the command of events that do not depend on the state.
func On(events ...model.Event) Command {
	return Command{Events: func(*Snapshot) ([]model.Event, error) { return events, nil }}
}

// Decide runs the command of some events.
func (a *Applier) Decide(ctx context.Context, batch int, events ...model.Event) error {
	_, _, err := a.Run(ctx, batch, On(events...))
	return err
}

// Preview returns the decisions of a command on the stored state. It writes and sends nothing, and does
// not decide what follows.
func (a *Applier) Preview(ctx context.Context, batch int, c Command) ([]model.Decision, error) {
	_, decisions, err := a.decideOnce(ctx, batch, c, storeOnly)
	return decisions, err
}

// Run carries out every decision of the engine. For a command, and then for each event that
// follows, it loads the state, lets the engine decide, writes the decisions and sends their
// messages. An event that follows comes before the events behind it, with all that follows from it.
// Claims on entries of the cache are written before the decisions that make them.
//
// A process may die at any point. The message or request that began the work then comes again. Its
// decision, which now writes nothing, has the same messages and the same next events.
//
// Run returns the state after the first command, and its decisions, also with an error.
func (a *Applier) Run(ctx context.Context, batch int, c Command) (first *Snapshot, decisions []model.Decision, err error) {
	work := []Command{c}
	for len(work) > 0 {
		s, ds, err := a.attempt(ctx, batch, work[0]) // load, decide, write
		if first == nil {
			first, decisions = s, ds
		}
		if err == nil {
			err = a.send(s, ds)
		}
		if err == nil && !work[0].More {
			err = a.summarize(s, ds)
		}
		if err != nil {
			return first, decisions, err
		}
		work = append(s.next(ds), work[1:]...)
	}
	return first, decisions, nil
}

// attempt decides a command and writes the decisions. When another process has changed the state,
// attempt waits a little and decides again on the new state.
func (a *Applier) attempt(ctx context.Context, batch int, c Command) (s *Snapshot, decisions []model.Decision, err error) {
	from := memoryFirst
	err = store.RetryOnConflict(ctx, func() (err error) {
		s, decisions, err = a.decideCurrent(ctx, batch, c, from)
		if err == nil {
			err = a.write(s, decisions, c)
		}
		from, c.Prime = storeOnly, nil
		if smaller, ok := split(s.events); ok && errors.Is(err, store.ErrTooLarge) {
			c = smaller
			return fmt.Errorf("%w: %w", store.ErrChanged, err)
		}
		if errors.Is(err, model.ErrOutdated) {
			err = fmt.Errorf("%w: %w", store.ErrChanged, err)
		}
		if c.Once && errors.Is(err, store.ErrChanged) {
			return backoff.Permanent(err)
		}
		return err
	})
	return s, decisions, err
}

// decideCurrent decides a command on a new snapshot. If that shows that a remembered document is out of
// date, it decides again on the stored ones. No race is lost then: there is nothing to wait for.
func (a *Applier) decideCurrent(ctx context.Context, batch int, c Command, from source) (*Snapshot, []model.Decision, error) {
	s, decisions, err := a.decideOnce(ctx, batch, c, from)
	if errors.Is(err, errOutdated) {
		return a.decideOnce(ctx, batch, c, storeOnly)
	}
	return s, decisions, err
}

// decideOnce decides a command on a new snapshot.
func (a *Applier) decideOnce(ctx context.Context, batch int, c Command, from source) (*Snapshot, []model.Decision, error) {
	s := a.newSnapshot(ctx, batch, from)
	if c.Prime != nil {
		c.Prime(s)
	}
	decisions, err := a.decide(s, c)
	return s, decisions, err
}

// decide lets the engine decide the events of a command, each on what the events before it
// changed.
func (a *Applier) decide(s *Snapshot, c Command) (decisions []model.Decision, err error) {
	if s.events, err = c.Events(s); err != nil {
		if s.recalled && !errors.Is(err, errUnread) {
			return nil, errOutdated
		}
		return nil, err
	}
	for _, e := range s.events {
		d, err := engine.Decide(s, e, s.Now)
		switch outdated := err != nil || d.Stale || d.Repeated; {
		case errors.Is(err, errUnread):
			return nil, errUnread
		case s.recalled && outdated:
			return nil, errOutdated
		case err != nil:
			return decisions, err
		}
		if on, ok := e.(model.OnRun); ok && d.Stale {
			a.log.InfoContext(s.ctx, "event is out of date", logkey.BatchID, s.batch, logkey.Phase, on.Phase, logkey.MemberID, on.Member, logkey.EventType, fmt.Sprintf("%T", on.RunEvent))
		}
		s.apply(d.Writes)
		s.claim(d.Claims)
		decisions = append(decisions, d)
	}
	return decisions, nil
}

// write stores all that the decisions change in one transaction.
func (a *Applier) write(s *Snapshot, decisions []model.Decision, c Command) error {
	ops, err := a.operations(s, decisions, c)
	if err != nil || len(ops) == 0 {
		return err
	}
	if err := s.writeClaims(); err != nil {
		return err
	}
	applied, err := a.store.Apply(s.ctx, ops)
	return s.written(applied, err)
}

// operations returns the operations that store all that the decisions change.
func (a *Applier) operations(s *Snapshot, decisions []model.Decision, c Command) (store.Writes, error) {
	ops := append(s.writes(), a.stopWhenRecord(s)...)
	if c.Extra == nil {
		return ops, nil
	}
	extra, err := c.Extra(s, decisions)
	return append(ops, extra...), err
}

// next returns the commands of the events that follow from decisions.
func (s *Snapshot) next(decisions []model.Decision) (commands []Command) {
	for _, d := range decisions {
		for _, e := range d.Next {
			c := On(e)
			c.Prime = s.handOn(e, len(commands) == 0)
			commands = append(commands, c)
		}
	}
	return commands
}

// split returns the command that makes a page without starting its runs, for a page whose runs
// with their parameters do not fit into one write.
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
