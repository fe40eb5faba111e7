package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

const eventStart = "start"

// NewRun makes the run of a member (nil for init and on_complete) in a phase
// execution. Retry, poll and deadline policies are fixed here, from the runbook
// version of the execution.
func NewRun(b *Batch, p Phase, m *Member, rb *runbook.Runbook, now time.Time) (Run, error) {
	run := Run{
		Batch: b.ID, Phase: p.ID, Kind: p.Kind, PhaseName: p.Name, Runbook: b.Runbook, Version: p.Version,
		Status: RunWaiting, StartTime: b.StartTime, CreatedAt: now.UTC(),
	}
	switch {
	case m != nil:
		run.Member, run.Page, run.Key = m.ID, m.Page, m.Key
	case p.Kind == KindPhase:
		run.Kind, run.Counts = KindOnComplete, p.Counts
	}
	definitions, err := run.definitions(rb, "")
	if err != nil {
		return Run{}, err
	}
	for i, d := range definitions {
		run.Steps = append(run.Steps, newStep(rb, d, "", i))
	}
	return run, nil
}

func newStep(rb *runbook.Runbook, d runbook.Step, rollback string, place int) Step {
	retry := rb.EffectiveRetry(d)
	step := Step{
		Name: d.Name, Rollback: rollback, Place: place, WorkerID: d.WorkerID, Function: d.Function, Status: StepPending,
		OnFailure: d.OnFailure, Timeout: d.Timeout, MaxRetries: retry.MaxRetries, RetryInterval: retry.Interval,
		Backoff: retry.Backoff, MaxInterval: retry.MaxInterval, Jitter: retry.Jitter,
	}
	if d.Poll != nil {
		step.PollInterval, step.PollTimeout = d.Poll.Interval, d.Poll.Timeout
	}
	return step
}

// definitions are the runbook's steps that the run's are made of: its own, or
// those of a rollback.
func (r *Run) definitions(rb *runbook.Runbook, rollback string) ([]runbook.Step, error) {
	if rollback != "" {
		steps, ok := rb.Rollbacks[rollback]
		if !ok {
			return nil, fmt.Errorf("engine: runbook %s has no rollback %q", rb.Name, rollback)
		}
		return steps, nil
	}
	switch r.Kind {
	case KindInit:
		return rb.Init, nil
	case KindRemoval:
		return rb.OnMemberRemoved, nil
	}
	p, ok := rb.Phase(r.PhaseName)
	if !ok {
		return nil, fmt.Errorf("engine: runbook %s has no phase %q", rb.Name, r.PhaseName)
	}
	if r.Kind == KindOnComplete {
		return p.OnComplete, nil
	}
	return p.Steps, nil
}

func (r *Run) clone() *Run {
	c := *r
	c.Steps = slices.Clone(r.Steps)
	for i := range c.Steps {
		c.Steps[i].Abandoned = slices.Clone(r.Steps[i].Abandoned)
	}
	c.Outputs = maps.Clone(r.Outputs)
	return &c
}

// StepID is the execution id of the run's step at index.
func (r *Run) StepID(index int) int64 { return StepID(r.Phase, r.Member, index) }

// open tells whether the run goes through its own steps, or waits to.
func (r *Run) open() bool { return r.Status == RunWaiting || r.Status == RunRunning }

// Outstanding is what a run waits for, as the effects that would bring it about:
// repeated when an event comes again, and by the sweep.
func (r *Run) Outstanding() []Effect {
	switch {
	case r.Status.Terminal():
		return nil
	case r.HeldAt != nil:
		return []Effect{Hold{}}
	case r.Status == RunWaiting:
		return nil
	}
	step := r.Steps[r.Current]
	switch {
	case step.Status == StepDispatched && step.Refused != nil: // sent again, its job would be refused again
		return []Effect{Deadline{Step: r.Current, At: step.deadline()}}
	case step.Status == StepDispatched && step.Timeout < ownDeadline:
		return []Effect{Dispatch{Step: r.Current}, Deadline{Step: r.Current, At: step.deadline()}}
	case step.Status == StepDispatched:
		return []Effect{Dispatch{Step: r.Current}}
	case step.Status == StepPolling:
		return []Effect{Poll{Step: r.Current, At: nextPoll(step)}}
	case step.Status == StepPending && step.RetryAfter != nil:
		return []Effect{Retry{Step: r.Current, At: *step.RetryAfter}}
	}
	return nil
}

// walk is one decision on a run in the making.
type walk struct {
	state   State
	run     *Run
	busy    *Member // the member, where BusyUntil changed
	now     time.Time
	secrets map[string]json.RawMessage // that the step in hand uses
}

