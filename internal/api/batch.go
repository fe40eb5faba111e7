package api

import (
	"encoding/json"
	"time"
)

// Batch is a batch.
type Batch struct {
	ID                int                 `json:"id"`
	Name              string              `json:"name,omitempty"` // of a batch from a data source without a name: the runbook and the start
	Note              string              `json:"note,omitempty"`
	Owner             string              `json:"owner,omitempty"`
	RunbookName       string              `json:"runbook"`
	RunbookVersion    int                 `json:"runbookVersion"`
	Status            string              `json:"status"` // one of BatchStatuses
	IsManual          bool                `json:"isManual"`
	Shadow            bool                `json:"shadow,omitempty"` // a request started it to be compared with another orchestrator
	CreatedBy         string              `json:"createdBy,omitempty"`
	BatchStartTime    *time.Time          `json:"batchStartTime,omitempty"`
	Rescheduled       *Attribution        `json:"rescheduled,omitempty"`   // who moved the start last
	EarlierStarts     []time.Time         `json:"earlierStarts,omitempty"` // starts before that, which rows of the data source still have
	DetectedAt        time.Time           `json:"detectedAt"`
	CompletedAt       *time.Time          `json:"completedAt,omitempty"`
	CurrentPhase      string              `json:"currentPhase,omitempty"`
	RemovedCount      int                 `json:"removedCount,omitempty"` // of the members
	MemberCount       int                 `json:"memberCount"`
	Phases            []Phase             `json:"phases,omitempty"`      // if they were asked for
	ActiveCount       int                 `json:"activeCount"`           // of the members: neither removed nor failed
	FailedCount       int                 `json:"failedCount,omitempty"` // of the members, in phases that have ended
	Error             string              `json:"error,omitempty"`
	Paused            *Attribution        `json:"paused,omitempty"`    // nil: it is not paused
	Cancelled         *Attribution        `json:"cancelled,omitempty"` // set as soon as the cancellation is requested
	Filling           bool                `json:"filling,omitempty"`   // its members are being written; nothing has begun
	Held              *RemovalHoldSummary `json:"removalHold,omitempty"`
	DiscardedRemovals int                 `json:"discardedRemovals,omitempty"`   // members whom the data source no longer returns and whose removal was discarded
	WaitingReason     *WaitingReason      `json:"waitingReason,omitempty"`       // nil: it works, or has ended
	WaitsFor          []WorkerWait        `json:"waitsFor,omitempty"`            // workers that do not work on its jobs now; left out in lists
	Checks            *CheckCounts        `json:"checks,omitempty"`              // nil: its runbook has none; left out in lists
	Warnings          []string            `json:"warnings,omitempty"`            // only in the answer to a creation
	Actions           []Action            `json:"actions,omitempty"`             // left out in lists
	ETag              string              `json:"etag,omitempty"`                // changes with each change of the batch; left out in lists
	Replayed          bool                `json:"-"`                             // the idempotency key's request had been carried out before
	Shared            bool                `json:"allowInOtherBatches,omitempty"` // its members may be in other batches
}

// WorkerWait is a worker that a batch waits for, and why.
type WorkerWait struct {
	WorkerID       string      `json:"workerId"`
	State          WorkerState `json:"state"`
	JobsQueued     int         `json:"jobsQueued"`      // of the batch, and not known to have started
	Since          *time.Time  `json:"since,omitempty"` // the worker's last sign of life; nil: it was never seen
	ThrottledUntil *time.Time  `json:"throttledUntil,omitempty"`
	Reason         string      `json:"reason"`
}

