package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/template"
	"github.com/matoolkit/matoolkit/internal/storable"
)

// Limits in bytes of JSON: on the parameters or the result of one step, on those
// of all steps of a run together, on the outputs of a run, on all outputs that a
// member carries, and on the text of an error. They keep a job within a message,
// and a run's end, which is written together with its member, within 2 MB.
const (
	MaxPayload    = 128 << 10
	MaxRunPayload = 768 << 10
	MaxOutputs    = 128 << 10
	MaxWorkerData = 256 << 10
	MaxReason     = 4 << 10
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
func (w *walk) keepOutputs(params map[string]string, a answer) error {
	var missing []string
	for _, variable := range slices.Sorted(maps.Keys(params)) {
		value, ok := lookup(a.fields, params[variable])
		if !ok {
			missing = append(missing, params[variable])
			continue
		}
		if w.run.Outputs == nil {
			w.run.Outputs = map[string]json.RawMessage{}
		}
		w.run.Outputs[variable] = value
	}
	if len(missing) > 0 {
		return fmt.Errorf("the result has no %s, which output_params takes", strings.Join(missing, ", "))
	}
	if n := size(w.run.Outputs); n > MaxOutputs {
		w.run.Outputs = nil
		return fmt.Errorf("the outputs of this phase are %d bytes long; at most %d can be kept", n, MaxOutputs)
	}
	return nil
}

func size(values map[string]json.RawMessage) int {
	n := 0
	for name, value := range values {
		n += len(name) + len(value)
	}
	return n
}

// clip shortens a reason that could not be stored at its length.
func clip(reason string) string { return humanize.ClipBytes(reason, MaxReason) }

// resolve fills in a step's function and parameters.
func (w *walk) resolve(d runbook.Step) (function string, params json.RawMessage, err error) {
	vars, err := w.variables(d)
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
func (w *walk) variables(d runbook.Step) (template.Variables, error) {
	vars := template.Variables{runbook.VariableBatchID: json.Number(fmt.Sprint(w.run.Batch))}
	if w.run.StartTime != nil {
		vars[runbook.VariableBatchStartTime] = w.run.StartTime.UTC().Format(time.RFC3339Nano)
	}
	if c := w.run.Counts; c != nil {
		vars[runbook.VariablePhaseMembers] = json.Number(fmt.Sprint(c.Members))
		vars[runbook.VariablePhaseSucceeded] = json.Number(fmt.Sprint(c.Succeeded))
		vars[runbook.VariablePhaseFailed] = json.Number(fmt.Sprint(c.Failed))
		vars[runbook.VariablePhaseCancelled] = json.Number(fmt.Sprint(c.Cancelled))
	}
	for _, name := range append(template.References(d.Function), template.References(d.Params)...) {
		if _, known := vars[name]; known || strings.HasPrefix(name, "_") {
			continue
		}
		raw, ok := w.run.Outputs[name]
		if !ok && w.run.Member != 0 {
			m, err := w.loadMember()
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
		if secret, err := w.secret(name, raw); err != nil {
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

// keepable gives a payload of the step in hand as it can be kept, or says why it cannot.
func (w *walk) keepable(what string, payload json.RawMessage) (kept json.RawMessage, reason string) {
	if len(payload) == 0 {
		return payload, ""
	}
	kept, err := storable.JSON(payload)
	var bad *storable.Error
	switch {
	case errors.As(err, &bad) && bad.Path != "":
		return nil, fmt.Sprintf("its %s cannot be stored: at %s, %s", what, bad.Path, bad.Reason)
	case err != nil:
		return nil, fmt.Sprintf("its %s cannot be stored: %v", what, err)
	}
	return kept, w.tooLarge(what, kept)
}

// tooLarge says why a payload of the step in hand is too large to be kept, if so.
func (w *walk) tooLarge(what string, payload json.RawMessage) string {
	if len(payload) > MaxPayload {
		return fmt.Sprintf("its %s are %d bytes long; at most %d can be carried", what, len(payload), MaxPayload)
	}
	total := len(payload)
	for i, s := range w.run.Steps {
		if i != w.run.Current || what != "result" { // which takes the place of the one before
			total += len(s.Result)
		}
		if i != w.run.Current || what != "parameters" {
			total += len(s.Params)
		}
		for _, a := range s.Abandoned {
			total += len(a.Result)
		}
	}
	if total > MaxRunPayload {
		return fmt.Sprintf("with its %s the steps of this phase would hold %d bytes; at most %d can be stored", what, total, MaxRunPayload)
	}
	return ""
}

// Payload is how many bytes a run carries that come from outside: parameters,
// results and outputs.
func (r *Run) Payload() int {
	n := size(r.Outputs) + size(r.Secrets)
	for _, s := range r.Steps {
		n += len(s.Params) + len(s.Result)
		for _, a := range s.Abandoned {
			n += len(a.Result)
		}
	}
	return n
}
