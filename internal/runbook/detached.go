package runbook

import (
	"slices"
)

// Attached returns the on_complete steps that the end of the phase waits for. The others are behind them.
func (p Phase) Attached() []Step { return p.OnComplete[:p.firstDetached()] }

// Detached returns the on_complete steps that begin when the phase has ended. No phase and no batch
// waits for them, and they do not change the outcome of either.
func (p Phase) Detached() []Step { return p.OnComplete[p.firstDetached():] }

func (p Phase) firstDetached() int {
	if i := slices.IndexFunc(p.OnComplete, func(s Step) bool { return s.Detached }); i >= 0 {
		return i
	}
	return len(p.OnComplete)
}

// detachedSteps refuses detached steps outside of on_complete, where a member or the batch waits for each
// step, and steps of on_complete behind a detached one that are not detached.
func (v *validator) detachedSteps() {
	elsewhere := [][]draftStep{v.d.init, v.d.removed}
	for _, ph := range v.d.phases {
		elsewhere = append(elsewhere, ph.steps)
		v.detachedBehind(ph.onComplete)
	}
	for _, rb := range v.d.rollbacks {
		elsewhere = append(elsewhere, rb.steps)
	}
	for _, s := range slices.Concat(elsewhere...) {
		if s.Detached {
			v.p.errorf(s.detached, joinPath(s.path, "detached"), CodeDetached, "only steps of on_complete can be detached: a member or the batch waits for this one")
		}
	}
}

// detachedBehind checks one on_complete list. The detached steps get the outputs of the steps before them
// from the run of those, which has ended and keeps no secret.
func (v *validator) detachedBehind(list []draftStep) {
	detached := ""
	attached := map[string]bool{} // outputs
	for _, s := range list {
		if s.Detached && detached == "" {
			detached = s.Name
		}
		switch {
		case detached == "":
			for _, out := range s.outputs {
				attached[out.variable] = true
			}
		case !s.Detached:
			v.p.errorf(s.pos, s.path, CodeDetached, "step %q is behind the detached step %q, for which nothing waits: list it before that step, or detach it, too", clip(s.Name), clip(detached))
			return
		default:
			for _, u := range s.uses {
				if attached[u.variable] && v.isSecret(u.variable) {
					v.p.errorf(u.pos, u.path, CodeDetached, "{{%s}} is a secret output of a step that is not detached: it is erased when that step and those beside it have ended", clip(u.variable))
				}
			}
		}
	}
}

// isSecret reports whether the values of a name are secret.
func (v *validator) isSecret(name string) bool {
	return slices.ContainsFunc(v.d.secret, func(s output) bool { return s.variable == name })
}
