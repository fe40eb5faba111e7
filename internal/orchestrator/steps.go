package orchestrator

import (
	"context"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
)

// onResult gives a worker's result to the step of the job. Package engine decides whether the
// step succeeds, is retried or fails.
func (o *Orchestrator) onResult(ctx context.Context, r message.Result) error {
	if _, _, mail := message.SplitNotificationJobID(r.JobID); mail { // of no step
		return o.onMailResult(ctx, r)
	}
	d, err := o.decisionOnResult(ctx, r)
	if err == nil {
		err = o.run(ctx, &d.stepDecision)
	}
	if err == nil {
		o.noteAnswer(ctx, d)
	}
	return err
}

// resultDecision is a decision on a worker's result.
type resultDecision struct {
	stepDecision
	result message.Result
}

// decisionOnResult prepares the decision on a result.
func (o *Orchestrator) decisionOnResult(ctx context.Context, r message.Result) (*resultDecision, error) {
	var ok bool
	r = r.Located()
	switch {
	case r.JobID == "":
		return nil, message.Reject("the result has no job id")
	case strings.EqualFold(r.Status, message.StatusSuccess):
		ok = true
	case !strings.EqualFold(r.Status, message.StatusFailure):
		return nil, message.Reject("the result's status %q is neither %s nor %s", r.Status, message.StatusSuccess, message.StatusFailure)
	}
	d := &resultDecision{result: r}
	err := o.prepare(ctx, &d.stepDecision, r.CorrelationData.BatchID, r.CorrelationData.StepExecutionID, func(step int) model.RunEvent {
		return resultEvent(step, ok, r)
	})
	return d, err
}

// noteAnswer records the answer of a worker after the decision on its result.
func (o *Orchestrator) noteAnswer(ctx context.Context, d *resultDecision) {
	if d.result.JobID == d.jobID { // not the result of an earlier job
		o.workers.RecordAnswer(ctx, d.worker, d.step.DispatchedAt, d.result.Timestamp)
	}
}

// resultEvent returns the event of a result.
func resultEvent(step int, ok bool, r message.Result) model.StepResult {
	e := model.StepResult{Step: step, JobID: r.JobID, OK: ok, Result: r.Result}
	if ok {
		return e
	}
	e.Error = message.ErrorText(r.Error)
	if r.Error != nil {
		e.RetryAfter = time.Duration(r.Error.RetryAfterSeconds) * time.Second
		e.Expired = strings.EqualFold(r.Error.Type, message.ErrorJobExpired)
		e.Revoked = strings.EqualFold(r.Error.Type, message.ErrorJobRevoked)
		e.Redelivered = r.Error.Redelivered
		e.NotFound = r.Error.IsNotFound
		e.Permanent = r.Error.Permanent()
	}
	return e
}

// onPollCheck polls a step whose poll interval has passed.
func (o *Orchestrator) onPollCheck(ctx context.Context, c message.StepCheck) error {
	return o.decideOnStep(ctx, c.BatchID, c.StepExecutionID, func(step int) model.RunEvent {
		return model.PollDue{Step: step, Count: c.Count}
	})
}

// onRetryCheck dispatches a step again whose retry delay has passed.
func (o *Orchestrator) onRetryCheck(ctx context.Context, c message.StepCheck) error {
	return o.decideOnStep(ctx, c.BatchID, c.StepExecutionID, func(step int) model.RunEvent {
		return model.RetryDue{Step: step, Count: c.Count, Wait: c.Wait}
	})
}

// stepDecision is a decision on an event of a step execution.
type stepDecision struct {
	batch   int
	command applier.Command

	// Set by the command:
	step   model.Step // as it was before the decision
	jobID  string     // of its last job
	worker string
}

// prepare prepares the decision on an event of a step execution.
func (o *Orchestrator) prepare(ctx context.Context, d *stepDecision, batch int, stepID int64, event func(step int) model.RunEvent) error {
	phase, member, index, err := parseStepID(batch, stepID)
	if err != nil {
		return err
	}
	d.batch = batch
	d.command = applier.Command{Events: func(s *applier.Snapshot) ([]model.Event, error) {
		run, err := s.StepRun(stepID, phase, member, index)
		if err != nil || run == nil {
			return nil, err
		}
		definition, err := s.Definition(run, index)
		if err != nil {
			return nil, err
		}
		d.step, d.jobID, d.worker = run.Steps[index], run.JobID(index), definition.WorkerID
		e, err := o.sealer.Hide(ctx, run, event(index))
		if err != nil {
			return nil, err
		}
		return []model.Event{model.OnRun{Phase: phase, Member: member, RunEvent: e}}, nil
	}}
	return nil
}

// run carries out a decision on an event of a step execution.
func (o *Orchestrator) run(ctx context.Context, d *stepDecision) error {
	_, _, err := o.applier.Run(ctx, d.batch, d.command)
	return err
}

// decideOnStep decides on an event of a step execution.
func (o *Orchestrator) decideOnStep(ctx context.Context, batch int, stepID int64, event func(step int) model.RunEvent) error {
	var d stepDecision
	if err := o.prepare(ctx, &d, batch, stepID, event); err != nil {
		return err
	}
	return o.run(ctx, &d)
}

// parseStepID returns the place of the step execution that a message names. It rejects a
// message that names none.
func parseStepID(batch int, stepID int64) (phase, member, index int, err error) {
	if batch < 1 {
		return 0, 0, 0, message.Reject("the message has no batch id")
	}
	if phase, member, index, err = model.ParseStepID(stepID); err != nil {
		return 0, 0, 0, message.Reject("%v", err)
	}
	return phase, member, index, nil
}
