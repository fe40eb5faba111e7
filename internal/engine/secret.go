package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/template"
)

// The engine never has the value of a secret. Members and outputs carry it encrypted, as
// {"$sealed": "…"}; parameters and results refer to it by its name, as package runbook
// writes references; a run carries a copy of those that its step in hand uses, from which
// the job is made.

// SealedField is the field of an object that holds an encrypted value, or erasedText.
const SealedField = "$sealed"

// erasedText stands in the place of an encrypted value that was erased.
const erasedText = "erased"

// SecretsKept is how long a batch that has ended keeps the secrets of members who can
// still be retried.
const SecretsKept = 7 * 24 * time.Hour

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

// secret tells whether a variable is secret, and notes its encrypted value for the step
// in hand.
func (w *walk) secret(name string, value json.RawMessage) (bool, error) {
	sealed, ok := Sealed(value)
	switch {
	case ok && sealed == "":
		return false, fmt.Errorf("the secret %q was erased after its last use; %s", name, supplyAnew)
	case !ok && !w.isSecret(name):
		return false, nil
	}
	if w.secrets == nil {
		w.secrets = map[string]json.RawMessage{}
	}
	w.secrets[name] = value
	return true, nil
}

// supplyAnew says what to do about a secret that was erased.
const supplyAnew = "create a batch for this person with a file, or a row of the data source, that has it"

func (w *walk) isSecret(name string) bool {
	return w.rb != nil && w.rb.IsSecret(name)
}

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

// hideOutputs leaves references in a result in the place of its secrets, which the run's
// outputs have.
func (w *walk) hideOutputs(params map[string]string, result json.RawMessage) json.RawMessage {
	hidden, err := MapOutputs(params, result, func(variable string, value json.RawMessage) (json.RawMessage, error) {
		if _, sealed := Sealed(value); !sealed && !w.isSecret(variable) {
			return nil, nil
		}
		return json.Marshal(template.Secret(variable))
	})
	if err != nil {
		panic(err) // texts and what was JSON before
	}
	return hidden
}

// dropSecretOutputs takes the secrets out of the outputs of a run that has ended. The
// member has them. A run without a member keeps them where it may be retried.
func (w *walk) dropSecretOutputs() {
	run := w.run
	if run.Member == 0 && run.Status == RunFailed {
		return
	}
	outputs := maps.Clone(run.Outputs)
	maps.DeleteFunc(outputs, func(name string, value json.RawMessage) bool {
		_, sealed := Sealed(value)
		return sealed || w.isSecret(name)
	})
	run.Outputs = outputs
}

// eraseSpent erases the secrets of a member that no step can need any more: those whose
// last use was in the phase that the run has ended well or before it, and all of them
// where the member's removal has ended.
func (w *walk) eraseSpent(m *Member) {
	rb := w.rb
	switch {
	case w.run.Kind == KindRemoval:
		m.EraseSecrets()
	case m.Status == MemberRemoved:
		m.eraseIfOver()
	case w.run.Status == RunSucceeded && w.run.Kind == KindPhase && m.OpenPhase == 0 && rb != nil:
		m.erase(func(name string) bool { return rb.IsSecret(name) && rb.Spent(name, w.run.PhaseName) })
	}
}

// eraseIfOver erases the secrets of a member who was removed, where nothing is under way
// and no removal steps are to come.
func (m *Member) eraseIfOver() {
	if m.Removal == 0 && m.OpenPhase == 0 {
		m.EraseSecrets()
	}
}

// EraseSecrets erases all secrets of a member, and tells whether there were any.
func (m *Member) EraseSecrets() bool { return m.erase(func(string) bool { return true }) }

func (m *Member) erase(which func(name string) bool) bool {
	data, ofData := erased(m.Data, which)
	outputs, ofOutputs := erased(m.WorkerData, which)
	m.Data, m.WorkerData = data, outputs
	return ofData || ofOutputs
}

// EraseSecrets erases the secrets among a run's outputs, and tells whether there were any.
func (r *Run) EraseSecrets() bool {
	outputs, any := erased(r.Outputs, func(string) bool { return true })
	r.Outputs = outputs
	return any
}

// erased gives values without the secrets for which which is true.
func erased(values map[string]json.RawMessage, which func(name string) bool) (map[string]json.RawMessage, bool) {
	next, any := values, false
	for name, value := range values {
		if sealed, ok := Sealed(value); !ok || sealed == "" || !which(name) {
			continue
		}
		if !any {
			next, any = maps.Clone(values), true
		}
		next[name] = Seal(erasedText)
	}
	return next, any
}

// needErased refuses a retry that needs a secret which was erased: in the steps that the
// run is to go through again, but for the one at, where an administrator resolves it.
func (r *Run) needErased(rb *runbook.Runbook, m *Member, at int, resolve *StepResolved) error {
	if rb == nil {
		return nil
	}
	given := map[string]bool{}
	for i, s := range r.Steps {
		if s.Rollback != "" || s.Status != StepPending || i == at && resolve != nil {
			continue
		}
		definitions, err := r.definitions(rb, "")
		if err != nil || s.Place >= len(definitions) {
			return err
		}
		for _, name := range definitions[s.Place].References() {
			value, ok := m.WorkerData[name]
			if !ok {
				value = m.Data[name]
			}
			if sealed, ok := Sealed(value); ok && sealed == "" && !given[name] {
				return refuse("member %d cannot be retried: step %q needs the secret %q, which was erased; %s", m.ID, s.Name, name, supplyAnew)
			}
		}
		for name := range definitions[s.Place].OutputParams {
			given[name] = true
		}
	}
	return nil
}

// EraseSecretsAt is when the secrets that a batch still has are to be erased; nil where
// there are none, or it has not ended.
func (b *Batch) EraseSecretsAt() *time.Time {
	if !b.Secrets || !b.Status.Terminal() || b.CompletedAt == nil {
		return nil
	}
	if b.SecretsErasedAt != nil && b.SecretsErasedAt.After(*b.CompletedAt) {
		return nil
	}
	at := b.CompletedAt.Add(SecretsKept)
	if b.Status == BatchCancelled {
		at = *b.CompletedAt // nothing in it can be retried
	}
	return &at
}

// secretsErased notes that the secrets of a batch which has ended are erased.
func secretsErased(b *Batch, now time.Time) Decision {
	if at := b.EraseSecretsAt(); at == nil || now.Before(*at) {
		return Decision{Stale: true}
	}
	b.SecretsErasedAt = &now
	return changed(b)
}
