package sealing

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/template"
)

const (
	// Redacted replaces the value of a secret in views.
	Redacted       = "(secret)"
	redactedErased = "(secret, erased)"
)

// Redact returns JSON for views: it replaces encrypted values and references to secrets.
func Redact(raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte(template.SecretField)) && !bytes.Contains(raw, []byte(model.SealedField)) {
		return raw
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return raw
	}
	text, err := json.Marshal(redactValue(value))
	if err != nil {
		return raw
	}
	return text
}

func redactValue(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = redactValue(v[i])
		}
	case map[string]any:
		if _, is := v[template.SecretField]; is {
			return Redacted
		}
		if _, is := v[model.SealedField]; is {
			if raw, err := json.Marshal(v); err == nil {
				if sealed, ok := model.Sealed(raw); ok && sealed == "" {
					return redactedErased
				}
			}
			return Redacted
		}
		for name := range v {
			v[name] = redactValue(v[name])
		}
	}
	return v
}

// StepRedactor redacts the parameters and results of a step for views. A value that was stored
// before it was known to be secret is not encrypted: the redactor finds it by its place in the
// step's definition.
type StepRedactor struct {
	runbook *runbook.Runbook
	step    runbook.Step
}

// NewStepRedactor returns the redactor of a step with this definition in the run's version of the
// runbook.
func NewStepRedactor(rb *runbook.Runbook, definition runbook.Step) StepRedactor {
	return StepRedactor{rb, definition}
}

// Params returns the parameters of the step for views.
func (r StepRedactor) Params(raw json.RawMessage) json.RawMessage {
	raw = Redact(raw)
	if len(raw) == 0 || !r.isSecret(r.step.Params) {
		return raw
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return raw
	}
	text, err := json.Marshal(r.redactParam(r.step.Params, value))
	if err != nil {
		return raw
	}
	return text
}

// isSecret reports whether a secret is part of a parameter's definition.
func (r StepRedactor) isSecret(definition any) bool {
	return slices.ContainsFunc(template.References(definition), r.runbook.IsSecret)
}

// redactParam redacts the value of a parameter by its definition. It may change value.
func (r StepRedactor) redactParam(definition, value any) any {
	if !r.isSecret(definition) {
		return value
	}
	switch d := definition.(type) {
	case map[string]any:
		if v, ok := value.(map[string]any); ok {
			for name := range v {
				v[name] = r.redactParam(d[name], v[name])
			}
			return v
		}
	case []any:
		if v, ok := value.([]any); ok && len(v) == len(d) {
			for i := range v {
				v[i] = r.redactParam(d[i], v[i])
			}
			return v
		}
	}
	return Redacted
}

// Result returns a result of the step for views.
func (r StepRedactor) Result(raw json.RawMessage) json.RawMessage {
	raw = Redact(raw)
	redacted, err := model.MapOutputs(r.step.OutputParams, raw, func(variable string, _ json.RawMessage) (json.RawMessage, error) {
		if r.runbook.IsSecret(variable) {
			return json.RawMessage(`"` + Redacted + `"`), nil
		}
		return nil, nil
	})
	if err != nil {
		return raw
	}
	return redacted
}

// RedactData returns the data of a member for views. Secrets has the names of the runbook's
// secrets: a value that was stored before its column was secret is not encrypted.
func RedactData(data map[string]json.RawMessage, secrets []string) map[string]json.RawMessage {
	if data == nil {
		return nil
	}
	next := make(map[string]json.RawMessage, len(data))
	for name, value := range data {
		_, sealed := model.Sealed(value)
		switch {
		case sealed, !slices.Contains(secrets, name):
			next[name] = Redact(value)
		default:
			next[name] = json.RawMessage(`"` + Redacted + `"`)
		}
	}
	return next
}
