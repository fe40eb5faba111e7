package store

import (
	"encoding/json"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// IdempotencyRecord is a request that its caller named with an idempotency key. It is written
// with what the request changes, and kept as long, or until its time: a caller that repeats the request, after a
// lost answer or while the first one is under way, gets the same result, and nothing is done
// twice.
type IdempotencyRecord struct {
	By      string    `json:"by"`
	Content string    `json:"content"` // a digest of the request
	At      time.Time `json:"at"`
	Version int       `json:"version"` // the version of the runbook that the request uses, or published

	ExpiresAt *time.Time `json:"expiresAt,omitempty"` // when the tick may delete it; nil: never

	Batch     int  `json:"batchId,omitempty"`   // the batch that the request creates
	Unchanged bool `json:"unchanged,omitempty"` // the request published a version that was active already, or was answered with an earlier result

	// The progress of a request that adds members.
	Next    int    `json:"next,omitempty"`    // all rows before this one are done
	Added   int    `json:"added,omitempty"`   // how many of them were added
	Present []byte `json:"present,omitempty"` // a bit for each row, set for those who were members at first
}

// PipelineRequest is the newest request of an owner to a runbook that requests start.
type PipelineRequest struct {
	Runbook     string    `json:"runbook"`
	Owner       string    `json:"owner"`
	Batch       int       `json:"batchId"`
	Version     int       `json:"version"` // of the runbook
	Fingerprint string    `json:"fingerprint"`
	At          time.Time `json:"at"`
	Before      int       `json:"beforeId,omitempty"` // the batch of the owner's request before; 0 for none
	Result      int       `json:"resultId,omitempty"` // the batch of the request before if it had a result by then, or else what that request kept here; 0 for none
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

// Task is work over members of a batch that an administrator asked for, one page of members after
// another, and how far it is.
type Task struct {
	Work      string            `json:"work"`
	Action    string            `json:"action,omitempty"` // as in package api; empty: a retry
	Selection Selection         `json:"selection"`
	Version   int               `json:"version,omitempty"` // that the retried runs are to follow; 0: the one in which they failed
	From      string            `json:"from,omitempty"`    // the step that a retry begins with; empty: the one that failed
	Result    json.RawMessage   `json:"result,omitempty"`  // of steps that are marked as done
	To        int               `json:"to,omitempty"`      // the batch to which members move
	By        model.Attribution `json:"by"`
	Actor     *Actor            `json:"actor,omitempty"` // who asked for it, for the audit records of the work
	Pages     []int             `json:"pages,omitempty"` // the pages that the work visits, in order; none: all
	Progress  TaskProgress      `json:"progress"`
}

// Page returns the page that the work visits at a place in its order, of a batch with so many pages,
// and whether another follows. Page 0 has the runs without a member.
func (t *Task) Page(place, pages int) (page int, more bool) {
	if len(t.Pages) == 0 {
		return place, place < pages
	}
	return t.Pages[min(place, len(t.Pages)-1)], place+1 < len(t.Pages)
}

// TaskProgress is how far the work of a task is.
type TaskProgress struct {
	Total     int           `json:"total"`              // that the task selected: members, and runs of init or on_complete steps
	Next      int           `json:"next,omitempty"`     // all places before this one are done
	Waiting   []int         `json:"waiting,omitempty"`  // places before it that are not: members who move are in a phase
	Finished  int           `json:"finished,omitempty"` // that the task did
	Refused   int           `json:"refused,omitempty"`  // that stay as they are
	Refusals  []TaskRefusal `json:"refusals,omitempty"` // the first of them
	EndedAt   *time.Time    `json:"endedAt,omitempty"`
	Cancelled bool          `json:"cancelled,omitempty"` // the batch was cancelled before the last page
}

// TaskRefusal is a member whom a task left as they are, and why.
type TaskRefusal struct {
	Member int    `json:"memberId"`
	Key    string `json:"memberKey"`
	Reason string `json:"reason"`
}

// Selection narrows a task to some of the members. An empty field takes all; those that are given
// must all hold.
type Selection struct {
	Members    []int   `json:"memberIds,omitempty"`
	Steps      []int64 `json:"stepIds,omitempty"` // the steps at which the members failed
	Status     string  `json:"status,omitempty"`  // of the step that failed; of a removal, of the member
	Phase      string  `json:"phase,omitempty"`
	Step       string  `json:"step,omitempty"`
	Error      string  `json:"error,omitempty"`      // a part of the member's error, in any case
	ErrorGroup string  `json:"errorGroup,omitempty"` // the group of the step's error, or an error of it
	Search     string  `json:"search,omitempty"`     // of a removal: a part of a text of the member, in any case
}
