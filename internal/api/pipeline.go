package api

import (
	"encoding/json"
	"time"
)

// PipelineRequest starts a batch of a runbook that requests start. Items are objects: a field for each
// column that the runbook uses. There are none if a function lists them.
type PipelineRequest struct {
	Owner string                       `json:"owner"`
	Items []map[string]json.RawMessage `json:"items,omitempty"`
	Force bool                         `json:"force,omitempty"` // also if the items are those of the last request
	// Shadow starts the batch only to compare it with another orchestrator.
	Shadow bool `json:"shadow,omitempty"`
}

// PipelineStatus is where a batch stands for those who requested it.
type PipelineStatus string

// The statuses of a requested batch.
const (
	PipelineQueued     PipelineStatus = "queued"     // nothing has begun
	PipelineListing    PipelineStatus = "listing"    // a function lists the items
	PipelineProcessing PipelineStatus = "processing" // a phase, or the init steps, have begun
	PipelineCompleted  PipelineStatus = "completed"  // all phases have ended, and one of them completed; items may have failed
	PipelineFailed     PipelineStatus = "failed"     // the items could not be listed, no phase completed, or an administrator cancelled the batch
	// PipelineCached answers a request: an earlier batch has completed with the same items. A batch for which
	// a function listed the items ends with it.
	PipelineCached PipelineStatus = "cached"
)

// PipelineBatch is a batch as those see it who requested it.
type PipelineBatch struct {
	ID             int            `json:"batchId"`
	Pipeline       string         `json:"pipeline"` // the name of the runbook
	RunbookVersion int            `json:"runbookVersion"`
	Owner          string         `json:"owner"`
	Status         PipelineStatus `json:"status"`
	Fingerprint    string         `json:"fingerprint,omitempty"`   // of the items, in any order, and of the version; empty until they are listed
	CachedBatch    int            `json:"cachedBatchId,omitempty"` // of a batch that ended with PipelineCached: the batch that has its result
	Items          PipelineItems  `json:"items,omitzero"`          // those of CachedBatch, if there is one; absent until they are listed
	RequestedAt    time.Time      `json:"requestedAt"`
	CompletedAt    *time.Time     `json:"completedAt,omitempty"`
	Shadow         bool           `json:"shadow,omitempty"`    // only to be compared with another orchestrator
	ExpiresAt      *time.Time     `json:"expiresAt,omitempty"` // nil: it has not ended
	Error          string         `json:"error,omitempty"`
	Detached       []PipelineStep `json:"detachedSteps,omitempty"` // that have begun; they may go on after the end of the batch
	StatusURL      string         `json:"statusUrl"`
	ResultURL      string         `json:"resultUrl"`
	Replayed       bool           `json:"-"` // an earlier request with this idempotency key, or with these items, started it
}

// PipelineStep is a detached step of a phase.
type PipelineStep struct {
	Phase       string         `json:"phase"`
	Name        string         `json:"step"`
	Status      PipelineStatus `json:"status"` // PipelineQueued, PipelineProcessing, PipelineCompleted, also if it was skipped, or PipelineFailed, also if it was cancelled
	CompletedAt *time.Time     `json:"completedAt,omitempty"`
	Error       string         `json:"error,omitempty"`
}

// PipelineItems counts the items of a batch. Each is in one of the counts but Total.
type PipelineItems struct {
	Total     int `json:"total"`
	Queued    int `json:"queued"`
	Running   int `json:"running"`
	Succeeded int `json:"succeeded"` // in all phases
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled"`
}

// PipelineResult is the result of a batch: the outputs of the on_complete steps of its last phase
// that has any.
type PipelineResult struct {
	ID          int                        `json:"batchId"`
	Pipeline    string                     `json:"pipeline"`
	Owner       string                     `json:"owner"`
	Fingerprint string                     `json:"fingerprint"`
	Items       PipelineItems              `json:"items"`
	CompletedAt time.Time                  `json:"completedAt"`
	Outputs     map[string]json.RawMessage `json:"outputs"`
}
