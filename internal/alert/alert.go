package alert

// What an operator may have to be woken for is told in the log, by lines whose attribute
// Event has one of these values. The alerts in infra/automation/alerts find them by it;
// docs/telemetry.md tells of each line what else it has, and when it can come twice.
const (
	Tick               = "tick"                // a tick has ended: without these nothing is made up for
	OldestMessage      = "oldest-message"      // how long messages wait for this app
	BatchFailed        = "batch-failed"        // a batch has ended failed
	PhaseStopped       = "phase-stopped"       // a phase's stop_when has paused its batch
	StuckSteps         = "stuck-steps"         // what did not come about by itself
	MessageUnprocessed = "message-unprocessed" // a message is kept for an administrator
	RemovalsHeld       = "removals-held"       // people wait for an administrator's word to leave
	AdditionsHeld      = "additions-held"      // people wait for an administrator's confirmation to be added
	RunbookNotSynced   = "runbook-not-synced"  // a runbook's batches do not follow its data source
	WorkerGone         = "worker-gone"         // jobs wait for a worker that is gone
	CredentialExpiring = "credential-expiring" // a worker's credential expires soon, or has expired
)

// All are all of them.
var All = []string{
	Tick, OldestMessage, BatchFailed, PhaseStopped, StuckSteps, MessageUnprocessed, RemovalsHeld, AdditionsHeld, RunbookNotSynced,
	WorkerGone, CredentialExpiring,
}
