package simulation

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// condition is the when of a step or a phase: a comparison of one variable. A nil one always holds.
type condition struct {
	variable string
	operator operator
	texts    []string // that the variable is compared with
	output   bool     // of a step: it is null until the step has given it
	sequence *sequenceCondition
}

// sequenceCondition is the condition of an init or on_complete step. These use what belongs to the batch
// and to the phase only.
type sequenceCondition struct {
	text  string
	holds func(variables map[string]any) (holds, ok bool)
}

type operator string

const (
	isNull  operator = "== nil"
	notNull operator = "!= nil"
	equals  operator = "=="
	differs operator = "!="
	among   operator = "in"
)

// skippedByCondition is the status of a step whose condition was false.
const skippedByCondition = "skipped_by_condition"

// passed reports whether a run goes on to the next step after a step with a status.
func passed(status string) bool { return status == "succeeded" || status == skippedByCondition }

// holds evaluates the condition; not ok where it cannot be evaluated.
func (c *condition) holds(variables map[string]any) (holds, ok bool) {
	if c == nil {
		return true, true
	}
	if c.sequence != nil {
		return c.sequence.holds(variables)
	}
	v, known := variables[c.variable]
	if !known && !c.output {
		return false, false
	}
	text, isText := v.(string)
	switch {
	case c.operator == isNull:
		return v == nil, true
	case c.operator == notNull:
		return v != nil, true
	case v != nil && !isText: // values of different types are not compared
		return false, false
	}
	return (isText && slices.Contains(c.texts, text)) == (c.operator != differs), true
}

func (c *condition) write(b *strings.Builder, indent string) {
	if c == nil {
		return
	}
	text := fmt.Sprintf("%s %s", c.variable, c.operator)
	switch c.operator {
	case "":
		text = c.sequence.text
	case equals, differs:
		text += fmt.Sprintf(" %q", c.texts[0])
	case among:
		list, err := json.Marshal(c.texts)
		if err != nil {
			panic(err) // texts
		}
		text += " " + string(list)
	}
	fmt.Fprintf(b, "%swhen: %q\n", indent, text)
}

// enter evaluates the condition of a phase for a run that begins, and reports whether the run comes
// to its steps: not where the condition is false, which skips all of them, nor where it cannot be
// evaluated, which fails the first.
func (run *runEnd) enter(when *condition, steps int, variables map[string]any) bool {
	holds, ok := when.holds(variables)
	if holds {
		return true
	}
	run.status = "succeeded"
	for i := range run.steps[:steps] {
		run.steps[i].status = skippedByCondition
		if !ok {
			run.status, run.steps[i].status = "failed", "cancelled"
		}
	}
	if !ok {
		run.steps[0].status = "failed"
	}
	return false
}

// drawConditions gives some steps and phases a condition.
func (p *plan) drawConditions(r *rand.Rand) {
	if r.IntN(3) == 0 {
		return
	}
	for _, s := range slices.Concat(p.checks, p.removed) {
		s.when = p.drawCondition(r, 4, nil)
	}
	for i := range 3 { // in their order
		for _, s := range p.rollbacks[fmt.Sprintf("undo%d", i+1)] {
			s.when = p.drawCondition(r, 4, nil)
		}
	}
	var known []string
	for _, ph := range p.phases {
		ph.when = p.drawCondition(r, 5, known)
		for _, s := range ph.steps {
			s.when = p.drawCondition(r, 4, known)
			for _, o := range s.outputs {
				known = append(known, o.variable)
			}
		}
	}
}

// drawCondition draws a condition of a member's step once in so many times.
func (p *plan) drawCondition(r *rand.Rand, share int, outputs []string) *condition {
	if r.IntN(share) > 0 {
		return nil
	}
	keys := func() []string {
		all := []string{"late1", "late2", "late3"}
		for _, m := range p.members {
			all = append(all, m.key)
		}
		return slices.DeleteFunc(all, func(string) bool { return r.IntN(2) == 0 })
	}
	switch n := r.IntN(12); {
	case n == 0:
		return &condition{variable: "Gap", operator: pick(r, equals, differs), texts: []string{"none"}}
	case n < 7 && len(outputs) > 0:
		return &condition{variable: pick(r, outputs...), operator: pick(r, isNull, notNull, notNull), output: true}
	case n < 9:
		return &condition{variable: "Name", operator: pick(r, equals, differs), texts: []string{fmt.Sprintf("Person <%d>", 1+r.IntN(4))}}
	}
	return &condition{variable: "Key", operator: among, texts: append(keys(), "none")}
}

// drawSequenceConditions gives some init and on_complete steps, and what rolls init back, a condition.
func (p *plan) drawSequenceConditions(r *rand.Rand) {
	if r.IntN(3) == 0 {
		return
	}
	for _, s := range slices.Concat(p.init, p.rollbacks["initundo"]) {
		s.when = p.drawSequenceCondition(r, false)
	}
	for _, ph := range p.phases {
		for _, s := range ph.complete {
			s.when = p.drawSequenceCondition(r, true)
		}
	}
}

// drawSequenceCondition draws a condition of an init or on_complete step in one of three cases. What
// the counts of a phase are depends on the time, but not what is compared here.
func (p *plan) drawSequenceCondition(r *rand.Rand, complete bool) *condition {
	if r.IntN(3) > 0 {
		return nil
	}
	all := []sequenceCondition{
		{"_batch_id == 7", func(v map[string]any) (bool, bool) { return v["_batch_id"] == 7.0, true }},
		{"_batch_id != 7", func(v map[string]any) (bool, bool) { return v["_batch_id"] != 7.0, true }},
		{"_batch_id > 0", func(map[string]any) (bool, bool) { return true, true }},
	}
	if !p.manual { // the start of a manual batch is when it is first advanced
		all = append(all, sequenceCondition{`_batch_start_time startsWith "2026-03-01T1"`, func(map[string]any) (bool, bool) { return p.start.Hour() >= 10, true }})
	}
	if complete {
		all = append(all,
			sequenceCondition{"_phase_succeeded + _phase_failed + _phase_cancelled == _phase_members", func(map[string]any) (bool, bool) { return true, true }},
			sequenceCondition{"_phase_failed > _phase_members or _phase_members == 0", func(map[string]any) (bool, bool) { return false, true }},
		)
	}
	return &condition{sequence: &all[r.IntN(len(all))]}
}

// plain takes checks and conditions out of a plan.
func (p *plan) plain() {
	p.checks = nil
	for _, s := range p.steps() {
		s.when = nil
	}
	for _, ph := range p.phases {
		ph.when = nil
	}
}
