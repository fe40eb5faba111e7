package api

import "time"

// The statuses of a task.
const (
	TaskRunning   = "running"
	TaskCompleted = "completed" // all pages of members are done
	TaskCancelled = "cancelled" // the batch was cancelled first
)

// TaskStatuses are all statuses of a task.
var TaskStatuses = []string{TaskRunning, TaskCompleted, TaskCancelled}

// Task is a repair, a removal or a move of many members, which is carried out in the background, and how far it
// is. Members who changed after the request are neither finished nor refused. A repair has finished a
// member when the member has started again, a move when the member is in the other batch.
type Task struct {
	ID           string          `json:"id"`
	BatchID      int             `json:"batchId"`
	Action       string          `json:"action"`
	Status       string          `json:"status"`              // one of TaskStatuses
	To           int             `json:"toBatchId,omitempty"` // of a move
	Selection    Selection       `json:"selection"`
	Requested    Attribution     `json:"requested"`
	EndedAt      *time.Time      `json:"endedAt,omitempty"`
	Total        int             `json:"total"` // members and sequences that the request selected
	Finished     int             `json:"finished"`
	RefusedCount int             `json:"refusedCount"`
	Refused      []RefusedMember `json:"refused"` // the first of them
}

// Terminal reports whether the task has ended.
func (t Task) Terminal() bool { return t.Status != TaskRunning }
