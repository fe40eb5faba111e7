package session

import "strings"

// CheckResult is the result of a function that checks several values.
type CheckResult struct {
	Complete bool      `json:"complete"`
	Reason   string    `json:"reason,omitempty"` // why it is not complete
	Data     CheckData `json:"data"`
}

// CheckData tells of one recipient.
type CheckData struct {
	Identity string
	Match    bool
	Checks   []Check
}

// Check is one property of a recipient.
type Check struct {
	Name          string
	Match         bool
	ExpectedValue any
	ActualValue   any
}

// NewCheckResult is the result of checks, with how they fail.
func NewCheckResult(id string, checks []Check, reasons []string) CheckResult {
	match := len(reasons) == 0
	return CheckResult{match, strings.Join(reasons, "; "), CheckData{id, match, checks}}
}
