package testenv_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/bus/memory"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

// handler sends a job for each event, and keeps the results. Each message fails once.
type handler struct {
	bus bus.Sender

	mu      sync.Mutex
	failed  map[string]bool
	results []string
}

var errOnce = errors.New("it fails once")

func (h *handler) first(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	seen := h.failed[id]
	h.failed[id] = true
	return !seen
}

func (h *handler) HandleEvent(ctx context.Context, m message.Delivery) error {
	if h.first(m.ID) {
		return errOnce
	}
	j := message.Job{JobID: m.ID, BatchID: 1, WorkerID: "worker-01", FunctionName: m.Type}
	body, err := json.Marshal(j)
	if err != nil {
		return err
	}
	return h.bus.Send(ctx, message.TopicWorkerJobs, bus.Message{ID: j.ID(), Body: body, Properties: map[string]any{message.PropertyWorkerID: j.WorkerID}})
}

func (h *handler) HandleResult(_ context.Context, m message.Delivery) error {
	if h.first("result " + m.ID) {
		return errOnce
	}
	var r message.Result
	if err := json.Unmarshal(m.Body, &r); err != nil {
		return err
	}
	text := string(r.Result)
	if r.Error != nil {
		text = fmt.Sprint(r.Error.Type, " ", r.Error.Message, " ", r.Error.IsThrottled)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.results = append(h.results, fmt.Sprint(r.JobID, " ", r.Status, " ", text, " ", r.Timestamp.Format(time.TimeOnly)))
	return nil
}

func TestRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broker, err := memory.New(memory.Config{})
		if err != nil {
			t.Fatal(err)
		}
		client := broker.Client(nil)
		h := &handler{bus: client, failed: map[string]bool{}}
		w := &testenv.Worker{ID: "worker-01", Bus: client, Now: func() time.Time { return time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC) }, Answer: func(j message.Job) (string, error) {
			switch j.FunctionName {
			case "fails":
				return "", errors.New("no")
			case "throttled":
				return "", &testenv.Failure{JobError: message.JobError{Message: "later", Type: "Busy", IsThrottled: true}}
			case "silent":
				return "", testenv.ErrNoAnswer
			}
			return `{"done":true}`, nil
		}}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- testenv.Run(ctx, client, h, w) }()
		for _, kind := range []string{"works", "fails", "throttled", "silent"} {
			if err := client.Send(ctx, message.TopicOrchestratorEvents, bus.Message{ID: kind, Body: []byte("{}"), Properties: map[string]any{message.PropertyMessageType: kind}}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		slices.Sort(h.results)
		want := `fails Failure Test no false 09:00:00, throttled Failure Busy later true 09:00:00, works Success {"done":true} 09:00:00`
		if got := strings.Join(h.results, ", "); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		for topic, subscription := range map[string]string{message.TopicOrchestratorEvents: message.SubscriptionOrchestrator, message.TopicWorkerResults: message.SubscriptionOrchestrator, message.TopicWorkerJobs: "worker-worker-01"} {
			if left, err := broker.Messages(topic, subscription); err != nil || len(left) > 0 {
				t.Errorf("%d messages of %s are left: %v", len(left), topic, err)
			}
		}
	})
}

func TestSettlementThatFailsIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broker, err := memory.New(memory.Config{})
		if err != nil {
			t.Fatal(err)
		}
		client := broker.Client(nil)
		if err := client.Send(t.Context(), message.TopicWorkerResults, bus.Message{ID: "1", Body: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var reported error
		err = testenv.Serve(ctx, client, message.TopicWorkerResults, message.SubscriptionOrchestrator, func(_ context.Context, m *bus.Received) error {
			defer cancel()
			return broker.EndLock(message.TopicWorkerResults, message.SubscriptionOrchestrator, m.Sequence, time.Now())
		}, func(m *bus.Received, err error) { reported = err })
		if err != nil || !errors.Is(reported, bus.ErrLockLost) {
			t.Errorf("%v, reported %v", err, reported)
		}
	})
}
