package api

import "time"

// SimulationRequest asks what would happen if the members of a CSV went through a runbook.
type SimulationRequest struct {
	YAML    string    `json:"yamlContent"`
	Members string    `json:"members"` // the text of the member CSV
	Start   time.Time `json:"start"`
	Approve bool      `json:"approve"` // phases that wait at a gate are approved at once
}

// MaxSimulatedMembers is how many members a simulation can have.
const MaxSimulatedMembers = 1000

// Simulation tells the outcome of a runbook and its members without carrying it out.
type Simulation struct {
	Runbook  string           `json:"runbook"`
	BeginAt  time.Time        `json:"beginAt"`
	EndAt    time.Time        `json:"endAt"`
	Complete bool             `json:"complete"` // all batches completed, and no member failed
	Batches  []SimulatedBatch `json:"batches"`  // the first 100

	BatchCount int `json:"batchCount"` // of all batches

	Functions []SimulatedFunction `json:"functions"`
	Events    []SimulatedEvent    `json:"events"` // the first 500
	Warnings  []string            `json:"warnings"`
	Remaining []string            `json:"remaining"` // what had not begun or ended at the end
}

// SimulatedBatch is how a batch would end.
type SimulatedBatch struct {
	ID        int              `json:"batchId"`
	Start     time.Time        `json:"batchStartTime"`
	Status    string           `json:"status"`
	Members   int              `json:"memberCount"`
	Succeeded int              `json:"succeeded"`
	Failed    []string         `json:"failedKeys"` // the first 100
	FailedAll int              `json:"failedCount,omitempty"`
	Phases    []SimulatedPhase `json:"phases"`
}

// SimulatedPhase is how a phase of a batch would go.
type SimulatedPhase struct {
	Name      string     `json:"phase"`
	Offset    string     `json:"offset,omitempty"` // empty: init
	Status    string     `json:"status"`
	Reason    string     `json:"reason,omitempty"`
	DueAt     *time.Time `json:"dueAt,omitempty"`
	StartedAt *time.Time `json:"startedAt,omitempty"`
	EndedAt   *time.Time `json:"endedAt,omitempty"`
	Seconds   int64      `json:"seconds,omitempty"`
	Late      int64      `json:"lateSeconds,omitempty"`
	Succeeded int        `json:"succeeded"`
	Failed    int        `json:"failed"`
	Cancelled int        `json:"cancelled"`
	Jobs      int        `json:"jobs"`
}

// SimulatedFunction is how often a function would be called. Retries and polls are among the jobs.
type SimulatedFunction struct {
	Name          string    `json:"functionName"`
	Jobs          int       `json:"jobs"`
	Retries       int       `json:"retries,omitempty"`
	Polls         int       `json:"polls,omitempty"`
	BusiestHour   int       `json:"busiestHourJobs"`
	BusiestHourAt time.Time `json:"busiestHourAt"`
}

// SimulatedEvent is one thing that would happen.
type SimulatedEvent struct {
	At      time.Time `json:"at"`
	BatchID int       `json:"batchId,omitempty"`
	Phase   string    `json:"phase,omitempty"`
	Kind    string    `json:"kind"`
	Text    string    `json:"text"`
}
