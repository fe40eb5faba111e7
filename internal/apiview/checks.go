package apiview

import (
	"cmp"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// Check converts a step of the run of a member's checks. rb is the run's version of the runbook.
func Check(b *model.Batch, rb *runbook.Runbook, r *model.Run, index int) (api.Check, error) {
	definition, err := r.Definition(rb, index)
	if err != nil {
		return api.Check{}, err
	}
	s := r.Steps[index]
	view := api.Check{
		MemberID: r.Member, MemberKey: r.Key, Name: definition.Name, Status: checkStatus(b, s.Status), Required: definition.Require, Error: s.Error,
		WorkerID: definition.WorkerID, Function: cmp.Or(s.Function, definition.Function), RunbookVersion: r.Version, StepID: r.StepID(index),
	}
	if s.Status.Terminal() {
		view.CheckedAt = s.CompletedAt
	}
	return view, nil
}

// checkStatus gives the status of a check. In a batch that has ended, nothing ends a check any more.
func checkStatus(b *model.Batch, s model.StepStatus) string {
	switch {
	case s == model.StepSucceeded:
		return api.CheckPassed
	case s.Failed():
		return api.CheckFailed
	case s == model.StepSkipped || s == model.StepSkippedByCondition:
		return api.CheckSkipped
	case s == model.StepCancelled || b.Status.Terminal():
		return api.CheckNotRun
	}
	return api.CheckRunning
}
