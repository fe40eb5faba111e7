package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
)

// broker is a sender that a test controls.
type broker struct {
	mu   sync.Mutex
	sent [][]bus.Message
	at   []time.Time
	send func(n int) error // of the n-th request; nil: it succeeds
}

func (b *broker) Ping(context.Context) error { return nil }

func (b *broker) Send(_ context.Context, _ string, messages ...bus.Message) error {
	b.mu.Lock()
	b.sent, b.at = append(b.sent, messages), append(b.at, time.Now())
	n := len(b.sent)
	b.mu.Unlock()
	if b.send != nil {
		return b.send(n)
	}
	return nil
}

// requests describes the requests: of each its messages, of a group the number of its results.
func (b *broker) requests(t *testing.T) (out []string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, messages := range b.sent {
		out = append(out, describe(t, messages))
	}
	return out
}

func describe(t *testing.T, messages []bus.Message) string {
	t.Helper()
	var parts []string
	for _, m := range messages {
		if m.Properties[message.PropertyMessageType] != message.TypeWorkerResults {
			parts = append(parts, m.ID)
			continue
		}
		results, err := message.Delivery{ID: m.ID, Body: m.Body}.Results()
		if err != nil || m.Properties[message.PropertyWorkerID] != "w" || len(m.Body) > message.Limit {
			t.Errorf("the group %s: %v, %v, %d bytes", m.ID, err, m.Properties, len(m.Body))
		}
		var ids []string
		for _, r := range results {
			if r.Err != nil || r.Properties["traceparent"] != "trace of "+r.ID || len(r.Properties) != 2 {
				t.Errorf("%s: %v %v", r.ID, r.Err, r.Properties)
			}
			ids = append(ids, r.ID)
		}
		parts = append(parts, "("+strings.Join(ids, " ")+")")
	}
	return strings.Join(parts, " ")
}

func letterOf(id string, size int, grouped bool) *letter {
	body, _ := json.Marshal(strings.Repeat("x", size))
	return &letter{grouped: grouped, sent: make(chan struct{}), message: bus.Message{ID: id, Body: body, Properties: map[string]any{
		message.PropertyMessageType: message.TypeWorkerResult, message.PropertyWorkerID: "w", "traceparent": "trace of " + id,
	}}}
}

// letters are letters of results with these sizes. A negative size is of a job whose orchestrator
// reads no groups.
func letters(sizes ...int) (out []*letter) {
	for i, size := range sizes {
		out = append(out, letterOf(fmt.Sprint(i+1), max(size, -size), size > 0))
	}
	return out
}

func TestPackResults(t *testing.T) {
	t.Parallel()
	const large = message.Limit / 3
	numbers := func(from, to int) string {
		var all []string
		for i := from; i <= to; i++ {
			all = append(all, fmt.Sprint(i))
		}
		return "(" + strings.Join(all, " ") + ")"
	}
	for name, tt := range map[string]struct {
		of   []*letter
		want string
	}{
		"one":                             {letters(9), "1"},
		"two":                             {letters(9, 9), "(1 2)"},
		"an orchestrator without groups":  {letters(-9, -9, -9), "1 2 3"},
		"an upgrade":                      {letters(9, -9, 9, -9), "2 4 (1 3)"},
		"one of several can be grouped":   {letters(-9, 9, -9), "1 3 2"},
		"as many as a group may have":     {letters(slices.Repeat([]int{9}, message.MaxResults)...), numbers(1, message.MaxResults)},
		"one more":                        {letters(slices.Repeat([]int{9}, message.MaxResults+1)...), numbers(1, message.MaxResults) + " " + fmt.Sprint(message.MaxResults+1)},
		"two groups":                      {letters(slices.Repeat([]int{9}, message.MaxResults+2)...), numbers(1, message.MaxResults) + " " + numbers(message.MaxResults+1, message.MaxResults+2)},
		"large results":                   {letters(large, large, large, large, 9), "(1 2) (3 4 5)"},
		"a result that fits only alone":   {letters(9, message.Limit-10, 9, 9), "1 2 (3 4)"},
		"only results that fit alone":     {letters(message.Limit-10, message.Limit-10), "1 2"},
		"a result behind those that fill": {letters(large, large, message.Limit-10), "(1 2) 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &outbox{workerID: "w"}
			first := o.pack(tt.of)
			if got := describe(t, first); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			for i, m := range o.pack(tt.of) {
				if m.ID != first[i].ID || string(m.Body) != string(first[i].Body) {
					t.Errorf("message %d is another each time: %s, %s", i, m.ID, first[i].ID)
				}
			}
		})
	}
}

