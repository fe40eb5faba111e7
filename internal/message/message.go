// Package message holds the contracts of what travels over Service Bus: the six
// orchestrator events, the worker's job and the worker's result, with the names
// of the topics and of the application properties that route them.
//
// Field names on the wire are PascalCase and are read case-insensitively. The
// package knows no broker: package bus carries what is defined here.
package message

import (
	"encoding/json"
	"fmt"
	"time"
)

// Topics and the subscriptions that the product itself consumes. A worker's
// subscription on TopicWorkerJobs is named by WorkerSubscription.
const (
	TopicOrchestratorEvents  = "orchestrator-events"
	TopicWorkerJobs          = "worker-jobs"
	TopicWorkerResults       = "worker-results"
	SubscriptionOrchestrator = "orchestrator"
)

// Application properties.
const (
	PropertyMessageType = "MessageType"
	PropertyWorkerID    = "WorkerId"
)

// Values of PropertyMessageType on TopicOrchestratorEvents.
const (
	TypeBatchInit     = "batch-init"
	TypePhaseDue      = "phase-due"
	TypeMemberAdded   = "member-added"
	TypeMemberRemoved = "member-removed"
	TypePollCheck     = "poll-check"
	TypeRetryCheck    = "retry-check"
)

// Limit is the largest body, in bytes, that is sent: Service Bus Standard takes
// 256 KB with properties and headers, some of which is left for those.
const Limit = 240 << 10

// WorkerSubscription names the subscription of TopicWorkerJobs that holds the
// jobs of one worker, filtered by PropertyWorkerID.
func WorkerSubscription(workerID string) string { return "worker-" + workerID }

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
}

// StepCheck is the body of poll-check and retry-check. Count is the poll or the
// retry that is due, so that a message that comes late or twice is known as such.
type StepCheck struct {
	BatchID         int   `json:"BatchId"`
	StepExecutionID int64 `json:"StepExecutionId"`
	IsInitStep      bool  `json:"IsInitStep"`
	Count           int   `json:"Count"`
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

// Job asks a worker to run one function once. JobID is unique within its batch;
// ID is unique in the whole system.
type Job struct {
	JobID           string          `json:"JobId"`
	BatchID         int             `json:"BatchId"`
	WorkerID        string          `json:"WorkerId"`
	FunctionName    string          `json:"FunctionName"`
	Parameters      json.RawMessage `json:"Parameters"` // always a JSON object
	CorrelationData Correlation     `json:"CorrelationData"`
}

// ID is the job's Service Bus message id: the same each time that the same job
// is sent, and different from every other job's.
func (j Job) ID() string { return fmt.Sprintf("batch-%d-%s", j.BatchID, j.JobID) }

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

// ID is the result's Service Bus message id: the same for each delivery of the
// same job's result.
func (r Result) ID() string {
	return fmt.Sprintf("result-batch-%d-%s", r.CorrelationData.BatchID, r.JobID)
}

// JobError says why a job failed.
type JobError struct {
	Message     string `json:"Message"`
	Type        string `json:"Type"`
	IsThrottled bool   `json:"IsThrottled"`
	Attempts    int    `json:"Attempts"`
}
