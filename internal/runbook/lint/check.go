// Package lint warns of what a runbook without errors asks of its workers: functions,
// parameters and fields that they are not known to have.
//
// It is pure. It must not know where the workers' functions are stored, or what happens to
// a runbook with warnings.
package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/template"
	"github.com/matoolkit/matoolkit/internal/signature"
)

// The codes of the diagnostics of Check. They are warnings: a worker may have
// functions of its own, or be replaced before the runbook is used.
const (
	codeUnknownFunction  = "unknown-function"              // the step's worker is not known to have the function
	codeUnknownParameter = "unknown-parameter"             // the function has no such parameter
	codeMissingParameter = "missing-parameter"             // a required parameter of the function is missing
	codeParameterType    = "parameter-type"                // the function does not accept a value of this type
	codeUnknownField     = "unknown-result-field"          // `output_params` names a field that the function does not return
	codeUnknownWorker    = "unknown-worker"                // no worker of this id has announced its functions; only checked on publish
	codeTimeout          = "timeout-shorter-than-function" // the step's timeout is shorter than one call of the function may take; the worker stops a call that takes longer
	codeMayBeEmpty       = "may-be-empty"                  // a required parameter is empty if variables have no value; `{{name?}}` or `default('')` asks for that, and so does a text of variables only
	codeFilteredSecret   = "filtered-secret"               // a filter is applied to the value of a secret parameter, which is encrypted
	codeOpenSecret       = "open-secret"                   // the value of a secret parameter stands in the runbook, which every reader sees
	codeUnescapedHTML    = "unescaped-html"                // a variable in the body of an HTML mail does not end with the filter html, so that its value can add markup, such as a link
)

// unknownSecrets says what an unknown worker means for the secrets of a runbook.
const unknownSecrets = "the values of its secret parameters are visible until it announces them, unless secret lists their columns"

