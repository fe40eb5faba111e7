// Package alert names the log records that alerts are based on. Such a record has one of these
// names as its attribute Event. The alerts in infra/automation/alerts find the records by it.
// docs/telemetry.md lists the other attributes of each record, and says when it can be logged
// twice.
package alert

// The values of the attribute Event.
const (
	Tick                 = "tick"                // a tick has ended; without ticks, lost messages are not sent again
	OldestMessage        = "oldest-message"      // the age of the oldest message of a subscription
	BatchFailed          = "batch-failed"        // a batch has ended with the status failed
	PhaseStopped         = "phase-stopped"       // the stop_when of a phase has paused its batch
	StuckSteps           = "stuck-steps"         // steps of a batch make no progress
	MessageUnprocessable = "message-unprocessed" // an unprocessable message is stored for an administrator
	RemovalsHeld         = "removals-held"       // removals wait for an administrator's confirmation
	AdditionsHeld        = "additions-held"      // additions wait for an administrator's confirmation
	RunbookNotSynced     = "runbook-not-synced"  // the sync of a runbook's data source fails
	WorkerGone           = "worker-gone"         // jobs wait for a worker that is gone
	CredentialExpiring   = "credential-expiring" // a worker's credential expires soon, or has expired
)

// All has all values of the attribute Event.
var All = []string{
	Tick, OldestMessage, BatchFailed, PhaseStopped, StuckSteps, MessageUnprocessable, RemovalsHeld, AdditionsHeld, RunbookNotSynced,
	WorkerGone, CredentialExpiring,
}
