package admin

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Batches lists batches, the newest first unless o.Sort asks for another order.
func (a *Admin) Batches(ctx context.Context, o api.ListOptions) (api.Page[api.Batch], error) {
	paging, err := apiview.BatchSorting.Paging(o)
	if err != nil {
		return api.Page[api.Batch]{}, err
	}
	found, err := a.store.Batches(ctx, store.BatchFilter{Statuses: apiview.StoredBatchStatuses(o.Statuses), Runbook: o.Runbook, RunbookPrefix: o.Search, Name: o.Name, Owner: o.Owner}, paging)
	if err != nil {
		return api.Page[api.Batch]{}, err
	}
	page := api.Page[api.Batch]{Items: []api.Batch{}, Continuation: found.Continuation}
	for _, i := range found.Items {
		view := apiview.BatchSummary(i.Doc, a.now())
		if view.WaitingReason == nil {
			waits, err := a.workers.RecentWaits(ctx, i.Doc.Outline())
			if err != nil {
				return api.Page[api.Batch]{}, err
			}
			apiview.AddWorkerWait(&view, waits)
		}
		page.Items = append(page.Items, view)
	}
	return page, nil
}

// Batch gives one batch, with its ETag and what the caller can do to it. Errors: CodeNotFound.
func (a *Admin) Batch(ctx context.Context, by audit.Caller, id int) (api.Batch, error) {
	b, err := a.applier.ReadBatch(ctx, id)
	if err != nil {
		return api.Batch{}, err
	}
	view := apiview.Batch(b.Doc, a.now())
	view.ETag = apiview.ETag(b.ETag)
	if view.WaitsFor, err = a.workers.WorkersWaitedFor(ctx, &b.Doc); err != nil {
		return api.Batch{}, err
	}
	apiview.AddWorkerWait(&view, view.WaitsFor)
	if view.Actions, err = a.batchActions(ctx, by, b); err != nil {
		return api.Batch{}, err
	}
	if view.Checks, err = a.members.CountChecks(ctx, &b.Doc); err != nil {
		return api.Batch{}, err
	}
	return view, nil
}

// Members lists a batch's members in the order in which they were added. It records first that the
// caller read them. Errors: CodeNotFound, CodeUnavailable.
func (a *Admin) Members(ctx context.Context, by audit.Caller, id int, o api.ListOptions) (api.Page[api.Member], error) {
	b, err := a.applier.ReadBatch(ctx, id)
	if err != nil {
		return api.Page[api.Member]{}, err
	}
	paging, err := apiview.MemberSorting.Paging(o)
	if err != nil {
		return api.Page[api.Member]{}, err
	}
	secrets, err := a.runbooks.SecretsOf(ctx, &b.Doc)
	if err != nil {
		return api.Page[api.Member]{}, err
	}
	page := api.Page[api.Member]{Items: []api.Member{}}
	for range maxPagesPerList {
		found, err := a.store.Members(ctx, id, store.MemberFilter{Statuses: apiview.StoredMemberStatuses(o.Statuses), KeyPrefix: o.Search}, paging)
		if err != nil {
			return api.Page[api.Member]{}, err
		}
		for _, i := range found.Items {
			if v := apiview.Member(&b.Doc, i.Doc, secrets); wanted(o.Statuses, v.Status) {
				page.Items = append(page.Items, v)
			}
		}
		page.Continuation, paging.Continuation = found.Continuation, found.Continuation
		if len(page.Items) > 0 || found.Continuation == "" {
			break
		}
	}
	if err := a.audit.RecordRead(ctx, by, store.AuditRecord{Action: api.ActionReadMembers, Batch: id}); err != nil {
		return api.Page[api.Member]{}, err
	}
	return page, nil
}

// Phases lists a batch's phase executions with counts of their members and what the caller can do.
// Errors: CodeNotFound.
func (a *Admin) Phases(ctx context.Context, by audit.Caller, id int) (api.Page[api.Phase], error) {
	b, err := a.applier.ReadBatch(ctx, id)
	if err != nil {
		return api.Page[api.Phase]{}, err
	}
	page := api.Page[api.Phase]{Items: make([]api.Phase, len(b.Doc.Phases))}
	for i, p := range b.Doc.Phases {
		if page.Items[i], err = a.CountPhase(ctx, &b.Doc, p); err != nil {
			return api.Page[api.Phase]{}, err
		}
		if page.Items[i].Actions, err = a.phaseActions(ctx, by, b, p); err != nil {
			return api.Page[api.Phase]{}, err
		}
	}
	return page, nil
}

