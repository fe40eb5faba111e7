package apiview

import (
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// Joins gives the phases of a runbook that added members take part in, and how many jobs they have
// there at most, without polls and retries. Takes reports whether the batch has a phase for them.
func Joins(rb *runbook.Runbook, members int, takes func(phase string) bool) (phases []api.PhasePreview, jobs int) {
	phases = []api.PhasePreview{}
	add := func(name string, steps int) {
		if n := members * steps; n > 0 {
			phases = append(phases, api.PhasePreview{Phase: name, Effect: api.EffectJoins, Members: members, Jobs: n})
			jobs += n
		}
	}
	add(runbook.ChecksName, len(rb.Checks))
	for _, p := range rb.Phases {
		if takes(p.Name) {
			add(p.Name, len(p.Steps))
		}
	}
	return phases, jobs
}
