package runstate

import (
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// CountsFailure reports whether the run's member has failed in a phase with a
// stop_when, which counts failed members. rb is the version that the run follows.
func CountsFailure(r *model.Run, rb *runbook.Runbook) bool {
	if r.Kind != model.KindPhase || r.Status != model.RunFailed {
		return false
	}
	p, ok := rb.Phase(r.PhaseName)
	return ok && p.StopWhen != nil
}

// Outstanding returns the messages that a waiting run depends on: a repeated event
// and the sweep send them again. rb is the version that the run follows.
func Outstanding(r *model.Run, rb *runbook.Runbook) ([]model.Message, error) {
	if !waits(r) {
		return nil, nil
	}
	definition, err := r.Definition(rb, r.Current)
	if err != nil {
		return nil, err
	}
	return outstanding(r, definition), nil
}

// waits reports whether a message leads the run on from its step in hand.
func waits(r *model.Run) bool {
	return !r.Status.Terminal() && r.PausedAt == nil && r.Status != model.RunWaiting
}

// outstanding is Outstanding of a run that waits. d is the definition of the step in hand.
func outstanding(r *model.Run, d runbook.Step) []model.Message {
	step := r.Steps[r.Current]
	job := model.Dispatch{Run: r, Step: r.Current, Definition: &d}
	if step.Status == model.StepPolling && step.PollSent {
		job.At = *step.PollAt
	}
	switch {
	case step.JobInFlight() && step.Refused != nil: // sent again, its job would be refused again
		return []model.Message{model.Deadline{Run: r, Step: r.Current, At: jobDeadline(step, d)}}
	case step.JobInFlight() && jobExpiry(step, d).Sub(*step.DispatchedAt) < ownDeadline:
		return []model.Message{job, model.Deadline{Run: r, Step: r.Current, At: jobDeadline(step, d)}}
	case step.JobInFlight():
		return []model.Message{job}
	}
	return Scheduled(r)
}

// Scheduled returns the check that a waiting run without a job in flight depends on.
func Scheduled(r *model.Run) []model.Message {
	if !waits(r) {
		return nil
	}
	switch step := r.Steps[r.Current]; {
	case step.JobInFlight():
	case step.Status == model.StepPolling:
		return []model.Message{model.Poll{Run: r, Step: r.Current, At: *step.PollAt}}
	case step.Status == model.StepPending && step.RetryAfter != nil:
		return []model.Message{model.Retry{Run: r, Step: r.Current, At: *step.RetryAfter}}
	}
	return nil
}

// followUps returns the events that follow from the state of a run: its release if its
// batch is no longer paused, and at its end those for the member's next run, its shard
// and its phase. again says that they followed before from the same state.
func (t *transition) followUps(again bool) []model.Event {
	run := t.run
	var next []model.Event
	counted := model.ShardCounted{Phase: run.Phase, Page: run.Page, Yields: !again && t.yielded, Again: again}
	if !run.Status.Terminal() {
		if run.PausedAt != nil {
			next = append(next, model.OnRun{Phase: run.Phase, Member: run.Member, RunEvent: model.RunReleased{}})
		}
		if run.Kind == model.KindPhase && (t.yielded || again && run.Yielded) {
			next = append(next, counted)
		}
		return next
	}
	if CountsFailure(run, t.rb) { // before the member's page can end, and the phase with it
		next = append(next, model.FailureCounted{Phase: run.Phase})
	}
	if run.Next != 0 {
		next = append(next, model.OnRun{Phase: run.Next, Member: run.Member, RunEvent: model.RunStarted{}})
	}
	switch run.Kind {
	case model.KindPhase:
		return append(next, counted)
	case model.KindCheck: // which no phase counts
		return next
	}
	return append(next, model.PhaseCounted{Phase: run.Phase})
}

// repeat asks again for what followed from an event that was applied before, in case that
// was cut short. It does so whether or not the batch is paused or cancelled: the message
// that is handled is the only one that sends what it owes.
func (t *transition) repeat() model.Decision {
	d := model.Decision{Repeated: true, Next: t.followUps(true)}
	if SentLate(t.run, t.now) {
		t.step().QueuedUntil = &t.now
		at := jobDeadline(*t.step(), t.definition())
		t.run.DeadlineAt = &at
		d.Runs = []*model.Run{t.run}
	}
	if waits(t.run) {
		d.Messages = outstanding(t.run, t.definition())
	}
	return d
}

// SentLate reports whether a repeated event may send the run's job so late that its worker cannot
// answer before the deadline. The event then puts the deadline off: the worker refuses a job that
// has expired, and the step is dispatched again.
func SentLate(r *model.Run, now time.Time) bool {
	if !waits(r) {
		return false
	}
	step := r.Steps[r.Current]
	return step.JobInFlight() && step.Refused == nil && r.DeadlineAt != nil && r.DeadlineAt.Before(now.Add(JobGracePeriod))
}

// runChanged is the decision that only the run, and the member with it, change.
func (t *transition) runChanged() model.Decision {
	d := model.Decision{Writes: model.Writes{Runs: []*model.Run{t.run}}, Claims: t.claims}
	if t.memberChanged {
		d.Members = []*model.Member{t.member}
	}
	return d
}

// decision completes the decision: what the run's new state asks for, and what
// its end means for the member or, for a run without one, for the batch.
func (t *transition) decision() (model.Decision, error) {
	run := t.run
	run.WakeAt, run.DeadlineAt, run.Worker, run.SentAt = nil, nil, "", nil
	if !run.Status.Terminal() {
		return t.continued(), nil
	}
	if run.Member == 0 {
		return t.endSequence()
	}
	if run.Kind == model.KindCheck && !run.Holds {
		return t.runChanged(), nil
	}
	if t.member == nil {
		var err error
		if t.member, err = t.state.LoadMemberToWrite(run.Member); err != nil {
			return model.Decision{}, err
		}
	}
	next := t.leavePhase()
	if n := model.PayloadSize(next.WorkerData); run.Status == model.RunSucceeded && n > model.MaxWorkerData {
		run.Outputs = nil
		reason := fmt.Sprintf("with its outputs the member would have %d bytes of outputs; at most %d can be stored", n, model.MaxWorkerData)
		step := t.step()
		step.Status, step.CompletedAt, step.Error = model.StepFailed, &t.now, reason
		t.end(model.RunFailed, fmt.Sprintf("step %q: %s", t.definition().Name, reason))
		next = t.leavePhase()
	}
	t.dropSecretOutputs()
	t.eraseSpent(next)
	t.member, t.memberChanged = next, true
	run.Next = next.OpenPhase
	yields := run.Kind == model.KindPhase && !run.Yielded
	run.Yielded, t.yielded = true, yields
	d := t.runChanged()
	switch run.Kind {
	case model.KindRemoval:
		d.Counts = append(d.Counts, model.CountRemoval{Phase: run.Phase, Outcome: run.Status})
	case model.KindPhase:
		d.Counts = append(d.Counts, model.CountRun{Phase: run.Phase, Page: run.Page, Outcome: run.Status, Yields: yields})
	}
	if run.Kind == model.KindCheck && run.FailsMember() {
		d.Counts = append(d.Counts, model.CountCheckFailure{})
	}
	if CountsFailure(run, t.rb) {
		d.Counts = append(d.Counts, model.CountFailures{Phase: run.Phase, Failed: 1})
	}
	d.Next = t.followUps(false)
	return d, nil
}

// continued is the decision on a run that has not ended.
func (t *transition) continued() model.Decision {
	run := t.run
	var messages []model.Message
	if waits(run) {
		messages = outstanding(run, t.definition())
	}
	for _, m := range messages {
		switch m := m.(type) {
		case model.Poll:
			run.WakeAt = &m.At
		case model.Retry:
			run.WakeAt = &m.At
		case model.Deadline:
			run.DeadlineAt = &m.At
		case model.Dispatch:
			step := run.Steps[m.Step]
			at, visible := jobDeadline(step, *m.Definition), step.VisibleAt()
			run.DeadlineAt, run.Worker, run.SentAt = &at, m.Definition.WorkerID, &visible
		}
	}
	if !run.Yielded && t.yields() {
		run.Yielded, t.yielded = true, true
	}
	d := t.runChanged()
	d.Messages, d.Next = messages, t.followUps(false)
	if t.yielded {
		d.Counts = append(d.Counts, model.CountRun{Phase: run.Phase, Page: run.Page, Yields: true})
	}
	return d
}

// endSequence is the decision on a run without a member that has ended, which leads on to what
// its end means for the batch.
func (t *transition) endSequence() (model.Decision, error) {
	b, err := t.state.LoadBatchToWrite()
	if err != nil {
		return model.Decision{}, err
	}
	t.dropSecretOutputs()
	b = b.Clone()
	d := t.runChanged()
	d.Batch = b
	d.Messages, d.Next = t.sequenceEnded(b, t.run, t.now)
	return d, nil
}

// yields reports whether a member's run, which goes on, has no job that its worker could take now:
// the fan-out may come to further members.
func (t *transition) yields() bool {
	run := t.run
	if run.Kind != model.KindPhase || run.Status == model.RunWaiting {
		return false
	}
	step := run.Steps[run.Current]
	return step.Status == model.StepPolling || step.RetryAfter != nil
}
