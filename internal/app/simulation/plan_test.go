package simulation

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// plan is the migration drawn from a seed: the runbook, the members, the
// worker's answers, and the fault rates.
type plan struct {
	seed    uint64
	chaos   chaos
	work    work
	manual  bool      // advanced by hand; otherwise it follows its start
	upload  bool      // made from a CSV by the use case; otherwise written as that would
	start   time.Time // of a scheduled batch
	retry   *retry    // the runbook's
	init    []*step
	phases  []*phase // in the order of the runbook
	members []*person
	late    []*person // who are added under way
	checks  []*step
	removed []*step // for those who leave
	// rollbacks, of which those whose name begins with "init" are for init steps
	rollbacks map[string][]*step
	acts      []act
	answers   map[string]*script
	decided   map[string]string // how steps with a short deadline ended, as the run told
	replaced  []int             // of each init execution that failed and that a newer version took the place of: how often it was retried
}

// act is something that an administrator does under way.
type act struct {
	kind   actKind
	member string // key
}

type actKind string

const (
	removes actKind = "removes"
	adds    actKind = "adds"
	pauses  actKind = "pauses" // and resumes some time later
	cancels actKind = "cancels"
	retries actKind = "retries"
	revises actKind = "revises" // publishes the runbook anew, as another version of the same
)

// does tells whether the administrator does something of a kind in this plan.
func (p *plan) does(kind actKind) bool {
	return slices.ContainsFunc(p.acts, func(a act) bool { return a.kind == kind })
}

// chaos is how likely each fault is where it can happen.
type chaos struct {
	together    bool // the store commits Applies in groups
	calm        bool // none of what follows: only delays, reordering and concurrency
	processes   int
	concurrency int
	budget      int // faults in all
	store       float64
	bus         float64
	odd         float64
	kill        float64
	redeliver   float64
	lose        float64
	jump        float64
	outage      float64
}

// work is how the worker fares.
type work struct {
	replicas int
	die      float64 // how likely a replica dies with what it has in hand
	silent   float64 // how likely the worker takes nothing for a while
	unlock   float64 // how likely a replica loses the lock of a job that it runs
}

type phase struct {
	name     string
	offset   int // minutes before the start
	when     *condition
	steps    []*step
	complete []*step // on_complete
	approval bool
	second   bool // the approval has to be of another person than the one who requested the phase
	success  int  // require_success, in percent; 0 is none
}

type step struct {
	place     string // unique within the runbook
	name      string
	function  string
	check     bool // in checks, where an incomplete answer is the result
	require   bool // of a check
	when      *condition
	params    []param
	outputs   []output
	onFailure string
	deadline  string // timeout; where it is short, what comes of the step depends on the time
	poll      *poll
	retry     *retry
}

// param is a template: one variable between two texts. Without a variable it is
// text, without text the value keeps its type.
type param struct{ key, before, variable, after string }

type output struct{ variable, field string }

type retry struct {
	most     int
	interval string
}

// poll that is patient never times out; one that is not sees nothing but steps that
// never complete or that need no poll, so that its end does not depend on the time.
type poll struct {
	interval, timeout string
	patient           bool
}

type person struct {
	key  string
	data map[string]any
}

// rng is a source of its own for each use, so that one more draw here changes
// nothing there.
func (p *plan) rng(use string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(use))
	return rand.New(rand.NewPCG(p.seed, h.Sum64()))
}

// draft makes a plan of a seed.
func draft(seed uint64) *plan {
	p := &plan{seed: seed, answers: map[string]*script{}, rollbacks: map[string][]*step{}, decided: map[string]string{}}
	p.drawChaos()
	p.drawWork()
	r := p.rng("shape")
	p.manual = r.IntN(2) == 0
	p.upload = p.manual && r.IntN(2) == 0
	p.start = epoch.Add(time.Duration(r.IntN(600)-120) * time.Minute)
	if r.IntN(2) == 0 {
		p.retry = drawRetry(r)
	}
	p.drawMembers(r)
	p.drawSteps(r)
	p.drawActs(p.rng("acts"))
	p.drawChecks(p.rng("checks"))
	p.drawConditions(p.rng("conditions"))
	p.drawSequenceConditions(p.rng("sequence conditions"))
	return p
}

