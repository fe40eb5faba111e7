package message

import (
	"fmt"
	"regexp"
	"time"
)

// HeartbeatInterval is how often each replica of a worker sends a Heartbeat.
const HeartbeatInterval = 30 * time.Second

// Heartbeat is one replica's report of its state. It is sent to TopicWorkerResults
// with PropertyMessageType TypeWorkerHeartbeat when the replica starts, every
// HeartbeatInterval, when its throttling begins or ends, and once with Stopping when it
// ends.
type Heartbeat struct {
	WorkerID       string    `json:"WorkerId"`
	ReplicaID      string    `json:"ReplicaId"` // random, one for each process
	Version        string    `json:"Version,omitempty"`
	StartedAt      time.Time `json:"StartedAt"` // UTC, as all times here
	Timestamp      time.Time `json:"Timestamp"`
	MaxParallelism int       `json:"MaxParallelism"`
	// JobsInFlight are the ids (Job.ID) of the jobs that the replica has in hand, oldest
	// first, at most MaxHeartbeatJobs of them; InFlight counts them all. Most of them run.
	// While revoked jobs are sorted out a few of the others may wait for their turn here;
	// what does not get it within half a minute is given back to the queue.
	JobsInFlight []string   `json:"JobsInFlight,omitempty"`
	InFlight     int        `json:"InFlight"`
	JobsEnded    int        `json:"JobsEnded,omitempty"`   // since StartedAt; two heartbeats give the rate
	OldestJobAt  *time.Time `json:"OldestJobAt,omitempty"` // when the oldest of them was taken
	// TakenThrough is the latest Job.DispatchedAt among the jobs that had their turn at the
	// replica. It does not count jobs that were only taken to sort out revoked ones, because
	// these may go back to the queue.
	TakenThrough        *time.Time `json:"TakenThrough,omitempty"`
	ThrottledUntil      *time.Time `json:"ThrottledUntil,omitempty"`      // the tenant takes no call before then
	CredentialExpiresAt *time.Time `json:"CredentialExpiresAt,omitempty"` // of what the worker signs in with
	Stopping            bool       `json:"Stopping,omitempty"`            // the last one of this replica
}

// MaxHeartbeatJobs bounds Heartbeat.JobsInFlight.
const MaxHeartbeatJobs = 500

// ID is the heartbeat's Service Bus message id.
func (h Heartbeat) ID() string {
	return fmt.Sprintf("heartbeat-%s-%s-%d", h.WorkerID, h.ReplicaID, h.Timestamp.UnixMilli())
}

// ClockSlack is how far a worker's clock can be ahead of the broker's before the
// orchestrator uses the broker's time, which can be whole seconds.
const ClockSlack = 5 * time.Minute

// The limits of a heartbeat.
const (
	maxVersion = 100
	maxJobID   = 100 // a NotificationJobID with the longest name of a rule
	// maxThrottling is how long a tenant can ask a worker to wait. A longer time is a
	// mistake, which must not keep jobs from failing.
	maxThrottling = 7 * 24 * time.Hour
)

var replicaID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)

// Check returns an error if the orchestrator cannot use the heartbeat at a time.
func (h Heartbeat) Check(now time.Time) error {
	switch {
	case !ValidWorkerID(h.WorkerID):
		return fmt.Errorf("invalid WorkerId %.100q: use letters, digits, '-', '_' or '.', at most 43", h.WorkerID)
	case !replicaID.MatchString(h.ReplicaID):
		return fmt.Errorf("invalid ReplicaId %.100q: use letters, digits, '-', '_' or '.', at most 100", h.ReplicaID)
	case len(h.Version) > maxVersion:
		return fmt.Errorf("the heartbeat's Version has %d bytes; at most %d are allowed", len(h.Version), maxVersion)
	case h.MaxParallelism < 0 || h.JobsEnded < 0 || h.InFlight < len(h.JobsInFlight):
		return fmt.Errorf("the heartbeat has MaxParallelism %d, JobsEnded %d, InFlight %d and %d jobs in JobsInFlight", h.MaxParallelism, h.JobsEnded, h.InFlight, len(h.JobsInFlight))
	case len(h.JobsInFlight) > MaxHeartbeatJobs:
		return fmt.Errorf("the heartbeat lists %d jobs; at most %d are allowed", len(h.JobsInFlight), MaxHeartbeatJobs)
	}
	for i, id := range h.JobsInFlight {
		if id == "" || len(id) > maxJobID {
			return fmt.Errorf("JobsInFlight[%d] has %d bytes; a job id has 1 to %d", i, len(id), maxJobID)
		}
	}
	return h.checkTimes(now)
}

func (h Heartbeat) checkTimes(now time.Time) error {
	for _, at := range []struct {
		field  string
		value  *time.Time
		latest time.Time // zero: any
	}{
		{"StartedAt", &h.StartedAt, h.Timestamp.Add(ClockSlack)},
		{"Timestamp", &h.Timestamp, time.Time{}},
		{"OldestJobAt", h.OldestJobAt, h.Timestamp.Add(ClockSlack)},
		{"TakenThrough", h.TakenThrough, now.Add(ClockSlack)}, // by the orchestrator's clock
		{"ThrottledUntil", h.ThrottledUntil, h.Timestamp.Add(maxThrottling)},
		{"CredentialExpiresAt", h.CredentialExpiresAt, time.Time{}},
	} {
		switch {
		case at.value == nil:
		case at.value.Year() < 2000 || at.value.Year() > 9999:
			return fmt.Errorf("the heartbeat's %s is %s, or missing", at.field, at.value.UTC().Format(time.RFC3339))
		case !at.latest.IsZero() && at.value.After(at.latest):
			return fmt.Errorf("the heartbeat's %s is %s; it can be %s at the latest", at.field, at.value.UTC().Format(time.RFC3339), at.latest.UTC().Format(time.RFC3339))
		}
	}
	return nil
}
