package runbooks

import (
	"context"
	"fmt"
	"slices"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/lint"
	"github.com/matoolkit/matoolkit/internal/runbook/template"
)

// takeSecrets adds to a runbook's secrets the variables that secret parameters of
// functions take, and refuses a runbook whose secrets cannot be kept.
func (rs *Publisher) takeSecrets(ctx context.Context, rb *runbook.Runbook, known lint.Catalogs) error {
	rb.Secret = known.Secrets(rb)
	if len(rb.Secret) == 0 {
		return nil
	}
	if bad := secretFunctions(rb); len(bad) > 0 {
		return &problem.Error{Code: api.CodeInvalid, Message: "the runbook has errors", Problems: bad}
	}
	return rs.sealer.CheckKey(ctx, rb.Secret)
}

// secretFunctions are the steps whose function's name would show a secret.
func secretFunctions(rb *runbook.Runbook) []api.InputProblem {
	var bad []api.InputProblem
	rb.EachStep(func(s runbook.Step, at []any) {
		for _, name := range template.References(s.Function) {
			if rb.IsSecret(name) {
				bad = append(bad, api.InputProblem{
					Field: runbook.PathText(append(slices.Clone(at), "function")), Code: runbook.CodeSecretPlace,
					Message: fmt.Sprintf("{{%s}} is secret, and the name of a function is shown everywhere", name),
				})
			}
		}
	})
	return bad
}
