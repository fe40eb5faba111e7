package admin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Preview gives the effect of an action on a batch, and changes nothing: the engine decides on the
// action, and the difference between the batch before and after is its effect. Errors: those of the
// action.
func (a *Admin) Preview(ctx context.Context, by audit.Caller, batch int, action api.ProposedAction) (api.Preview, error) {
	if err := audit.CheckReason(action.Why); err != nil {
		return api.Preview{}, err
	}
	b, err := a.applier.ReadBatch(ctx, batch)
	if err != nil {
		return api.Preview{}, err
	}
	v := api.Preview{BatchID: batch, Action: action.Name, Phases: []api.PhasePreview{}, WayBack: wayBack(action.Name)}
	events, err := a.previewed(ctx, by, &b.Doc, action, &v)
	if err != nil {
		return api.Preview{}, err
	}
	ds, err := a.applier.Preview(ctx, batch, applier.On(events...))
	if err != nil {
		return api.Preview{}, err
	}
	if err := a.foresee(ctx, &b.Doc, ds, &v); err != nil {
		return api.Preview{}, err
	}
	if action.Name == api.ActionAdvance {
		err = a.warnOfVersion(ctx, &b.Doc, &v)
	}
	return v, err
}

// previewed gives the events of an action, and counts what the batch does not show: the members who
// leave it, and the steps of one member.
func (a *Admin) previewed(ctx context.Context, by audit.Caller, b *model.Batch, action api.ProposedAction, v *api.Preview) ([]model.Event, error) {
	m := model.Attribution{By: by.Name, At: a.now().UTC(), Why: action.Why}
	one := func(e model.Event) []model.Event { return []model.Event{e} }
	switch action.Name {
	case api.ActionAdvance:
		return one(model.Advanced{Phase: action.Phase, By: by.Name}), nil
	case api.ActionApprove:
		id, _, err := phaseToApprove(b, action.Phase)
		return one(model.PhaseApproved{Phase: id, By: m}), err
	case api.ActionPause:
		return one(model.BatchPaused{By: m}), nil
	case api.ActionResume:
		return one(model.BatchResumed{}), nil
	case api.ActionCancel:
		return one(model.BatchCancelRequested{By: m}), nil
	case api.RepairSkip, api.RepairDone:
		return a.previewStep(ctx, b, action, m, v)
	case api.RepairRemove:
		v.Members = 1
		return one(model.MemberLeft{Member: action.Member, By: by.Name}), a.countRemoval(ctx, b, v)
	case api.ActionConfirmRemovals, api.ActionMoveMembers, api.ActionDiscardRemovals:
		return a.previewHold(ctx, b, action, m, v)
	case api.ActionCheck:
		return a.previewCheck(ctx, by, b, action, v)
	}
	return nil, fmt.Errorf("admin: no action %q", action.Name)
}

// phaseToApprove finds the phase that an approval names, in any case: of several executions the newest
// that has not begun.
func phaseToApprove(b *model.Batch, phase string) (id int, name string, err error) {
	for _, p := range b.Phases {
		if p.Kind == model.KindPhase && strings.EqualFold(p.Name, phase) && (p.Status == model.PhasePending || id == 0) {
			id, name = p.ID, p.Name
		}
	}
	if id == 0 {
		return 0, "", problem.New(api.CodeNotFound, "batch %d has no phase %q", b.ID, phase)
	}
	return id, name, nil
}

// previewStep counts the steps that a member, or the init or on_complete steps, do after one that is
// skipped or marked as done.
func (a *Admin) previewStep(ctx context.Context, b *model.Batch, action api.ProposedAction, m model.Attribution, v *api.Preview) ([]model.Event, error) {
	if err := checkResult(action.Result); err != nil {
		return nil, err
	}
	phase, member, index, err := model.ParseStepID(action.Step)
	if err != nil {
		return nil, noStep(b.ID, action.Step)
	}
	run, err := store.OrNone(store.Read[model.Run](ctx, a.store, store.RunKey(b.ID, phase, member)))
	switch {
	case err != nil:
		return nil, err
	case run.ETag == "" || index >= len(run.Doc.Steps):
		return nil, noStep(b.ID, action.Step)
	}
	v.Members = min(member, 1)
	for _, s := range run.Doc.Steps[index+1:] {
		if !s.Status.Terminal() || s.Status == model.StepCancelled {
			v.Jobs++
		}
	}
	v.Phases = append(v.Phases, api.PhasePreview{Phase: run.Doc.PhaseName, Effect: api.EffectContinues, Members: v.Members, Jobs: v.Jobs})
	e := model.StepResolved{Step: index, Skip: action.Name == api.RepairSkip, Result: action.Result, By: m}
	switch {
	case run.Doc.Kind == model.KindPhase && run.Doc.Status == model.RunFailed, run.Doc.Kind == model.KindCheck && run.Doc.FailsMember():
		return []model.Event{model.MemberRetried{Member: member, Task: a.newID(), Resolve: &e}}, nil
	case run.Doc.Status == model.RunFailed && member == 0:
		return []model.Event{model.SequenceRetried{Phase: phase, Task: a.newID(), Resolve: &e}}, nil
	}
	return []model.Event{model.OnRun{Phase: phase, Member: member, RunEvent: e}}, nil
}

