package api

import (
	"encoding/json"
	"time"
)

// AuditRecord says who did what, when and why. BatchID, Runbook or Notification
// identifies the subject; a record without any is about an unprocessable message. Before and After, where
// present, are the changed values.
type AuditRecord struct {
	ID string    `json:"id"`
	At time.Time `json:"at"`
	By string    `json:"by"`
	// ByKind, ByTenantID and ByObjectID distinguish actors of the same name. The system, and
	// an actor without a token, have no ids.
	ByKind     ActorKind `json:"byKind,omitempty"`
	ByTenantID string    `json:"byTenantId,omitempty"`
	ByObjectID string    `json:"byObjectId,omitempty"`

	Action       string          `json:"action"` // one of AuditActions
	BatchID      int             `json:"batchId,omitempty"`
	Runbook      string          `json:"runbook,omitempty"`
	Notification string          `json:"notification,omitempty"`
	Target       string          `json:"target,omitempty"` // what in the batch or of the runbook; the id of a message
	Why          string          `json:"reason,omitempty"`
	Before       json.RawMessage `json:"before,omitempty"`
	After        json.RawMessage `json:"after,omitempty"`
}

// ActorKind is the kind of an actor.
type ActorKind string

// The kinds. The system acts on what a data source returns.
const (
	ActorUser        ActorKind = "user"
	ActorApplication ActorKind = "application"
	ActorSystem      ActorKind = "system"
)

// AuditFilter narrows an audit trail. An empty field selects all.
type AuditFilter struct {
	Action string    // one of AuditActions
	By     string    // the name of the actor, exactly as the records have it
	From   time.Time // inclusive
	To     time.Time // exclusive
}

// ActionCorrectMember is the action of an audit record that has columns of a member before and after.
const ActionCorrectMember = "correct_member"

// The actions of an audit trail that read data of members.
const (
	ActionReadMembers   = "read_members"
	ActionSetRouting    = "set_routing"
	ActionReadSteps     = "read_steps"
	ActionReadReport    = "read_report"
	ActionReadRemovals  = "read_removals"
	ActionReadAdditions = "read_additions"
	ActionPreviewQuery  = "preview_query"
	ActionReadMessage   = "read_message"
	ActionReadProblems  = "read_problems" // the rows of a query's result that were not used
)

// AuditActions are all actions of an audit trail: those on batches, on runbooks and on
// messages, and reads last.
var AuditActions = []string{
	"create", "advance", "cancel", "pause", "resume", "reschedule", "update_batch", "approve", "retry", "skip_step", "mark_done", "check",
	"add_members", "remove_member", RepairMove, ActionCorrectMember, "confirm_removals", "move_members", "discard_removals", "confirm_additions", ActionDiscardAdditions,
	"publish", "deactivate", "enable_automation", "disable_automation", ActionSetRouting,
	"replay", "discard",
	"add_notification", "remove_notification", "test_notification",
	ActionReadMembers, ActionReadSteps, ActionReadReport, ActionReadRemovals, ActionReadAdditions, ActionPreviewQuery, ActionReadMessage, ActionReadProblems,
}