// Member is a member of a batch.
type Member struct {
	ID         int                        `json:"id"`
	Key        string                     `json:"memberKey"`
	Display    string                     `json:"display,omitempty"` // of the runbook's display column
	Status     string                     `json:"status"`            // one of MemberStatuses
	Data       map[string]json.RawMessage `json:"data"`
	Overrides  map[string]Override        `json:"overrides,omitempty"` // by column
	WorkerData map[string]json.RawMessage `json:"workerData,omitempty"`
	Phase      string                     `json:"phase,omitempty"` // the phase the member is in
	AddedAt    time.Time                  `json:"addedAt"`
	FailedAt   *time.Time                 `json:"failedAt,omitempty"`
	FailedIn   string                     `json:"failedPhase,omitempty"`
	FailedStep string                     `json:"failedStep,omitempty"`
	RemovedAt  *time.Time                 `json:"removedAt,omitempty"`
	RemovedBy  string                     `json:"removedBy,omitempty"`      // the administrator who removed the member; empty where the data source no longer returned them
	MovedTo    *time.Time                 `json:"movedTo,omitempty"`        // the start of the batch to which the member moved with finished phases and outputs
	MovedToID  int                        `json:"movedToBatchId,omitempty"` // the batch to which an administrator moved the member in that way
	MovedFrom  int                        `json:"movedFrom,omitempty"`      // the batch from which the member came in that way
	Carried    []string                   `json:"carriedPhases,omitempty"`  // the phases that the member had finished there, and does not repeat
	Error      string                     `json:"error,omitempty"`
	Actions    []Action                   `json:"actions,omitempty"` // left out in lists
	ETag       string                     `json:"etag,omitempty"`    // changes with each change of the member; left out in lists
}

// Phase is one execution of a phase with the counts of its members. The init steps are a
// phase named "init" with Kind "init" and counts of steps, and so is the call that lists the items of a requested
// batch, with Kind "items". The detached steps of a phase are one with Kind
// "detached" and counts of steps, which is added when the phase has ended. The steps for removed members
// are a phase that is completed while no member is in it, and dispatched again with the
// next removal.
type Phase struct {
	ID             int          `json:"id"`
	Name           string       `json:"name"`
	Kind           string       `json:"kind"` // KindPhase, KindInit, KindItems, KindRemoval or KindDetached
	RunbookVersion int          `json:"runbookVersion"`
	Status         string       `json:"status"`
	Reason         string       `json:"reason,omitempty"` // why it waits, was skipped or failed
	Approval       bool         `json:"approvalRequired,omitempty"`
	SecondApprover bool         `json:"secondApprover,omitempty"` // another person approves it than those who requested it
	Approved       *Attribution `json:"approved,omitempty"`
	RequireSuccess float64      `json:"requireSuccess,omitempty"` // percent of the previous phase
	StopWhen       string       `json:"stopWhen,omitempty"`       // so many failed members pause the batch: 10%, or 25
	OnComplete     string       `json:"onComplete,omitempty"`     // of its on_complete steps: pending, running, succeeded, failed
	OffsetMinutes  int          `json:"offsetMinutes"`
	DueAt          *time.Time   `json:"dueAt,omitempty"`
	DispatchedAt   *time.Time   `json:"dispatchedAt,omitempty"`
	CompletedAt    *time.Time   `json:"completedAt,omitempty"`
	Members        int          `json:"members"`           // who take or took part
	Carried        int          `json:"carried,omitempty"` // members who had finished it in another batch; they are not among Members
	Succeeded      int          `json:"succeeded"`
	Failed         int          `json:"failed"`
	Cancelled      int          `json:"cancelled"`
	Running        int          `json:"running"`
	Waiting        int          `json:"waiting"`
	Actions        []Action     `json:"actions,omitempty"` // of the phases of a batch
}

