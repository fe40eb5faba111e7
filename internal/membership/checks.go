package membership

import (
	"context"
	"errors"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// CheckMember makes the checks of one member, as a request asks that task names, in one write with the
// audit records of the caller. A member who failed in the checks is retried, from the first check on.
// It fails with a model.Refusal where the member cannot be retried.
func (r *Registrar) CheckMember(ctx context.Context, b *model.Batch, m store.Item[model.Member], task string, audit ...store.Write) error {
	repeated, err := r.checkedFor(ctx, b, m, task)
	if err != nil {
		return err
	}
	if runstate.FailedChecks(&m.Doc) && !repeated {
		rb, err := r.runbooks.Load(ctx, b.Runbook, b.Version)
		if err != nil {
			return err
		}
		e := model.MemberRetried{Member: m.Doc.ID, Task: task}
		if len(rb.Checks) > 0 {
			e.RetryOptions = model.RetryOptions{Version: b.Version, From: rb.Checks[0].Name}
		}
		return r.RetryMember(ctx, b.ID, m, e, audit...)
	}
	c := applier.On(model.CheckDue{Member: m.Doc.ID, Task: task})
	c.Extra = func(_ *applier.Snapshot, ds []model.Decision) (store.Writes, error) {
		if ds[0].Empty() {
			return nil, nil
		}
		return audit, nil
	}
	_, _, err = r.applier.Run(ctx, b.ID, c)
	return err
}

// checkedFor reports whether a member who failed in the checks did so in a run that was made for this
// request: the message that asks for the checks can come again, and retries no one.
func (r *Registrar) checkedFor(ctx context.Context, b *model.Batch, m store.Item[model.Member], task string) (bool, error) {
	if !runstate.FailedChecks(&m.Doc) {
		return false, nil
	}
	run, err := store.Read[model.Run](ctx, r.store, store.RunKey(b.ID, model.CheckPhase, m.Doc.ID))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil && engine.CheckedFor(b, &run.Doc, task), err
}

// CountChecks counts the members of a batch by the results of their checks; nil where it has none.
func (r *Registrar) CountChecks(ctx context.Context, b *model.Batch) (*api.CheckCounts, error) {
	if b.Checks == nil {
		return nil, nil
	}
	v := &api.CheckCounts{RequestedAt: b.Checks.At, RequestedBy: b.Checks.By}
	for _, count := range []struct {
		of       *int
		statuses []model.RunStatus
	}{
		{&v.Passed, []model.RunStatus{model.RunSucceeded}},
		{&v.Failed, []model.RunStatus{model.RunFailed}},
		{&v.Running, []model.RunStatus{model.RunWaiting, model.RunRunning}},
	} {
		var err error
		if *count.of, err = r.store.CountRuns(ctx, b.ID, model.CheckPhase, count.statuses...); err != nil {
			return nil, err
		}
	}
	if b.Status.Terminal() { // nothing ends them any more
		v.Running = 0
	}
	v.NotRun = max(0, b.Members-b.Removed-v.Passed-v.Failed-v.Running)
	v.Done = b.Status.Terminal() || b.ChecksDispatched() && v.Running == 0
	return v, nil
}
