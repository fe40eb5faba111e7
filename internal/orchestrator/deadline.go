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

// onDeadlineCheck fails a step whose job was not answered in time, unless the job is known
// to wait for its worker (see outlook).
func (or *Orchestrator) onDeadlineCheck(ctx context.Context, c message.DeadlineCheck) error {
	switch n := len(c.JobID); {
	case strings.TrimSpace(c.JobID) == "":
		return message.Reject("the deadline check names no job")
	case n > longestJobID:
		return message.Reject("the deadline check names a job with an id of %d bytes; at most %d are possible", n, longestJobID)
	}
	phase, member, index, err := stepPlace(c.BatchID, c.StepExecutionID)
	if err != nil {
		return err
	}
	if or.deadLetters.ResultsMayCome() {
		return or.checkLater(ctx, c)
	}
	_, _, err = or.applier.Run(ctx, c.BatchID, applier.Command{Events: func(s *applier.Snapshot) ([]model.Event, error) {
		run, err := s.StepRun(c.StepExecutionID, phase, member, index)
		if err != nil {
			return nil, err
		}
		e := model.DeadlineDue{Step: index, JobID: c.JobID}
		if step := run.Steps[index]; step.Status == model.StepDispatched && step.JobID == c.JobID {
			look, err := or.workers.Outlook(ctx, run, index)
			if err != nil {
				return nil, err
			}
			mode, err := s.LoadDispatchMode()
			if err != nil {
				return nil, err
			}
			decides := !look.Waits || step.Refused != nil || runstate.Stops(run, mode)
			if decides && or.waiting != nil {
				if or.behind(ctx) {
					return nil, errBehind
				}
				// A heartbeat may have been processed after the first look, and so wait no more.
				if look, err = or.workers.Outlook(ctx, run, index); err != nil {
					return nil, err
				}
			}
			e.Queued, e.Silent, e.Cause = look.Waits, look.Silent, look.Cause
		} else if s.IsRecalled() { // by a run that is out of date the job would look lost
			return nil, applier.ErrOutdated
		}
		return []model.Event{model.OnRun{Phase: phase, Member: member, RunEvent: e}}, nil
	}})
	return err
}

// longestJobID is more than the length of any id of a job. It leaves room for it in the id of a
// message, which has 128 characters at most.
const longestJobID = 80

// laterCheck is how long a deadline that waits for results waits until it is
// checked again.
const laterCheck = 10 * time.Second

// checkLater checks a deadline again when results that were dead-lettered or put back have had time
// to come. The id of the check derives from the job and from a time that is the same for all
// checks of about now, so that several checks of one deadline become one.
func (or *Orchestrator) checkLater(ctx context.Context, c message.DeadlineCheck) error {
	at := or.now().UTC().Truncate(laterCheck).Add(laterCheck)
	or.log.InfoContext(ctx, "deadline waits for results that were dead-lettered or put back", logkey.BatchID, c.BatchID, logkey.JobID, c.JobID)
	return or.bus.Send(ctx, message.TopicOrchestratorEvents, applier.CheckDeadlineAt(c, at))
}

// errBehind: the handler was away, and results or heartbeats of that time are still in
// its subscription. The next tick announces the deadline again.
var errBehind = errors.New("app: the handler is behind with what the workers sent")

// behind reports whether results or heartbeats that came long ago are not processed yet.
// Until they are, no job is taken for lost. What cannot be seen is not waited for.
func (or *Orchestrator) behind(ctx context.Context) bool {
	looking, cancel := context.WithTimeout(ctx, workers.LookTimeout)
	defer cancel()
	oldest, found, err := or.waiting.Oldest(looking, message.TopicWorkerResults, message.SubscriptionOrchestrator)
	return err == nil && found && or.now().Sub(oldest) > message.HeartbeatInterval
}
