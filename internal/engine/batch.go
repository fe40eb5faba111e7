package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// NewBatch makes a batch with its phase executions, all pending. A nil start is a
// manual batch: its phases have no due time. The init sequence, where the runbook
// has one, is the first execution.
func NewBatch(id int, rb *runbook.Runbook, version, members int, start *time.Time, by string, now time.Time) Batch {
	b := Batch{
		ID: id, Runbook: rb.Name, Version: version, Status: BatchActive, Manual: start == nil,
		CreatedBy: by, StartTime: start, DetectedAt: now.UTC(), Members: members,
	}
	if len(rb.Init) > 0 {
		b.Status = BatchDetected
		b.Phases = append(b.Phases, Phase{ID: 1, Kind: KindInit, Name: "init", Version: version, Status: PhasePending})
	}
	for _, p := range rb.Phases {
		execution := Phase{
			ID: len(b.Phases) + 1, Kind: KindPhase, Name: p.Name, Version: version,
			OffsetMinutes: p.Offset.Minutes(), Status: PhasePending,
		}
		if start != nil {
			due := p.Offset.DueAt(*start)
			execution.DueAt = &due
		}
		b.Phases = append(b.Phases, execution)
	}
	return b
}

// Phase finds a phase execution by its id, which is its place.
func (b *Batch) Phase(id int) (*Phase, bool) {
	if id < 1 || id > len(b.Phases) {
		return nil, false
	}
	return &b.Phases[id-1], true
}

// Remaining names the phases that have not been dispatched, in order.
func (b *Batch) Remaining() []string {
	var names []string
	for _, p := range b.Phases {
		if p.Status == PhasePending {
			names = append(names, p.Name)
		}
	}
	return names
}

func (b *Batch) clone() *Batch {
	c := *b
	c.Phases = slices.Clone(b.Phases)
	return &c
}

func decideBatch(s State, e Event, now time.Time) (Decision, error) {
	b := s.Batch.clone()
	switch e := e.(type) {
	case Advanced:
		return advance(b, now)
	case PhaseDue:
		return phaseDue(b, e.Phase, now)
	case PhaseWalked:
		p, ok := b.Phase(e.Phase)
		if !ok || p.Status != PhaseDispatched {
			return Decision{Stale: true}, nil
		}
		p.Walked, p.Shards = true, e.Pages
		settle(b, now)
		return Decision{Batch: b, Effects: NextDue(b, now)}, nil
	case PhaseCounted:
		if !settle(b, now) {
			return Decision{Stale: true}, nil
		}
		return Decision{Batch: b}, nil
	}
	return Decision{}, fmt.Errorf("engine: %T does not concern a batch", e)
}

// advance moves a manual batch on: to its init sequence first, then to each phase
// in order, one at a time.
func advance(b *Batch, now time.Time) (Decision, error) {
	if b.Status.Terminal() {
		return Decision{}, refuse("batch %d has ended (%s): it cannot be advanced", b.ID, b.Status)
	}
	if !b.Manual {
		return Decision{}, refuse("batch %d follows its schedule: only a manual batch is advanced by hand", b.ID)
	}
	for i := range b.Phases {
		p := &b.Phases[i]
		switch {
		case p.Status.Terminal():
			continue
		case p.Status == PhaseDispatched && !p.Walked:
			return Decision{Repeated: true, Effects: []Effect{Announce{Phase: p.ID}}}, nil
		case p.Status == PhaseDispatched:
			return Decision{}, refuse("batch %d is still in phase %q: it can be advanced when %s", b.ID, p.Name, underWay(*p))
		}
		if b.StartTime == nil {
			b.StartTime = &now
		}
		dispatch(b, p, now)
		return Decision{Batch: b, Effects: []Effect{Announce{Phase: p.ID}}}, nil
	}
	return Decision{}, refuse("batch %d has no phase left to advance to", b.ID)
}

func underWay(p Phase) string {
	if p.Kind == KindInit {
		return "its init steps have ended"
	}
	return "all its members have ended there"
}

