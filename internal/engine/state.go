// Package engine is the state machine of a migration: every transition of a
// batch, a phase, a member, a step or an init step is decided here, by Decide,
// from the current state, an event and the time.
//
// It is pure. It must not know a clock, a random number, a store or a bus: what
// is to be stored comes back as the next state, what is to be sent as effects.
// docs/state-machine.md draws the machine.
package engine

import (
	"encoding/json"
	"time"
)

// BatchStatus is where a batch stands.
type BatchStatus string

// The statuses of a batch.
const (
	BatchDetected       BatchStatus = "detected"
	BatchInitDispatched BatchStatus = "init_dispatched"
	BatchActive         BatchStatus = "active"
	BatchCompleted      BatchStatus = "completed"
	BatchFailed         BatchStatus = "failed"
)

// Terminal tells whether the batch has ended.
func (s BatchStatus) Terminal() bool { return s == BatchCompleted || s == BatchFailed }

// PhaseStatus is where a phase execution stands.
type PhaseStatus string

// The statuses of a phase execution.
const (
	PhasePending    PhaseStatus = "pending"
	PhaseDispatched PhaseStatus = "dispatched"
	PhaseCompleted  PhaseStatus = "completed"
	PhaseFailed     PhaseStatus = "failed"
	PhaseSkipped    PhaseStatus = "skipped"
	PhaseSuperseded PhaseStatus = "superseded"
)

// Terminal tells whether the phase has ended.
func (s PhaseStatus) Terminal() bool { return s != PhasePending && s != PhaseDispatched }

// MemberStatus is where a member of a batch stands.
type MemberStatus string

// The statuses of a member.
const (
	MemberActive  MemberStatus = "active"
	MemberRemoved MemberStatus = "removed"
	MemberFailed  MemberStatus = "failed"
)

// RunStatus is where one member's passage through one phase stands.
type RunStatus string

// The statuses of a run. A waiting run stands behind an earlier phase that its
// member has not yet left.
const (
	RunWaiting   RunStatus = "waiting"
	RunRunning   RunStatus = "running"
	RunSucceeded RunStatus = "succeeded"
	RunFailed    RunStatus = "failed"
	RunCancelled RunStatus = "cancelled"
)

// Terminal tells whether the run has ended.
func (s RunStatus) Terminal() bool { return s != RunWaiting && s != RunRunning }

// StepStatus is where a step or an init step stands.
type StepStatus string

// The statuses of a step.
const (
	StepPending     StepStatus = "pending"
	StepDispatched  StepStatus = "dispatched"
	StepSucceeded   StepStatus = "succeeded"
	StepFailed      StepStatus = "failed"
	StepPolling     StepStatus = "polling"
	StepPollTimeout StepStatus = "poll_timeout"
	StepCancelled   StepStatus = "cancelled"
)

// Terminal tells whether the step has ended.
func (s StepStatus) Terminal() bool {
	return s != StepPending && s != StepDispatched && s != StepPolling
}

// PhaseKind tells a phase of the runbook from the init sequence, which runs as
// an execution of its own.
type PhaseKind string

// The kinds of execution.
const (
	KindPhase PhaseKind = "phase"
	KindInit  PhaseKind = "init"
)

// Batch is a group of members who go through a runbook together, with its phase
// executions. Times are UTC; a nil time has not come.
type Batch struct {
	ID               int         `json:"batchId"`
	Runbook          string      `json:"runbook"`
	Version          int         `json:"version"`
	Status           BatchStatus `json:"status"`
	Manual           bool        `json:"manual"`
	CreatedBy        string      `json:"createdBy,omitempty"`
	StartTime        *time.Time  `json:"startTime,omitempty"` // the cut-over; a manual batch has none until it is first advanced
	DetectedAt       time.Time   `json:"detectedAt"`
	InitDispatchedAt *time.Time  `json:"initDispatchedAt,omitempty"`
	CompletedAt      *time.Time  `json:"completedAt,omitempty"`
	CurrentPhase     string      `json:"currentPhase,omitempty"` // the phase that was advanced to last
	Error            string      `json:"error,omitempty"`        // why the batch failed
	Members          int         `json:"members"`                // ever added; member ids run from 1 to this
	Phases           []Phase     `json:"phases"`                 // append-only: an execution's place never changes
}

// Phase is one execution of a phase, or of the init sequence, for a batch.
//
// Its runs are counted in shards, one for each page of members. Shards tells how
// many there are once all pages are walked (Walked); ShardsClosed and the counts
// beside it are what the shards that are done have reported.
type Phase struct {
	ID            int         `json:"phaseId"` // counts from 1 within the batch
	Kind          PhaseKind   `json:"kind"`
	Name          string      `json:"name"`
	Version       int         `json:"version"` // of the runbook that made this execution
	OffsetMinutes int         `json:"offsetMinutes"`
	DueAt         *time.Time  `json:"dueAt,omitempty"` // nil in a manual batch
	Status        PhaseStatus `json:"status"`
	Reason        string      `json:"reason,omitempty"` // why it was skipped or failed, where no member tells
	DispatchedAt  *time.Time  `json:"dispatchedAt,omitempty"`
	CompletedAt   *time.Time  `json:"completedAt,omitempty"`
	Walked        bool        `json:"walked"`
	Shards        int         `json:"shards"`
	ShardsClosed  int         `json:"shardsClosed"`
	Succeeded     int         `json:"succeeded"`
	Failed        int         `json:"failed"`
	Cancelled     int         `json:"cancelled"`
}