// decideRun applies an event to a run: what it changes is a copy.
func decideRun(s State, e Event, now time.Time) (Decision, error) {
	w := &walk{state: s, run: s.Run.clone(), now: now}
	switch e := e.(type) {
	case DeadlineDue:
		return w.deadline(e)
	case RunReleased:
		return w.released(e)
	case RunStopped:
		return w.stopped(e)
	case StepResolved:
		return w.resolved(e)
	}
	id, applies := match(w.run, e, now)
	if m := s.Member; id == eventStart && m != nil && w.run.Member != 0 && m.OpenPhase != w.run.Phase {
		applies = false // the member is elsewhere: the start came late, and comes again in its turn
	}
	switch {
	case id == w.run.LastEvent:
		return Decision{Repeated: true, Effects: w.run.Outstanding()}, nil
	case !applies:
		return w.late(e)
	}
	w.run.LastEvent = id
	if err := w.apply(e); err != nil {
		return Decision{}, err
	}
	return w.decision()
}

// clockSlack is by how much a message may come early by the clock of another process.
const clockSlack = 2 * time.Second

// match names an event and tells whether it is for the run as it stands.
func match(run *Run, e Event, now time.Time) (id string, applies bool) {
	var index int
	var fits func(Step) bool
	switch e := e.(type) {
	case RunStarted:
		return eventStart, run.Status == RunWaiting
	case StepResult:
		id, index = "result:"+e.JobID, e.Step
		if e.notBegun() && e.Redelivered { // the result of an earlier delivery may follow
			id = "refusal:" + e.JobID
		}
		fits = func(s Step) bool { return s.Status == StepDispatched && s.JobID == e.JobID }
	case PollDue:
		id, index = fmt.Sprintf("poll:%d:%d", e.Step, e.Count), e.Step
		fits = func(s Step) bool { return s.Status == StepPolling && s.PollCount+1 == e.Count }
	case RetryDue:
		id, index = fmt.Sprintf("retry:%d:%d", e.Step, e.Count), e.Step
		fits = func(s Step) bool {
			// A message of an earlier postponement must not end a later one.
			early := s.Postponed && now.Before(s.RetryAfter.Add(-clockSlack))
			return s.Status == StepPending && s.RetryAfter != nil && s.RetryCount == e.Count && !early
		}
	}
	return id, run.inHand(index) && run.HeldAt == nil && fits(run.Steps[index])
}

// inHand tells whether the step at index is the one that the run is at.
func (r *Run) inHand(index int) bool {
	return !r.Status.Terminal() && r.Status != RunWaiting && index == r.Current
}

func (w *walk) apply(e Event) error {
	switch e := e.(type) {
	case RunStarted:
		return w.start()
	case StepResult:
		if w.mayRun(e) {
			w.awaitEarlier(e)
			return nil
		}
		w.step().Refused = nil
		if e.Revoked {
			return w.revoked(e.Error)
		}
		if e.Expired {
			return w.expired(e.Error)
		}
		if !e.OK {
			return w.failed(e.Error, e.RetryAfter)
		}
		return w.succeeded(e.Result)
	case PollDue:
		return w.poll()
	case RetryDue:
		return w.dispatchWaiting()
	}
	return fmt.Errorf("engine: %T does not concern a run", e)
}

func (w *walk) step() *Step { return &w.run.Steps[w.run.Current] }

// start begins a run, or begins it again where a member is retried.
func (w *walk) start() error {
	if m, mine := w.state.Member, w.run.Member != 0; mine {
		if m == nil {
			return ErrMemberNeeded
		}
		if (w.run.Kind == KindRemoval) != (m.Status == MemberRemoved) || m.Status == MemberFailed {
			w.end(RunCancelled, fmt.Sprintf("the member is %s", m.Status))
			return nil
		}
	}
	switch w.state.Gate {
	case Paused:
		w.hold()
		return nil
	case Stopped:
		if w.run.Kind != KindRemoval {
			w.end(RunCancelled, batchCancelled)
			return nil
		}
	}
	w.run.Status = RunRunning
	return w.proceed()
}

