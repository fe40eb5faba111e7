package orchestrator

import (
	"context"
	"errors"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// retryPage retries the selected members of one page, on page 0 the selected runs without a
// member. This is the retry that an administrator requests; package engine decides on the
// automatic retries of a step.
func (o *Orchestrator) retryPage(ctx context.Context, b *model.Batch, m message.BatchWork) (more bool, err error) {
	task, err := store.Read[store.Task](ctx, o.store, store.TaskKey(b.ID, m.Task))
	if errors.Is(err, store.ErrNotFound) {
		return false, message.Reject("batch %d has no task %q", b.ID, m.Task)
	}
	if err != nil {
		return false, err
	}
	cancelled := b.DispatchMode() == model.Cancelled // nothing is retried; unfinished starts are repeated
	more = task.Doc.Selection.Member == 0 && m.Page < b.PageCount() && !cancelled
	if m.Page == 0 {
		return more, o.retrySequences(ctx, b, m.Task, task.Doc)
	}
	failed, err := o.store.MembersOfPage(ctx, b.ID, m.Page, model.MemberFailed)
	if err != nil {
		return false, err
	}
	retried := map[int]bool{}
	if !cancelled {
		if retried, err = o.retryMembers(ctx, b, failed, m.Task, task.Doc); err != nil {
			return false, err
		}
	}
	return more, o.repeatRetries(ctx, b, m, retried)
}

// repairOf returns what a task does with a run that failed, apart from retrying it.
func repairOf(task store.Task) (*model.StepResolved, model.RetryOptions) {
	options := model.RetryOptions{Version: task.Version, From: task.From}
	switch task.Action {
	case api.RepairSkip, api.RepairDone:
		return &model.StepResolved{Step: runstate.StepThatFailed, Skip: task.Action == api.RepairSkip, Result: task.Result, By: task.By}, options
	}
	return nil, options
}

// retryMembers retries those of the failed members that the task selects and that had failed
// when it was requested. It returns the ids of the members that it retried.
func (o *Orchestrator) retryMembers(ctx context.Context, b *model.Batch, failed []store.Item[model.Member], id string, task store.Task) (retried map[int]bool, err error) {
	retried = map[int]bool{}
	err = forEach(ctx, failed, func(member store.Item[model.Member]) error {
		failedSince := member.Doc.FailedAt != nil && member.Doc.FailedAt.After(task.By.At) // perhaps again
		if failedSince || !membership.Selects(api.Selection(task.Selection), store.FailedMemberOf(&member.Doc)) {
			return nil
		}
		resolve, options := repairOf(task)
		err := o.members.RetryMember(ctx, b.ID, member, model.MemberRetried{Member: member.Doc.ID, Task: id, Resolve: resolve, RetryOptions: options})
		var refusal *model.Refusal
		if errors.As(err, &refusal) {
			o.log.WarnContext(ctx, "member not retried", logkey.BatchID, b.ID, logkey.MemberID, member.Doc.ID, logkey.Reason, refusal.Reason)
			return nil
		}
		if err == nil {
			retried[member.Doc.ID] = true
		}
		return err
	})
	return retried, err
}

// repeatRetries decides the retries of a page again that the task has made before, except those of
// the members in retried, in case the process that made them ended before it started the runs. The
// caller calls it after retryMembers, so that it finds the members that another delivery of the
// message has retried meanwhile.
func (o *Orchestrator) repeatRetries(ctx context.Context, b *model.Batch, m message.BatchWork, retried map[int]bool) error {
	runs, err := o.store.RunsOfPage(ctx, b.ID, m.Page, store.RunSelection{Tasks: []string{m.Task}})
	if err != nil {
		return err
	}
	return forEach(ctx, runs, func(run store.Item[model.Run]) error {
		if retried[run.Doc.Member] {
			return nil
		}
		return o.applier.Decide(ctx, b.ID, model.MemberRetried{Member: run.Doc.Member, Task: m.Task})
	})
}

// retrySequences retries the init and on-complete steps that the task selects and that had
// failed when it was requested.
func (o *Orchestrator) retrySequences(ctx context.Context, b *model.Batch, id string, task store.Task) error {
	runs, err := o.store.RunsOfPage(ctx, b.ID, 0, store.RunSelection{Statuses: []model.RunStatus{model.RunFailed}, Tasks: []string{id}})
	if err != nil {
		return err
	}
	for _, run := range runs {
		failedSince := run.Doc.EndedAt != nil && run.Doc.EndedAt.After(task.By.At) // perhaps again
		rb, err := o.runbooks.Load(ctx, run.Doc.Runbook, run.Doc.Version)
		if err != nil {
			return err
		}
		selected := task.Selection.Member == 0 && membership.Selects(api.Selection(task.Selection), membership.FailedSequence(rb, &run.Doc))
		if failedSince || run.Doc.Task != id && !selected {
			continue
		}
		resolve, options := repairOf(task)
		err = o.members.RetrySequence(ctx, run, model.SequenceRetried{Phase: run.Doc.Phase, Task: id, Resolve: resolve, RetryOptions: options})
		var refusal *model.Refusal
		if errors.As(err, &refusal) {
			o.log.InfoContext(ctx, "steps not retried", logkey.BatchID, b.ID, logkey.RunID, run.ID, logkey.Reason, refusal.Reason)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}
