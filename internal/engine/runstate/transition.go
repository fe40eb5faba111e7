// Package runstate is the state machine of one run: a member's passage through a phase, an
// init sequence, on_complete steps or removal steps. Decide applies an event to a run and
// returns the changes, the messages and the follow-up events.
//
// It must not know how phases and batches go on. The end of a run without a member is carried
// over to its batch by a function that Decide gets.
package runstate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// EventStart is the name of RunStarted in Run.LastEvent.
const EventStart = "start"

// SequenceEnded carries the end of a run without a member over to the batch, and gives what
// follows from it.
type SequenceEnded func(b *model.Batch, run *model.Run, now time.Time) ([]model.Message, []model.Event)

// transition is one decision on a run in the making: the run as it is so far, and what the
// decision has loaded.
type transition struct {
	state         model.State
	sequenceEnded SequenceEnded
	rb            *runbook.Runbook // the version that the run follows
	mode          model.DispatchMode
	run           *model.Run
	definitions   []runbook.Step // of the run's steps, in rb
	member        *model.Member  // nil: not loaded
	memberChanged bool           // the member's BusyUntil or UndoingUntil changed
	made          *model.Batch   // the batch by which the run, which has no member, is made; nil: the run is stored
	claims        []*model.CacheEntry
	yielded       bool // the run has yielded with this decision
	now           time.Time
	secrets       map[string]json.RawMessage // that the step in hand uses
	outputs       string                     // key of the artifact with the outputs of the phase's members, where that step uses it
}

// newTransition returns a transition with the definitions of the run's steps. It fails if the version
// that the run follows does not have them.
func newTransition(t transition) (*transition, error) {
	t.definitions = make([]runbook.Step, len(t.run.Steps))
	for i := range t.run.Steps {
		var err error
		if t.definitions[i], err = t.run.Definition(t.rb, i); err != nil {
			return nil, err
		}
	}
	return &t, nil
}

// loadMember gives the member of the run.
func (t *transition) loadMember() (*model.Member, error) {
	if t.member == nil {
		m, err := t.state.LoadMember(t.run.Member)
		if err != nil {
			return nil, err
		}
		t.member = m
	}
	return t.member, nil
}

// apply applies an event that is for the run as it stands.
func (t *transition) apply(e model.RunEvent) error {
	switch e := e.(type) {
	case model.RunStarted:
		return t.start()
	case model.StepResult:
		if t.mayStillRun(e) {
			t.awaitEarlier(e)
			return nil
		}
		step := t.step()
		step.Refused, step.PollAt, step.PollSent = nil, nil, false
		if e.Revoked {
			return t.onRevoked(e.Error)
		}
		if e.Expired {
			return t.onExpired(e.Error)
		}
		switch {
		case e.OK:
		case e.NotFound && t.definition().Poll != nil:
			return t.onIncomplete(e.Error)
		case e.Permanent:
			return t.failStep(e.Error)
		default:
			return t.onFailed(e.Error, e.RetryAfter)
		}
		return t.onSucceeded(e.Result)
	case model.PollDue:
		return t.poll()
	case model.RetryDue:
		return t.dispatchWaiting()
	}
	return fmt.Errorf("runstate: %T does not concern a run", e)
}

// step is the step in hand.
func (t *transition) step() *model.Step { return &t.run.Steps[t.run.Current] }

// load gets what every decision on a run needs. A run without a member that is not there is
// made, where its batch has come to it; ok is false where it has not.
func load(s model.State, on model.OnRun, ended SequenceEnded, now time.Time) (t *transition, ok bool, err error) {
	run, err := s.LoadRun(on.Phase, on.Member)
	if err != nil {
		return nil, false, err
	}
	var made *model.Batch
	if run == nil {
		if run, made, err = makeSequence(s, on, now); run == nil || err != nil {
			return nil, false, err
		}
	}
	rb, err := s.LoadRunbook(run.Runbook, run.Version)
	if err != nil {
		return nil, false, err
	}
	if t, err = newTransition(transition{state: s, sequenceEnded: ended, rb: rb, run: run.Clone(), made: made, now: now}); err != nil {
		return nil, false, err
	}
	if needsBatch(on.RunEvent) {
		if _, err := s.LoadBatch(); err != nil {
			return nil, false, err
		}
	}
	if t.mode, err = s.LoadDispatchMode(); err != nil {
		return nil, false, err
	}
	return t, true, t.noteBatchEnd()
}

// needsBatch reports whether the batch is loaded for an event on a run: a paused run is released
// only by the stored batch, and after a repair the summary of the batch is written if it is not.
func needsBatch(e model.RunEvent) bool {
	switch e.(type) {
	case model.RunReleased, model.RunMended:
		return true
	}
	return false
}

// makeSequence makes the run of an init sequence, or of on_complete or detached steps, that is to
// start; nil where its batch has not come to it, or is cancelled. It returns the batch, too.
func makeSequence(s model.State, on model.OnRun, now time.Time) (*model.Run, *model.Batch, error) {
	if _, starts := on.RunEvent.(model.RunStarted); !starts || on.Member != 0 {
		return nil, nil, nil
	}
	b, err := s.LoadBatch()
	if err != nil {
		return nil, nil, err
	}
	p, ok := b.Phase(on.Phase)
	if !ok || p.Status != model.PhaseDispatched || p.Kind == model.KindPhase && p.OnCompleteStatus != model.RunRunning || b.DispatchMode() == model.Cancelled {
		return nil, nil, nil
	}
	rb, err := s.LoadRunbook(b.Runbook, p.Version)
	if err != nil {
		return nil, nil, err
	}
	run, err := New(b, *p, nil, rb, now)
	if err == nil && p.Kind == model.KindDetached {
		err = takeOutputs(s, &run, p.Of)
	}
	return &run, b, err
}

