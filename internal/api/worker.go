package api

import "time"

// Worker is a worker that announced itself, sent a heartbeat or answered a job, or that was
// never seen and has jobs that wait for it. Functions are left out in lists.
type Worker struct {
	ID            string      `json:"id"`
	State         WorkerState `json:"state"`
	Version       string      `json:"version,omitempty"`
	StartedAt     *time.Time  `json:"startedAt,omitempty"` // when it announced itself, by its own clock
	SeenAt        *time.Time  `json:"seenAt,omitempty"`    // when the announcement was processed; nil: it did not announce itself
	FunctionCount int         `json:"functionCount"`
	Functions     []Function  `json:"functions,omitempty"`

	LastSeenAt          *time.Time `json:"lastSeenAt,omitempty"` // the latest heartbeat or answer; nil: there was none
	JobsQueued          int        `json:"jobsQueued"`           // dispatched and not known to have started
	JobsInFlight        int        `json:"jobsInFlight"`
	JobsPerMinute       float64    `json:"jobsPerMinute,omitempty"`  // that ended of late, in the replicas that are alive
	OldestQueuedAt      *time.Time `json:"oldestQueuedAt,omitempty"` // when the oldest job without a result was dispatched
	OldestJobAt         *time.Time `json:"oldestJobAt,omitempty"`    // when the oldest of the jobs in flight began
	ThrottledUntil      *time.Time `json:"throttledUntil,omitempty"`
	CredentialExpiresAt *time.Time `json:"credentialExpiresAt,omitempty"`
	Problem             string     `json:"problem,omitempty"` // what is wrong with its subscription; left out in lists
	Replicas            []Replica  `json:"replicas,omitempty"`
}

// Replica is a replica of a worker that sends heartbeats.
type Replica struct {
	ID                  string     `json:"id"`
	Version             string     `json:"version,omitempty"`
	State               string     `json:"state"` // alive, stopped: it said goodbye, or silent: no heartbeat for two minutes
	StartedAt           time.Time  `json:"startedAt"`
	LastSeenAt          time.Time  `json:"lastSeenAt"`
	MaxParallelism      int        `json:"maxParallelism"`
	JobsInFlight        int        `json:"jobsInFlight"`
	OldestJobAt         *time.Time `json:"oldestJobAt,omitempty"`
	ThrottledUntil      *time.Time `json:"throttledUntil,omitempty"`
	CredentialExpiresAt *time.Time `json:"credentialExpiresAt,omitempty"`
}

// WorkerState is the state of a worker at one moment. Every worker is in exactly one of
// the four states, by the first of these rules that applies:
//
//   - alive: a replica that did not say goodbye reported within two minutes; or the worker
//     answered a job within two minutes and sends no heartbeats.
//   - scaled to zero: no job waits for the worker; or jobs wait and it may still be
//     starting. It may be starting if it was away when the oldest of them was dispatched
//     (the last replica said goodbye, or the worker sent nothing within two minutes
//     before), until the start-up time has passed since that dispatch or goodbye.
//   - silent: jobs wait, the worker sends no heartbeats, and it was there when the oldest
//     of them was dispatched. It may be busy with one long job, throttled or killed.
//   - gone: jobs wait, and the worker ended without a goodbye or did not start in time.
//
// A job waits from its dispatch until its result is processed.
type WorkerState string

// The states of a worker.
const (
	WorkerAlive        WorkerState = "alive"
	WorkerScaledToZero WorkerState = "scaled_to_zero"
	WorkerSilent       WorkerState = "silent"
	WorkerGone         WorkerState = "gone"
)

// WorkerStates are all states of a worker.
var WorkerStates = []WorkerState{WorkerAlive, WorkerScaledToZero, WorkerSilent, WorkerGone}

// Function is one of a worker's functions, with its parameters and the fields of its
// answer. Names are case-insensitive.
type Function struct {
	Name        string      `json:"name"`
	Description string      `json:"description,omitempty"`
	Params      []Parameter `json:"params"`
	Result      []Field     `json:"result,omitempty"` // empty: the answer is true
	Permissions []string    `json:"permissions,omitempty"`
	// TimeoutSeconds is how long one call may take; 0 means unknown.
	TimeoutSeconds int `json:"timeoutSeconds,omitempty"`
	// ReadOnly: the worker declares that the function changes nothing.
	ReadOnly bool `json:"readOnly,omitempty"`
}

// Parameter is one parameter of a Function. Type is string, boolean, guid, email,
// domain, string list, or words with | between them; values of any other type are not checked.
type Parameter struct {
	Name        string `json:"name"`
	Type        string `json:"type,omitempty"`
	Required    bool   `json:"required"`
	Description string `json:"description,omitempty"`
	Secret      bool   `json:"secret,omitempty"` // its value is stored encrypted and never shown
}

// Field is a field of the object that a Function answers.
type Field struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}
