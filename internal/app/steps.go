package app

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/message"
)

// result applies a worker's answer to its step.
func (a *App) result(ctx context.Context, r message.Result) error {
	var ok bool
	switch {
	case r.JobID == "":
		return reject("the result names no job")
	case strings.EqualFold(r.Status, message.StatusSuccess):
		ok = true
	case !strings.EqualFold(r.Status, message.StatusFailure):
		return reject("the result's status %q is neither %s nor %s", r.Status, message.StatusSuccess, message.StatusFailure)
	}
	step, err := a.stepEvent(ctx, r.CorrelationData.BatchID, r.CorrelationData.StepExecutionID, func(step int) engine.RunEvent {
		result := engine.StepResult{Step: step, JobID: r.JobID, OK: ok, Result: r.Result}
		if !ok {
			result.Error = failure(r.Error)
			if r.Error != nil {
				result.RetryAfter = time.Duration(r.Error.RetryAfterSeconds) * time.Second
				result.Expired = strings.EqualFold(r.Error.Type, message.ErrorJobExpired)
				result.Revoked = strings.EqualFold(r.Error.Type, message.ErrorJobRevoked)
				result.Redelivered = r.Error.Redelivered
			}
		}
		return result
	})
	if err == nil && r.JobID == step.JobID { // not an answer to an earlier job
		a.recordAnswer(ctx, step, r.Timestamp)
	}
	return err
}

func failure(e *message.JobError) string {
	switch {
	case e == nil || e.Message == "" && e.Type == "":
		return "the worker gave no reason"
	case e.Type == "":
		return e.Message
	case e.Message == "":
		return e.Type
	}
	return fmt.Sprintf("%s (%s)", e.Message, e.Type)
}

func (a *App) pollCheck(ctx context.Context, c message.StepCheck) error {
	_, err := a.stepEvent(ctx, c.BatchID, c.StepExecutionID, func(step int) engine.RunEvent {
		return engine.PollDue{Step: step, Count: c.Count}
	})
	return err
}

func (a *App) retryCheck(ctx context.Context, c message.StepCheck) error {
	_, err := a.stepEvent(ctx, c.BatchID, c.StepExecutionID, func(step int) engine.RunEvent {
		return engine.RetryDue{Step: step, Count: c.Count}
	})
	return err
}

// stepEvent decides an event on a step execution. It returns the step as it was before.
func (a *App) stepEvent(ctx context.Context, batch int, stepID int64, event func(step int) engine.RunEvent) (step engine.Step, err error) {
	phase, member, index, err := stepPlace(batch, stepID)
	if err != nil {
		return step, err
	}
	_, _, err = a.run(ctx, batch, command{events: func(s *snapshot) ([]engine.Event, error) {
		run, err := s.stepRun(stepID, phase, member, index)
		if err != nil {
			return nil, err
		}
		step = run.Steps[index]
		e, err := a.hide(ctx, run, event(index))
		if err != nil {
			return nil, err
		}
		return []engine.Event{engine.OnRun{Phase: phase, Member: member, RunEvent: e}}, nil
	}})
	return step, err
}

// stepPlace finds where the step execution of a message is.
func stepPlace(batch int, stepID int64) (phase, member, index int, err error) {
	if batch < 1 {
		return 0, 0, 0, reject("the message names no batch")
	}
	if phase, member, index, err = engine.ParseStepID(stepID); err != nil {
		return 0, 0, 0, reject("%v", err)
	}
	return phase, member, index, nil
}

// stepRun gives the run of the step execution that a message names.
func (s *snapshot) stepRun(stepID int64, phase, member, index int) (*engine.Run, error) {
	run, err := s.LoadRun(phase, member)
	switch {
	case err != nil:
		return nil, err
	case run == nil:
		return nil, reject("batch %d has no step execution %d", s.batch, stepID)
	case index < len(run.Steps):
		return run, nil
	case len(s.recalled) > 0: // a rollback may have added to it since
		return nil, errOutdated
	}
	return nil, reject("batch %d has no step execution %d: its run has %d steps", s.batch, stepID, len(run.Steps))
}
