package app

import (
	"encoding/json"
	"time"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// The views are what people and programs read: the admin API answers with them as
// they are, the CLI decodes them. Field names are camelCase, times RFC 3339 in UTC.

// Page is one page of a list. Continuation is empty on the last page.
type Page[T any] struct {
	Items        []T    `json:"items"`
	Continuation string `json:"continuationToken,omitempty"`
}

// ListOptions asks for one page of a list.
type ListOptions struct {
	Limit        int    // 1 to 1000; 0 means 100
	Continuation string // as the page before gave it
	Status       string // only items of this status; empty for all
	Runbook      string // batches only
	Phase        string // steps only
	Member       int    // steps only; 0 for all
	Topic        string // messages that could not be processed only
	Sort         string // a field of the list's Sorts, with - in front for descending; empty for its usual order
	Search       string // only items whose name begins so, as it is written: a batch's runbook, a member's key, a runbook
}

// RunbookView is one version of a runbook. YAML is left out in lists.
type RunbookView struct {
	Name        string               `json:"name"`
	Version     int                  `json:"version"`
	Description string               `json:"description,omitempty"`
	YAML        string               `json:"yamlContent,omitempty"`
	Secrets     []string             `json:"secrets,omitempty"` // names of columns and outputs whose values are never shown; left out in lists
	Active      bool                 `json:"isActive"`
	CreatedAt   time.Time            `json:"createdAt"`
	PublishedBy string               `json:"publishedBy"`
	Enabled     bool                 `json:"automationEnabled"`   // its batches are made by themselves
	LastError   string               `json:"lastError,omitempty"` // of the last tick, where it went wrong
	LastErrorAt *time.Time           `json:"lastErrorAt,omitempty"`
	Held        int                  `json:"heldRemovals,omitempty"`  // batches of which removals are held
	Additions   int                  `json:"heldAdditions,omitempty"` // people whose addition is held
	Warnings    []runbook.Diagnostic `json:"warnings,omitempty"`      // only in the answer to a publish
	Unchanged   bool                 `json:"unchanged,omitempty"`     // a publish of what was already active
	DryRun      bool                 `json:"dryRun,omitempty"`        // nothing was stored: the version is the one that there would be
	Changes     *ChangesView         `json:"changes,omitempty"`       // only in the answer to a publish
	Replayed    bool                 `json:"-"`                       // a publish that had been asked for by this key before
}

// BatchView is a batch as a list or a page shows it.
type BatchView struct {
	ID             int          `json:"id"`
	RunbookName    string       `json:"runbookName"`
	RunbookVersion int          `json:"runbookVersion"`
	Status         string       `json:"status"`
	IsManual       bool         `json:"isManual"`
	CreatedBy      string       `json:"createdBy,omitempty"`
	BatchStartTime *time.Time   `json:"batchStartTime"`
	DetectedAt     time.Time    `json:"detectedAt"`
	CompletedAt    *time.Time   `json:"completedAt,omitempty"`
	CurrentPhase   string       `json:"currentPhase,omitempty"`
	RemovedCount   int          `json:"removedCount,omitempty"` // of the members
	MemberCount    int          `json:"memberCount"`
	Error          string       `json:"error,omitempty"`
	Paused         *MarkView    `json:"paused,omitempty"`    // nil: it is not paused
	Cancelled      *MarkView    `json:"cancelled,omitempty"` // by whom; the status tells whether all has ended
	Filling        bool         `json:"filling,omitempty"`   // its members are being written; nothing has begun
	Held           *HeldSummary `json:"heldRemovals,omitempty"`
	Kept           int          `json:"keptMembers,omitempty"`         // whom the data source no longer has, and who stay
	WaitsFor       []WaitView   `json:"waitsFor,omitempty"`            // workers that do not work on its jobs now; only of a single batch
	Warnings       []string     `json:"warnings,omitempty"`            // only in the answer to a creation
	ETag           string       `json:"etag,omitempty"`                // changes with each change of the batch; left out in lists
	Replayed       bool         `json:"-"`                             // a creation that had been asked for by this key before
	Shared         bool         `json:"allowInOtherBatches,omitempty"` // its members may be in other batches
}

// MemberView is a member of a batch.
type MemberView struct {
	ID         int                        `json:"id"`
	Key        string                     `json:"memberKey"`
	Status     string                     `json:"status"`
	Data       map[string]json.RawMessage `json:"data"`
	WorkerData map[string]json.RawMessage `json:"workerData,omitempty"`
	Phase      string                     `json:"phase,omitempty"` // the phase the member is in
	AddedAt    time.Time                  `json:"addedAt"`
	FailedAt   *time.Time                 `json:"failedAt,omitempty"`
	FailedIn   string                     `json:"failedPhase,omitempty"`
	FailedStep string                     `json:"failedStep,omitempty"`
	RemovedAt  *time.Time                 `json:"removedAt,omitempty"`
	RemovedBy  string                     `json:"removedBy,omitempty"` // the administrator who did; empty where the data source no longer had them
	Error      string                     `json:"error,omitempty"`
}

// PhaseView is a phase execution with how its members stand. The init sequence
// is shown as a phase named "init" with Kind "init" and counts of its steps. The steps for
// members who are removed are completed while nobody is in them, and dispatched again
// with the next member who is removed.
type PhaseView struct {
	ID             int        `json:"id"`
	Name           string     `json:"phaseName"`
	Kind           string     `json:"kind"` // phase, init, or removal: the steps for members who are removed
	RunbookVersion int        `json:"runbookVersion"`
	Status         string     `json:"status"`
	Reason         string     `json:"reason,omitempty"` // why it waits, was skipped or failed
	Approval       bool       `json:"approvalRequired,omitempty"`
	Approved       *MarkView  `json:"approved,omitempty"`
	RequireSuccess float64    `json:"requireSuccess,omitempty"` // percent of the phase before
	StopWhen       string     `json:"stopWhen,omitempty"`       // so many failed members pause the batch: 10%, or 25
	OnComplete     string     `json:"onComplete,omitempty"`     // of its on_complete steps: pending, running, succeeded, failed
	OffsetMinutes  int        `json:"offsetMinutes"`
	DueAt          *time.Time `json:"dueAt"`
	DispatchedAt   *time.Time `json:"dispatchedAt,omitempty"`
	CompletedAt    *time.Time `json:"completedAt,omitempty"`
	Members        int        `json:"members"` // who take or took part
	Succeeded      int        `json:"succeeded"`
	Failed         int        `json:"failed"`
	Cancelled      int        `json:"cancelled"`
	Running        int        `json:"running"`
	Waiting        int        `json:"waiting"`
}

// StepView is one step of one member, or one init step (MemberID 0).
type StepView struct {
	ID             int64           `json:"id"`
	Phase          string          `json:"phaseName"`
	RunbookVersion int             `json:"runbookVersion"` // that the step is of
	MemberID       int             `json:"memberId"`
	MemberKey      string          `json:"memberKey,omitempty"`
	Name           string          `json:"stepName"`
	Index          int             `json:"stepIndex"`
	IsInit         bool            `json:"isInitStep"`
	Kind           string          `json:"kind"`               // phase, init, on_complete or removal
	Rollback       string          `json:"rollback,omitempty"` // the rollback sequence that it is part of
	WorkerID       string          `json:"workerId"`
	Function       string          `json:"functionName"`
	Params         json.RawMessage `json:"params,omitempty"`
	Status         string          `json:"status"`
	JobID          string          `json:"jobId,omitempty"`
	Result         json.RawMessage `json:"result,omitempty"`
	Error          string          `json:"errorMessage,omitempty"`
	DispatchedAt   *time.Time      `json:"dispatchedAt,omitempty"`
	CompletedAt    *time.Time      `json:"completedAt,omitempty"`
	PollCount      int             `json:"pollCount,omitempty"`
	RetryCount     int             `json:"retryCount,omitempty"`
	RetryAfter     *time.Time      `json:"retryAfter,omitempty"`
	Deadline       *time.Time      `json:"deadline,omitempty"` // when the job in flight must have been answered
	Resolved       *MarkView       `json:"resolved,omitempty"` // who skipped it or marked it done
	Late           []LateView      `json:"abandonedJobs,omitempty"`
}

// AdvanceView is the answer to an advance: the phase that was started, now or by an
// earlier request, with its counts, and what can be started after it.
type AdvanceView struct {
	Batch     BatchView `json:"batch"`
	Advanced  string    `json:"advanced"`  // the phase, or "init"
	Members   int       `json:"members"`   // who are active in the batch now
	Repeated  bool      `json:"repeated"`  // it had been started before: this request started nothing
	Phase     PhaseView `json:"phase"`     // the phase in Advanced, as it is now
	Remaining []string  `json:"remaining"` // phases that can still be advanced to, in order
	NextPhase string    `json:"nextPhase,omitempty"`
}
