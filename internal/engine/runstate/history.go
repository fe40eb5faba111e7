package runstate

import (
	"slices"

	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/model"
)

// noteAttempt keeps the attempt of the step in hand that ends now. A first attempt that succeeds is
// not kept: the step has all there is to know of it.
func (t *transition) noteAttempt(outcome model.StepStatus, reason string) {
	step := t.step()
	if step.DispatchedAt == nil || step.Job == "" || outcome == model.StepSucceeded && len(step.History) == 0 {
		return
	}
	a := model.Attempt{
		JobID: t.run.JobID(t.run.Current), StartedAt: *step.DispatchedAt, EndedAt: t.now, Outcome: outcome, Error: humanize.ClipBytes(reason, model.MaxAttemptError),
	}
	if p := step.PollStartedAt; p != nil && p.Before(a.StartedAt) {
		a.StartedAt = *p
	}
	kept := step.History[max(0, len(step.History)+1-model.MaxAttempts):]
	step.History = append(slices.Clone(kept), a)
}

// noteAnswer keeps what the polls of the step in hand have answered until now, if the new answer differs. Polls that
// all answer the same, as most do, add nothing to the run.
func (t *transition) noteAnswer(reason string) {
	step := t.step()
	if step.PolledAt == nil || step.Error == "" || step.Error == model.ClipReason(reason) {
		return
	}
	kept := step.Answers[max(0, len(step.Answers)+1-model.MaxPollAnswers):]
	step.Answers = append(slices.Clone(kept), model.PollAnswer{Text: humanize.ClipBytes(step.Error, model.MaxAttemptError), Last: *step.PolledAt})
}