// Shard counts the runs of one page of a phase. It reports once to its phase,
// when Open reaches 0.
type Shard struct {
	Phase     int  `json:"phaseId"`
	Page      int  `json:"page"`
	Runs      int  `json:"runs"`
	Open      int  `json:"open"`
	Succeeded int  `json:"succeeded"`
	Failed    int  `json:"failed"`
	Cancelled int  `json:"cancelled"`
	Reported  bool `json:"reported"`
}

// Member is one person, or one thing, that a batch migrates.
type Member struct {
	ID         int                        `json:"memberId"` // counts from 1 within the batch
	Page       int                        `json:"page"`     // see PageOf
	Key        string                     `json:"key"`
	Data       map[string]json.RawMessage `json:"data"`                 // the columns of the source
	WorkerData map[string]json.RawMessage `json:"workerData,omitempty"` // what output_params took from results
	Status     MemberStatus               `json:"status"`
	AddedAt    time.Time                  `json:"addedAt"`
	FailedAt   *time.Time                 `json:"failedAt,omitempty"`
	RemovedAt  *time.Time                 `json:"removedAt,omitempty"`
	Error      string                     `json:"error,omitempty"`     // why the member failed
	OpenPhase  int                        `json:"openPhase,omitempty"` // the execution the member is in; 0 for none
	Queue      []int                      `json:"queue,omitempty"`     // executions that wait for the member, in order
}

// Run is one member's passage through one phase, or a batch's init sequence
// (Member 0): its steps in order, of which Current is in hand.
type Run struct {
	Batch     int                        `json:"batchId"`
	Phase     int                        `json:"phaseId"`
	Member    int                        `json:"memberId"`
	Page      int                        `json:"page"` // the shard that counts it; 0 for init
	Key       string                     `json:"key,omitempty"`
	Kind      PhaseKind                  `json:"kind"`
	PhaseName string                     `json:"phase"`
	Runbook   string                     `json:"runbook"`
	Version   int                        `json:"version"`
	Status    RunStatus                  `json:"status"`
	Current   int                        `json:"current"`
	Steps     []Step                     `json:"steps"`
	Outputs   map[string]json.RawMessage `json:"outputs,omitempty"`   // output_params of this run so far
	StartTime *time.Time                 `json:"startTime,omitempty"` // the batch's
	LastEvent string                     `json:"lastEvent,omitempty"` // the event applied last, to know it when it comes again
	CreatedAt time.Time                  `json:"createdAt"`
	EndedAt   *time.Time                 `json:"endedAt,omitempty"`
	Error     string                     `json:"error,omitempty"`
	WakeAt    *time.Time                 `json:"wakeAt,omitempty"` // when something must have happened; for the sweep
	Next      int                        `json:"next,omitempty"`   // the execution that the member entered when this run ended; 0 for none
}

// Step is one function call of a run, with the policy fixed when the run was made.
type Step struct {
	Name          string          `json:"name"`
	WorkerID      string          `json:"workerId"`
	Function      string          `json:"function"` // as the runbook has it until dispatched, then resolved
	Params        json.RawMessage `json:"params,omitempty"`
	Status        StepStatus      `json:"status"`
	JobID         string          `json:"jobId,omitempty"`
	Result        json.RawMessage `json:"result,omitempty"`
	Error         string          `json:"error,omitempty"`
	DispatchedAt  *time.Time      `json:"dispatchedAt,omitempty"`
	CompletedAt   *time.Time      `json:"completedAt,omitempty"`
	PollInterval  time.Duration   `json:"pollInterval,omitempty"` // nanoseconds, as all durations here; 0: the step does not poll
	PollTimeout   time.Duration   `json:"pollTimeout,omitempty"`
	PollStartedAt *time.Time      `json:"pollStartedAt,omitempty"`
	LastPolledAt  *time.Time      `json:"lastPolledAt,omitempty"`
	PollCount     int             `json:"pollCount,omitempty"` // never reset, so that job ids stay unique
	OnFailure     string          `json:"onFailure,omitempty"`
	RetryCount    int             `json:"retryCount,omitempty"`
	MaxRetries    int             `json:"maxRetries,omitempty"`
	RetryInterval time.Duration   `json:"retryInterval,omitempty"`
	RetryAfter    *time.Time      `json:"retryAfter,omitempty"`
	Timeout       time.Duration   `json:"timeout,omitempty"` // dispatch deadline
}