// CountPhase shows a phase execution of a batch with counts of its members, without actions.
func (a *Admin) CountPhase(ctx context.Context, b *model.Batch, p model.Phase) (api.Phase, error) {
	v := apiview.Phase(p)
	err := a.countMembers(ctx, b, p, &v)
	return v, err
}

// countMembers counts the members of a phase by their status: from the batch for a phase that has
// ended, from the shards for one that runs.
func (a *Admin) countMembers(ctx context.Context, b *model.Batch, p model.Phase, v *api.Phase) error {
	switch {
	case p.Kind.IsSequence():
		return a.countSteps(ctx, b, p, v)
	case p.Status == model.PhasePending:
		v.Members, v.Waiting = b.Active(), b.Active()
		return nil
	case p.Kind == model.KindRemoval:
		v.Succeeded, v.Failed, v.Running = p.Succeeded, p.Failed, p.Open
		v.Members = p.Succeeded + p.Failed + p.Cancelled + p.Open
		return nil
	case p.Status.Terminal():
		v.Succeeded, v.Failed, v.Cancelled = p.Succeeded, p.Failed, p.Cancelled
		v.Members = p.Succeeded + p.Failed + p.Cancelled
		return nil
	}
	shards, err := a.store.Shards(ctx, b.ID, store.ShardFilter{Phase: p.ID})
	if err != nil {
		return err
	}
	for _, s := range shards {
		v.Succeeded += s.Doc.Succeeded
		v.Failed += s.Doc.Failed
		v.Cancelled += s.Doc.Cancelled
		v.Running += s.Doc.Open
		v.Members += s.Doc.Runs
	}
	if !p.FannedOut { // pages that the fan-out has not reached yet
		v.Waiting = max(0, b.Members-v.Members)
		v.Members += v.Waiting
	}
	return nil
}

// countSteps counts the steps of a run without a member by their status.
func (a *Admin) countSteps(ctx context.Context, b *model.Batch, p model.Phase, v *api.Phase) error {
	run, err := store.Read[model.Run](ctx, a.store, store.RunKey(b.ID, p.ID, 0))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	v.Members = len(run.Doc.Steps)
	for _, s := range run.Doc.Steps {
		switch s.Status {
		case model.StepSucceeded, model.StepSkipped, model.StepSkippedByCondition:
			v.Succeeded++
		case model.StepFailed, model.StepPollTimeout:
			v.Failed++
		case model.StepCancelled:
			v.Cancelled++
		case model.StepDispatched, model.StepPolling:
			v.Running++
		default:
			v.Waiting++
		}
	}
	return nil
}

