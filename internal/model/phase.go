package model

import (
	"time"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// PageSize is how many members one page holds: a run and a member's mark for
// each, and the page's shard, fit into one transactional batch of 100.
const PageSize = 49

// PageOf is the page, from 1, that a member is on in every phase.
func PageOf(member int) int { return (member-1)/PageSize + 1 }

// Phase is one execution of a phase, of the init sequence, of the call that lists the items, of the removal steps or of the
// detached steps of a phase, for a batch. An execution of detached steps is added when the phase
// has ended, so that it is never pending. Nothing in the batch waits for it.
//
// Its runs are counted in shards, one for each page of members. Shards tells how
// many there are once the phase has reached all pages (FannedOut); ShardsClosed and the
// counts beside it are the sums of the closed shards.
type Phase struct {
	ID             int          `json:"phaseId"` // counts from 1 within the batch
	Kind           PhaseKind    `json:"kind"`
	Name           string       `json:"name"`
	Version        int          `json:"version"` // of the runbook that made this execution
	OffsetMinutes  int          `json:"offsetMinutes"`
	DueAt          *time.Time   `json:"dueAt,omitempty"` // nil in a manual batch
	Status         PhaseStatus  `json:"status"`
	Reason         string       `json:"reason,omitempty"` // why it waits, was skipped or failed, where no member tells
	Approval       bool         `json:"approval,omitempty"`
	SecondApprover bool         `json:"secondApprover,omitempty"` // another person approves it than those who requested it
	Approved       *Attribution `json:"approved,omitempty"`       // passes both gates
	RequireSuccess float64      `json:"requireSuccess,omitempty"` // percent of the phase before; 0: no gate
	OnComplete     bool         `json:"onComplete,omitempty"`
	Rerun          bool         `json:"rerun,omitempty"` // members repeat it who had finished it in another batch

	StopWhen     *runbook.StopWhen `json:"stopWhen,omitempty"`
	FailedSoFar  int               `json:"failedSoFar,omitempty"`  // members whose run has failed, also on pages that have not ended; counted where there is a StopWhen
	FailedBefore int               `json:"failedBefore,omitempty"` // of them, those for whom the batch was paused and then resumed

	Detached      bool `json:"detached,omitempty"`        // it has detached steps
	DetachedPhase int  `json:"detachedPhaseId,omitempty"` // the execution of its detached steps; 0: not begun
	Of            int  `json:"ofPhaseId,omitempty"`       // of an execution of detached steps: the phase execution that they belong to

	OnCompleteStatus RunStatus  `json:"onCompleteStatus,omitempty"` // of the on_complete steps; empty: not begun
	OnCompleteSent   bool       `json:"onCompleteSent,omitempty"`   // the job that the on_complete steps began with
	Counts           *Counts    `json:"counts,omitempty"`           // what the on_complete steps are told
	DispatchedAt     *time.Time `json:"dispatchedAt,omitempty"`
	CompletedAt      *time.Time `json:"completedAt,omitempty"`
	FannedOut        bool       `json:"fannedOut"` // the fan-out has reached all pages; of init, of items and of detached steps, the first job is sent
	Shards           int        `json:"shards"`
	ShardsClosed     int        `json:"shardsClosed"`
	Open             int        `json:"open"` // removal only: runs that have not ended
	Succeeded        int        `json:"succeeded"`
	Failed           int        `json:"failed"`
	Cancelled        int        `json:"cancelled"`
	Carried          int        `json:"carried,omitempty"` // members who had finished it in another batch: they have no run
}

// SequenceUnsent reports whether the first job of an init sequence, of the call that lists the items, or of the on_complete or the
// detached steps of a phase, may not have been sent.
func (p *Phase) SequenceUnsent() bool {
	switch {
	case p.Status != PhaseDispatched:
		return false
	case p.Kind.IsSequence():
		return !p.FannedOut
	}
	return p.OnCompleteStatus == RunRunning && !p.OnCompleteSent
}

// Counts holds the numbers of a phase's members by outcome, for its on_complete steps.
type Counts struct {
	Members   int `json:"members"`
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled"`
}
