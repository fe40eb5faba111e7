package runbook

import (
	"maps"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/humanize"
)

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
	for _, ph := range v.d.phases {
		for _, u := range ph.when.uses {
			if secret[u.variable] {
				v.p.errorf(u.pos, u.path, CodeSecretPlace, "%q is secret, and a condition cannot use a value that is encrypted", clip(u.variable))
			}
		}
	}
	v.eachStep(func(s draftStep) {
		for _, u := range s.uses {
			switch {
			case !secret[u.variable]:
			case u.path == s.path+".function":
				v.p.errorf(u.pos, u.path, CodeSecretPlace, "{{%s}} is secret, but a function name is visible to every reader", clip(u.variable))
			case u.condition:
				v.p.errorf(u.pos, u.path, CodeSecretPlace, "%q is secret, and a condition cannot use a value that is encrypted", clip(u.variable))
			case len(u.segment.Filters) > 0:
				v.p.errorf(u.pos, u.path, CodeSecretPlace, "{{%s}} is secret, and a filter cannot change a value that is encrypted", clip(u.variable))
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
		v.p.errorf(s.pos, s.path, CodeSecretPlace, "%q is the primary key or the batch time, which every reader sees, so it cannot be secret", clip(s.variable))
	case v.lists[s.variable]:
		v.p.errorf(s.pos, s.path, CodeSecretPlace, "%q is a multi-valued column, which cannot be secret", clip(s.variable))
	case !used[s.variable]:
		v.p.warnf(s.pos, s.path, CodeUnknownSecret, "no step uses or outputs {{%s}}%s", clip(s.variable), humanize.DidYouMean(s.variable, slices.Sorted(maps.Keys(used))))
	}
}

// secretFields refuses a second variable for the field of a result that a secret takes.
func (v *validator) secretFields(s draftStep, secret map[string]bool) {
	for _, out := range s.outputs {
		for other, field := range s.OutputParams {
			if secret[other] && other != out.variable && strings.EqualFold(field, s.OutputParams[out.variable]) {
				v.p.errorf(out.pos, out.path, CodeSecretPlace, "reads the same field as the secret %q: use one variable for it", clip(other))
			}
		}
	}
}

// eachStep visits the steps of all lists.
func (v *validator) eachStep(visit func(draftStep)) {
	lists := [][]draftStep{v.d.checks, v.d.init, v.d.removed}
	if v.d.lister != nil {
		lists = append(lists, []draftStep{*v.d.lister})
	}
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