// phaseDue dispatches a phase whose time has come. While the init sequence runs,
// or an earlier phase that is due has not reached all members, it stays pending:
// what it waits for announces it in the end (see NextDue).
func phaseDue(b *Batch, id int, now time.Time) (Decision, error) {
	p, ok := b.Phase(id)
	if !ok {
		return Decision{}, refuse("batch %d has no phase execution %d", b.ID, id)
	}
	switch {
	case p.Status == PhaseDispatched && !p.Walked:
		return Decision{Repeated: true}, nil
	case p.Status != PhasePending, b.Status.Terminal():
		return Decision{Stale: true}, nil
	case p.Kind == KindPhase && (b.Status != BatchActive || held(b, p, now)):
		return Decision{Stale: true}, nil
	}
	dispatch(b, p, now)
	return Decision{Batch: b}, nil
}

func dispatch(b *Batch, p *Phase, now time.Time) {
	p.Status, p.DispatchedAt = PhaseDispatched, &now
	if p.Kind == KindInit {
		b.Status, b.InitDispatchedAt = BatchInitDispatched, &now
	}
	b.CurrentPhase = p.Name
}

// settle ends the phases whose runs have all ended and the batch whose phases
// have, and tells whether anything changed.
func settle(b *Batch, now time.Time) bool {
	changed := false
	for i := range b.Phases {
		p := &b.Phases[i]
		if p.Kind != KindPhase || p.Status != PhaseDispatched || !p.Walked || p.ShardsClosed < p.Shards {
			continue
		}
		p.CompletedAt = &now
		switch {
		case p.Succeeded > 0:
			p.Status = PhaseCompleted
		default:
			p.Status = PhaseFailed
			if p.Failed == 0 {
				p.Reason = "no active member was left to take part"
			}
		}
		changed = true
	}
	return settleBatch(b, now) || changed
}

func settleBatch(b *Batch, now time.Time) bool {
	if b.Status.Terminal() || b.Status != BatchActive {
		return false
	}
	var completed bool
	var failed []string
	for _, p := range b.Phases {
		if !p.Status.Terminal() {
			return false
		}
		if p.Kind == KindPhase && p.Status == PhaseCompleted {
			completed = true
		}
		if p.Status == PhaseFailed {
			failed = append(failed, p.Name)
		}
	}
	b.CompletedAt = &now
	b.Status = BatchCompleted
	if !completed {
		b.Status = BatchFailed
		b.Error = "no phase completed; failed: " + strings.Join(failed, ", ")
	}
	return true
}

// endInit carries the end of the init sequence over to the batch.
func endInit(b *Batch, run *Run, now time.Time) []Effect {
	p, ok := b.Phase(run.Phase)
	if !ok || p.Status != PhaseDispatched {
		return nil
	}
	p.Walked, p.CompletedAt = true, &now
	if run.Status != RunSucceeded {
		p.Status, p.Reason = PhaseFailed, run.Error
		b.Status, b.CompletedAt, b.Error = BatchFailed, &now, "init failed: "+run.Error
		return nil
	}
	p.Status = PhaseCompleted
	b.Status = BatchActive
	return NextDue(b, now)
}

// NextDue announces the first phase that is due and was held up until now: by the
// init sequence, or by an earlier phase that was still being walked.
func NextDue(b *Batch, now time.Time) []Effect {
	if b.Status != BatchActive {
		return nil
	}
	var first *Phase
	begun := 0
	for i := range b.Phases {
		p := &b.Phases[i]
		if p.Status != PhasePending {
			begun++
		} else if due(p, now) && (first == nil || before(p, first)) {
			first = p
		}
	}
	if first == nil || held(b, first, now) {
		return nil
	}
	return []Effect{Announce{Phase: first.ID, Begun: begun}}
}

func due(p *Phase, now time.Time) bool { return p.DueAt != nil && !p.DueAt.After(now) }

// before tells whether members go through p before q.
func before(p, q *Phase) bool {
	if p.DueAt != nil && q.DueAt != nil && !p.DueAt.Equal(*q.DueAt) {
		return p.DueAt.Before(*q.DueAt)
	}
	return p.ID < q.ID
}

// held tells whether a phase must wait because one before it is due, or was not
// advanced to, and has not been walked to the end: members would enter the two in
// the wrong order.
func held(b *Batch, p *Phase, now time.Time) bool {
	for i := range b.Phases {
		q := &b.Phases[i]
		if q.Kind != KindPhase || !before(q, p) {
			continue
		}
		if q.Status == PhasePending && (q.DueAt == nil || due(q, now)) || q.Status == PhaseDispatched && !q.Walked {
			return true
		}
	}
	return false
}

func refuse(format string, args ...any) *Refusal {
	return &Refusal{Reason: fmt.Sprintf(format, args...)}
}
