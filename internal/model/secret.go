package model

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// The engine never has the value of a secret. Members and outputs carry it encrypted, as
// {"$sealed": "…"}; parameters and results refer to it by its name, as package runbook
// writes references; a run carries a copy of those that its step in hand uses, from which
// the job is made.

// SealedField is the field of an object that holds an encrypted value, or erasedText.
const SealedField = "$sealed"

// erasedText stands in the place of an encrypted value that was erased.
const erasedText = "erased"

// SecretRetention is how long a batch that has ended keeps the secrets of members who can
// still be retried.
const SecretRetention = 7 * 24 * time.Hour

// Sealed gives the encrypted form of a secret value; ok is false for any other value.
// It is empty where the value was erased.
func Sealed(value json.RawMessage) (sealed string, ok bool) {
	if !bytes.Contains(value, []byte(SealedField)) {
		return "", false
	}
	var object map[string]string
	if json.Unmarshal(value, &object) != nil || len(object) != 1 {
		return "", false
	}
	if sealed, ok = object[SealedField]; sealed == erasedText {
		sealed = ""
	}
	return sealed, ok
}

// Seal is a secret value in its encrypted form.
func Seal(sealed string) json.RawMessage {
	value, err := json.Marshal(map[string]string{SealedField: sealed})
	if err != nil {
		panic(err) // a map of texts
	}
	return value
}

// EraseSecrets erases the secrets of a member: all encrypted values and, for values that were
// stored before they were known to be secret, those of the named variables. It reports whether
// there were any.
func (m *Member) EraseSecrets(names []string) bool {
	return m.eraseValues(func(name string, sealed bool) bool { return sealed || slices.Contains(names, name) })
}

// EraseSecretsOf erases the secrets of a member for which which is true, encrypted or not, and
// reports whether there were any.
func (m *Member) EraseSecretsOf(which func(name string) bool) bool {
	return m.eraseValues(func(name string, _ bool) bool { return which(name) })
}

func (m *Member) eraseValues(which func(name string, sealed bool) bool) bool {
	data, ofData := erased(m.Data, which)
	for name, value := range m.Data {
		if !SameValue(value, data[name]) {
			m.forgetSearched(value)
		}
	}
	outputs, ofOutputs := erased(m.WorkerData, which)
	m.Data, m.WorkerData = data, outputs
	return m.eraseOverridden(which) || ofData || ofOutputs
}

// eraseOverridden erases the secrets of the source that corrections override.
func (m *Member) eraseOverridden(which func(name string, sealed bool) bool) (any bool) {
	for name, o := range m.Overrides {
		source, erased := erased(map[string]json.RawMessage{name: o.Source}, which)
		if !erased || o.Source == nil {
			continue
		}
		if !any {
			m.Overrides, any = maps.Clone(m.Overrides), true
		}
		o.Source = source[name]
		m.Overrides[name] = o
	}
	return any
}

// EraseSecrets erases the secrets among a run's outputs as [Member.EraseSecrets] does, and reports
// whether there were any.
func (r *Run) EraseSecrets(names []string) bool {
	outputs, any := erased(r.Outputs, func(name string, sealed bool) bool { return sealed || slices.Contains(names, name) })
	r.Outputs = outputs
	return any
}

// erased returns values without the secrets for which which is true.
func erased(values map[string]json.RawMessage, which func(name string, sealed bool) bool) (map[string]json.RawMessage, bool) {
	next, any := values, false
	for name, value := range values {
		sealed, ok := Sealed(value)
		if ok && sealed == "" || !which(name, ok) {
			continue
		}
		if !any {
			next, any = maps.Clone(values), true
		}
		next[name] = Seal(erasedText)
	}
	return next, any
}

// EraseSecretsAt is when the secrets that a batch still has are to be erased; nil where
// there are none, or it has not ended.
func (b *Batch) EraseSecretsAt() *time.Time {
	if !b.Secrets || !b.Status.Terminal() || b.CompletedAt == nil {
		return nil
	}
	from := *b.CompletedAt
	if b.SecretsSuppliedAt != nil && b.SecretsSuppliedAt.After(from) {
		from = *b.SecretsSuppliedAt
	}
	if b.SecretsErasedAt != nil && b.SecretsErasedAt.After(from) {
		return nil
	}
	at := from.Add(SecretRetention)
	if b.Status == BatchCancelled {
		at = *b.CompletedAt // nothing in it can be retried
	}
	return &at
}
