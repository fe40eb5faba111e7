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

// check parses and checks a runbook before its publication, and gives its warnings. It fails with
// CodeInvalid where the runbook has errors or, with strict, warnings.
func (p *Publisher) check(ctx context.Context, name string, yaml []byte, strict bool) (*runbook.Runbook, runbook.Diagnostics, error) {
	rb, diagnostics := runbook.Parse(yaml)
	if rb == nil {
		return nil, nil, runbookErrors(problems(diagnostics))
	}
	if name != "" && name != rb.Name {
		message := fmt.Sprintf("the request names runbook %q, but its YAML names %q", name, rb.Name)
		return nil, nil, &problem.Error{Code: api.CodeInvalid, Message: message, Problems: []api.InputProblem{{Field: "name", Message: message}}}
	}
	if bad := problems(p.unlistedSettings(yaml, rb)); len(bad) > 0 {
		return nil, nil, runbookErrors(bad)
	}
	catalogs, err := p.workers.Catalogs(ctx, rb.Workers())
	if err != nil {
		return nil, nil, err
	}
	warnings := slices.Concat(diagnostics, lint.Check(yaml, rb, catalogs))
	if err := p.takeSecrets(ctx, rb, catalogs); err != nil {
		return nil, nil, err
	}
	if strict && len(warnings) > 0 {
		return nil, nil, &problem.Error{Code: api.CodeInvalid, Message: "the runbook has warnings, and strict publishing allows none", Problems: problems(warnings)}
	}
	return rb, warnings, nil
}

func runbookErrors(bad []api.InputProblem) *problem.Error {
	return &problem.Error{Code: api.CodeInvalid, Message: "the runbook has errors", Problems: bad}
}

// takeSecrets adds to a runbook's secrets the variables that secret parameters of functions use, and
// refuses a runbook whose secrets would be shown or cannot be encrypted.
func (p *Publisher) takeSecrets(ctx context.Context, rb *runbook.Runbook, catalogs lint.Catalogs) error {
	rb.Secret = catalogs.Secrets(rb)
	if len(rb.Secret) == 0 {
		return nil
	}
	if bad := secretFunctions(rb); len(bad) > 0 {
		return runbookErrors(bad)
	}
	return p.sealer.CheckKey(ctx, rb.Secret)
}

// secretFunctions finds the steps whose function's name would show a secret.
func secretFunctions(rb *runbook.Runbook) []api.InputProblem {
	var bad []api.InputProblem
	rb.EachStep(func(s runbook.Step, at []any) {
		for _, name := range template.References(s.Function) {
			if rb.IsSecret(name) {
				bad = append(bad, api.InputProblem{
					Field: runbook.PathText(append(slices.Clone(at), "function")), Code: runbook.CodeSecretPlace,
					Message: fmt.Sprintf("{{%s}} is secret, but a function name is visible to every reader", name),
				})
			}
		}
	})
	return bad
}

// codeUnlistedSetting is the code of the errors that unlistedSettings finds.
const codeUnlistedSetting = "unlisted-setting" // `connection` or `warehouse_id` names a setting that is not in `DATA_SOURCES`; only checked on publish

// unlistedSettings finds the settings in the data source of a runbook, parsed from text without
// errors, that this deployment does not allow runbooks to name.
func (p *Publisher) unlistedSettings(text []byte, rb *runbook.Runbook) runbook.Diagnostics {
	var found runbook.Diagnostics
	for _, s := range []struct{ field, name string }{
		{"connection", rb.DataSource.Connection}, {"warehouse_id", rb.DataSource.WarehouseID},
	} {
		if s.name == "" {
			continue
		}
		err := p.sources.CheckSetting(s.name)
		if err == nil {
			continue
		}
		path := []any{"data_source", s.field}
		d := runbook.Diagnostic{Severity: runbook.SeverityError, Code: codeUnlistedSetting, Message: err.Error(), Path: runbook.PathText(path)}
		d.Line, d.Column = lint.Position(text, path)
		found = append(found, d)
	}
	return found
}

func problems(ds runbook.Diagnostics) []api.InputProblem {
	var out []api.InputProblem
	for _, d := range ds {
		out = append(out, api.InputProblem{Severity: string(d.Severity), Line: d.Line, Column: d.Column, Field: d.Path, Code: d.Code, Message: d.Message})
	}
	return out
}