// Step is one step of one member, or one init step (MemberID 0).
type Step struct {
	ID             int64           `json:"id"`
	Phase          string          `json:"phase"`
	RunbookVersion int             `json:"runbookVersion"` // that the step is of
	MemberID       int             `json:"memberId"`
	MemberKey      string          `json:"memberKey,omitempty"`
	MemberDisplay  string          `json:"memberDisplay,omitempty"` // of the runbook's display column
	Name           string          `json:"step"`
	Index          int             `json:"stepIndex"`
	IsInit         bool            `json:"isInitStep"`
	Kind           string          `json:"kind"`               // KindPhase, KindInit, KindItems, KindOnComplete, KindDetached, KindRemoval or KindCheck
	Rollback       string          `json:"rollback,omitempty"` // the rollback sequence that it is part of
	WorkerID       string          `json:"workerId"`
	Function       string          `json:"functionName"`
	When           string          `json:"when,omitempty"` // the condition of the step
	Params         json.RawMessage `json:"params,omitempty"`
	Status         string          `json:"status"` // one of StepStatuses
	JobID          string          `json:"jobId,omitempty"`
	Result         json.RawMessage `json:"result,omitempty"`
	Error          string          `json:"error,omitempty"`
	DispatchedAt   *time.Time      `json:"dispatchedAt,omitempty"`
	CompletedAt    *time.Time      `json:"completedAt,omitempty"`
	TimeoutSeconds int             `json:"timeoutSeconds"` // of one job, from its dispatch to its result
	PollCount      int             `json:"pollCount,omitempty"`
	Poll           *StepPoll       `json:"poll,omitempty"` // nil: the step does not poll
	RetryCount     int             `json:"retryCount,omitempty"`
	MaxRetries     int             `json:"maxRetries,omitempty"`
	RetryInterval  int             `json:"retryIntervalSeconds,omitempty"` // before the first retry
	OnFailure      string          `json:"onFailure,omitempty"`            // the rollback sequence that a failure starts
	RetryAfter     *time.Time      `json:"retryAfter,omitempty"`
	Deadline       *time.Time      `json:"deadline,omitempty"` // when the job in flight is given up
	Resolved       *Attribution    `json:"resolved,omitempty"` // who skipped it or marked it done
	Cached         *CachedResult   `json:"cached,omitempty"`   // nil: the step is not from the cache, and does not wait for it
	Late           []AbandonedJob  `json:"abandonedJobs,omitempty"`
	Attempts       []StepAttempt   `json:"attempts,omitempty"` // the last 20; none if the first succeeded
	Actions        []Action        `json:"actions,omitempty"`  // left out in lists
}

// CachedResult names the step of another run that a step has its result from, or waits for.
type CachedResult struct {
	BatchID  int        `json:"batchId"`
	MemberID int        `json:"memberId"` // 0: the run has no member
	StepID   int64      `json:"stepId"`
	At       *time.Time `json:"succeededAt,omitempty"` // nil: it is under way, and the step waits for it
}

// StepPoll says how a step polls, and since when it has.
type StepPoll struct {
	IntervalSeconds int        `json:"intervalSeconds"`
	TimeoutSeconds  int        `json:"timeoutSeconds"`         // from StartedAt
	StartedAt       *time.Time `json:"startedAt,omitempty"`    // nil: the step has not polled
	LastPolledAt    *time.Time `json:"lastPolledAt,omitempty"` // when the function last answered that it is not complete
	// EarlierAnswers are the last five answers of this attempt that differ from those after them, oldest first. The
	// last answer is the error of the step.
	EarlierAnswers []PollAnswer `json:"earlierAnswers,omitempty"`
}

// PollAnswer is the reason that a function gave for not being complete, in one poll or several on end.
type PollAnswer struct {
	Text   string    `json:"text"`
	LastAt time.Time `json:"lastAt"`
}

// StepAttempt is an attempt of a step that has ended.
type StepAttempt struct {
	JobID     string    `json:"jobId"` // of its last job
	StartedAt time.Time `json:"startedAt"`
	EndedAt   time.Time `json:"endedAt"`
	Outcome   string    `json:"outcome"` // succeeded, failed or poll_timeout
	Error     string    `json:"error,omitempty"`
}

// AbandonedJob is a job that was given up, with the result that came later.
type AbandonedJob struct {
	JobID       string          `json:"jobId"`
	AbandonedAt time.Time       `json:"abandonedAt"`
	At          *time.Time      `json:"receivedAt,omitempty"` // nil: no result has come
	Succeeded   bool            `json:"succeeded,omitempty"`
	Result      json.RawMessage `json:"result,omitempty"`
	Error       string          `json:"error,omitempty"`
}
