// Package enginetest checks the stored state of a batch for consistency, and declares the state
// machines of the engine. The tests of the engine, the fault simulation and the explorer use it.
package enginetest

import (
	"fmt"
	"iter"

	"github.com/matoolkit/matoolkit/internal/model"
)

// Place is a page of members in a phase execution.
type Place struct{ Phase, Page int }

// CountRuns counts the runs of members as the shards of their phase executions must have them.
// The count is a shard that has reported.
func CountRuns(runs iter.Seq[*model.Run]) map[Place]model.Shard {
	counted := map[Place]model.Shard{}
	for run := range runs {
		if run.Member == 0 {
			continue
		}
		at := Place{run.Phase, run.Page}
		s := counted[at]
		s.Phase, s.Page, s.Reported = run.Phase, run.Page, true
		s.Runs++
		switch run.Status {
		case model.RunSucceeded:
			s.Succeeded++
		case model.RunFailed:
			s.Failed++
		case model.RunCancelled:
			s.Cancelled++
		default:
			s.Open++
		}
		counted[at] = s
	}
	return counted
}

// SameCount reports whether two shards count the same runs.
func SameCount(a, b model.Shard) bool {
	return a.Phase == b.Phase && a.Page == b.Page && a.Runs == b.Runs && a.Open == b.Open &&
		a.Succeeded == b.Succeeded && a.Failed == b.Failed && a.Cancelled == b.Cancelled
}

// Unfinished returns the problems of a run that must have ended: it must wait for nothing,
// and all its steps must have ended.
func Unfinished(run *model.Run) (problems []string) {
	if run.WakeAt != nil || run.DeadlineAt != nil || run.PausedAt != nil {
		problems = append(problems, fmt.Sprintf("the run has ended and still waits: %v %v %v", run.WakeAt, run.DeadlineAt, run.PausedAt))
	}
	if !run.Status.Terminal() {
		problems = append(problems, fmt.Sprintf("the run is %s", run.Status))
	}
	for i, s := range run.Steps {
		if !s.Status.Terminal() {
			problems = append(problems, fmt.Sprintf("step %d is %s", i, s.Status))
		}
	}
	return problems
}

// AwaitsJob reports whether a step of a run waits for the result of a job.
func AwaitsJob(run *model.Run, step int, jobID string) bool {
	return step < len(run.Steps) && run.AwaitsJob(step, jobID)
}

// Undoes reports whether a step of a run is a rollback or removal step. Such steps run in a
// cancelled batch, too.
func Undoes(run *model.Run, step int) bool {
	return run.Kind == model.KindRemoval || run.Steps[step].Rollback != ""
}
