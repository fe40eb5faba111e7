package app

import (
	"encoding/json"
	"time"
)

// Selection narrows a retry to some of the members who failed. An empty field
// takes all; those that are given must all hold.
type Selection struct {
	Member int    `json:"memberId,omitempty"`
	Phase  string `json:"phase,omitempty"` // the phase that the member failed in, by its name
	Step   string `json:"step,omitempty"`  // the step that the member failed at, by its name
	Error  string `json:"error,omitempty"` // a part of the member's error, in any case
}

// RetryView is the answer to a request to retry: what was set going.
type RetryView struct {
	BatchID   int       `json:"batchId"`
	Task      string    `json:"task"`
	Selection Selection `json:"selection"`
}

// AddedView is the answer to members added to a batch.
type AddedView struct {
	Batch    BatchView `json:"batch"`
	Added    int       `json:"added"`
	Present  []string  `json:"present,omitempty"` // keys that were members already; they are left as they are
	Warnings []string  `json:"warnings,omitempty"`
	Replayed bool      `json:"-"` // it had been asked for by this key before
}

// PublishOptions say what a new version does to the batches that are under way, and on
// what terms it is published.
type PublishOptions struct {
	// Overdue is OverdueIgnore or OverdueRerun; empty for OverdueIgnore.
	Overdue   string
	RerunInit bool // run the init steps again
	Strict    bool // refuse a runbook that there are warnings about
	DryRun    bool // check it and tell what it would change, and store nothing
}

// What becomes, under a new version, of phases that are past due.
const (
	OverdueIgnore = "ignore" // they are skipped
	OverdueRerun  = "rerun"  // they are run again, for all active members
)

// MarkView is who did something, when and why.
type MarkView struct {
	By  string    `json:"by"`
	At  time.Time `json:"at"`
	Why string    `json:"reason,omitempty"`
}

// LateView is a result that came after its job was given up.
type LateView struct {
	JobID       string          `json:"jobId"`
	AbandonedAt time.Time       `json:"abandonedAt"`
	At          *time.Time      `json:"receivedAt,omitempty"` // nil: none has come
	Succeeded   bool            `json:"succeeded,omitempty"`
	Result      json.RawMessage `json:"result,omitempty"`
	Error       string          `json:"error,omitempty"`
}
