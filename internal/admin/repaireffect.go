package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

// maxRefused is how many of the members whom a repair leaves as they are its effect names.
const maxRefused = 50

// forecast finds out what a repair does before it is done. Members who failed in the same way are
// planned once.
type forecast struct {
	admin    *Admin
	batch    model.Batch
	repair   api.Repair
	active   int // the active version of the runbook; 0: none
	follows  int // the version that retried members are to follow; 0: the one in which each failed
	groups   []*plannedGroup
	refused  []api.RefusedMember
	pages    []int // the pages of the members that the selection names, in order; none: all
	named    []store.Item[model.Member]
	finished map[string]int // how many members to move have finished a phase
	inPhase  int            // members to move who end the phase that they are in first
}

// plannedGroup is the effect on members who failed in the same way, and why they cannot go on.
type plannedGroup struct {
	api.RepairGroup
	failure  runstate.Failure
	kind     model.PhaseKind
	reason   string
	sequence bool
}

// newForecast finds the version that a repair follows. Errors: CodeConflict where it is to follow the
// active version and none is.
func (a *Admin) newForecast(ctx context.Context, b model.Batch, r api.Repair) (*forecast, error) {
	f := &forecast{admin: a, batch: b, repair: r}
	head, err := a.runbooks.Head(ctx, b.Runbook)
	if err != nil {
		return nil, err
	}
	f.active = head.Doc.Active
	if r.Version == api.VersionActive {
		if f.follows = f.active; f.active == 0 {
			return nil, problem.New(api.CodeConflict, "no version of runbook %q is active", b.Runbook)
		}
	}
	return f, nil
}

// effect gives the effect of the repair. It refuses a repair that lets no member go on, and one of members
// who are in another batch by now.
func (f *forecast) effect(ctx context.Context) (api.RepairEffect, error) {
	if leaves(f.repair.Action) {
		return f.removal(ctx)
	}
	keys, err := f.planMembers(ctx)
	if err != nil {
		return api.RepairEffect{}, err
	}
	if err := f.planSequences(ctx); err != nil {
		return api.RepairEffect{}, err
	}
	if err := f.refuseTaken(ctx, keys); err != nil {
		return api.RepairEffect{}, err
	}
	e := api.RepairEffect{ActiveVersion: f.active, Groups: []api.RepairGroup{}, Refused: []api.RefusedMember{}, RefusedCount: len(f.refused)}
	e.Refused = append(e.Refused, f.refused[:min(len(f.refused), maxRefused)]...)
	for _, g := range f.groups {
		switch {
		case g.reason != "":
			continue
		case g.sequence:
			e.Sequences++
		default:
			e.Members += g.Members
		}
		e.Groups = append(e.Groups, g.RepairGroup)
	}
	slices.SortStableFunc(e.Groups, func(x, y api.RepairGroup) int { return cmp.Compare(y.Members, x.Members) })
	switch {
	case len(e.Groups) > 0:
		return e, f.admin.addDisplay(ctx, &f.batch, e.Refused)
	case len(f.refused) > 0:
		return e, problem.New(api.CodeConflict, "cannot %s %s of batch %d: %s: %s", membership.RepairVerb(f.repair.Action), humanize.Count(len(f.refused), "failed member"), f.batch.ID, f.refused[0].Key, f.refused[0].Reason)
	case f.repair.Selection.Empty():
		return e, membership.RefuseEmptyRepair(&f.batch, f.repair.Action)
	}
	return e, problem.New(api.CodeConflict, "no failed member of batch %d matches %s: there is nothing to %s", f.batch.ID, membership.SelectionText(f.repair.Selection), membership.RepairVerb(f.repair.Action))
}

// planMembers plans the repair of the selected members, and returns the keys of those who go on.
func (f *forecast) planMembers(ctx context.Context) (keys []string, err error) {
	members, err := f.admin.store.FailedMembers(ctx, f.batch.ID)
	if err != nil {
		return nil, err
	}
	if members, err = f.admin.members.SelectFailed(ctx, f.batch.ID, f.repair.Selection, members); err != nil {
		return nil, err
	}
	slices.SortFunc(members, func(x, y store.FailedMember) int { return cmp.Compare(x.ID, y.ID) })
	f.refuseUnselected(members)
	for _, m := range members {
		kind := model.KindPhase
		if m.FailedIn == runbook.ChecksName {
			kind = model.KindCheck
		}
		g, err := f.group(ctx, m, kind)
		if err != nil {
			return nil, err
		}
		if g.reason != "" {
			f.refused = append(f.refused, api.RefusedMember{ID: m.ID, Key: m.Key, Reason: g.reason})
			continue
		}
		g.Members++
		keys = append(keys, m.Key)
	}
	return keys, nil
}

