package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// State loads what decisions on one batch read. A decision asks only for what it needs,
// and for the same document twice it gets the same value. What it is given it never
// changes. An error of a load ends the decision and is its error.
type State interface {
	LoadBatch() (*Batch, error)
	// LoadGate is the batch's gate. It may be a moment old where it is Open.
	LoadGate() (Gate, error)
	// LoadRun is nil where there is no such run. Member 0 is the run of an init sequence
	// or of on_complete steps.
	LoadRun(phase, member int) (*Run, error)
	LoadMember(member int) (*Member, error)
	// LoadRunsOf is all runs of a member, in the order of their executions.
	LoadRunsOf(member int) ([]*Run, error)
	// LoadPage is the members of one page, in the order of their ids.
	LoadPage(page int) ([]*Member, error)
	// LoadPageRuns is the runs of one page in one execution, in the order of their members.
	LoadPageRuns(phase, page int) ([]*Run, error)
	// LoadShard is nil where the page was not fanned out in the execution.
	LoadShard(phase, page int) (*Shard, error)
	LoadRunbook(name string, version int) (*runbook.Runbook, error)
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

// Decision is the outcome of an event: what is stored in one atomic write, the messages
// that are sent once that is stored, and the events that are decided after that, in their
// order, each with what follows from it before the one behind it. A process may die
// between any two of these: the event comes again, and its decision, which is then
// Repeated, asks for the same messages and events.
type Decision struct {
	Writes
	Messages []Message
	Next     []Event
	// Repeated: the event was applied before. Nothing is written.
	Repeated bool
	// Stale: the event is for something that has moved on or ended. Nothing is written,
	// sent or decided.
	Stale bool
}

// Writes are the documents that a decision changes, each as a whole, and the counters
// that it adds to without reading them. All belong to one batch.
type Writes struct {
	Batch   *Batch    // nil: unchanged
	Members []*Member // changed
	Runs    []*Run    // changed, or new
	Shards  []*Shard  // changed, or new
	Counts  []Count
}

// Empty reports whether there is nothing to write.
func (w *Writes) Empty() bool {
	return w.Batch == nil && len(w.Members)+len(w.Runs)+len(w.Shards)+len(w.Counts) == 0
}

// Count adds to counters that many decisions change at once.
type Count interface{ count() }

type (
	// CountRun counts a run in its shard: as one that ended, where there is an Outcome,
	// and as one that yielded (see Run.Yielded), where it is the first time.
	CountRun struct {
		Phase, Page int
		Outcome     RunStatus
		Yields      bool
	}
	// CountShard counts a shard that is done in its phase.
	CountShard struct{ Phase, Succeeded, Failed, Cancelled int }
	// CountFailures counts failed runs in what the stop_when of their phase looks at.
	CountFailures struct{ Phase, Failed int }
	// MarkSent notes that the jobs which the runs of a shard began with are all sent.
	MarkSent struct{ Phase, Page int }
	// CountRemoval counts an ended removal run in its execution.
	CountRemoval struct {
		Phase   int
		Outcome RunStatus
	}
)

func (CountRun) count()      {}
func (CountShard) count()    {}
func (CountFailures) count() {}
func (MarkSent) count()      {}
func (CountRemoval) count()  {}

// ErrNotYet asks to decide again later, when what is under way is done.
var ErrNotYet = errors.New("engine: what is under way for the member, or its page, is to be done first")

// ErrOutdated asks to load the state anew and to decide again: two of its documents do not
// fit together.
var ErrOutdated = errors.New("engine: the state was loaded while it changed")

// Message is a message to send after the decision is stored. Its id derives from the
// state, so that the same message sent again is known to be the same.
type Message interface{ message() }

type (
	// Dispatch sends the job of a step that the run has as dispatched.
	Dispatch struct {
		Run  *Run
		Step int
	}
	// Poll sends a poll-check for a polling step at a time.
	Poll struct {
		Run  *Run
		Step int
		At   time.Time
	}
	// Retry sends a retry-check for a pending step at a time.
	Retry struct {
		Run  *Run
		Step int
		At   time.Time
	}
	// Deadline sends a deadline-check for a dispatched step at a time. Deadlines
	// that a tick of the scheduler comes before are left to it.
	Deadline struct {
		Run  *Run
		Step int
		At   time.Time
	}
	// Announce sends phase-due for a page of a phase, or batch-init for the init sequence.
	// Again tells an announcement from the ones that came too early or were held up; empty
	// for the first.
	Announce struct {
		Phase, Page int
		Again       string
	}
	// CatchUp sends member-added: a page of late members comes to where the others are.
	CatchUp struct{ Join }
	// Remove sends member-removed.
	Remove struct{ Member *Member }
	// Release sends batch-work: the runs go on that waited for the batch to be resumed.
	Release struct{}
	// Stop sends batch-work: the runs of a cancelled batch end.
	Stop struct{}
	// Revoke tells the workers not to begin the batch's jobs that were dispatched by then.
	Revoke struct{ Through time.Time }
)

func (Dispatch) message() {}
func (Poll) message()     {}
func (Retry) message()    {}
func (Deadline) message() {}
func (Announce) message() {}
func (CatchUp) message()  {}
func (Remove) message()   {}
func (Release) message()  {}
func (Stop) message()     {}
func (Revoke) message()   {}

// Event is something that happened to a batch, to one of its members or to one of their
// runs.
type Event interface{ event() }

// OnRun is an event on one run. Member 0 has the run of an init sequence, or of a phase's
// on_complete steps.
type OnRun struct {
	Phase, Member int
	RunEvent
}

func (OnRun) event() {}

// RunEvent is something that happened to a run.
type RunEvent interface{ runEvent() }

type (
	// RunStarted: a run may begin. A run without a member is made by it.
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
	// Silent: the worker has sent no heartbeat for longer than one that runs would. That
	// is taken for its end when a later deadline finds it again: after an outage of the
	// broker, deadlines can come before the heartbeats.
	DeadlineDue struct {
		Step   int
		JobID  string
		Queued bool
		Silent bool
		Cause  string
	}
	// RunReleased: the run's batch is no longer paused. Task names the work that
	// found so.
	RunReleased struct{ Task string }
	// RunStopped: the run is to end without going on: its batch is cancelled, or its
	// member removed. A run that is rolling back is left to it.
	RunStopped struct{ Reason string }
	// RunMended: what follows from the state of a run may have been cut short.
	RunMended struct{}
	// StepResolved: an administrator skips a step, or marks it done with what its
	// function would have answered.
	StepResolved struct {
		Step   int
		Skip   bool
		Result json.RawMessage
		By     Mark
	}
)

type (
	// Advanced: an administrator starts the named phase of a manual batch, which is the
	// next one; "init" is the init sequence.
	Advanced struct{ Phase string }
	// PhaseDue: a phase's time has come, or the init sequence's; or its fan-out to a page
	// behind the first.
	PhaseDue struct {
		Phase, Page int
		Again       string // of the announcement
	}
	// PhaseWalked: the runs of all pages of a phase exist and are started; for the
	// init sequence, its one run is.
	PhaseWalked struct{ Phase, Pages int }
	// PageDue: the fan-out of a phase has come to a page. Split makes the runs without
	// starting them, for where they do not fit into one write with their parameters.
	PageDue struct {
		Phase, Page int
		Split       bool
	}
	// PageResumed: the runs of a page may not all have been started.
	PageResumed struct{ Phase, Page int }
	// PageBegun: the fan-out of a phase is to go on behind a page. Again is of the
	// announcement that it goes by.
	PageBegun struct {
		Phase, Page int
		Again       string
	}
	// PageSent: the jobs which the runs of a page began with are all sent.
	PageSent struct{ Phase, Page int }
	// ShardCounted: a run was counted in its shard. Yields: as one that yielded. Again: it
	// was before, and what followed from that may have been cut short.
	ShardCounted struct {
		Phase, Page   int
		Yields, Again bool
	}
	// SequenceSent: the job that the on_complete steps of a phase began with is sent.
	SequenceSent struct{ Phase int }
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
	// CatchUpDue: a page of late members is to come to where the others are.
	CatchUpDue struct{ Page int }
	// PageCaughtUp: the runs of late members exist wherever the others' do.
	PageCaughtUp struct{ Page int }
	// MemberLeft: a member is removed, by an administrator or, where By is empty, because
	// the source no longer has them.
	MemberLeft struct {
		Member int
		By     string
	}
	// RemovalDue: what the removal of a member asks for is to be set going.
	RemovalDue struct{ Member int }
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
	// resolved first where an administrator says so. Task names the request.
	MemberRetried struct {
		Member  int
		Task    string
		Resolve *StepResolved
	}
	// SequenceRetried: an init sequence, or on_complete steps, that failed try again,
	// with the step that failed resolved first where an administrator says so.
	SequenceRetried struct {
		Phase   int
		Task    string
		Resolve *StepResolved
	}
	// VersionPublished: the runbook has a newer version.
	VersionPublished struct {
		Version   int
		Rerun     bool // phases that are past due, too
		RerunInit bool
	}
)

func (RunStarted) runEvent()     {}
func (StepResult) runEvent()     {}
func (PollDue) runEvent()        {}
func (RetryDue) runEvent()       {}
func (DeadlineDue) runEvent()    {}
func (RunReleased) runEvent()    {}
func (RunStopped) runEvent()     {}
func (RunMended) runEvent()      {}
func (StepResolved) runEvent()   {}
func (Advanced) event()          {}
func (PhaseDue) event()          {}
func (PhaseWalked) event()       {}
func (PageDue) event()           {}
func (PageResumed) event()       {}
func (PageBegun) event()         {}
func (PageSent) event()          {}
func (CatchUpDue) event()        {}
func (ShardCounted) event()      {}
func (SequenceSent) event()      {}
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
func (RemovalDue) event()        {}
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
// ErrNotYet, a *Refusal, one of a load, or a broken state.
func Decide(s State, e Event, now time.Time) (Decision, error) {
	now = now.UTC()
	if on, ok := e.(OnRun); ok {
		return decideRun(s, on, endOfBatchRun, now)
	}
	return decideBatch(s, e, now)
}

// decideBatch applies an event to a batch: what it changes is a copy.
func decideBatch(s State, e Event, now time.Time) (Decision, error) {
	switch e := e.(type) { // most of these concern the batch no further
	case ShardCounted:
		return shardCounted(s, e)
	case PageSent:
		return Decision{Writes: Writes{Counts: []Count{MarkSent(e)}}}, nil
	}
	stored, err := s.LoadBatch()
	if err != nil {
		return Decision{}, err
	}
	b := stored.clone()
	b.Revision++
	for _, decide := range batchDecisions {
		if d, known, err := decide(s, stored, b, e, now); known {
			return d, err
		}
	}
	return Decision{}, fmt.Errorf("engine: unknown event %T", e)
}

// batchDecisions are the groups of events on a batch. Each gets the batch as it is stored and
// a copy to change, and reports whether the event is of its group.
var batchDecisions = []func(s State, stored, b *Batch, e Event, now time.Time) (d Decision, known bool, err error){
	decidePhase, decideFanOut, decideControl, decideMembership, decideRemovalHold,
}

// decidePhase applies an event on the course of phases and sequences.
func decidePhase(s State, _, b *Batch, e Event, now time.Time) (d Decision, known bool, err error) {
	switch e := e.(type) {
	case Advanced:
		d, err = advance(b, e.Phase, now)
	case PhaseDue:
		d, err = phaseDue(b, e, now)
	case PhaseApproved:
		d, err = approved(b, e, now)
	case SequenceSent:
		d = b.sequenceSent(e)
	case PhaseCounted:
		d = counted(b, e, now)
	case FailureCounted:
		d = failureCounted(b, e, now)
	case SequenceRetried:
		d, err = sequenceRetried(s, b, e, now)
	default:
		return Decision{}, false, nil
	}
	return d, true, err
}

// decideFanOut applies an event on the fan-out of a phase, or of late members, to pages.
func decideFanOut(s State, stored, b *Batch, e Event, now time.Time) (d Decision, known bool, err error) {
	switch e := e.(type) {
	case PageDue:
		d, err = pageDue(s, stored, e, now)
	case PageResumed:
		d, err = pageResumed(s, e, now)
	case PageBegun:
		d, err = pageBegun(s, stored, e)
	case PhaseWalked:
		d = walked(b, e, now)
	case CatchUpDue:
		d = catchUpDue(stored, e)
	case PageCaughtUp:
		d = caughtUp(b, e.Page, now)
	default:
		return Decision{}, false, nil
	}
	return d, true, err
}

// decideControl applies an event on the batch as a whole.
func decideControl(s State, _, b *Batch, e Event, now time.Time) (d Decision, known bool, err error) {
	switch e := e.(type) {
	case BatchPaused:
		d, err = paused(b, e.By)
	case BatchResumed:
		d, err = resumed(b, now)
	case BatchStopped:
		d, err = stopped(b, e.By, now)
	case BatchDrained:
		d = drained(b, now)
	case BatchFilled:
		d = filled(b, now)
	case SecretsErased:
		d = secretsErased(b, now)
	case VersionPublished:
		d, err = versionPublished(s, b, e, now)
	default:
		return Decision{}, false, nil
	}
	return d, true, err
}

// decideMembership applies an event on who takes part.
func decideMembership(s State, stored, b *Batch, e Event, now time.Time) (d Decision, known bool, err error) {
	switch e := e.(type) {
	case MembersJoined:
		d, err = joined(b, e)
	case MemberLeft:
		d, err = left(s, b, e, now)
	case RemovalDue:
		d, err = removalDue(s, stored, e, now)
	case MemberRetried:
		d, err = retried(s, b, e, now)
	default:
		return Decision{}, false, nil
	}
	return d, true, err
}

// decideRemovalHold applies an event on removals that wait for an administrator.
func decideRemovalHold(_ State, _, b *Batch, e Event, now time.Time) (d Decision, known bool, err error) {
	switch e := e.(type) {
	case RemovalsHeld:
		d, err = removalsHeld(b, e, now)
	case RemovalsConfirmed:
		d, err = removalsConfirmed(b, e.By)
	case RemovalsDiscarded:
		d, err = removalsDiscarded(b)
	case RemovalsDone:
		d = removalsDone(b)
	case MembersKept:
		d, err = membersKept(b, e.Count)
	default:
		return Decision{}, false, nil
	}
	return d, true, err
}
