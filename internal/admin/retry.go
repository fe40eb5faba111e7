package admin

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/idempotency"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/store"
)

// RetryFailed retries failed members, at the step that failed or, where that was rolled back, at the
// first step of its phase. The phases that a member has missed since follow. A selection that is empty
// selects all failed members, and failed init and on_complete steps. It stores a task, which the
// orchestrator carries out. A request with an idempotency key that was received before gets the same
// answer, and sends the message of its task again. Errors: CodeNotFound, CodeConflict, CodeInvalid,
// CodeKeyReused, CodeUnavailable.
func (a *Admin) RetryFailed(ctx context.Context, by audit.Caller, batch int, which api.RetrySelection, why string) (api.RetryResult, error) {
	if err := audit.CheckReason(why); err != nil {
		return api.RetryResult{}, err
	}
	b, err := a.applier.ReadBatch(ctx, batch)
	if err != nil {
		return api.RetryResult{}, err
	}
	id := a.taskID(by)
	repeated, err := a.findRetry(ctx, by, batch, id, which)
	if err != nil {
		return api.RetryResult{}, err
	}
	if repeated {
		return a.sendRetry(ctx, by, batch, id, which, 0, true)
	}
	if b.Doc.DispatchMode() == model.Cancelled {
		return api.RetryResult{}, problem.New(api.CodeConflict, "batch %d is %s: it has nothing to retry", batch, b.Doc.Status)
	}
	page := 0
	if which.Member != 0 {
		m, err := a.applier.ReadMember(ctx, batch, which.Member)
		if err != nil {
			return api.RetryResult{}, err
		}
		if m.Doc.Status != model.MemberFailed {
			return api.RetryResult{}, problem.New(api.CodeConflict, "member %d of batch %d has not failed: it is %s", which.Member, batch, m.Doc.Status)
		}
		page = m.Doc.Page
	}
	selected, err := a.checkSelection(ctx, b.Doc, which)
	if err != nil {
		return api.RetryResult{}, err
	}
	now := a.now().UTC()
	_, err = a.store.Apply(ctx, store.Writes{
		store.Create(store.TaskKey(batch, id), store.Task{Work: message.WorkRetry, Selection: store.RetrySelection(which), By: model.Attribution{By: by.Name, At: now, Why: why}}),
		a.audit.Record(store.AuditRecord{
			At: now, Actor: by.Actor(), Action: "retry", Batch: batch, Target: membership.SelectionText(which), Why: why, Before: selected.JSON(), After: audit.State{"task": id}.JSON(),
		}),
	})
	if errors.Is(err, store.ErrExists) { // the same request, at the same time
		if repeated, err = a.findRetry(ctx, by, batch, id, which); err == nil && !repeated {
			err = store.ErrExists
		}
	}
	if err != nil {
		return api.RetryResult{}, err
	}
	return a.sendRetry(ctx, by, batch, id, which, page, repeated)
}

// taskID returns the id of a caller's task: the same for each repetition of a request with an
// idempotency key.
func (a *Admin) taskID(by audit.Caller) string {
	if by.Key == "" {
		return a.newID()
	}
	return idempotency.Digest(by.Identity(), by.Key)[:16]
}

// findRetry reports whether the store has the task of a request with an idempotency key. Errors:
// CodeKeyReused where that task is of another selection.
func (a *Admin) findRetry(ctx context.Context, by audit.Caller, batch int, id string, which api.RetrySelection) (bool, error) {
	if by.Key == "" {
		return false, nil
	}
	task, err := store.OrNone(store.Read[store.Task](ctx, a.store, store.TaskKey(batch, id)))
	if err != nil || task.ETag == "" {
		return false, err
	}
	if task.Doc.Selection != store.RetrySelection(which) {
		return false, problem.New(api.CodeKeyReused, "the idempotency key was used on %s for a request with other content; use a new key for a new request", task.Doc.By.At.Format(time.RFC3339))
	}
	return true, nil
}

// sendRetry sends the message of a task, from a page on.
func (a *Admin) sendRetry(ctx context.Context, by audit.Caller, batch int, id string, which api.RetrySelection, page int, repeated bool) (api.RetryResult, error) {
	if err := a.bus.Send(ctx, message.TopicOrchestratorEvents, applier.BatchWorkMessage(batch, message.WorkRetry, id, page)); err != nil {
		return api.RetryResult{}, err
	}
	a.log.InfoContext(ctx, "retry requested", logkey.BatchID, batch, logkey.Task, id, logkey.Selection, membership.SelectionText(which), logkey.By, by.Name, logkey.Repeated, repeated)
	return api.RetryResult{BatchID: batch, Task: id, Selection: which, Replayed: repeated}, nil
}

// checkSelection refuses a selection that selects nothing, and one that selects members who are in
// another batch by now. Otherwise it gives how much it selects, for the audit record.
func (a *Admin) checkSelection(ctx context.Context, b model.Batch, which api.RetrySelection) (audit.State, error) {
	batch := b.ID
	members, err := a.store.FailedMembers(ctx, batch)
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, m := range members {
		if membership.Selects(which, m) {
			keys = append(keys, m.Key)
		}
	}
	if len(keys) > 0 {
		rb, err := a.runbooks.Load(ctx, b.Runbook, b.Version)
		if err != nil {
			return nil, err
		}
		taken, err := a.members.FindTakenFailed(ctx, &b, rb, keys)
		return audit.State{"failedMembers": len(keys)}, cmp.Or(err, membership.RefuseInOtherBatch(taken, len(keys), "retried", nil, false))
	}
	runs, err := a.store.RunsOfPage(ctx, batch, 0, store.RunSelection{Statuses: []model.RunStatus{model.RunFailed}})
	if err != nil {
		return nil, err
	}
	selected := 0
	for _, run := range runs {
		rb, err := a.runbooks.Load(ctx, run.Doc.Runbook, run.Doc.Version)
		if err != nil {
			return nil, err
		}
		if membership.SelectsRun(which, rb, &run.Doc) {
			selected++
		}
	}
	switch {
	case selected > 0:
		return audit.State{"failedSequences": selected}, nil
	case which == (api.RetrySelection{}):
		return nil, problem.New(api.CodeConflict, "batch %d has no failed members or steps: there is nothing to retry", batch)
	}
	return nil, problem.New(api.CodeConflict, "no failed member of batch %d matches %s: there is nothing to retry", batch, membership.SelectionText(which))
}
