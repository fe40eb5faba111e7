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

	"github.com/matoolkit/matoolkit/internal/runbook"
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
	Ended            bool        `json:"ended,omitempty"`        // once, though a retry may have opened it again
	CurrentPhase     string      `json:"currentPhase,omitempty"` // the phase that was advanced to last
	Error            string      `json:"error,omitempty"`        // why the batch failed
	Members          int         `json:"members"`                // ever added; member ids run from 1 to this
	Removed          int         `json:"removed,omitempty"`      // of them
	Pages            int         `json:"pages,omitempty"`        // of members; see PageCount
	Filling          bool        `json:"filling,omitempty"`      // its members are being written: nothing begins
	Paused           *Mark       `json:"paused,omitempty"`       // nothing new is dispatched
	StoppedBy        int         `json:"stoppedBy,omitempty"`    // the phase execution whose stop_when paused it; 0: none did
	Cancelled        *Mark       `json:"cancelled,omitempty"`
	Shared           bool        `json:"shared,omitempty"`          // an administrator allowed members who are in other batches
	Revision         int         `json:"revision,omitempty"`        // counts the decisions on it, so that what follows from each is told apart
	Joining          []Join      `json:"joining,omitempty"`         // pages of members added late that have not caught up
	Held             *Held       `json:"held,omitempty"`            // removals that the source asks for and that wait for an administrator
	Kept             int         `json:"kept,omitempty"`            // members whom the source lacks and an administrator keeps
	Secrets          bool        `json:"secrets,omitempty"`         // a version of its runbook has secrets
	SecretsErasedAt  *time.Time  `json:"secretsErasedAt,omitempty"` // when all secrets that were left were erased last
	Phases           []Phase     `json:"phases"`                    // append-only: an execution's place never changes

	Quiet *runbook.QuietHours `json:"quiet,omitempty"` // of its version: no phase begins in them; nil in a manual batch
}

// Mark is who did something, when and why.
type Mark struct {
	By  string    `json:"by"`
	At  time.Time `json:"at"`
	Why string    `json:"why,omitempty"`
}

// Held is a removal of so many members at once that an administrator is to confirm
// it first. It tells how many, not who: that is for the source to say, each time that
// it is read.
type Held struct {
	Members   int       `json:"members"`
	Of        int       `json:"of"` // the batch's active members
	Reason    string    `json:"reason"`
	Since     time.Time `json:"since"`
	Confirmed *Mark     `json:"confirmed,omitempty"` // they are being removed
}

// Join is a page of members added late and the phase executions, in order, that
// they have to catch up on.
type Join struct {
	Page   int    `json:"page"`
	First  int    `json:"first"` // the member with the lowest id
	Key    string `json:"key"`   // of that member
	Phases []int  `json:"phases,omitempty"`
}

// Phase is one execution of a phase, of the init sequence or of the removal steps,
// for a batch.
//
// Its runs are counted in shards, one for each page of members. Shards tells how
// many there are once all pages are walked (Walked); ShardsClosed and the counts
// beside it are what the shards that are done have reported.
type Phase struct {
	ID             int         `json:"phaseId"` // counts from 1 within the batch
	Kind           PhaseKind   `json:"kind"`
	Name           string      `json:"name"`
	Version        int         `json:"version"` // of the runbook that made this execution
	OffsetMinutes  int         `json:"offsetMinutes"`
	DueAt          *time.Time  `json:"dueAt,omitempty"` // nil in a manual batch
	Status         PhaseStatus `json:"status"`
	Reason         string      `json:"reason,omitempty"` // why it is held, was skipped or failed, where no member tells
	Approval       bool        `json:"approval,omitempty"`
	Approved       *Mark       `json:"approved,omitempty"`       // passes both gates
	RequireSuccess float64     `json:"requireSuccess,omitempty"` // percent of the phase before; 0: no gate
	OnComplete     bool        `json:"onComplete,omitempty"`

	StopWhen     *runbook.StopWhen `json:"stopWhen,omitempty"`
	FailedSoFar  int               `json:"failedSoFar,omitempty"`  // members whose run has failed, also on pages that have not ended; counted where there is a StopWhen
	FailedBefore int               `json:"failedBefore,omitempty"` // of them, those for whom the batch was paused and then resumed

	Merge        RunStatus  `json:"merge,omitempty"`     // of the on_complete steps; empty: not begun
	MergeSent    bool       `json:"mergeSent,omitempty"` // the job that the on_complete steps began with
	Counts       *Counts    `json:"counts,omitempty"`    // what the on_complete steps are told
	DispatchedAt *time.Time `json:"dispatchedAt,omitempty"`
	CompletedAt  *time.Time `json:"completedAt,omitempty"`
	Walked       bool       `json:"walked"`
	Shards       int        `json:"shards"`
	ShardsClosed int        `json:"shardsClosed"`
	Open         int        `json:"open"` // removal only: runs that have not ended
	Succeeded    int        `json:"succeeded"`
	Failed       int        `json:"failed"`
	Cancelled    int        `json:"cancelled"`
}

