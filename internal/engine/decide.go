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
	Gate    Gate             // of events on a run: what its batch allows

	// Of MemberRetried: all runs and shards of the member, by phase, and the
	// runbook's versions that the batch's executions follow.
	Runs     []*Run
	Shards   map[int]*Shard
	Runbooks map[int]*runbook.Runbook
}

// Gate is what a batch allows its runs. What a run has in hand is carried to its
// result in any case.
type Gate int

// The gates of a batch.
const (
	Open    Gate = iota // all goes on
	Paused              // nothing is dispatched: it waits
	Stopped             // the batch is cancelled: nothing more is dispatched
)

// Gate is what the batch allows its runs.
func (b *Batch) Gate() Gate {
	switch {
	case b.Status == BatchCancelling || b.Status == BatchCancelled:
		return Stopped
	case b.Paused != nil:
		return Paused
	}
	return Open
}

// Decision is the outcome of an event: the next state of what changed and what is
// to be done once that is stored.
type Decision struct {
	Batch   *Batch   // nil: unchanged
	Run     *Run     // nil: unchanged
	Member  *Member  // nil: unchanged
	Runs    []*Run   // of MemberRetried: those that changed, or are new
	Shards  []*Shard // of MemberRetried: those that changed
	Effects []Effect
	// Repeated: the event was applied before. Nothing changes, and Effects are
	// those that followed from it then.
	Repeated bool
	// Stale: the event is for something that has moved on or ended. Nothing
	// changes and nothing is to be done.
	Stale bool
}

// Errors that ask for more state, for the caller to load it and decide again, and
// the one that asks to decide again later, when what is under way is done.
var (
	ErrMemberNeeded = errors.New("engine: the decision needs the member")
	ErrBatchNeeded  = errors.New("engine: the decision needs the batch")
	ErrNotYet       = errors.New("engine: what is under way for the member, or its page, is to be done first")
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
	// Deadline sends a deadline-check for a dispatched step at a time. Deadlines
	// that a tick of the scheduler comes before are left to it.
	Deadline struct {
		Step int
		At   time.Time
	}
	// Hold sees to it that the run is released where its batch is, by now, no
	// longer paused.
	Hold struct{}
	// Count adds an ended run to its shard.
	Count struct{ Outcome RunStatus }
	// CountFailure adds a failed run to what the stop_when of its phase counts.
	CountFailure struct{}
	// Leave adds an ended removal run to its execution.
	Leave struct{ Outcome RunStatus }
	// StartNext starts the run that waited for the member to leave this one.
	StartNext struct{ Phase int }
	// Announce sends phase-due, or batch-init for the init sequence. Again tells an
	// announcement from the ones that came too early or were held up; empty for the
	// first.
	Announce struct {
		Phase int
		Again string
	}
	// WalkOn dispatches a phase to a page that was added while it was walked.
	WalkOn struct{ Phase, Page int }
	// Merge starts a phase's on_complete steps.
	Merge struct{ Phase int }
	// CatchUp brings a page of late members to where the others are.
	CatchUp struct{ Join }
	// Remove sends member-removed for the decision's member.
	Remove struct{}
	// Release lets the runs go on that waited for the batch to be resumed.
	Release struct{}
	// Stop ends the runs of a cancelled batch.
	Stop struct{}
	// Revoke tells the workers not to begin the batch's jobs that were dispatched by then.
	Revoke struct{ Through time.Time }
)

func (Dispatch) effect()     {}
func (Poll) effect()         {}
func (Retry) effect()        {}
func (Deadline) effect()     {}
func (Hold) effect()         {}
func (Count) effect()        {}
func (CountFailure) effect() {}
func (Leave) effect()        {}
func (StartNext) effect()    {}
func (Announce) effect()     {}
func (WalkOn) effect()       {}
func (Merge) effect()        {}
func (CatchUp) effect()      {}
func (Remove) effect()       {}
func (Release) effect()      {}
func (Stop) effect()         {}
func (Revoke) effect()       {}

// Event is something that happened.
type Event interface{ event() }

// Events on a run need the Run, its Runbook and its batch's Gate.
type (
	// RunStarted: a run may begin. Needs a member's run's Member.
	RunStarted struct{}
	// StepResult: a worker answered.
	StepResult struct {
		Step       int
		JobID      string
		OK         bool
		Result     json.RawMessage
		Error      string
		RetryAfter time.Duration // what the worker asks for, at least, before a retry; 0: nothing
		Expired    bool          // the worker came to the job too late to begin it
		Revoked    bool          // the worker did not begin the job because its batch was paused or cancelled
		// Redelivered: the job that the worker did not begin had come again, and an earlier
		// delivery of it may still run.
		Redelivered bool
	}
	// PollDue: it is time to poll for the Count-th time.
	PollDue struct{ Step, Count int }
	// RetryDue: it is time for the Count-th retry.
	RetryDue struct{ Step, Count int }
	// DeadlineDue: a job may have been in flight for too long. Queued: it is known to wait
	// for its worker. Cause says, where it is known, why no result has come.
	DeadlineDue struct {
		Step   int
		JobID  string
		Queued bool
		Cause  string
	}
	// RunReleased: the run's batch is no longer paused. Task names the work that
	// found so.
	RunReleased struct{ Task string }
	// RunStopped: the run is to end without going on: its batch is cancelled, or its
	// member removed. A run that is rolling back is left to it.
	RunStopped struct{ Reason string }
	// StepResolved: an administrator skips a step, or marks it done with what its
	// function would have answered.
	StepResolved struct {
		Step   int
		Skip   bool
		Result json.RawMessage
		By     Mark
	}
)

