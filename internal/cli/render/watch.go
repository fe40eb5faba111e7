package render

import (
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
)

// Progress is where a batch stands at one moment. While the API cannot be reached,
// Lost says why and the rest is what was last seen.
type Progress struct {
	At     time.Time
	Batch  api.Batch
	Phases []api.Phase
	Lost   error
}

// Idle tells whether nothing runs: the phase that was advanced to has ended, even if
// it was announced a moment ago and has not yet begun, and no other has begun.
func Idle(p Progress) bool {
	begun := p.Batch.CurrentPhase == ""
	for _, phase := range p.Phases {
		if phase.Status == api.PhaseDispatched && (phase.Kind != api.KindRemoval || phase.Running+phase.Waiting > 0) {
			return false
		}
		// Of a phase that a new version runs again there is one more that is pending.
		begun = begun || phase.Name == p.Batch.CurrentPhase && phase.Status != api.PhasePending
	}
	return begun && p.Batch.Status != api.BatchInitDispatched && p.Batch.Status != api.BatchCancelling
}

// Stopped reports whether a stop_when has paused the batch: the phase does not end before
// a person has looked at the failures. Only a stop_when pauses as the system.
func Stopped(p Progress) bool {
	return p.Batch.Paused != nil && p.Batch.Paused.By == string(api.ActorSystem)
}

// Current is the phase that the batch was last advanced to, of the newest version.
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

// Renderer is how the console shows progress: not at all, as bars or as lines.
func (c *Printer) Renderer(untilIdle bool) Renderer {
	switch {
	case c.Quiet || c.Structured():
		return silent{}
	case c.Terminal && c.Getenv("TERM") != "dumb":
		return NewBars(c.Stdout, c.Width, c.colored())
	}
	return NewLines(c.Stdout, !untilIdle)
}
