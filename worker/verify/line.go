package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
)

// line is the way to the worker and back.
type line struct {
	config  Config
	prefix  string // of the ids of the jobs that results are kept of
	trace   string
	back    bus.Receiver
	waiting bus.Receiver // what the worker has not settled
	since   time.Time    // older heartbeats do not count

	mu      sync.Mutex
	got     map[string][]result
	strange []string // what came and is no result of anything
	beats   []heartbeat
	more    chan struct{} // closed when something comes
}

func open(config Config, prefix string) (*line, error) {
	l := &line{config: config, prefix: prefix, trace: strings.Repeat(prefix[len("verify-"):], 4), got: map[string][]result{}, more: make(chan struct{})}
	l.since = time.Now().Add(-message.HeartbeatInterval)
	var err error
	if l.back, err = config.Client.Receiver(message.TopicWorkerResults, config.Results); err != nil {
		return nil, err
	}
	l.waiting, err = config.Client.Receiver(message.TopicWorkerJobs, message.WorkerSubscription(config.WorkerID))
	return l, err
}

func (l *line) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	_ = l.back.Close(ctx)
	_ = l.waiting.Close(ctx)
}

// lifetime is the time to live of jobs: later results would be of no use.
const lifetime = 15 * time.Minute

// send sends one body as several messages.
func (l *line) send(ctx context.Context, body []byte, ids ...string) error {
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	for _, id := range ids {
		if err := l.config.Client.Send(ctx, message.TopicWorkerJobs, bus.Message{
			ID: id, Body: body, TimeToLive: lifetime,
			Properties: map[string]any{
				message.PropertyWorkerID: l.config.WorkerID,
				"traceparent":            "00-" + l.trace + "-00f067aa0ba902b7-01",
			},
		}); err != nil {
			return fmt.Errorf("send a job: %w", err)
		}
	}
	return nil
}

// revoke sends a control, and sees to it that the worker has a subscription for it.
func (l *line) revoke(ctx context.Context, c message.Control) error {
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	receiver, err := l.config.Client.Receiver(message.TopicWorkerControl, message.WorkerSubscription(l.config.WorkerID))
	if err != nil {
		return err
	}
	defer func() { _ = receiver.Close(context.WithoutCancel(ctx)) }() // the client is closed after it
	if _, err := receiver.Peek(ctx, 0, 1); err != nil {
		return fmt.Errorf("peek the worker's controls: %w", err)
	}
	body, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if err := l.config.Client.Send(ctx, message.TopicWorkerControl, bus.Message{
		ID: c.ID(), Body: body, TimeToLive: lifetime,
		Properties: map[string]any{message.PropertyMessageType: message.TypeControl},
	}); err != nil {
		return fmt.Errorf("send a control: %w", err)
	}
	return nil
}

// listen receives from the subscription until ctx ends. An error of the receiver
// ends the run.
func (l *line) listen(ctx context.Context, stop context.CancelCauseFunc) {
	for interrupted := false; ctx.Err() == nil; {
		messages, err := l.back.Receive(ctx, 100, time.Minute)
		switch {
		case err == nil:
			interrupted = false
		case errors.Is(err, bus.ErrNotFound):
			stop(fmt.Errorf("%w: create it, or give another with --results-subscription", err))
			return
		case errors.Is(err, bus.ErrUnavailable) && !interrupted: // the next call connects again
			interrupted = true
		default:
			stop(fmt.Errorf("receive results: %w", err))
			return
		}
		for _, m := range messages {
			if !l.take(m) && l.config.Results == message.SubscriptionOrchestrator {
				_ = l.back.Abandon(ctx, m, nil)
				stop(errors.New("the orchestrator's subscription has results of other jobs: verify left them there; use another subscription"))
				return
			}
			if err := l.back.Complete(ctx, m); err != nil && ctx.Err() == nil {
				stop(fmt.Errorf("complete a result: %w", err))
				return
			}
		}
	}
}

// take keeps a result of this run, and tells whether it may be one: so may what
// cannot be read. What a worker says of itself is none, and nothing strange.
func (l *line) take(m *bus.Received) bool {
	kind, _ := m.Properties[message.PropertyMessageType].(string)
	if strings.EqualFold(kind, message.TypeWorkerCatalog) {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if strings.EqualFold(kind, message.TypeWorkerHeartbeat) {
		if m.EnqueuedAt.Before(l.since) {
			return true
		}
		if b := readHeartbeat(m, time.Now()); b.worker == "" || b.worker == l.config.WorkerID {
			l.beats = append(l.beats, b)
			l.notify()
		}
		return true
	}
	r, err := readResult(m)
	switch {
	case err != nil:
		l.strange = append(l.strange, err.Error())
	case !strings.HasPrefix(r.jobID(), l.prefix):
		return false
	default:
		l.got[r.jobID()] = append(l.got[r.jobID()], r)
	}
	l.notify()
	return true
}

// notify wakes those who wait for more. The caller holds mu.
func (l *line) notify() {
	close(l.more)
	l.more = make(chan struct{})
}

// heartbeat is one heartbeat of a worker with its errors. The worker is empty
// where the message does not name it.
type heartbeat struct {
	worker string
	fault  error
}

func readHeartbeat(m *bus.Received, now time.Time) heartbeat {
	var h message.Heartbeat
	err := json.Unmarshal(m.Body, &h)
	if err == nil {
		err = h.Check(now)
	}
	if err != nil {
		err = fmt.Errorf("invalid heartbeat %s: %w", m.ID, err)
	}
	if h.WorkerID == "" {
		h.WorkerID, _ = m.Properties[message.PropertyWorkerID].(string)
	}
	return heartbeat{h.WorkerID, err}
}

// heartbeats gives the worker's heartbeats, and a channel that is closed when anything
// more comes.
func (l *line) heartbeats() ([]heartbeat, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.beats), l.more
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

// waitUntilEmpty waits until the worker's subscription holds no message with this id
// prefix, locked or not. After the timeout it returns the ids that remain.
func (l *line) waitUntilEmpty(ctx context.Context, prefix string) ([]string, error) {
	deadline := time.Now().Add(l.config.Timeout)
	for {
		left, err := l.remainingIDs(ctx, prefix)
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

func (l *line) remainingIDs(ctx context.Context, prefix string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	var left []string
	from := int64(0)
	for {
		page, err := l.waiting.Peek(ctx, from, 100)
		if err != nil {
			return nil, fmt.Errorf("peek the worker's jobs: %w", err)
		}
		if len(page) == 0 {
			return left, nil
		}
		for _, m := range page {
			if strings.HasPrefix(m.ID, prefix) {
				left = append(left, m.ID)
			}
			from = m.Sequence + 1
		}
	}
}
