package api

import "time"

// The codes of a WaitingReason.
const (
	WaitsForMembers      = "members"         // they are being written
	WaitsForResume       = "paused"          // an administrator, or stop_when, paused the batch
	WaitsForGate         = "gate"            // of a phase: an approval, or more members to succeed
	WaitsForRemovals     = "removals_held"   // an administrator decides on removals
	WaitsForAdvance      = "advance"         // an administrator starts the next phase of a manual batch
	WaitsForQuietHours   = "quiet_hours"     // they end
	WaitsForTime         = "scheduled"       // the next phase is due then
	WaitsForCancellation = "cancelling"      // rollbacks and removal steps end first
	WaitsForThrottling   = "throttled"       // the tenant throttles a worker that has jobs of the batch
	WaitsForStart        = "worker_starting" // a worker that was scaled to zero starts
	WaitsForWorker       = "worker_silent"   // a worker with jobs of the batch gives no sign of life
)

// WaitingCodes are all codes of a WaitingReason.
var WaitingCodes = []string{
	WaitsForMembers, WaitsForResume, WaitsForGate, WaitsForRemovals, WaitsForAdvance, WaitsForQuietHours, WaitsForTime, WaitsForCancellation,
	WaitsForThrottling, WaitsForStart, WaitsForWorker,
}

// WaitingReason says why a batch starts nothing now.
type WaitingReason struct {
	Code     string     `json:"code"`               // one of WaitingCodes
	Phase    string     `json:"phase,omitempty"`    // that waits
	WorkerID string     `json:"workerId,omitempty"` // that is waited for
	Since    *time.Time `json:"since,omitempty"`
	Until    *time.Time `json:"until,omitempty"` // when it ends by itself; of a gate, when its phase is due
	Reason   string     `json:"reason"`
}