// drawActs has the administrator do something in two of three plans.
func (p *plan) drawActs(r *rand.Rand) {
	if r.IntN(3) == 0 {
		return
	}
	for range 1 + r.IntN(4) {
		kind := pick(r, removes, removes, adds, adds, pauses, pauses, retries, retries, cancels, revises)
		a := act{kind: kind}
		switch {
		case kind == removes:
			a.member = p.members[r.IntN(len(p.members))].key
		case kind == adds && p.does(adds):
			continue
		case kind == adds:
			for i := range 1 + r.IntN(3) {
				key := fmt.Sprintf("late%d", i+1)
				p.late = append(p.late, &person{key: key, data: map[string]any{"Key": key, "Name": "Late " + key, "Gap": "none"}})
			}
		}
		p.acts = append(p.acts, a)
	}
	if !p.does(retries) {
		return
	}
	// After a rollback, a late job of the first round could not be told from one of the
	// second, nor how a step with a short deadline ended in the one from how in the other.
	undone := false
	for _, s := range p.steps() {
		if s.deadline != "" {
			s.onFailure = ""
		}
		undone = undone || s.onFailure != ""
	}
	for _, s := range p.steps() {
		if undone {
			s.deadline = ""
		}
	}
}

func (p *plan) drawChaos() {
	r := p.rng("chaos")
	c := chaos{processes: 1 + r.IntN(3), concurrency: 1 + r.IntN(6), together: p.rng("applies").IntN(3) > 0}
	if r.IntN(6) == 0 {
		c.calm = true
		p.chaos = c
		return
	}
	often := func(most float64) float64 {
		if r.IntN(3) == 0 {
			return 0
		}
		return r.Float64() * most
	}
	c.budget = 3 + r.IntN(60)
	c.store, c.bus, c.kill = often(.25), often(.3), often(.1)
	c.redeliver, c.lose, c.jump, c.outage = often(.4), often(.3), often(.1), often(.02)
	if r := p.rng("odd"); r.IntN(2) == 0 {
		c.odd = r.Float64() * .1
	}
	p.chaos = c
}

func (p *plan) drawWork() {
	r := p.rng("work")
	p.work = work{replicas: 1 + r.IntN(2)}
	if r.IntN(3) > 0 {
		p.work.die = r.Float64() * .02
	}
	if r.IntN(3) == 0 {
		p.work.silent = r.Float64() * .02
	}
	if r := p.rng("unlock"); !p.chaos.calm && r.IntN(3) == 0 {
		p.work.unlock = r.Float64() * .2
	}
}

func (p *plan) drawMembers(r *rand.Rand) {
	n := 1 + r.IntN(6)
	if r.IntN(25) == 0 {
		n = 49 + r.IntN(4) // a second page, or just not
	}
	for i := 1; i <= n; i++ {
		m := &person{key: fmt.Sprintf("m%d", i), data: map[string]any{"Name": fmt.Sprintf("Person <%d>", i)}}
		switch {
		case p.upload:
			m.data["Gap"] = ""
		case r.IntN(5) == 0: // absent
		case r.IntN(8) == 0:
			m.data["Gap"] = nil
		default:
			m.data["Gap"] = float64(i)
		}
		m.data["Key"] = m.key
		p.members = append(p.members, m)
	}
}

