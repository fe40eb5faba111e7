package dispatch

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/tracecontext"
)

// maxBatch is how many results go into one batch at most.
const maxBatch = 100

// outbox sends results; each waits until the broker has taken it. One batch is under way at a
// time, and the results that become ready meanwhile leave together in the next: without a wait,
// and the more of them the busier the worker is.
type outbox struct {
	sender   bus.Sender
	workerID string
	linger   time.Duration // how long a result waits for others
	running  func() int    // jobs in hand, each with at most one result
	delays   func() backoff.BackOff
	log      *slog.Logger
	waiting  chan *letter
	stopped  chan struct{} // closed when the outbox no longer sends
}

type letter struct {
	message bus.Message
	grouped bool // whether the orchestrator reads it in a group
	sent    chan struct{}
}

// start sends until ctx ends.
func (o *outbox) start(ctx context.Context) {
	go func() {
		defer close(o.stopped)
		for {
			select {
			case first := <-o.waiting:
				o.deliver(ctx, o.collect(ctx, first))
			case <-ctx.Done():
				return
			}
		}
	}()
}

func (o *outbox) wait() { <-o.stopped }

// send returns when the broker has the message, or ctx's error when that ends
// before; the message may then have been sent or not.
func (o *outbox) send(ctx context.Context, m bus.Message, grouped bool) error {
	l := &letter{message: m, grouped: grouped, sent: make(chan struct{})}
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

// collect takes what else is waiting by now. A result that can be grouped waits for others until
// its linger time is over or no other can come.
func (o *outbox) collect(ctx context.Context, first *letter) []*letter {
	letters := []*letter{first}
	var over <-chan time.Time // nil: at once
	if o.linger > 0 && first.grouped {
		timer := time.NewTimer(o.linger)
		defer timer.Stop()
		over = timer.C
	}
	for len(letters) < maxBatch {
		select {
		case l := <-o.waiting:
			letters = append(letters, l)
			continue
		default:
		}
		if over == nil || len(letters) >= message.MaxResults || len(letters) >= o.running() {
			return letters
		}
		select {
		case l := <-o.waiting:
			letters = append(letters, l)
		case <-over:
			over = nil
		case <-ctx.Done():
			return letters
		}
	}
	return letters
}

// deliver sends letters together, again and again until ctx ends. Results that were sent and
// not acknowledged may have arrived: their message ids make the repetition harmless.
func (o *outbox) deliver(ctx context.Context, letters []*letter) {
	messages := o.pack(letters)
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

// pack returns the messages of letters: groups of the results that can be grouped, as few as
// the limits of a group allow, and the others alone. A result without company is a message of
// its own.
func (o *outbox) pack(letters []*letter) []bus.Message {
	var messages []bus.Message
	var group message.ResultsBuilder
	var only bus.Message // the first result of the group
	flush := func() {
		switch group.Len() {
		case 0:
		case 1:
			messages = append(messages, only)
		default:
			id, body := group.Message()
			messages = append(messages, bus.Message{ID: id, Body: body, Properties: map[string]any{
				message.PropertyMessageType: message.TypeWorkerResults, message.PropertyWorkerID: o.workerID,
			}})
		}
		group = message.ResultsBuilder{}
	}
	for _, l := range letters {
		fits := false
		if l.grouped && len(letters) > 1 {
			r := groupedResult(l.message)
			if fits, _ = group.Add(r); !fits { // it cannot fail: the body is JSON
				flush()
				fits, _ = group.Add(r)
			}
		}
		switch {
		case !fits:
			messages = append(messages, l.message)
		case group.Len() == 1:
			only = l.message
		}
	}
	flush()
	return messages
}

func groupedResult(m bus.Message) message.GroupedResult {
	r := message.GroupedResult{MessageID: m.ID, Body: m.Body, Properties: make(map[string]string, len(m.Properties))}
	for name, value := range m.Properties {
		if text, ok := value.(string); ok && name != message.PropertyMessageType {
			r.Properties[name] = text
		}
	}
	return r
}

// traceProperties carry the trace context from the job to its result.
var traceProperties = []string{"traceparent", "tracestate", "Diagnostic-Id"}

// maxTraceProperty is the greatest length of a trace property in bytes. A longer one
// is dropped, because the result must fit into a message with any job properties.
const maxTraceProperty = 512

// envelope makes the message of a worker's result that answers a delivery of its job.
// It carries the trace of ctx, or the job's where ctx has none.
func envelope(ctx context.Context, r message.Result, d *received, workerID string) bus.Message {
	body, err := json.Marshal(struct {
		message.Result
		CorrelationData any // in the place of the result's
	}{r, d.correlation()})
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
		if v, ok := d.message.Properties[name].(string); ok && len(v) <= maxTraceProperty {
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
func (d *received) correlation() any {
	if len(d.came) > maxCorrelation || len(d.came) == 0 {
		return d.job.CorrelationData
	}
	return d.came
}
