package runstate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/model"
)

// answer is a function's result, read by the polling convention: an object
// with a boolean "complete" and, beside it, "data" and the text "reason".
type answer struct {
	incomplete bool
	reason     string                     // why it is not complete; may be empty
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
		if reason, ok := lookup(object, "reason"); ok {
			_ = json.Unmarshal(reason, &a.reason) // anything but a text says nothing
		}
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
		return fmt.Errorf("the result lacks %s, which output_params reads", strings.Join(missing, ", "))
	}
	if n := model.PayloadSize(t.run.Outputs); n > model.MaxOutputs {
		t.run.Outputs = nil
		return fmt.Errorf("the outputs of this phase take %d bytes; at most %d can be stored", n, model.MaxOutputs)
	}
	return nil
}