// started is an outbox in a bubble of synctest.
func started(t *testing.T, b *broker, linger time.Duration, running int) (o *outbox, send func(l *letter) <-chan error) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	o = &outbox{
		sender: b, workerID: "w", linger: linger, running: func() int { return running }, log: slog.New(slog.DiscardHandler),
		delays:  func() backoff.BackOff { return backoff.NewConstantBackOff(time.Second) },
		waiting: make(chan *letter, maxBatch), stopped: make(chan struct{}),
	}
	o.start(ctx)
	t.Cleanup(func() {
		stop()
		o.wait()
	})
	return o, func(l *letter) <-chan error {
		sent := make(chan error, 1)
		go func() { sent <- o.send(ctx, l.message, l.grouped) }()
		synctest.Wait() // so that letters come in the order of the test
		return sent
	}
}

func TestResultsLinger(t *testing.T) {
	t.Parallel()
	const linger = 20 * time.Millisecond
	for name, tt := range map[string]struct {
		linger  time.Duration
		running int
		sizes   []int
		every   time.Duration // between results
		want    []string
		at      []time.Duration
	}{
		"without linger":                  {0, 9, []int{9, 9}, 5 * time.Millisecond, []string{"1", "2"}, []time.Duration{0, 5 * time.Millisecond}},
		"until the time is over":          {linger, 9, []int{9, 9, 9}, 8 * time.Millisecond, []string{"(1 2 3)"}, []time.Duration{linger}},
		"the next waits anew":             {linger, 9, []int{9, 9}, 25 * time.Millisecond, []string{"1", "2"}, []time.Duration{linger, 25*time.Millisecond + linger}},
		"not longer than other jobs run":  {linger, 2, []int{9, 9, 9}, 8 * time.Millisecond, []string{"(1 2)", "3"}, []time.Duration{8 * time.Millisecond, 16*time.Millisecond + linger}},
		"no other job runs":               {linger, 1, []int{9}, 0, []string{"1"}, []time.Duration{0}},
		"an orchestrator without groups":  {linger, 9, []int{-9, -9}, 5 * time.Millisecond, []string{"1", "2"}, []time.Duration{0, 5 * time.Millisecond}},
		"a full group waits for no other": {linger, 99, slices.Repeat([]int{9}, message.MaxResults), 0, nil, []time.Duration{0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := &broker{}
				_, send := started(t, b, tt.linger, tt.running)
				began := time.Now()
				for i, l := range letters(tt.sizes...) {
					if i > 0 {
						time.Sleep(tt.every)
					}
					send(l)
				}
				time.Sleep(time.Second)
				synctest.Wait()
				if got := b.requests(t); tt.want != nil && !slices.Equal(got, tt.want) || len(got) != len(tt.at) {
					t.Errorf("got %q, want %q", got, tt.want)
				}
				for i, at := range b.at {
					if got := at.Sub(began); got != tt.at[i] {
						t.Errorf("request %d after %s, want %s", i+1, got, tt.at[i])
					}
				}
			})
		})
	}
}

// What becomes ready while a request is under way leaves together, without a linger time. A failed
// request is repeated as it was, and no job is settled before it succeeds.
func TestResultsGatherWhileARequestIsUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := make(chan struct{})
		b := &broker{}
		b.send = func(n int) error {
			switch n {
			case 1:
				<-slow
			case 2, 3:
				return errors.New("not acknowledged")
			}
			return nil
		}
		_, send := started(t, b, 0, 9)
		var sent []<-chan error
		for _, l := range letters(9, 9, -9, 9) {
			sent = append(sent, send(l))
		}
		if got := b.requests(t); !slices.Equal(got, []string{"1"}) {
			t.Errorf("sent %q while the first request is under way", got)
		}
		close(slow)
		synctest.Wait()
		late := send(letterOf("5", 9, true)) // it waits for the request that is repeated
		for i, s := range sent {
			if got := len(s); got != map[bool]int{true: 1}[i == 0] {
				t.Errorf("result %d: %d", i+1, got)
			}
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got, want := b.requests(t), []string{"1", "3 (2 4)", "3 (2 4)", "3 (2 4)", "5"}; !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		for i := range b.sent[1] {
			if b.sent[1][i].ID != b.sent[3][i].ID {
				t.Errorf("repeated as %s, before %s", b.sent[3][i].ID, b.sent[1][i].ID)
			}
		}
		for _, s := range append(sent, late) {
			if err := <-s; err != nil {
				t.Error(err)
			}
		}
	})
}
