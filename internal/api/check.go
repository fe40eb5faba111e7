package api

import "time"

// The statuses of a check.
const (
	CheckPassed  = "passed"
	CheckFailed  = "failed"
	CheckRunning = "running" // under way, or waiting for its turn, a poll or a retry
	CheckSkipped = "skipped" // by its condition or by an administrator
	CheckNotRun  = "not_run" // cancelled, or its batch ended first
)

// CheckStatuses are all of them.
var CheckStatuses = []string{CheckPassed, CheckFailed, CheckRunning, CheckSkipped, CheckNotRun}

// Check is the last result of one check of one member.
type Check struct {
	MemberID       int        `json:"memberId"`
	MemberKey      string     `json:"memberKey"`
	MemberDisplay  string     `json:"memberDisplay,omitempty"` // of the runbook's display column
	Name           string     `json:"check"`
	Status         string     `json:"status"`             // one of CheckStatuses
	Required       bool       `json:"required,omitempty"` // a member who waits for it starts no phase before it has passed
	Error          string     `json:"error,omitempty"`
	WorkerID       string     `json:"workerId"`
	Function       string     `json:"functionName"`
	RunbookVersion int        `json:"runbookVersion"` // that the check is of
	StepID         int64      `json:"stepId"`         // of the step that made it
	CheckedAt      *time.Time `json:"checkedAt,omitempty"`
}

// CheckCounts counts the members of a batch by the results of their checks.
type CheckCounts struct {
	RequestedAt time.Time `json:"requestedAt"`
	RequestedBy string    `json:"requestedBy,omitempty"` // empty: the batch began with it
	Passed      int       `json:"passed"`                // members whose checks all passed or were skipped
	Failed      int       `json:"failed"`                // members of whom a check failed
	Running     int       `json:"running"`               // members whose checks have not ended
	NotRun      int       `json:"notRun"`                // members whose checks have not begun, or were cancelled
	Done        bool      `json:"done"`                  // the checks of all members have ended
}

// CheckRequest selects whom to check.
type CheckRequest struct {
	Member *string `json:"member,omitempty"` // the key or the number of a member; nil: all members
	ActionRequest
}

// CheckResult is the answer to a request to make checks.
type CheckResult struct {
	BatchID   int      `json:"batchId"`
	MemberID  int      `json:"memberId,omitempty"` // 0: all members
	MemberKey string   `json:"memberKey,omitempty"`
	Members   int      `json:"members"` // that are checked
	Checks    []string `json:"checks"`  // the names of the checks
	Replayed  bool     `json:"-"`       // the idempotency key's request had been carried out before
}