// Events on a batch need the Batch.
type (
	// Advanced: an administrator starts the named phase of a manual batch, which is the
	// next one; "init" is the init sequence.
	Advanced struct{ Phase string }
	// PhaseDue: a phase's time has come, or the init sequence's.
	PhaseDue struct{ Phase int }
	// PhaseWalked: the runs of all pages of a phase exist and are started; for the
	// init sequence, its one run is.
	PhaseWalked struct{ Phase, Pages int }
	// PhaseCounted: a shard, or a removal run, has reported to its phase.
	PhaseCounted struct{ Phase int }
	// FailureCounted: a failed run was added to what the stop_when of its phase counts.
	FailureCounted struct{ Phase int }
	// PhaseApproved: an administrator lets a phase begin, whatever its gates say.
	PhaseApproved struct {
		Phase int
		By    Mark
	}
	// BatchPaused: nothing more is to be dispatched for now.
	BatchPaused struct{ By Mark }
	// BatchResumed: it is to go on.
	BatchResumed struct{}
	// BatchStopped: an administrator cancels the batch.
	BatchStopped struct{ By Mark }
	// BatchDrained: no run of a cancelled batch is open.
	BatchDrained struct{}
	// BatchFilled: the members that a batch was made for are written.
	BatchFilled struct{}
	// MembersJoined: so many members, of one page, are added to a batch. Key is the
	// first one's. Shared: they may be in other batches.
	MembersJoined struct {
		Members int
		Key     string
		Shared  bool
	}
	// SecretsErased: the secrets that a batch that has ended still had are erased.
	SecretsErased struct{}
	// PageCaughtUp: the runs of late members exist wherever the others' do.
	PageCaughtUp struct{ Page int }
	// MemberLeft: a member is removed, by an administrator or, where By is empty, for
	// the source no longer has them. Needs Member, and Runbook of the batch's version.
	MemberLeft struct{ By string }
	// RemovalsHeld: the source lacks so many of the batch's active members that an
	// administrator is to say whether they are to go. None withdraws it: they are back,
	// or few enough.
	RemovalsHeld struct {
		Members, Of int
		Reason      string
	}
	// RemovalsConfirmed: an administrator lets the members go whose removal is held.
	RemovalsConfirmed struct{ By Mark }
	// RemovalsDiscarded: an administrator keeps them.
	RemovalsDiscarded struct{ By Mark }
	// RemovalsDone: those whose removal was confirmed are removed.
	RemovalsDone struct{}
	// MembersKept: so many members are by now kept though the source lacks them. Some
	// of those whom an administrator kept are back in it, or were removed by hand.
	MembersKept struct{ Count int }
	// MemberRetried: a member who failed tries again, with the step that failed
	// resolved first where an administrator says so. Task names the request. Needs
	// Member, Runs, Shards and Runbooks.
	MemberRetried struct {
		Task    string
		Resolve *StepResolved
	}
	// SequenceRetried: an init sequence, or on_complete steps, that failed try again,
	// with the step that failed resolved first where an administrator says so. Needs
	// the Run and, to resolve a step, its Runbook.
	SequenceRetried struct {
		Task    string
		Resolve *StepResolved
	}
	// VersionPublished: the runbook has a newer version, which is the Runbook.
	VersionPublished struct {
		Version   int
		Rerun     bool // phases that are past due, too
		RerunInit bool
	}
)

func (RunStarted) event()        {}
func (StepResult) event()        {}
func (PollDue) event()           {}
func (RetryDue) event()          {}
func (DeadlineDue) event()       {}
func (RunReleased) event()       {}
func (RunStopped) event()        {}
func (StepResolved) event()      {}
func (Advanced) event()          {}
func (PhaseDue) event()          {}
func (PhaseWalked) event()       {}
func (PhaseCounted) event()      {}
func (FailureCounted) event()    {}
func (PhaseApproved) event()     {}
func (BatchPaused) event()       {}
func (BatchResumed) event()      {}
func (BatchStopped) event()      {}
func (BatchDrained) event()      {}
func (BatchFilled) event()       {}
func (MembersJoined) event()     {}
func (SecretsErased) event()     {}
func (PageCaughtUp) event()      {}
func (MemberLeft) event()        {}
func (RemovalsHeld) event()      {}
func (RemovalsConfirmed) event() {}
func (RemovalsDiscarded) event() {}
func (RemovalsDone) event()      {}
func (MembersKept) event()       {}
func (MemberRetried) event()     {}
func (SequenceRetried) event()   {}
func (VersionPublished) event()  {}

// Refusal is an event that the state does not allow, told to whoever asked.
type Refusal struct{ Reason string }

func (r *Refusal) Error() string { return r.Reason }

func refuse(format string, args ...any) *Refusal {
	return &Refusal{Reason: fmt.Sprintf(format, args...)}
}

// Decide takes one decision. It changes nothing that it is given. Its errors are
// ErrMemberNeeded, ErrBatchNeeded, ErrNotYet, a *Refusal, or a broken state.
func Decide(s State, e Event, now time.Time) (Decision, error) {
	now = now.UTC()
	switch e.(type) {
	case RunStarted, StepResult, PollDue, RetryDue, DeadlineDue, RunReleased, RunStopped, StepResolved:
		if s.Run == nil || s.Runbook == nil {
			return Decision{}, fmt.Errorf("engine: %T without a run and its runbook", e)
		}
		return decideRun(s, e, now)
	}
	if s.Batch == nil {
		return Decision{}, ErrBatchNeeded
	}
	return decideBatch(s, e, now)
}
