package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"
)

// Member is one person, or one thing, that a batch migrates.
type Member struct {
	ID         int                        `json:"memberId"` // counts from 1 within the batch
	Page       int                        `json:"page"`     // which shard counts the member, in every phase
	Key        string                     `json:"key"`
	Hash       string                     `json:"hash,omitempty"`       // of the source's row, to know when it changes; empty where no source is read
	Data       map[string]json.RawMessage `json:"data"`                 // the columns of the source
	Overrides  map[string]Override        `json:"overrides,omitempty"`  // the columns in Data that an administrator corrected, while the source has another value
	WorkerData map[string]json.RawMessage `json:"workerData,omitempty"` // what output_params took from results
	Search     string                     `json:"search,omitempty"`     // the key and what Data has of texts, in lower case; see NoteSearch
	Status     MemberStatus               `json:"status"`
	AddedAt    time.Time                  `json:"addedAt"`
	AddedBy    string                     `json:"addedBy,omitempty"` // the administrator who added the member to a batch under way
	Claim      string                     `json:"claim,omitempty"`   // the addition or retry that claimed the person last; empty for the creation of a manual batch
	FailedAt   *time.Time                 `json:"failedAt,omitempty"`
	RemovedAt  *time.Time                 `json:"removedAt,omitempty"`
	RemovedBy  string                     `json:"removedBy,omitempty"` // the administrator who did; empty where the source no longer had them
	MovedTo    *time.Time                 `json:"movedTo,omitempty"`   // the start of the batch to which the member moves, or moved, with finished phases and outputs
	MovedFrom  int                        `json:"movedFrom,omitempty"` // the batch from which the member came in that way
	// MovedToBatch is the batch to which an administrator moves, or moved, the member in that way, and
	// MoveTask the task that does; MovedFromMember is the member of MovedFrom, whom an administrator moved.
	MovedToBatch    int    `json:"movedToBatch,omitempty"`
	MoveTask        string `json:"moveTask,omitempty"`
	MovedFromMember int    `json:"movedFromMember,omitempty"`

	Finished   []string   `json:"finished,omitempty"` // phases that the member has finished in this batch
	Carried    []string   `json:"carried,omitempty"`  // phases that the member had finished before in other batches, and does not repeat
	Removal    int        `json:"removal,omitempty"`  // the execution of the member's removal steps; 0 for none
	Leaving    bool       `json:"leaving,omitempty"`  // removed, and what that asks for is not yet set going
	Error      string     `json:"error,omitempty"`    // why the member, or the removal, failed
	FailedIn   string     `json:"failedIn,omitempty"` // the phase that the member failed in
	FailedStep string     `json:"failedStep,omitempty"`
	FailedAs   StepStatus `json:"failedAs,omitempty"`      // how that step ended
	FailedBy   int        `json:"failedVersion,omitempty"` // the version that the member's run followed
	Undone     bool       `json:"undone,omitempty"`        // a rollback undid what came before that step
	OpenPhase  int        `json:"openPhase,omitempty"`     // the execution the member is in; 0 for none
	Queue      []int      `json:"queue,omitempty"`         // executions that wait for the member, in order
	BusyUntil  *time.Time `json:"busyUntil,omitempty"`     // until when a job that an administrator no longer waits for may still run: nothing is undone before
	// UndoingUntil is BusyUntil of a job that undoes, or cleans up: nothing is done again before.
	UndoingUntil *time.Time `json:"undoingUntil,omitempty"`
}

// Moves reports whether the member moves, or moved, to another batch with finished phases and outputs.
func (m *Member) Moves() bool { return m.MovedTo != nil || m.MovedToBatch != 0 }

// Busy reports whether a job of the member that an administrator no longer waits for may
// still run.
func (m *Member) Busy(now time.Time) bool {
	return m.BusyUntil != nil && now.Before(*m.BusyUntil) || m.UndoingUntil != nil && now.Before(*m.UndoingUntil)
}

// Label names the member in texts.
func (m *Member) Label() string { return fmt.Sprintf("member %d (%s)", m.ID, m.Key) }

// Override is a column that an administrator corrected in a batch from a data source. The data of
// the member has the corrected value.
type Override struct {
	Source json.RawMessage `json:"source,omitempty"` // the value that the source had last; none where it lacks the column
	By     string          `json:"by"`
	At     time.Time       `json:"at"`
}

// SameValue reports whether two JSON values are equal, however they are written. No value equals
// only no value.
func SameValue(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) || len(a) == 0 || len(b) == 0 {
		return bytes.Equal(a, b)
	}
	var values [2]any
	for i, raw := range []json.RawMessage{a, b} {
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		if decoder.Decode(&values[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}

// Skips reports whether the member passes by a phase, having finished it in another batch.
func (m *Member) Skips(p *Phase) bool { return !p.Rerun && slices.Contains(m.Carried, p.Name) }

// NoteFinished records whether the member has finished a phase.
func (m *Member) NoteFinished(phase string, finished bool) {
	without := slices.DeleteFunc(slices.Clone(m.Finished), func(name string) bool { return name == phase })
	if finished {
		without = append(without, phase)
	}
	m.Finished = without
}
