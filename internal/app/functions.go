package app

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// Function is what a runbook may call: one of the workers' functions, with what it
// takes. Names are compared in any case, as the workers do.
type Function struct {
	Name   string
	Params []Parameter
}

// Parameter is one parameter of a Function.
type Parameter struct {
	Name     string
	Required bool
}

// The diagnostics of what the workers would refuse. They are warnings: a worker may
// have functions of its own.
const (
	codeUnknownFunction  = "unknown-function"
	codeUnknownParameter = "unknown-parameter"
	codeMissingParameter = "missing-parameter"
)

// CheckFunctions warns of calls in a runbook, parsed from text without errors, that no
// worker is known to take, so that they are found before it is published and not in a
// migration, member by member. A function whose name is a template is known only when it
// is called. Where no functions are known nothing is found.
func CheckFunctions(text []byte, rb *runbook.Runbook, known []Function) runbook.Diagnostics {
	var root yaml.Node
	if len(known) == 0 || yaml.Unmarshal(text, &root) != nil || len(root.Content) == 0 {
		return nil
	}
	c := functionCheck{document: root.Content[0], known: known}
	c.steps(rb.Init, "init")
	for i, p := range rb.Phases {
		c.steps(p.Steps, "phases", i, "steps")
		c.steps(p.OnComplete, "phases", i, "on_complete")
	}
	c.steps(rb.OnMemberRemoved, "on_member_removed")
	for name, steps := range rb.Rollbacks {
		c.steps(steps, "rollbacks", name)
	}
	slices.SortFunc(c.found, func(a, b runbook.Diagnostic) int {
		return cmp.Or(a.Line-b.Line, a.Column-b.Column, cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
	})
	return c.found
}

type functionCheck struct {
	document *yaml.Node
	known    []Function
	found    runbook.Diagnostics
}

func (c *functionCheck) steps(list []runbook.Step, path ...any) {
	for i, s := range list {
		at := append(slices.Clone(path), i)
		if len(runbook.References(s.Function)) > 0 {
			continue
		}
		known := slices.IndexFunc(c.known, func(f Function) bool { return strings.EqualFold(f.Name, s.Function) })
		if known < 0 {
			var names []string
			for _, f := range c.known {
				names = append(names, f.Name)
			}
			c.warn(codeUnknownFunction, fmt.Sprintf("calls %q, which is none of the workers' own functions; unless a worker has it besides, each call will fail%s", s.Function, meant(s.Function, names)), "function", at...)
			continue
		}
		c.params(c.known[known], s, at)
	}
}

func (c *functionCheck) params(f Function, s runbook.Step, at []any) {
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
			if len(s.Params) > 0 {
				field = "params"
			}
			c.warn(codeMissingParameter, fmt.Sprintf("calls %s without its parameter %s: each call will fail", f.Name, p.Name), field, at...)
		}
	}
	for name := range s.Params {
		if !slices.ContainsFunc(f.Params, func(p Parameter) bool { return strings.EqualFold(p.Name, name) }) {
			c.warn(codeUnknownParameter, fmt.Sprintf("%s has no parameter %q: each call will fail%s", f.Name, name, meant(name, free)), name, append(slices.Clone(at), "params")...)
		}
	}
}

// meant suggests what a misspelt name may stand for.
func meant(name string, known []string) string {
	if near := runbook.Nearest(name, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

func (c *functionCheck) warn(code, message, field string, path ...any) {
	d := runbook.Diagnostic{Severity: runbook.SeverityWarning, Code: code, Message: message, Path: pathText(append(slices.Clone(path), field))}
	if key := keyOf(find(c.document, path), field); key != nil {
		d.Line, d.Column = key.Line, key.Column
	}
	c.found = append(c.found, d)
}