// takeOutputs gives a run of detached steps the outputs of the on_complete steps before them. It does not
// load their run alone: that could be out of date, and this decision does not write it.
func takeOutputs(s model.State, run *model.Run, phase int) error {
	runs, err := s.LoadRunsOf(0)
	for _, before := range runs {
		if before.Phase == phase {
			run.Outputs = maps.Clone(before.Outputs)
		}
	}
	return err
}

// Decide applies an event to a run: what it changes is a copy. ended carries the end of an
// init sequence, or of on_complete steps, over to the batch.
func Decide(s model.State, on model.OnRun, ended SequenceEnded, now time.Time) (model.Decision, error) {
	t, ok, err := load(s, on, ended, now)
	if err != nil || !ok {
		return model.Decision{Stale: true}, err
	}
	d, err := t.decide(on.RunEvent)
	if _, starts := on.RunEvent.(model.RunStarted); starts && err == nil && t.run.Member == 0 {
		// Only now: as long as the run is not stored, another process may store and not send it.
		d.Next = append(d.Next, model.SequenceSent{Phase: t.run.Phase})
		d.Stale, d.Repeated = false, d.Stale || d.Repeated
	}
	if t.made != nil && d.Batch == nil && err == nil {
		// The write fails if the batch is cancelled at this moment. Otherwise the batch could end
		// before the run is stored: it ends when no run is open.
		d.Batch = t.made.Clone()
	}
	return d, err
}

// decide applies an event to the run that is loaded.
func (t *transition) decide(e model.RunEvent) (model.Decision, error) {
	switch e := e.(type) {
	case model.DeadlineDue:
		return t.onDeadline(e)
	case model.RunReleased:
		return t.onReleased(e)
	case model.RunCancelRequested:
		return t.onCancelRequested(e)
	case model.StepResolved:
		return t.onResolved(e)
	case model.RunMended:
		return t.repeat(), nil
	}
	id, applies := matchEvent(t.run, e, t.now)
	if id == EventStart && applies && t.run.Member != 0 {
		m, err := t.loadMember()
		if err != nil {
			return model.Decision{}, err
		}
		if m.OpenPhase != t.run.Phase && !slices.Contains(m.Queue, t.run.Phase) {
			// The run has ended since it was loaded. The process that ended it may have died before
			// it decided what follows.
			return model.Decision{}, model.ErrOutdated
		}
		applies = m.OpenPhase == t.run.Phase // or the start came late, and comes again in its turn
	}
	switch {
	case id == t.run.LastEvent:
		return t.repeat(), nil
	case !applies:
		return t.onLate(e)
	}
	t.run.LastEvent = id
	if err := t.apply(e); err != nil {
		return model.Decision{}, err
	}
	return t.decision()
}

// Begin starts a new run of a member who has just entered it, and writes both. The decision
// owns and changes them.
func Begin(s model.State, rb *runbook.Runbook, mode model.DispatchMode, run *model.Run, m *model.Member, now time.Time) (model.Decision, error) {
	t, err := newTransition(transition{state: s, rb: rb, mode: mode, run: run, member: m, memberChanged: true, now: now})
	if err != nil {
		return model.Decision{}, err
	}
	t.run.LastEvent = EventStart
	if err := t.start(); err != nil {
		return model.Decision{}, err
	}
	return t.decision()
}

// matchEvent names an event and tells whether it is for the run as it stands.
func matchEvent(run *model.Run, e model.RunEvent, now time.Time) (id string, applies bool) {
	var index int
	var fits func(model.Step) bool
	switch e := e.(type) {
	case model.RunStarted:
		return EventStart, run.Status == model.RunWaiting
	case model.StepResult:
		id, index = jobEvent("result", run, e.Step, e.JobID), e.Step
		if notBegun(e) && e.Redelivered { // the result of an earlier delivery may follow
			id = jobEvent("refusal", run, e.Step, e.JobID)
		}
		fits = func(model.Step) bool { return run.AwaitsJob(e.Step, e.JobID) }
	case model.PollDue:
		id, index = fmt.Sprintf("poll:%d:%d", e.Step, e.Count), e.Step
		fits = func(s model.Step) bool {
			return s.Status == model.StepPolling && !s.PollSent && s.PollCount+1 == e.Count
		}
	case model.RetryDue:
		id, index = fmt.Sprintf("retry:%d:%d", e.Step, e.Count), e.Step
		if e.Wait > 0 {
			id += fmt.Sprintf(":%d", e.Wait)
		}
		fits = func(s model.Step) bool {
			// A message of an earlier postponement must not end a later one.
			early := s.Postponed && now.Before(s.RetryAfter.Add(-model.ClockSlack))
			return s.Status == model.StepPending && s.RetryAfter != nil && s.RetryCount == e.Count && s.Waits == e.Wait && !early
		}
	}
	return id, inHand(run, index) && run.PausedAt == nil && fits(run.Steps[index])
}

// jobEvent names an event about a job of the step at index.
func jobEvent(kind string, run *model.Run, index int, jobID string) string {
	return fmt.Sprintf("%s:%d:%s", kind, index, run.ShortJobID(index, jobID))
}

// inHand tells whether the step at index is the one that the run is at.
func inHand(r *model.Run, index int) bool {
	return !r.Status.Terminal() && r.Status != model.RunWaiting && index == r.Current
}
