package model

import (
	"encoding/json"
	"time"
)

// RefusedJob is a worker's answer that it did not begin a job that had come again. Another
// replica may have begun an earlier delivery of the job and run it still, for example
// because it lost the lock of the message.
type RefusedJob struct {
	At      time.Time `json:"at"`
	Revoked bool      `json:"revoked,omitempty"` // the batch was paused or cancelled; false: the job expired
	Reason  string    `json:"reason"`
}

// Step is one function call of a run. Its name, worker and policies are in its definition, which the
// version of the runbook has: see Run.Definition.
type Step struct {
	Rollback      string          `json:"rollback,omitempty"` // the sequence that it is part of; empty for the run's own
	Place         int             `json:"place,omitempty"`    // of a rollback step in its sequence
	Function      string          `json:"function,omitempty"` // the resolved name, if the definition has a template
	Params        json.RawMessage `json:"params,omitempty"`
	Status        StepStatus      `json:"status"`
	Job           string          `json:"jobId,omitempty"` // of its last job, as Run.ShortJobID has it; see Run.JobID
	Result        json.RawMessage `json:"result,omitempty"`
	Error         string          `json:"error,omitempty"`
	DispatchedAt  *time.Time      `json:"dispatchedAt,omitempty"` // when its last job was decided on
	CompletedAt   *time.Time      `json:"completedAt,omitempty"`  // when its end was decided, which is when the next step is dispatched; a result may be older
	PollStartedAt *time.Time      `json:"pollStartedAt,omitempty"`
	PolledAt      *time.Time      `json:"polledAt,omitempty"`  // when the function last answered that it is not complete
	PollAt        *time.Time      `json:"pollAt,omitempty"`    // when the next poll of a polling step is due
	PollSent      bool            `json:"pollSent,omitempty"`  // the job of that poll was sent ahead, and becomes visible then
	PollCount     int             `json:"pollCount,omitempty"` // polls dispatched or sent ahead; never reset, as the two counts below, so that job ids stay unique
	Round         int             `json:"round,omitempty"`     // how often the step was begun anew after its run had ended
	Attempts      int             `json:"attempts,omitempty"`  // begun, not counting retries and polls
	RetryCount    int             `json:"retryCount,omitempty"`
	RetriesBefore int             `json:"retriesBefore,omitempty"` // the present attempt
	Expiries      int             `json:"expiries,omitempty"`      // jobs that their worker came to too late
	RetryAfter    *time.Time      `json:"retryAfter,omitempty"`
	Postponed     bool            `json:"postponed,omitempty"`   // RetryAfter is when it is dispatched, and no retry is counted
	CacheID       string          `json:"cacheId,omitempty"`     // the entry of the cache under which the step is done, for others too; empty if it is not
	Cached        *CacheSource    `json:"cached,omitempty"`      // the run that it waits for, or has its result from, without a job of its own
	Waits         int             `json:"waits,omitempty"`       // how often it was postponed to wait for another run; never reset
	QueuedUntil   *time.Time      `json:"queuedUntil,omitempty"` // when the job was last known to wait for its worker
	Refused       *RefusedJob     `json:"refused,omitempty"`     // of the job in flight, an earlier delivery of which may run
	SilentAt      *time.Time      `json:"silentAt,omitempty"`    // when a deadline first found the job's worker silent; nil when it was heard of since
	Abandoned     []Abandoned     `json:"abandoned,omitempty"`   // jobs that were no longer waited for
	Required      bool            `json:"required,omitempty"`    // of a check: a member who waits for it fails with it
	Resolved      *Attribution    `json:"resolved,omitempty"`    // who skipped it or marked it done
	History       []Attempt       `json:"history,omitempty"`     // the last attempts, of a step whose first did not succeed
	Answers       []PollAnswer    `json:"answers,omitempty"`     // what the polls of the present attempt answered before Error, oldest first
}

// JobInFlight reports whether a job of the step waits for its result: it was dispatched, or it
// polls and was sent ahead.
func (s *Step) JobInFlight() bool {
	return s.Status == StepDispatched || s.Status == StepPolling && s.PollSent
}

// VisibleAt returns when the job in flight becomes, or became, visible to its worker: at its
// dispatch, or at PollAt if it was sent ahead.
func (s *Step) VisibleAt() time.Time {
	if s.Status == StepPolling && s.PollSent {
		return *s.PollAt
	}
	return *s.DispatchedAt
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

// Attempt is an attempt of a step that has ended. Its polls are part of it.
type Attempt struct {
	JobID     string     `json:"jobId"` // of its last job
	StartedAt time.Time  `json:"startedAt"`
	EndedAt   time.Time  `json:"endedAt"`
	Outcome   StepStatus `json:"outcome"` // StepSucceeded, StepFailed or StepPollTimeout
	Error     string     `json:"error,omitempty"`
}

// PollAnswer is the reason that a function gave for not being complete, in one poll or several on end.
type PollAnswer struct {
	Text string    `json:"text"`
	Last time.Time `json:"last"` // when it answered so for the last time
}

const (
	// MaxPollAnswers is how many answers of the polls of a step are kept, besides the last.
	MaxPollAnswers = 5
	// MaxAttempts is how many attempts of a step are kept.
	MaxAttempts = 20
	// MaxAttemptError is how many bytes of the error of each attempt, and of each answer, are kept.
	MaxAttemptError = 500
)
