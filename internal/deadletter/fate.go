package deadletter

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/sealing"
	"github.com/matoolkit/matoolkit/internal/store"
)

// fate says what to do with a dead letter.
type fate int

const (
	fateReturn fate = iota // send it to its topic again
	fateHold               // store it for an administrator
	fateDrop               // store it as discarded
	fateForget             // store nothing
)

// deadLetterCase has the facts that decide the fate of a dead letter.
type deadLetterCase struct {
	topic, kind string
	reason      string
	returns     int  // how often in a row it was returned automatically
	whole       bool // its body can be stored whole
	job         jobCase
}

// jobCase has the facts of a job that was dead-lettered.
type jobCase struct {
	unreadable string // why the body is not a job
	waits      bool   // its step waits for it
	expiresAt  *time.Time
}

// decide returns the fate of a dead letter and the reason for it.
func (c deadLetterCase) decide(now time.Time) (fate, string) {
	judged := c.reason != bus.ReasonDeliveries && c.reason != bus.ReasonExpired
	job := c.topic == message.TopicWorkerJobs
	switch {
	case c.kind == message.TypeWorkerHeartbeat:
		return fateForget, "a late heartbeat has no use"
	case judged:
		return fateHold, "a receiver or an administrator dead-lettered it"
	case job && c.job.unreadable != "":
		return fateHold, c.job.unreadable
	case job && !c.job.waits:
		return fateDrop, "its step no longer waits for it"
	case job && c.job.expiresAt != nil && !now.Before(*c.job.expiresAt):
		return fateDrop, "it has expired; its step's deadline check decides"
	case !c.whole:
		return fateHold, "it is too large to be stored whole"
	case c.returns >= len(returnDelays):
		return fateHold, fmt.Sprintf("it was resent %d times", c.returns)
	}
	return fateReturn, "it was never processed"
}

// readCase reads the facts of a dead letter, without the number of its returns.
func (m *Messages) readCase(ctx context.Context, d bus.DeadLetter, msg message.Delivery) (deadLetterCase, error) {
	c := deadLetterCase{topic: d.Topic, kind: msg.Type, reason: d.Reason, whole: len(d.Body) <= sealing.MaxBody}
	if d.Topic != message.TopicWorkerJobs {
		return c, nil
	}
	var err error
	c.job, err = m.readJobCase(ctx, d.Body)
	return c, err
}

// readJobCase reads the facts of a job. Body is the JSON of the job.
func (m *Messages) readJobCase(ctx context.Context, body []byte) (jobCase, error) {
	var job message.Job
	if err := json.Unmarshal(body, &job); err != nil {
		return jobCase{unreadable: fmt.Sprintf("the body is not the JSON of a job: %v", err)}, nil
	}
	phase, member, index, err := model.ParseStepID(job.CorrelationData.StepExecutionID)
	if err != nil {
		return jobCase{unreadable: err.Error()}, nil
	}
	c := jobCase{expiresAt: job.ExpiresAt}
	run, err := store.OrNone(store.Read[model.Run](ctx, m.store, store.RunKey(job.CorrelationData.BatchID, phase, member)))
	if err != nil {
		return c, err
	}
	if index < len(run.Doc.Steps) {
		c.waits = run.Doc.AwaitsJob(index, job.IDInBatch())
	}
	return c, nil
}