// Check warns of calls in a runbook, read from text, that the worker of the step is not
// known to accept, and of workers that have not announced themselves. Where the text has
// errors, Join leaves out what only follows from them. It does not check what contains a
// template: neither the name of a function nor a value.
func Check(text []byte, rb *runbook.Runbook, known Catalogs) runbook.Diagnostics {
	var root yaml.Node
	if len(known.Standard) == 0 && known.Announced == nil || yaml.Unmarshal(text, &root) != nil || len(root.Content) == 0 {
		return nil
	}
	c := check{rb: rb, document: root.Content[0], known: known, strange: map[string]bool{}}
	rb.EachStep(c.step)
	c.itemSource()
	slices.SortFunc(c.found, func(a, b runbook.Diagnostic) int {
		return cmp.Or(a.Line-b.Line, a.Column-b.Column, cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
	})
	return c.found
}

type check struct {
	rb       *runbook.Runbook
	document *yaml.Node
	known    Catalogs
	strange  map[string]bool // workers that are warned of already
	found    runbook.Diagnostics
}

func (c *check) step(s runbook.Step, at []any) {
	if s.WorkerID == "" || s.Function == "" {
		return
	}
	functions, announced := c.known.of(s.WorkerID)
	if !announced && c.known.Announced != nil && !c.strange[s.WorkerID] {
		c.strange[s.WorkerID] = true
		if slices.Contains(c.known.Seen, s.WorkerID) {
			c.warn(codeUnknownWorker, fmt.Sprintf("the worker %q has not announced its functions; its steps cannot be checked, and %s", s.WorkerID, unknownSecrets), "worker_id", at...)
		} else {
			advice := humanize.DidYouMean(s.WorkerID, c.known.Announced)
			if advice == "" {
				advice = fmt.Sprintf("; deploy and start one with this id (on this machine: matoolkit local up --worker-id %[1]s, then WORKER_ID=%[1]s bin/worker)", s.WorkerID)
			}
			c.warnFailing(codeUnknownWorker, fmt.Sprintf("no worker %q has announced itself; until one does, its jobs time out, and %s%s", s.WorkerID, unknownSecrets, advice), "worker_id", at...)
		}
	}
	if len(functions) == 0 || len(template.References(s.Function)) > 0 {
		return
	}
	i := slices.IndexFunc(functions, func(f signature.Function) bool { return strings.EqualFold(f.Name, s.Function) })
	if i >= 0 {
		c.params(functions[i], s, at)
		c.outputs(functions[i], s, at)
		c.timeout(functions[i], s, at)
		c.markup(functions[i], s, at)
		return
	}
	names := make([]string, len(functions))
	for i, f := range functions {
		names[i] = f.Name
	}
	says := "which is not a standard function; unless the worker has a custom function of that name, each call will fail"
	if announced {
		says = fmt.Sprintf("which the worker %s does not have: each call will fail", s.WorkerID)
	}
	c.warnFailing(codeUnknownFunction, fmt.Sprintf("calls %q, %s%s", s.Function, says, humanize.DidYouMean(s.Function, names)), "function", at...)
}

func (c *check) params(f signature.Function, s runbook.Step, at []any) {
	given := map[string]bool{}
	for name := range s.Params {
		given[strings.ToLower(name)] = true
	}
	var free []string // what a misspelt parameter may stand for
	for _, p := range f.Params {
		if given[strings.ToLower(p.Name)] {
			continue
		}
		free = append(free, p.Name)
		if p.Required {
			field := "function"
			if keyOf(find(c.document, at), "params") != nil {
				field = "params"
			}
			c.warnFailing(codeMissingParameter, fmt.Sprintf("calls %s without its parameter %s: each call will fail", f.Name, p.Name), field, at...)
		}
	}
	inside := append(slices.Clone(at), "params")
	for name, value := range s.Params {
		i := slices.IndexFunc(f.Params, func(p signature.Parameter) bool { return strings.EqualFold(p.Name, name) })
		if i < 0 {
			c.warnFailing(codeUnknownParameter, fmt.Sprintf("%s has no parameter %q: each call will fail%s", f.Name, name, humanize.DidYouMean(name, free)), name, inside...)
		} else if wrong := cmp.Or(misfit(f.Params[i], value), c.listMisfit(f.Params[i], value)); wrong != "" {
			c.warnFailing(codeParameterType, fmt.Sprintf("the parameter %s of %s %s: each call will fail", f.Params[i].Name, f.Name, wrong), name, inside...)
		} else if f.Params[i].Secret && value != nil && value != "" && len(template.References(value)) == 0 {
			c.warn(codeOpenSecret, fmt.Sprintf("the parameter %s of %s is secret, but the runbook shows its value: take it from a column", f.Params[i].Name, f.Name), name, inside...)
		} else if variable := filteredVariable(secretFields(value)); variable != "" {
			c.warn(codeFilteredSecret, fmt.Sprintf("a password or secret in the parameter %s of %s is encrypted, and a filter cannot change {{%s}}: each call will fail", f.Params[i].Name, f.Name, variable), name, inside...)
		} else if shown := openText(secretFields(value)); shown {
			c.warn(codeOpenSecret, fmt.Sprintf("the parameter %s of %s has a password or secret, and the runbook shows its value: take it from a column", f.Params[i].Name, f.Name), name, inside...)
		} else if variable := filteredVariable(value); f.Params[i].Secret && variable != "" {
			c.warn(codeFilteredSecret, fmt.Sprintf("the parameter %s of %s is secret, and a filter cannot change {{%s}}, which is encrypted: each call will fail", f.Params[i].Name, f.Name, variable), name, inside...)
		} else if empty := c.emptyIf(value); f.Params[i].Required && empty != "" {
			c.warn(codeMayBeEmpty, fmt.Sprintf("the parameter %s of %s is required, and is empty if %s: the call will fail then; the filter default gives a value", f.Params[i].Name, f.Name, empty), name, inside...)
		}
	}
}

// outputs warns of fields that the result does not have. For a polled function only
// the fields of its data count, and they are not declared.
func (c *check) outputs(f signature.Function, s runbook.Step, at []any) {
	for variable, field := range s.OutputParams {
		c.field(f, field, variable, append(slices.Clone(at), "output_params")...)
	}
}

// field warns of a field that the result does not have, which the key at a path names.
func (c *check) field(f signature.Function, field, key string, at ...any) {
	if f.Has("complete") || f.Has(field) {
		return
	}
	names := make([]string, len(f.Result))
	for i, r := range f.Result {
		names[i] = r.Name
	}
	says := fmt.Sprintf("the result of %s has no field %q%s", f.Name, field, humanize.DidYouMean(field, names))
	if len(names) == 0 {
		says = fmt.Sprintf("%s returns only true, without a field %q", f.Name, field)
	}
	c.warnFailing(codeUnknownField, says, key, at...)
}

// itemSource warns of a list of items that the result of its function does not have.
func (c *check) itemSource() {
	if !c.rb.ListsItems() {
		return
	}
	s := c.rb.Request.Source
	functions, _ := c.known.of(s.WorkerID)
	i := slices.IndexFunc(functions, func(f signature.Function) bool { return strings.EqualFold(f.Name, s.Function) })
	if i >= 0 && s.Output != "" {
		c.field(functions[i], s.Output, "output", "items", "source")
	}
}

// timeout warns of a step that gives up before its function does: the worker stops the
// call then, and what it has done until then stays done.
func (c *check) timeout(f signature.Function, s runbook.Step, at []any) {
	longest := time.Duration(f.TimeoutSeconds) * time.Second
	if s.Timeout >= longest {
		return
	}
	field := "timeout"
	if keyOf(find(c.document, at), field) == nil {
		field = "function"
	}
	c.warn(codeTimeout, fmt.Sprintf("the step times out after %s, but one call of %s can take %s: the worker stops a longer call half-way",
		s.Timeout, f.Name, longest), field, at...)
}

func (c *check) warn(code, message, field string, path ...any) {
	c.report(runbook.Diagnostic{Code: code, Message: message}, field, path)
}

// warnFailing warns of a step of which every call fails.
func (c *check) warnFailing(code, message, field string, path ...any) {
	c.report(runbook.Diagnostic{Code: code, Message: message, AlwaysFails: true}, field, path)
}

func (c *check) report(d runbook.Diagnostic, field string, path []any) {
	d.Severity, d.Path = runbook.SeverityWarning, runbook.PathText(append(slices.Clone(path), field))
	if key := keyOf(find(c.document, path), field); key != nil {
		d.Line, d.Column = key.Line, key.Column
	}
	c.found = append(c.found, d)
}
