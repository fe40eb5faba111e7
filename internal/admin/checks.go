package admin

import (
	"context"
	"fmt"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Check makes the checks of all members of a batch, or of one member, by the version that the batch
// follows; the results replace the earlier ones. A member who failed in the checks is retried. A
// request with an idempotency key that was received before sends its messages again. Errors:
// CodeNotFound, CodeConflict, CodeInvalid, CodeKeyReused, CodeUnavailable.
func (a *Admin) Check(ctx context.Context, by audit.Caller, batch, member int, why string) (api.CheckResult, error) {
	if err := audit.CheckReason(why); err != nil {
		return api.CheckResult{}, err
	}
	b, err := a.applier.ReadBatch(ctx, batch)
	if err != nil {
		return api.CheckResult{}, err
	}
	rb, err := a.runbooks.Load(ctx, b.Doc.Runbook, b.Doc.Version)
	if err != nil {
		return api.CheckResult{}, err
	}
	r := checking{
		id:     a.taskID(by),
		task:   store.Task{Work: message.WorkCheck, Action: "check", Selection: selectionOfMember(member), By: model.Attribution{By: by.Name, At: a.now().UTC(), Why: why}},
		result: api.CheckResult{BatchID: batch, Members: b.Doc.Members - b.Doc.Removed, Checks: checkNames(rb)},
	}
	var m store.Item[model.Member]
	if member != 0 {
		if m, err = a.applier.ReadMember(ctx, batch, member); err != nil {
			return api.CheckResult{}, err
		}
		r.target = fmt.Sprintf("member %d (%s)", member, m.Doc.Key)
		r.result.MemberID, r.result.MemberKey, r.result.Members = member, m.Doc.Key, 1
	}
	if r.result.Replayed, err = a.findTask(ctx, by, batch, r.id, r.task, false); err != nil {
		return api.CheckResult{}, err
	}
	switch {
	case r.result.Replayed:
		err = a.repeatCheck(ctx, &b.Doc, r)
		return r.result, err
	case member == 0:
		err = a.checkAll(ctx, by, &b.Doc, r)
	default:
		err = a.checkMember(ctx, by, &b.Doc, rb, m, r)
	}
	if err != nil {
		return api.CheckResult{}, err
	}
	a.log.InfoContext(ctx, "checks requested", logkey.BatchID, batch, logkey.MemberID, member, logkey.Task, r.id, logkey.By, by.Name)
	return r.result, nil
}

// checking is a request to make checks.
type checking struct {
	id, target string
	task       store.Task
	result     api.CheckResult
}

// selectionOfMember selects one member, or with 0 all.
func selectionOfMember(member int) (s store.Selection) {
	if member != 0 {
		s.Members = []int{member}
	}
	return s
}

// checkWrites are the audit record of a request and, if it can come again, its task.
func (a *Admin) checkWrites(by audit.Caller, batch int, r checking) []store.Write {
	ops := []store.Write{a.audit.Record(store.AuditRecord{
		At: r.task.By.At, Actor: by.Actor(), Action: r.task.Action, Batch: batch, Target: r.target, Why: r.task.By.Why,
	})}
	if by.Key != "" {
		ops = append(ops, store.Create(store.TaskKey(batch, r.id), r.task))
	}
	return ops
}

func (a *Admin) checkAll(ctx context.Context, by audit.Caller, b *model.Batch, r checking) error {
	c := applier.On(model.ChecksRequested{Task: r.id, By: by.Name})
	c.Extra = func(_ *applier.Snapshot, ds []model.Decision) (store.Writes, error) {
		if ds[0].Empty() {
			return nil, nil
		}
		return a.checkWrites(by, b.ID, r), nil
	}
	_, _, err := a.applier.Run(ctx, b.ID, c)
	return err
}

func (a *Admin) checkMember(ctx context.Context, by audit.Caller, b *model.Batch, rb *runbook.Runbook, m store.Item[model.Member], r checking) error {
	if err := engine.RefuseMemberChecks(b, rb, &m.Doc); err != nil {
		return err
	}
	return a.members.CheckMember(ctx, b, m, r.id, a.checkWrites(by, b.ID, r)...)
}

// repeatCheck sends the messages of a request again, in case the process that carried it out ended
// before it did.
func (a *Admin) repeatCheck(ctx context.Context, b *model.Batch, r checking) error {
	switch member := r.result.MemberID; {
	case b.HasEnded():
		return nil
	case member != 0:
		return a.applier.Decide(ctx, b.ID, model.OnRun{Phase: model.CheckPhase, Member: member, RunEvent: model.RunMended{}})
	case b.Checks == nil || b.Checks.Task != r.id: // another request followed
		return nil
	}
	return a.applier.Decide(ctx, b.ID, model.ChecksRequested{Task: r.id, By: r.task.By.By})
}

func checkNames(rb *runbook.Runbook) []string {
	names := make([]string, len(rb.Checks))
	for i, s := range rb.Checks {
		names[i] = s.Name
	}
	return names
}

// Checks lists the last results of the checks of a batch's members, by member. The limit counts
// members, of whom the page has all checks. It records first that the caller read them. Errors:
// CodeNotFound, CodeUnavailable.
func (a *Admin) Checks(ctx context.Context, by audit.Caller, batch int, o api.ListOptions) (api.Page[api.Check], error) {
	b, err := a.applier.ReadBatch(ctx, batch)
	if err != nil {
		return api.Page[api.Check]{}, err
	}
	filter := store.RunFilter{Phases: []int{model.CheckPhase}, Member: o.Member, KeyPrefix: o.Search}
	paging := store.Paging{Limit: o.Limit, Sort: store.Sort{By: store.FieldID}}
	page := api.Page[api.Check]{Items: []api.Check{}, Continuation: o.Continuation}
	for range maxPagesPerList {
		if err := a.checkPage(ctx, &b.Doc, filter, paging, o.Statuses, &page); err != nil {
			return api.Page[api.Check]{}, err
		}
		if len(page.Items) > 0 || page.Continuation == "" {
			break
		}
	}
	if err := a.audit.RecordRead(ctx, by, store.AuditRecord{Action: api.ActionReadSteps, Batch: batch}); err != nil {
		return api.Page[api.Check]{}, err
	}
	members := make([]int, len(page.Items))
	for i, v := range page.Items {
		members[i] = v.MemberID
	}
	shown, err := a.displays(ctx, &b.Doc, members)
	if err != nil {
		return api.Page[api.Check]{}, err
	}
	for i := range page.Items {
		page.Items[i].MemberDisplay = shown[page.Items[i].MemberID]
	}
	return page, nil
}

// checkPage adds the checks of one page of runs that have one of the statuses, if any are given.
func (a *Admin) checkPage(ctx context.Context, b *model.Batch, filter store.RunFilter, paging store.Paging, statuses []string, page *api.Page[api.Check]) error {
	paging.Continuation = page.Continuation
	found, err := a.store.Runs(ctx, b.ID, filter, paging)
	if err != nil {
		return err
	}
	page.Continuation = found.Continuation
	for _, run := range found.Items {
		views, err := a.checksOfRun(ctx, b, &run.Doc)
		if err != nil {
			return err
		}
		for _, view := range views {
			if wanted(statuses, view.Status) {
				page.Items = append(page.Items, view)
			}
		}
	}
	return nil
}

// checksOfRun gives the checks of one member, in order.
func (a *Admin) checksOfRun(ctx context.Context, b *model.Batch, run *model.Run) ([]api.Check, error) {
	rb, err := a.runbooks.Load(ctx, run.Runbook, run.Version)
	if err != nil {
		return nil, err
	}
	views := make([]api.Check, len(run.Steps))
	for index := range run.Steps {
		if views[index], err = apiview.Check(b, rb, run, index); err != nil {
			return nil, err
		}
	}
	return views, nil
}
