// Package message holds the contracts of what travels over Service Bus: the
// orchestrator events, the worker's job and the worker's result, with the names
// of the topics and of the application properties that route them.
//
// Field names on the wire are PascalCase and are read case-insensitively. The
// package knows no broker: package bus carries these messages.
package message

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Topics and the subscriptions that the product itself consumes. A worker's
// subscription on TopicWorkerJobs is named by WorkerSubscription.
const (
	TopicOrchestratorEvents  = "orchestrator-events"
	TopicWorkerJobs          = "worker-jobs"
	TopicWorkerResults       = "worker-results"
	TopicWorkerControl       = "worker-control"
	SubscriptionOrchestrator = "orchestrator"
	WorkerSubscriptionPrefix = "worker-" // of WorkerSubscription
)

// Application properties.
const (
	PropertyMessageType = "MessageType"
	PropertyWorkerID    = "WorkerId"
	// PropertyRedelivered is true on a job that was delivered before as another message: it
	// may have been carried out, wholly or in part, or a replica may still run it.
	PropertyRedelivered = "Redelivered"
	// PropertyNotBegun counts the deliveries of a job's message that a worker gave back
	// without having begun the job. The worker sets it when it abandons the message.
	PropertyNotBegun = "NotBegun"
	// PropertyDoneThrough is the id of the last document that was done for a message of
	// TopicOrchestratorEvents that was requeued. The next try continues behind it.
	PropertyDoneThrough = "DoneThrough"
)

// Values of PropertyMessageType on TopicOrchestratorEvents.
const (
	TypeBatchInit     = "batch-init"
	TypePhaseDue      = "phase-due"
	TypeMemberAdded   = "member-added"
	TypeMemberRemoved = "member-removed"
	TypePollCheck     = "poll-check"
	TypeRetryCheck    = "retry-check"
	TypeDeadlineCheck = "deadline-check"
	TypeBatchWork     = "batch-work"
)

// TypeWorkerResult is the value of PropertyMessageType on TopicWorkerResults. There it
// is for people and for subscriptions with a filter: the orchestrator needs neither.
const TypeWorkerResult = "worker-result"

// TypeWorkerCatalog is the value of PropertyMessageType on TopicWorkerResults of a
// message that is no result, but a Catalog. The orchestrator tells them apart by it.
const TypeWorkerCatalog = "worker-catalog"

// TypeWorkerHeartbeat is the value of PropertyMessageType on TopicWorkerResults of a
// Heartbeat.
const TypeWorkerHeartbeat = "worker-heartbeat"

// Limit is the largest body, in bytes, that is sent: Service Bus Standard takes
// 256 KB with properties and headers, some of which is left for those.
const Limit = 240 << 10

// WorkerSubscription names the subscription of TopicWorkerJobs that holds the
// jobs of one worker, filtered by PropertyWorkerID, and the one of
// TopicWorkerControl that its replicas read, which has no filter.
func WorkerSubscription(workerID string) string { return WorkerSubscriptionPrefix + workerID }