// executionsOf returns the executions of the phases with a name, in any case. It refuses a name that
// no phase has, for which the list would be empty.
func executionsOf(b *model.Batch, name string) (executions []int, err error) {
	if b.Checks != nil && strings.EqualFold(name, runbook.ChecksName) {
		return []int{model.CheckPhase}, nil
	}
	var names []string
	for _, p := range b.Phases {
		if of, ok := b.Phase(p.Of); strings.EqualFold(p.Name, name) || ok && strings.EqualFold(of.Name, name) {
			executions = append(executions, p.ID)
		}
		if !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	if len(executions) > 0 {
		return executions, nil
	}
	return nil, problem.New(api.CodeInvalid, "batch %d has no phase %q; it has %s", b.ID, name, strings.Join(names, ", "))
}

// Steps lists the steps of a batch's runs, by phase and member. The limit counts runs, of which the
// page has all steps. It records first that the caller read them. Errors: CodeNotFound; CodeInvalid
// for a phase that the batch does not have; CodeUnavailable.
func (a *Admin) Steps(ctx context.Context, by audit.Caller, id int, o api.ListOptions) (api.Page[api.Step], error) {
	b, err := a.applier.ReadBatch(ctx, id)
	if err != nil {
		return api.Page[api.Step]{}, err
	}
	filter := store.RunFilter{Member: o.Member, Waking: slices.Equal(o.Statuses, []string{api.StepWaitingForRetry}), KeyPrefix: o.Search}
	if o.Phase != "" {
		if filter.Phases, err = executionsOf(&b.Doc, o.Phase); err != nil {
			return api.Page[api.Step]{}, err
		}
	}
	filter.StepStatuses = apiview.StoredStepStatuses(o.Statuses) // the store filters, too, or most pages would be empty
	paging, err := apiview.StepSorting.Paging(o)
	if err != nil {
		return api.Page[api.Step]{}, err
	}
	page := api.Page[api.Step]{Items: []api.Step{}, Continuation: o.Continuation}
	for range maxPagesPerList {
		if err := a.stepPage(ctx, id, filter, paging, o.Statuses, &page); err != nil {
			return api.Page[api.Step]{}, err
		}
		if len(page.Items) > 0 || page.Continuation == "" {
			break
		}
	}
	if err := a.audit.RecordRead(ctx, by, store.AuditRecord{Action: api.ActionReadSteps, Batch: id}); err != nil {
		return api.Page[api.Step]{}, err
	}
	if err := a.showMembers(ctx, &b.Doc, page.Items); err != nil {
		return api.Page[api.Step]{}, err
	}
	return page, nil
}

// showMembers gives steps the display column of their members.
func (a *Admin) showMembers(ctx context.Context, b *model.Batch, steps []api.Step) error {
	members := make([]int, len(steps))
	for i, s := range steps {
		members[i] = s.MemberID
	}
	shown, err := a.displays(ctx, b, members)
	for i := range steps {
		steps[i].MemberDisplay = shown[steps[i].MemberID]
	}
	return err
}

// displays gives the display column of members, with one query for every 200 of them; none where the
// batch shows no column. The number 0 stands for no member.
func (a *Admin) displays(ctx context.Context, b *model.Batch, members []int) (map[int]string, error) {
	if b.Display == "" {
		return nil, nil
	}
	secrets, err := a.runbooks.SecretsOf(ctx, b)
	if err != nil || slices.Contains(secrets, b.Display) {
		return nil, err
	}
	ids := map[int]bool{}
	for _, id := range members {
		if id != 0 {
			ids[id] = true
		}
	}
	values, err := a.store.MemberValues(ctx, b.ID, b.Display, slices.Sorted(maps.Keys(ids)))
	shown := map[int]string{}
	for id, value := range values {
		shown[id] = apiview.Display(b, value, secrets)
	}
	return shown, err
}

// wanted reports whether a list has items of a status.
func wanted(statuses []string, status string) bool {
	return len(statuses) == 0 || slices.Contains(statuses, status)
}

// maxPagesPerList is how many pages of the store one page of a list reads at most. The store does not
// know whether a worker has a job, or a member is done, so that a page of it can be empty after the filter.
const maxPagesPerList = 10

// stepPage adds the steps of one page of runs to a page of steps.
func (a *Admin) stepPage(ctx context.Context, batch int, filter store.RunFilter, paging store.Paging, statuses []string, page *api.Page[api.Step]) error {
	paging.Continuation = page.Continuation
	found, err := a.store.Runs(ctx, batch, filter, paging)
	if err != nil {
		return err
	}
	page.Continuation = found.Continuation
	runs := make([]*model.Run, len(found.Items))
	for i := range found.Items {
		runs[i] = &found.Items[i].Doc
	}
	workers, err := a.workers.ReadRecords(ctx, runs...)
	if err != nil {
		return err
	}
	for _, run := range runs {
		rb, err := a.runbooks.Load(ctx, run.Runbook, run.Version)
		if err != nil {
			return err
		}
		for index := range run.Steps {
			view, err := apiview.Step(rb, run, index, workers, a.now())
			if err != nil {
				return err
			}
			if wanted(statuses, view.Status) {
				page.Items = append(page.Items, view)
			}
		}
	}
	return nil
}
