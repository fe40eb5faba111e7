package orchestrator

import (
	"context"
	"errors"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// retryPage retries the selected members of one page; on page 0 the runs without a
// member, where nothing narrows the request.
func (or *Orchestrator) retryPage(ctx context.Context, b *model.Batch, m message.BatchWork) (more bool, err error) {
	t, err := store.Read[store.Task](ctx, or.store, store.TaskKey(b.ID, m.Task))
	if errors.Is(err, store.ErrNotFound) {
		return false, message.Reject("batch %d has no task %q", b.ID, m.Task)
	}
	if err != nil {
		return false, err
	}
	which := api.RetrySelection(t.Doc.Selection)
	cancelled := b.DispatchMode() == model.Cancelled // no member is brought back; the starts that are owed are repeated
	more = which.Member == 0 && m.Page < b.PageCount() && !cancelled
	if m.Page == 0 {
		if err := or.retrySequences(ctx, b, m.Task, t.Doc); err != nil {
			return false, err
		}
		return more, or.relistReopened(ctx, b.ID)
	}
	started := map[int]bool{}
	members, err := or.store.MembersOfPage(ctx, b.ID, m.Page, model.MemberFailed)
	if err != nil {
		return false, err
	}
	for _, member := range members {
		if cancelled || !membership.Selects(which, membership.FailedMember(&member.Doc)) || member.Doc.FailedAt != nil && member.Doc.FailedAt.After(t.Doc.By.At) {
			continue // the latter failed since, perhaps again
		}
		err := or.members.RetryMember(ctx, b.ID, member, model.MemberRetried{Member: member.Doc.ID, Task: m.Task})
		var refusal *model.Refusal
		if errors.As(err, &refusal) {
			or.log.WarnContext(ctx, "member is not retried", logkey.BatchID, b.ID, logkey.MemberID, member.Doc.ID, logkey.Reason, refusal.Reason)
			continue
		}
		if err != nil {
			return false, err
		}
		started[member.Doc.ID] = true
	}
	// In case the start of others was cut short. They are looked for last: whoever is
	// not failed by now because of another delivery of this message is among them.
	again, err := or.store.RunsOfPage(ctx, b.ID, m.Page, store.RunSelection{Tasks: []string{m.Task}})
	if err != nil {
		return false, err
	}
	for _, run := range again {
		if started[run.Doc.Member] {
			continue
		}
		if err := or.applier.Decide(ctx, b.ID, model.OnRun{Phase: run.Doc.Phase, Member: run.Doc.Member, RunEvent: model.RunStarted{}}); err != nil {
			return false, err
		}
	}
	if len(members)+len(again) > 0 {
		return more, or.relistReopened(ctx, b.ID)
	}
	return more, nil
}

// relistReopened writes the summary of a batch that a retry may have opened again. The process
// that did may have died before it wrote the summary, and no tick visits a batch that is listed
// as ended.
func (or *Orchestrator) relistReopened(ctx context.Context, batch int) error {
	b, err := or.applier.LoadBatchForMessage(ctx, batch)
	if err != nil {
		return err
	}
	return or.applier.UpsertSummary(ctx, &b.Doc)
}

// retrySequences starts the init and on_complete steps that failed again.
func (or *Orchestrator) retrySequences(ctx context.Context, b *model.Batch, id string, asked store.Task) error {
	runs, err := or.store.RunsOfPage(ctx, b.ID, 0, store.RunSelection{Statuses: []model.RunStatus{model.RunFailed}, Tasks: []string{id}})
	if err != nil {
		return err
	}
	for _, run := range runs {
		if run.Doc.EndedAt != nil && run.Doc.EndedAt.After(asked.By.At) || run.Doc.Task != id && !membership.SelectsRun(api.RetrySelection(asked.Selection), &run.Doc) {
			continue // it failed since, perhaps again, or is not asked for
		}
		err := or.members.RetrySequence(ctx, run, model.SequenceRetried{Phase: run.Doc.Phase, Task: id})
		var refusal *model.Refusal
		if errors.As(err, &refusal) {
			or.log.InfoContext(ctx, "steps are not retried", logkey.BatchID, b.ID, logkey.RunID, run.ID, logkey.Reason, refusal.Reason)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}
