package api

import "time"

// MaxFind is how many characters the text of a search has at most.
const MaxFind = 200

// FoundMember is a member whom a search found, and where they stand. Matched says in which column the
// text was, unless it was in the key or the display column.
type FoundMember struct {
	BatchID     int          `json:"batchId"`
	BatchName   string       `json:"batchName,omitempty"`
	RunbookName string       `json:"runbook"`
	BatchStatus string       `json:"batchStatus"`
	BatchFailed int          `json:"batchFailedCount,omitempty"` // members of the batch who failed
	ID          int          `json:"memberId"`
	Key         string       `json:"memberKey"`
	Display     string       `json:"memberDisplay,omitempty"`
	Status      string       `json:"status"`          // one of MemberStatuses
	Phase       string       `json:"phase,omitempty"` // that the member is in, or failed in
	Step        string       `json:"step,omitempty"`  // that the member is at, or failed at
	Error       string       `json:"error,omitempty"`
	RemovedAt   *time.Time   `json:"removedAt,omitempty"`
	Matched     *ColumnMatch `json:"matched,omitempty"`
}

// ColumnMatch is a column with the value in which a text was found.
type ColumnMatch struct {
	Column string `json:"column"`
	Value  string `json:"value"`
}
