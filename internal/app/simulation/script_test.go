package simulation

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"
)

// script is the worker's answers to the jobs of one step for one member, in
// order: attempts and polls alike. An endless script never completes.
type script struct {
	answers []answerTo
	goesOn  bool // with incomplete answers, for as long as it is asked
}

// answerTo is the worker's answer to one job.
type answerTo struct {
	kind   answerKind
	result string         // JSON
	values map[string]any // for the step's outputs, by variable
}

type answerKind string

const (
	done       answerKind = "done"
	fails      answerKind = "fails"      // and may be tried again
	useless    answerKind = "useless"    // a success that lacks an output: trying again does not help
	incomplete answerKind = "incomplete" // to be polled; a failure where the step does not poll
)

// script draws the worker's answers for a member's first or repeated execution of
// a step.
func (p *plan) script(who string, s *step, round int) *script {
	key := fmt.Sprintf("%s at %s, round %d", who, s.place, round)
	if known, ok := p.answers[key]; ok {
		return known
	}
	r := p.rng("answers " + key)
	out := &script{}
	p.answers[key] = out
	for try := 0; ; try++ {
		if s.poll != nil && !s.poll.patient && r.IntN(4) == 0 {
			out.goesOn = true
			return out
		}
		if s.poll != nil && s.poll.patient {
			for range max(0, r.IntN(6)-2) {
				out.answers = append(out.answers, answerTo{kind: incomplete, result: pick(r, `{"complete":false}`, `{"Complete":false,"data":{"At":"3 of 7"}}`)})
			}
		}
		a := s.draw(r, who)
		out.answers = append(out.answers, a)
		if a.kind == done || a.kind == useless || a.kind == incomplete && s.check || try >= p.retries(s) {
			return out
		}
	}
}

// attempt draws the outcome of one job of a step with a short deadline, and the
// delay of the answer. The answer of a completed job is always the same.
func (p *plan) attempt(who string, s *step, jobID string) (a answerTo, after time.Duration, lost bool) {
	r := p.rng("attempt " + jobID)
	switch r.IntN(6) {
	case 0, 1:
		return answerTo{}, 0, true
	case 2:
		return answerTo{kind: fails}, 0, false
	case 3:
		after = time.Duration(r.IntN(2400)) * time.Second
	}
	return p.value(who, s), after, false
}

// value is the result of a completed step with a short deadline.
func (p *plan) value(who string, s *step) answerTo {
	r := p.rng("value " + who + " at " + s.place)
	for {
		if a := s.draw(r, who); a.kind == done {
			return a
		}
	}
}

// draw makes the answer that ends a try.
func (s *step) draw(r *rand.Rand, who string) answerTo {
	switch n := r.IntN(100); {
	case n < 16:
		return answerTo{kind: fails}
	case n < 19 && s.poll == nil:
		return answerTo{kind: incomplete, result: `{"complete":false}`}
	case n < 21 && len(s.outputs) > 0:
		return answerTo{kind: useless, result: `{"Other":1}`}
	}
	a := answerTo{kind: done, values: map[string]any{}}
	fields := map[string]any{}
	for _, o := range s.outputs {
		var v any = fmt.Sprintf("%s of %s at %s, %d", o.variable, who, s.place, r.IntN(1000))
		switch r.IntN(12) {
		case 0:
			v = nil
		case 1:
			v = float64(r.IntN(100))
		case 2:
			v = []any{"a", true}
		}
		a.values[o.variable], fields[o.field] = v, v
	}
	var result any = true
	switch {
	case r.IntN(2) == 0:
		result = map[string]any{"complete": true, "data": fields}
	case len(fields) > 0:
		result = fields
	}
	encoded, err := json.Marshal(result)
	if err != nil {
		panic(err) // plain maps
	}
	a.result = string(encoded)
	return a
}