// proceed goes on to the next step that is to be done, or ends the run.
func (w *walk) proceed() error {
	for i := w.run.Current; i < len(w.run.Steps); i++ {
		if s := w.run.Steps[i]; s.Status == StepPending && (s.Rollback != "") == (w.run.Status == RunRollingBack) {
			w.run.Current = i
			if undoes := s.Rollback != "" || w.run.Kind == KindRemoval; undoes && w.busyUntil().After(w.now) {
				w.postpone(w.busyUntil())
				return nil
			}
			return w.dispatch(fmt.Sprintf("attempt-%d", s.Attempts+1))
		}
	}
	if w.run.Status == RunRollingBack {
		w.run.Current = max(0, len(w.run.Steps)-1)
		w.end(RunFailed, w.run.Error)
		return nil
	}
	w.run.Current = w.run.lastOwn()
	w.end(RunSucceeded, "")
	return nil
}

// lastOwn is the run's last step; what undid an earlier attempt comes behind it.
func (r *Run) lastOwn() int {
	for i := len(r.Steps) - 1; i > 0; i-- {
		if r.Steps[i].Rollback == "" {
			return i
		}
	}
	return 0
}

// hold leaves the run as it is until the batch is resumed.
func (w *walk) hold() { w.run.HeldAt = &w.now }

// stops reports whether the run ends as soon as no job of it is in flight: its batch is
// cancelled or its member removed. What undoes or cleans up is carried to its end.
func (w *walk) stops() bool {
	return (w.state.Gate == Stopped || w.run.Stopping != "") && w.run.Status != RunRollingBack && w.run.Kind != KindRemoval
}

func (w *walk) stopReason() string { return cmp.Or(w.run.Stopping, batchCancelled) }

// succeeded takes a worker's answer: not yet complete, or done.
func (w *walk) succeeded(result json.RawMessage) error {
	step := w.step()
	result, reason := w.keepable("result", result)
	if reason != "" {
		return w.abort(reason)
	}
	definition, err := w.definition()
	if err != nil {
		return err
	}
	step.Result = w.hideOutputs(definition.OutputParams, result)
	answer := readAnswer(result)
	if answer.incomplete {
		if step.PollInterval <= 0 {
			return w.failed("the function answered that it is not complete, and the step does not poll", 0)
		}
		if step.PollStartedAt == nil {
			step.PollStartedAt = &w.now
		}
		step.Status, step.LastPolledAt = StepPolling, &w.now
		if w.stops() {
			w.end(RunCancelled, w.stopReason())
		}
		return nil
	}
	if err := w.keepOutputs(definition.OutputParams, answer); err != nil {
		return w.abort(err.Error())
	}
	step.Status, step.CompletedAt, step.Error = StepSucceeded, &w.now, ""
	return w.proceed()
}

// poll asks the worker again, or ends the polling where its time is over.
func (w *walk) poll() error {
	step := w.step()
	switch {
	case w.stops():
		w.end(RunCancelled, w.stopReason())
		return nil
	case w.state.Gate == Paused:
		w.hold()
		return nil
	case !w.now.Before(step.PollStartedAt.Add(step.PollTimeout)):
		return w.give(StepPollTimeout, fmt.Sprintf("not complete after polling for %s", step.PollTimeout))
	}
	step.PollCount++
	step.LastPolledAt = &w.now
	w.sent(fmt.Sprintf("poll-%d", step.PollCount))
	return nil
}

// failed takes a failure: another try where the policy has one left, else the end.
func (w *walk) failed(reason string, after time.Duration) error {
	step := w.step()
	step.Error = clip(reason)
	if step.RetryCount-step.RetriesBefore >= step.MaxRetries || w.stops() {
		return w.abort(reason)
	}
	step.RetryCount++
	at := w.now.Add(max(min(after, runbook.MaxRetryWait), w.retryDelay()))
	step.Status, step.JobID, step.RetryAfter, step.PollStartedAt, step.QueuedUntil = StepPending, "", &at, nil, nil
	return nil
}

// abort fails the step in hand for good.
func (w *walk) abort(reason string) error { return w.give(StepFailed, reason) }

// give ends the step in hand as failed, and with it the run, which first undoes
// what the step did where the runbook says how. A rollback goes on after a step of
// its own that failed: what follows may be the message to an administrator.
func (w *walk) give(status StepStatus, reason string) error {
	step := w.step()
	reason = clip(reason)
	step.Status, step.CompletedAt, step.Error, step.RetryAfter, step.Postponed = status, &w.now, reason, nil, false
	because := fmt.Sprintf("step %q: %s", step.Name, reason)
	switch {
	case w.run.Status == RunRollingBack:
		w.run.Error = clip(fmt.Sprintf("%s; its rollback %q failed too: %s", w.run.Error, step.Rollback, because))
		return w.proceed()
	case w.stops():
		w.end(RunCancelled, w.stopReason())
		return nil
	case step.OnFailure != "" && step.DispatchedAt != nil:
		return w.rollBack(step.OnFailure, because)
	}
	w.end(RunFailed, because)
	return nil
}

