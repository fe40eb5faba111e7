package runstate

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook/template"
)

// secret tells whether a variable is secret, and notes its encrypted value for the step
// in hand.
func (t *transition) secret(name string, value json.RawMessage) (bool, error) {
	sealed, ok := model.Sealed(value)
	switch {
	case ok && sealed == "":
		return false, fmt.Errorf("the secret %q was erased after its last use; %s", name, supplyAnew)
	case !ok && !t.isSecret(name):
		return false, nil
	}
	if t.secrets == nil {
		t.secrets = map[string]json.RawMessage{}
	}
	t.secrets[name] = value
	return true, nil
}

// supplyAnew says what to do about a secret that was erased.
const supplyAnew = "supply it again with: matoolkit member set"

func (t *transition) isSecret(name string) bool {
	return t.rb != nil && t.rb.IsSecret(name)
}

// hideOutputs leaves references in a result in the place of its secrets, which the run's
// outputs have.
func (t *transition) hideOutputs(params map[string]string, result json.RawMessage) json.RawMessage {
	hidden, err := model.MapOutputs(params, result, func(variable string, value json.RawMessage) (json.RawMessage, error) {
		if _, sealed := model.Sealed(value); !sealed && !t.isSecret(variable) {
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
func (t *transition) dropSecretOutputs() {
	run := t.run
	if run.Member == 0 && run.Status == model.RunFailed {
		return
	}
	outputs := maps.Clone(run.Outputs)
	maps.DeleteFunc(outputs, func(name string, value json.RawMessage) bool {
		_, sealed := model.Sealed(value)
		return sealed || t.isSecret(name)
	})
	run.Outputs = outputs
}

// eraseSpent erases the secrets of a member that no step can need any more: those whose
// last use was in the phase that the run has ended well or before it, and all of them
// where the member's removal has ended.
func (t *transition) eraseSpent(m *model.Member) {
	rb := t.rb
	var names []string
	if rb != nil {
		names = rb.Secret
	}
	switch {
	case t.run.Kind == model.KindRemoval:
		m.EraseSecrets(names)
	case m.Status == model.MemberRemoved:
		EraseSecretsIfOver(m, names)
	case t.run.Status == model.RunSucceeded && t.run.Kind == model.KindPhase && m.OpenPhase == 0 && rb != nil:
		m.EraseSecretsOf(func(name string) bool { return rb.IsSecret(name) && rb.Spent(name, t.run.PhaseName) })
	}
}

// EraseSecretsIfOver erases the secrets of a member who was removed, where nothing is under way
// and no removal steps are to come. Names are those of the runbook's secrets.
func EraseSecretsIfOver(m *model.Member, names []string) {
	if m.Removal == 0 && m.OpenPhase == 0 && !m.Moves() { // another batch takes over those of a member who moves
		m.EraseSecrets(names)
	}
}
