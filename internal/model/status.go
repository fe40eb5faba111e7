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
	BatchDetected       BatchStatus = "detected"
	BatchInitDispatched BatchStatus = "init_dispatched"
	BatchActive         BatchStatus = "active"
	BatchCancelling     BatchStatus = "cancelling"
	BatchCompleted      BatchStatus = "completed"
	BatchFailed         BatchStatus = "failed"
	BatchCancelled      BatchStatus = "cancelled"
)

// BatchStatuses are all of them, in the order a batch may pass through them.
var BatchStatuses = []BatchStatus{BatchDetected, BatchInitDispatched, BatchActive, BatchCancelling, BatchCompleted, BatchFailed, BatchCancelled}

// PhaseStatus is where a phase execution stands.
type PhaseStatus string

// Terminal tells whether the phase has ended.
func (s PhaseStatus) Terminal() bool { return s != PhasePending && s != PhaseDispatched }

// The statuses of a phase execution.
const (
	PhasePending    PhaseStatus = "pending"
	PhaseDispatched PhaseStatus = "dispatched"
	PhaseCompleted  PhaseStatus = "completed"
	PhaseFailed     PhaseStatus = "failed"
	PhaseSkipped    PhaseStatus = "skipped"
	PhaseSuperseded PhaseStatus = "superseded"
	PhaseCancelled  PhaseStatus = "cancelled"
)

// MemberStatus is where a member of a batch stands.
type MemberStatus string

// The statuses of a member.
const (
	MemberActive  MemberStatus = "active"
	MemberRemoved MemberStatus = "removed"
	MemberFailed  MemberStatus = "failed"
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
	RunWaiting     RunStatus = "waiting"
	RunRunning     RunStatus = "running"
	RunRollingBack RunStatus = "rolling_back"
	RunSucceeded   RunStatus = "succeeded"
	RunFailed      RunStatus = "failed"
	RunCancelled   RunStatus = "cancelled"
)

// StepStatus is where a step or an init step stands.
type StepStatus string

// Terminal tells whether the step has ended.
func (s StepStatus) Terminal() bool {
	return s != StepPending && s != StepDispatched && s != StepPolling
}

// The statuses of a step. A skipped step is one that an administrator let the
// member pass by.
const (
	StepPending     StepStatus = "pending"
	StepDispatched  StepStatus = "dispatched"
	StepSucceeded   StepStatus = "succeeded"
	StepFailed      StepStatus = "failed"
	StepPolling     StepStatus = "polling"
	StepPollTimeout StepStatus = "poll_timeout"
	StepCancelled   StepStatus = "cancelled"
	StepSkipped     StepStatus = "skipped"
)

// StepStatuses are all of them.
var StepStatuses = []StepStatus{
	StepPending, StepDispatched, StepSucceeded, StepFailed, StepPolling, StepPollTimeout, StepCancelled, StepSkipped,
}

// PhaseKind tells the executions of a batch apart.
type PhaseKind string

// The kinds of execution: a phase of the runbook, the init sequence, the steps for
// members who are removed, and, of runs only, a phase's on_complete steps.
const (
	KindPhase      PhaseKind = "phase"
	KindInit       PhaseKind = "init"
	KindRemoval    PhaseKind = "removal"
	KindOnComplete PhaseKind = "on_complete"
)
