package heartbeat_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/worker/heartbeat"
)

const patience = 10 * time.Second

// broker passes messages on, or is unavailable.
type broker struct {
	came chan bus.Message
	away atomic.Bool
}

func (b *broker) Send(ctx context.Context, _ string, messages ...bus.Message) error {
	if b.away.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	b.came <- messages[0]
	return nil
}

func (b *broker) next(t *testing.T) (message.Heartbeat, bus.Message) {
	t.Helper()
	select {
	case m := <-b.came:
		var h message.Heartbeat
		if err := json.Unmarshal(m.Body, &h); err != nil {
			t.Fatal(err)
		}
		return h, m
	case <-time.After(patience):
		t.Fatal("no heartbeat came")
		panic("unreachable")
	}
}

func run(t *testing.T, r *heartbeat.Reporter) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Run(ctx)
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return stop
}

func TestHeartbeatTellsTheState(t *testing.T) {
	t.Parallel()
	at := time.Now().Truncate(time.Second).In(time.FixedZone("", 3600))
	jobs := make([]string, message.MaxHeartbeatJobs+7)
	for i := range jobs {
		jobs[i] = fmt.Sprint("job-", i)
	}
	b := &broker{came: make(chan bus.Message, 10)}
	changed := make(chan struct{}, 1)
	r := heartbeat.New(heartbeat.Config{
		WorkerID: "worker-01", Version: "v1", MaxParallelism: 8, To: b, Changed: changed, Interval: time.Hour,
		State: func() heartbeat.State {
			return heartbeat.State{
				Jobs: jobs, Oldest: at.Add(-time.Minute), TakenThrough: at.Add(-time.Second), Ended: 1250,
				ThrottledUntil: at.Add(time.Hour), CredentialExpiresAt: at.Add(24 * time.Hour),
			}
		},
	})
	stop := run(t, r)
	h, m := b.next(t)
	if h.WorkerID != "worker-01" || h.Version != "v1" || h.MaxParallelism != 8 || len(h.ReplicaID) < 20 || h.Stopping ||
		h.InFlight != len(jobs) || h.JobsEnded != 1250 || !reflect.DeepEqual(h.JobsInFlight, jobs[:message.MaxHeartbeatJobs]) {
		t.Errorf("got %+v", h)
	}
	for what, times := range map[string][2]any{
		"OldestJobAt": {h.OldestJobAt, at.Add(-time.Minute)}, "TakenThrough": {h.TakenThrough, at.Add(-time.Second)},
		"ThrottledUntil": {h.ThrottledUntil, at.Add(time.Hour)}, "CredentialExpiresAt": {h.CredentialExpiresAt, at.Add(24 * time.Hour)},
	} {
		if got := times[0].(*time.Time); got == nil || !got.Equal(times[1].(time.Time)) || got.Location() != time.UTC {
			t.Errorf("%s is %v, want %v", what, got, times[1])
		}
	}
	if age := time.Since(h.Timestamp); age < 0 || age > time.Minute || h.StartedAt.After(h.Timestamp) {
		t.Errorf("times %s, %s", h.StartedAt, h.Timestamp)
	}
	if m.ID != h.ID() || !reflect.DeepEqual(m.Properties, map[string]any{
		message.PropertyMessageType: message.TypeWorkerHeartbeat, message.PropertyWorkerID: "worker-01",
	}) {
		t.Errorf("message %s with %v", m.ID, m.Properties)
	}
	changed <- struct{}{}
	if second, _ := b.next(t); second.ReplicaID != h.ReplicaID || !second.Timestamp.After(h.Timestamp) {
		t.Errorf("then came %+v", second)
	}
	stop()
	r.Stop(patience)
	if last, _ := b.next(t); !last.Stopping || last.ReplicaID != h.ReplicaID {
		t.Errorf("at last came %+v", last)
	}
}

func TestHeartbeatsComeRegularly(t *testing.T) {
	t.Parallel()
	b := &broker{came: make(chan bus.Message, 10)}
	r := heartbeat.New(heartbeat.Config{
		WorkerID: "w", To: b, Interval: time.Millisecond,
		// Past throttling is not reported.
		State: func() heartbeat.State { return heartbeat.State{ThrottledUntil: time.Now().Add(-time.Second)} },
	})
	run(t, r)
	for range 5 {
		h, m := b.next(t)
		if h.ThrottledUntil != nil || h.OldestJobAt != nil || h.TakenThrough != nil || h.CredentialExpiresAt != nil || h.InFlight != 0 {
			t.Fatalf("got %s", m.Body)
		}
	}
}

// A broker that is away does not hold up the end, and two processes are two replicas.
func TestABrokerThatIsAwayDoesNotHoldUpTheEnd(t *testing.T) {
	t.Parallel()
	b := &broker{came: make(chan bus.Message, 10)}
	b.away.Store(true)
	said := &strings.Builder{}
	r := heartbeat.New(heartbeat.Config{
		WorkerID: "w", To: b, State: func() heartbeat.State { return heartbeat.State{} }, Log: slog.New(slog.NewTextHandler(said, nil)),
	})
	stop := run(t, r)
	stop()
	began := time.Now()
	r.Stop(50 * time.Millisecond)
	if took := time.Since(began); took > patience/2 {
		t.Errorf("it took %s", took)
	}
	if !strings.Contains(said.String(), "cannot send a heartbeat") || !strings.Contains(said.String(), context.DeadlineExceeded.Error()) {
		t.Errorf("the log says %s", said)
	}
	b.away.Store(false)
	r.Stop(patience)
	first, _ := b.next(t)
	other := heartbeat.New(heartbeat.Config{WorkerID: "w", To: b, State: func() heartbeat.State { return heartbeat.State{} }})
	other.Stop(patience)
	if second, _ := b.next(t); second.ReplicaID == first.ReplicaID {
		t.Errorf("two replicas are both %s", first.ReplicaID)
	}
}

var errRefused = errors.New("refused")

// A heartbeat that is refused is logged once, until one is sent again.
func TestHeartbeatsThatAreRefusedAreLoggedOnce(t *testing.T) {
	t.Parallel()
	said := make(lines, 100)
	b := &refusing{refusals: 5, sent: make(chan struct{}, 100)}
	run(t, heartbeat.New(heartbeat.Config{
		WorkerID: "w", To: b, Interval: time.Millisecond,
		State: func() heartbeat.State { return heartbeat.State{} }, Log: slog.New(slog.NewTextHandler(said, nil)),
	}))
	for _, want := range []string{"cannot send", "again"} {
		select {
		case line := <-said:
			if !strings.Contains(line, want) {
				t.Errorf("the log says %s, want %q", line, want)
			}
		case <-time.After(patience):
			t.Fatalf("the log does not say %q", want)
		}
	}
}

type refusing struct {
	refusals int
	sent     chan struct{}
}

func (r *refusing) Send(context.Context, string, ...bus.Message) error {
	if r.refusals--; r.refusals >= 0 {
		return errRefused
	}
	return nil
}

// lines receives a log, line by line.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}
