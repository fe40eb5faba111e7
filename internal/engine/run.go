package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

const eventStart = "start"

// NewRun makes the run of a member (nil for init) in a phase execution. Retry and
// poll policies are fixed here, from the runbook version of the execution.
func NewRun(b *Batch, p Phase, m *Member, rb *runbook.Runbook, now time.Time) (Run, error) {
	run := Run{
		Batch: b.ID, Phase: p.ID, Kind: p.Kind, PhaseName: p.Name, Runbook: b.Runbook, Version: p.Version,
		Status: RunWaiting, StartTime: b.StartTime, CreatedAt: now.UTC(),
	}
	if m != nil {
		run.Member, run.Page, run.Key = m.ID, m.Page, m.Key
	}
	steps, err := definitions(rb, p.Kind, p.Name)
	if err != nil {
		return Run{}, err
	}
	for _, d := range steps {
		step := Step{Name: d.Name, WorkerID: d.WorkerID, Function: d.Function, Status: StepPending, OnFailure: d.OnFailure, Timeout: d.Timeout}
		retry := rb.EffectiveRetry(d)
		step.MaxRetries, step.RetryInterval = retry.MaxRetries, retry.Interval
		if d.Poll != nil {
			step.PollInterval, step.PollTimeout = d.Poll.Interval, d.Poll.Timeout
		}
		run.Steps = append(run.Steps, step)
	}
	return run, nil
}

func definitions(rb *runbook.Runbook, kind PhaseKind, name string) ([]runbook.Step, error) {
	if kind == KindInit {
		return rb.Init, nil
	}
	p, ok := rb.Phase(name)
	if !ok {
		return nil, fmt.Errorf("engine: runbook %s has no phase %q", rb.Name, name)
	}
	return p.Steps, nil
}

func (r *Run) clone() *Run {
	c := *r
	c.Steps = slices.Clone(r.Steps)
	c.Outputs = maps.Clone(r.Outputs)
	return &c
}

// decideRun applies an event to a run: what it changes is a copy.
func decideRun(s State, e Event, now time.Time) (Decision, error) {
	run := s.Run.clone()
	id, applies := match(run, e)
	switch {
	case id == run.LastEvent:
		return Decision{Repeated: true, Effects: run.Outstanding()}, nil
	case !applies:
		return Decision{Stale: true}, nil
	}
	run.LastEvent = id
	w := &walk{state: s, run: run, now: now}
	if err := w.apply(e); err != nil {
		return Decision{}, err
	}
	return w.decision()
}

// match names an event and tells whether it is for the run as it stands.
func match(run *Run, e Event) (id string, applies bool) {
	var index int
	var fits func(Step) bool
	switch e := e.(type) {
	case RunStarted:
		return eventStart, run.Status == RunWaiting
	case StepResult:
		id, index = "result:"+e.JobID, e.Step
		fits = func(s Step) bool { return s.Status == StepDispatched && s.JobID == e.JobID }
	case PollDue:
		id, index = fmt.Sprintf("poll:%d:%d", e.Step, e.Count), e.Step
		fits = func(s Step) bool { return s.Status == StepPolling && s.PollCount+1 == e.Count }
	case RetryDue:
		id, index = fmt.Sprintf("retry:%d:%d", e.Step, e.Count), e.Step
		fits = func(s Step) bool {
			return s.Status == StepPending && s.RetryAfter != nil && s.RetryCount == e.Count
		}
	}
	return id, run.Status == RunRunning && index == run.Current && fits(run.Steps[index])
}

// Outstanding is what a run waits for, as the effects that would bring it about:
// repeated when an event comes again, and by the sweep.
func (r *Run) Outstanding() []Effect {
	if r.Status != RunRunning {
		return nil
	}
	step := r.Steps[r.Current]
	switch {
	case step.Status == StepDispatched:
		return []Effect{Dispatch{Step: r.Current}}
	case step.Status == StepPolling:
		return []Effect{Poll{Step: r.Current, At: nextPoll(step)}}
	case step.Status == StepPending && step.RetryAfter != nil:
		return []Effect{Retry{Step: r.Current, At: *step.RetryAfter}}
	}
	return nil
}

// StepID is the execution id of the run's step at index.
func (r *Run) StepID(index int) int64 { return StepID(r.Phase, r.Member, index) }

// walk is one decision in the making.
type walk struct {
	state State
	run   *Run
	now   time.Time
}

func (w *walk) apply(e Event) error {
	switch e := e.(type) {
	case RunStarted:
		if w.state.Member == nil && w.run.Kind != KindInit {
			return ErrMemberNeeded
		}
		if m := w.state.Member; m != nil && m.Status != MemberActive {
			w.end(RunCancelled, fmt.Sprintf("the member is %s", m.Status))
			return nil
		}
		w.run.Status = RunRunning
		if len(w.run.Steps) == 0 {
			w.end(RunSucceeded, "")
			return nil
		}
		return w.dispatch("attempt-1")
	case StepResult:
		if !e.OK {
			w.failed(e.Error)
			return nil
		}
		return w.succeeded(e.Result)
	case PollDue:
		step := w.step()
		if !w.now.Before(step.PollStartedAt.Add(step.PollTimeout)) {
			step.Status, step.CompletedAt = StepPollTimeout, &w.now
			step.Error = fmt.Sprintf("not complete after polling for %s", step.PollTimeout)
			w.end(RunFailed, w.because(step.Error))
			return nil
		}
		step.PollCount++
		step.LastPolledAt = &w.now
		w.sent(fmt.Sprintf("poll-%d", step.PollCount))
		return nil
	case RetryDue:
		return w.dispatch(fmt.Sprintf("retry-%d", e.Count))
	}
	return fmt.Errorf("engine: %T does not concern a run", e)
}

