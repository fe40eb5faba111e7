package api

import (
	"encoding/json"
	"reflect"
)

// The actions of a repair, which its audit record has.
const (
	RepairRetry = "retry"
	RepairSkip  = "skip_step"
	RepairDone  = "mark_done"

	RepairRemove = "remove_member" // of members who have not failed
	RepairMove   = "move_member"   // likewise, to another batch
)

// VersionActive is the value of Repair.Version for the active version of the runbook.
const VersionActive = "active"

// RepairStatuses are the statuses of a step that failed.
var RepairStatuses = []string{StepFailed, StepPollTimeout}

// Repair lets failed members go on: it retries them, or skips the step at which each failed or
// marks it as done. With RepairRemove it removes members who have not failed, and with RepairMove it moves
// them to another batch of the runbook, with their finished phases and outputs.
type Repair struct {
	Action     string // one of the actions; empty: RepairRetry
	Selection  Selection
	MemberRefs []string        // of a client, in place of Selection.Members: keys or numbers of members
	Version    string          // of a retry: VersionActive, or empty for the version in which each member failed
	From       string          // of a retry: the step to begin with; empty for the one that failed
	Result     json.RawMessage // of steps that are marked as done: what their function would have returned
	To         int             // of a move: the batch
	Reason     string
	DryRun     bool // tells the effect and changes nothing
}

// Selection narrows a repair to some of the failed members, and a removal to some of the members who
// have not failed. An empty field selects all; all given fields must match.
type Selection struct {
	Members    []int   `json:"memberIds,omitempty"`
	Steps      []int64 `json:"stepIds,omitempty"`    // of a repair: the steps that the members failed at
	Status     string  `json:"status,omitempty"`     // of the step that the member failed at: one of RepairStatuses; of a removal, of the member
	Phase      string  `json:"phase,omitempty"`      // the phase that the member failed in, by its name
	Step       string  `json:"step,omitempty"`       // the step that the member failed at, by its name
	Error      string  `json:"error,omitempty"`      // a part of the member's error, case-insensitive
	ErrorGroup string  `json:"errorGroup,omitempty"` // the group of the step's error, or an error of the group
	Search     string  `json:"search,omitempty"`     // of a removal: a part of a text of the member, case-insensitive
}

// Empty reports whether the selection selects all.
func (s Selection) Empty() bool { return reflect.ValueOf(s).IsZero() }

// MaxSelected is the number of members, or of steps, that a selection names at most.
const MaxSelected = 1000

// RepairResult is the answer to a repair. A dry run has no task.
type RepairResult struct {
	BatchID   int          `json:"batchId"`
	Action    string       `json:"action"`
	Task      string       `json:"task,omitempty"`
	To        int          `json:"toBatchId,omitempty"` // of a move
	Selection Selection    `json:"selection"`
	Effect    RepairEffect `json:"effect"`
	Preview   *Preview     `json:"preview,omitempty"` // of a dry run
	Replayed  bool         `json:"-"`                 // the idempotency key's request had been carried out before
}

// RepairEffect is the effect of a repair.
type RepairEffect struct {
	Members       int             `json:"members"`   // that go on
	Sequences     int             `json:"sequences"` // init and on_complete steps that go on
	ActiveVersion int             `json:"activeVersion,omitempty"`
	Groups        []RepairGroup   `json:"groups"`
	RefusedCount  int             `json:"refusedCount"`
	Refused       []RefusedMember `json:"refused"` // the first of them
}

// RepairGroup is the effect on members who failed in the same way.
type RepairGroup struct {
	Phase         string   `json:"phase"`
	Step          string   `json:"step"`   // that they failed at
	Status        string   `json:"status"` // of that step
	ErrorGroup    string   `json:"errorGroup"`
	Members       int      `json:"members"`
	FailedVersion int      `json:"failedVersion"` // the version in which they failed
	Version       int      `json:"version"`       // the version that they follow
	From          string   `json:"from"`          // the step that they go on with; empty if none is left in the phase
	Steps         int      `json:"steps"`         // that each of them has still to do in the phase, at most
	Then          []string `json:"then"`          // phases that they missed and that follow
}

// RefusedMember is a member whom a repair leaves as they are, and why.
type RefusedMember struct {
	ID      int    `json:"memberId"`
	Key     string `json:"memberKey"`
	Display string `json:"memberDisplay,omitempty"` // of the runbook's display column
	Reason  string `json:"reason"`
}
