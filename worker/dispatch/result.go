package dispatch

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/worker/blank"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// Answer is the answer to a job whose function returned a value, or an error, after a time.
func Answer(job message.Job, value any, err error, took time.Duration) message.Result {
	if err != nil {
		return failure(job, err, took)
	}
	return success(job, value, took)
}

func success(job message.Job, value any, took time.Duration) message.Result {
	r := result(job, took)
	raw, err := json.Marshal(value)
	switch _, isBool := value.(bool); {
	case err != nil:
		return failure(job, &catalog.Failure{Type: catalog.FailureInvalidResult, Message: "the answer is not JSON: " + err.Error()}, took)
	case isBool:
		r.ResultType = message.ResultBoolean
	case len(raw) > 0 && raw[0] == '{':
		r.ResultType = message.ResultObject
	default:
		return failure(job, &catalog.Failure{Type: catalog.FailureInvalidResult, Message: "the answer must be a boolean or an object"}, took)
	}
	if len(raw) > maxAnswer {
		return failure(job, &catalog.Failure{
			Type:    catalog.FailureInvalidResult,
			Message: fmt.Sprintf("the answer has %d bytes; at most %d are allowed", len(raw), maxAnswer),
		}, took)
	}
	r.Status, r.Result = message.StatusSuccess, raw
	return r
}

// maxAnswer bounds what a function returns, in bytes. The rest of a message is for its envelope.
const maxAnswer = message.Limit - 4<<10

// The bounds of an error, in bytes: its message may quote a whole response, and a custom function gives any text as its
// type. With them a result fits into a message.
const (
	maxMessage = 4000
	maxType    = 100
)

func failure(job message.Job, err error, took time.Duration) message.Result {
	r := result(job, took)
	r.Status, r.Result = message.StatusFailure, jsonNull
	var f *catalog.Failure
	if !errors.As(err, &f) {
		f = &catalog.Failure{Type: catalog.FailureUnknown, Message: err.Error()}
	}
	hide := blank.Replacer(job.Secrets)
	r.Error = &message.JobError{Message: humanize.ClipBytes(hide.Replace(f.Message), maxMessage), Type: humanize.ClipBytes(hide.Replace(f.Type), maxType), IsThrottled: f.Throttled, IsNotFound: f.NotFound, Attempts: max(f.Attempts, 1)}
	if f.Throttled {
		r.Error.RetryAfterSeconds = int(math.Ceil(f.RetryAfter.Seconds()))
	}
	return r
}

func result(job message.Job, took time.Duration) message.Result {
	return message.Result{
		JobID: job.JobID, DurationMs: took.Milliseconds(), Timestamp: time.Now().UTC(),
		CorrelationData: job.CorrelationData,
	}
}

// report logs how a job ended: its failure, but never its parameters or result,
// which hold personal data and perhaps a password.
func (l *Loop) report(log *slog.Logger, r message.Result) {
	switch {
	case r.Error == nil:
		log.Debug("the job succeeded")
		return
	case r.Error.Type == catalog.FailureRevoked: // all of a batch may be
		log.Debug("the job was revoked")
		return
	}
	log.Warn("the job failed", logkey.Type, r.Error.Type, logkey.Error, r.Error.Message,
		logkey.IsThrottled, r.Error.IsThrottled, logkey.Attempts, r.Error.Attempts)
}
