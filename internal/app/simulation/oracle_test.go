package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The oracle runs a plan the simple way: member after member, phase after phase,
// step after step, with nothing that goes wrong besides what the worker answers.
// It computes the expected outcome of every run and the expected jobs.
//
// Its input is what depends on timing: the retried members with their number of
// retries (rounds), the outcomes of steps with a short deadline, and how often a newer version of
// the runbook came after the init steps had failed, whose own then run in their place.

// outcome is how a batch must end where nothing cuts it short.
type outcome struct {
	init        *runEnd               // the last of inits
	inits       []*runEnd             // by execution
	members     map[string]*memberEnd // by key
	removals    map[string]*runEnd    // by key of the member
	checks      map[string]*runEnd    // by key of the member
	onCompletes map[string]*runEnd    // the on_complete steps, by phase
	sequences   map[string]*sequence
}

type memberEnd struct {
	status string
	data   map[string]any     // what workers returned
	runs   map[string]*runEnd // by phase; none for those that the member did not come to
}

type runEnd struct {
	status string
	steps  []stepEnd // the run's own, then those of rollbacks in the order in which they ran
	begun  map[string]int
}

type stepEnd struct {
	status         string
	retries, polls int // polls is -1 where it depends on the time
	result         string
	decision       string // of a step with a short deadline
	allowed        int    // executions of that step
}

// sequence is the jobs that must come one after the other: a member's, a removal's,
// those of init or of a phase's on_complete steps.
type sequence struct {
	jobs   []job
	failed bool // at its end, so that it can be retried
}

// job is one call that the worker must get. A polled one is repeated with
// other job ids until polling ends.
type job struct {
	step   *step
	answer answerTo
	goesOn bool
	params map[string]any
	// of a step with a short deadline: how many jobs it takes and how it ends is the
	// run's to tell, under this name
	decision string
}

// number stands for a parameter that is some number.
type number struct{}

func (p *plan) outcome(batch int, rounds map[string]int) *outcome {
	o := &outcome{
		members: map[string]*memberEnd{}, removals: map[string]*runEnd{}, checks: map[string]*runEnd{}, onCompletes: map[string]*runEnd{}, sequences: map[string]*sequence{},
	}
	special := map[string]any{"_batch_id": float64(batch)}
	for _, m := range p.everybody() {
		if len(p.removed) > 0 {
			variables := maps.Clone(m.data)
			maps.Copy(variables, special)
			o.removals[m.key] = p.passage(o.sequence(m.key+"/removal"), m.key, p.removed, variables, map[string]any{}, 0)
		}
	}
	for _, m := range p.everybody() {
		if len(p.checks) > 0 {
			variables := maps.Clone(m.data)
			maps.Copy(variables, special)
			q := o.sequence(checksOf(m.key))
			o.checks[m.key] = p.checked(q, m.key, variables, rounds[checksOf(m.key)])
		}
	}
	if len(p.init) > 0 {
		q := o.sequence("init")
		for _, n := range append(slices.Clone(p.replaced), rounds["init"]) {
			o.init = p.passage(q, "init", p.init, maps.Clone(special), map[string]any{}, n)
			o.inits = append(o.inits, o.init)
		}
		q.failed = o.init.status == "failed"
		if q.failed {
			for _, m := range p.everybody() {
				o.members[m.key] = &memberEnd{status: "active"}
			}
			return o
		}
	}
	for _, m := range p.everybody() {
		variables := maps.Clone(m.data)
		maps.Copy(variables, special)
		q := o.sequence(m.key)
		if p.keptOut(o.checks[m.key]) {
			o.members[m.key] = &memberEnd{status: "failed"}
			continue
		}
		o.members[m.key] = p.member(q, m, variables, rounds[m.key])
	}
	for _, variable := range []string{"_phase_members", "_phase_succeeded", "_phase_failed", "_phase_cancelled"} {
		special[variable] = number{}
	}
	for _, ph := range p.phases {
		if len(ph.complete) > 0 {
			q := o.sequence("complete/" + ph.name)
			o.onCompletes[ph.name] = p.passage(q, "complete/"+ph.name, ph.complete, maps.Clone(special), map[string]any{}, rounds["complete/"+ph.name])
			q.failed = o.onCompletes[ph.name].status == "failed"
		}
	}
	return o
}

func (o *outcome) sequence(name string) *sequence {
	q := &sequence{}
	o.sequences[name] = q
	return q
}

// everybody is the members that the batch began with and those who may join.
func (p *plan) everybody() []*person { return append(slices.Clone(p.members), p.late...) }

// member takes one member through all phases, in the order in which they fall due.
func (p *plan) member(q *sequence, m *person, variables map[string]any, rounds int) *memberEnd {
	end := &memberEnd{status: "active", data: map[string]any{}, runs: map[string]*runEnd{}}
	for _, ph := range p.ordered() {
		if p.decided[ph.name] == skipped {
			continue
		}
		before := rounds
		run := p.passageIf(ph.when, q, m.key, ph.steps, variables, end.data, rounds)
		rounds = before - run.begun[""]
		end.runs[ph.name] = run
		if run.status != "succeeded" {
			end.status, q.failed = run.status, run.status == "failed"
			break
		}
	}
	return end
}

// ordered are the phases as members go through them.
func (p *plan) ordered() []*phase {
	order := slices.Clone(p.phases)
	if !p.manual {
		slices.SortStableFunc(order, func(a, b *phase) int { return b.offset - a.offset })
	}
	return order
}

