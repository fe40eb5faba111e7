package model

import (
	"encoding/json"
	"time"
)

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
		NotFound   bool          // the tenant does not have what the job is about
		Permanent  bool          // each retry would fail in the same way
		Expired    bool          // the worker came to the job too late to begin it
		Revoked    bool          // the worker did not begin the job because its batch was paused or cancelled
		// Redelivered: the job that the worker did not begin had come again, and an earlier
		// delivery of it may still run.
		Redelivered bool
	}
	// PollDue: it is time to poll for the Count-th time.
	PollDue struct{ Step, Count int }
	// RetryDue: it is time for the Count-th retry, or for the look after the Wait-th postponement.
	RetryDue struct{ Step, Count, Wait int }
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
	// RunReleased: the run's batch is no longer paused. Task names the work that found so; empty: the
	// process that paused the run did, and Batch.ReleaseTask sends the job if that process dies.
	RunReleased struct{ Task string }
	// RunCancelRequested: the run is to be cancelled, because its batch is cancelled or its member is
	// removed. A run that is rolling back continues.
	RunCancelRequested struct{ Reason string }
	// RunMended: what follows from the state of a run may have been cut short.
	RunMended struct{}
	// StepResolved: an administrator skips a step, or marks it done with what its
	// function would have answered.
	StepResolved struct {
		Step   int
		Skip   bool
		Result json.RawMessage
		By     Attribution
	}
)

func (RunStarted) runEvent()         {}
func (StepResult) runEvent()         {}
func (PollDue) runEvent()            {}
func (RetryDue) runEvent()           {}
func (DeadlineDue) runEvent()        {}
func (RunReleased) runEvent()        {}
func (RunCancelRequested) runEvent() {}
func (RunMended) runEvent()          {}
func (StepResolved) runEvent()       {}

