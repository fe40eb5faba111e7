package runstate

import (
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// New makes the run of a member (nil for init and on_complete) in a phase
// execution. Retry, poll and deadline policies are fixed here, from the runbook
// version of the execution.
func New(b *model.Batch, p model.Phase, m *model.Member, rb *runbook.Runbook, now time.Time) (model.Run, error) {
	run := model.Run{
		Batch: b.ID, Phase: p.ID, Kind: p.Kind, PhaseName: p.Name, Runbook: b.Runbook, Version: p.Version,
		Status: model.RunWaiting, StartTime: b.StartTime, CreatedAt: now.UTC(),
	}
	switch {
	case m != nil:
		run.Member, run.Page, run.Key = m.ID, m.Page, m.Key
	case p.Kind == model.KindPhase:
		run.Kind, run.Counts = model.KindOnComplete, p.Counts
	}
	definitions, err := run.Definitions(rb, "")
	if err != nil {
		return model.Run{}, err
	}
	for i, d := range definitions {
		run.Steps = append(run.Steps, newStep(rb, d, "", i))
	}
	return run, nil
}

// newStep makes a step of a run, or of one of its rollbacks.
func newStep(rb *runbook.Runbook, d runbook.Step, rollback string, place int) model.Step {
	retry := rb.EffectiveRetry(d)
	step := model.Step{
		Name: d.Name, Rollback: rollback, Place: place, WorkerID: d.WorkerID, Function: d.Function, Status: model.StepPending,
		OnFailure: d.OnFailure, Timeout: d.Timeout, MaxRetries: retry.MaxRetries, RetryInterval: retry.Interval,
		Backoff: retry.Backoff, MaxInterval: retry.MaxInterval, Jitter: retry.Jitter,
	}
	if d.Poll != nil {
		step.PollInterval, step.PollTimeout = d.Poll.Interval, d.Poll.Timeout
	}
	return step
}
