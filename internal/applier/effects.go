package applier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook/template"
)

// Outbox gathers messages, to send those of a topic together.
type Outbox struct {
	jobs, Events, controls []bus.Message
	results                []bus.Message // to jobs that cannot be sent
	secret                 []secretJob
}

// secretJob is a job whose secrets are put into it when it is sent.
type secretJob struct {
	job int // among the jobs of the outbox
	run *model.Run
}

// Add turns the messages of decisions into those of the bus. Their ids come from the
// state, so that the same one is always the same message. The batch is needed by those
// that are about it.
func (o *Outbox) Add(b *model.Batch, messages []model.Message, now time.Time) error {
	for _, m := range messages {
		switch m := m.(type) {
		case model.Dispatch:
			job, err := jobMessage(m.Run, m.Step)
			if err != nil {
				return err
			}
			if template.HasSecrets(m.Run.Steps[m.Step].Params) {
				o.secret = append(o.secret, secretJob{len(o.jobs), m.Run})
			}
			if now.Sub(*m.Run.Steps[m.Step].DispatchedAt) > model.BrokerRemembers { // if it was sent before, a worker may have begun it
				job.Properties[message.PropertyRedelivered] = true
			}
			o.jobs = append(o.jobs, job)
		case model.Poll:
			o.Events = append(o.Events, checkMessage(m.Run, message.TypePollCheck, m.Step, m.Run.Steps[m.Step].PollCount+1, m.At))
		case model.Retry:
			o.Events = append(o.Events, checkMessage(m.Run, message.TypeRetryCheck, m.Step, m.Run.Steps[m.Step].RetryCount, m.At))
		case model.Deadline:
			o.Events = append(o.Events, deadlineMessage(m.Run, m.Step, m.At))
		case model.Announce:
			p, ok := b.Phase(m.Phase)
			if !ok {
				return fmt.Errorf("app: batch %d has no phase execution %d to announce", b.ID, m.Phase)
			}
			o.Events = append(o.Events, PhaseDueMessage(b, *p, max(m.Page, 1), m.Again, time.Time{})) // with Again, or the broker may remember the id from when it came too early
		case model.CatchUp:
			o.Events = append(o.Events, MemberAddedMessage(b, m.Join, time.Time{}))
		case model.Remove:
			o.Events = append(o.Events, MemberRemovedMessage(b.ID, m.Member))
		case model.Release:
			o.Events = append(o.Events, BatchWorkMessage(b.ID, message.WorkRelease, fmt.Sprintf("rev-%d", b.Revision), 0))
		case model.Stop:
			o.Events = append(o.Events, BatchWorkMessage(b.ID, message.WorkStop, fmt.Sprintf("rev-%d", b.Revision), 0))
		case model.Revoke: // until the decision was stored, processes dispatched jobs
			o.controls = append(o.controls, controlMessage(b.ID, engine.ExtendRevocation(m, now).Through))
		default:
			return fmt.Errorf("app: nothing sends %T", m)
		}
	}
	return nil
}

// Send sends the messages of an outbox. Jobs that wait for the key of their secrets hold up no
// other message: the error then asks for this to be repeated.
func (a *Applier) Send(ctx context.Context, o *Outbox) error {
	waiting := a.fillSecrets(ctx, o)
	return errors.Join(a.sendFilled(ctx, o), waiting)
}

func (a *Applier) sendFilled(ctx context.Context, o *Outbox) error {
	if len(o.controls) > 0 {
		if err := a.bus.Send(ctx, message.TopicWorkerControl, o.controls...); err != nil {
			return err
		}
	}
	if len(o.jobs) > 0 {
		if err := a.bus.Send(ctx, message.TopicWorkerJobs, o.jobs...); err != nil {
			return err
		}
	}
	if len(o.results) > 0 {
		if err := a.bus.Send(ctx, message.TopicWorkerResults, o.results...); err != nil {
			return err
		}
	}
	if len(o.Events) > 0 {
		return a.bus.Send(ctx, message.TopicOrchestratorEvents, o.Events...)
	}
	return nil
}

func jobMessage(run *model.Run, index int) (bus.Message, error) {
	step := run.Steps[index]
	expires := step.DispatchedAt.Add(step.Timeout)
	job := message.Job{
		ExpiresAt: &expires, DispatchedAt: step.DispatchedAt, EffectID: run.EffectID(index),
		JobID: step.JobID, BatchID: run.Batch, WorkerID: step.WorkerID, FunctionName: step.Function, Parameters: step.Params,
		CorrelationData: message.Correlation{
			BatchID: run.Batch, StepExecutionID: run.StepID(index), IsInitStep: run.Kind == model.KindInit,
			RunbookName: run.Runbook, RunbookVersion: run.Version,
		},
	}
	body, err := json.Marshal(job)
	if err != nil {
		return bus.Message{}, fmt.Errorf("app: job %s: %w", step.JobID, err)
	}
	return bus.Message{ID: job.ID(), Body: body, Properties: map[string]any{message.PropertyWorkerID: step.WorkerID}}, nil
}

func checkMessage(run *model.Run, kind string, index, count int, at time.Time) bus.Message {
	check := message.StepCheck{BatchID: run.Batch, StepExecutionID: run.StepID(index), IsInitStep: run.Kind == model.KindInit, Count: count}
	// A poll that timed out leaves its number to the next attempt's: the time tells them apart.
	return EventMessage(fmt.Sprintf("%s-batch-%d-%d-%d-at-%d", kind, run.Batch, check.StepExecutionID, count, at.Unix()), kind, check, at)
}

