package engine

import (
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// advance starts the phase of a manual batch that the caller names: the init sequence
// first, then each phase in order, one at a time. It starts that phase once. Asked again
// while that is the phase the batch was advanced to last, it repeats the first answer,
// because the first answer may have been lost: it never starts the phase after it.
func advance(b *model.Batch, e model.Advanced, now time.Time) (model.Decision, error) {
	phase := e.Phase
	current := b.Current()
	repeats := current != nil && current.Name == phase
	switch {
	case b.Cancelled != nil:
		return model.Decision{}, refuseEnded(b, "it cannot be advanced")
	case !b.Manual:
		return model.Decision{}, model.Refusef("batch %d follows its schedule: you can advance only a manual batch", b.ID)
	case repeats && (current.Status == model.PhaseDispatched || b.Next() != phase):
		d := model.Decision{Repeated: true}
		if current.Status == model.PhaseDispatched && !current.FannedOut && b.Paused == nil {
			d.Messages = []model.Message{model.Announce{Phase: current.ID, Page: 1}}
		}
		return d, nil
	case b.HasEnded():
		return model.Decision{}, refuseEnded(b, "it cannot be advanced")
	case b.Paused != nil:
		return model.Decision{}, model.Refusef("batch %d is paused by %s: resume it first", b.ID, b.Paused.By)
	}
	p, err := toAdvance(b, phase)
	if err != nil {
		return model.Decision{}, err
	}
	if p.SecondApprover && p.Approved != nil && p.Approved.By == e.By && e.By != "" {
		return model.Decision{}, model.RefuseCallerf("batch %d cannot be advanced to phase %q: it needs a second approver, and you approved it", b.ID, p.Name)
	}
	if b.StartTime == nil {
		b.StartTime = &now
	}
	dispatchPhase(b, p, now)
	return batchChanged(b, model.Announce{Phase: p.ID, Page: 1}), nil
}

// toAdvance finds the phase that an advance starts, which has to be the next one and ready.
func toAdvance(b *model.Batch, phase string) (*model.Phase, error) {
	for i := range b.Phases {
		p := &b.Phases[i]
		switch {
		case p.Status.Terminal() || p.Kind == model.KindRemoval || p.Kind == model.KindDetached:
			continue
		case p.Status == model.PhaseDispatched:
			return nil, model.Refusef("batch %d is still in phase %q: it can be advanced when %s", b.ID, p.Name, untilWhen(*p))
		case p.Name != phase:
			return nil, model.Refusef("phase %q is not the next one of batch %d: the next phase is %q%s", phase, b.ID, p.Name, lastAdvanced(b))
		}
		if reason := gateReason(b, p); reason != "" {
			return nil, model.Refusef("batch %d cannot be advanced to phase %q: %s", b.ID, p.Name, reason)
		}
		return p, nil
	}
	return nil, model.Refusef("batch %d has no remaining phase", b.ID)
}

// lastAdvanced says to which phase the batch was advanced last; empty where to none.
func lastAdvanced(b *model.Batch) string {
	if b.CurrentPhase == "" {
		return ""
	}
	return fmt.Sprintf(", and the last started phase is %q", b.CurrentPhase)
}

// untilWhen says until when a phase is under way.
func untilWhen(p model.Phase) string {
	switch {
	case p.Kind == model.KindInit:
		return "its init steps have ended"
	case p.OnCompleteStatus == model.RunRunning:
		return "its on_complete steps have ended"
	}
	return "all members of the phase have ended"
}
