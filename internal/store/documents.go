package store

import (
	"encoding/json"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// IdempotencyRecord is a request that its caller named with an idempotency key. It is written
// with what the request changes, and kept as long: a caller that repeats the request, after a
// lost answer or while the first one is under way, gets the same result, and nothing is done
// twice.
type IdempotencyRecord struct {
	By      string    `json:"by"`
	Content string    `json:"content"` // a digest of the request
	At      time.Time `json:"at"`
	Version int       `json:"version"` // the version of the runbook that the request uses, or published

	Batch     int  `json:"batchId,omitempty"`   // the batch that the request creates
	Unchanged bool `json:"unchanged,omitempty"` // the request published a version that was active already

	// The progress of a request that adds members.
	Next    int    `json:"next,omitempty"`    // all rows before this one are done
	Added   int    `json:"added,omitempty"`   // how many of them were added
	Present []byte `json:"present,omitempty"` // a bit for each row, set for those who were members at first
}

// RemovalHoldMembers names the members of a batch whose removal waits for confirmation, and those
// whose removal was discarded: they stay although the data source no longer has them.
type RemovalHoldMembers struct {
	Members   []int             `json:"members"`
	Moves     map[int]time.Time `json:"moves,omitempty"` // the start of the batch that a member would move to
	Discarded []int             `json:"discarded"`
	By        *Actor            `json:"by,omitempty"` // who confirmed the removals
	Decided   *HoldDecision     `json:"decided,omitempty"`
}

// HoldDecision is the last decision on a removal hold of a batch. A request that repeats it changes
// nothing, although the hold may have ended since.
type HoldDecision struct {
	Action   string `json:"action"`
	Revision string `json:"revision"`      // of the hold
	Key      string `json:"key,omitempty"` // a digest of the request's idempotency key; empty for none
}

// Task is a repair of failed members that an administrator asked for. It never changes.
type Task struct {
	Work      string            `json:"work"`
	Action    string            `json:"action,omitempty"` // as in package api; empty: a retry
	Selection Selection         `json:"selection"`
	Version   int               `json:"version,omitempty"` // that the retried runs are to follow; 0: the one in which they failed
	From      string            `json:"from,omitempty"`    // the step that a retry begins with; empty: the one that failed
	Result    json.RawMessage   `json:"result,omitempty"`  // of steps that are marked as done
	By        model.Attribution `json:"by"`
}

// Selection narrows a repair to some of the failed members. An empty field takes all; those that
// are given must all hold.
type Selection struct {
	Member     int    `json:"memberId,omitempty"`
	Status     string `json:"status,omitempty"` // of the step that failed
	Phase      string `json:"phase,omitempty"`
	Step       string `json:"step,omitempty"`
	Error      string `json:"error,omitempty"`      // a part of the member's error, in any case
	ErrorGroup string `json:"errorGroup,omitempty"` // the group of the step's error, or an error of it
}
