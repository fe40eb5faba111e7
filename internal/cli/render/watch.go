package render

import (
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
)

// Progress is the state of a batch at a time. While the API is not reachable, Lost has the
// error and the other fields the last known state.
type Progress struct {
	At     time.Time
	Batch  api.Batch
	Phases []api.Phase
	Lost   error
}

// Idle reports whether nothing runs: the current phase has started and ended, and no other
// phase runs.
func Idle(p Progress) bool {
	begun := p.Batch.CurrentPhase == ""
	for _, phase := range p.Phases {
		if phase.Status == api.PhaseDispatched && phase.Kind != api.KindDetached && (phase.Kind != api.KindRemoval || phase.Running+phase.Waiting > 0) {
			return false
		}
		// A phase that a new version runs again is listed a second time, as pending.
		begun = begun || phase.Name == p.Batch.CurrentPhase && phase.Status != api.PhasePending
	}
	return begun && p.Batch.Status != api.BatchInitDispatched && p.Batch.Status != api.BatchCancelling
}

// Stopped reports whether a stop_when has paused the batch. Only a stop_when pauses as the
// system.
func Stopped(p Progress) bool {
	return p.Batch.Paused != nil && p.Batch.Paused.By == string(api.ActorSystem)
}

// Current returns the phase to which the batch was advanced last, of the newest version.
func Current(p Progress) (api.Phase, bool) {
	for i := len(p.Phases) - 1; i >= 0; i-- {
		if p.Phases[i].Name == p.Batch.CurrentPhase {
			return p.Phases[i], true
		}
	}
	return api.Phase{}, false
}

// Because adds a reason, if there is one.
func Because(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}

// Renderer returns how the console shows progress: not at all, as bars or as lines.
func (c *Printer) Renderer(untilIdle bool) Renderer {
	switch {
	case c.Quiet || c.Structured():
		return silent{}
	case c.Terminal && c.Getenv("TERM") != "dumb":
		return NewBars(c.Stdout, c.Width, c.colored())
	}
	return NewLines(c.Stdout, !untilIdle)
}
