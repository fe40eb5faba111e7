package catalog

import (
	"time"

	"github.com/matoolkit/matoolkit/internal/message"
)

// Types of failures that are the worker's own. A failure that a tenant reported
// has the tenant's error code as its type.
const (
	FailureUnknownFunction = message.ErrorUnknownFunction
	FailureParameters      = message.ErrorInvalidParameters
	FailureConflict        = "Conflict"        // something else is where the result should be
	FailureMigration       = "MigrationFailed" // the tenant gave up moving a mailbox
	FailureThrottled       = "Throttled"
	FailureUnreachable     = "Unreachable"
	FailureNotConfigured   = "NotConfigured" // the worker lacks a setting that the function needs
	FailureTimeout         = "Timeout"       // no answer within the time limit
	FailureInvalidResult   = "InvalidResult" // an answer that cannot be sent on
	FailureInvalidJob      = "InvalidJob"
	FailurePanic           = "Panic"
	FailureExpired         = message.ErrorJobExpired // the job came to its turn too late
	FailureRevoked         = message.ErrorJobRevoked // its batch was paused or cancelled before its turn
	FailureUnknown         = "Failure"               // an error that is no *Failure
)

// Failure is how a function fails. Its message goes to administrators and must
// not hold secrets.
type Failure struct {
	Type      string
	Message   string
	Throttled bool // the tenant's limits were the reason
	NotFound  bool // the tenant does not have what the call is about; a step that polls waits for it
	Attempts  int  // how often the failing call was made; 0 when none was
	// RetryAfter is how long the tenant asked to be left alone when it last
	// refused; 0 when it did not say, or refused for another reason than limits.
	RetryAfter time.Duration
}

func (f *Failure) Error() string { return f.Type + ": " + f.Message }
