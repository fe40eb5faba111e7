package lint

import (
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/template"
	"github.com/matoolkit/matoolkit/internal/signature"
)

// Catalogs are the functions that runbooks may call.
type Catalogs struct {
	Standard []signature.Function            // of a worker that is not among Workers
	Workers  map[string][]signature.Function // by the worker's id
	// Announced are the ids of all workers that have announced themselves, also of those not
	// among Workers, and Seen those of workers that only answered jobs or sent heartbeats.
	// Nil: the workers are unknown, as offline.
	Announced, Seen []string
}

func (c Catalogs) of(worker string) (functions []signature.Function, announced bool) {
	if functions, announced = c.Workers[worker]; announced {
		return functions, true
	}
	return c.Standard, false
}

// Secrets are a runbook's secrets with the variables that secret parameters, and fields of passwords and secrets
// in other parameters, take. Where a variable
// names the function of a step, a parameter is secret if it is in any function of the worker.
// Columns that identify a member or its batch are always shown and cannot become secret.
func (c Catalogs) Secrets(rb *runbook.Runbook) []string {
	public := []string{rb.DataSource.PrimaryKey, rb.DataSource.BatchTimeColumn}
	for _, column := range rb.DataSource.MultiValued {
		public = append(public, column.Name)
	}
	names := slices.Clone(rb.Secret)
	rb.EachStep(func(s runbook.Step, _ []any) {
		functions, _ := c.of(s.WorkerID)
		anyFunction := len(template.References(s.Function)) > 0
		secret := func(name string) bool {
			return slices.ContainsFunc(functions, func(f signature.Function) bool {
				return (anyFunction || strings.EqualFold(f.Name, s.Function)) &&
					slices.ContainsFunc(f.Params, func(p signature.Parameter) bool { return p.Secret && strings.EqualFold(p.Name, name) })
			})
		}
		for name, value := range s.Params {
			if !secret(name) {
				value = secretFields(value)
			}
			for _, variable := range template.References(value) {
				if !strings.HasPrefix(variable, "_") && !slices.Contains(public, variable) {
					names = append(names, variable)
				}
			}
		}
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// secretFields are the values in an object, at any depth, of fields whose names tell of a password or a secret. Of an
// object that is written as JSON text the whole text is one.
func secretFields(value any) (found []any) {
	switch v := value.(type) {
	case string:
		if strings.HasPrefix(strings.TrimSpace(v), "{") && !strings.HasPrefix(strings.TrimSpace(v), "{{") && tellsOfSecret(v) {
			return []any{v}
		}
	case []any:
		for _, item := range v {
			found = append(found, secretFields(item)...)
		}
	case map[string]any:
		for name, inner := range v {
			if tellsOfSecret(name) {
				found = append(found, inner)
			} else {
				found = append(found, secretFields(inner)...)
			}
		}
	}
	return found
}

func tellsOfSecret(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "password") || strings.Contains(text, "secret")
}
