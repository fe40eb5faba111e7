package engine

import "time"

// memberRemoved is the reason of what ends because its member was removed.
const memberRemoved = "the member was removed"

// leaves gives the event on the run that a removed member is in: the one of the removal
// steps starts, any other stops.
func (m *Member) leaves() []Event {
	switch {
	case m.Status != MemberRemoved || m.OpenPhase == 0:
		return nil
	case m.OpenPhase == m.Removal:
		return []Event{OnRun{m.OpenPhase, m.ID, RunStarted{}}}
	}
	return []Event{OnRun{m.OpenPhase, m.ID, RunStopped{Reason: memberRemoved}}}
}

// removalDue makes the run of a removed member's removal steps, where there are any, as
// the last that the member goes through, and starts it where the member is free. What the
// member is in stops.
func removalDue(s State, b *Batch, e RemovalDue, now time.Time) (Decision, error) {
	m, err := s.LoadMember(e.Member)
	if err != nil {
		return Decision{}, err
	}
	if m.Status != MemberRemoved {
		return Decision{}, refuse("member %d of batch %d is %s: it was not removed", m.ID, b.ID, m.Status)
	}
	if !m.Leaving {
		return Decision{Repeated: true, Next: m.leaves()}, nil
	}
	next := *m
	next.Leaving = false
	if next.Removal == 0 {
		return Decision{Writes: Writes{Members: []*Member{&next}}, Next: next.leaves()}, nil
	}
	p, ok := b.Phase(next.Removal)
	if !ok {
		return Decision{}, ErrOutdated // the batch was loaded before the member was removed
	}
	rb, err := s.LoadRunbook(b.Runbook, p.Version)
	if err != nil {
		return Decision{}, err
	}
	run, err := NewRun(b, *p, &next, rb, now)
	if err != nil {
		return Decision{}, err
	}
	next, free := Enter(next, p.ID)
	if !free {
		return Decision{Writes: Writes{Runs: []*Run{&run}, Members: []*Member{&next}}, Next: next.leaves()}, nil
	}
	return begin(s, rb, b.Gate(), &run, &next, now)
}
