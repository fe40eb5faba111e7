package api

import (
	"encoding/json"
	"time"
)

// The actions that Preview foresees, apart from those of a Repair.
const (
	ActionAdvance         = "advance"
	ActionApprove         = "approve"
	ActionPause           = "pause"
	ActionResume          = "resume"
	ActionCancel          = "cancel"
	ActionReschedule      = "reschedule"
	ActionConfirmRemovals = "confirm_removals"
	ActionMoveMembers     = "move_members"
	ActionDiscardRemovals = "discard_removals"
	ActionCheck           = "check"

	ActionConfirmAdditions = "confirm_additions" // of a runbook
	ActionDiscardAdditions = "discard_additions" // likewise
)

// ProposedAction is an action on a batch that a dry run foresees.
type ProposedAction struct {
	Name     string          // one of the actions, RepairSkip and RepairDone of one step, or RepairRemove of one member
	Phase    string          // of ActionAdvance and ActionApprove
	Step     int64           // of RepairSkip and RepairDone
	Result   json.RawMessage // of RepairDone
	Member   int             // of RepairRemove; of ActionCheck, 0 for all members
	Revision string          // of a decision on held removals; empty for any
	Why      string
}

// Preview is the effect of an action before it is taken.
type Preview struct {
	BatchID  int            `json:"batchId,omitempty"` // 0: an action on the runbook
	Runbook  string         `json:"runbook,omitempty"` // of an action on a runbook
	Action   string         `json:"action"`
	Members  int            `json:"members"`      // that the action concerns
	Jobs     int            `json:"jobs"`         // that it starts or stops, at most; polls and retries are not counted
	InFlight int            `json:"jobsInFlight"` // jobs of the batch at workers or in their queues, now
	Phases   []PhasePreview `json:"phases"`
	Duration *PhaseDuration `json:"duration,omitempty"` // of what the action starts; absent: unknown, or it starts nothing
	WayBack  string         `json:"wayBack"`
	Warnings []string       `json:"warnings,omitempty"`
}

// The effects of an action on a phase.
const (
	EffectStarts    = "starts"
	EffectContinues = "continues"
	EffectPauses    = "pauses"
	EffectStops     = "stops"   // its members stop after the job that a worker has
	EffectCancels   = "cancels" // it never starts
	EffectMoves     = "moves"   // it is due at another time
	EffectJoins     = "joins"   // members are added, who take part in it
)

// PhaseEffects are all effects of an action on a phase.
var PhaseEffects = []string{EffectStarts, EffectContinues, EffectPauses, EffectStops, EffectCancels, EffectMoves, EffectJoins}

// PhasePreview is the effect of an action on one phase.
type PhasePreview struct {
	Phase   string     `json:"phase"`
	Effect  string     `json:"effect"`  // one of PhaseEffects
	Members int        `json:"members"` // who have not ended the phase
	Jobs    int        `json:"jobs"`    // of them, at most
	DueAt   *time.Time `json:"dueAt,omitempty"`
}

// PhaseDuration is how long the started phases will take, as far as it was measured: each as long as in
// the newest batch of the runbook in which it ended, and longer where it has more members now.
type PhaseDuration struct {
	Seconds int   `json:"seconds"`
	Batches []int `json:"batchIds"` // in which the phases were measured
}
