package store

import (
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// Routing is how the requests of pipelines divide between another orchestrator, the old one, and this
// program. It is one document: pipelines that are moved over are few, and the tick reads all of them.
type Routing struct {
	Pipelines map[string]PipelineRouting `json:"pipelines"` // by the name of the runbook
}

// PipelineRouting is the routing of one pipeline. A pipeline without one is all at the old orchestrator.
type PipelineRouting struct {
	Revision int `json:"revision"` // counts the changes

	Shadow      bool       `json:"shadow,omitempty"`      // the old orchestrator starts a shadow of each of its requests
	ShadowSince *time.Time `json:"shadowSince,omitempty"` // when it was turned on last: later comparisons count
	Output      string     `json:"fingerprintOutput"`     // the output of a result that has its fingerprint

	Percent int             `json:"percent"`              // of the owners whose requests this program serves
	Since   *time.Time      `json:"shareSince,omitempty"` // when Percent left 0: later requests count
	Rule    ShareReturnRule `json:"return"`

	Changed  model.Attribution `json:"changed"`
	Returned *ShareReturn      `json:"returned,omitempty"` // the share went back to 0, and no administrator has set it since
}

// ShareReturnRule says when the share of a pipeline returns to 0 by itself.
type ShareReturnRule struct {
	MaxErrorPercent int `json:"maxErrorPercent"` // a higher share of failed requests returns it
	MinRequests     int `json:"minRequests"`     // fewer decide nothing
	WindowMinutes   int `json:"windowMinutes"`   // only requests of this time count
	OverdueSeconds  int `json:"overdueSeconds"`  // a request that takes longer has failed
}

// ShareReturn is a return of a share to 0.
type ShareReturn struct {
	At       time.Time `json:"at"`
	Percent  int       `json:"percent"` // that it had
	Requests int       `json:"requests"`
	Failed   int       `json:"failed"`
}

// Comparison is a shadow beside the request of the old orchestrator that it was started with.
type Comparison struct {
	Runbook string         `json:"runbook"`
	Batch   int            `json:"batchId"`
	Owner   string         `json:"owner"`
	Old     ComparisonSide `json:"old"`
	New     ComparisonSide `json:"new"` // empty until the batch has ended
	Outcome string         `json:"outcome"`
	Reason  string         `json:"reason,omitempty"`
	At      time.Time      `json:"at"` // of the report
	By      string         `json:"by"`
}

// ComparisonSide is how one of the two orchestrators answered.
type ComparisonSide struct {
	Fingerprint  string `json:"fingerprint,omitempty"`
	Milliseconds int64  `json:"milliseconds,omitempty"`
	Error        string `json:"error,omitempty"`
}

// Comparisons counts the comparisons of a pipeline since its shadow mode was turned on. Each of them is
// counted in the write that stores its outcome.
type Comparisons struct {
	Runbook   string         `json:"runbook"`
	Since     time.Time      `json:"since"`
	Counts    map[string]int `json:"counts"` // by outcome
	Old       Latency        `json:"old"`
	New       Latency        `json:"new"`
	Pending   []int          `json:"pending,omitempty"`   // batches whose report came before their end
	Differing []Comparison   `json:"differing,omitempty"` // the newest of which the new side is not as good as the old one, the newest first
}

// Latency sums up how long requests took that succeeded on both sides.
type Latency struct {
	Requests        int   `json:"requests"`
	Milliseconds    int64 `json:"milliseconds"`
	MaxMilliseconds int64 `json:"maxMilliseconds"`
}

// Add adds a request.
func (l *Latency) Add(milliseconds int64) {
	l.Requests++
	l.Milliseconds += milliseconds
	l.MaxMilliseconds = max(l.MaxMilliseconds, milliseconds)
}