// previewCheck counts the checks of all members, or of one.
func (a *Admin) previewCheck(ctx context.Context, by audit.Caller, b *model.Batch, action api.ProposedAction, v *api.Preview) ([]model.Event, error) {
	rb, err := a.runbooks.Load(ctx, b.Runbook, b.Version)
	if err != nil {
		return nil, err
	}
	event, members := model.Event(model.ChecksRequested{Task: a.newID(), By: by.Name}), b.Members-b.Removed
	if action.Member != 0 {
		m, err := a.applier.ReadMember(ctx, b.ID, action.Member)
		if err == nil {
			err = engine.RefuseMemberChecks(b, rb, &m.Doc)
		}
		if err != nil {
			return nil, err
		}
		event, members = model.CheckDue{Member: action.Member, Task: a.newID()}, 1
		if runstate.FailedChecks(&m.Doc) {
			event = model.MemberRetried{Member: action.Member, Task: a.newID(), RetryOptions: model.RetryOptions{Version: b.Version, From: rb.Checks[0].Name}}
		}
	}
	v.Members, v.Jobs = members, members*len(rb.Checks)
	v.Phases = append(v.Phases, api.PhasePreview{Phase: runbook.ChecksName, Effect: api.EffectStarts, Members: members, Jobs: v.Jobs})
	return []model.Event{event}, nil
}

// countRemoval counts the jobs of the members who leave a batch.
func (a *Admin) countRemoval(ctx context.Context, b *model.Batch, v *api.Preview) error {
	rb, err := a.runbooks.Load(ctx, b.Runbook, b.Version)
	if err == nil && len(rb.OnMemberRemoved) > 0 && !b.Filling {
		v.Jobs = v.Members * len(rb.OnMemberRemoved)
		v.Phases = append(v.Phases, api.PhasePreview{Phase: "on_member_removed", Effect: api.EffectStarts, Members: v.Members, Jobs: v.Jobs})
	}
	return err
}

// previewHold counts the members of a removal hold.
func (a *Admin) previewHold(ctx context.Context, b *model.Batch, action api.ProposedAction, m model.Attribution, v *api.Preview) ([]model.Event, error) {
	h, err := store.ReadRemovalHold(ctx, a.store, b)
	if err != nil {
		return nil, err
	}
	if revision := apiview.RemovalRevision(h.Doc); b.RemovalHold != nil && action.Revision != "" && action.Revision != revision {
		return nil, problem.New(api.CodeConflict, "the held removals of batch %d have changed: review them again (revision %s)", b.ID, revision)
	}
	v.Members = len(h.Doc.Members)
	switch action.Name {
	case api.ActionDiscardRemovals:
		return []model.Event{model.RemovalsDiscarded{By: m}}, nil
	case api.ActionMoveMembers:
		if b.RemovalHold != nil {
			v.Members = b.RemovalHold.Moving
		}
		return []model.Event{model.RemovalsConfirmed{By: m, Move: true}}, nil
	}
	return []model.Event{model.RemovalsConfirmed{By: m}}, a.countRemoval(ctx, b, v)
}

// foresee adds to a preview what the decisions change in the phases of the batch.
func (a *Admin) foresee(ctx context.Context, before *model.Batch, ds []model.Decision, v *api.Preview) error {
	after, started := before, map[int]bool{}
	for _, d := range ds {
		if d.Batch != nil {
			after = d.Batch
		}
		for _, m := range d.Messages {
			if announced, ok := m.(model.Announce); ok {
				started[announced.Phase] = true
			}
		}
	}
	for _, p := range after.Phases {
		was, existed := before.Phase(p.ID)
		if !existed {
			continue // of removals, which are counted by members
		}
		effect := phaseEffect(before, after, *was, p, started[p.ID])
		if effect == "" {
			continue
		}
		view, err := a.previewPhase(ctx, before, *was, effect)
		if err != nil {
			return err
		}
		if view.Members == 0 && was.Status == model.PhaseDispatched {
			continue // its members have ended
		}
		if effect == api.EffectMoves {
			view.DueAt = p.DueAt
		}
		v.Phases, v.Members = append(v.Phases, view), max(v.Members, view.Members)
		v.Jobs += view.Jobs
	}
	n, err := a.store.CountJobs(ctx, before.ID, store.JobFilter{VisibleAt: a.now()})
	if err != nil {
		return err
	}
	v.InFlight = n
	effect := api.EffectStarts
	if v.Action == api.RepairSkip || v.Action == api.RepairDone { // of one step: its member goes on
		effect = api.EffectContinues
	}
	return a.expect(ctx, before, effect, v)
}

