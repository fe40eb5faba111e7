package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// State is what a decision is taken on. Only what the event concerns need be
// there; ErrMemberNeeded and ErrBatchNeeded ask for more.
type State struct {
	Batch   *Batch
	Run     *Run
	Member  *Member
	Runbook *runbook.Runbook // the version that the run, or the phase, follows
}

// Decision is the outcome of an event: the next state of what changed and what is
// to be done once that is stored.
type Decision struct {
	Batch   *Batch  // nil: unchanged
	Run     *Run    // nil: unchanged
	Member  *Member // nil: unchanged
	Effects []Effect
	// Repeated: the event was applied before. Nothing changes, and Effects are
	// those that followed from it then.
	Repeated bool
	// Stale: the event is for something that has moved on or ended. Nothing
	// changes and nothing is to be done.
	Stale bool
}

// Errors that ask for more state, for the caller to load it and decide again.
var (
	ErrMemberNeeded = errors.New("engine: the decision needs the member")
	ErrBatchNeeded  = errors.New("engine: the decision needs the batch")
)

// Effect is something to do after the decision is stored. Every effect can be
// repeated without harm.
type Effect interface{ effect() }

type (
	// Dispatch sends the job of a step that the run has as dispatched.
	Dispatch struct{ Step int }
	// Poll sends a poll-check for a polling step at a time.
	Poll struct {
		Step int
		At   time.Time
	}
	// Retry sends a retry-check for a pending step at a time.
	Retry struct {
		Step int
		At   time.Time
	}
	// Count adds an ended run to its shard.
	Count struct{ Outcome RunStatus }
	// StartNext starts the run that waited for the member to leave this one.
	StartNext struct{ Phase int }
	// Announce sends phase-due, or batch-init for the init sequence. Begun tells
	// an announcement of what was held up from the ones that came too early: it is
	// the number of phases that had begun by then, 0 for any other.
	Announce struct{ Phase, Begun int }
)

func (Dispatch) effect()  {}
func (Poll) effect()      {}
func (Retry) effect()     {}
func (Count) effect()     {}
func (StartNext) effect() {}
func (Announce) effect()  {}

// Event is something that happened.
type Event interface{ event() }

type (
	// RunStarted: a run may begin. Needs Run, Runbook and, for a member's, Member.
	RunStarted struct{}
	// StepResult: a worker answered. Needs Run and Runbook.
	StepResult struct {
		Step   int
		JobID  string
		OK     bool
		Result json.RawMessage
		Error  string
	}
	// PollDue: it is time to poll for the Count-th time. Needs Run and Runbook.
	PollDue struct{ Step, Count int }
	// RetryDue: it is time for the Count-th retry. Needs Run and Runbook.
	RetryDue struct{ Step, Count int }
	// Advanced: an administrator moves a manual batch on. Needs Batch.
	Advanced struct{}
	// PhaseDue: a phase's time has come, or the init sequence's. Needs Batch.
	PhaseDue struct{ Phase int }
	// PhaseWalked: the runs of all pages of a phase exist and are started; for the
	// init sequence, its one run is. Needs Batch.
	PhaseWalked struct{ Phase, Pages int }
	// PhaseCounted: a shard has reported to its phase. Needs Batch.
	PhaseCounted struct{ Phase int }
)

func (RunStarted) event()   {}
func (StepResult) event()   {}
func (PollDue) event()      {}
func (RetryDue) event()     {}
func (Advanced) event()     {}
func (PhaseDue) event()     {}
func (PhaseWalked) event()  {}
func (PhaseCounted) event() {}

// Refusal is an event that the state does not allow, told to whoever asked.
type Refusal struct{ Reason string }

func (r *Refusal) Error() string { return r.Reason }

// Decide takes one decision. It changes nothing that it is given. Its errors are
// ErrMemberNeeded, ErrBatchNeeded, a *Refusal, or a broken state.
func Decide(s State, e Event, now time.Time) (Decision, error) {
	now = now.UTC()
	switch e := e.(type) {
	case RunStarted, StepResult, PollDue, RetryDue:
		if s.Run == nil || s.Runbook == nil {
			return Decision{}, fmt.Errorf("engine: %T without a run and its runbook", e)
		}
		return decideRun(s, e, now)
	case Advanced, PhaseDue, PhaseWalked, PhaseCounted:
		if s.Batch == nil {
			return Decision{}, ErrBatchNeeded
		}
		return decideBatch(s, e, now)
	default:
		return Decision{}, fmt.Errorf("engine: unknown event %T", e)
	}
}