var workerID = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,41}[A-Za-z0-9])?$`)

// ValidWorkerID reports whether a step of a runbook can name a worker by an id (see package
// runbook). Such an id is also safe as the id of an item in the store.
func ValidWorkerID(id string) bool { return workerID.MatchString(id) }

// BatchInit asks for a batch's init steps to be started.
type BatchInit struct {
	BatchID        int    `json:"BatchId"`
	RunbookName    string `json:"RunbookName"`
	RunbookVersion int    `json:"RunbookVersion"`
}

// PhaseDue asks for a phase to be dispatched to its members, one page of them
// per message. Page counts from 1; 0, as a sender outside of this system leaves
// it, means the first.
type PhaseDue struct {
	BatchID          int    `json:"BatchId"`
	RunbookName      string `json:"RunbookName"`
	RunbookVersion   int    `json:"RunbookVersion"`
	PhaseName        string `json:"PhaseName"`
	PhaseExecutionID int    `json:"PhaseExecutionId"`
	Page             int    `json:"Page,omitempty"`
	// FanOut distinguishes this fan-out of the phase from earlier ones: the ids of the messages of its
	// pages end with it. Empty for the first.
	FanOut string `json:"FanOut,omitempty"`
	// DueAt is the time for which a postponed message was sent; zero if it was not postponed.
	// Postponed again, it is sent for a later time, which its id names. The broker would drop
	// an id that it has seen.
	DueAt time.Time `json:"DueAt,omitzero"`
}

// MemberEvent is the body of member-added and member-removed. DueAt is as in PhaseDue.
type MemberEvent struct {
	BatchID       int       `json:"BatchId"`
	MemberKey     string    `json:"MemberKey"`
	BatchMemberID int       `json:"BatchMemberId"`
	DueAt         time.Time `json:"DueAt,omitzero"`
}

// StepCheck is the body of poll-check and retry-check. Count is the poll or the
// retry that is due, so that a message that comes late or twice is known as such. Wait is how often
// the step was postponed to wait for another run.
type StepCheck struct {
	BatchID         int   `json:"BatchId"`
	StepExecutionID int64 `json:"StepExecutionId"`
	IsInitStep      bool  `json:"IsInitStep"`
	Count           int   `json:"Count"`
	Wait            int   `json:"Wait,omitempty"`
}

// DeadlineCheck asks whether a dispatched step still waits for the result of one
// job although its timeout has passed. JobID is the job that was dispatched then,
// so that a check of an earlier attempt is known as such. DueAt is the time of the check.
type DeadlineCheck struct {
	BatchID         int       `json:"BatchId"`
	StepExecutionID int64     `json:"StepExecutionId"`
	IsInitStep      bool      `json:"IsInitStep"`
	JobID           string    `json:"JobId"`
	DueAt           time.Time `json:"DueAt,omitzero"`
}

// Kinds of BatchWork.
const (
	WorkCancel  = "cancel"  // cancel the runs of a cancelled batch
	WorkRelease = "release" // let the members of a resumed batch go on
	WorkRetry   = "retry"   // try failed members again
	WorkRemove  = "remove"  // remove members
	WorkMove    = "move"    // move members to another batch
	WorkMend    = "mend"    // see that a step that somebody resolved led on; Task is its execution id
	WorkSweep   = "sweep"   // take up what is overdue
	WorkItems   = "items"   // write the items that a function listed
	WorkErase   = "erase"   // erase the secrets of a batch that has ended
	WorkCheck   = "check"   // make the checks of the members
	WorkLeave   = "leave"   // remove the members whose held removal was confirmed
)

// BatchWork asks for work over the members of a batch, one page of them per
// message, each followed by a message for the next. Page 0 holds the runs without a
// member, pages of members count from 1. Task tells one request for work from
// another. After is the position at which a sweep of overdue runs continues. DueAt is as in PhaseDue.
type BatchWork struct {
	BatchID int       `json:"BatchId"`
	Work    string    `json:"Work"`
	Page    int       `json:"Page,omitempty"`
	Task    string    `json:"Task,omitempty"`
	After   string    `json:"After,omitempty"`
	DueAt   time.Time `json:"DueAt,omitzero"`
}

// Correlation travels with a job to the worker and comes back unchanged with its
// result.
type Correlation struct {
	BatchID         int    `json:"BatchId"`
	StepExecutionID int64  `json:"StepExecutionId"`
	IsInitStep      bool   `json:"IsInitStep"`
	RunbookName     string `json:"RunbookName"`
	RunbookVersion  int    `json:"RunbookVersion"`
}

// Job asks a worker to run one function once. Its JobID is unique in the whole system where it names
// the batch (see WireJobID), and ID always is.
type Job struct {
	JobID           string          `json:"JobId"`
	BatchID         int             `json:"BatchId"`
	WorkerID        string          `json:"WorkerId"`
	FunctionName    string          `json:"FunctionName"`
	Parameters      json.RawMessage `json:"Parameters"` // always a JSON object
	CorrelationData Correlation     `json:"CorrelationData"`
	// Secrets are the texts among the values of Parameters that are secret: those of columns
	// and outputs under "secret" in the runbook, and of parameters that the worker's
	// catalogue marks as Secret. A worker must not log them or put them into an error.
	Secrets []string `json:"Secrets,omitempty"`
	// EffectID is the idempotency key of what the job does: unlike JobID it is the same
	// for each retry and poll of a step, and changes only when a member goes through
	// the step once more (batch/step/round).
	EffectID string `json:"EffectId,omitempty"`
	// DispatchedAt is when the orchestrator decided on the job, in UTC. The job of a poll is
	// sent ahead and arrives up to five minutes later. A heartbeat repeats DispatchedAt in
	// TakenThrough, and a Control revokes by it.
	DispatchedAt *time.Time `json:"DispatchedAt,omitempty"`
	// ExpiresAt is the moment, in UTC, past which the job must neither be begun nor run:
	// the orchestrator gives the step up then. Nil means never.
	ExpiresAt *time.Time `json:"ExpiresAt,omitempty"`
	// AcceptsGroups reports whether the orchestrator that sent the job reads Results.
	AcceptsGroups bool `json:"AcceptsGroups,omitempty"`
}

// ID is the job's Service Bus message id: the same each time that the same job
// is sent, and different from every other job's.
func (j Job) ID() string { return fmt.Sprintf("batch-%d-%s", j.BatchID, j.IDInBatch()) }

// IDInBatch is the id of the job in its batch: its JobID without the batch.
func (j Job) IDInBatch() string { return strings.TrimSuffix(j.JobID, batchMark(j.BatchID)) }

// WireJobID is the JobID under which a job of a batch is sent. It names the batch, so that a result
// is understood whose Correlation has no BatchId.
func WireJobID(batch int, id string) string { return id + batchMark(batch) }

func batchMark(batch int) string { return fmt.Sprintf("-batch-%d", batch) }

var markedJobID = regexp.MustCompile(`^(.+)-batch-([1-9][0-9]{0,9})$`)

// SplitJobID returns the id of a job in its batch, and the batch: 0 where the JobID names none.
func SplitJobID(wire string) (id string, batch int) {
	found := markedJobID.FindStringSubmatch(wire)
	if found == nil {
		return wire, 0
	}
	batch, err := strconv.Atoi(found[2])
	if err != nil {
		return wire, 0
	}
	return found[1], batch
}

// Statuses of a Result. They are compared case-insensitively.
const (
	StatusSuccess = "Success"
	StatusFailure = "Failure"
)

// ResultTypes: a function answers true, or an object that holds data.
const (
	ResultBoolean = "Boolean"
	ResultObject  = "Object"
)

// Result is a worker's answer to one Job.
type Result struct {
	JobID           string          `json:"JobId"`
	Status          string          `json:"Status"`
	ResultType      string          `json:"ResultType,omitempty"`
	Result          json.RawMessage `json:"Result"` // null on failure
	Error           *JobError       `json:"Error"`  // null on success
	DurationMs      int64           `json:"DurationMs"`
	Timestamp       time.Time       `json:"Timestamp"` // UTC
	CorrelationData Correlation     `json:"CorrelationData"`
}

// ID is the result's Service Bus message id: the same for each delivery of the same job's
// result. The refusal of a job that had come again has an id of its own, of the same
// length, because the result of an earlier delivery may follow it.
func (r Result) ID() string {
	kind := "result"
	if r.Error != nil && r.Error.Redelivered {
		kind = "refuse"
	}
	return kind + "-" + Job{JobID: r.JobID, BatchID: r.CorrelationData.BatchID}.ID()
}

// Located returns the result with the id of its job in the batch, and with the batch, which it may
// have in its JobID only.
func (r Result) Located() Result {
	id, batch := SplitJobID(r.JobID)
	if r.CorrelationData.BatchID == 0 {
		r.CorrelationData.BatchID = batch
	}
	if batch == r.CorrelationData.BatchID {
		r.JobID = id
	}
	return r
}

// ErrorJobExpired is the type of the error of a job that its worker came to after
// its ExpiresAt, and did not begin.
const ErrorJobExpired = "JobExpired"

// ErrorJobRevoked is the type of the error of a job that its worker did not begin
// because a Control revoked it: its batch was paused or cancelled.
const ErrorJobRevoked = "JobRevoked"

// Types of the errors of a job that would fail in the same way each time: its step is not
// retried.
const (
	ErrorInvalidParameters = "InvalidParameters"
	ErrorUnknownFunction   = "UnknownFunction"
)

// JobError says why a job failed.
type JobError struct {
	Message     string `json:"Message"`
	Type        string `json:"Type"`
	IsThrottled bool   `json:"IsThrottled"`
	Attempts    int    `json:"Attempts"`
	// IsNotFound reports that the tenant does not have what the job is about. A step that polls
	// waits for it until its poll timeout.
	IsNotFound bool `json:"IsNotFound,omitempty"`
	// RetryAfterSeconds is after how many seconds the worker asks to be tried
	// again, as a throttled tenant told it to; 0 means that it has no wish.
	RetryAfterSeconds int `json:"RetryAfterSeconds,omitempty"`
	// Redelivered is set with ErrorJobExpired and ErrorJobRevoked when an earlier delivery of
	// the job may have been begun. The orchestrator then waits until that delivery has
	// certainly ended, at the job's expiry, or has given its result.
	Redelivered bool `json:"Redelivered,omitempty"`
}

// Permanent reports whether each retry of the job would fail in the same way.
func (e *JobError) Permanent() bool {
	return strings.EqualFold(e.Type, ErrorInvalidParameters) || strings.EqualFold(e.Type, ErrorUnknownFunction)
}
