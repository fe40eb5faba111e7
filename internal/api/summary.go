package api

import "time"

// Summary is the state of all batches that have not ended: what waits for a person, what runs, and the
// phases of the next seven days.
type Summary struct {
	At             time.Time       `json:"at"`
	Attention      []Attention     `json:"attention"`
	Running        []RunningPhase  `json:"running"`
	RunningBatches int             `json:"runningBatches"`
	Upcoming       []UpcomingPhase `json:"upcoming"` // by the time at which they start
	UpcomingCount  int             `json:"upcomingCount"`
}

// The limits of a Summary, which has the first of each list.
const (
	MaxUpcoming = 500
	MaxRunning  = 100
)

// Attention is something that waits for a person. It has no names of members and no error of a tenant.
type Attention struct {
	Event     string     `json:"event"` // one of NotificationEvents
	Subject   string     `json:"subject"`
	Text      string     `json:"text"`
	BatchID   int        `json:"batchId,omitempty"`
	BatchName string     `json:"batchName,omitempty"`
	Runbook   string     `json:"runbook,omitempty"`
	Owner     string     `json:"owner,omitempty"`
	Phase     string     `json:"phase,omitempty"`
	WorkerID  string     `json:"workerId,omitempty"`
	Count     int        `json:"count,omitempty"` // of members, people, jobs or messages
	DueAt     *time.Time `json:"dueAt,omitempty"` // of a gate: when its phase is due
}

// RunningPhase is a phase that members are in, with counts of members and how many of them end in a
// minute, on average since the phase started.
type RunningPhase struct {
	BatchID       int            `json:"batchId"`
	BatchName     string         `json:"batchName,omitempty"`
	Runbook       string         `json:"runbook"`
	Owner         string         `json:"owner,omitempty"`
	PhaseID       int            `json:"phaseId"`
	Phase         string         `json:"phase"`
	DispatchedAt  *time.Time     `json:"dispatchedAt,omitempty"`
	Members       int            `json:"members"`
	Succeeded     int            `json:"succeeded"`
	Failed        int            `json:"failed"`
	Cancelled     int            `json:"cancelled"`
	Running       int            `json:"running"` // or about to start
	PerMinute     float64        `json:"perMinute"`
	WaitingReason *WaitingReason `json:"waitingReason,omitempty"` // of the batch
}

// UpcomingPhase is a phase that has not started.
type UpcomingPhase struct {
	BatchID   int          `json:"batchId"`
	BatchName string       `json:"batchName,omitempty"`
	Runbook   string       `json:"runbook"`
	Owner     string       `json:"owner,omitempty"`
	PhaseID   int          `json:"phaseId"`
	Phase     string       `json:"phase"`
	DueAt     time.Time    `json:"dueAt"`
	StartsAt  time.Time    `json:"startsAt"` // DueAt, or the end of the quiet hours that it lies in
	Members   int          `json:"members"`  // who would take part in it now
	Approval  bool         `json:"approvalRequired,omitempty"`
	Approved  *Attribution `json:"approved,omitempty"`
	Paused    *Attribution `json:"paused,omitempty"` // who paused the batch
	Reason    string       `json:"reason,omitempty"` // why it waits although it is due
}
