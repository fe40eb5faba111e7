package applier

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
)

// jobMessage returns the message of the job in flight of a step, which the broker makes visible at
// m.At.
func jobMessage(m model.Dispatch) (bus.Message, error) {
	run, index, worker := m.Run, m.Step, m.Definition.WorkerID
	step := run.Steps[index]
	expires := step.VisibleAt().Add(m.Definition.Timeout)
	job := message.Job{
		ExpiresAt: &expires, DispatchedAt: step.DispatchedAt, EffectID: run.EffectID(index),
		JobID: message.WireJobID(run.Batch, run.JobID(index)), BatchID: run.Batch, WorkerID: worker, FunctionName: cmp.Or(step.Function, m.Definition.Function), Parameters: step.Params,
		CorrelationData: message.Correlation{
			BatchID: run.Batch, StepExecutionID: run.StepID(index), IsInitStep: run.Kind == model.KindInit,
			RunbookName: run.Runbook, RunbookVersion: run.Version,
		},
		AcceptsGroups: true,
	}
	body, err := json.Marshal(job)
	if err != nil {
		return bus.Message{}, fmt.Errorf("applier: job %s: %w", run.JobID(index), err)
	}
	return bus.Message{ID: job.ID(), Body: body, Properties: map[string]any{message.PropertyWorkerID: worker}, At: m.At}, nil
}

func checkMessage(run *model.Run, kind string, index, count, wait int, at time.Time) bus.Message {
	check := message.StepCheck{BatchID: run.Batch, StepExecutionID: run.StepID(index), IsInitStep: run.Kind == model.KindInit, Count: count, Wait: wait}
	// A poll that timed out leaves its number to the next attempt's: the time tells them apart.
	return EventMessage(fmt.Sprintf("%s-batch-%d-%d-%d-at-%d", kind, run.Batch, check.StepExecutionID, count, at.Unix()), kind, check, at)
}

func deadlineMessage(run *model.Run, index int, at time.Time) bus.Message {
	return CheckDeadlineAt(message.DeadlineCheck{
		BatchID: run.Batch, StepExecutionID: run.StepID(index), IsInitStep: run.Kind == model.KindInit, JobID: run.JobID(index),
	}, at)
}

// CheckDeadlineAt returns the message of a deadline check. A job has one for each time.
func CheckDeadlineAt(c message.DeadlineCheck, at time.Time) bus.Message {
	c.DueAt = at.UTC()
	return EventMessage(fmt.Sprintf("deadline-check-batch-%d-%s-%d", c.BatchID, c.JobID, at.Unix()), message.TypeDeadlineCheck, c, at)
}

// PhaseDueMessage returns the message that dispatches one page of a phase, or the init steps. FanOut
// distinguishes one announcement of a phase from another, on all of its pages.
func PhaseDueMessage(b *model.Batch, p model.Phase, page int, fanOut string, at time.Time) bus.Message {
	suffix := ""
	if fanOut != "" {
		suffix = "-" + fanOut
	}
	if p.Kind == model.KindInit {
		return EventMessage(fmt.Sprintf("batch-init-batch-%d-%d%s", b.ID, p.ID, suffix), message.TypeBatchInit,
			message.BatchInit{BatchID: b.ID, RunbookName: b.Runbook, RunbookVersion: p.Version}, at)
	}
	due := message.PhaseDue{
		BatchID: b.ID, RunbookName: b.Runbook, RunbookVersion: p.Version,
		PhaseName: p.Name, PhaseExecutionID: p.ID, Page: page, FanOut: fanOut,
	}
	return EventMessage(fmt.Sprintf("phase-due-batch-%d-%d-page-%d%s", b.ID, p.ID, page, suffix), message.TypePhaseDue, due, at)
}

// MemberAddedMessage returns the message that lets a page of late members catch up, now or, if at is
// not zero, at that time.
func MemberAddedMessage(b *model.Batch, j model.Join, at time.Time) bus.Message {
	id := fmt.Sprintf("member-added-batch-%d-page-%d-rev-%d", b.ID, j.Page, b.Revision)
	if !at.IsZero() {
		id = fmt.Sprintf("%s-at-%d", id, at.Unix())
	}
	return EventMessage(id, message.TypeMemberAdded, message.MemberEvent{BatchID: b.ID, MemberKey: j.Key, BatchMemberID: j.First, DueAt: at}, at)
}

// MemberRemovedMessage returns the message that carries out the removal of a member.
func MemberRemovedMessage(batch int, m *model.Member) bus.Message {
	return EventMessage(fmt.Sprintf("member-removed-batch-%d-%d", batch, m.ID), message.TypeMemberRemoved,
		message.MemberEvent{BatchID: batch, MemberKey: m.Key, BatchMemberID: m.ID}, time.Time{})
}

// controlMessage returns the message that revokes the jobs of a batch dispatched until a time.
func controlMessage(batch int, through time.Time) bus.Message {
	c := message.Control{BatchID: batch, RevokedThrough: through.UTC()}
	return EventMessage(c.ID(), message.TypeControl, c, time.Time{})
}

// BatchWorkMessage returns the message of work on one page of a batch.
func BatchWorkMessage(batch int, work, task string, page int) bus.Message {
	w := message.BatchWork{BatchID: batch, Work: work, Task: task, Page: page}
	return EventMessage(BatchWorkID(w), message.TypeBatchWork, w, time.Time{})
}

// BatchWorkID returns the id of the message of work.
func BatchWorkID(w message.BatchWork) string {
	return fmt.Sprintf("batch-work-batch-%d-%s-%s-page-%d", w.BatchID, w.Work, w.Task, w.Page)
}

// EventMessage returns a message of the topic orchestrator-events.
func EventMessage(id, kind string, body any, at time.Time) bus.Message {
	encoded, err := json.Marshal(body)
	if err != nil {
		panic(err) // plain structs of numbers and strings
	}
	return bus.Message{ID: id, Body: encoded, Properties: map[string]any{message.PropertyMessageType: kind}, At: at}
}