func (p *plan) drawSteps(r *rand.Rand) {
	most := 4
	if len(p.members) > 40 {
		most = 2
	}
	if r.IntN(3) == 0 {
		for i := range 1 + r.IntN(2) {
			p.init = append(p.init, p.drawStep(r, fmt.Sprintf("init.%d", i+1), nil, false))
		}
	}
	if r.IntN(2) == 0 {
		p.removed = p.drawList(r, "removed", true)
	}
	if len(p.init) > 0 && r.IntN(2) == 0 {
		p.rollbacks["initundo"] = p.drawList(r, "initundo", false)
		p.init[r.IntN(len(p.init))].onFailure = "initundo"
	}
	for i := range r.IntN(3) {
		name := fmt.Sprintf("undo%d", i+1)
		p.rollbacks[name] = p.drawList(r, name, true)
	}
	offset := r.IntN(400)
	var known []string // outputs of earlier steps
	for i := range 1 + r.IntN(most) {
		ph := &phase{name: fmt.Sprintf("phase %d", i+1), offset: offset}
		if r.IntN(3) > 0 { // else this one and the next fall due together
			offset = r.IntN(offset + 1)
		}
		for j := range 1 + r.IntN(most) {
			s := p.drawStep(r, fmt.Sprintf("p%d.%d", i+1, j+1), known, true)
			for _, o := range s.outputs {
				known = append(known, o.variable)
			}
			if n := r.IntN(4); n > 0 && p.rollbacks[fmt.Sprintf("undo%d", n)] != nil {
				s.onFailure = fmt.Sprintf("undo%d", n)
			}
			if s.poll == nil && r.IntN(6) == 0 {
				s.deadline = pick(r, "90s", "4m", "6m", "25m")
			}
			ph.steps = append(ph.steps, s)
		}
		if r.IntN(5) == 0 {
			ph.complete = p.drawList(r, fmt.Sprintf("complete%d", i+1), false)
			ph.complete[0].params = append(ph.complete[0].params, param{key: "Good", variable: "_phase_succeeded"}, param{key: "Bad", variable: "_phase_failed"})
		}
		ph.approval = r.IntN(10) == 0
		ph.second = ph.approval && len(ph.steps)%2 == 1 // without a draw: recorded seeds keep their plans
		if i > 0 && r.IntN(10) == 0 {
			ph.success = 1 + r.IntN(100)
		}
		p.phases = append(p.phases, ph)
	}
}

// drawList draws the steps of a rollback, or of another short sequence.
func (p *plan) drawList(r *rand.Rand, name string, member bool) []*step {
	var out []*step
	for i := range 1 + r.IntN(2) {
		s := p.drawStep(r, fmt.Sprintf("%s.%d", name, i+1), nil, member)
		s.outputs = nil
		out = append(out, s)
	}
	return out
}

func (p *plan) drawStep(r *rand.Rand, place string, known []string, member bool) *step {
	s := &step{place: place, name: "step " + place, function: "Do-" + place}
	s.params = append(s.params, param{key: "Place", before: place}, param{key: "Batch", variable: "_batch_id"})
	if member {
		s.params = append(s.params, param{key: "Who", variable: "Key"})
		variables := append([]string{"Name"}, known...)
		if r.IntN(12) == 0 {
			variables = append(variables, "Gap")
		}
		for i, v := range variables {
			if r.IntN(3) > 0 && v != "Gap" {
				continue
			}
			q := param{key: fmt.Sprintf("P%d", i), variable: v}
			if r.IntN(2) == 0 {
				q.before, q.after = "<", ">"
			}
			s.params = append(s.params, q)
		}
		for range r.IntN(3) {
			v := fmt.Sprintf("out%d", r.IntN(5))
			if !s.sets(v) {
				s.outputs = append(s.outputs, output{variable: v, field: "F" + v})
			}
		}
	}
	if r.IntN(3) == 0 {
		s.poll = &poll{interval: pick(r, "10s", "30s", "2m", "7m"), timeout: "3000d", patient: true}
		if r.IntN(5) == 0 {
			s.poll.timeout, s.poll.patient = pick(r, "7m", "25m", "2h"), false
		}
	}
	if r.IntN(3) == 0 {
		s.retry = drawRetry(r)
	}
	return s
}

func (s *step) sets(variable string) bool {
	for _, o := range s.outputs {
		if o.variable == variable {
			return true
		}
	}
	return false
}

