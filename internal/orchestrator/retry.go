package orchestrator

import (
	"context"
	"errors"
	"slices"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// retryPage retries the selected members of one page, on page 0 the selected runs without a
// member. This is the retry that an administrator requests; package engine decides on the
// automatic retries of a step.
func (o *Orchestrator) retryPage(ctx context.Context, b *model.Batch, id string, task *store.Task, page int) (done taskOutcome, err error) {
	cancelled := b.DispatchMode() == model.Cancelled // nothing is retried; unfinished starts are repeated
	if page == 0 {
		return o.retrySequences(ctx, b, id, task)
	}
	outcomes := map[int]error{} // of the members that were failed; nil: retried
	if !cancelled {
		if outcomes, err = o.retryMembers(ctx, b, page, id, task); err != nil {
			return done, err
		}
	}
	runs, err := o.store.RunsOfPage(ctx, b.ID, page, store.RunSelection{Tasks: []string{id}})
	if err != nil {
		return done, err
	}
	finished := map[int]bool{}
	for _, run := range runs {
		finished[run.Doc.Member] = true
	}
	return taskOutcome{finished: len(finished), refusals: refusals(outcomes)}, o.repeatRetries(ctx, b, id, runs, outcomes)
}

// repairOf returns what a task does with a run that failed, apart from retrying it.
func repairOf(task *store.Task) (*model.StepResolved, model.RetryOptions) {
	options := model.RetryOptions{Version: task.Version, From: task.From}
	switch task.Action {
	case api.RepairSkip, api.RepairDone:
		return &model.StepResolved{Step: runstate.StepThatFailed, Skip: task.Action == api.RepairSkip, Result: task.Result, By: task.By}, options
	}
	return nil, options
}

// retryMembers retries those of the failed members of a page that the task selects and that had failed
// when it was requested. It returns the outcome for each: nil, or the refusal.
func (o *Orchestrator) retryMembers(ctx context.Context, b *model.Batch, page int, id string, task *store.Task) (outcomes map[int]error, err error) {
	failed, err := o.store.MembersOfPage(ctx, b.ID, page, model.MemberFailed)
	if err != nil {
		return nil, err
	}
	var before []store.FailedMember
	for _, m := range failed {
		if m.Doc.FailedAt == nil || !m.Doc.FailedAt.After(task.By.At) { // otherwise perhaps again
			before = append(before, store.FailedMemberOf(&m.Doc))
		}
	}
	selected, err := o.members.SelectFailed(ctx, b.ID, api.Selection(task.Selection), before)
	if err != nil {
		return nil, err
	}
	failed = slices.DeleteFunc(failed, func(m store.Item[model.Member]) bool {
		return !slices.ContainsFunc(selected, func(s store.FailedMember) bool { return s.ID == m.Doc.ID })
	})
	outcomes = map[int]error{}
	resolve, options := repairOf(task)
	retry := func(m store.Item[model.Member]) error {
		err := o.members.RetryMember(ctx, b.ID, m, model.MemberRetried{Member: m.Doc.ID, Task: id, Resolve: resolve, RetryOptions: options})
		if refusal := new(model.Refusal); errors.As(err, &refusal) {
			o.log.WarnContext(ctx, "member not retried", logkey.BatchID, b.ID, logkey.MemberID, m.Doc.ID, logkey.Reason, refusal.Reason)
			outcomes[m.Doc.ID] = &taskRefusal{store.TaskRefusal{Member: m.Doc.ID, Key: m.Doc.Key, Reason: refusal.Reason}}
			return nil
		}
		if err == nil {
			outcomes[m.Doc.ID] = nil
		}
		return err
	}
	if err := forEach(ctx, failed, retry); err != nil {
		return nil, err
	}
	for _, m := range failed { // an earlier attempt at this message was refused them
		if _, known := outcomes[m.Doc.ID]; !known {
			if err := retry(m); err != nil {
				return nil, err
			}
		}
	}
	return outcomes, nil
}

// repeatRetries decides the retries of a page again that the task has made before, except those of
// the members in outcomes, in case the process that made them ended before it started the runs. The
// caller reads the runs after retryMembers, so that they include the members that another delivery of
// the message has retried meanwhile.
func (o *Orchestrator) repeatRetries(ctx context.Context, b *model.Batch, id string, runs []store.Item[model.Run], outcomes map[int]error) error {
	return forEach(ctx, runs, func(run store.Item[model.Run]) error {
		if _, known := outcomes[run.Doc.Member]; known {
			return nil
		}
		return o.applier.Decide(ctx, b.ID, model.MemberRetried{Member: run.Doc.Member, Task: id})
	})
}

// retrySequences retries the init and on-complete steps that the task selects and that had
// failed when it was requested.
func (o *Orchestrator) retrySequences(ctx context.Context, b *model.Batch, id string, task *store.Task) (done taskOutcome, err error) {
	runs, err := o.store.RunsOfPage(ctx, b.ID, 0, store.RunSelection{Statuses: []model.RunStatus{model.RunFailed}, Tasks: []string{id}})
	if err != nil {
		return done, err
	}
	s := api.Selection(task.Selection)
	for _, run := range runs {
		failedSince := run.Doc.EndedAt != nil && run.Doc.EndedAt.After(task.By.At) // perhaps again
		rb, err := o.runbooks.Load(ctx, run.Doc.Runbook, run.Doc.Version)
		if err != nil {
			return done, err
		}
		selected := len(s.Members) == 0 && membership.SelectsStep(s, &run.Doc) && membership.Selects(s, membership.FailedSequence(rb, &run.Doc))
		if run.Doc.Task != id && (failedSince || !selected) {
			continue
		}
		if failedSince { // since the task retried it
			done.finished++
			continue
		}
		resolve, options := repairOf(task)
		err = o.members.RetrySequence(ctx, run, model.SequenceRetried{Phase: run.Doc.Phase, Task: id, Resolve: resolve, RetryOptions: options})
		if refusal := new(model.Refusal); errors.As(err, &refusal) {
			o.log.InfoContext(ctx, "steps not retried", logkey.BatchID, b.ID, logkey.RunID, run.ID, logkey.Reason, refusal.Reason)
			done.refusals = append(done.refusals, store.TaskRefusal{Key: run.Doc.Label(), Reason: refusal.Reason})
			continue
		}
		if err != nil {
			return done, err
		}
		done.finished++
	}
	return done, nil
}
