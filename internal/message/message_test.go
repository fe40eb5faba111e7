package message_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/message"
)

// The field names are a contract with workers in other languages.
func TestMessagesOnTheWire(t *testing.T) {
	t.Parallel()
	correlation := message.Correlation{BatchID: 42, StepExecutionID: 20000017001, RunbookName: "move", RunbookVersion: 3}
	expiry := time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC)
	for _, tt := range []struct {
		name    string
		message any
		want    string
	}{
		{"batch-init", message.BatchInit{BatchID: 42, RunbookName: "move", RunbookVersion: 3}, `{"BatchId":42,"RunbookName":"move","RunbookVersion":3}`},
		{
			"phase-due, as another sender has it",
			message.PhaseDue{BatchID: 42, RunbookName: "move", RunbookVersion: 3, PhaseName: "p", PhaseExecutionID: 2},
			`{"BatchId":42,"RunbookName":"move","RunbookVersion":3,"PhaseName":"p","PhaseExecutionId":2}`,
		},
		{
			"phase-due, a later page",
			message.PhaseDue{BatchID: 42, RunbookName: "move", RunbookVersion: 3, PhaseName: "p", PhaseExecutionID: 2, Page: 7},
			`{"BatchId":42,"RunbookName":"move","RunbookVersion":3,"PhaseName":"p","PhaseExecutionId":2,"Page":7}`,
		},
		{
			"phase-due, announced again",
			message.PhaseDue{BatchID: 42, RunbookName: "move", RunbookVersion: 3, PhaseName: "p", PhaseExecutionID: 2, Page: 7, FanOut: "resume-2"},
			`{"BatchId":42,"RunbookName":"move","RunbookVersion":3,"PhaseName":"p","PhaseExecutionId":2,"Page":7,"FanOut":"resume-2"}`,
		},
		{
			"member-added and member-removed",
			message.MemberEvent{BatchID: 42, MemberKey: "a@contoso.com", BatchMemberID: 505},
			`{"BatchId":42,"MemberKey":"a@contoso.com","BatchMemberId":505}`,
		},
		{
			"deadline-check",
			message.DeadlineCheck{BatchID: 42, StepExecutionID: 20000017001, IsInitStep: true, JobID: "step-20000017001-attempt-1"},
			`{"BatchId":42,"StepExecutionId":20000017001,"IsInitStep":true,"JobId":"step-20000017001-attempt-1"}`,
		},
		{"batch-work", message.BatchWork{BatchID: 42, Work: message.WorkCancel}, `{"BatchId":42,"Work":"cancel"}`},
		{
			"batch-work, a later page",
			message.BatchWork{BatchID: 42, Work: message.WorkRetry, Page: 3, Task: "t7"},
			`{"BatchId":42,"Work":"retry","Page":3,"Task":"t7"}`,
		},
		{"poll-check", message.StepCheck{BatchID: 42, StepExecutionID: 20000017001, Count: 2}, `{"BatchId":42,"StepExecutionId":20000017001,"IsInitStep":false,"Count":2}`},
		{
			"job",
			message.Job{JobID: "j", BatchID: 42, WorkerID: "w", FunctionName: "F", Parameters: json.RawMessage(`{"A":1}`), CorrelationData: correlation},
			`{"JobId":"j","BatchId":42,"WorkerId":"w","FunctionName":"F","Parameters":{"A":1},` +
				`"CorrelationData":{"BatchId":42,"StepExecutionId":20000017001,"IsInitStep":false,"RunbookName":"move","RunbookVersion":3}}`,
		},
		{
			"job that expires",
			message.Job{JobID: "j", BatchID: 42, WorkerID: "w", FunctionName: "F", Parameters: json.RawMessage(`{}`), CorrelationData: correlation, ExpiresAt: &expiry},
			`{"JobId":"j","BatchId":42,"WorkerId":"w","FunctionName":"F","Parameters":{},` +
				`"CorrelationData":{"BatchId":42,"StepExecutionId":20000017001,"IsInitStep":false,"RunbookName":"move","RunbookVersion":3},` +
				`"ExpiresAt":"2026-03-01T12:30:00Z"}`,
		},
		{
			"job of an orchestrator that reads groups",
			message.Job{JobID: "j", BatchID: 42, WorkerID: "w", FunctionName: "F", Parameters: json.RawMessage(`{}`), CorrelationData: correlation, AcceptsGroups: true},
			`{"JobId":"j","BatchId":42,"WorkerId":"w","FunctionName":"F","Parameters":{},` +
				`"CorrelationData":{"BatchId":42,"StepExecutionId":20000017001,"IsInitStep":false,"RunbookName":"move","RunbookVersion":3},` +
				`"AcceptsGroups":true}`,
		},
		{
			"error",
			message.JobError{Message: "m", Type: "t", IsThrottled: true, Attempts: 6, RetryAfterSeconds: 17},
			`{"Message":"m","Type":"t","IsThrottled":true,"Attempts":6,"RetryAfterSeconds":17}`,
		},
		{
			"refusal of a job that had come again",
			message.JobError{Message: "m", Type: "JobRevoked", Attempts: 1, Redelivered: true},
			`{"Message":"m","Type":"JobRevoked","IsThrottled":false,"Attempts":1,"Redelivered":true}`,
		},
		{
			"error about what does not exist",
			message.JobError{Message: "m", Type: "t", Attempts: 1, IsNotFound: true},
			`{"Message":"m","Type":"t","IsThrottled":false,"Attempts":1,"IsNotFound":true}`,
		},
		{"error without a wish", message.JobError{Message: "m", Type: "t", Attempts: 1}, `{"Message":"m","Type":"t","IsThrottled":false,"Attempts":1}`},
		{
			"result",
			message.Result{
				JobID: "j", Status: message.StatusSuccess, ResultType: message.ResultBoolean, Result: json.RawMessage(`true`),
				DurationMs: 5, Timestamp: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), CorrelationData: correlation,
			},
			`{"JobId":"j","Status":"Success","ResultType":"Boolean","Result":true,"Error":null,"DurationMs":5,"Timestamp":"2026-03-01T12:00:00Z",` +
				`"CorrelationData":{"BatchId":42,"StepExecutionId":20000017001,"IsInitStep":false,"RunbookName":"move","RunbookVersion":3}}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := json.Marshal(tt.message)
			if err != nil || string(got) != tt.want {
				t.Fatalf("%s, %v\nwant %s", got, err, tt.want)
			}
		})
	}
}

// The routing words are part of that contract.
func TestWordsOnTheWire(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		message.TypeBatchInit: "batch-init", message.TypePhaseDue: "phase-due",
		message.TypeMemberAdded: "member-added", message.TypeMemberRemoved: "member-removed",
		message.TypePollCheck: "poll-check", message.TypeRetryCheck: "retry-check",
		message.TypeDeadlineCheck: "deadline-check", message.TypeBatchWork: "batch-work",
		message.TypeWorkerResult: "worker-result", message.TypeWorkerResults: "worker-results",
		message.WorkCancel: "cancel", message.WorkRelease: "release", message.WorkRetry: "retry",
		message.ErrorJobExpired: "JobExpired",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestFieldNamesAreReadInAnyCase(t *testing.T) {
	t.Parallel()
	var r message.Result
	body := `{"jobId":"j","status":"success","error":{"message":"m","isThrottled":true},"correlationData":{"batchId":42,"stepExecutionId":7}}`
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		t.Fatal(err)
	}
	if r.JobID != "j" || r.Error == nil || !r.Error.IsThrottled || r.CorrelationData.BatchID != 42 || r.CorrelationData.StepExecutionID != 7 {
		t.Fatalf("%+v", r)
	}
}

// Job ids are unique within a batch only; message ids must be in the whole system.
func TestIDsOfDifferentBatchesDiffer(t *testing.T) {
	t.Parallel()
	one, other := message.Job{JobID: "step-1-attempt-1", BatchID: 1}, message.Job{JobID: "step-1-attempt-1", BatchID: 2}
	if one.ID() == other.ID() || one.ID() != (message.Job{JobID: one.JobID, BatchID: 1}).ID() {
		t.Fatalf("%s, %s", one.ID(), other.ID())
	}
	r := message.Result{JobID: one.JobID, CorrelationData: message.Correlation{BatchID: 1}}
	if r.ID() == one.ID() || r.ID() == (message.Result{JobID: one.JobID, CorrelationData: message.Correlation{BatchID: 2}}).ID() {
		t.Fatal(r.ID())
	}
	refusal := r
	refusal.Error = &message.JobError{Type: message.ErrorJobRevoked, Redelivered: true}
	if refusal.ID() == r.ID() { // the broker would drop the result of the delivery before
		t.Fatal(refusal.ID())
	}
}

func TestJobIDNamesItsBatch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		wire, id string
		batch    int
	}{
		{message.WireJobID(42, "step-20000017001-attempt-1"), "step-20000017001-attempt-1", 42},
		{"step-20000017001-attempt-1", "step-20000017001-attempt-1", 0},
		{"step-1-batch-0", "step-1-batch-0", 0},
		{"-batch-7", "-batch-7", 0},
		{"step-1-batch-99999999999", "step-1-batch-99999999999", 0},
	} {
		if id, batch := message.SplitJobID(tt.wire); id != tt.id || batch != tt.batch {
			t.Errorf("%s: %q of batch %d", tt.wire, id, batch)
		}
	}
	job := message.Job{JobID: "step-1-attempt-1", BatchID: 42}
	sent := message.Job{JobID: message.WireJobID(42, job.JobID), BatchID: 42}
	if sent.ID() != job.ID() || sent.ID() != "batch-42-step-1-attempt-1" {
		t.Errorf("message ids %s and %s", sent.ID(), job.ID())
	}
}

func TestResultIsLocatedByItsJob(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		job   string
		batch int
		want  message.Result
	}{
		"without a batch id":         {"j-batch-42", 0, message.Result{JobID: "j", CorrelationData: message.Correlation{BatchID: 42}}},
		"with the batch id":          {"j-batch-42", 42, message.Result{JobID: "j", CorrelationData: message.Correlation{BatchID: 42}}},
		"with another batch id":      {"j-batch-42", 7, message.Result{JobID: "j-batch-42", CorrelationData: message.Correlation{BatchID: 7}}},
		"of a job that names no one": {"j", 7, message.Result{JobID: "j", CorrelationData: message.Correlation{BatchID: 7}}},
	} {
		got := message.Result{JobID: tt.job, CorrelationData: message.Correlation{BatchID: tt.batch}}.Located()
		if got.JobID != tt.want.JobID || got.CorrelationData != tt.want.CorrelationData {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
