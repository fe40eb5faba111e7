package simulation

import (
	"fmt"
	"maps"
	"slices"
)

// The oracle runs a plan the simple way: member after member, phase after phase,
// step after step, with nothing that goes wrong besides what the worker answers.
// It says what every run must come to, and which jobs the worker must be given.

// outcome is how a batch must end.
type outcome struct {
	status  string
	init    *runEnd
	phases  map[string]phaseEnd
	members map[int]*memberEnd // 0 has the jobs of the init sequence
}

type phaseEnd struct {
	status            string
	succeeded, failed int
}

type memberEnd struct {
	status string
	data   map[string]any     // what workers returned
	runs   map[string]*runEnd // by phase; none for those that the member did not come to
	jobs   []job
}

type runEnd struct {
	status string
	steps  []stepEnd
}

type stepEnd struct {
	status         string
	retries, polls int // polls is -1 where it depends on the time
	result         string
}

// job is one call that the worker must get. One that goes on is repeated with
// other job ids until it is polled no more.
type job struct {
	step   *step
	answer answerTo
	goesOn bool
	params map[string]any
}

func (p *plan) outcome(batch int) *outcome {
	out := &outcome{status: "completed", phases: map[string]phaseEnd{}, members: map[int]*memberEnd{}}
	if len(p.init) > 0 {
		begin := &memberEnd{}
		out.members[0] = begin
		out.init = p.passage(begin, 0, p.init, map[string]any{"_batch_id": float64(batch)})
		if out.init.status == "failed" {
			out.status = "failed"
			for _, m := range p.members {
				out.members[m.id] = &memberEnd{status: "active"}
			}
			for _, ph := range p.phases {
				out.phases[ph.name] = phaseEnd{status: "pending"}
			}
			return out
		}
	}
	for _, m := range p.members {
		out.members[m.id] = p.member(m, batch)
	}
	completed := false
	for _, ph := range p.phases {
		end := phaseEnd{status: "failed"}
		for _, m := range out.members {
			switch run := m.runs[ph.name]; {
			case run == nil:
			case run.status == "succeeded":
				end.succeeded++
				end.status, completed = "completed", true
			case run.status == "failed":
				end.failed++
			}
		}
		out.phases[ph.name] = end
	}
	if !completed {
		out.status = "failed"
	}
	return out
}

// member takes one member through all phases, in the order in which they fall due.
func (p *plan) member(m *person, batch int) *memberEnd {
	end := &memberEnd{status: "active", data: map[string]any{}, runs: map[string]*runEnd{}}
	variables := maps.Clone(m.data)
	variables["_batch_id"] = float64(batch)
	for _, ph := range p.ordered() {
		run := p.passage(end, m.id, ph.steps, variables)
		end.runs[ph.name] = run
		if run.status == "failed" {
			end.status = "failed"
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

// passage runs steps in order until one fails.
func (p *plan) passage(end *memberEnd, member int, steps []*step, variables map[string]any) *runEnd {
	run := &runEnd{status: "succeeded"}
	for _, s := range steps {
		if run.status == "failed" {
			run.steps = append(run.steps, stepEnd{status: "cancelled"})
			continue
		}
		result := p.take(end, member, s, variables)
		run.steps = append(run.steps, result)
		if result.status != "succeeded" {
			run.status = "failed"
		}
	}
	return run
}

// take runs one step to its end.
func (p *plan) take(end *memberEnd, member int, s *step, variables map[string]any) stepEnd {
	params, ok := s.resolve(variables)
	if !ok {
		return stepEnd{status: "failed"}
	}
	script := p.script(member, s)
	out := stepEnd{}
	for i, a := range script.answers {
		end.jobs = append(end.jobs, job{step: s, answer: a, params: params})
		if a.result != "" {
			out.result = a.result
		}
		last := i == len(script.answers)-1 && !script.goesOn
		switch {
		case a.kind == done:
			out.status = "succeeded"
			for variable, v := range a.values {
				variables[variable], end.data[variable] = v, v
			}
		case last:
			out.status = "failed"
		case a.kind == incomplete && s.poll != nil:
			out.polls++
		default:
			out.retries++
		}
	}
	if script.goesOn {
		end.jobs = append(end.jobs, job{step: s, answer: answerTo{kind: incomplete, result: `{"complete":false}`}, goesOn: true, params: params})
		out.status, out.polls, out.result = "poll_timeout", -1, `{"complete":false}`
	}
	return out
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
		default:
			return nil, false
		}
	}
	return params, true
}
