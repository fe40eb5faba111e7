package runbook

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/runbook/template"
)

// maxSecrets bounds the list of secret names.
const maxSecrets = 100

// secret reads the names of the columns and outputs whose values are secret.
func (f fields) secret() []output {
	var out []output
	seen := map[string]int{}
	for i, item := range f.list("secret", "name", 0, maxSecrets) {
		s := output{path: fmt.Sprintf("%s[%d]", f.join("secret"), i), pos: at(item)}
		if s.variable = f.p.text(item, s.path); s.variable == "" {
			continue
		}
		if line, twice := seen[s.variable]; twice {
			f.p.errorf(s.pos, s.path, CodeDuplicateColumn, "%q is already on line %d", clip(s.variable), line)
			continue
		}
		seen[s.variable] = s.pos.line
		switch fault := template.CheckName(s.variable); {
		case strings.HasPrefix(s.variable, "_"):
			f.p.errorf(s.pos, s.path, CodeReservedName, "names that begin with _ are reserved for special variables, which are never secret")
		case fault != nil:
			f.p.errorf(s.pos, s.path, CodeBadName, "%v", fault)
		default:
			out = append(out, s)
		}
	}
	return out
}

// LastUse names the phase after which no step uses the value of a secret any more:
// the last phase of those whose steps use or give it. It is empty where there is none
// such: where no phase uses it, where the removal steps or the checks do, which may run at any time,
// or where a phase that uses it falls due after the one that is listed last.
func (r *Runbook) LastUse(secret string) string {
	if slices.ContainsFunc(slices.Concat(r.OnMemberRemoved, r.Checks), func(s Step) bool { return r.touches(s, secret) }) {
		return ""
	}
	var last Phase
	latest := Offset(math.MaxInt)
	for _, p := range r.Phases {
		if slices.ContainsFunc(p.Steps, func(s Step) bool { return r.touches(s, secret) }) {
			last, latest = p, min(latest, p.Offset)
		}
	}
	if last.Offset != latest {
		return ""
	}
	return last.Name
}

// Spent tells whether no step uses the value of a secret after a phase.
func (r *Runbook) Spent(secret, phase string) bool {
	place := func(name string) int {
		return slices.IndexFunc(r.Phases, func(p Phase) bool { return p.Name == name })
	}
	last, after := place(r.LastUse(secret)), place(phase)
	return last >= 0 && after >= last && r.Phases[after].Offset <= r.Phases[last].Offset
}

// touches tells whether a step, or a rollback that its failure calls, uses a variable
// or gives it.
func (r *Runbook) touches(s Step, variable string) bool {
	if _, gives := s.OutputParams[variable]; gives || slices.Contains(s.References(), variable) {
		return true
	}
	return s.OnFailure != "" && slices.ContainsFunc(r.Rollbacks[s.OnFailure], func(undo Step) bool { return r.touches(undo, variable) })
}
