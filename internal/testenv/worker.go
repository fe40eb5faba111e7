package testenv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
)

// ErrNoAnswer is the error of an Answer for a job whose worker sends no result.
var ErrNoAnswer = errors.New("no answer")

// Failure is an error of an Answer with all that a worker can say of a failure.
type Failure struct{ message.JobError }

// Error returns the message of the failure.
func (f *Failure) Error() string { return f.Message }

// Answer returns the result of a job as JSON, or why it failed: ErrNoAnswer, a Failure, or any
// other error, of which the text is sent.
type Answer func(message.Job) (result string, err error)

// Worker carries out jobs with a function. It is safe for concurrent use if its function is.
type Worker struct {
	ID     string
	Bus    bus.Sender
	Answer Answer
	Now    func() time.Time // nil means time.Now
}

// Work carries out the job that a message has and sends the result.
func (w *Worker) Work(ctx context.Context, body []byte) error {
	var j message.Job
	if err := json.Unmarshal(body, &j); err != nil {
		return err
	}
	result, err := w.Answer(j)
	if errors.Is(err, ErrNoAnswer) {
		return nil
	}
	now := time.Now
	if w.Now != nil {
		now = w.Now
	}
	r := Result(j, now(), result, err)
	encoded, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return w.Bus.Send(ctx, message.TopicWorkerResults, bus.Message{ID: r.ID(), Body: encoded})
}

// Result returns the message of a worker with the answer to a job.
func Result(j message.Job, at time.Time, result string, err error) message.Result {
	r := message.Result{JobID: j.JobID, Status: message.StatusSuccess, Timestamp: at.UTC(), CorrelationData: j.CorrelationData}
	if err == nil {
		r.Result = json.RawMessage(result)
		return r
	}
	r.Status, r.Error = message.StatusFailure, &message.JobError{Message: err.Error(), Type: "Test"}
	var failure *Failure
	if errors.As(err, &failure) {
		r.Error = &failure.JobError
	}
	return r
}

// Heartbeat returns the message of a heartbeat.
func Heartbeat(h message.Heartbeat) bus.Message {
	body, err := json.Marshal(h)
	if err != nil {
		panic(err) // texts, numbers and times
	}
	return bus.Message{ID: h.ID(), Body: body, Properties: map[string]any{
		message.PropertyMessageType: message.TypeWorkerHeartbeat, message.PropertyWorkerID: h.WorkerID,
	}}
}

// Group returns one message with the results of several, as a worker sends those that are ready
// together.
func Group(results ...bus.Message) bus.Message {
	var b message.ResultsBuilder
	for _, m := range results {
		r := message.GroupedResult{MessageID: m.ID, Body: m.Body, Properties: map[string]string{}}
		for name, value := range m.Properties {
			if text, ok := value.(string); ok && name != message.PropertyMessageType {
				r.Properties[name] = text
			}
		}
		if fits, err := b.Add(r); !fits {
			panic(fmt.Sprint("the results do not fit into a group: ", err))
		}
	}
	id, body := b.Message()
	return bus.Message{ID: id, Body: body, Properties: map[string]any{message.PropertyMessageType: message.TypeWorkerResults}}
}
