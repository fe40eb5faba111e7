package engine

import (
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/model"
)

// onMemberLeft removes a member: the work under way ends, and the runbook's removal
// steps run. While the batch is being filled they do not: no phase has begun, so
// there is nothing to undo, and the member is shown as
// removed without a removal.
func onMemberLeft(s model.State, b *model.Batch, e model.MemberLeft, now time.Time) (model.Decision, error) {
	rb, err := s.LoadRunbook(b.Runbook, b.Version)
	if err != nil {
		return model.Decision{}, err
	}
	loaded, err := s.LoadMember(e.Member)
	if err != nil {
		return model.Decision{}, err
	}
	m := *loaded
	switch {
	case m.Status == model.MemberRemoved && m.Moves():
		return model.Decision{Repeated: true, Messages: openIfEmpty(b, now)}, nil
	case m.Status == model.MemberRemoved:
		return model.Decision{Repeated: true, Messages: append([]model.Message{model.Remove{Member: &m}}, openIfEmpty(b, now)...)}, nil
	case b.HasEnded():
		return model.Decision{}, refuseEnded(b, "no member can be "+leavingWord(e))
	case e.Move != (model.Move{}) && !slices.Contains(b.Moves, e.Move):
		return model.Decision{}, model.Refusef("stays in batch %d: the move to batch %d has passed the page of %s: move it again", b.ID, e.Move.To, m.Label())
	case m.Status == model.MemberFailed && e.Move != (model.Move{}):
		return model.Decision{}, refuseFailedMove(&m)
	case m.Status == model.MemberFailed:
		return model.Decision{}, model.Refusef("member %d has failed and takes no part in later phases; to remove it, retry it first", m.ID)
	}
	m.Status, m.RemovedAt, m.RemovedBy, m.Leaving = model.MemberRemoved, &now, e.By, true
	b.Removed++
	if e.MovesTo != nil || e.Move != (model.Move{}) { // nothing is undone, and the phase that the member is in ends first
		if e.MovesTo != nil {
			to := e.MovesTo.UTC()
			m.MovedTo = &to
		}
		m.MovedToBatch, m.MoveTask, m.Leaving = e.Move.To, e.Move.Task, false
		d := batchChanged(b, openIfEmpty(b, now)...)
		d.Members = []*model.Member{&m}
		return d, nil
	}
	d := batchChanged(b, append([]model.Message{model.Remove{Member: &m}}, openIfEmpty(b, now)...)...)
	d.Members = []*model.Member{&m}
	if b.Filling || len(rb.OnMemberRemoved) == 0 {
		runstate.EraseSecretsIfOver(&m, rb.Secret)
		return d, nil
	}
	m.Removal = removalPhase(b, now)
	p := &b.Phases[m.Removal-1]
	reopenPhase(p) // a batch that ended and goes on has it as ended
	p.Open++
	return d, nil
}

// leavingWord says how a member goes.
func leavingWord(e model.MemberLeft) string {
	if e.Move != (model.Move{}) {
		return "moved"
	}
	return "removed"
}

// openIfEmpty opens the gate that a phase waits at when the last member has left the batch, and
// announces the phase: there is no one left to wait for.
func openIfEmpty(b *model.Batch, now time.Time) []model.Message {
	if !b.Empty() {
		return nil
	}
	updateWaitingReason(b, now)
	return NextDue(b, now)
}

// removalPhase returns the execution of the removal steps for the batch's version, which
// the first removed member creates.
func removalPhase(b *model.Batch, now time.Time) int {
	for _, p := range b.Phases {
		if p.Kind == model.KindRemoval && p.Version == b.Version {
			return p.ID
		}
	}
	b.Phases = append(b.Phases, model.Phase{
		ID: len(b.Phases) + 1, Kind: model.KindRemoval, Name: "on_member_removed", Version: b.Version,
		Status: model.PhaseDispatched, DispatchedAt: &now, FannedOut: true,
	})
	return len(b.Phases)
}

// onRemovalDue makes the run of a removed member's removal steps, where there are any, as
// the last that the member goes through, and starts it where the member is free. What the
// member is in stops.
func onRemovalDue(s model.State, b *model.Batch, e model.RemovalDue, now time.Time) (model.Decision, error) {
	m, err := s.LoadMember(e.Member)
	if err != nil {
		return model.Decision{}, err
	}
	if m.Status != model.MemberRemoved {
		return model.Decision{}, model.Refusef("member %d of batch %d is %s: it was not removed", m.ID, b.ID, m.Status)
	}
	if !m.Leaving {
		return model.Decision{Repeated: true, Next: runstate.RemovalEvents(m)}, nil
	}
	next := *m
	next.Leaving = false
	if next.Removal == 0 {
		return model.Decision{Writes: model.Writes{Members: []*model.Member{&next}}, Next: runstate.RemovalEvents(&next)}, nil
	}
	p, ok := b.Phase(next.Removal)
	if !ok {
		return model.Decision{}, model.ErrOutdated // the batch was loaded before the member was removed
	}
	rb, err := s.LoadRunbook(b.Runbook, p.Version)
	if err != nil {
		return model.Decision{}, err
	}
	run, err := runstate.New(b, *p, &next, rb, now)
	if err != nil {
		return model.Decision{}, err
	}
	next, free := runstate.Enter(next, p.ID)
	if !free {
		return model.Decision{Writes: model.Writes{Runs: []*model.Run{&run}, Members: []*model.Member{&next}}, Next: runstate.RemovalEvents(&next)}, nil
	}
	return runstate.Begin(s, rb, b.DispatchMode(), &run, &next, now)
}