// passage runs steps in order until one fails, and then what rolls that one back.
// As often as rounds says it then begins again: at the step that failed or, where
// that was rolled back, at the first. How often it did is counted under "".
func (p *plan) passage(q *sequence, who string, steps []*step, variables, data map[string]any, rounds int) *runEnd {
	return p.passageIf(nil, q, who, steps, variables, data, rounds)
}

// passageIf is passage through a phase with a condition, which is evaluated whenever the phase begins
// at its first step.
func (p *plan) passageIf(when *condition, q *sequence, who string, steps []*step, variables, data map[string]any, rounds int) *runEnd {
	run := &runEnd{steps: make([]stepEnd, len(steps)), begun: map[string]int{}}
	for from := 0; ; {
		at, rolledBack, entered := 0, false, true
		if from == 0 {
			entered = run.enter(when, len(steps), variables)
		}
		if entered {
			at, rolledBack = p.through(run, q, who, steps, from, variables, data)
		}
		if run.status != "failed" || rounds == run.begun[""] {
			return run
		}
		run.begun[""]++
		if from = at; rolledBack {
			from = 0
		}
	}
}

// through goes through the steps once, and tells where it failed.
func (p *plan) through(run *runEnd, q *sequence, who string, steps []*step, from int, variables, data map[string]any) (failedAt int, rolledBack bool) {
	run.status = "succeeded"
	for i := from; i < len(steps); i++ {
		if run.status == "failed" {
			run.steps[i].status = "cancelled"
			continue
		}
		sent := p.take(&run.steps[i], run, q, who, steps[i], variables, data)
		if passed(run.steps[i].status) {
			continue
		}
		run.status, failedAt = "failed", i
		if run.steps[i].status == undecided {
			run.status = undecided
			return i, false
		}
		if undo := p.rollbacks[steps[i].onFailure]; sent && len(undo) > 0 {
			rolledBack = true
			for _, s := range undo {
				end := stepEnd{}
				p.take(&end, run, q, who, s, variables, data)
				run.steps = append(run.steps, end)
			}
		}
	}
	return failedAt, rolledBack
}

// take runs one step to its end, and tells whether any job of it was sent.
func (p *plan) take(out *stepEnd, run *runEnd, q *sequence, who string, s *step, variables, data map[string]any) bool {
	if holds, ok := s.when.holds(variables); !holds {
		out.status = skippedByCondition
		if !ok {
			out.status = "failed"
		}
		return false
	}
	params, ok := s.resolve(variables)
	if !ok {
		out.status = "failed"
		return false
	}
	if s.deadline != "" {
		p.decide(out, run, q, who, s, params, variables, data)
		return true
	}
	script := p.script(who, s, run.begun[s.place])
	run.begun[s.place]++
	out.result = ""
	for i, a := range script.answers {
		q.jobs = append(q.jobs, job{step: s, answer: a, params: params})
		if a.result != "" {
			out.result = a.result
		}
		last := i == len(script.answers)-1 && !script.goesOn
		switch {
		case a.kind == done:
			out.status = "succeeded"
			for variable, v := range a.values {
				variables[variable], data[variable] = v, v
			}
		case last:
			out.status = "failed"
		case a.kind == incomplete && s.poll != nil:
			if out.polls >= 0 {
				out.polls++
			}
		default:
			out.retries++
		}
	}
	if script.goesOn {
		q.jobs = append(q.jobs, job{step: s, answer: answerTo{kind: incomplete, result: `{"complete":false}`}, goesOn: true, params: params})
		out.status, out.polls, out.result = "poll_timeout", -1, `{"complete":false}`
	}
	return true
}

// skipped is a phase that a new version of the runbook found to be past due before
// anybody had entered it.
const skipped = "skipped"

// undecided is a step with a short deadline of which it is not known how it ended.
const undecided = "undecided"

// decide runs a step with a short deadline, as the decision about it says.
func (p *plan) decide(out *stepEnd, run *runEnd, q *sequence, who string, s *step, params, variables, data map[string]any) {
	name := fmt.Sprintf("%s at %s, round %d", who, s.place, run.begun[s.place])
	run.begun[s.place]++
	q.jobs = append(q.jobs, job{step: s, params: params, decision: name})
	out.status, out.polls, out.decision, out.allowed = undecided, -1, name, 1+p.retries(s)
	switch p.decided[name] {
	case "succeeded":
		a := p.value(who, s)
		out.status, out.result = "succeeded", a.result
		for variable, v := range a.values {
			variables[variable], data[variable] = v, v
		}
	case "failed":
		out.status = "failed"
	}
}

// resolve fills in the parameters; not ok where a variable is not known, or has no
// text amid text.
func (s *step) resolve(variables map[string]any) (params map[string]any, ok bool) {
	params = map[string]any{}
	for _, q := range s.params {
		if q.variable == "" {
			params[q.key] = q.before
			continue
		}
		v, known := variables[q.variable]
		if !known {
			return nil, false
		}
		if q.before == "" && q.after == "" {
			params[q.key] = v
			continue
		}
		switch v.(type) {
		case string, float64, bool:
			params[q.key] = q.before + fmt.Sprint(v) + q.after
		case nil:
			params[q.key] = q.before + q.after
		default:
			return nil, false
		}
	}
	return params, true
}

// sequenceOf names the sequence that a job belongs to.
func (p *plan) sequenceOf(place, who string) string {
	kind, _, _ := strings.Cut(place, ".")
	switch {
	case strings.HasPrefix(kind, "init"):
		return "init"
	case kind == "removed":
		return who + "/removal"
	case kind == "check":
		return checksOf(who)
	case strings.HasPrefix(kind, "complete"):
		for _, ph := range p.phases {
			for _, s := range ph.complete {
				if s.place == place {
					return "complete/" + ph.name
				}
			}
		}
	}
	return who
}
