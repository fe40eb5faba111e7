package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// outbox gathers messages, to send those of a topic together.
type outbox struct {
	jobs, events, controls []bus.Message
	results                []bus.Message // to jobs that cannot be sent
	secret                 []secretJob
}

// secretJob is a job whose secrets are put into it when it is sent.
type secretJob struct {
	job int // among the jobs of the outbox
	run *engine.Run
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
			if runbook.HasSecrets(run.Steps[e.Step].Params) {
				o.secret = append(o.secret, secretJob{len(o.jobs), run})
			}
			o.jobs = append(o.jobs, m)
		case engine.Poll:
			count := run.Steps[e.Step].PollCount + 1
			o.events = append(o.events, checkMessage(run, message.TypePollCheck, e.Step, count, e.At))
		case engine.Retry:
			o.events = append(o.events, checkMessage(run, message.TypeRetryCheck, e.Step, run.Steps[e.Step].RetryCount, e.At))
		case engine.Deadline:
			o.events = append(o.events, deadlineMessage(run, e.Step, e.At))
		case engine.Announce, engine.WalkOn:
			m, err := phaseMessage(b, e)
			if err != nil {
				return err
			}
			o.events = append(o.events, m)
		case engine.CatchUp:
			o.events = append(o.events, joinMessage(b, e.Join))
		case engine.Release:
			o.events = append(o.events, workMessage(b.ID, message.WorkRelease, fmt.Sprintf("rev-%d", b.Revision), 0))
		case engine.Revoke:
			o.controls = append(o.controls, controlMessage(b.ID, e.Through))
		case engine.Stop:
			o.events = append(o.events, workMessage(b.ID, message.WorkStop, fmt.Sprintf("rev-%d", b.Revision), 0))
		case engine.Hold, engine.Merge, engine.Count, engine.CountFailure, engine.Leave, engine.StartNext, engine.Remove:
			// These are no messages, or whoever took the decision sends them.
		default:
			return fmt.Errorf("app: nobody carries out %T", e)
		}
	}
	return nil
}

// markLate marks a job that was dispatched so long ago that the broker may not know
// whether it was sent before: if it was, a worker may have begun it.
func (o *outbox) markLate(run *engine.Run, now time.Time) {
	if sent := run.Steps[run.Current].DispatchedAt; sent == nil || now.Sub(*sent) <= remembers {
		return
	}
	for i := range o.jobs {
		o.jobs[i].Properties[message.PropertyRedelivered] = true
	}
}

// send sends the messages of an outbox. Jobs that wait for the key of their secrets hold up no
// other message: the error then asks for this to be repeated.
func (a *App) send(ctx context.Context, o *outbox) error {
	waiting := a.fillSecrets(ctx, o)
	return errors.Join(a.sendFilled(ctx, o), waiting)
}

func (a *App) sendFilled(ctx context.Context, o *outbox) error {
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
	if len(o.events) > 0 {
		return a.bus.Send(ctx, message.TopicOrchestratorEvents, o.events...)
	}
	return nil
}

