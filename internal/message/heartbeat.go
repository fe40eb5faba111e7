package message

import (
	"fmt"
	"time"
)

// HeartbeatInterval is how often each replica of a worker sends a Heartbeat.
const HeartbeatInterval = 30 * time.Second

// Heartbeat is one replica's report of its state. It is sent to TopicWorkerResults
// with PropertyMessageType TypeWorkerHeartbeat when the replica starts, every
// HeartbeatInterval, when its throttling begins or ends, and once with Stopping when it
// ends by itself or is told to.
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
	OldestJobAt  *time.Time `json:"OldestJobAt,omitempty"` // when the oldest of them was taken
	// TakenThrough is the latest Job.DispatchedAt among the jobs that the replica has
	// taken: a job that was dispatched later still waits in the queue, unless another
	// replica has it.
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
