package store

import (
	"context"
	"time"

	"github.com/matoolkit/matoolkit/internal/signature"
)

// Workers are the named reads of worker records, which are all in one partition. Each is one
// query within it, which costs about 3 RU and 1 RU for every 5 records that it returns. All fail
// with ErrUnavailable.
type Workers interface {
	// AllWorkers returns the records of all workers, by id.
	AllWorkers(ctx context.Context) ([]Item[WorkerRecord], error)

	// WorkerAnnouncements returns a projection of the records of all workers, in any order.
	WorkerAnnouncements(ctx context.Context) ([]WorkerAnnouncement, error)
}

// WorkerAnnouncement is the part of a worker record that names the worker and its catalog.
type WorkerAnnouncement struct {
	ID      string            `json:"id"`
	Catalog *AnnouncedCatalog `json:"catalog"` // nil: the worker has not announced itself
}

// WorkerRecord holds the state of a worker: the latest announcement, the latest answer and the
// latest heartbeat of each replica. Times are by the handler's clock unless a comment says
// otherwise.
type WorkerRecord struct {
	ID      string            `json:"id"`
	Catalog *AnnouncedCatalog `json:"catalog,omitempty"`
	// AnsweredAt is the time that the latest answer has, to within half a minute, and SentAt
	// when the job that it answers was dispatched. AnsweredAt is by the worker's clock, but never
	// later than when the answer was processed.
	AnsweredAt time.Time       `json:"answeredAt,omitzero"`
	SentAt     time.Time       `json:"sentAt,omitzero"`
	Replicas   []ReplicaRecord `json:"replicas,omitempty"`
	// Taken says how far the replicas had taken jobs at several times, oldest first.
	Taken []TakenRecord `json:"taken,omitempty"`
}

// TakenRecord says that a replica had taken a job that was dispatched at Through.
type TakenRecord struct {
	Through time.Time `json:"through"`
	SeenAt  time.Time `json:"seenAt"`
}

// AnnouncedCatalog is an announcement without its functions, which are in a Catalog.
type AnnouncedCatalog struct {
	Version       string    `json:"version,omitempty"`
	StartedAt     time.Time `json:"startedAt"` // by the worker's clock
	SeenAt        time.Time `json:"seenAt"`
	FunctionCount int       `json:"functionCount"`
}

// ReplicaRecord is the latest heartbeat of one replica. A replica that ended is kept for a
// while, so that its late heartbeats change nothing.
type ReplicaRecord struct {
	ID                  string      `json:"id"`
	Version             string      `json:"version,omitempty"`
	StartedAt           time.Time   `json:"startedAt"`  // by the worker's clock, as the next
	ReportedAt          time.Time   `json:"reportedAt"` // of two heartbeats the later one counts
	SeenAt              time.Time   `json:"seenAt"`
	IdleSince           *time.Time  `json:"idleSince,omitempty"` // when it first reported no job and no throttling
	MaxParallelism      int         `json:"maxParallelism"`
	Jobs                []JobRecord `json:"jobs,omitempty"`
	InFlight            int         `json:"inFlight"`
	OldestJobAt         *time.Time  `json:"oldestJobAt,omitempty"`
	ThrottledUntil      *time.Time  `json:"throttledUntil,omitempty"`
	CredentialExpiresAt *time.Time  `json:"credentialExpiresAt,omitempty"`
	Stopped             bool        `json:"stopped,omitempty"` // it reported its end
	Ended               int         `json:"ended,omitempty"`   // jobs that have ended since StartedAt
	// EndedBefore jobs had ended by EndedBeforeAt, the time of an earlier heartbeat; nil: there was none.
	EndedBefore   int        `json:"endedBefore,omitempty"`
	EndedBeforeAt *time.Time `json:"endedBeforeAt,omitempty"`
}

// JobRecord is a job that a replica runs.
type JobRecord struct {
	ID    string    `json:"id"`    // message.Job.ID
	Since time.Time `json:"since"` // when it began, to within message.HeartbeatInterval
}

// Catalog is the functions that a worker announced.
type Catalog struct {
	Functions []signature.Function `json:"functions"`
}
