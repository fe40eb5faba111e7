package runstate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/template"
)

// answer is what a function returned, read by the polling convention: an object
// with a boolean "complete" and, beside it, "data".
type answer struct {
	incomplete bool
	fields     map[string]json.RawMessage // nil when the result is not an object
}

func readAnswer(result json.RawMessage) answer {
	var object map[string]json.RawMessage
	if json.Unmarshal(result, &object) != nil {
		return answer{}
	}
	a := answer{fields: object}
	complete, ok := lookup(object, "complete")
	if !ok {
		return a
	}
	switch string(bytes.TrimSpace(complete)) {
	case "false":
		a.incomplete = true
	case "true":
	default:
		return a
	}
	if data, ok := lookup(object, "data"); ok {
		a.fields = nil
		_ = json.Unmarshal(data, &a.fields) // anything but an object has no fields
	}
	return a
}

// lookup finds a field as the bus's readers do, by its name in any case.
func lookup(object map[string]json.RawMessage, name string) (json.RawMessage, bool) {
	if v, ok := object[name]; ok {
		return v, true
	}
	for _, k := range slices.Sorted(maps.Keys(object)) {
		if strings.EqualFold(k, name) {
			return object[k], true
		}
	}
	return nil, false
}

// keepOutputs takes the fields that the step's output_params name. One that the
// result lacks is an error: a later step would stand on it.
func (t *transition) keepOutputs(params map[string]string, a answer) error {
	var missing []string
	for _, variable := range slices.Sorted(maps.Keys(params)) {
		value, ok := lookup(a.fields, params[variable])
		if !ok {
			missing = append(missing, params[variable])
			continue
		}
		if t.run.Outputs == nil {
			t.run.Outputs = map[string]json.RawMessage{}
		}
		t.run.Outputs[variable] = value
	}
	if len(missing) > 0 {
		return fmt.Errorf("the result has no %s, which output_params takes", strings.Join(missing, ", "))
	}
	if n := model.PayloadSize(t.run.Outputs); n > model.MaxOutputs {
		t.run.Outputs = nil
		return fmt.Errorf("the outputs of this phase are %d bytes long; at most %d can be kept", n, model.MaxOutputs)
	}
	return nil
}

// resolve fills in a step's function and parameters.
func (t *transition) resolve(d runbook.Step) (function string, params json.RawMessage, err error) {
	vars, err := t.variables(d)
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

// variables are what the step's templates may use: the batch's, then this run's
// outputs, then earlier outputs, then the columns. The member is asked for only
// where one of the last two is used.
func (t *transition) variables(d runbook.Step) (template.Variables, error) {
	vars := template.Variables{runbook.VariableBatchID: json.Number(fmt.Sprint(t.run.Batch))}
	if t.run.StartTime != nil {
		vars[runbook.VariableBatchStartTime] = t.run.StartTime.UTC().Format(time.RFC3339Nano)
	}
	if c := t.run.Counts; c != nil {
		vars[runbook.VariablePhaseMembers] = json.Number(fmt.Sprint(c.Members))
		vars[runbook.VariablePhaseSucceeded] = json.Number(fmt.Sprint(c.Succeeded))
		vars[runbook.VariablePhaseFailed] = json.Number(fmt.Sprint(c.Failed))
		vars[runbook.VariablePhaseCancelled] = json.Number(fmt.Sprint(c.Cancelled))
	}
	for _, name := range append(template.References(d.Function), template.References(d.Params)...) {
		if _, known := vars[name]; known || strings.HasPrefix(name, "_") {
			continue
		}
		raw, ok := t.run.Outputs[name]
		if !ok && t.run.Member != 0 {
			m, err := t.loadMember()
			if err != nil {
				return nil, err
			}
			if raw, ok = m.WorkerData[name]; !ok {
				raw, ok = m.Data[name]
			}
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