func drawRetry(r *rand.Rand) *retry {
	return &retry{most: r.IntN(4), interval: pick(r, "5s", "1m", "6m", "1h")}
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// retries is how often a step may be tried again.
func (p *plan) retries(s *step) int {
	switch {
	case s.retry != nil:
		return s.retry.most
	case p.retry != nil:
		return p.retry.most
	}
	return 0
}

// yaml writes a version of the runbook.
func (p *plan) yaml(version int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "name: simulated\ndescription: version %d\ndata_source: {type: csv, primary_key: Key}\n", version)
	p.retry.write(&b, "")
	writeSteps(&b, "checks", "", p.checks)
	writeSteps(&b, "init", "", p.init)
	b.WriteString("phases:\n")
	for _, ph := range p.phases {
		fmt.Fprintf(&b, "  - name: %s\n    offset: T-%dm\n", ph.name, ph.offset)
		ph.when.write(&b, "    ")
		writeSteps(&b, "steps", "    ", ph.steps)
		writeSteps(&b, "on_complete", "    ", ph.complete)
		switch {
		case ph.second:
			b.WriteString("    approval: second_person\n")
		case ph.approval:
			b.WriteString("    approval: required\n")
		}
		if ph.success > 0 {
			fmt.Fprintf(&b, "    require_success: %d%%\n", ph.success)
		}
	}
	writeSteps(&b, "on_member_removed", "", p.removed)
	if len(p.rollbacks) > 0 {
		b.WriteString("rollbacks:\n")
	}
	for _, name := range slices.Sorted(maps.Keys(p.rollbacks)) {
		writeSteps(&b, name, "  ", p.rollbacks[name])
	}
	return b.String()
}

func (r *retry) write(b *strings.Builder, indent string) {
	if r != nil {
		fmt.Fprintf(b, "%sretry: {max_retries: %d, interval: %s}\n", indent, r.most, r.interval)
	}
}

func writeSteps(b *strings.Builder, list, indent string, steps []*step) {
	if len(steps) == 0 {
		return
	}
	fmt.Fprintf(b, "%s%s:\n", indent, list)
	for _, s := range steps {
		in := indent + "    "
		fmt.Fprintf(b, "%s  - name: %s\n%sworker_id: worker-01\n%sfunction: %s\n%sparams:\n", indent, s.name, in, in, s.function, in)
		for _, q := range s.params {
			fmt.Fprintf(b, "%s  %s: %q\n", in, q.key, q.template())
		}
		if len(s.outputs) > 0 {
			fmt.Fprintf(b, "%soutput_params:\n", in)
			for _, o := range s.outputs {
				fmt.Fprintf(b, "%s  %s: %s\n", in, o.variable, o.field)
			}
		}
		if s.poll != nil {
			fmt.Fprintf(b, "%spoll: {interval: %s, timeout: %s}\n", in, s.poll.interval, s.poll.timeout)
		}
		s.retry.write(b, in)
		s.when.write(b, in)
		if s.require {
			fmt.Fprintf(b, "%srequire: true\n", in)
		}
		if s.onFailure != "" {
			fmt.Fprintf(b, "%son_failure: %s\n", in, s.onFailure)
		}
		fmt.Fprintf(b, "%stimeout: %s\n", in, s.timeout())
	}
}

// hasDeadlines tells whether any step has a short deadline.
func (p *plan) hasDeadlines() bool {
	for _, ph := range p.phases {
		for _, s := range ph.steps {
			if s.deadline != "" {
				return true
			}
		}
	}
	return false
}

// timeout is for how long the step's jobs are waited for.
func (s *step) timeout() string {
	if s.deadline == "" {
		return "3000d"
	}
	return s.deadline
}

// steps are all of the runbook's, by place.
func (p *plan) steps() map[string]*step {
	out := map[string]*step{}
	lists := append([][]*step{p.init, p.checks, p.removed}, slices.Collect(maps.Values(p.rollbacks))...)
	for _, ph := range p.phases {
		lists = append(lists, ph.steps, ph.complete)
	}
	for _, list := range lists {
		for _, s := range list {
			out[s.place] = s
		}
	}
	return out
}

func (q param) template() string {
	if q.variable == "" {
		return q.before
	}
	return q.before + "{{" + q.variable + "}}" + q.after
}

// csv is a file of members.
func (p *plan) csv(members []*person) string {
	columns := []string{"Key"}
	for _, c := range []string{"Gap", "Name"} {
		if p.uses(c) {
			columns = append(columns, c)
		}
	}
	var b strings.Builder
	b.WriteString(strings.Join(columns, ",") + "\n")
	for _, m := range members {
		for i, c := range columns {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprint(&b, m.data[c])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (p *plan) uses(column string) bool {
	text := p.yaml(1)
	return strings.Contains(text, "{{"+column+"}}") || strings.Contains(text, `when: "`+column+" ")
}
