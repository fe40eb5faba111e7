package api

import (
	"encoding/json"
	"errors"
	"strconv"
)

// The bodies of requests. A nil field was not given.

// ReasonRequest is the body of a request that changes a batch, a phase, a step or a message.
type ReasonRequest struct {
	Reason *string `json:"reason,omitempty"`
}

// PublishRequest is the body of a publish in JSON; a publish can also be the YAML itself.
type PublishRequest struct {
	Name      string `json:"name"`
	YAML      string `json:"yamlContent"`
	Overdue   string `json:"overdueBehavior"` // OverdueIgnore or OverdueRerun
	RerunInit bool   `json:"rerunInit"`
	Strict    bool   `json:"strict"`
	DryRun    bool   `json:"dryRun"`
}

// LintRequest is the body of a request that checks a runbook.
type LintRequest struct {
	Name string `json:"name"`
	YAML string `json:"yamlContent"`
}

// ActionRequest is the body of a request that takes an action, or with DryRun foresees its effect.
type ActionRequest struct {
	DryRun bool `json:"dryRun,omitempty"`
	ReasonRequest
}

// AdvanceRequest names the phase to start.
type AdvanceRequest struct {
	Phase  *string `json:"phase,omitempty"`
	DryRun bool    `json:"dryRun,omitempty"`
}

// ApproveRequest names the phase to approve.
type ApproveRequest struct {
	Phase *string `json:"phase,omitempty"`
	ActionRequest
}

// RescheduleRequest gives a batch another start, or with DryRun shows what that would change.
type RescheduleRequest struct {
	Start  *string `json:"batchStartTime,omitempty"` // as the data source can have it
	DryRun bool    `json:"dryRun,omitempty"`
	ReasonRequest
}

// UpdateBatchRequest gives a batch other details.
type UpdateBatchRequest struct {
	BatchDetails
	ReasonRequest
}

// SelectionRequest selects failed members, as Selection.
type SelectionRequest struct {
	Members    *[]MemberRef `json:"memberIds,omitempty"`
	Steps      *[]int64     `json:"stepIds,omitempty"`
	Status     *string      `json:"status,omitempty"`
	Phase      *string      `json:"phase,omitempty"`
	Step       *string      `json:"step,omitempty"`
	Error      *string      `json:"error,omitempty"`
	ErrorGroup *string      `json:"errorGroup,omitempty"`
	DryRun     bool         `json:"dryRun,omitempty"`
	ReasonRequest
}

// RemovalRequest selects members to remove.
type RemovalRequest struct {
	Members *[]MemberRef `json:"memberIds,omitempty"`
	Status  *string      `json:"status,omitempty"`
	Search  *string      `json:"search,omitempty"`
	DryRun  bool         `json:"dryRun,omitempty"`
	ReasonRequest
}

// MoveRequest selects members to move, and names the batch.
type MoveRequest struct {
	To *int `json:"toBatchId,omitempty"`
	RemovalRequest
}

// MemberRef names a member in a body: a text is the key or the number of the member, as in an
// address; a JSON number is the number.
type MemberRef string

// UnmarshalJSON implements json.Unmarshaler.
func (r *MemberRef) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		if *r = MemberRef(text); text == "" {
			return errors.New("the member is empty; give the key or the number, or leave it out")
		}
		return nil
	}
	if n, err := strconv.ParseInt(string(data), 10, 32); err != nil || n < 1 {
		return errors.New("the member is " + string(data) + "; give the key as a text, or the number, from 1")
	}
	*r = MemberRef("id:" + string(data))
	return nil
}

// RetryRequest selects the failed members to retry.
type RetryRequest struct {
	SelectionRequest
	Version *string `json:"version,omitempty"` // VersionActive
	From    *string `json:"from,omitempty"`
}

// MarkDoneRequest selects the failed members whose failed step is done, with its result.
type MarkDoneRequest struct {
	SelectionRequest
	Result json.RawMessage `json:"result,omitempty"`
}

// DoneRequest marks a step as done. Result takes the place of the function's result.
type DoneRequest struct {
	Result json.RawMessage `json:"result,omitempty"`
	ActionRequest
}

// ConfirmRequest confirms the additions of a revision.
type ConfirmRequest struct {
	Revision *string `json:"revision,omitempty"`
	ActionRequest
}

// DecisionRequest decides on the removals of a revision.
type DecisionRequest struct {
	Revision *string `json:"revision,omitempty"`
	ActionRequest
}

// AutomationRequest turns the automation of a runbook on or off. With a revision it also
// confirms the additions of a preview.
type AutomationRequest struct {
	Enabled  *bool   `json:"enabled,omitempty"`
	Revision *string `json:"revision,omitempty"`
}

// PreviewRequest says how many rows of a query are shown.
type PreviewRequest struct {
	Limit *int `json:"limit,omitempty"`
}
