package model

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// MapOutputs replaces the fields of a function's answer that output_params takes, where
// replace gives another value than nil.
func MapOutputs(params map[string]string, result json.RawMessage, replace func(variable string, value json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error) {
	var object map[string]json.RawMessage
	if json.Unmarshal(result, &object) != nil || object == nil {
		return result, nil
	}
	changed := false
	for _, name := range slices.Sorted(maps.Keys(object)) {
		next := json.RawMessage(nil)
		for variable, field := range params {
			if !strings.EqualFold(field, name) {
				continue
			}
			value, err := replace(variable, object[name])
			if err != nil {
				return nil, err
			}
			if value != nil {
				next = value
			}
		}
		if next == nil && strings.EqualFold(name, "data") {
			data, err := MapOutputs(params, object[name], replace)
			if err != nil {
				return nil, err
			}
			if !bytes.Equal(data, object[name]) {
				next = data
			}
		}
		if next != nil {
			object[name], changed = next, true
		}
	}
	if !changed {
		return result, nil
	}
	return json.Marshal(object)
}
