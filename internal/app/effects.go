package app

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/message"
)

// outbox gathers messages, to send those of a topic together.
type outbox struct {
	jobs, events []bus.Message
}

// add turns the effects that are messages into messages. Their ids come from the
// state, so that the same effect is always the same message.
func (o *outbox) add(b *engine.Batch, run *engine.Run, effects []engine.Effect) error {
	for _, e := range effects {
		switch e := e.(type) {
		case engine.Dispatch:
			m, err := jobMessage(run, e.Step)
			if err != nil {
				return err
			}
			o.jobs = append(o.jobs, m)
		case engine.Poll:
			count := run.Steps[e.Step].PollCount + 1
			o.events = append(o.events, checkMessage(run, message.TypePollCheck, e.Step, count, e.At))
		case engine.Retry:
			o.events = append(o.events, checkMessage(run, message.TypeRetryCheck, e.Step, run.Steps[e.Step].RetryCount, e.At))
		case engine.Announce:
			p, ok := b.Phase(e.Phase)
			if !ok {
				return fmt.Errorf("app: batch %d has no phase execution %d to announce", b.ID, e.Phase)
			}
			m := announcement(b, *p, 1, time.Time{})
			if e.Again != "" { // the broker may remember the id from when it came too early
				m.ID += "-" + e.Again
			}
			o.events = append(o.events, m)
		}
	}
	return nil
}

func (a *App) send(ctx context.Context, o *outbox) error {
	if len(o.jobs) > 0 {
		if err := a.bus.Send(ctx, message.TopicWorkerJobs, o.jobs...); err != nil {
			return err
		}
	}
	if len(o.events) > 0 {
		return a.bus.Send(ctx, message.TopicOrchestratorEvents, o.events...)
	}
	return nil
}

func (a *App) publishEffects(ctx context.Context, b *engine.Batch, run *engine.Run, effects []engine.Effect) error {
	var o outbox
	if err := o.add(b, run, effects); err != nil {
		return err
	}
	return a.send(ctx, &o)
}

func jobMessage(run *engine.Run, index int) (bus.Message, error) {
	step := run.Steps[index]
	job := message.Job{
		JobID: step.JobID, BatchID: run.Batch, WorkerID: step.WorkerID, FunctionName: step.Function, Parameters: step.Params,
		CorrelationData: message.Correlation{
			BatchID: run.Batch, StepExecutionID: run.StepID(index), IsInitStep: run.Kind == engine.KindInit,
			RunbookName: run.Runbook, RunbookVersion: run.Version,
		},
	}
	body, err := json.Marshal(job)
	if err != nil {
		return bus.Message{}, fmt.Errorf("app: job %s: %w", step.JobID, err)
	}
	return bus.Message{ID: job.ID(), Body: body, Properties: map[string]any{message.PropertyWorkerID: step.WorkerID}}, nil
}

func checkMessage(run *engine.Run, kind string, index, count int, at time.Time) bus.Message {
	check := message.StepCheck{BatchID: run.Batch, StepExecutionID: run.StepID(index), IsInitStep: run.Kind == engine.KindInit, Count: count}
	return event(fmt.Sprintf("%s-batch-%d-%d-%d", kind, run.Batch, check.StepExecutionID, count), kind, check, at)
}

// announcement asks for one page of a phase to be dispatched, or for init.
func announcement(b *engine.Batch, p engine.Phase, page int, at time.Time) bus.Message {
	if p.Kind == engine.KindInit {
		return event(fmt.Sprintf("batch-init-batch-%d-%d", b.ID, p.ID), message.TypeBatchInit,
			message.BatchInit{BatchID: b.ID, RunbookName: b.Runbook, RunbookVersion: p.Version}, at)
	}
	due := message.PhaseDue{
		BatchID: b.ID, RunbookName: b.Runbook, RunbookVersion: p.Version,
		PhaseName: p.Name, PhaseExecutionID: p.ID, Page: page,
	}
	return event(fmt.Sprintf("phase-due-batch-%d-%d-page-%d", b.ID, p.ID, page), message.TypePhaseDue, due, at)
}

func event(id, kind string, body any, at time.Time) bus.Message {
	encoded, err := json.Marshal(body)
	if err != nil {
		panic(err) // plain structs of numbers and strings
	}
	return bus.Message{ID: id, Body: encoded, Properties: map[string]any{message.PropertyMessageType: kind}, At: at}
}
