package sealing

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/matoolkit/matoolkit/internal/model"
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
