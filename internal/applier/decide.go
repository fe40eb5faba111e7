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
	// More leaves the summary of the batch to the caller, or to a command that comes next.
	More bool
	// Prime gives the snapshot of the first attempt documents that the caller has just read; nil:
	// none.
	Prime func(*Snapshot)

	apart bool // what follows from it is decided in writes of its own
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
	c.apart = true
	_, decisions, err := a.decideOnce(ctx, batch, c, storeOnly)
	return decisions, err
}

// Run carries out every decision of the engine. For a command, and then for each event that
// follows, it loads the state, lets the engine decide, writes the decisions and sends their
// messages. An event that follows comes before the events behind it, with all that follows from it.
// Claims on entries of the cache are written before the decisions that make them. An event that follows
// from a change of the batch alone shares the write of the change: see decideOn.
//
// A process may die at any point. The message or request that began the work then comes again. Its
// decision, which now writes nothing, has the same messages and the same next events. Commands that
// follow each other share one write of the batch's summary, the last.
//
// Run returns the state after the first command, and its decisions, also with an error: first one for each event, and
// then those that share their write.
func (a *Applier) Run(ctx context.Context, batch int, c Command) (first *Snapshot, decisions []model.Decision, err error) {
	var changed *model.Batch // whose summary is not written yet
	work := []Command{c}
	for len(work) > 0 {
		s, ds, err := a.attempt(ctx, batch, work[0]) // load, decide, write
		if first == nil {
			first, decisions = s, ds
		}
		if err == nil {
			err = a.send(s, ds)
		}
		if err == nil && !work[0].More && a.needsSummary(s, ds) {
			changed = s.After()
		}
		if err != nil {
			return first, decisions, errors.Join(err, a.summarize(ctx, changed))
		}
		work = append(s.next(ds), work[1:]...)
	}
	return first, decisions, a.summarize(ctx, changed)
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
		if next, ok := smaller(c, s, decisions); ok && errors.Is(err, store.ErrTooLarge) {
			c = next
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
		d, err := a.decideEvent(s, e)
		if err != nil {
			return decisions, err
		}
		s.apply(d.Writes)
		s.claim(d.Claims)
		decisions = append(decisions, d)
	}
	if len(s.events) == 1 && c.Extra == nil && !c.apart {
		return a.decideOn(s, decisions)
	}
	return decisions, nil
}

// decideEvent lets the engine decide an event on a snapshot.
func (a *Applier) decideEvent(s *Snapshot, e model.Event) (model.Decision, error) {
	d, err := engine.Decide(s, e, s.Now)
	switch outdated := err != nil || d.Stale || d.Repeated; {
	case errors.Is(err, errUnread):
		return model.Decision{}, errUnread
	case s.recalled && outdated:
		return model.Decision{}, errOutdated
	case err != nil:
		return model.Decision{}, err
	}
	if on, ok := e.(model.OnRun); ok && d.Stale {
		a.log.InfoContext(s.ctx, "event is out of date", logkey.BatchID, s.batch, logkey.Phase, on.Phase, logkey.MemberID, on.Member, logkey.EventType, fmt.Sprintf("%T", on.RunEvent))
	}
	return d, nil
}

// decideOn decides the first event that follows from the last decision, and so on, while the decision before
// changes the batch and does nothing else: its write guards the batch for both, and no message has to be sent
// in between. An event that cannot be decided so is left to a command of its own.
func (a *Applier) decideOn(s *Snapshot, decisions []model.Decision) ([]model.Decision, error) {
	for {
		last := decisions[len(decisions)-1]
		if !changesBatchOnly(last) || len(last.Next) == 0 {
			return decisions, nil
		}
		e := last.Next[0]
		s.assumeBegun(e)
		d, err := a.decideEvent(s, e)
		switch {
		case errors.Is(err, errUnread), errors.Is(err, errOutdated):
			return nil, err
		case err != nil || len(d.Counts) > 0: // a counter of the batch has no version to go on with
			return decisions, nil
		}
		s.apply(d.Writes)
		s.claim(d.Claims)
		s.after = append(slices.Clone(last.Next[1:]), s.after...)
		decisions = append(decisions, d)
	}
}

// changesBatchOnly reports whether a decision changes the batch, and nothing else follows from it than events.
func changesBatchOnly(d model.Decision) bool {
	others := len(d.Runs) + len(d.Members) + len(d.Shards) + len(d.Counts) + len(d.Claims) + len(d.Messages)
	return d.Batch != nil && others == 0 && !d.Stale && !d.Repeated
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

// next returns the commands of the events that follow from decisions and are not decided with them.
func (s *Snapshot) next(decisions []model.Decision) (commands []Command) {
	var events []model.Event
	if len(decisions) > len(s.events) { // each but the last is followed by the next one, and by s.after
		decisions = decisions[len(decisions)-1:]
	}
	for _, d := range decisions {
		events = append(events, d.Next...)
	}
	events = append(events, s.after...)
	for i := 0; i < len(events); i++ {
		e := events[i]
		c := On(e)
		if i+1 < len(events) && isFirstPage(e, events[i+1]) {
			e = events[i+1]
			c = On(events[i], e)
			i++
		}
		c.Prime = s.handOn(e, events[:i])
		commands = append(commands, c)
	}
	return commands
}

// isFirstPage reports whether the first page of a phase is fanned out once it is sent: one write has both. That a later
// page is sent must be stored before the yields of the pages before it are read: see announceYielded of package engine.
func isFirstPage(sent, fannedOut model.Event) bool {
	first, ok := sent.(model.PageSent)
	then, follows := fannedOut.(model.PageFannedOut)
	return ok && follows && first.Phase == then.Phase && first.Page == then.Page && first.Page == 1
}

// smaller returns the command of a smaller write, for decisions that do not fit into one: without those that
// follow from the command, or a page without starting its runs.
func smaller(c Command, s *Snapshot, decisions []model.Decision) (Command, bool) {
	if len(decisions) > len(s.events) {
		c.apart = true
		return c, true
	}
	return split(s.events)
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
