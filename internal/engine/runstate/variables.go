package runstate

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// CaptureVariables gives a run that has begun the values that its member has of the variables in the
// templates and conditions of its own steps and of the rollbacks that these name, and in the condition of
// its phase. The steps are then dispatched
// without a read of the member.
//
// A change of the member's values has to change its open run in the same write, also a run that
// waits and has no variables yet. The start of that run may have loaded the member before the change:
// its write then fails, and it loads the member again.
func CaptureVariables(run *model.Run, rb *runbook.Runbook, m *model.Member) error {
	own, err := run.Definitions(rb, "")
	if err != nil {
		return err
	}
	run.Variables = nil
	captureNames := func(names []string) {
		for _, name := range names {
			value, ok := memberValue(m, name)
			if !ok || strings.HasPrefix(name, "_") {
				continue
			}
			if run.Variables == nil {
				run.Variables = map[string]json.RawMessage{}
			}
			run.Variables[name] = value
		}
	}
	capture := func(steps []runbook.Step) {
		for _, d := range steps {
			captureNames(d.References())
		}
	}
	if p, ok := rb.Phase(run.PhaseName); ok && run.Kind == model.KindPhase {
		captureNames(p.When.Names())
	}
	capture(own)
	var rollbacks []string
	for _, d := range own {
		if d.OnFailure == "" || slices.Contains(rollbacks, d.OnFailure) {
			continue
		}
		rollbacks = append(rollbacks, d.OnFailure)
		undo, err := run.Definitions(rb, d.OnFailure)
		if err != nil {
			return err
		}
		capture(undo)
	}
	return nil
}

// memberValue returns what a member has of a variable: an earlier output, or else a column.
func memberValue(m *model.Member, name string) (value json.RawMessage, ok bool) {
	if value, ok = m.WorkerData[name]; !ok {
		value, ok = m.Data[name]
	}
	return value, ok
}