// rollBack adds the steps of a rollback to the run and begins them.
func (w *walk) rollBack(name, because string) error {
	definitions, err := w.run.definitions(w.state.Runbook, name)
	if err != nil {
		return err
	}
	if len(w.run.Steps)+len(definitions) > stepsPerRun {
		w.end(RunFailed, because+"; it is not rolled back: the run would have too many steps")
		return nil
	}
	w.cancelSteps()
	w.run.Status, w.run.RolledBack, w.run.Error, w.run.Current = RunRollingBack, true, because, len(w.run.Steps)
	for i, d := range definitions {
		w.run.Steps = append(w.run.Steps, newStep(w.state.Runbook, d, name, i))
	}
	return w.proceed()
}

// end closes the run; what it had not begun is cancelled.
func (w *walk) end(status RunStatus, reason string) {
	w.run.Status, w.run.EndedAt, w.run.Error, w.run.HeldAt, w.run.Stopping, w.run.Secrets = status, &w.now, reason, nil, "", nil
	w.cancelSteps()
}

func (w *walk) cancelSteps() {
	for i := range w.run.Steps {
		s := &w.run.Steps[i]
		if s.Status.Terminal() {
			continue
		}
		if s.Status == StepDispatched {
			s.abandon(w.now)
		}
		s.Status, s.CompletedAt, s.RetryAfter, s.Postponed = StepCancelled, &w.now, nil, false
	}
}

// decision completes the decision: what the run's new state asks for, and what
// its end means for the member or, for a run without one, for the batch.
func (w *walk) decision() (Decision, error) {
	run := w.run
	run.WakeAt, run.DeadlineAt, run.Worker, run.SentAt = nil, nil, "", nil
	if !run.Status.Terminal() {
		effects := run.Outstanding()
		for _, e := range effects {
			switch e := e.(type) {
			case Poll:
				run.WakeAt = &e.At
			case Retry:
				run.WakeAt = &e.At
			case Deadline:
				run.DeadlineAt = &e.At
			case Dispatch:
				at := run.Steps[e.Step].deadline()
				run.DeadlineAt, run.Worker, run.SentAt = &at, run.Steps[e.Step].WorkerID, run.Steps[e.Step].DispatchedAt
			}
		}
		run.Yielded = run.Yielded || w.yields()
		return Decision{Run: run, Member: w.busy, Effects: effects}, nil
	}
	if run.Member == 0 {
		if w.state.Batch == nil {
			return Decision{}, ErrBatchNeeded
		}
		w.dropSecretOutputs()
		b := w.state.Batch.clone()
		return Decision{Run: run, Batch: b, Effects: endOfBatchRun(b, run, w.now)}, nil
	}
	if w.state.Member == nil {
		return Decision{}, ErrMemberNeeded
	}
	m, effects := leave(w.state.Member, run, w.now)
	if n := size(m.WorkerData); run.Status == RunSucceeded && n > MaxWorkerData {
		run.Outputs = nil
		reason := fmt.Sprintf("with its outputs the member would carry %d bytes of them; at most %d can be stored", n, MaxWorkerData)
		step := w.step()
		step.Status, step.CompletedAt, step.Error = StepFailed, &w.now, reason
		w.end(RunFailed, fmt.Sprintf("step %q: %s", step.Name, reason))
		m, effects = leave(w.state.Member, run, w.now)
	}
	w.dropSecretOutputs()
	w.eraseSpent(m)
	run.Next = m.OpenPhase
	run.Yielded = true
	var counted Effect = Count{Outcome: run.Status}
	if run.Kind == KindRemoval {
		counted = Leave{Outcome: run.Status}
	}
	ends := []Effect{counted}
	if run.CountsFailure(w.state.Runbook) {
		ends = append(ends, CountFailure{})
	}
	return Decision{Run: run, Member: m, Effects: append(ends, effects...)}, nil
}

// yields reports whether a member's run, which goes on, has no job in flight: the fan-out
// may come to further members.
func (w *walk) yields() bool {
	run := w.run
	if run.Kind != KindPhase || run.Status == RunWaiting {
		return false
	}
	step := run.Steps[run.Current]
	return step.Status == StepPolling || step.RetryAfter != nil
}

func nextPoll(s Step) time.Time {
	at := s.LastPolledAt.Add(s.PollInterval)
	if timeout := s.PollStartedAt.Add(s.PollTimeout); timeout.Before(at) {
		return timeout
	}
	return at
}
