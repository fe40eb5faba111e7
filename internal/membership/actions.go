package membership

import (
	"context"
	"errors"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/store"
)

// ActionOf returns an action by the answer of the rule that its command asks: a refusal, also of this
// caller only, or whether it would change nothing. What has to be awaited is not refused. Any other error it returns.
func ActionOf(name string, unchanged bool, err error) (api.Action, error) {
	if err == nil || errors.Is(err, model.ErrNotYet) {
		return api.Action{Name: name, Allowed: true, Unchanged: unchanged}, nil
	}
	if e := problem.Explain(err); e.Code == api.CodeConflict || e.Code == api.CodeForbidden {
		return api.Action{Name: name, Reason: e.Message}, nil
	}
	return api.Action{}, err
}

// repairVerbs are the verbs of the actions of a repair.
var repairVerbs = map[string]string{api.RepairRetry: "retry", api.RepairSkip: "skip", api.RepairDone: "mark as done", api.RepairRemove: "remove", api.RepairMove: "move"}

// RepairVerb is the verb of an action of a repair.
func RepairVerb(action string) string { return repairVerbs[action] }

// RefuseRepair refuses a repair in a batch that is cancelled; nil otherwise.
func RefuseRepair(b *model.Batch, action string) error {
	if b.DispatchMode() != model.Cancelled {
		return nil
	}
	return problem.New(api.CodeConflict, "batch %d is %s: it has nothing to %s", b.ID, b.Status, RepairVerb(action))
}

// RefuseEmptyRepair refuses a repair of all that failed in a batch where nothing did.
func RefuseEmptyRepair(b *model.Batch, action string) error {
	return problem.New(api.CodeConflict, "batch %d has no failed members or steps: there is nothing to %s", b.ID, RepairVerb(action))
}

// RefuseMemberRepair refuses a repair of a member who has not failed; nil otherwise.
func RefuseMemberRepair(b *model.Batch, m *model.Member, action string) error {
	if err := RefuseRepair(b, action); err != nil {
		return err
	}
	if m.Status != model.MemberFailed {
		return problem.New(api.CodeConflict, "member %d of batch %d has not failed: it is %s", m.ID, b.ID, apiview.MemberStatus(b, m))
	}
	return nil
}

// RefuseMemberMove refuses to move a member to another batch; nil otherwise.
func RefuseMemberMove(b *model.Batch, m *model.Member) error {
	if err := RefuseRepair(b, api.RepairMove); err != nil {
		return err
	}
	return engine.RefuseMove(b, m)
}

// memberActions returns what can be done to a member.
func (r *Registrar) memberActions(ctx context.Context, b store.Item[model.Batch], m store.Item[model.Member]) ([]api.Action, error) {
	rb, err := r.runbooks.Load(ctx, b.Doc.Runbook, b.Doc.Version)
	if err != nil {
		return nil, err
	}
	actions := make([]api.Action, 0, 7)
	add := func(name string, unchanged bool, err error) error {
		one, err := ActionOf(name, unchanged, err)
		actions = append(actions, one)
		return err
	}
	for _, action := range []string{api.RepairRetry, api.RepairSkip, api.RepairDone} {
		if err := add(action, false, RefuseMemberRepair(&b.Doc, &m.Doc, action)); err != nil {
			return nil, err
		}
	}
	unchanged, left := r.applier.Ask(ctx, b.Doc.ID, model.MemberLeft{Member: m.Doc.ID}, func(s *applier.Snapshot) {
		applier.Prime(s, s.BatchKey(), b)
		applier.Prime(s, store.MemberKey(b.Doc.ID, m.Doc.ID), m)
	})
	err = errors.Join(
		add("check", false, engine.RefuseMemberChecks(&b.Doc, rb, &m.Doc)),
		add(api.ActionCorrectMember, false, engine.RefuseCorrection(&b.Doc, &m.Doc)),
		add("remove_member", unchanged, left),
		add(api.RepairMove, false, RefuseMemberMove(&b.Doc, &m.Doc)),
	)
	return actions, err
}
