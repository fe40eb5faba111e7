// Package heartbeat reports a replica's state to the orchestrator: when it starts, every
// 30 seconds, when its throttling begins or ends, and once when it stops. The message is
// message.Heartbeat; it holds no secrets and no personal data.
//
// Nothing waits for a heartbeat, and one that cannot be sent is not sent again: the next
// one says more.
package heartbeat

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
)

// Config of a Reporter. WorkerID, To and State are required.
type Config struct {
	WorkerID, Version string
	MaxParallelism    int
	To                Sender
	State             func() State    // called for each heartbeat
	Changed           <-chan struct{} // a token for each change that is worth a heartbeat of its own
	Interval          time.Duration   // 0 means message.HeartbeatInterval
	Log               *slog.Logger    // nil means slog.Default()
}

// Sender is the part of bus.Sender that heartbeats take.
type Sender interface {
	Send(ctx context.Context, topic string, messages ...bus.Message) error
}

// State is the state of a replica in a heartbeat. Zero times are unknown or absent.
type State struct {
	Jobs                []string  // ids of the jobs in hand, oldest first
	Oldest              time.Time // when the first of them was taken
	TakenThrough        time.Time // see message.Heartbeat
	Ended               int       // jobs that have ended since the start
	ThrottledUntil      time.Time
	CredentialExpiresAt time.Time
}

// Reporter sends the heartbeats of one replica.
type Reporter struct {
	config  Config
	replica string
	started time.Time
	failing bool // whether the last heartbeat could not be sent; only send uses it
}

// New makes a Reporter of a replica that starts now.
func New(config Config) *Reporter {
	if config.Interval <= 0 {
		config.Interval = message.HeartbeatInterval
	}
	if config.Log == nil {
		config.Log = slog.Default()
	}
	return &Reporter{config: config, replica: rand.Text(), started: time.Now()}
}

// The intervals of heartbeats. Changes within the interval apart share a heartbeat.
const (
	sendTimeout = 10 * time.Second
	apart       = time.Second
)

// Run sends heartbeats until ctx ends. Then Stop sends the last one.
func (r *Reporter) Run(ctx context.Context) {
	next := time.NewTimer(0)
	defer next.Stop()
	var last time.Time
	for {
		select {
		case <-next.C:
			last = time.Now()
			r.send(ctx, sendTimeout, false)
			next.Reset(r.config.Interval)
		case <-r.config.Changed:
			next.Reset(max(apart-time.Since(last), 0))
		case <-ctx.Done():
			return
		}
	}
}

// Stop says that the replica ends. It takes no longer than limit, whether the broker is
// there or not, and is called after Run has returned.
func (r *Reporter) Stop(limit time.Duration) { r.send(context.Background(), limit, true) }

func (r *Reporter) send(running context.Context, limit time.Duration, stopping bool) {
	ctx, cancel := context.WithTimeout(running, limit)
	defer cancel()
	h := r.heartbeat(time.Now(), stopping)
	body, err := json.Marshal(h)
	if err == nil {
		err = r.config.To.Send(ctx, message.TopicWorkerResults, bus.Message{
			ID: h.ID(), Body: body,
			Properties: map[string]any{message.PropertyMessageType: message.TypeWorkerHeartbeat, message.PropertyWorkerID: h.WorkerID},
		})
	}
	switch {
	case err != nil && running.Err() != nil:
		return // it was interrupted, and Stop says more
	case err == nil && r.failing:
		r.config.Log.Info("sending heartbeats again")
	case err != nil && !r.failing:
		r.config.Log.Warn("cannot send a heartbeat", logkey.Error, err, logkey.Stopping, stopping)
	}
	r.failing = err != nil
}

// heartbeat builds the heartbeat message of the state at a time.
func (r *Reporter) heartbeat(now time.Time, stopping bool) message.Heartbeat {
	s := r.config.State()
	h := message.Heartbeat{
		WorkerID: r.config.WorkerID, ReplicaID: r.replica, Version: r.config.Version,
		StartedAt: r.started.UTC(), Timestamp: now.UTC(), MaxParallelism: r.config.MaxParallelism,
		JobsInFlight: s.Jobs[:min(len(s.Jobs), message.MaxHeartbeatJobs)], InFlight: len(s.Jobs), JobsEnded: s.Ended, OldestJobAt: utc(s.Oldest),
		TakenThrough: utc(s.TakenThrough), CredentialExpiresAt: utc(s.CredentialExpiresAt), Stopping: stopping,
	}
	if s.ThrottledUntil.After(now) {
		h.ThrottledUntil = utc(s.ThrottledUntil)
	}
	return h
}

func utc(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
