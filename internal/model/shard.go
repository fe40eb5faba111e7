package model

import (
	"time"
)

// Shard counts the runs of one page of a phase. It reports to its phase once, when
// Open reaches 0; a retried member withdraws the report.
type Shard struct {
	Phase     int        `json:"phaseId"`
	Page      int        `json:"page"`
	MadeAt    time.Time  `json:"madeAt"`
	Sent      bool       `json:"sent,omitempty"` // the jobs that its runs began with
	Runs      int        `json:"runs"`
	Yielded   int        `json:"yielded"`             // of the runs; see Run.Yielded
	YieldedAt *time.Time `json:"yieldedAt,omitempty"` // when the last of them did; nil: as the page was made
	Open      int        `json:"open"`
	Succeeded int        `json:"succeeded"`
	Failed    int        `json:"failed"`
	Cancelled int        `json:"cancelled"`
	Carried   int        `json:"carried,omitempty"` // members without a run, who had finished the phase in another batch
	Reported  bool       `json:"reported"`
}

// YieldsAt is how many of the page's runs have to have yielded for the page to have.
func (s *Shard) YieldsAt() int { return (s.Runs + 1) / 2 }

// HasYielded reports whether the fan-out may come to the page that waits for this one.
func (s *Shard) HasYielded() bool { return s.Yielded >= s.YieldsAt() }

// Count adds a run that ended, and had not yielded, to what its shard has counted.
func (s *Shard) Count(outcome RunStatus) {
	*s.Counter(outcome)++
	s.Yielded++
}

// Counter is the count of the runs that ended so.
func (s *Shard) Counter(outcome RunStatus) *int {
	switch outcome {
	case RunSucceeded:
		return &s.Succeeded
	case RunFailed:
		return &s.Failed
	}
	return &s.Cancelled
}