type (
	// Advanced: an administrator starts the named phase of a manual batch, which is the
	// next one; "init" is the init sequence.
	Advanced struct{ Phase, By string }
	// PhaseDue: a phase's time has come, or the init sequence's; or its fan-out to a page
	// behind the first.
	PhaseDue struct {
		Phase, Page int
		FanOut      string // distinguishes it from earlier fan-outs of the phase; empty for the first
	}
	// PageDue: the fan-out of a phase has come to a page. Split makes the runs without
	// starting them, for where they do not fit into one write with their parameters.
	PageDue struct {
		Phase, Page int
		Split       bool
	}
	// PageResumed: the runs of a page may not all have been started.
	PageResumed struct{ Phase, Page int }
	// PageFannedOut: the fan-out of a phase is to go on behind a page. FanOut is as in
	// PhaseDue.
	PageFannedOut struct {
		Phase, Page int
		FanOut      string
	}
	// PageSent: the jobs which the runs of a page began with are all sent.
	PageSent struct{ Phase, Page int }
	// ShardCounted: a run was counted in its shard. Yields: as one that yielded. Again: it
	// was before, and what followed from that may have been cut short.
	ShardCounted struct {
		Phase, Page   int
		Yields, Again bool
	}
	// SequenceSent: the run of an init sequence, or of the on_complete steps of a phase, is
	// stored, and its first job is sent.
	SequenceSent struct{ Phase int }
	// PhaseCounted: a shard, or a removal run, has reported to its phase.
	PhaseCounted struct{ Phase int }
	// FailureCounted: a failed run was added to what the stop_when of its phase counts.
	FailureCounted struct{ Phase int }
	// PhaseApproved: an administrator approves a phase, which opens all its gates.
	PhaseApproved struct {
		Phase int
		By    Attribution
	}
	// BatchPaused: nothing more is to be dispatched for now.
	BatchPaused struct{ By Attribution }
	// BatchResumed: it is to go on.
	BatchResumed struct{}
	// BatchCancelRequested: an administrator cancels the batch.
	BatchCancelRequested struct{ By Attribution }
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
	// BatchCreated creates the batch document: the members of a manual batch, or of one that a request
	// starts, are written; or a data source has a new start, for which there is a batch whose members
	// MembersJoined adds.
	BatchCreated struct {
		ID               int
		Runbook          string
		Version, Members int
		Start            *time.Time // of a data source; nil: of none
		Requested        *Requested // nil: no request starts it
		By               string     // the administrator who creates a manual batch
		At               time.Time
		Shared           bool // its members may be in other batches
		Details          BatchDetails
	}
	// ChecksRequested: the checks of all members are to be made, in place of earlier results. Task
	// names the request.
	ChecksRequested struct {
		Task string
		By   string
	}
	// CheckDue: the checks of a member are to be made, as a request asks that Task names.
	CheckDue struct {
		Member int
		Task   string
	}
	// ChecksDispatched: the checks of so many pages of members are under way.
	ChecksDispatched struct {
		Task  string
		Pages int
	}
	// MembersRefreshed: the data source has other data of members than the batch.
	MembersRefreshed struct {
		Display string // the display column of the version that the data are for
		Members []RefreshedMember
	}
	// MemberCorrected: an administrator gives columns of a member other values, and withdraws
	// earlier corrections, in whose place the values of the data source come back.
	MemberCorrected struct {
		Member         int
		Set            map[string]json.RawMessage
		ClearOverrides []string
		By             string
	}
	// SecretsDue erases the secrets of one page of members, and of page 0 those of the runs without
	// a member, if the batch ended long enough ago. After the last page SecretsErased follows.
	SecretsDue struct{ Page int }
	// MemberSecretsDue erases the secrets of one member, as SecretsDue does.
	MemberSecretsDue struct{ Member int }
	// BatchRescheduled: an administrator gives the batch another start, which moves the phases that have
	// not started.
	BatchRescheduled struct {
		Start time.Time
		By    Attribution
	}
	// ItemsTaken: the items that a function listed become the members of the batch, which are written next.
	ItemsTaken struct{ Fingerprint string }
	// ItemsWritten: so many items that were taken are written as members of the batch.
	ItemsWritten struct{ Members int }
	// ItemsUnchanged: the items are those of an earlier batch, whose result is current until then.
	ItemsUnchanged struct {
		Batch       int
		Until       *time.Time // nil: it does not expire yet
		Fingerprint string
	}
	// BatchExpired: a batch that a request started is to be deleted, if it is time.
	BatchExpired struct{}
	// BatchUpdated: an administrator gives the batch other details. A nil field stays as it is.
	BatchUpdated struct{ Name, Note, Owner *string }
	// EarlierStartsReleased: no row of the batch's members has these earlier starts any more.
	EarlierStartsReleased struct{ Starts []time.Time }
	// SecretsErased: the secrets that a batch that has ended still had are erased.
	SecretsErased struct{}
	// CatchUpDue: a page of late members is to come to where the others are.
	CatchUpDue struct{ Page int }
	// PageCaughtUp: the runs of late members exist wherever the others' do.
	PageCaughtUp struct{ Page int }
	// MemberLeft: a member is removed, by an administrator or, where By is empty, because
	// the source no longer has them.
	MemberLeft struct {
		Member  int
		By      string
		MovesTo *time.Time // nil unless the member moves, with finished phases and outputs, to the batch of this start
		Move    Move       // of an administrator, to another batch in the same way, at the page behind those passed; zero for none
	}
	// MoveRequested: an administrator moves members to another batch.
	MoveRequested struct {
		Task string
		To   int
	}
	// MovePassed: those of the page at a place in the order of the task have left, by any delivery.
	MovePassed struct {
		Task  string
		Place int
	}
	// MoveDone: all members of the task are in the other batch.
	MoveDone struct{ Task string }
	// RemovalDue: what the removal of a member asks for is to be set going.
	RemovalDue struct{ Member int }
	// RemovalsHeld: the source lacks so many of the batch's active members that an
	// administrator is to say whether they are to go. None withdraws it: they are back,
	// or few enough.
	RemovalsHeld struct {
		Members, Of int
		Reason      string
		Moving      int       // see RemovalHold
		MovesTo     time.Time // likewise
		MovesInto   int       // likewise
	}
	// RemovalsConfirmed: an administrator lets the members go whose removal is held. Move: those who
	// move to another start do so with their finished phases and outputs, and the others stay.
	RemovalsConfirmed struct {
		By   Attribution
		Move bool
	}
	// RemovalsDiscarded: an administrator keeps them.
	RemovalsDiscarded struct{ By Attribution }
	// RemovalsDone: those whose removal was confirmed are removed.
	RemovalsDone struct{}
	// MovesDone: those who were moved are in other batches.
	MovesDone struct{}
	// DiscardedRemovalsChanged: Count discarded removals are left. The source has the other members
	// again, or an administrator removed them.
	DiscardedRemovalsChanged struct{ Count int }
	// MemberRetried: a member who failed tries again, with the step that failed
	// resolved first where an administrator says so. Task names the request.
	MemberRetried struct {
		Member  int
		Task    string
		Resolve *StepResolved
		RetryOptions
	}
	// SequenceRetried: an init sequence, or on_complete steps, that failed try again,
	// with the step that failed resolved first where an administrator says so.
	SequenceRetried struct {
		Phase   int
		Task    string
		Resolve *StepResolved
		RetryOptions
	}
	// VersionPublished: the runbook has a newer version.
	VersionPublished struct {
		Version   int
		Rerun     bool // phases that are past due, too
		RerunInit bool
	}
)