// planSequences plans the repair of the selected runs of init and on_complete steps.
func (f *forecast) planSequences(ctx context.Context) error {
	if len(f.repair.Selection.Members) > 0 || len(f.pages) > 0 && f.pages[0] != 0 {
		return nil
	}
	runs, err := f.admin.store.RunsOfPage(ctx, f.batch.ID, 0, store.RunSelection{Statuses: []model.RunStatus{model.RunFailed}})
	if err != nil {
		return err
	}
	for _, run := range runs {
		rb, err := f.admin.runbooks.Load(ctx, run.Doc.Runbook, run.Doc.Version)
		if err != nil {
			return err
		}
		failed := membership.FailedSequence(rb, &run.Doc)
		if !membership.SelectsStep(f.repair.Selection, &run.Doc) || !membership.Selects(f.repair.Selection, failed) {
			continue
		}
		g, err := f.group(ctx, failed, run.Doc.Kind)
		if err != nil {
			return err
		}
		if g.sequence = true; g.reason != "" {
			f.refused = append(f.refused, api.RefusedMember{Key: failed.Key, Reason: g.reason})
		}
	}
	return nil
}

// refuseTaken refuses a repair of members who are in another batch by now.
func (f *forecast) refuseTaken(ctx context.Context, keys []string) error {
	if len(keys) == 0 || !f.batch.ClaimsMembers() {
		return nil
	}
	rb, err := f.admin.runbooks.Load(ctx, f.batch.Runbook, f.batch.Version)
	if err != nil {
		return err
	}
	taken, err := f.admin.members.FindTakenFailed(ctx, &f.batch, rb, keys)
	return cmp.Or(err, membership.RefuseInOtherBatch(taken, len(keys), "retried", nil, false))
}

// group finds or plans the group of those who failed as one did.
func (f *forecast) group(ctx context.Context, m store.FailedMember, kind model.PhaseKind) (*plannedGroup, error) {
	version := cmp.Or(m.FailedBy, f.batch.Version)
	failure := runstate.Failure{Phase: m.FailedIn, Step: m.FailedStep, Version: version, Undone: m.Undone}
	group := membership.ErrorGroup(m)
	at := slices.IndexFunc(f.groups, func(g *plannedGroup) bool {
		return g.failure == failure && g.kind == kind && g.ErrorGroup == group && g.Status == string(m.FailedAs)
	})
	if at >= 0 {
		return f.groups[at], nil
	}
	g := &plannedGroup{failure: failure, kind: kind, RepairGroup: api.RepairGroup{
		Phase: m.FailedIn, Step: m.FailedStep, Status: string(m.FailedAs), ErrorGroup: group,
		FailedVersion: version, Version: cmp.Or(f.follows, version), Then: []string{},
	}}
	f.groups = append(f.groups, g)
	if kind == model.KindPhase || kind == model.KindCheck {
		g.Then = f.missedPhases(m.FailedIn)
	}
	return g, f.plan(ctx, g)
}

// plan finds out which steps a group has to do, or why its members cannot go on.
func (f *forecast) plan(ctx context.Context, g *plannedGroup) error {
	was, err := f.admin.runbooks.Load(ctx, f.batch.Runbook, g.FailedVersion)
	if err != nil {
		return err
	}
	is, err := f.admin.runbooks.Load(ctx, f.batch.Runbook, g.Version)
	if err != nil {
		return err
	}
	run := model.Run{Kind: g.kind, PhaseName: g.Phase, Runbook: f.batch.Runbook}
	before, err := run.Definitions(was, "")
	if err != nil {
		return err
	}
	after, err := run.Definitions(is, "")
	if err != nil {
		g.reason = fmt.Sprintf("version %d has no phase %q", g.Version, g.Phase)
		return nil
	}
	todo, err := runstate.PlanRetry(g.failure, before, after, g.Version, f.repair.From)
	if err == nil {
		err = engine.CheckListVersion(g.kind, g.FailedVersion, g.Version)
	}
	var refusal *model.Refusal
	if errors.As(err, &refusal) {
		g.reason = refusal.Reason
		return nil
	}
	if err != nil {
		return err
	}
	if f.repair.Action != api.RepairRetry {
		todo = slices.DeleteFunc(todo, func(name string) bool { return strings.EqualFold(name, g.Step) })
		if err := f.checkDone(was, before, g); err != nil {
			return err
		}
	}
	if g.Steps = len(todo); g.Steps > 0 {
		g.From = todo[0]
	}
	return nil
}

// checkDone refuses to mark a step as done whose outputs the result lacks, or has as secrets: a task
// is not encrypted.
func (f *forecast) checkDone(rb *runbook.Runbook, steps []runbook.Step, g *plannedGroup) error {
	at := slices.IndexFunc(steps, func(s runbook.Step) bool { return s.Name == g.Step })
	if f.repair.Action != api.RepairDone || at < 0 {
		return nil
	}
	for name := range steps[at].OutputParams {
		if rb.IsSecret(name) {
			return problem.New(api.CodeConflict, "step %q gives the secret %q: mark it as done for each member by itself", g.Step, name)
		}
	}
	if err := runstate.CheckDone(steps[at], f.repair.Result); err != nil {
		g.reason = err.Error()
	}
	return nil
}

// missedPhases names the phases that began after members had failed in one.
func (f *forecast) missedPhases(failedIn string) []string {
	missed, found := []string{}, false
	for i := len(f.batch.Phases) - 1; i >= 0; i-- {
		p := f.batch.Phases[i]
		if p.Kind != model.KindPhase || p.DispatchedAt == nil || p.Status == model.PhaseCancelled {
			continue
		}
		if found = p.Name == failedIn; found {
			break
		}
		missed = append([]string{p.Name}, missed...)
	}
	if !found && failedIn != runbook.ChecksName {
		return []string{}
	}
	return missed
}
