package applier

import (
	"context"
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook/template"
	"github.com/matoolkit/matoolkit/internal/tracecontext"
)

// Outbox collects messages, so that those of one topic are sent together.
type Outbox struct {
	Events         []bus.Message
	jobs, controls []bus.Message
	results        []bus.Message // to jobs that cannot be sent
	secret         []secretJob
}

// secretJob is a job whose secrets are filled in when it is sent.
type secretJob struct {
	job int // among the jobs of the outbox
	run *model.Run
}

// addFilled adds the messages of an outbox whose secrets are filled in, each with the trace of ctx.
func (o *Outbox) addFilled(ctx context.Context, from *Outbox) {
	for _, topic := range []struct{ to, from *[]bus.Message }{
		{&o.controls, &from.controls}, {&o.jobs, &from.jobs}, {&o.results, &from.results}, {&o.Events, &from.Events},
	} {
		for _, m := range *topic.from {
			if m.Properties == nil {
				m.Properties = map[string]any{}
			}
			tracecontext.Inject(ctx, m.Properties)
			*topic.to = append(*topic.to, m)
		}
	}
}

// Add adds the messages of decisions. Their ids derive from the state, so that a message that is
// sent again has the same id. Add needs the batch for messages that are about the batch.
func (o *Outbox) Add(b *model.Batch, messages []model.Message, now time.Time) error {
	for _, m := range messages {
		var err error
		if aboutBatch(m) {
			err = o.addOfBatch(b, m, now)
		} else {
			err = o.addOfRun(m, now)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// aboutBatch reports whether a message is made from the batch, not from a run.
func aboutBatch(m model.Message) bool {
	switch m.(type) {
	case model.Dispatch, model.Poll, model.Retry, model.Deadline:
		return false
	}
	return true
}

func (o *Outbox) addOfRun(m model.Message, now time.Time) error {
	switch m := m.(type) {
	case model.Dispatch:
		return o.addJob(m, now)
	case model.Poll:
		o.Events = append(o.Events, checkMessage(m.Run, message.TypePollCheck, m.Step, m.Run.Steps[m.Step].PollCount+1, 0, m.At))
	case model.Retry:
		o.Events = append(o.Events, checkMessage(m.Run, message.TypeRetryCheck, m.Step, m.Run.Steps[m.Step].RetryCount, m.Run.Steps[m.Step].Waits, m.At))
	case model.Deadline:
		o.Events = append(o.Events, deadlineMessage(m.Run, m.Step, m.At))
	default:
		return fmt.Errorf("applier: the applier sends no %T of a run", m)
	}
	return nil
}

func (o *Outbox) addJob(m model.Dispatch, now time.Time) error {
	job, err := jobMessage(m)
	if err != nil {
		return err
	}
	step := m.Run.Steps[m.Step]
	if template.HasSecrets(step.Params) {
		o.secret = append(o.secret, secretJob{len(o.jobs), m.Run})
	}
	// If it was sent before, a worker may have begun it. The broker remembers a job that was sent ahead
	// from its sending on, at least.
	if now.Sub(*step.DispatchedAt) > model.BrokerRemembers {
		job.Properties[message.PropertyRedelivered] = true
	}
	o.jobs = append(o.jobs, job)
	return nil
}

func (o *Outbox) addOfBatch(b *model.Batch, m model.Message, now time.Time) error {
	switch m := m.(type) {
	case model.Announce:
		p, ok := b.Phase(m.Phase)
		if !ok {
			return fmt.Errorf("applier: batch %d has no phase execution %d to announce", b.ID, m.Phase)
		}
		o.Events = append(o.Events, PhaseDueMessage(b, *p, max(m.Page, 1), m.FanOut, m.At)) // without FanOut the broker may drop it: it remembers the id of one that came too early
	case model.CatchUp:
		o.Events = append(o.Events, MemberAddedMessage(b, m.Join, time.Time{}))
	case model.Remove:
		o.Events = append(o.Events, MemberRemovedMessage(b.ID, m.Member))
	case model.Check:
		o.Events = append(o.Events, BatchWorkMessage(b.ID, message.WorkCheck, b.Checks.Task, m.Page))
	case model.WriteItems:
		o.Events = append(o.Events, BatchWorkMessage(b.ID, message.WorkItems, fmt.Sprintf("rev-%d", b.Revision), 0))
	case model.Release:
		o.Events = append(o.Events, BatchWorkMessage(b.ID, message.WorkRelease, b.ReleaseTask(), 0))
	case model.CancelRuns:
		o.Events = append(o.Events, BatchWorkMessage(b.ID, message.WorkCancel, b.ReleaseTask(), 0))
	case model.Revoke: // until the decision was stored, processes dispatched jobs
		o.controls = append(o.controls, controlMessage(b.ID, engine.ExtendRevocation(m, now).Through))
	default:
		return fmt.Errorf("applier: the applier sends no %T", m)
	}
	return nil
}

// AddOverdue adds the messages that a run waits for: its deadline for the time of the deadline, and
// others at once. Again ends the ids, so that the broker does not take them for the first ones.
func (o *Outbox) AddOverdue(run *model.Run, now time.Time, again string) error {
	if run.Status.Terminal() {
		return nil
	}
	if at := run.DeadlineAt; at != nil {
		m := deadlineMessage(run, run.Current, *at)
		if at.Before(now) {
			m.ID += "-" + again
		}
		o.Events = append(o.Events, m)
		return nil
	}
	first := len(o.Events)
	if err := o.Add(nil, runstate.Scheduled(run), now); err != nil {
		return err
	}
	for i := first; i < len(o.Events); i++ {
		o.Events[i].ID += "-" + again
		o.Events[i].At = time.Time{}
	}
	return nil
}