// RetryOptions say how a run that failed begins again.
type RetryOptions struct {
	Version int    // of the runbook, which the run then follows; 0: the one in which it failed
	From    string // the step to begin with; empty: the one that failed, or the first if a rollback undid the others
}

func (Advanced) event()              {}
func (PhaseDue) event()              {}
func (PageDue) event()               {}
func (PageResumed) event()           {}
func (PageFannedOut) event()         {}
func (PageSent) event()              {}
func (CatchUpDue) event()            {}
func (ShardCounted) event()          {}
func (SequenceSent) event()          {}
func (PhaseCounted) event()          {}
func (FailureCounted) event()        {}
func (PhaseApproved) event()         {}
func (BatchPaused) event()           {}
func (BatchResumed) event()          {}
func (BatchCancelRequested) event()  {}
func (BatchDrained) event()          {}
func (BatchFilled) event()           {}
func (BatchRescheduled) event()      {}
func (ItemsTaken) event()            {}
func (ItemsWritten) event()          {}
func (ItemsUnchanged) event()        {}
func (BatchExpired) event()          {}
func (BatchUpdated) event()          {}
func (EarlierStartsReleased) event() {}
func (MembersJoined) event()         {}
func (BatchCreated) event()          {}
func (ChecksRequested) event()       {}
func (CheckDue) event()              {}
func (ChecksDispatched) event()      {}
func (MembersRefreshed) event()      {}
func (MemberCorrected) event()       {}
func (SecretsDue) event()            {}
func (MemberSecretsDue) event()      {}
func (SecretsErased) event()         {}

// RefreshedMember is the row that a data source has of a member now. Columns that the row lacks stay
// as they are.
type RefreshedMember struct {
	Member int
	Data   map[string]json.RawMessage
	Hash   string
}

func (PageCaughtUp) event()             {}
func (MemberLeft) event()               {}
func (RemovalDue) event()               {}
func (MoveRequested) event()            {}
func (MovePassed) event()               {}
func (MoveDone) event()                 {}
func (RemovalsHeld) event()             {}
func (RemovalsConfirmed) event()        {}
func (RemovalsDiscarded) event()        {}
func (RemovalsDone) event()             {}
func (MovesDone) event()                {}
func (DiscardedRemovalsChanged) event() {}
func (MemberRetried) event()            {}
func (SequenceRetried) event()          {}
func (VersionPublished) event()         {}
