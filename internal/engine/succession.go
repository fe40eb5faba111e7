package engine

import (
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// Succession is what a newer version of its runbook makes of a batch: of its phases,
// by name and in their order, and of its init steps.
type Succession struct {
	Stays      string   // why the batch stays with its version; empty when it follows
	UnderWay   []string // what has begun under an older version and ends under it
	Superseded []string // what had not begun, in whose place the newer version's phases come
	Skipped    []string // phases of the newer version that are past due
	Again      []string // phases of the newer version that are still to come, though the batch has been in them
	Pending    []string // the other phases of the newer version that are still to come
	Init       bool     // the newer version's init steps are still to come
	InitAgain  bool     // though the batch has begun its init steps before
	Ends       bool     // nothing is left to do: the batch ends
}

// Foresee tells what a newer version would make of a batch if it were published now,
// as [Decide] takes it: nothing is changed.
func Foresee(b *Batch, rb *runbook.Runbook, e VersionPublished, now time.Time) (Succession, error) {
	d, err := Decide(Snapshot{Batch: b, Runbook: rb}, e, now)
	if err != nil {
		return Succession{}, err
	}
	if d.Batch == nil {
		return Succession{Stays: b.stays(e.Version)}, nil
	}
	return succession(d.Batch, len(b.Phases)), nil
}

// succession reads what became of a batch from its executions, of which there were so
// many before.
func succession(b *Batch, before int) Succession {
	s := Succession{Ends: b.Status.Terminal()}
	begun, init := map[string]bool{}, false
	superseded := fmt.Sprintf("superseded by version %d", b.Version)
	for _, p := range b.Phases[:before] {
		switch {
		case p.Kind == KindRemoval:
			continue
		case p.Status == PhaseSuperseded && p.Reason == superseded:
			s.Superseded = append(s.Superseded, p.Name)
		case p.Status == PhaseDispatched:
			s.UnderWay = append(s.UnderWay, p.Name)
		}
		if p.DispatchedAt != nil {
			begun[p.Name] = begun[p.Name] || p.Kind == KindPhase
			init = init || p.Kind == KindInit
		}
	}
	for _, p := range b.Phases[before:] {
		switch {
		case p.Kind == KindInit:
			s.Init, s.InitAgain = true, init
		case p.Status == PhaseSkipped:
			s.Skipped = append(s.Skipped, p.Name)
		case begun[p.Name]:
			s.Again = append(s.Again, p.Name)
		default:
			s.Pending = append(s.Pending, p.Name)
		}
	}
	return s
}

// stays tells why a batch does not follow a version.
func (b *Batch) stays(version int) string {
	switch {
	case b.Status == BatchCancelling:
		return "it is being cancelled"
	case b.Status.Terminal():
		return fmt.Sprintf("it has ended (%s)", b.Status)
	case b.Ended:
		return "it had ended, and only a retry opened it again"
	case b.Version >= version:
		return fmt.Sprintf("it follows version %d already", b.Version)
	}
	return ""
}