// carryOut does what follows from a decision that is stored: it sends what is to be
// sent and does the rest itself. What counts a run's end is not among it, for it is
// part of the decision's write.
func (a *App) carryOut(ctx context.Context, b *engine.Batch, run *engine.Run, effects []engine.Effect) error {
	var o outbox
	for i, e := range effects {
		if r, ok := e.(engine.Revoke); ok { // until it was stored, processes dispatched jobs
			effects[i] = r.Until(a.now())
		}
	}
	if err := o.add(b, run, effects); err != nil {
		return err
	}
	if len(o.jobs) > 0 {
		o.markLate(run, a.now())
	}
	if err := a.send(ctx, &o); err != nil {
		return err
	}
	for _, e := range effects {
		var err error
		switch e := e.(type) {
		case engine.Hold:
			err = a.release(ctx, run)
		case engine.Merge:
			err = a.merge(ctx, b.ID, e.Phase)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func jobMessage(run *engine.Run, index int) (bus.Message, error) {
	step := run.Steps[index]
	expires := step.DispatchedAt.Add(step.Timeout)
	job := message.Job{
		ExpiresAt: &expires, DispatchedAt: step.DispatchedAt, EffectID: run.EffectID(index),
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
	// A poll that timed out leaves its number to the next attempt's: the time tells them apart.
	return event(fmt.Sprintf("%s-batch-%d-%d-%d-at-%d", kind, run.Batch, check.StepExecutionID, count, at.Unix()), kind, check, at)
}

func deadlineMessage(run *engine.Run, index int, at time.Time) bus.Message {
	check := message.DeadlineCheck{
		BatchID: run.Batch, StepExecutionID: run.StepID(index), IsInitStep: run.Kind == engine.KindInit, JobID: run.Steps[index].JobID,
	}
	return event(fmt.Sprintf("deadline-check-batch-%d-%s-%d", run.Batch, check.JobID, at.Unix()), message.TypeDeadlineCheck, check, at)
}

func phaseMessage(b *engine.Batch, e engine.Effect) (bus.Message, error) {
	var phase, page int
	var again string // or the broker may remember the id from when it came too early
	switch e := e.(type) {
	case engine.Announce:
		phase, page, again = e.Phase, 1, e.Again
	case engine.WalkOn:
		phase, page = e.Phase, e.Page
	}
	p, ok := b.Phase(phase)
	if !ok {
		return bus.Message{}, fmt.Errorf("app: batch %d has no phase execution %d to announce", b.ID, phase)
	}
	return announcement(b, *p, page, again, time.Time{}), nil
}

// announcement asks for one page of a phase to be dispatched, or for init. The walk
// tells the messages of one announcement of a phase from those of another, on all
// of its pages.
func announcement(b *engine.Batch, p engine.Phase, page int, walk string, at time.Time) bus.Message {
	suffix := ""
	if walk != "" {
		suffix = "-" + walk
	}
	if p.Kind == engine.KindInit {
		return event(fmt.Sprintf("batch-init-batch-%d-%d%s", b.ID, p.ID, suffix), message.TypeBatchInit,
			message.BatchInit{BatchID: b.ID, RunbookName: b.Runbook, RunbookVersion: p.Version}, at)
	}
	due := message.PhaseDue{
		BatchID: b.ID, RunbookName: b.Runbook, RunbookVersion: p.Version,
		PhaseName: p.Name, PhaseExecutionID: p.ID, Page: page, Walk: walk,
	}
	return event(fmt.Sprintf("phase-due-batch-%d-%d-page-%d%s", b.ID, p.ID, page, suffix), message.TypePhaseDue, due, at)
}

// joinMessage asks for a page of late members to catch up.
func joinMessage(b *engine.Batch, j engine.Join) bus.Message {
	return event(fmt.Sprintf("member-added-batch-%d-page-%d-rev-%d", b.ID, j.Page, b.Revision), message.TypeMemberAdded,
		message.MemberEvent{BatchID: b.ID, MemberKey: j.Key, BatchMemberID: j.First}, time.Time{})
}

func leaveMessage(batch int, m *engine.Member) bus.Message {
	return event(fmt.Sprintf("member-removed-batch-%d-%d", batch, m.ID), message.TypeMemberRemoved,
		message.MemberEvent{BatchID: batch, MemberKey: m.Key, BatchMemberID: m.ID}, time.Time{})
}

// revokeAgain is for how long after a pause or a cancellation the tick sends its
// revocation again, in case the process that decided it died before it did.
const revokeAgain = time.Hour

// revoke sends the revocation of a batch that was paused or cancelled lately. In a paused
// batch it covers all that was dispatched; in a cancelled one what undoes goes on.
func (a *App) revoke(ctx context.Context, b *engine.Batch, now time.Time) error {
	var o outbox
	for _, e := range b.Revocation() {
		if r, ok := e.(engine.Revoke); ok && now.Sub(r.Through) < revokeAgain {
			if b.Gate() == engine.Paused {
				r = r.Until(now)
			}
			o.controls = append(o.controls, controlMessage(b.ID, r.Through))
		}
	}
	return a.send(ctx, &o)
}

// controlMessage revokes what was dispatched of a batch until it was paused or cancelled.
func controlMessage(batch int, through time.Time) bus.Message {
	c := message.Control{BatchID: batch, RevokedThrough: through.UTC()}
	return event(c.ID(), message.TypeControl, c, time.Time{})
}

func workMessage(batch int, work, task string, page int) bus.Message {
	w := message.BatchWork{BatchID: batch, Work: work, Task: task, Page: page}
	return event(workID(w), message.TypeBatchWork, w, time.Time{})
}

func workID(w message.BatchWork) string {
	return fmt.Sprintf("batch-work-batch-%d-%s-%s-page-%d", w.BatchID, w.Work, w.Task, w.Page)
}

func event(id, kind string, body any, at time.Time) bus.Message {
	encoded, err := json.Marshal(body)
	if err != nil {
		panic(err) // plain structs of numbers and strings
	}
	return bus.Message{ID: id, Body: encoded, Properties: map[string]any{message.PropertyMessageType: kind}, At: at}
}
