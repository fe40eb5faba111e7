package engine

import (
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// onVersionPublished changes a batch to a newer version of its runbook: the new
// version's phases supersede the pending ones. Phases under way end under the
// version that began them.
//
// A phase is past due where its time has come or, in a batch that is manual or was
// rescheduled, where the batch has been in it. Such a phase is skipped, unless rerun is requested, or the phase that
// it replaces was due and still waited, or was cancelled because init failed: no member
// has completed that one. A batch that ended once keeps its version, also when a retry opens it again, and so
// does one that a request started: its items were checked under that version.
//
// A batch that is still being filled behaves as if created with the newer version:
// no phase has begun, so none is skipped, and neither is init.
func onVersionPublished(s model.State, b *model.Batch, e model.VersionPublished, now time.Time) (model.Decision, error) {
	if b.Ended || b.HasEnded() || b.Requested != nil || e.Version <= b.Version {
		return model.Decision{Stale: true}, nil
	}
	rb, err := s.LoadRunbook(b.Runbook, e.Version)
	if err != nil {
		return model.Decision{}, err
	}
	initPending := b.Filling || pendingInit(b) != nil || failureBeforePhases(b) != ""
	passed, waited := supersede(b, e.Version, now)
	b.Version, b.Error = e.Version, ""
	if len(rb.Init) > 0 && (initPending || e.RerunInit) {
		addInit(b, e.Version)
		if b.Status == model.BatchActive {
			b.Status = model.BatchDetected
		}
	} else if b.Status == model.BatchDetected && !b.Filling {
		b.Status = model.BatchActive
	}
	first := len(b.Phases) // never 0: the version before had phases
	addPhases(b, rb, e.Version)
	if e.Rerun {
		for i := first; i < len(b.Phases); i++ {
			b.Phases[i].Rerun = passed[b.Phases[i].Name]
		}
	}
	if !e.Rerun && !b.Filling {
		skipPastDue(b, first, passed, waited, now)
	}
	_, f := endPhases(b, now)
	d := batchChanged(b)
	if len(rb.Checks) > 0 && b.Checks == nil {
		b.Checks = &model.Checks{Task: fmt.Sprintf("version-%d", e.Version), At: now}
		d.Messages = checksDue(b)
	}
	appendFollowUp(&d, f)
	return d, nil
}

// supersede ends the phases that are pending, in whose place those of a newer version come. By
// name, passed are the phases that the batch has been in or has skipped, and waited those that
// were due and had not begun.
func supersede(b *model.Batch, version int, now time.Time) (passed, waited map[string]bool) {
	passed, waited = map[string]bool{}, map[string]bool{}
	for i := range b.Phases {
		p := &b.Phases[i]
		passed[p.Name] = passed[p.Name] || p.Kind == model.KindPhase && (p.DispatchedAt != nil || p.Status == model.PhaseSkipped)
		if p.Kind == model.KindPhase && (p.Status == model.PhasePending || cancelledBeforeStart(b, p)) {
			waited[p.Name] = due(p, now)
		}
		if p.Status == model.PhasePending {
			p.Status, p.CompletedAt, p.Reason = model.PhaseSuperseded, &now, fmt.Sprintf("superseded by version %d", version)
		}
	}
	return passed, waited
}

// skipPastDue skips the new version's phases, which begin at an index, that are past due.
func skipPastDue(b *model.Batch, first int, passed, waited map[string]bool, now time.Time) {
	for i := first; i < len(b.Phases); i++ {
		p := &b.Phases[i]
		if !waited[p.Name] && (due(p, now) || passed[p.Name] && (b.Manual || b.Rescheduled != nil)) {
			p.Status, p.CompletedAt, p.Reason = model.PhaseSkipped, &now, fmt.Sprintf("past due when version %d was published", b.Version)
		}
	}
}

// Succession lists the changes that a newer version of its runbook makes to a batch:
// to its phases, by name and in order, and to its init steps.
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
func Foresee(b *model.Batch, rb *runbook.Runbook, e model.VersionPublished, now time.Time) (Succession, error) {
	d, err := Decide(model.MemoryState{Batch: b, Runbook: rb}, e, now)
	if err != nil {
		return Succession{}, err
	}
	if d.Batch == nil {
		return Succession{Stays: staysReason(b, e.Version)}, nil
	}
	return succession(d.Batch, len(b.Phases)), nil
}

// succession reads what became of a batch from its executions, of which there were so
// many before.
func succession(b *model.Batch, before int) Succession {
	s := Succession{Ends: b.Status.Terminal()}
	begun, init := map[string]bool{}, false
	superseded := fmt.Sprintf("superseded by version %d", b.Version)
	for _, p := range b.Phases[:before] {
		switch {
		case p.Kind == model.KindRemoval, p.Kind == model.KindDetached:
			continue
		case p.Status == model.PhaseSuperseded && p.Reason == superseded:
			s.Superseded = append(s.Superseded, p.Name)
		case p.Status == model.PhaseDispatched:
			s.UnderWay = append(s.UnderWay, p.Name)
		}
		if p.DispatchedAt != nil {
			begun[p.Name] = begun[p.Name] || p.Kind == model.KindPhase
			init = init || p.Kind == model.KindInit
		}
	}
	for _, p := range b.Phases[before:] {
		switch {
		case p.Kind == model.KindDetached: // of a phase that ends with this decision
		case p.Kind == model.KindInit:
			s.Init, s.InitAgain = true, init
		case p.Status == model.PhaseSkipped:
			s.Skipped = append(s.Skipped, p.Name)
		case begun[p.Name]:
			s.Again = append(s.Again, p.Name)
		default:
			s.Pending = append(s.Pending, p.Name)
		}
	}
	return s
}

// staysReason tells why a batch does not follow a version.
func staysReason(b *model.Batch, version int) string {
	switch {
	case b.Status == model.BatchCancelling:
		return "it is being cancelled"
	case b.Status.Terminal():
		return fmt.Sprintf("it has ended (%s)", b.Status)
	case b.Ended:
		return "it had ended, and a retry reopened it"
	case b.Requested != nil:
		return "a request started it, and its items were checked under its version"
	case b.Version >= version:
		return fmt.Sprintf("it follows version %d already", b.Version)
	}
	return ""
}
