package api

import "time"

// Routing is how the requests of a pipeline divide between another orchestrator, the old one, and this
// program, the new one.
type Routing struct {
	Pipeline          string         `json:"pipeline"`
	Shadow            bool           `json:"shadow"` // the old orchestrator starts a shadow of each of its requests
	ShadowSince       *time.Time     `json:"shadowSince,omitempty"`
	FingerprintOutput string         `json:"fingerprintOutput"` // the output of a result that is compared
	Percent           int            `json:"percent"`           // of the owners whose requests this program serves
	ShareSince        *time.Time     `json:"shareSince,omitempty"`
	Return            ShareRule      `json:"return"`
	Recent            *ShareRequests `json:"recent,omitempty"` // the requests that the rule counts; absent at 0 percent
	Changed           *Attribution   `json:"changed,omitempty"`
	Returned          *ShareReturn   `json:"returned,omitempty"` // the share went back to 0, and no administrator has set it since
	ETag              string         `json:"-"`
}

// ShareRule says when the share of a pipeline returns to 0 by itself.
type ShareRule struct {
	MaxErrorPercent int `json:"maxErrorPercent"`
	MinRequests     int `json:"minRequests"`
	WindowMinutes   int `json:"windowMinutes"`
	OverdueSeconds  int `json:"overdueSeconds"`
}

// ShareRequests counts requests that have ended or are overdue.
type ShareRequests struct {
	Requests int `json:"requests"`
	Failed   int `json:"failed"`
}

// ShareReturn is a return of a share to 0.
type ShareReturn struct {
	At       time.Time `json:"at"`
	Percent  int       `json:"percent"` // that it had
	Requests int       `json:"requests"`
	Failed   int       `json:"failed"`
	Reason   string    `json:"reason"`
}

// RoutingRequest changes the routing of a pipeline. Absent fields stay.
type RoutingRequest struct {
	ReasonRequest
	Shadow            *bool   `json:"shadow,omitempty"`
	FingerprintOutput *string `json:"fingerprintOutput,omitempty"`
	Percent           *int    `json:"percent,omitempty"`
	MaxErrorPercent   *int    `json:"maxErrorPercent,omitempty"`
	MinRequests       *int    `json:"minRequests,omitempty"`
	WindowMinutes     *int    `json:"windowMinutes,omitempty"`
	OverdueSeconds    *int    `json:"overdueSeconds,omitempty"`
}

// The orchestrators of a route.
const (
	OrchestratorOld = "old"
	OrchestratorNew = "new"
)

// PipelineRoute says which orchestrator serves the requests of an owner.
type PipelineRoute struct {
	Pipeline     string `json:"pipeline"`
	Owner        string `json:"owner"`
	Orchestrator string `json:"orchestrator"` // old or new
	Shadow       bool   `json:"shadow"`       // with old: start a shadow, too
	Bucket       int    `json:"bucket"`       // of the owner, 0 to 99; new serves those below Percent
	Percent      int    `json:"percent"`
}

// The outcomes of a comparison. In the last three the request failed.
const (
	ComparisonPending    = "pending"   // the shadow has not ended
	ComparisonCancelled  = "cancelled" // the shadow was cancelled: nothing is compared, and it is in no count
	ComparisonSame       = "same"
	ComparisonDifferent  = "different"
	ComparisonOldFailed  = "old_failed"
	ComparisonNewFailed  = "new_failed"
	ComparisonBothFailed = "both_failed"
)

// ComparisonRequest reports how the old orchestrator served the request of a shadow: with a result that
// has a fingerprint, or with an error.
type ComparisonRequest struct {
	Fingerprint  string `json:"fingerprint,omitempty"`
	Milliseconds int64  `json:"milliseconds"`
	Error        string `json:"error,omitempty"`
}

// Comparison is a shadow beside the request of the old orchestrator.
type Comparison struct {
	ID         int            `json:"batchId"`
	Pipeline   string         `json:"pipeline"`
	Owner      string         `json:"owner"`
	Outcome    string         `json:"outcome"`
	Reason     string         `json:"reason,omitempty"`
	Old        ComparisonSide `json:"old"`
	New        ComparisonSide `json:"new"`
	ReportedAt time.Time      `json:"reportedAt"`
	ReportedBy string         `json:"reportedBy"`
}

// ComparisonSide is how one of the two orchestrators served a request.
type ComparisonSide struct {
	Fingerprint  string `json:"fingerprint,omitempty"`
	Milliseconds int64  `json:"milliseconds"`
	Error        string `json:"error,omitempty"`
}

// Comparisons counts the comparisons of a pipeline since its shadow mode was turned on.
type Comparisons struct {
	Pipeline   string       `json:"pipeline"`
	Since      *time.Time   `json:"since,omitempty"`
	Same       int          `json:"same"`
	Different  int          `json:"different"`
	OldFailed  int          `json:"oldFailed"`
	NewFailed  int          `json:"newFailed"`
	BothFailed int          `json:"bothFailed"`
	Pending    int          `json:"pending"`
	Old        Latency      `json:"old"`
	New        Latency      `json:"new"`
	Differing  []Comparison `json:"differing"` // the newest that are different or new_failed, at most 50
}

// Latency is how long requests took that succeeded on both sides.
type Latency struct {
	Requests            int   `json:"requests"`
	AverageMilliseconds int64 `json:"averageMilliseconds"`
	MaxMilliseconds     int64 `json:"maxMilliseconds"`
}
