package runbook

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/humanize"
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

// secrets checks that secret values stay where they can be kept secret, and warns of
// names that no step uses.
func (v *validator) secrets() {
	used := v.usedNames()
	secret := map[string]bool{}
	for _, s := range v.d.secret {
		secret[s.variable] = true
		v.secretName(s, used)
	}
	v.eachStep(func(s draftStep) { v.secretFields(s, secret) })
	v.eachStep(func(s draftStep) {
		for _, u := range s.uses {
			if u.path == s.path+".function" && secret[u.variable] {
				v.p.errorf(u.pos, u.path, CodeSecretPlace, "{{%s}} is secret, and the name of a function is shown everywhere", clip(u.variable))
			}
		}
	})
}

// usedNames are the variables that steps use or give.
func (v *validator) usedNames() map[string]bool {
	used := map[string]bool{}
	v.eachStep(func(s draftStep) {
		for _, u := range s.uses {
			used[u.variable] = true
		}
		for _, out := range s.outputs {
			used[out.variable] = true
		}
	})
	return used
}

// secretName checks one name of the list of secrets.
func (v *validator) secretName(s output, used map[string]bool) {
	ds := v.d.source
	switch {
	case s.variable == ds.PrimaryKey || s.variable == ds.BatchTimeColumn:
		v.p.errorf(s.pos, s.path, CodeSecretPlace, "%q identifies or times a member and is shown everywhere, so it cannot be secret", clip(s.variable))
	case v.lists[s.variable]:
		v.p.errorf(s.pos, s.path, CodeSecretPlace, "%q is a multi-valued column, which cannot be secret", clip(s.variable))
	case !used[s.variable]:
		v.p.warnf(s.pos, s.path, CodeUnknownSecret, "no step uses or gives {{%s}}%s", clip(s.variable), humanize.DidYouMean(s.variable, slices.Sorted(maps.Keys(used))))
	}
}

// secretFields refuses a second variable for the field of a result that a secret takes.
func (v *validator) secretFields(s draftStep, secret map[string]bool) {
	for _, out := range s.outputs {
		for other, field := range s.OutputParams {
			if secret[other] && other != out.variable && strings.EqualFold(field, s.OutputParams[out.variable]) {
				v.p.errorf(out.pos, out.path, CodeSecretPlace, "takes the same field as the secret %q: use one variable for it", clip(other))
			}
		}
	}
}

// eachStep visits the steps of all lists.
func (v *validator) eachStep(visit func(draftStep)) {
	lists := [][]draftStep{v.d.init, v.d.removed}
	for _, ph := range v.d.phases {
		lists = append(lists, ph.steps, ph.onComplete)
	}
	for _, rb := range v.d.rollbacks {
		lists = append(lists, rb.steps)
	}
	for _, list := range lists {
		for _, s := range list {
			visit(s)
		}
	}
}

// LastUse names the phase after which no step uses the value of a secret any more:
// the last phase of those whose steps use or give it. It is empty where there is none
// such: where no phase uses it, where the removal steps do, which may run at any time,
// or where a phase that uses it falls due after the one that is listed last.
func (r *Runbook) LastUse(secret string) string {
	if slices.ContainsFunc(r.OnMemberRemoved, func(s Step) bool { return r.touches(s, secret) }) {
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
