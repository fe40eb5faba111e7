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

// Definition is the runbook's step that the run's step at index is made of.
func (r *Run) Definition(rb *runbook.Runbook, index int) (runbook.Step, error) {
	step := r.Steps[index]
	definitions, err := r.definitions(rb, step.Rollback)
	if err != nil {
		return runbook.Step{}, err
	}
	if step.Place >= len(definitions) {
		return runbook.Step{}, fmt.Errorf("engine: runbook %s version %d has no step %d in %q", r.Runbook, r.Version, step.Place, r.PhaseName+step.Rollback)
	}
	return definitions[step.Place], nil
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

// Outstanding is what a run waits for, as the messages that would bring it about:
// repeated when an event comes again, and by the sweep.
func (r *Run) Outstanding() []Message {
	if r.Status.Terminal() || r.HeldAt != nil || r.Status == RunWaiting {
		return nil
	}
	step := r.Steps[r.Current]
	switch {
	case step.Status == StepDispatched && step.Refused != nil: // sent again, its job would be refused again
		return []Message{Deadline{Run: r, Step: r.Current, At: step.deadline()}}
	case step.Status == StepDispatched && step.Timeout < ownDeadline:
		return []Message{Dispatch{Run: r, Step: r.Current}, Deadline{Run: r, Step: r.Current, At: step.deadline()}}
	case step.Status == StepDispatched:
		return []Message{Dispatch{Run: r, Step: r.Current}}
	case step.Status == StepPolling:
		return []Message{Poll{Run: r, Step: r.Current, At: nextPoll(step)}}
	case step.Status == StepPending && step.RetryAfter != nil:
		return []Message{Retry{Run: r, Step: r.Current, At: *step.RetryAfter}}
	}
	return nil
}

// follows gives the events that follow from the state of a run: it is released where its
// batch is, by now, no longer paused; and its end is carried over to the member's next
// run, to its shard and to its phase. Again: they followed before, from the same state.
func (w *walk) follows(again bool) []Event {
	run := w.run
	var next []Event
	counted := ShardCounted{Phase: run.Phase, Page: run.Page, Yields: !again && w.yielded, Again: again}
	if !run.Status.Terminal() {
		if run.HeldAt != nil {
			next = append(next, OnRun{run.Phase, run.Member, RunReleased{Task: TaskResumed}})
		}
		if run.Kind == KindPhase && (w.yielded || again && run.Yielded) {
			next = append(next, counted)
		}
		return next
	}
	if run.CountsFailure(w.rb) { // before the member's page can end, and the phase with it
		next = append(next, FailureCounted{Phase: run.Phase})
	}
	if run.Next != 0 {
		next = append(next, OnRun{run.Next, run.Member, RunStarted{}})
	}
	if run.Kind == KindPhase {
		return append(next, counted)
	}
	return append(next, PhaseCounted{Phase: run.Phase})
}

// SequenceEnded carries the end of a run without a member over to the batch, and gives what
// follows from it.
type SequenceEnded func(b *Batch, run *Run, now time.Time) ([]Message, []Event)

// walk is one decision on a run in the making.
type walk struct {
	state         State
	sequenceEnded SequenceEnded
	rb            *runbook.Runbook // the version that the run follows
	gate          Gate
	run           *Run
	member        *Member // nil: not loaded
	busy          bool    // the member's BusyUntil or UndoingUntil changed
	yielded       bool    // the run has yielded with this decision
	now           time.Time
	secrets       map[string]json.RawMessage // that the step in hand uses
}

// loadError is that the state of a decision could not be loaded: no fault of a step.
type loadError struct{ error }

func (e *loadError) Unwrap() error { return e.error }

// loadMember gives the member of the run.
func (w *walk) loadMember() (*Member, error) {
	if w.member == nil {
		m, err := w.state.LoadMember(w.run.Member)
		if err != nil {
			return nil, &loadError{err}
		}
		w.member = m
	}
	return w.member, nil
}

// load gets what every decision on a run needs. A run without a member that is not there is
// made, where its batch has come to it; ok is false where it has not.
func load(s State, on OnRun, ended SequenceEnded, now time.Time) (w *walk, ok bool, err error) {
	run, err := s.LoadRun(on.Phase, on.Member)
	if err != nil {
		return nil, false, err
	}
	w = &walk{state: s, sequenceEnded: ended, now: now}
	if run == nil {
		if run, err = makeSequence(s, on, now); run == nil || err != nil {
			return nil, false, err
		}
	}
	w.run = run.clone()
	if w.rb, err = s.LoadRunbook(run.Runbook, run.Version); err != nil {
		return nil, false, err
	}
	w.gate, err = s.LoadGate()
	return w, err == nil, err
}

// makeSequence makes the run of an init sequence, or of on_complete steps, that is to
// start; nil where its batch has not come to it, or is cancelled.
func makeSequence(s State, on OnRun, now time.Time) (*Run, error) {
	if _, starts := on.RunEvent.(RunStarted); !starts || on.Member != 0 {
		return nil, nil
	}
	b, err := s.LoadBatch()
	if err != nil {
		return nil, err
	}
	p, ok := b.Phase(on.Phase)
	if !ok || p.Status != PhaseDispatched || p.Kind == KindPhase && p.Merge != RunRunning || b.Gate() == Stopped {
		return nil, nil
	}
	rb, err := s.LoadRunbook(b.Runbook, p.Version)
	if err != nil {
		return nil, err
	}
	run, err := NewRun(b, *p, nil, rb, now)
	return &run, err
}

// decideRun applies an event to a run: what it changes is a copy. ended carries the end of an
// init sequence, or of on_complete steps, over to the batch.
func decideRun(s State, on OnRun, ended SequenceEnded, now time.Time) (Decision, error) {
	w, ok, err := load(s, on, ended, now)
	if err != nil || !ok {
		return Decision{Stale: true}, err
	}
	e := on.RunEvent
	switch e := e.(type) {
	case DeadlineDue:
		return w.deadline(e)
	case RunReleased:
		return w.released(e)
	case RunStopped:
		return w.stopped(e)
	case StepResolved:
		return w.resolved(e)
	case RunMended:
		return w.repeated(), nil
	}
	id, applies := match(w.run, e, now)
	if id == eventStart && applies && w.run.Member != 0 {
		m, err := w.loadMember()
		if err != nil {
			return Decision{}, err
		}
		applies = m.OpenPhase == w.run.Phase // or the start came late, and comes again in its turn
	}
	switch {
	case id == w.run.LastEvent:
		return w.repeated(), nil
	case !applies:
		return w.late(e)
	}
	w.run.LastEvent = id
	if err := w.apply(e); err != nil {
		return Decision{}, err
	}
	return w.decision()
}

// begin starts a run that is made with this decision, and of a member who has just entered it:
// both are written. The decision has them alone, and changes them.
func begin(s State, rb *runbook.Runbook, gate Gate, run *Run, m *Member, now time.Time) (Decision, error) {
	w := &walk{state: s, rb: rb, gate: gate, run: run, member: m, busy: true, now: now}
	w.run.LastEvent = eventStart
	if err := w.start(); err != nil {
		return Decision{}, err
	}
	return w.decision()
}

// repeated asks again for what followed from an event that was applied before, in case that
// was cut short. It does so whether or not the batch is paused or cancelled: the message
// that is handled is the only one that sends what it owes.
func (w *walk) repeated() Decision {
	return Decision{Repeated: true, Messages: w.run.owed(w.now), Next: w.follows(true)}
}

// owed is what a run waits for, for a message that comes again. The job may be sent only now,
// after its deadline: its worker then has the settle time to refuse it.
func (r *Run) owed(now time.Time) []Message {
	messages := r.Outstanding()
	for i, m := range messages {
		if d, ok := m.(Deadline); ok && d.At.Before(now) {
			d.At = now.Add(SettleTime)
			messages[i] = d
		}
	}
	return messages
}

// changed is the decision that only the run, and the member with it, change.
func (w *walk) changed() Decision {
	d := Decision{Writes: Writes{Runs: []*Run{w.run}}}
	if w.busy {
		d.Members = []*Member{w.member}
	}
	return d
}

// clockSlack is by how much a message may come early by the clock of another process.
const clockSlack = 2 * time.Second

// match names an event and tells whether it is for the run as it stands.
func match(run *Run, e RunEvent, now time.Time) (id string, applies bool) {
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

func (w *walk) apply(e RunEvent) error {
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
	if w.run.Member != 0 {
		m, err := w.loadMember()
		if err != nil {
			return err
		}
		if (w.run.Kind == KindRemoval) != (m.Status == MemberRemoved) || m.Status == MemberFailed {
			w.end(RunCancelled, fmt.Sprintf("the member is %s", m.Status))
			return nil
		}
	}
	switch w.gate {
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
			until, err := w.busyUntil()
			if err != nil {
				return err
			}
			if until.After(w.now) {
				w.postpone(until)
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

// Stops reports whether the run ends as soon as no job of it is in flight: its batch is
// cancelled or its member removed. What undoes or cleans up is carried to its end.
func (r *Run) Stops(batch Gate) bool {
	return (batch == Stopped || r.Stopping != "") && r.Status != RunRollingBack && r.Kind != KindRemoval
}

func (w *walk) stops() bool { return w.run.Stops(w.gate) }

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
	case w.gate == Paused:
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
	definitions, err := w.run.definitions(w.rb, name)
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
		w.run.Steps = append(w.run.Steps, newStep(w.rb, d, name, i))
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
		return w.goesOn(), nil
	}
	if run.Member == 0 {
		return w.endSequence()
	}
	m, err := w.loadMember()
	if err != nil {
		return Decision{}, err
	}
	next := leave(m, run, w.now)
	if n := size(next.WorkerData); run.Status == RunSucceeded && n > MaxWorkerData {
		run.Outputs = nil
		reason := fmt.Sprintf("with its outputs the member would carry %d bytes of them; at most %d can be stored", n, MaxWorkerData)
		step := w.step()
		step.Status, step.CompletedAt, step.Error = StepFailed, &w.now, reason
		w.end(RunFailed, fmt.Sprintf("step %q: %s", step.Name, reason))
		next = leave(m, run, w.now)
	}
	w.dropSecretOutputs()
	w.eraseSpent(next)
	w.member, w.busy = next, true
	run.Next = next.OpenPhase
	yields := run.Kind == KindPhase && !run.Yielded
	run.Yielded, w.yielded = true, yields
	d := w.changed()
	if run.Kind == KindRemoval {
		d.Counts = append(d.Counts, CountRemoval{Phase: run.Phase, Outcome: run.Status})
	} else {
		d.Counts = append(d.Counts, CountRun{Phase: run.Phase, Page: run.Page, Outcome: run.Status, Yields: yields})
	}
	if run.CountsFailure(w.rb) {
		d.Counts = append(d.Counts, CountFailures{Phase: run.Phase, Failed: 1})
	}
	d.Next = w.follows(false)
	return d, nil
}

// goesOn is the decision on a run that has not ended.
func (w *walk) goesOn() Decision {
	run := w.run
	messages := run.Outstanding()
	for _, m := range messages {
		switch m := m.(type) {
		case Poll:
			run.WakeAt = &m.At
		case Retry:
			run.WakeAt = &m.At
		case Deadline:
			run.DeadlineAt = &m.At
		case Dispatch:
			at := run.Steps[m.Step].deadline()
			run.DeadlineAt, run.Worker, run.SentAt = &at, run.Steps[m.Step].WorkerID, run.Steps[m.Step].DispatchedAt
		}
	}
	if !run.Yielded && w.yields() {
		run.Yielded, w.yielded = true, true
	}
	d := w.changed()
	d.Messages, d.Next = messages, w.follows(false)
	if w.yielded {
		d.Counts = append(d.Counts, CountRun{Phase: run.Phase, Page: run.Page, Yields: true})
	}
	return d
}

// endSequence is the decision on a run without a member that has ended, which leads on to what
// its end means for the batch.
func (w *walk) endSequence() (Decision, error) {
	b, err := w.state.LoadBatch()
	if err != nil {
		return Decision{}, err
	}
	w.dropSecretOutputs()
	b = b.clone()
	d := w.changed()
	d.Batch = b
	d.Messages, d.Next = w.sequenceEnded(b, w.run, w.now)
	return d, nil
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