// phaseEffect names the effect of the decisions on a phase; empty for none.
func phaseEffect(before, after *model.Batch, was, is model.Phase, announced bool) string {
	mode := after.DispatchMode()
	running := was.Status == model.PhaseDispatched && mode != before.DispatchMode()
	switch {
	case was.Status == model.PhasePending && (announced || is.Status == model.PhaseDispatched):
		return api.EffectStarts
	case was.Status == model.PhasePending && is.Status == model.PhaseCancelled:
		return api.EffectCancels
	case running && mode == model.Cancelled && was.Kind == model.KindRemoval: // runs to its end
	case running && mode == model.Cancelled:
		return api.EffectStops
	case running && mode == model.Paused:
		return api.EffectPauses
	case running:
		return api.EffectContinues
	case was.Status == model.PhasePending && was.DueAt != nil && is.DueAt != nil && !was.DueAt.Equal(*is.DueAt):
		return api.EffectMoves
	}
	return ""
}

// previewPhase counts the members who have not ended a phase, and their jobs.
func (a *Admin) previewPhase(ctx context.Context, b *model.Batch, p model.Phase, effect string) (api.PhasePreview, error) {
	view := api.PhasePreview{Phase: p.Name, Effect: effect, DueAt: p.DueAt}
	rb, err := a.runbooks.Load(ctx, b.Runbook, p.Version)
	if err != nil {
		return view, err
	}
	counts := apiview.Phase(p)
	if err := a.countMembers(ctx, b, p, &counts); err != nil {
		return view, err
	}
	if p.Kind == model.KindInit { // members wait for the init steps
		view.Members, view.Jobs = b.Active(), len(rb.Init)
		return view, nil
	}
	if p.Kind == model.KindItems { // there are no members yet
		view.Jobs = 1
		return view, nil
	}
	if of, ok := b.Phase(p.Of); ok && p.Kind == model.KindDetached {
		phase, _ := rb.Phase(of.Name)
		view.Jobs = len(phase.Detached())
		return view, nil
	}
	view.Members = counts.Members - counts.Succeeded - counts.Failed - counts.Cancelled
	steps, once := stepsOf(rb, p)
	view.Jobs = view.Members*steps + once
	return view, nil
}

// stepsOf counts the steps that each member has in a phase, and those that follow once.
func stepsOf(rb *runbook.Runbook, p model.Phase) (steps, once int) {
	if p.Kind == model.KindRemoval {
		return len(rb.OnMemberRemoved), 0
	}
	for _, d := range rb.Phases {
		if d.Name == p.Name {
			return len(d.Steps), len(d.OnComplete)
		}
	}
	return 0, 0
}

// expect adds how long the phases with an effect will take, if each was measured: one query.
func (a *Admin) expect(ctx context.Context, b *model.Batch, effect string, v *api.Preview) error {
	some := slices.DeleteFunc(slices.Clone(v.Phases), func(p api.PhasePreview) bool { return p.Effect != effect })
	if len(some) == 0 {
		return nil
	}
	page, err := a.store.Batches(ctx, store.BatchFilter{Runbook: b.Runbook}, store.Paging{Limit: apiview.MeasuredBatches})
	v.Duration = apiview.Expected(page.Items, some)
	return err
}

// warnOfVersion warns where the batch follows another version before its next phase starts.
func (a *Admin) warnOfVersion(ctx context.Context, b *model.Batch, v *api.Preview) error {
	head, err := a.runbooks.Head(ctx, b.Runbook)
	if err == nil && head.Doc.Active != 0 && head.Doc.Active != b.Version {
		v.Warnings = append(v.Warnings, fmt.Sprintf("version %d of runbook %q is active: the batch follows it, and no longer version %d, before the phase starts", head.Doc.Active, b.Runbook, b.Version))
	}
	return err
}

