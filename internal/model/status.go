package model

// BatchStatus is where a batch stands.
type BatchStatus string

// Terminal tells whether the batch has ended.
func (s BatchStatus) Terminal() bool {
	return s == BatchCompleted || s == BatchFailed || s == BatchCancelled
}

// The statuses of a batch. A batch that is cancelled is cancelling until all that
// was under way has ended.
const (
	BatchDetected       BatchStatus = "detected"        // waits for its init steps, or is still being filled
	BatchInitDispatched BatchStatus = "init_dispatched" // the init steps run
	BatchActive         BatchStatus = "active"          // phases run, or wait until they are due
	BatchCancelling     BatchStatus = "cancelling"      // cancelled; rollbacks and removals that have begun still run
	BatchCompleted      BatchStatus = "completed"       // ended; at least one phase completed
	BatchFailed         BatchStatus = "failed"          // ended; init failed, or no phase completed
	BatchCancelled      BatchStatus = "cancelled"       // cancelled by an administrator
)

// BatchStatuses are all of them, in the order a batch may pass through them.
var BatchStatuses = []BatchStatus{BatchDetected, BatchInitDispatched, BatchActive, BatchCancelling, BatchCompleted, BatchFailed, BatchCancelled}

// PhaseStatus is where a phase execution stands.
type PhaseStatus string

// Terminal tells whether the phase has ended.
func (s PhaseStatus) Terminal() bool { return s != PhasePending && s != PhaseDispatched }

// The statuses of a phase execution.
const (
	PhasePending    PhaseStatus = "pending"    // not due yet, or held by a gate or quiet hours
	PhaseDispatched PhaseStatus = "dispatched" // running
	PhaseCompleted  PhaseStatus = "completed"  // ended; at least one member succeeded
	PhaseFailed     PhaseStatus = "failed"     // ended; no member succeeded, or the on_complete steps failed
	PhaseSkipped    PhaseStatus = "skipped"    // was past due when its version was published
	PhaseSuperseded PhaseStatus = "superseded" // replaced by a newer version before it started
	PhaseCancelled  PhaseStatus = "cancelled"  // cancelled with the batch, or because init failed
)

// MemberStatus is where a member of a batch stands.
type MemberStatus string

// The statuses of a member.
const (
	MemberActive  MemberStatus = "active"  // takes part
	MemberRemoved MemberStatus = "removed" // left the batch
	MemberFailed  MemberStatus = "failed"  // a step failed with no retry left; takes part in no later phase
)

// MemberStatuses are all of them.
var MemberStatuses = []MemberStatus{MemberActive, MemberRemoved, MemberFailed}

// RunStatus is where one member's passage through one phase stands.
type RunStatus string

// Terminal tells whether the run has ended.
func (s RunStatus) Terminal() bool {
	return s == RunSucceeded || s == RunFailed || s == RunCancelled
}

// The statuses of a run. A waiting run stands behind an earlier phase that its
// member has not yet left; one that is rolling back has failed and undoes what it
// did.
const (
	RunWaiting     RunStatus = "waiting"      // waits for an earlier run of its member
	RunRunning     RunStatus = "running"      // its steps run
	RunRollingBack RunStatus = "rolling_back" // a step failed, and its rollback runs
	RunSucceeded   RunStatus = "succeeded"    // all steps succeeded or were skipped
	RunFailed      RunStatus = "failed"       // a step failed with no retry left
	RunCancelled   RunStatus = "cancelled"    // its member failed elsewhere or was removed, or the batch was cancelled
)

// StepStatus is where a step or an init step stands.
type StepStatus string

// Terminal tells whether the step has ended.
func (s StepStatus) Terminal() bool {
	return s != StepPending && s != StepDispatched && s != StepPolling
}

// Failed tells whether the step ended without success.
func (s StepStatus) Failed() bool { return s == StepFailed || s == StepPollTimeout }

// Done tells whether the run may go on to the next step.
func (s StepStatus) Done() bool {
	return s == StepSucceeded || s == StepSkipped || s == StepSkippedByCondition
}

// The statuses of a step. A skipped step is one that an administrator let the
// member pass by.
const (
	StepPending     StepStatus = "pending"      // waits for the previous step, or for a retry
	StepDispatched  StepStatus = "dispatched"   // its job is with the worker
	StepSucceeded   StepStatus = "succeeded"    // the result was success, or an administrator completed it
	StepFailed      StepStatus = "failed"       // failed with no retry left
	StepPolling     StepStatus = "polling"      // the function is not complete; the next poll is scheduled, or under way
	StepPollTimeout StepStatus = "poll_timeout" // the poll timeout passed before the function was complete
	StepCancelled   StepStatus = "cancelled"    // cancelled with its run
	StepSkipped     StepStatus = "skipped"      // skipped by an administrator

	StepSkippedByCondition StepStatus = "skipped_by_condition" // its condition, or that of its phase, was false
)

// StepStatuses are all of them.
var StepStatuses = []StepStatus{
	StepPending, StepDispatched, StepSucceeded, StepFailed, StepPolling, StepPollTimeout, StepCancelled, StepSkipped, StepSkippedByCondition,
}

// PhaseKind tells the executions of a batch apart.
type PhaseKind string

// The kinds of execution: a phase of the runbook, the init sequence, the call that lists the items of a
// batch that a request starts, the steps for members who are removed, the detached steps of a phase, and, of runs only, a phase's
// on_complete steps and the checks of a member.
const (
	KindPhase      PhaseKind = "phase"
	KindInit       PhaseKind = "init"
	KindItems      PhaseKind = "items"
	KindRemoval    PhaseKind = "removal"
	KindDetached   PhaseKind = "detached"
	KindOnComplete PhaseKind = "on_complete"
	KindCheck      PhaseKind = "check"
)

// IsSequence reports whether an execution has one run without a member: steps one after the other.
func (k PhaseKind) IsSequence() bool { return k.PrecedesPhases() || k == KindDetached }

// PrecedesPhases reports whether all phases wait for an execution.
func (k PhaseKind) PrecedesPhases() bool { return k == KindInit || k == KindItems }
