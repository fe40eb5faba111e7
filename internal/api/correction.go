package api

import (
	"encoding/json"
	"time"
)

// CorrectionRequest corrects the data of a member. Data has the new values by column: JSON values,
// or texts, which become lists in a multi-valued column and numbers in a column of numbers.
// ClearOverrides names columns whose correction is withdrawn.
type CorrectionRequest struct {
	Data           map[string]json.RawMessage `json:"data,omitempty"`
	ClearOverrides []string                   `json:"clearOverrides,omitempty"`
	ActionRequest
}

// Override is a column of a member that an administrator corrected in a batch from a data source.
// It ends when the data source has the corrected value, too, or when an administrator clears it.
type Override struct {
	Source json.RawMessage `json:"sourceValue,omitempty"` // what the data source had last; none where it lacks the column
	By     string          `json:"by"`
	At     time.Time       `json:"at"`
}

// ColumnChange is a column of a member that a correction changes.
type ColumnChange struct {
	MemberID  int             `json:"memberId"`
	MemberKey string          `json:"memberKey"`
	Display   string          `json:"memberDisplay,omitempty"` // of the runbook's display column, after the correction
	Column    string          `json:"column"`
	Before    json.RawMessage `json:"before,omitempty"` // none where the member had no such column
	After     json.RawMessage `json:"after,omitempty"`
	Override  bool            `json:"override,omitempty"` // the correction overrides the data source
}

// StepInFlight is a step of a corrected member whose job was sent with the values from before. The
// correction takes effect at its next attempt.
type StepInFlight struct {
	MemberID  int    `json:"memberId"`
	MemberKey string `json:"memberKey"`
	Display   string `json:"memberDisplay,omitempty"` // of the runbook's display column
	Phase     string `json:"phase"`
	Step      string `json:"step"`
}

// MemberCorrection is the answer to the correction of a member.
type MemberCorrection struct {
	DryRun   bool           `json:"dryRun,omitempty"` // nothing was changed: the member is as they were
	Member   Member         `json:"member"`
	Changes  []ColumnChange `json:"changes"` // empty where the member had these values
	InFlight []StepInFlight `json:"inFlight,omitempty"`
}

// MaxColumnChanges is how many changed columns the answer to an update names.
const MaxColumnChanges = 1000

// MembersUpdate is the answer to an update of members from a CSV, or the preview of one.
type MembersUpdate struct {
	BatchID     int            `json:"batchId"`
	DryRun      bool           `json:"dryRun"`
	Changed     int            `json:"changedCount"`   // members
	Unchanged   int            `json:"unchangedCount"` // members who have these values
	ChangeCount int            `json:"changeCount"`    // columns of all members
	Changes     []ColumnChange `json:"changes"`        // the first MaxColumnChanges of them
	InFlight    []StepInFlight `json:"inFlight,omitempty"`
	Warnings    []string       `json:"warnings,omitempty"`
}
