package dispatch

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/logkey"
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
	sender  bus.Sender
	delays  func() backoff.BackOff
	log     *slog.Logger
	waiting chan *letter
	group   sync.WaitGroup
}

type letter struct {
	message bus.Message
	sent    chan struct{}
}

func newOutbox(sender bus.Sender, delays func() backoff.BackOff, log *slog.Logger) *outbox {
	return &outbox{sender: sender, delays: delays, log: log, waiting: make(chan *letter, maxBatch)}
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
func (o *outbox) send(ctx context.Context, m bus.Message) error {
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

// deliver sends letters together, again and again until ctx ends. Results that were sent and
// not acknowledged may have arrived: their message ids make the repetition harmless.
func (o *outbox) deliver(ctx context.Context, letters []*letter) {
	messages := make([]bus.Message, len(letters))
	for i, l := range letters {
		messages[i] = l.message
	}
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		return struct{}{}, o.sender.Send(ctx, message.TopicWorkerResults, messages...)
	}, backoff.WithBackOff(o.delays()), backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(err error, delay time.Duration) {
		if ctx.Err() == nil {
			o.log.Warn("cannot send results: retrying", logkey.Results, len(letters), logkey.Error, err, logkey.Delay, delay.String())
		}
	}))
	if err != nil {
		return // ctx has ended
	}
	for _, l := range letters {
		close(l.sent)
	}
}

// traceProperties carry the trace context from the job to its result.
var traceProperties = []string{"traceparent", "tracestate", "Diagnostic-Id"}

// maxTraceProperty is the greatest length of a trace property in bytes. A longer one
// is dropped, because the result must fit into a message with any job properties.
const maxTraceProperty = 512

// envelope makes the message of a worker's result that answers a delivery of its job.
// It carries the trace of ctx, or the job's where ctx has none.
func envelope(ctx context.Context, r message.Result, job *bus.Received, workerID string) bus.Message {
	body, err := json.Marshal(struct {
		message.Result
		CorrelationData any // in the place of the result's
	}{r, correlation(r, job.Body)})
	if err != nil {
		panic(err) // r.Result was marshalled here before; the rest is plain data
	}
	m := bus.Message{
		ID: r.ID(), Body: body, CorrelationID: r.JobID,
		Properties: map[string]any{
			message.PropertyMessageType: message.TypeWorkerResult,
			message.PropertyWorkerID:    workerID,
		},
	}
	for _, name := range traceProperties {
		if v, ok := job.Properties[name].(string); ok && len(v) <= maxTraceProperty {
			m.Properties[name] = v
		}
	}
	tracecontext.Inject(ctx, m.Properties)
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
