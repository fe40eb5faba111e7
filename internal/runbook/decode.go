package runbook

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/runbook/template"
)

// draft is a runbook with the positions that the checks across its parts need.
type draft struct {
	name, description string
	namePos           position
	source            draftSource
	request           *Request
	lister            *draftStep // the call that lists the items; nil: none
	quiet             *QuietHours
	quietPos          position
	retry             *Retry
	display           output   // the column that is shown; an empty variable for none
	secret            []output // names whose values are secret
	checks            []draftStep
	init              []draftStep
	phases            []draftPhase
	removed           []draftStep
	rollbacks         []draftRollback
}

type draftSource struct {
	DataSource
	uploaded  bool // there is no place to be asked
	columnsAt position
}

type draftPhase struct {
	Phase
	steps      []draftStep
	onComplete []draftStep
	path       string
	pos        position // of the offset
	valid      bool     // the offset was read
	success    position // of require_success
	when       draftCondition
}

type draftRollback struct {
	name  string
	steps []draftStep
	path  string
	pos   position
}

type draftStep struct {
	Step
	path      string
	when      draftCondition
	uses      []use
	outputs   []output
	onFailure position
	pos       position
	detached  position
	cache     draftCache
}

// use is one variable in one template.
type use struct {
	variable string
	path     string
	pos      position
	amidText bool             // not the whole of its string
	segment  template.Segment // that it is in; of a condition, the zero value

	condition bool // in a condition, in which a variable may have no value
}

// output is one variable that a step writes.
type output struct {
	variable string
	path     string
	pos      position
}

// runbook drops the positions.
func (d *draft) runbook() *Runbook {
	r := &Runbook{
		Name: d.name, Description: d.description, DataSource: d.source.DataSource, Request: d.request, Display: d.display.variable, QuietHours: d.quiet, Retry: d.retry,
		Checks: steps(d.checks), Init: steps(d.init), OnMemberRemoved: steps(d.removed), Rollbacks: map[string][]Step{},
	}
	for _, s := range d.secret {
		r.Secret = append(r.Secret, s.variable)
	}
	for _, ph := range d.phases {
		ph.Phase.Steps, ph.OnComplete = steps(ph.steps), steps(ph.onComplete)
		r.Phases = append(r.Phases, ph.Phase)
	}
	for _, rb := range d.rollbacks {
		r.Rollbacks[rb.name] = steps(rb.steps)
	}
	return r
}

func steps(drafts []draftStep) []Step {
	var out []Step
	for _, d := range drafts {
		out = append(out, d.Step)
	}
	return out
}

func (p *parser) runbook(root *yaml.Node) *draft {
	d := &draft{}
	f, ok := p.object(root, "", fileObject)
	if !ok {
		return d
	}
	p.readVars(f)
	d.name = f.matching("name", runbookName, "use letters, digits and - _ . only, beginning with a letter or digit, at most 100")
	d.namePos = f.at("name")
	d.description = f.text("description")
	if p.request(f, d); d.request != nil {
		p.requested, p.listed = true, d.lister != nil
	} else if n, ok := f.values["data_source"]; ok {
		d.source = p.dataSource(n, f.join("data_source"))
	}
	d.quiet, d.quietPos = f.quietHours(), f.at("quiet_hours")
	d.retry = f.retry()
	d.display = output{variable: f.column("display"), path: f.join("display"), pos: f.at("display")}
	d.secret = f.secret()
	d.checks = f.checks()
	d.init = f.steps("init", 0)
	d.phases = f.phases()
	d.removed = f.steps("on_member_removed", 0)
	d.rollbacks = f.rollbacks()
	return d
}

var (
	runbookName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
	workerID     = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,41}[A-Za-z0-9])?$`)
	functionName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,99}$`)
	outputName   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,99}$`)
)

// title reads a field as the name of a phase or a step. Names become parts of
// document ids, which cannot hold / \ ? and #.
func (f fields) title(name string) string {
	s := f.text(name)
	f.p.title(s, f.at(name), f.join(name))
	return s
}

func (p *parser) title(s string, pos position, path string) {
	switch {
	case s == "":
	case strings.TrimSpace(s) != s:
		p.errorf(pos, path, CodeBadName, "%q begins or ends with a space", clip(s))
	case strings.ContainsAny(s, `/\?#`) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		p.errorf(pos, path, CodeBadName, `%q is invalid: use printable characters except / \ ? #`, clip(s))
	case len(s) > 100:
		p.errorf(pos, path, CodeBadName, "%q is too long: at most 100 bytes are allowed", clip(s))
	}
}

// clip shortens what a message quotes.
func clip(s string) string { return humanize.Clip(s, 60) }

func (f fields) rollbacks() []draftRollback {
	n, ok := f.values["rollbacks"]
	if !ok {
		return nil
	}
	g, ok := f.p.mapping(n, f.join("rollbacks"))
	if !ok {
		return nil
	}
	var out []draftRollback
	for _, key := range g.keys {
		rb := draftRollback{name: key.Value, path: g.join(key.Value), pos: at(key)}
		if strings.TrimSpace(rb.name) == "" {
			f.p.errorf(rb.pos, g.path, CodeBadName, "a rollback has an empty name")
		}
		f.p.title(rb.name, rb.pos, rb.path)
		rb.steps = g.steps(rb.name, 1)
		out = append(out, rb)
	}
	return out
}

