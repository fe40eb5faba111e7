package directory

import "time"

// ContentTask moves a OneDrive or a site to another tenant.
type ContentTask struct {
	ID         string         `json:"id"`
	Source     string         `json:"source"` // kind and source, by which a task is found
	Parameters map[string]any `json:"parameters"`
	Created    time.Time      `json:"created"`
	StartAfter time.Time      `json:"startAfter,omitzero"`
	Updated    time.Time      `json:"updated"`
	Cancelled  bool           `json:"cancelled,omitempty"`
	Error      string         `json:"error,omitempty"` // why it failed
}

// PutContentTask is the next version of a task. A new task takes the place of the last one with its source.
func PutContentTask(t ContentTask, at time.Time) Change {
	return Change{kind: contentTaskKind, id: Fold(t.Source), at: at, value: t}
}
