package admin

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/idempotency"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Repair lets failed members go on, and failed init and on_complete steps: with a retry, or past the
// step that failed. A retry begins at that step or, where it was rolled back, at the first step of its
// phase. The phases that a member has missed since follow. With RepairRemove it removes members who
// have not failed, and with RepairMove it moves them to another batch. Repair stores a task, which the orchestrator carries out, and returns its effect; a
// dry run returns only that. A request with an idempotency key
// that was received before gets the same answer, and sends the message of its task again. Errors:
// CodeNotFound, CodeConflict, CodeInvalid, CodeKeyReused, CodeUnavailable.
func (a *Admin) Repair(ctx context.Context, by audit.Caller, batch int, r api.Repair) (api.RepairResult, error) {
	if r.Action == "" {
		r.Action = api.RepairRetry
	}
	if err := cmp.Or(audit.CheckReason(r.Reason), checkRepair(r)); err != nil {
		return api.RepairResult{}, err
	}
	b, err := a.applier.ReadBatch(ctx, batch)
	if err != nil {
		return api.RepairResult{}, err
	}
	task := store.Task{
		Work: message.WorkRetry, Action: r.Action, Selection: store.Selection(r.Selection), From: r.From, Result: r.Result, To: r.To,
		By: model.Attribution{By: by.Name, At: a.now().UTC(), Why: r.Reason},
	}
	actor := by.Actor()
	task.Actor = &actor
	switch r.Action {
	case api.RepairRemove:
		task.Work = message.WorkRemove
	case api.RepairMove:
		task.Work = message.WorkMove
	}
	id := a.taskID(by)
	repeated := false
	if !r.DryRun {
		if repeated, err = a.findTask(ctx, by, batch, id, task, r.Version != ""); err != nil {
			return api.RepairResult{}, err
		}
	}
	result := api.RepairResult{BatchID: batch, Action: r.Action, Task: id, To: r.To, Selection: r.Selection, Replayed: repeated}
	if repeated { // what it does was told before, and is under way
		result.Effect = api.RepairEffect{Groups: []api.RepairGroup{}, Refused: []api.RefusedMember{}}
		return result, a.sendTask(ctx, by, result, task.Work)
	}
	if err := membership.RefuseRepair(&b.Doc, r.Action); err != nil {
		return api.RepairResult{}, err
	}
	if r.Action == api.RepairMove {
		if err := a.checkMoveTo(ctx, &b.Doc, r.To); err != nil {
			return api.RepairResult{}, err
		}
	}
	f, err := a.newForecast(ctx, b.Doc, r)
	if err != nil {
		return api.RepairResult{}, err
	}
	if err := f.loadNamed(ctx); err != nil {
		return api.RepairResult{}, err
	}
	if result.Effect, err = f.effect(ctx); err != nil {
		return api.RepairResult{}, err
	}
	if r.DryRun {
		result.Task = ""
		preview, err := a.previewRepair(ctx, f, result.Effect)
		result.Preview = &preview
		return result, err
	}
	task.Version, task.Pages, task.Progress.Total = f.follows, f.pages, result.Effect.Members+result.Effect.Sequences
	if result.Replayed, err = a.storeTask(ctx, by, result, task); err != nil {
		return api.RepairResult{}, err
	}
	return result, a.sendTask(ctx, by, result, task.Work)
}

// checkMoveTo refuses a move to a batch that does not exist or does not take the members.
func (a *Admin) checkMoveTo(ctx context.Context, from *model.Batch, to int) error {
	target, err := a.applier.ReadBatch(ctx, to)
	if err != nil {
		return err
	}
	return engine.CheckMoveTo(from, &target.Doc)
}

// checkRepair refuses a repair whose fields do not belong to its action, or have no valid value.
func checkRepair(r api.Repair) error {
	if leaves(r.Action) {
		if err := checkRemoval(r); err != nil {
			return err
		}
	} else if s := r.Selection.Status; s != "" && !slices.Contains(api.RepairStatuses, s) {
		return problem.New(api.CodeInvalid, "invalid status %q of a failed step: use %s", s, strings.Join(api.RepairStatuses, " or "))
	}
	switch {
	case max(len(r.Selection.Members), len(r.Selection.Steps)) > api.MaxSelected:
		return problem.New(api.CodeInvalid, "the selection names %d members and %d steps; at most %d of each are allowed, so use a filter", len(r.Selection.Members), len(r.Selection.Steps), api.MaxSelected)
	case !leaves(r.Action) && r.Selection.Search != "":
		return problem.New(api.CodeInvalid, "a text to search for selects members for a removal or a move; failed members are selected by their errors")
	case r.Action == api.RepairMove && r.To < 1:
		return problem.New(api.CodeInvalid, "the batch is missing to which the members move (toBatchId)")
	case r.Action != api.RepairMove && r.To != 0:
		return problem.New(api.CodeInvalid, "a batch to move to belongs to a move")
	case r.Version != "" && r.Version != api.VersionActive:
		return problem.New(api.CodeInvalid, "invalid version %q: use %s, or leave it out for the version in which each member failed", r.Version, api.VersionActive)
	case r.Action != api.RepairRetry && (r.Version != "" || r.From != ""):
		return problem.New(api.CodeInvalid, "a version and the step to begin with belong to a retry")
	case r.Action != api.RepairDone && len(r.Result) > 0:
		return problem.New(api.CodeInvalid, "a result belongs to steps that are marked as done")
	case r.Action != api.RepairRetry && r.Reason == "" && !r.DryRun:
		return problem.New(api.CodeInvalid, "the reason is missing; it goes into the audit record")
	}
	return checkResult(r.Result)
}