func (w *walk) step() *Step { return &w.run.Steps[w.run.Current] }

// dispatch resolves the step in hand and marks it as sent. What cannot be
// resolved fails the step without a retry, which could not help.
func (w *walk) dispatch(attempt string) error {
	definition, err := w.definition()
	if err != nil {
		return err
	}
	step := w.step()
	function, params, err := w.resolve(definition)
	if err == ErrMemberNeeded {
		return err
	}
	if err != nil {
		w.abort(err.Error())
		return nil
	}
	if len(function) > MaxReason {
		w.abort("the function's name is longer than any can be")
		return nil
	}
	if reason := w.tooLarge("parameters", params); reason != "" {
		w.abort(reason)
		return nil
	}
	step.Function, step.Params = function, params
	w.sent(attempt)
	return nil
}

// sent marks the step in hand as dispatched under a job id of its own.
func (w *walk) sent(attempt string) {
	step := w.step()
	kind := "step"
	if w.run.Kind == KindInit {
		kind = "init"
	}
	step.Status, step.DispatchedAt, step.RetryAfter = StepDispatched, &w.now, nil
	step.JobID = fmt.Sprintf("%s-%d-%s", kind, w.run.StepID(w.run.Current), attempt)
}

func (w *walk) definition() (runbook.Step, error) {
	steps, err := definitions(w.state.Runbook, w.run.Kind, w.run.PhaseName)
	if err != nil {
		return runbook.Step{}, err
	}
	if w.run.Current >= len(steps) {
		return runbook.Step{}, fmt.Errorf("engine: runbook %s version %d has no step %d in %q", w.run.Runbook, w.run.Version, w.run.Current, w.run.PhaseName)
	}
	return steps[w.run.Current], nil
}

// succeeded takes a worker's answer: not yet complete, or done.
func (w *walk) succeeded(result json.RawMessage) error {
	step := w.step()
	if reason := w.tooLarge("result", result); reason != "" {
		w.abort(reason)
		return nil
	}
	step.Result = result
	answer := readAnswer(result)
	if answer.incomplete {
		if step.PollInterval <= 0 {
			w.failed("the function answered that it is not complete, and the step does not poll")
			return nil
		}
		if step.PollStartedAt == nil {
			step.PollStartedAt = &w.now
		}
		step.Status, step.LastPolledAt = StepPolling, &w.now
		return nil
	}
	definition, err := w.definition()
	if err != nil {
		return err
	}
	if err := w.keepOutputs(definition.OutputParams, answer); err != nil {
		w.abort(err.Error())
		return nil
	}
	step.Status, step.CompletedAt, step.Error = StepSucceeded, &w.now, ""
	if w.run.Current == len(w.run.Steps)-1 {
		w.end(RunSucceeded, "")
		return nil
	}
	w.run.Current++
	return w.dispatch("attempt-1")
}

// failed takes a failure: another try where the policy has one left, else the end.
func (w *walk) failed(reason string) {
	step := w.step()
	step.Error = clip(reason)
	if step.RetryCount >= step.MaxRetries {
		w.abort(reason)
		return
	}
	after := w.now.Add(step.RetryInterval)
	step.RetryCount++
	step.Status, step.JobID, step.RetryAfter, step.PollStartedAt = StepPending, "", &after, nil
}

// abort fails the step in hand for good, and the run with it.
func (w *walk) abort(reason string) {
	step := w.step()
	reason = clip(reason)
	step.Status, step.CompletedAt, step.Error = StepFailed, &w.now, reason
	w.end(RunFailed, w.because(reason))
}

func (w *walk) because(reason string) string {
	return fmt.Sprintf("step %q: %s", w.step().Name, reason)
}

// end closes the run; what it had not begun is cancelled.
func (w *walk) end(status RunStatus, reason string) {
	w.run.Status, w.run.EndedAt, w.run.Error = status, &w.now, reason
	for i := range w.run.Steps {
		if s := &w.run.Steps[i]; !s.Status.Terminal() {
			s.Status, s.CompletedAt, s.RetryAfter = StepCancelled, &w.now, nil
		}
	}
}

// decision completes the decision: what the run's new state asks for, and what
// its end means for the member or, for init, for the batch.
func (w *walk) decision() (Decision, error) {
	run := w.run
	run.WakeAt = nil
	if !run.Status.Terminal() {
		effects := run.Outstanding()
		for _, e := range effects {
			switch e := e.(type) {
			case Poll:
				run.WakeAt = &e.At
			case Retry:
				run.WakeAt = &e.At
			}
		}
		return Decision{Run: run, Effects: effects}, nil
	}
	if run.Kind == KindInit {
		if w.state.Batch == nil {
			return Decision{}, ErrBatchNeeded
		}
		b := w.state.Batch.clone()
		return Decision{Run: run, Batch: b, Effects: endInit(b, run, w.now)}, nil
	}
	if w.state.Member == nil {
		return Decision{}, ErrMemberNeeded
	}
	m, effects := leave(w.state.Member, run, w.now)
	if n := size(m.WorkerData); run.Status == RunSucceeded && n > MaxWorkerData {
		run.Outputs = nil
		w.abort(fmt.Sprintf("with its outputs the member would carry %d bytes of them; at most %d can be stored", n, MaxWorkerData))
		m, effects = leave(w.state.Member, run, w.now)
	}
	run.Next = m.OpenPhase
	return Decision{Run: run, Member: m, Effects: append([]Effect{Count{Outcome: run.Status}}, effects...)}, nil
}

func nextPoll(s Step) time.Time {
	at := s.LastPolledAt.Add(s.PollInterval)
	if timeout := s.PollStartedAt.Add(s.PollTimeout); timeout.Before(at) {
		return timeout
	}
	return at
}
