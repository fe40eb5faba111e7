package runstate

import (
	"fmt"
	"slices"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/condition"
	"github.com/matoolkit/matoolkit/internal/runbook/template"
)

// skips reports whether the condition of the step in hand is false, and marks the step so.
func (t *transition) skips(d runbook.Step) (bool, error) {
	if d.When == nil {
		return false, nil
	}
	holds, err := t.holds(d.When)
	if err != nil || holds {
		return false, err
	}
	t.skipByCondition(t.step())
	return true, nil
}

// skipsPhase reports whether the condition of the phase decided on a run that has not begun: it is
// false, and the run succeeds without a step, or it cannot be evaluated, and the first step fails.
func (t *transition) skipsPhase() (bool, error) {
	if t.run.Kind != model.KindPhase {
		return false, nil
	}
	p, ok := t.rb.Phase(t.run.PhaseName)
	if !ok || p.When == nil {
		return false, nil
	}
	first := slices.IndexFunc(t.run.Steps, func(s model.Step) bool { return s.Status == model.StepPending })
	begun := slices.ContainsFunc(t.run.Steps, func(s model.Step) bool {
		return s.Rollback == "" && s.Status != model.StepPending && s.Status != model.StepSkipped
	})
	if first < 0 || begun {
		return false, nil
	}
	holds, err := t.holds(p.When)
	if err != nil {
		t.run.Current = first
		return true, t.failStep("the phase: " + err.Error())
	}
	if holds {
		return false, nil
	}
	for i := range t.run.Steps {
		if s := &t.run.Steps[i]; s.Status == model.StepPending {
			t.skipByCondition(s)
		}
	}
	t.run.Current = lastOwn(t.run)
	t.end(model.RunSucceeded, "")
	return true, nil
}

func (t *transition) skipByCondition(s *model.Step) {
	s.Status, s.CompletedAt, s.RetryAfter, s.Postponed = model.StepSkippedByCondition, &t.now, nil, false
}

// holds evaluates a condition. An output that no step has given is null; a column that the member
// lacks is an error.
func (t *transition) holds(c *condition.Condition) (bool, error) {
	vars, err := t.variables(c.Names())
	if err != nil {
		return false, fmt.Errorf("when: %w", err)
	}
	for _, name := range c.Names() {
		value, ok := vars[name]
		if _, secret := value.(template.Secret); secret {
			return false, fmt.Errorf("when: %q is secret, and a condition cannot use it", name)
		}
		if !ok && name == runbook.VariableBatchStartTime {
			return false, fmt.Errorf("when: the batch has no start time, which %s is", name)
		}
		if !ok && !t.rb.HasOutput(name) {
			return false, fmt.Errorf("when: the member has no column %q", name)
		}
	}
	holds, err := c.Holds(vars)
	if err != nil {
		return false, fmt.Errorf("when: %w", err)
	}
	return holds, nil
}