// leaves reports whether members leave their batch by a repair: they have not failed.
func leaves(action string) bool { return action == api.RepairRemove || action == api.RepairMove }

// checkRemoval refuses a removal, or a move, that selects all members, or selects by errors.
func checkRemoval(r api.Repair) error {
	s, verb := r.Selection, membership.RepairVerb(r.Action)
	all := api.Selection{Members: s.Members, Status: s.Status, Search: s.Search}
	switch {
	case s.Empty():
		return problem.New(api.CodeInvalid, "the members to %s are missing: name them, or select them by status or search", verb)
	case !reflect.DeepEqual(all, s):
		return problem.New(api.CodeInvalid, "members to %s are selected by memberIds, status and search", verb)
	case s.Status != "" && !slices.Contains(removableStatuses, s.Status):
		return problem.New(api.CodeInvalid, "invalid status %q of a member to %s: use %s", s.Status, verb, strings.Join(removableStatuses, " or "))
	}
	return nil
}

// removableStatuses are the statuses in which members can be removed.
var removableStatuses = []string{api.MemberActive, api.MemberDone}

// taskID returns the id of a caller's task: the same for each repetition of a request with an
// idempotency key.
func (a *Admin) taskID(by audit.Caller) string {
	if by.Key == "" {
		return a.newID()
	}
	return idempotency.Digest(by.Identity(), by.Key)[:16]
}

// findTask reports whether the store has the task of a request with an idempotency key, which follows the
// active version or not. Errors: CodeKeyReused where that is another task.
func (a *Admin) findTask(ctx context.Context, by audit.Caller, batch int, id string, task store.Task, active bool) (bool, error) {
	if by.Key == "" {
		return false, nil
	}
	found, err := store.OrNone(store.Read[store.Task](ctx, a.store, store.TaskKey(batch, id)))
	if err != nil || found.ETag == "" {
		return false, err
	}
	if t := found.Doc; !reflect.DeepEqual(t.Selection, task.Selection) || t.Action != task.Action || t.From != task.From || t.To != task.To || active != (t.Version != 0) || !bytes.Equal(t.Result, task.Result) {
		return false, problem.New(api.CodeKeyReused, "the idempotency key was used on %s for a request with other content; use a new key for a new request", t.By.At.Format(time.RFC3339))
	}
	return true, nil
}

// storeTask stores the task of a repair, with its audit record. It reports whether the same request,
// received at the same time, has stored it.
func (a *Admin) storeTask(ctx context.Context, by audit.Caller, r api.RepairResult, task store.Task) (repeated bool, err error) {
	before := audit.State{"failedMembers": r.Effect.Members}
	switch {
	case leaves(r.Action):
		before = audit.State{"members": r.Effect.Members}
	case r.Effect.Members == 0:
		before = audit.State{"failedSequences": r.Effect.Sequences}
	}
	after := audit.State{"task": r.Task}
	if task.Version != 0 {
		after["version"] = task.Version
	}
	if task.From != "" {
		after["from"] = task.From
	}
	if task.To != 0 {
		after["toBatchId"] = task.To
	}
	writes := store.Writes{
		store.Create(store.TaskKey(r.BatchID, r.Task), task),
		a.audit.Record(store.AuditRecord{
			At: task.By.At, Actor: by.Actor(), Action: r.Action, Batch: r.BatchID, Target: membership.SelectionText(r.Selection), Why: task.By.Why,
			Before: before.JSON(), After: after.JSON(),
		}),
	}
	if r.Action == api.RepairMove { // the batch knows of it, and does not end before
		return a.storeMove(ctx, by, r, task, writes)
	}
	_, err = a.store.Apply(ctx, writes)
	if !errors.Is(err, store.ErrExists) {
		return false, err
	}
	if repeated, err = a.findTask(ctx, by, r.BatchID, r.Task, task, task.Version != 0); err == nil && !repeated {
		err = store.ErrExists
	}
	return repeated, err
}

// storeMove stores the task of a move as storeTask does, with the batch.
func (a *Admin) storeMove(ctx context.Context, by audit.Caller, r api.RepairResult, task store.Task, writes store.Writes) (repeated bool, err error) {
	_, _, err = a.applier.Run(ctx, r.BatchID, applier.Command{
		Events: func(*applier.Snapshot) (_ []model.Event, err error) {
			if repeated, err = a.findTask(ctx, by, r.BatchID, r.Task, task, task.Version != 0); err != nil || repeated {
				return nil, err
			}
			return []model.Event{model.MoveRequested{Task: r.Task, To: task.To}}, nil
		},
		Extra: func(_ *applier.Snapshot, ds []model.Decision) (store.Writes, error) {
			if len(ds) == 0 {
				return nil, nil
			}
			return writes, nil
		},
	})
	return repeated, err
}

// sendTask sends the first message of a task.
func (a *Admin) sendTask(ctx context.Context, by audit.Caller, r api.RepairResult, work string) error {
	if err := a.bus.Send(ctx, message.TopicOrchestratorEvents, applier.BatchWorkMessage(r.BatchID, work, r.Task, 0)); err != nil {
		return err
	}
	a.log.InfoContext(ctx, fmt.Sprintf("%s requested", membership.RepairVerb(r.Action)), logkey.BatchID, r.BatchID, logkey.Task, r.Task, logkey.Selection, membership.SelectionText(r.Selection), logkey.By, by.Name, logkey.Repeated, r.Replayed)
	return nil
}
