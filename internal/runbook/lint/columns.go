package lint

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/template"
	"github.com/matoolkit/matoolkit/internal/signature"
)

// ColumnRules are the requirements, by column, of those steps of a runbook that every member comes to. They
// say nothing of parameters that several variables make, and of variables that steps can replace by their outputs.
type ColumnRules map[string][]columnRule

// columnRule is one parameter that one column makes.
type columnRule struct {
	parameter signature.Parameter
	value     any    // a template
	use       string // where the runbook uses the column
}

// ColumnRules returns the rules of a runbook's columns.
func (c Catalogs) ColumnRules(rb *runbook.Runbook) ColumnRules {
	rules := ColumnRules{}
	for _, s := range rb.Checks {
		if s.When == nil {
			rules.addStep(s, c)
		}
	}
	for _, phase := range rb.Phases {
		for _, s := range phase.Steps {
			if phase.When == nil && s.When == nil {
				rules.addStep(s, c)
			}
		}
	}
	rb.EachStep(func(s runbook.Step, _ []any) {
		for name := range s.OutputParams {
			delete(rules, name)
		}
	})
	return rules
}

func (r ColumnRules) addStep(s runbook.Step, c Catalogs) {
	functions, _ := c.of(s.WorkerID)
	i := slices.IndexFunc(functions, func(f signature.Function) bool { return strings.EqualFold(f.Name, s.Function) })
	if i < 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.Params)) {
		if columns := template.References(s.Params[name]); len(columns) == 1 && !strings.HasPrefix(columns[0], "_") {
			r.add(columns[0], functions[i], name, s)
		}
	}
}

// add adds the rule of a function's parameter, unless there is one that refuses the same values.
func (r ColumnRules) add(column string, f signature.Function, parameter string, s runbook.Step) {
	for _, p := range f.Params {
		same := func(other columnRule) bool {
			return other.parameter.Type == p.Type && (other.parameter.Required || !p.Required) && reflect.DeepEqual(other.value, s.Params[parameter])
		}
		if strings.EqualFold(p.Name, parameter) && !slices.ContainsFunc(r[column], same) {
			r[column] = append(r[column], columnRule{p, s.Params[parameter], fmt.Sprintf("%s of %s in step %s", p.Name, f.Name, s.Name)})
		}
	}
}

// Check returns why a value of a column, as JSON was decoded, makes a step fail; empty if it makes none
// fail. It does not repeat the value.
func (r ColumnRules) Check(column string, value any) string {
	for _, rule := range r[column] {
		if fault := rule.check(column, value); fault != "" {
			return fmt.Sprintf("column %s: %s", column, fault)
		}
	}
	return ""
}

func (r columnRule) check(column string, value any) string {
	resolved, err := template.ResolveParams(map[string]any{r.parameter.Name: r.value}, template.Variables{column: value})
	if err != nil {
		return fmt.Sprintf("%s: %v", r.use, err)
	}
	read, err := signature.TypeOf(r.parameter).Read(resolved[r.parameter.Name])
	switch {
	case err != nil:
		return fmt.Sprintf("%s %v", r.use, err)
	case read == nil && r.parameter.Required:
		return r.use + " is required and is empty"
	}
	return ""
}
