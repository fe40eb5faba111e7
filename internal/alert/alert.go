// Package alert names the log records that alerts are based on. Such a record has one of these
// names as its attribute Event. The alerts in infra/automation/alerts find the records by it.
// A record can be logged twice if a process dies. docs/operate.md says what to do about each.
package alert

// The values of the attribute Event.
const (
	Tick                 = "tick"                // a tick has ended, with Batches and Failed; without ticks, lost messages are not sent again
	OldestMessage        = "oldest-message"      // the age of the oldest message of a subscription at a tick, with Topic, Subscription and AgeSeconds
	BatchFailed          = "batch-failed"        // a batch has ended with the status failed, with BatchId, RunbookName, RunbookVersion and Reason
	DetachedFailed       = "detached-failed"     // detached steps of a phase have failed, with BatchId, RunbookName, RunbookVersion, Phase and Reason
	DetachedOpen         = "detached-open"       // the age of detached steps that have not ended, at a tick, with BatchId, RunbookName, Phase and AgeSeconds
	ShadowDiffers        = "shadow-differs"      // a shadow differs from the old orchestrator, or failed alone, with BatchId, RunbookName and Reason
	ShareReturned        = "share-returned"      // the share of a pipeline has returned to 0, with RunbookName and Reason; at each tick until an administrator sets it
	ShareUnused          = "share-unused"        // a pipeline with a share gets no requests, with RunbookName and Count, its percent
	PhaseStopped         = "phase-stopped"       // the stop_when of a phase has paused its batch, with the same and Phase
	StuckSteps           = "stuck-steps"         // steps of a batch make no progress, with Count, OldestSeconds and SilentWorkers
	MessageUnprocessable = "message-unprocessed" // an unprocessable message is stored for an administrator, with Topic, MessageId, Type and Reason
	RemovalsHeld         = "removals-held"       // removals wait for an administrator's confirmation, with BatchId, Members, Of and Reason
	AdditionsHeld        = "additions-held"      // additions wait for an administrator's confirmation, with RunbookName, Members, Of and Reason
	RunbookNotSynced     = "runbook-not-synced"  // the sync of a runbook's data source fails, with RunbookName and Error
	WorkerGone           = "worker-gone"         // jobs wait for a worker that is gone, with WorkerId, Jobs, Batches and OldestSeconds
	CredentialExpiring   = "credential-expiring" // a worker's credential expires soon, or has expired, with WorkerId and ExpiresAt
	ScalerTick           = "scaler-tick"         // a tick of the container scaler has ended, with Created, Deleted, Active, Failed and Error
	ContainerLost        = "container-lost"      // a container has ended before it received its message, with Subscription, MessageId, Count and Reason
)

// All has all values of the attribute Event.
var All = []string{
	Tick, OldestMessage, BatchFailed, DetachedFailed, DetachedOpen, ShadowDiffers, ShareReturned, ShareUnused, PhaseStopped, StuckSteps, MessageUnprocessable, RemovalsHeld, AdditionsHeld, RunbookNotSynced,
	WorkerGone, CredentialExpiring, ScalerTick, ContainerLost,
}
