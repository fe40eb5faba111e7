package runstate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/template"
)

// resolve fills in a step's function and parameters.
func (t *transition) resolve(d runbook.Step) (function string, params json.RawMessage, err error) {
	vars, err := t.variables(append(template.References(d.Function), template.References(d.Params)...))
	if err != nil {
		return "", nil, err
	}
	if function, err = template.ResolveString(d.Function, vars); err != nil {
		return "", nil, err
	}
	resolved, err := template.ResolveParams(d.Params, vars)
	if err != nil {
		return "", nil, err
	}
	if resolved == nil {
		resolved = map[string]any{}
	}
	params, err = json.Marshal(resolved)
	return function, params, err
}

// variables are the values of names that a step uses: the batch's, then this
// run's outputs, then those that the run captured from its member.
func (t *transition) variables(names []string) (template.Variables, error) {
	vars := template.Variables{
		runbook.VariableBatchID: json.Number(fmt.Sprint(t.run.Batch)), runbook.VariableBatchOwner: t.run.Owner, runbook.VariableBatchShadow: t.run.Shadow,
	}
	if t.run.StartTime != nil {
		vars[runbook.VariableBatchStartTime] = t.run.StartTime.UTC().Format(time.RFC3339Nano)
	}
	if c := t.run.Counts; c != nil {
		vars[runbook.VariablePhaseMembers] = json.Number(fmt.Sprint(c.Members))
		vars[runbook.VariablePhaseSucceeded] = json.Number(fmt.Sprint(c.Succeeded))
		vars[runbook.VariablePhaseFailed] = json.Number(fmt.Sprint(c.Failed))
		vars[runbook.VariablePhaseCancelled] = json.Number(fmt.Sprint(c.Cancelled))
		vars[runbook.VariableOutputs] = t.outputs
	}
	for _, name := range names {
		if _, known := vars[name]; known || strings.HasPrefix(name, "_") {
			continue
		}
		raw, ok := t.run.Outputs[name]
		if !ok {
			raw, ok = t.run.Variables[name]
		}
		if !ok {
			continue // the template names it in its error
		}
		if secret, err := t.secret(name, raw); err != nil {
			return nil, err
		} else if secret {
			vars[name] = template.Secret(name)
			continue
		}
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		var value any
		if err := decoder.Decode(&value); err != nil {
			return nil, fmt.Errorf("the value of %q is not JSON: %w", name, err)
		}
		if template.Reserved(value) {
			return nil, fmt.Errorf("the value of %q has a field whose name begins with $secret or $sealed; these are reserved", name)
		}
		vars[name] = value
	}
	return vars, nil
}

// loadOutputs has the outputs of the phase's members stored, where a step uses them. Refused says why they
// cannot be.
func (t *transition) loadOutputs(d runbook.Step) (refused string, err error) {
	if !d.UsesOutputs() || t.outputs != "" {
		return "", nil
	}
	t.outputs, err = t.state.LoadOutputs(cmp.Or(t.run.Of, t.run.Phase))
	if refusal := new(model.Refusal); errors.As(err, &refusal) {
		return "the outputs of the members: " + refusal.Reason, nil
	}
	return "", err
}