// Shard counts the runs of one page of a phase. It reports to its phase when Open
// reaches 0, once: a member who is retried takes the report back.
type Shard struct {
	Phase     int        `json:"phaseId"`
	Page      int        `json:"page"`
	MadeAt    time.Time  `json:"madeAt"`
	Sent      bool       `json:"sent,omitempty"` // the jobs that its runs began with
	Runs      int        `json:"runs"`
	Yielded   int        `json:"yielded"`             // of the runs; see Run.Yielded
	YieldedAt *time.Time `json:"yieldedAt,omitempty"` // when the last of them did; nil: as the page was made
	Open      int        `json:"open"`
	Succeeded int        `json:"succeeded"`
	Failed    int        `json:"failed"`
	Cancelled int        `json:"cancelled"`
	Reported  bool       `json:"reported"`
}

// Member is one person, or one thing, that a batch migrates.
type Member struct {
	ID         int                        `json:"memberId"` // counts from 1 within the batch
	Page       int                        `json:"page"`     // which shard counts the member, in every phase
	Key        string                     `json:"key"`
	Hash       string                     `json:"hash,omitempty"`       // of the source's row, to know when it changes; empty where no source is read
	Data       map[string]json.RawMessage `json:"data"`                 // the columns of the source
	WorkerData map[string]json.RawMessage `json:"workerData,omitempty"` // what output_params took from results
	Status     MemberStatus               `json:"status"`
	AddedAt    time.Time                  `json:"addedAt"`
	AddedBy    string                     `json:"addedBy,omitempty"` // the administrator who added the member to a batch under way
	Claim      string                     `json:"claim,omitempty"`   // the addition or retry that claimed the person last; empty for the creation of a manual batch
	FailedAt   *time.Time                 `json:"failedAt,omitempty"`
	RemovedAt  *time.Time                 `json:"removedAt,omitempty"`
	RemovedBy  string                     `json:"removedBy,omitempty"` // the administrator who did; empty where the source no longer had them
	Removal    int                        `json:"removal,omitempty"`   // the execution of the member's removal steps; 0 for none
	Leaving    bool                       `json:"leaving,omitempty"`   // removed, and what that asks for is not yet set going
	Error      string                     `json:"error,omitempty"`     // why the member, or the removal, failed
	FailedIn   string                     `json:"failedIn,omitempty"`  // the phase that the member failed in
	FailedStep string                     `json:"failedStep,omitempty"`
	OpenPhase  int                        `json:"openPhase,omitempty"` // the execution the member is in; 0 for none
	Queue      []int                      `json:"queue,omitempty"`     // executions that wait for the member, in order
	BusyUntil  *time.Time                 `json:"busyUntil,omitempty"` // until when a job that an administrator no longer waits for may still run: nothing is undone before
	// UndoingUntil is BusyUntil of a job that undoes, or cleans up: nothing is done again before.
	UndoingUntil *time.Time `json:"undoingUntil,omitempty"`
}

// Run is one member's passage through one phase, a batch's init sequence or a
// phase's on_complete steps (Member 0): its steps in order, of which Current is in
// hand. Rollback steps are added when they are called for.
type Run struct {
	Batch      int                        `json:"batchId"`
	Phase      int                        `json:"phaseId"`
	Member     int                        `json:"memberId"`
	Page       int                        `json:"page"` // the shard that counts it; 0 for a run without a member
	Key        string                     `json:"key,omitempty"`
	Kind       PhaseKind                  `json:"kind"`
	PhaseName  string                     `json:"phase"`
	Runbook    string                     `json:"runbook"`
	Version    int                        `json:"version"`
	Status     RunStatus                  `json:"status"`
	Current    int                        `json:"current"`
	Steps      []Step                     `json:"steps"`
	Outputs    map[string]json.RawMessage `json:"outputs,omitempty"`   // output_params of this run so far
	Secrets    map[string]json.RawMessage `json:"secrets,omitempty"`   // encrypted values that the parameters of the step in hand refer to
	Counts     *Counts                    `json:"counts,omitempty"`    // on_complete only: how the phase ended
	StartTime  *time.Time                 `json:"startTime,omitempty"` // the batch's
	LastEvent  string                     `json:"lastEvent,omitempty"` // the event applied last, to know it when it comes again
	Task       string                     `json:"task,omitempty"`      // the work that released or retried it last, to know that when it comes again
	CreatedAt  time.Time                  `json:"createdAt"`
	EndedAt    *time.Time                 `json:"endedAt,omitempty"`
	Error      string                     `json:"error,omitempty"`
	HeldAt     *time.Time                 `json:"heldAt,omitempty"`     // since when it waits for its batch to be resumed
	Stopping   string                     `json:"stopping,omitempty"`   // why it ends as soon as the job in flight has ended; empty: it does not
	Yielded    bool                       `json:"yielded,omitempty"`    // it has once had no job in flight, or ended: it no longer counts towards the fan-out window
	WakeAt     *time.Time                 `json:"wakeAt,omitempty"`     // when a poll or a retry must have come; for the sweep
	DeadlineAt *time.Time                 `json:"deadlineAt,omitempty"` // when the job in flight must have been answered; for the sweep
	Worker     string                     `json:"worker,omitempty"`     // that has the job in flight; with SentAt, to count the jobs that wait for it
	SentAt     *time.Time                 `json:"sentAt,omitempty"`     // when that job was dispatched
	RolledBack bool                       `json:"rolledBack,omitempty"`
	Next       int                        `json:"next,omitempty"` // the execution that the member entered when this run ended; 0 for none
}