// previewRepair gives the preview of a repair from its effect.
func (a *Admin) previewRepair(ctx context.Context, f *forecast, e api.RepairEffect) (api.Preview, error) {
	b, r := &f.batch, f.repair
	v := api.Preview{BatchID: b.ID, Action: r.Action, Phases: []api.PhasePreview{}, Members: e.Members, WayBack: wayBack(r.Action)}
	n, err := a.store.CountJobs(ctx, b.ID, store.JobFilter{VisibleAt: a.now()})
	if v.InFlight = n; err != nil {
		return v, err
	}
	switch r.Action {
	case api.RepairRemove:
		err = a.countRemoval(ctx, b, &v)
		return v, err
	case api.RepairMove:
		err = a.previewMove(ctx, f, &v)
		return v, err
	}
	add := func(phase string, members, jobs int) {
		at := slices.IndexFunc(v.Phases, func(p api.PhasePreview) bool { return p.Phase == phase })
		if at < 0 {
			at, v.Phases = len(v.Phases), append(v.Phases, api.PhasePreview{Phase: phase, Effect: api.EffectContinues})
		}
		v.Phases[at].Members += members
		v.Phases[at].Jobs += jobs
		v.Jobs += jobs
	}
	for _, g := range e.Groups {
		add(g.Phase, g.Members, max(1, g.Members)*g.Steps)
		rb, err := a.runbooks.Load(ctx, b.Runbook, g.Version)
		if err != nil {
			return v, err
		}
		for _, name := range g.Then {
			steps, _ := stepsOf(rb, model.Phase{Kind: model.KindPhase, Name: name})
			add(name, g.Members, g.Members*steps)
		}
	}
	err = a.expect(ctx, b, api.EffectContinues, &v)
	return v, err
}

// previewMove counts what the members who move do in the other batch: the phases that they have not
// finished.
func (a *Admin) previewMove(ctx context.Context, f *forecast, v *api.Preview) error {
	to, err := a.applier.ReadBatch(ctx, f.repair.To)
	if err != nil {
		return err
	}
	for _, p := range to.Doc.Phases {
		if p.Kind != model.KindPhase || p.Status == model.PhaseSkipped || p.Status == model.PhaseSuperseded || p.Status == model.PhaseCancelled {
			continue
		}
		rb, err := a.runbooks.Load(ctx, to.Doc.Runbook, p.Version)
		if err != nil {
			return err
		}
		steps, _ := stepsOf(rb, p)
		members := v.Members - f.finished[p.Name]
		if members <= 0 {
			continue
		}
		v.Phases = append(v.Phases, api.PhasePreview{Phase: p.Name, Effect: api.EffectJoins, Members: members, Jobs: members * steps, DueAt: p.DueAt})
		v.Jobs += members * steps
	}
	if f.inPhase > 0 {
		v.Warnings = append(v.Warnings, fmt.Sprintf("%s first %s the phase that they are in", humanize.Count(f.inPhase, "member"), endWord(f.inPhase)))
	}
	if to.Doc.FollowsSource() {
		v.Warnings = append(v.Warnings, fmt.Sprintf("batch %d follows a data source, which neither moves nor removes these members until it has them at its start", to.Doc.ID))
	}
	return a.expect(ctx, &to.Doc, api.EffectJoins, v)
}

func endWord(n int) string {
	if n == 1 {
		return "ends"
	}
	return "end"
}

// wayBack says how an action is undone.
func wayBack(action string) string {
	return cmp.Or(map[string]string{
		api.ActionAdvance:         "Pausing the batch holds what has not started. Members who fail are rolled back where the runbook says so; members who are done stay.",
		api.ActionApprove:         "An approval cannot be withdrawn. Pausing the batch holds what has not started.",
		api.ActionPause:           "Resume the batch.",
		api.ActionResume:          "Pause the batch again.",
		api.ActionCancel:          "None: a cancelled batch cannot be resumed. To stop temporarily, pause the batch.",
		api.ActionReschedule:      "Reschedule the batch again, while the phases have not started.",
		api.RepairRetry:           "Pausing the batch holds what has not started. Members who fail again are rolled back where the runbook says so.",
		api.RepairSkip:            "None: the step is not repeated. Pausing the batch holds what has not started.",
		api.RepairDone:            "None: the step is not repeated. Pausing the batch holds what has not started.",
		api.RepairRemove:          "Add the members again: they start with the first phase. What on_member_removed did stays.",
		api.RepairMove:            "Move the members back: they keep what they have finished.",
		api.ActionConfirmRemovals: "Add the people to the data source again: they start with the first phase. What on_member_removed did stays.",
		api.ActionMoveMembers:     "Change the start of the members in the data source again.",
		api.ActionDiscardRemovals: "Remove the members by hand.",
		api.ActionCheck:           "Not needed: checks only read. A member who passes a required check goes on with the phases.",
	}[action], "None.")
}
