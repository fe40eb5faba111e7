package runbook

import (
	"fmt"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

func (f fields) phases() []draftPhase {
	var phases []draftPhase
	seen := map[string]int{}
	for i, item := range f.list("phases", "phase", 1, MaxPhases) {
		path := fmt.Sprintf("%s[%d]", f.join("phases"), i)
		g, ok := f.p.object(item, path, phaseObject)
		if !ok {
			continue
		}
		ph := draftPhase{path: path, pos: g.at("offset"), success: g.at("require_success")}
		ph.Name = g.title("name")
		if line, twice := seen[ph.Name]; twice && ph.Name != "" {
			f.p.errorf(g.at("name"), g.join("name"), CodeDuplicatePhase, "a phase %q is already on line %d", clip(ph.Name), line)
		}
		if strings.EqualFold(ph.Name, "init") {
			f.p.errorf(g.at("name"), g.join("name"), CodeReservedName, "a phase cannot be called %q: the init steps are shown under that name", ph.Name)
		}
		if strings.EqualFold(ph.Name, ChecksName) {
			f.p.errorf(g.at("name"), g.join("name"), CodeReservedName, "a phase cannot be called %q: the checks are shown under that name", ph.Name)
		}
		if f.p.listed && strings.EqualFold(ph.Name, ItemsName) {
			f.p.errorf(g.at("name"), g.join("name"), CodeReservedName, "a phase cannot be called %q: the source of the items is shown under that name", ph.Name)
		}
		seen[ph.Name] = g.at("name").line
		if f.p.requested {
			ph.valid = true
			if g.has("offset") {
				f.p.errorf(ph.pos, g.join("offset"), CodeBadValue, "excludes trigger: request, whose phases begin one after the other, from the start of the batch on")
			}
		} else if g.require("offset"); g.has("offset") {
			s := g.text("offset")
			offset, err := ParseOffset(s)
			if err != nil {
				f.p.errorf(ph.pos, g.join("offset"), CodeBadOffset, "%v", err)
			}
			ph.Offset, ph.valid = offset, err == nil
		}
		ph.when = g.when()
		ph.When = ph.when.Condition
		ph.Approval, ph.SecondApprover = g.approval()
		ph.RequireSuccess = g.percentage("require_success")
		ph.StopWhen = g.stopWhen()
		ph.steps = g.steps("steps", 1)
		ph.onComplete = g.steps("on_complete", 0)
		phases = append(phases, ph)
	}
	return phases
}

// The values of approval in the format.
const (
	ApprovalRequired     = "required"
	ApprovalSecondPerson = "second_person" // by a person who did not request the phase
)

func (f fields) approval() (required, second bool) {
	n, ok := f.values["approval"]
	if !ok {
		return false, false
	}
	path := f.join("approval")
	if n, ok = f.p.enter(n, path); !ok {
		return false, false
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" || n.Value != ApprovalRequired && n.Value != ApprovalSecondPerson {
		what := describe(n)
		if n.Kind == yaml.ScalarNode {
			what = strconv.Quote(clip(n.Value))
		}
		f.p.errorf(at(n), path, CodeBadValue, "%s is invalid; use %s or %s, or leave the field out", what, ApprovalRequired, ApprovalSecondPerson)
		return false, false
	}
	return true, n.Value == ApprovalSecondPerson
}
