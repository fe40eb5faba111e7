package runbook

func (v *validator) initSteps() {
	for _, s := range v.d.init {
		for _, out := range s.outputs {
			v.p.errorf(out.pos, out.path, CodeInitOutput, "outputs belong to a member, and init has none")
		}
		for _, u := range s.uses {
			if !v.special(u, false) {
				v.p.errorf(u.pos, u.path, CodeInitMemberData, "{{%s}} belongs to a member, but init runs once for the whole batch; use only %s", clip(u.variable), specialVariables)
			}
		}
		if c := v.call(s); c != nil && c.init == "" {
			c.init = s.Name
		}
	}
}

// phaseSteps follows one member through the phases in the order they fall due.
func (v *validator) phaseSteps() {
	turn := 0
	for _, ph := range v.inTurn() {
		for _, u := range ph.when.uses {
			v.memberUse(u, turn+1, true)
		}
		for _, s := range ph.steps {
			turn++
			for _, u := range s.uses {
				v.memberUse(u, turn, s.When != nil || ph.When != nil)
			}
			if c := v.call(s); c != nil && c.earliest == "" {
				c.earliest, c.turn = s.Name, turn
			}
			for _, out := range s.outputs {
				if _, already := v.known[out.variable]; !already {
					v.known[out.variable] = turn
				}
				v.certain[out.variable] = v.certain[out.variable] || s.When == nil && ph.When == nil
			}
		}
	}
}

// memberUse checks the use of a variable in a turn of a member, of a step or phase with a condition or
// without.
func (v *validator) memberUse(u use, turn int, conditional bool) {
	if v.special(u, false) {
		return
	}
	v.use(u)
	out, isOutput := v.outputs[u.variable]
	switch {
	case !isOutput:
	case !v.knownBy(u.variable, turn):
		v.p.errorf(u.pos, u.path, CodeUnresolvable, "{{%s}} is the output of line %d, which runs later", clip(u.variable), out.pos.line)
	case !conditional && !u.segment.MayLack() && !v.certain[u.variable]:
		v.p.warnf(u.pos, u.path, CodeOutputMaybe, "{{%s}} is the output of line %d, which a condition may skip; this step then fails", clip(u.variable), out.pos.line)
	}
}

// knownBy tells whether a member has an output when a turn begins.
func (v *validator) knownBy(variable string, turn int) bool {
	since, ok := v.known[variable]
	return ok && since < turn
}

func (v *validator) removalSteps() {
	own := map[string]bool{}
	for _, s := range v.d.removed {
		for _, u := range s.uses {
			if v.special(u, false) {
				continue
			}
			v.use(u)
			if out, isOutput := v.outputs[u.variable]; isOutput && !own[u.variable] && !u.condition && !u.segment.MayLack() {
				v.p.warnf(u.pos, u.path, CodeOutputMaybe, "{{%s}} is the output of line %d; this step fails for a member removed before that one", clip(u.variable), out.pos.line)
			}
		}
		if c := v.call(s); c != nil && c.removal == "" {
			c.removal = s.Name
		}
		for _, out := range s.outputs {
			own[out.variable] = true
		}
	}
}

// completeSteps follows each phase's on_complete list by itself.
func (v *validator) completeSteps() {
	for _, ph := range v.d.phases {
		own := map[string]bool{}
		for _, s := range ph.onComplete {
			for _, u := range s.uses {
				if v.special(u, true) || own[u.variable] {
					continue
				}
				v.p.errorf(u.pos, u.path, CodeOnCompleteData, "{{%s}} is not available: on_complete runs once for the whole batch and has no member; use the outputs of earlier steps of this list, %s", clip(u.variable), completeVariables)
			}
			if c := v.call(s); c != nil {
				c.completes(s.Name, own)
			}
			for _, out := range s.outputs {
				own[out.variable] = true
			}
		}
	}
}
