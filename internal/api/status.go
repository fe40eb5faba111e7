package api

// The statuses of a batch.
const (
	BatchDetected       = "detected"
	BatchInitDispatched = "init_dispatched"
	BatchActive         = "active"
	BatchCancelling     = "cancelling"
	BatchCompleted      = "completed"
	BatchFailed         = "failed"
	BatchCancelled      = "cancelled"
)

// BatchStatuses are all statuses of a batch, in the order in which a batch may pass through
// them.
var BatchStatuses = []string{BatchDetected, BatchInitDispatched, BatchActive, BatchCancelling, BatchCompleted, BatchFailed, BatchCancelled}

// Terminal reports whether the batch has ended.
func (b Batch) Terminal() bool {
	return b.Status == BatchCompleted || b.Status == BatchFailed || b.Status == BatchCancelled
}

// The statuses of a phase.
const (
	PhasePending    = "pending"
	PhaseDispatched = "dispatched"
	PhaseCompleted  = "completed"
	PhaseFailed     = "failed"
	PhaseSkipped    = "skipped"
	PhaseSuperseded = "superseded"
	PhaseCancelled  = "cancelled"
)

// Terminal reports whether the phase has ended.
func (p Phase) Terminal() bool { return p.Status != PhasePending && p.Status != PhaseDispatched }

// The kinds of a phase and, KindOnComplete and KindCheck, of a step: a phase of the runbook, the init
// steps, the call that lists the items of a requested batch, the steps for removed members, the detached steps of a phase, its on_complete steps, and the
// checks of a member.
const (
	KindPhase      = "phase"
	KindInit       = "init"
	KindItems      = "items"
	KindRemoval    = "removal"
	KindDetached   = "detached"
	KindOnComplete = "on_complete"
	KindCheck      = "check"
)

// The statuses of a member.
const (
	MemberActive  = "active"
	MemberDone    = "done" // has finished all phases
	MemberRemoved = "removed"
	MemberFailed  = "failed"
)

// MemberStatuses are all statuses of a member.
var MemberStatuses = []string{MemberActive, MemberDone, MemberRemoved, MemberFailed}

// The statuses of a step. A step whose job was sent is queued until a heartbeat of the
// worker reports the job as running.
const (
	StepPending         = "pending"
	StepQueued          = "queued"
	StepAtWorker        = "at_worker"
	StepPolling         = "polling"
	StepWaitingForRetry = "waiting_for_retry"
	StepSucceeded       = "succeeded"
	StepFailed          = "failed"
	StepPollTimeout     = "poll_timeout"
	StepCancelled       = "cancelled"
	StepSkipped         = "skipped"

	StepSkippedByCondition = "skipped_by_condition"
)

// StepStatuses are all statuses of a step.
var StepStatuses = []string{
	StepPending, StepQueued, StepAtWorker, StepPolling, StepWaitingForRetry, StepSucceeded, StepFailed, StepPollTimeout, StepCancelled, StepSkipped, StepSkippedByCondition,
}
