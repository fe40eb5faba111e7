package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/matoolkit/matoolkit/internal/model"
)

// checksOf names the sequence of a member's checks.
func checksOf(who string) string { return who + "/checks" }

// drawChecks gives one plan in three checks.
func (p *plan) drawChecks(r *rand.Rand) {
	if r.IntN(3) > 0 {
		return
	}
	most := 3
	if len(p.members) > 40 {
		most = 1
	}
	required := r.IntN(2) == 0
	for i := range 1 + r.IntN(most) {
		s := p.drawStep(r, fmt.Sprintf("check.%d", i+1), nil, true)
		s.outputs, s.check, s.require = nil, true, required && r.IntN(2) == 0
		p.checks = append(p.checks, s)
	}
}

// holdsMembers reports whether members start no phase before their checks have ended.
func (p *plan) holdsMembers() bool {
	return slices.ContainsFunc(p.checks, func(s *step) bool { return s.require })
}

// keptOut reports whether a member failed a required check.
func (p *plan) keptOut(run *runEnd) bool {
	for i, s := range p.checks {
		if s.require && !passed(run.steps[i].status) {
			return true
		}
	}
	return false
}

// checked runs the checks of a member, all of them. As often as rounds says it then begins again, at
// the first that failed.
func (p *plan) checked(q *sequence, who string, variables map[string]any, rounds int) *runEnd {
	run := &runEnd{steps: make([]stepEnd, len(p.checks)), begun: map[string]int{}}
	for from := 0; ; run.begun[""]++ {
		for i := from; i < len(p.checks); i++ {
			p.take(&run.steps[i], run, q, who, p.checks[i], variables, map[string]any{})
		}
		run.status, q.failed = "succeeded", p.keptOut(run)
		if from = slices.IndexFunc(run.steps, func(s stepEnd) bool { return !passed(s.status) }); from >= 0 {
			run.status = "failed"
		}
		if !q.failed || rounds == run.begun[""] {
			return run
		}
	}
}

// verifyChecks compares the run of a member's checks with the oracle's. The end of the batch cuts a
// run short that its member does not wait for, and if the last message about it is lost it stays open.
func (w *world) verifyChecks(d *documents, want *outcome, m model.Member) {
	run, ok := d.runs[[2]int{model.CheckPhase, m.ID}]
	wanted := want.checks[m.Key]
	what := "the checks of " + m.Key
	ended := d.batch.Cancelled != nil || m.Status == model.MemberRemoved || want.init != nil && want.init.status == "failed"
	switch {
	case wanted == nil && ok:
		w.problem("%s: there is a run", what)
	case wanted == nil || !ok && (ended || !w.plan.holdsMembers()):
	case !ok:
		w.problem("%s: there is no run", what)
	case run.Status.Terminal() && run.Status != model.RunCancelled:
		w.verifyRun(run, wanted, what)
		if !w.worker.through(checksOf(m.Key)) {
			w.problem("%s: the worker did not get all jobs", what)
		}
	case w.plan.holdsMembers() && !ended:
		w.problem("%s: the run is %s", what, run.Status)
	case run.Status == model.RunCancelled:
		w.verifyCut(run, wanted, what)
	}
}