func deadlineMessage(run *model.Run, index int, at time.Time) bus.Message {
	return CheckDeadlineAt(message.DeadlineCheck{
		BatchID: run.Batch, StepExecutionID: run.StepID(index), IsInitStep: run.Kind == model.KindInit, JobID: run.Steps[index].JobID,
	}, at)
}

// CheckDeadlineAt is the message of a deadline check. A job has one for each moment.
func CheckDeadlineAt(c message.DeadlineCheck, at time.Time) bus.Message {
	c.DueAt = at.UTC()
	return EventMessage(fmt.Sprintf("deadline-check-batch-%d-%s-%d", c.BatchID, c.JobID, at.Unix()), message.TypeDeadlineCheck, c, at)
}

// PhaseDueMessage asks for one page of a phase to be dispatched, or for init. The walk
// tells the messages of one announcement of a phase from those of another, on all
// of its pages.
func PhaseDueMessage(b *model.Batch, p model.Phase, page int, walk string, at time.Time) bus.Message {
	suffix := ""
	if walk != "" {
		suffix = "-" + walk
	}
	if p.Kind == model.KindInit {
		return EventMessage(fmt.Sprintf("batch-init-batch-%d-%d%s", b.ID, p.ID, suffix), message.TypeBatchInit,
			message.BatchInit{BatchID: b.ID, RunbookName: b.Runbook, RunbookVersion: p.Version}, at)
	}
	due := message.PhaseDue{
		BatchID: b.ID, RunbookName: b.Runbook, RunbookVersion: p.Version,
		PhaseName: p.Name, PhaseExecutionID: p.ID, Page: page, Walk: walk,
	}
	return EventMessage(fmt.Sprintf("phase-due-batch-%d-%d-page-%d%s", b.ID, p.ID, page, suffix), message.TypePhaseDue, due, at)
}

// MemberAddedMessage asks for a page of late members to catch up, now or, if at is not zero, at
// that time.
func MemberAddedMessage(b *model.Batch, j model.Join, at time.Time) bus.Message {
	id := fmt.Sprintf("member-added-batch-%d-page-%d-rev-%d", b.ID, j.Page, b.Revision)
	if !at.IsZero() {
		id = fmt.Sprintf("%s-at-%d", id, at.Unix())
	}
	return EventMessage(id, message.TypeMemberAdded, message.MemberEvent{BatchID: b.ID, MemberKey: j.Key, BatchMemberID: j.First, DueAt: at}, at)
}

func MemberRemovedMessage(batch int, m *model.Member) bus.Message {
	return EventMessage(fmt.Sprintf("member-removed-batch-%d-%d", batch, m.ID), message.TypeMemberRemoved,
		message.MemberEvent{BatchID: batch, MemberKey: m.Key, BatchMemberID: m.ID}, time.Time{})
}

// revokeAgain is for how long after a pause or a cancellation the tick sends its
// revocation again, in case the process that decided it died before it did.
const revokeAgain = time.Hour

// longestWrite is more than it can take from the decision of a pause or a cancellation
// until it is stored.
const longestWrite = 5 * time.Minute

// Revoke sends the revocation of a batch that was paused or cancelled lately. In a paused
// batch it covers all that was dispatched by now. In a cancelled one what undoes goes on:
// it covers what can have been dispatched before the cancellation was stored.
func (a *Applier) Revoke(ctx context.Context, b *model.Batch, now time.Time) error {
	var o Outbox
	for _, m := range engine.Revocation(b) {
		r, ok := m.(model.Revoke)
		if !ok || now.Sub(r.Through) >= revokeAgain {
			continue
		}
		by := now
		if b.Cancelled != nil && now.Sub(b.Cancelled.At) > longestWrite {
			by = b.Cancelled.At.Add(longestWrite)
		}
		o.controls = append(o.controls, controlMessage(b.ID, engine.ExtendRevocation(r, by).Through))
	}
	return a.Send(ctx, &o)
}

// ensureRevoked sends the revocation of a batch that this process sees paused or cancelled for
// the first time: the process that stored it may have died before it did. Each result of
// a job leads here, so that few jobs begin before the workers know.
func (a *Applier) ensureRevoked(ctx context.Context, b *model.Batch) error {
	if b.DispatchMode() == model.Running || b.Status.Terminal() || a.modes.enforced(b) {
		return nil
	}
	if err := a.Revoke(ctx, b, a.now()); err != nil {
		return err
	}
	a.modes.enforces(b)
	return nil
}

// controlMessage revokes what was dispatched of a batch until it was paused or cancelled.
func controlMessage(batch int, through time.Time) bus.Message {
	c := message.Control{BatchID: batch, RevokedThrough: through.UTC()}
	return EventMessage(c.ID(), message.TypeControl, c, time.Time{})
}

func BatchWorkMessage(batch int, work, task string, page int) bus.Message {
	w := message.BatchWork{BatchID: batch, Work: work, Task: task, Page: page}
	return EventMessage(BatchWorkID(w), message.TypeBatchWork, w, time.Time{})
}

func BatchWorkID(w message.BatchWork) string {
	return fmt.Sprintf("batch-work-batch-%d-%s-%s-page-%d", w.BatchID, w.Work, w.Task, w.Page)
}

func EventMessage(id, kind string, body any, at time.Time) bus.Message {
	encoded, err := json.Marshal(body)
	if err != nil {
		panic(err) // plain structs of numbers and strings
	}
	return bus.Message{ID: id, Body: encoded, Properties: map[string]any{message.PropertyMessageType: kind}, At: at}
}
