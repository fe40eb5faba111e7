package runstate

import (
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// ended is how a run ended that is to be retried.
type ended struct {
	steps   []runbook.Step // of the version that it followed
	version int
	done    map[string]bool // by name, the steps that a retry does not do again
	undone  bool            // a rollback undid what came before the step that failed
}

// retryPlan is which steps of a version a retry does.
type retryPlan struct {
	first int    // the step that it begins with; the number of steps if none is left
	todo  []bool // for each step of the version
}

// Failure is where the run of a member failed, by the names of its runbook.
type Failure struct {
	Phase, Step string
	Version     int
	Undone      bool // its rollback undid what came before the step
}

// PlanRetry foresees a retry of the runs that failed in the same way, by a version and with the
// step from. was and is are the steps of the version in which they failed and of that version. It
// returns the names of the steps to do, in order; the retry leaves out those that were skipped
// ahead. Errors: a *model.Refusal as RestartAs.
func PlanRetry(f Failure, was, is []runbook.Step, version int, from string) (todo []string, err error) {
	done := map[string]bool{}
	if at := indexOf(was, f.Step); !f.Undone {
		for _, d := range was[:max(0, at)] {
			done[d.Name] = true
		}
	}
	plan, err := planRetry(ended{steps: was, version: f.Version, done: done, undone: f.Undone}, is, version, from)
	if err != nil {
		return nil, err
	}
	for i, d := range is {
		if plan.todo[i] {
			todo = append(todo, d.Name)
		}
	}
	return todo, nil
}

// planRetry plans the retry of a run by a version with these steps.
func planRetry(e ended, steps []runbook.Step, version int, from string) (retryPlan, error) {
	plan := retryPlan{todo: make([]bool, len(steps))}
	begin := len(steps)
	if from != "" {
		if begin = indexOf(steps, from); begin < 0 {
			return plan, model.Refusef("version %d has no step %q in the phase in which the member failed", version, from)
		}
		for _, d := range steps[:begin] {
			switch {
			case e.done[d.Name]:
			case e.undone:
				return plan, model.Refusef("a rollback undid step %q, which comes before step %q", d.Name, from)
			default:
				return plan, model.Refusef("step %q, which comes before step %q, has not succeeded", d.Name, from)
			}
		}
	}
	plan.first = len(steps)
	for i, d := range steps {
		if plan.todo[i] = i >= begin || !e.done[d.Name]; plan.todo[i] {
			plan.first = min(plan.first, i)
			continue
		}
		if version == e.version {
			continue
		}
		if lacks := missingOutputs(e.steps[indexOf(e.steps, d.Name)], d); lacks != "" {
			return plan, model.Refusef("step %q gives %s in version %d and has succeeded in version %d without; begin with that step", d.Name, lacks, version, e.version)
		}
	}
	return plan, nil
}

// indexOf is the place of the step with a name, in any case; -1 for none.
func indexOf(steps []runbook.Step, name string) int {
	return slices.IndexFunc(steps, func(s runbook.Step) bool { return strings.EqualFold(s.Name, name) })
}

// missingOutputs names the outputs that a step has in one version and not in another.
func missingOutputs(was, is runbook.Step) string {
	var lacks []string
	for name := range is.OutputParams {
		if _, ok := was.OutputParams[name]; !ok {
			lacks = append(lacks, name)
		}
	}
	slices.Sort(lacks)
	return strings.Join(lacks, ", ")
}

// followVersion gives a run that ended the steps of another version. Those that are done keep their
// outcome. The others are new: no job or effect id of theirs was used before.
func followVersion(r *model.Run, was, is []runbook.Step, version int, plan retryPlan) {
	round := 0
	for _, s := range r.Steps {
		round = max(round, s.Round+1)
	}
	steps := make([]model.Step, len(is))
	for i, d := range is {
		at := indexOf(was, d.Name)
		switch {
		case !plan.todo[i], at >= 0 && r.Steps[at].Status == model.StepSkipped:
			steps[i] = r.Steps[at]
			steps[i].Job = r.ShortJobID(i, r.JobID(at))
		default:
			steps[i] = model.Step{Status: model.StepPending}
			if at >= 0 {
				steps[i].History = r.Steps[at].History
			}
		}
		steps[i].Round, steps[i].Abandoned = round, nil
	}
	r.Steps, r.Version = steps, version
	r.Switches++
}

// NoteAbandoned notes at a member until when jobs of a run may still run that nothing waits for any
// more. A run that goes over to another version forgets them.
func NoteAbandoned(r *model.Run, m *model.Member, now time.Time) {
	for _, s := range r.Steps {
		field := &m.BusyUntil
		if isUndo(r, s) {
			field = &m.UndoingUntil
		}
		for _, a := range s.Abandoned {
			if a.Late == nil && a.Until.After(now) && (*field == nil || (*field).Before(a.Until)) {
				until := a.Until
				*field = &until
			}
		}
	}
}

// HasAbandoned reports whether jobs of a run may still run that nothing waits for any more.
func HasAbandoned(r *model.Run, now time.Time) bool {
	var m model.Member
	NoteAbandoned(r, &m, now)
	return m.Busy(now)
}
