package runstate

import (
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// New makes the run of a member (nil for init, on_complete and detached steps) in a phase
// execution. Its steps follow the runbook version of the execution.
func New(b *model.Batch, p model.Phase, m *model.Member, rb *runbook.Runbook, now time.Time) (model.Run, error) {
	run := model.Run{
		Batch: b.ID, Phase: p.ID, Kind: p.Kind, PhaseName: p.Name, Runbook: b.Runbook, Version: p.Version,
		Status: model.RunWaiting, StartTime: b.StartTime, Owner: b.Owner, Shadow: b.IsShadow(), CreatedAt: now.UTC(),
	}
	if b.Requested != nil && b.Requested.Force {
		run.NotBefore = b.StartTime
	}
	switch {
	case m != nil:
		run.Member, run.Page, run.Key = m.ID, m.Page, m.Key
	case p.Kind == model.KindPhase:
		run.Kind, run.Counts = model.KindOnComplete, p.Counts
	case p.Kind == model.KindDetached:
		run.Counts, run.Of = p.Counts, p.Of
		if of, ok := b.Phase(p.Of); ok {
			run.PhaseName = of.Name
		}
	}
	definitions, err := run.Definitions(rb, "")
	if err != nil {
		return model.Run{}, err
	}
	for range definitions {
		run.Steps = append(run.Steps, model.Step{Status: model.StepPending})
	}
	return run, nil
}
