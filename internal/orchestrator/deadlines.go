package orchestrator

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/workers"
)

// longestJobID is more than the length of any job id. It leaves room for the job id in the id of
// a message, which has 128 characters at most.
const longestJobID = 80

// onDeadlineCheck fails a step whose job has no result at its deadline. It puts the deadline
// off if the job still waits for its worker: see workers.JobOutlook.
func (o *Orchestrator) onDeadlineCheck(ctx context.Context, c message.DeadlineCheck) error {
	switch n := len(c.JobID); {
	case strings.TrimSpace(c.JobID) == "":
		return message.Reject("the deadline check has no job id")
	case n > longestJobID:
		return message.Reject("the deadline check has a job id of %d bytes; at most %d are allowed", n, longestJobID)
	}
	phase, member, index, err := parseStepID(c.BatchID, c.StepExecutionID)
	if err != nil {
		return err
	}
	if o.deadLetters.ResultsMayCome() {
		return o.postponeDeadlineCheck(ctx, c)
	}
	_, _, err = o.applier.Run(ctx, c.BatchID, applier.Command{Events: func(s *applier.Snapshot) ([]model.Event, error) {
		run, err := s.StepRun(c.StepExecutionID, phase, member, index)
		if err != nil || run == nil {
			return nil, err
		}
		e, err := o.deadlineEvent(ctx, s, run, index, c.JobID)
		if err != nil {
			return nil, err
		}
		return []model.Event{model.OnRun{Phase: phase, Member: member, RunEvent: e}}, nil
	}})
	return err
}

// deadlineEvent returns the event of a deadline with the outlook of its job.
func (o *Orchestrator) deadlineEvent(ctx context.Context, s *applier.Snapshot, run *model.Run, index int, jobID string) (model.DeadlineDue, error) {
	e := model.DeadlineDue{Step: index, JobID: jobID}
	if !run.AwaitsJob(index, jobID) {
		return e, nil
	}
	step := run.Steps[index]
	definition, err := s.Definition(run, index)
	if err != nil {
		return e, err
	}
	outlook, err := o.workers.Outlook(ctx, run, index, definition)
	if err != nil {
		return e, err
	}
	mode, err := s.LoadDispatchMode()
	if err != nil {
		return e, err
	}
	final := !outlook.Waits || step.Refused != nil || runstate.Cancelling(run, mode)
	if final && o.watcher != nil {
		if o.behind(ctx) {
			return e, errBehind
		}
		// A heartbeat that behind no longer found waiting may have changed the outlook.
		if outlook, err = o.workers.Outlook(ctx, run, index, definition); err != nil {
			return e, err
		}
	}
	e.Queued, e.Silent, e.Cause = outlook.Waits, outlook.Silent, outlook.Cause
	return e, nil
}

// errBehind is the error of a deadline check while results or heartbeats from a time without
// the handler are still in its subscription. The next tick announces the deadline again.
var errBehind = errors.New("results or heartbeats of workers have not been processed yet")

// behind reports whether results or heartbeats have waited for more than a heartbeat interval.
// Until they are processed, no job is taken for lost. If the subscription cannot be read,
// behind reports false.
func (o *Orchestrator) behind(ctx context.Context) bool {
	limited, cancel := context.WithTimeout(ctx, workers.WatchTimeout)
	defer cancel()
	oldest, found, err := o.watcher.Oldest(limited, message.TopicWorkerResults, message.SubscriptionOrchestrator)
	return err == nil && found && o.now().Sub(oldest) > message.HeartbeatInterval
}

// deadlineDelay is how long a deadline check is postponed while results may come.
const deadlineDelay = 10 * time.Second

// postponeDeadlineCheck sends a deadline check for later, when dead-lettered or requeued results
// have had time to come. The time is a multiple of deadlineDelay, so that several checks of one
// deadline have the same id and become one.
func (o *Orchestrator) postponeDeadlineCheck(ctx context.Context, c message.DeadlineCheck) error {
	o.log.InfoContext(ctx, "deadline check postponed: dead-lettered or requeued results may arrive", logkey.BatchID, c.BatchID, logkey.JobID, c.JobID)
	return o.bus.Send(ctx, message.TopicOrchestratorEvents, applier.CheckDeadlineAt(c, o.nextCheck(c.DueAt, deadlineDelay)))
}
