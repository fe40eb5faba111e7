package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/tracecontext"
)

// senders is how many batches are under way at once: enough to fill one while
// others wait for the broker.
const senders = 4

// maxBatch is how many results go into one batch at most.
const maxBatch = 100

// outbox sends results. Those that are ready together go in one batch; each
// waits until the broker has taken it.
type outbox struct {
	sender  *azservicebus.Sender
	backoff func(failures int) time.Duration
	log     *slog.Logger
	waiting chan *letter
	group   sync.WaitGroup
}

type letter struct {
	message *azservicebus.Message
	sent    chan struct{}
}

func newOutbox(sender *azservicebus.Sender, backoff func(int) time.Duration, log *slog.Logger) *outbox {
	return &outbox{sender: sender, backoff: backoff, log: log, waiting: make(chan *letter, maxBatch)}
}

// start sends until ctx ends.
func (o *outbox) start(ctx context.Context) {
	for range senders {
		o.group.Go(func() {
			for {
				select {
				case first := <-o.waiting:
					o.deliver(ctx, o.collect(first))
				case <-ctx.Done():
					return
				}
			}
		})
	}
}

func (o *outbox) wait() { o.group.Wait() }

// send returns when the broker has the message, or ctx's error when that ends
// before; the message may then have been sent or not.
func (o *outbox) send(ctx context.Context, m *azservicebus.Message) error {
	l := &letter{message: m, sent: make(chan struct{})}
	select {
	case o.waiting <- l:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-l.sent:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// collect takes what else is waiting by now.
func (o *outbox) collect(first *letter) []*letter {
	letters := []*letter{first}
	for len(letters) < maxBatch {
		select {
		case l := <-o.waiting:
			letters = append(letters, l)
		default:
			return letters
		}
	}
	return letters
}

// deliver sends letters, again and again until ctx ends. A batch that failed may
// have arrived: the message ids make its repetition harmless.
func (o *outbox) deliver(ctx context.Context, letters []*letter) {
	for failures := 0; len(letters) > 0 && ctx.Err() == nil; {
		n, err := o.sendSome(ctx, letters)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			delay := o.backoff(failures)
			failures++
			o.log.Warn("cannot send results: trying again", "Results", len(letters), "Error", err, "Delay", delay.String())
			pause(ctx, delay)
			continue
		}
		failures = 0
		for _, l := range letters[:n] {
			close(l.sent)
		}
		letters = letters[n:]
	}
}

// sendSome sends as many of the letters as go into one batch, from the first on,
// and returns how many.
func (o *outbox) sendSome(ctx context.Context, letters []*letter) (int, error) {
	if len(letters) == 1 {
		return 1, o.sender.SendMessage(ctx, letters[0].message, nil)
	}
	batch, err := o.sender.NewMessageBatch(ctx, nil)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, l := range letters {
		err := batch.AddMessage(l.message, nil)
		if errors.Is(err, azservicebus.ErrMessageTooLarge) {
			break
		}
		if err != nil {
			return 0, err
		}
		n++
	}
	if n == 0 { // alone it has more room than in a batch
		return 1, o.sender.SendMessage(ctx, letters[0].message, nil)
	}
	return n, o.sender.SendMessageBatch(ctx, batch, nil)
}

// traceProperties carry the trace context from the job to its result.
var traceProperties = []string{"traceparent", "tracestate", "Diagnostic-Id"}

// maxTraceProperty is how long one may be, in bytes. What is beyond that has no place
// in a result that has to be sent, whatever came beside its job.
const maxTraceProperty = 512

// envelope makes the message of a worker's result that answers a delivery of its job.
// It carries the trace of ctx, or the job's where ctx has none.
func envelope(ctx context.Context, r message.Result, job *azservicebus.ReceivedMessage, workerID string) *azservicebus.Message {
	body, err := json.Marshal(struct {
		message.Result
		CorrelationData any // in the place of the result's
	}{r, correlation(r, job.Body)})
	if err != nil {
		panic(err) // r.Result was marshalled here before; the rest is plain data
	}
	id, contentType := r.ID(), "application/json"
	m := &azservicebus.Message{
		Body: body, MessageID: &id, ContentType: &contentType, CorrelationID: &r.JobID,
		ApplicationProperties: map[string]any{
			message.PropertyMessageType: message.TypeWorkerResult,
			message.PropertyWorkerID:    workerID,
		},
	}
	for _, name := range traceProperties {
		if v, ok := job.ApplicationProperties[name].(string); ok && len(v) <= maxTraceProperty {
			m.ApplicationProperties[name] = v
		}
	}
	tracecontext.Inject(ctx, m.ApplicationProperties)
	return m
}

// maxCorrelation is how much of the envelope's room the correlation may take.
const maxCorrelation = 2 << 10

// correlation is the job's as it came, with what this version of the worker does not
// know: the orchestrator may be newer. One that is too large goes back as it was
// understood.
func correlation(r message.Result, job []byte) any {
	var came struct{ CorrelationData json.RawMessage }
	if err := json.Unmarshal(job, &came); err != nil || len(came.CorrelationData) > maxCorrelation || len(came.CorrelationData) == 0 {
		return r.CorrelationData
	}
	return came.CorrelationData
}