// Counts is how a phase's members ended, as its on_complete steps are told.
type Counts struct {
	Members   int `json:"members"`
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled"`
}

// Step is one function call of a run, with the policy fixed when the run was made.
type Step struct {
	Name          string          `json:"name"`
	Rollback      string          `json:"rollback,omitempty"` // the sequence that it is part of; empty for the run's own
	Place         int             `json:"place,omitempty"`    // in the runbook's list of it
	WorkerID      string          `json:"workerId"`
	Function      string          `json:"function"` // as the runbook has it until dispatched, then resolved
	Params        json.RawMessage `json:"params,omitempty"`
	Status        StepStatus      `json:"status"`
	JobID         string          `json:"jobId,omitempty"`
	Result        json.RawMessage `json:"result,omitempty"`
	Error         string          `json:"error,omitempty"`
	DispatchedAt  *time.Time      `json:"dispatchedAt,omitempty"`
	CompletedAt   *time.Time      `json:"completedAt,omitempty"`  // when its end was decided, which is when the next step is dispatched; a result may be older
	PollInterval  time.Duration   `json:"pollInterval,omitempty"` // nanoseconds, as all durations here; 0: the step does not poll
	PollTimeout   time.Duration   `json:"pollTimeout,omitempty"`
	PollStartedAt *time.Time      `json:"pollStartedAt,omitempty"`
	LastPolledAt  *time.Time      `json:"lastPolledAt,omitempty"`
	PollCount     int             `json:"pollCount,omitempty"` // never reset, as the two counts below, so that job ids stay unique
	OnFailure     string          `json:"onFailure,omitempty"`
	Round         int             `json:"round,omitempty"`    // how often the step was begun anew after its run had ended
	Attempts      int             `json:"attempts,omitempty"` // begun, not counting retries and polls
	RetryCount    int             `json:"retryCount,omitempty"`
	RetriesBefore int             `json:"retriesBefore,omitempty"` // the present attempt
	Expiries      int             `json:"expiries,omitempty"`      // jobs that their worker came to too late
	MaxRetries    int             `json:"maxRetries,omitempty"`
	RetryInterval time.Duration   `json:"retryInterval,omitempty"`
	Backoff       string          `json:"backoff,omitempty"`     // as package runbook names it
	MaxInterval   time.Duration   `json:"maxInterval,omitempty"` // 0: no bound of its own
	Jitter        int             `json:"jitter,omitempty"`      // percent
	RetryAfter    *time.Time      `json:"retryAfter,omitempty"`
	Postponed     bool            `json:"postponed,omitempty"`   // RetryAfter is when it is dispatched, and no retry is counted
	Timeout       time.Duration   `json:"timeout,omitempty"`     // from dispatch
	QueuedUntil   *time.Time      `json:"queuedUntil,omitempty"` // when the job was last known to wait for its worker
	Refused       *RefusedJob     `json:"refused,omitempty"`     // of the job in flight, an earlier delivery of which may run
	SilentAt      *time.Time      `json:"silentAt,omitempty"`    // when a deadline first found the job's worker silent; nil when it was heard of since
	Abandoned     []Abandoned     `json:"abandoned,omitempty"`   // jobs that were no longer waited for
	Resolved      *Mark           `json:"resolved,omitempty"`    // who skipped it or marked it done
}

// Abandoned is a job that was given up before its result came, and the result if
// it came after all.
type Abandoned struct {
	JobID  string          `json:"jobId"`
	At     time.Time       `json:"at"`
	Until  time.Time       `json:"until"`            // by then its worker has ended it
	Late   *time.Time      `json:"lateAt,omitempty"` // when its result came
	OK     bool            `json:"ok,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
}
