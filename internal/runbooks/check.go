package runbooks

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/condition"
	"github.com/matoolkit/matoolkit/internal/runbook/lint"
	"github.com/matoolkit/matoolkit/internal/runbook/template"
)

// Lint gives the findings of a runbook's text and its outline, and stores nothing. Name is the runbook
// that the text is a version of, or empty. Errors: CodeUnavailable.
func (p *Publisher) Lint(ctx context.Context, name string, yaml []byte) (api.RunbookCheck, error) {
	rb, found, err := p.find(ctx, name, yaml)
	if err != nil {
		return api.RunbookCheck{}, err
	}
	view := api.RunbookCheck{Findings: []api.Diagnostic{}}
	view.Findings = append(view.Findings, diagnosticViews(found.First())...)
	if rb != nil {
		view.Outline = outline(yaml, rb)
	}
	return view, nil
}

// find gives the findings of a runbook's text, of its calls and of its data source together. The
// runbook is nil if the text cannot be read, and must not be run if there are errors.
func (p *Publisher) find(ctx context.Context, name string, yaml []byte) (*runbook.Runbook, runbook.Diagnostics, error) {
	rb, found := runbook.Read(yaml)
	if rb == nil {
		return nil, found, nil
	}
	catalogs, err := p.workers.Catalogs(ctx, rb.Workers())
	if err != nil {
		return nil, nil, err
	}
	at := places(lint.Positions(yaml))
	calls := slices.Concat(p.settingsWithoutValue(at, rb), lint.Check(yaml, rb, catalogs), lint.ReadOnly(yaml, rb, catalogs))
	declared := rb.Secret
	rb.Secret = catalogs.Secrets(rb) // of the functions' parameters too
	found = lint.Join(found, slices.Concat(otherName(at, rb, name), secretPlaces(ctx, at, rb), listedSecrets(at, rb, declared), p.unlistedSettings(at, rb), lint.WorkerCase(yaml, rb, catalogs)))
	return rb, lint.Join(found, calls), ctx.Err()
}

// places gives line and column of a path in a runbook's text, which is read once.
type places func(path []any) (line, column int)

// check parses and checks a runbook before its publication, and gives its warnings. It fails with
// CodeInvalid where the runbook has errors or, with strict, warnings.
func (p *Publisher) check(ctx context.Context, name string, yaml []byte, strict bool) (*runbook.Runbook, runbook.Diagnostics, error) {
	rb, found, err := p.find(ctx, name, yaml)
	if err != nil {
		return nil, nil, err
	}
	if rb == nil || found.HasErrors() {
		return nil, nil, runbookErrors(problems(found.First()))
	}
	if len(rb.Secret) > 0 {
		if err := p.sealer.CheckKey(ctx, rb.Secret); err != nil {
			return nil, nil, err
		}
	}
	if !p.keepsOutputs && rb.UsesOutputs() {
		return nil, nil, problem.New(api.CodeConflict, "the runbook uses {{%s}}, and this deployment keeps no artifacts: create a container in Blob Storage and set BLOB_ENDPOINT and BLOB_CONTAINER (docs/deploy.md)", runbook.VariableOutputs)
	}
	if strict && len(found) > 0 {
		return nil, nil, &problem.Error{Code: api.CodeInvalid, Message: "the runbook has warnings, and strict publishing allows none", Problems: problems(found.First())}
	}
	return rb, found.First(), nil
}

func runbookErrors(bad []api.InputProblem) *problem.Error {
	return &problem.Error{Code: api.CodeInvalid, Message: "the runbook has errors", Problems: bad}
}

// otherName finds that the request names another runbook; name is empty if it names none.
func otherName(at places, rb *runbook.Runbook, name string) runbook.Diagnostics {
	if name == "" || rb.Name == "" || name == rb.Name {
		return nil
	}
	return runbook.Diagnostics{errorAt(at, codeOtherName, fmt.Sprintf("the request names runbook %q, but its YAML names %q", name, rb.Name), "name")}
}

// maxSecretPlaces bounds the findings of secretPlaces.
const maxSecretPlaces = 200

