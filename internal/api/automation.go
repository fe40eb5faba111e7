package api

import (
	"encoding/json"
	"time"
)

// Automation is the automation of a runbook: its setting and its last data source sync.
type Automation struct {
	RunbookName string     `json:"runbook"`
	Idle        string     `json:"idle,omitempty"` // why nothing is done, whether it is on or off
	Enabled     bool       `json:"automationEnabled"`
	EnabledAt   *time.Time `json:"enabledAt,omitempty"`
	EnabledBy   string     `json:"enabledBy,omitempty"`
	DisabledAt  *time.Time `json:"disabledAt,omitempty"`
	DisabledBy  string     `json:"disabledBy,omitempty"`
	ETag        string     `json:"etag"` // changes with the setting and with confirmed additions

	LastRunAt    *time.Time           `json:"lastRunAt,omitempty"`  // when the query ran last
	LastGoodAt   *time.Time           `json:"lastGoodAt,omitempty"` // when a sync succeeded last
	LastError    string               `json:"lastError,omitempty"`
	LastErrorAt  *time.Time           `json:"lastErrorAt,omitempty"`
	Milliseconds int64                `json:"durationMs,omitempty"`
	Rows         int                  `json:"rowCount"`
	ProblemCount int                  `json:"problemCount"` // rows that were not used
	Problems     []RowProblem         `json:"problems,omitempty"`
	Held         []RemovalHoldSummary `json:"removalHolds,omitempty"`

	Additions *AdditionHoldSummary `json:"additionHold,omitempty"`
	Discarded *AdditionsDiscard    `json:"discardedAdditions,omitempty"`
}

// RowProblem is a row of a query's result that was not used, and why.
type RowProblem struct {
	Row     int    `json:"row"` // counts from 1; 0: the result as a whole
	Key     string `json:"memberKey,omitempty"`
	Column  string `json:"column,omitempty"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// QueryPreview is the present result of a runbook's query and the plan of the next tick
// with automation on.
type QueryPreview struct {
	RunbookName  string                       `json:"runbook"`
	Version      int                          `json:"version"`
	Enabled      bool                         `json:"automationEnabled"`
	Milliseconds int64                        `json:"durationMs"`
	RowCount     int                          `json:"rowCount"`
	Columns      []string                     `json:"columns"`
	Sample       []map[string]json.RawMessage `json:"sample"` // the first rows, with all their columns
	Groups       []PreviewGroup               `json:"groups"`
	ProblemCount int                          `json:"problemCount"` // of rows that are not used
	Problems     []RowProblem                 `json:"problems"`     // the first of them

	Additions *PreviewAdditions `json:"additionHold,omitempty"`   // nil: none would be held
	Discarded int               `json:"discardedCount,omitempty"` // rows of people whose addition was discarded
}

// PreviewAdditions are the additions that the next tick would hold. Revision confirms them,
// also before that tick.
type PreviewAdditions struct {
	People   int    `json:"memberCount"`
	Of       int    `json:"activeCount"`
	Reason   string `json:"reason"`
	Revision string `json:"revision"`
}

// PreviewGroup is the plan of the next tick for one batch.
type PreviewGroup struct {
	BatchStartTime *time.Time `json:"batchStartTime,omitempty"`
	BatchID        int        `json:"batchId,omitempty"` // 0: the batch would be created
	Status         string     `json:"status,omitempty"`  // of an existing batch
	Rows           int        `json:"rowCount"`          // that belong to it
	Add            int        `json:"add"`
	Refresh        int        `json:"refresh"`
	Remove         int        `json:"remove"`
	Held           int        `json:"held"`    // removals that would be held, or are
	AddHeld        int        `json:"addHeld"` // additions that would be held, or are
	Note           string     `json:"note,omitempty"`
}

// Sync is one sync of a runbook with its data source.
type Sync struct {
	StartedAt time.Time `json:"startedAt"`
	EndedAt   time.Time `json:"endedAt"`
	Rows      int       `json:"rowCount"`     // that were read
	Added     int       `json:"added"`        // people who became members
	Removed   int       `json:"removed"`      // members
	Changed   int       `json:"changed"`      // members whose data changed
	Held      int       `json:"held"`         // removals and additions that wait for an administrator
	Problems  int       `json:"problemCount"` // rows that were not used
	Error     string    `json:"error,omitempty"`
}
