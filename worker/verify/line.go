package verify

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/go-amqp"

	"github.com/matoolkit/matoolkit/internal/message"
)

// line is the way to the worker and back.
type line struct {
	config  Config
	prefix  string // of the ids of the jobs that results are kept of
	trace   string
	jobs    *azservicebus.Sender
	back    *azservicebus.Receiver
	waiting *azservicebus.Receiver // what the worker has not settled

	mu      sync.Mutex
	got     map[string][]result
	strange []string      // what came and is no result of anything
	more    chan struct{} // closed when something comes
}

func open(config Config, prefix string) (*line, error) {
	l := &line{config: config, prefix: prefix, trace: strings.Repeat(prefix[len("verify-"):], 4), got: map[string][]result{}, more: make(chan struct{})}
	var err error
	if l.jobs, err = config.Client.NewSender(message.TopicWorkerJobs, nil); err != nil {
		return nil, err
	}
	if l.back, err = config.Client.NewReceiverForSubscription(message.TopicWorkerResults, config.Results, nil); err != nil {
		return nil, err
	}
	l.waiting, err = config.Client.NewReceiverForSubscription(message.TopicWorkerJobs, message.WorkerSubscription(config.WorkerID), nil)
	return l, err
}

func (l *line) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	_ = l.jobs.Close(ctx)
	_ = l.back.Close(ctx)
	_ = l.waiting.Close(ctx)
}

// lifetime is when jobs that nobody took are no more: they ask for nothing that
// anybody wants.
const lifetime = 15 * time.Minute

// send sends one body as several messages.
func (l *line) send(ctx context.Context, body []byte, ids ...string) error {
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	for _, id := range ids {
		contentType, ttl := "application/json", lifetime
		if err := l.jobs.SendMessage(ctx, &azservicebus.Message{
			Body: body, MessageID: &id, ContentType: &contentType, TimeToLive: &ttl,
			ApplicationProperties: map[string]any{
				message.PropertyWorkerID: l.config.WorkerID,
				"traceparent":            "00-" + l.trace + "-00f067aa0ba902b7-01",
			},
		}, nil); err != nil {
			return fmt.Errorf("send a job: %w", err)
		}
	}
	return nil
}

// listen takes what is on the subscription until ctx ends. What stops it is the
// end of the run.
func (l *line) listen(ctx context.Context, stop context.CancelCauseFunc) {
	for ctx.Err() == nil {
		messages, err := l.back.ReceiveMessages(ctx, 100, &azservicebus.ReceiveMessagesOptions{TimeAfterFirstMessage: time.Millisecond})
		if err != nil {
			var refused *amqp.Error
			if errors.As(err, &refused) && refused.Condition == amqp.ErrCondNotFound {
				err = errors.New("there is no such subscription")
			}
			stop(fmt.Errorf("receive from the subscription %s of %s: %w", l.config.Results, message.TopicWorkerResults, err))
			return
		}
		for _, m := range messages {
			if !l.take(m) && l.config.Results == message.SubscriptionOrchestrator {
				_ = l.back.AbandonMessage(ctx, m, nil)
				stop(errors.New("there are results of other jobs on the orchestrator's subscription: they were left there, and nothing can be verified on it"))
				return
			}
			if err := l.back.CompleteMessage(ctx, m, nil); err != nil && ctx.Err() == nil {
				stop(fmt.Errorf("complete a result: %w", err))
				return
			}
		}
	}
}

// take keeps a result of this run, and tells whether it may be one: so may what
// cannot be read. What a worker says of itself is none, and nothing strange.
func (l *line) take(m *azservicebus.ReceivedMessage) bool {
	if kind, _ := m.ApplicationProperties[message.PropertyMessageType].(string); strings.EqualFold(kind, message.TypeWorkerCatalog) || strings.EqualFold(kind, message.TypeWorkerHeartbeat) {
		return true
	}
	r, err := readResult(m)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil:
		l.strange = append(l.strange, err.Error())
	case !strings.HasPrefix(r.jobID(), l.prefix):
		return false
	default:
		l.got[r.jobID()] = append(l.got[r.jobID()], r)
	}
	close(l.more)
	l.more = make(chan struct{})
	return true
}

// results of one job, and a channel that is closed when anything more comes.
func (l *line) results(id string) ([]result, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.got[id], l.more
}

// all gives everything that came.
func (l *line) all() (got map[string][]result, strange []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	got = make(map[string][]result, len(l.got))
	for id, results := range l.got {
		got[id] = results
	}
	return got, l.strange
}

// settled waits until none of the messages whose ids begin so is on the worker's
// subscription any more, locked or not. Which are is told after the timeout.
func (l *line) settled(ctx context.Context, prefix string) ([]string, error) {
	deadline := time.Now().Add(l.config.Timeout)
	for {
		left, err := l.left(ctx, prefix)
		if err != nil || len(left) == 0 || time.Now().After(deadline) {
			return left, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (l *line) left(ctx context.Context, prefix string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	var left []string
	from := int64(0)
	for {
		page, err := l.waiting.PeekMessages(ctx, 100, &azservicebus.PeekMessagesOptions{FromSequenceNumber: &from})
		if err != nil {
			return nil, fmt.Errorf("look at the worker's subscription %s: %w", message.WorkerSubscription(l.config.WorkerID), err)
		}
		if len(page) == 0 {
			return left, nil
		}
		for _, m := range page {
			if strings.HasPrefix(m.MessageID, prefix) {
				left = append(left, m.MessageID)
			}
			if m.SequenceNumber != nil {
				from = *m.SequenceNumber + 1
			}
		}
	}
}