// secretPlaces finds the steps whose function's name would show a secret, and the conditions that use
// one: the first of them where there are many.
func secretPlaces(ctx context.Context, at places, rb *runbook.Runbook) runbook.Diagnostics {
	var found runbook.Diagnostics
	add := func(message string, path []any, field string) {
		path = append(slices.Clone(path), field)
		switch {
		case len(found) < maxSecretPlaces:
			found = append(found, errorAt(at, runbook.CodeSecretPlace, message, path...))
		case len(found) == maxSecretPlaces:
			found = append(found, errorAt(at, runbook.CodeTooMany, fmt.Sprintf("there are more than %d places of secrets; the others are left out", maxSecretPlaces), path...))
		}
	}
	condition := func(when *condition.Condition, path []any) {
		for _, name := range when.Names() {
			if rb.IsSecret(name) {
				add(fmt.Sprintf("%q is secret, and a condition cannot use a value that is encrypted", name), path, "when")
			}
		}
	}
	rb.EachStep(func(s runbook.Step, path []any) {
		if ctx.Err() != nil || len(found) > maxSecretPlaces {
			return
		}
		for _, name := range template.References(s.Function) {
			if rb.IsSecret(name) {
				add(fmt.Sprintf("{{%s}} is secret, but a function name is visible to every reader", name), path, "function")
			}
		}
		condition(s.When, path)
	})
	for i, p := range rb.Phases {
		condition(p.When, []any{"phases", i})
	}
	return found
}

// listedSecrets finds the columns that a parameter of a function makes secret, and whose values another function lists:
// the list is in the result of its call, which is stored and shown as it is. Declared secrets are found as the text is read.
func listedSecrets(at places, rb *runbook.Runbook, declared []string) (found runbook.Diagnostics) {
	if !rb.ListsItems() {
		return nil
	}
	for _, name := range rb.Columns() {
		if rb.IsSecret(name) && !slices.Contains(declared, name) {
			found = append(found, errorAt(at, runbook.CodeSecretPlace, fmt.Sprintf("it lists the column %q, which goes into a secret parameter, and its result is visible to every reader: "+
				"have the step read the secret elsewhere, or send the items with each request", name), "items", "source"))
		}
	}
	return found
}

// The codes of the findings that publishing alone has.
const (
	codeOtherName       = "other-name"       // the request names another runbook than `name`; only checked on publish
	codeUnlistedSetting = "unlisted-setting" // `connection` or `warehouse_id` names a setting that is not in `DATA_SOURCES`; only checked on publish
	codeMissingSetting  = "missing-setting"  // the setting that `connection` or `warehouse_id` names has no value; only checked on publish
)

// unlistedSettings finds the settings in the data source of a runbook that this
// deployment does not allow runbooks to name.
func (p *Publisher) unlistedSettings(at places, rb *runbook.Runbook) runbook.Diagnostics {
	var found runbook.Diagnostics
	for field, name := range settings(rb) {
		if err := p.sources.CheckSetting(name); err != nil {
			found = append(found, inSource(at, field, codeUnlistedSetting, err.Error()))
		}
	}
	return found
}

// settingsWithoutValue warns of the settings of the data source that have no value: the query
// fails until they have one.
func (p *Publisher) settingsWithoutValue(at places, rb *runbook.Runbook) runbook.Diagnostics {
	var found runbook.Diagnostics
	for field, name := range settings(rb) {
		if err := p.sources.CheckValue(field, name); err != nil {
			found = append(found, warnInSource(at, field, codeMissingSetting, err.Error()+"; until then each query fails"))
		}
	}
	return found
}

// settings are the fields of the data source that name a setting, with its name.
func settings(rb *runbook.Runbook) iter.Seq2[string, string] {
	return func(yield func(field, name string) bool) {
		if rb.DataSource.Connection == "" || yield("connection", rb.DataSource.Connection) {
			if rb.DataSource.WarehouseID != "" {
				yield("warehouse_id", rb.DataSource.WarehouseID)
			}
		}
	}
}

// inSource is an error in a field of the data source.
func inSource(at places, field, code, message string) runbook.Diagnostic {
	return errorAt(at, code, message, "data_source", field)
}

// errorAt is an error at a path of a runbook's text.
func errorAt(at places, code, message string, path ...any) runbook.Diagnostic {
	line, column := at(path)
	return runbook.Diagnostic{Severity: runbook.SeverityError, Code: code, Message: message, Path: runbook.PathText(path), Line: line, Column: column}
}

// warnInSource is a warning of a field that no query succeeds with.
func warnInSource(at places, field, code, message string) runbook.Diagnostic {
	d := inSource(at, field, code, message)
	d.Severity, d.AlwaysFails = runbook.SeverityWarning, true
	return d
}

func problems(ds runbook.Diagnostics) []api.InputProblem {
	var out []api.InputProblem
	for _, d := range ds {
		out = append(out, api.InputProblem{Severity: string(d.Severity), Line: d.Line, Column: d.Column, Field: d.Path, Code: d.Code, Message: d.Message})
	}
	return out
}