// steps reads a list of at least so many steps.
func (f fields) steps(name string, least int) []draftStep {
	var out []draftStep
	seen := map[string]int{}
	for i, item := range f.list(name, "step", least, MaxSteps) {
		s, pos := f.p.step(item, fmt.Sprintf("%s[%d]", f.join(name), i))
		if line, twice := seen[s.Name]; twice && s.Name != "" {
			f.p.errorf(pos, s.path+".name", CodeDuplicateStep, "a step %q is already on line %d of this list", clip(s.Name), line)
		}
		seen[s.Name] = pos.line
		out = append(out, s)
	}
	return out
}

// worker reports an id that differs from an earlier one only in case: in Azure they have the same
// subscription.
func (p *parser) worker(id string, pos position, path string) {
	if id == "" {
		return
	}
	if p.workers == nil {
		p.workers = map[string]draftWorker{}
	}
	key := strings.ToLower(id)
	first, ok := p.workers[key]
	if !ok {
		p.workers[key] = draftWorker{id, pos.line}
		if len(p.workers) == maxWorkers+1 {
			p.errorf(pos, path, CodeTooLarge, "is one worker too many; at most %d are allowed in one runbook", maxWorkers)
		}
		return
	}
	if first.id != id {
		p.errorf(pos, path, CodeWorkerCase, "the worker %q differs only in case from %q on line %d; use one spelling", id, first.id, first.line)
	}
}

// step reads one step, and where its name is.
func (p *parser) step(n *yaml.Node, path string) (draftStep, position) {
	s, f, ok := p.call(n, path, stepObject)
	if !ok {
		return s, f.pos
	}
	p.cache(f, &s)
	s.pos, s.detached, s.Detached = f.pos, f.at("detached"), f.boolean("detached")
	return s, f.at("name")
}

// call reads one call of a function, a step or a check: the fields that its kind has.
func (p *parser) call(n *yaml.Node, path string, kind Object) (draftStep, fields, bool) {
	s := draftStep{path: path}
	f, ok := p.object(n, path, kind)
	if !ok {
		return s, f, false
	}
	s.Name = f.title("name")
	s.WorkerID = f.workerID()
	p.worker(s.WorkerID, f.at("worker_id"), f.join("worker_id"))
	s.Function = f.function(&s)
	if n, ok := f.values["params"]; ok {
		s.Params = p.params(n, f.join("params"), &s)
	}
	if n, ok := f.values["output_params"]; ok {
		p.outputs(n, f.join("output_params"), &s)
	}
	s.when = f.when()
	s.When, s.uses = s.when.Condition, append(s.uses, s.when.uses...)
	s.OnFailure, s.onFailure = f.text("on_failure"), f.at("on_failure")
	s.Poll = f.poll()
	s.Retry = f.retry()
	if s.Timeout = f.duration("timeout"); s.Timeout == 0 {
		s.Timeout = DefaultTimeout
	}
	return s, f, true
}

func (f fields) function(s *draftStep) string {
	name := f.text("function")
	if name == "" {
		return ""
	}
	before := len(s.uses)
	value, sound := f.p.template(f.values["function"], f.join("function"), s)
	if sound {
		name = fmt.Sprint(value)
	}
	if sound && len(s.uses) == before && !functionName.MatchString(name) {
		f.p.errorf(f.at("function"), f.join("function"), CodeBadName,
			"%q is invalid: use letters, digits and - _ . only, beginning with a letter, at most 100", clip(name))
	}
	return name
}

func (p *parser) outputs(n *yaml.Node, path string, s *draftStep) {
	f, ok := p.mapping(n, path)
	if !ok {
		return
	}
	s.OutputParams = map[string]string{}
	for _, key := range f.keys {
		out := output{key.Value, f.join(key.Value), at(key)}
		switch {
		case strings.HasPrefix(out.variable, "_"):
			p.errorf(out.pos, out.path, CodeReservedName, "names that begin with _ are reserved for special variables")
		case !outputName.MatchString(out.variable):
			p.errorf(out.pos, out.path, CodeBadName, "%q is invalid: use letters, digits and _ only, beginning with a letter", clip(out.variable))
		}
		field := p.text(f.values[out.variable], out.path)
		if strings.Contains(field, "{{") {
			p.errorf(at(f.values[out.variable]), out.path, CodeBadValue, "must be a field of the result, not a template")
		}
		s.OutputParams[out.variable] = field
		s.outputs = append(s.outputs, out)
	}
}

func (f fields) poll() *Poll {
	n, ok := f.values["poll"]
	if !ok {
		return nil
	}
	g, ok := f.p.object(n, f.join("poll"), pollObject)
	if !ok {
		return nil
	}
	poll := &Poll{Interval: g.duration("interval"), Timeout: g.duration("timeout")}
	if poll.Timeout > 0 && poll.Interval > poll.Timeout {
		f.p.errorf(g.at("interval"), g.join("interval"), CodeBadValue, "is longer than the timeout, so there would be no second poll")
	}
	return poll
}
