package admin

import (
	"context"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// What a caller can do now is not listed anywhere: for each action, the rule that its command asks is
// asked, on the state as it is. That is the engine's decision on the event of the command.

// asking collects the actions of one batch, phase or step.
type asking struct {
	admin   *Admin
	batch   store.Item[model.Batch]
	actions []api.Action
}

// event adds an action by the decision on its event.
func (q *asking) event(ctx context.Context, name string, e model.Event) error {
	unchanged, err := q.admin.applier.Ask(ctx, q.batch.Doc.ID, e, func(s *applier.Snapshot) { applier.Prime(s, s.BatchKey(), q.batch) })
	return q.rule(name, unchanged, err)
}

// rule adds an action by the answer of its rule.
func (q *asking) rule(name string, unchanged bool, refusal error) error {
	one, err := membership.ActionOf(name, unchanged, refusal)
	q.actions = append(q.actions, one)
	return err
}

// batchActions returns what the caller can do to a batch.
func (a *Admin) batchActions(ctx context.Context, by audit.Caller, b store.Item[model.Batch]) ([]api.Action, error) {
	q := asking{admin: a, batch: b}
	for _, one := range []struct {
		name  string
		event model.Event
	}{
		{"advance", model.Advanced{Phase: b.Doc.Next(), By: by.Name}},
		{"pause", model.BatchPaused{}},
		{"resume", model.BatchResumed{}},
		{"cancel", model.BatchCancelRequested{}},
		{"reschedule", model.BatchRescheduled{Start: anotherStart(&b.Doc)}},
		{"update_batch", model.BatchUpdated{}},
		{"add_members", model.MembersJoined{}},
		{"check", model.ChecksRequested{}},
		{"confirm_removals", model.RemovalsConfirmed{}},
		{"move_members", model.RemovalsConfirmed{Move: true}},
		{"discard_removals", model.RemovalsDiscarded{}},
	} {
		if err := q.event(ctx, one.name, one.event); err != nil {
			return nil, err
		}
	}
	q.actions[0].Phase = b.Doc.Next()
	failed, err := a.hasFailed(ctx, &b.Doc)
	if err != nil {
		return nil, err
	}
	for _, action := range []string{api.RepairRetry, api.RepairSkip, api.RepairDone} {
		refusal := membership.RefuseRepair(&b.Doc, action)
		if refusal == nil && !failed {
			refusal = membership.RefuseEmptyRepair(&b.Doc, action)
		}
		if err := q.rule(action, false, refusal); err != nil {
			return nil, err
		}
	}
	return q.actions, nil
}

// anotherStart returns a start that a batch does not have.
func anotherStart(b *model.Batch) time.Time {
	if b.StartTime == nil {
		return b.DetectedAt
	}
	return b.StartTime.Add(time.Minute)
}

// hasFailed reports whether a member, or a run of init or on_complete steps, of a batch has failed. It
// costs two queries at most.
func (a *Admin) hasFailed(ctx context.Context, b *model.Batch) (bool, error) {
	if b.DispatchMode() == model.Cancelled {
		return false, nil
	}
	members, err := a.store.Members(ctx, b.ID, store.MemberFilter{Statuses: []model.MemberStatus{model.MemberFailed}}, store.Paging{Limit: 1, Sort: store.Sort{By: store.FieldID}})
	if err != nil || len(members.Items) > 0 {
		return true, err
	}
	runs, err := a.store.RunsOfPage(ctx, b.ID, 0, store.RunSelection{Statuses: []model.RunStatus{model.RunFailed}})
	return len(runs) > 0, err
}

// phaseActions returns what the caller can do to a phase execution of a batch.
func (a *Admin) phaseActions(ctx context.Context, by audit.Caller, b store.Item[model.Batch], p model.Phase) ([]api.Action, error) {
	q := asking{admin: a, batch: b}
	if p.Kind == model.KindRemoval || p.Kind == model.KindDetached || p.Kind == model.KindItems {
		return nil, nil
	}
	if err := q.event(ctx, "advance", model.Advanced{Phase: p.Name, By: by.Name}); err != nil || p.Kind == model.KindInit {
		return q.actions, err
	}
	err := q.event(ctx, "approve", model.PhaseApproved{Phase: p.ID, By: model.Attribution{By: by.Name}})
	return q.actions, err
}

// stepActions returns what can be done to a step. Whether it can be marked done depends on the result,
// too.
func (a *Admin) stepActions(ctx context.Context, b store.Item[model.Batch], key store.Key, index int) ([]api.Action, error) {
	run, err := store.Read[model.Run](ctx, a.store, key)
	if err != nil {
		return nil, err
	}
	unchanged, refusal := a.applier.Ask(ctx, b.Doc.ID, resolutionEvent(&run.Doc, model.StepResolved{Step: index, Skip: true}, a.newID()), func(s *applier.Snapshot) {
		applier.Prime(s, s.BatchKey(), b)
		applier.Prime(s, key, run)
	})
	q := asking{admin: a, batch: b}
	if err := q.rule("skip_step", unchanged, refusal); err != nil {
		return nil, err
	}
	err = q.rule("mark_done", false, refusal)
	return q.actions, err
}
