package api

import "time"

// RemovalHoldSummary says how many removals of a batch wait for an administrator, and why.
type RemovalHoldSummary struct {
	BatchID   int          `json:"batchId"`
	Members   int          `json:"memberCount"` // whose removal is held
	Of        int          `json:"activeCount"` // the batch's active members
	Reason    string       `json:"reason"`
	Since     time.Time    `json:"since"`
	Moving    int          `json:"movingCount,omitempty"`    // of the members, those whom the data source moves to one other start; 0 unless they are most of the batch
	MovesTo   *time.Time   `json:"movesTo,omitempty"`        // that start
	MovesInto int          `json:"movesToBatchId,omitempty"` // the batch that has that start, which this one cannot have then; 0 while none has
	Confirmed *Attribution `json:"confirmed,omitempty"`      // they are being removed, or moved
	Move      bool         `json:"move,omitempty"`           // they are being moved, with their finished phases and outputs
}

// RemovalHold is a removal hold of a batch with a page of its members. Revision identifies
// the set of members; a confirmation repeats it.
type RemovalHold struct {
	RemovalHoldSummary
	Revision     string       `json:"revision"`
	Items        []HeldMember `json:"items"`
	Continuation string       `json:"continuationToken,omitempty"`
}

// HeldMember is a member whose removal is held.
type HeldMember struct {
	Member
	MovesTo *time.Time `json:"movesTo,omitempty"` // the start of the batch that they would move to; nil: none
}

// AdditionHoldSummary says how many additions of a runbook wait for an administrator, and
// why.
type AdditionHoldSummary struct {
	People    int          `json:"memberCount"` // whose addition is held
	Of        int          `json:"activeCount"` // members of the runbook's batches that follow the data source
	Reason    string       `json:"reason"`
	Since     time.Time    `json:"since"`
	Revision  string       `json:"revision"`
	Confirmed *Attribution `json:"confirmed,omitempty"` // the next tick adds them
}

// AdditionHold is an addition hold of a runbook, by batch, with a page of the people.
type AdditionHold struct {
	RunbookName string `json:"runbook"`
	AdditionHoldSummary
	Starts []AdditionStart `json:"starts"`
	Items  []HeldAddition  `json:"items"` // by key

	Continuation string `json:"continuationToken,omitempty"`
}

// AdditionStart says how many people wait for the batch of one start.
type AdditionStart struct {
	BatchStartTime time.Time `json:"batchStartTime"`
	People         int       `json:"memberCount"`
}

// HeldAddition is a person whose addition is held.
type HeldAddition struct {
	Key            string    `json:"memberKey"`
	Display        string    `json:"memberDisplay,omitempty"` // of the runbook's display column
	BatchStartTime time.Time `json:"batchStartTime"`
}

// AdditionsConfirmation is an administrator's confirmation of a revision.
type AdditionsConfirmation struct {
	RunbookName string       `json:"runbook"`
	Revision    string       `json:"revision"`
	Confirmed   *Attribution `json:"confirmed"`
}

// AdditionsDiscard are the people whose held additions an administrator discarded: they come into no batch
// while the query returns them. Discarded is the last decision, on the additions of Revision.
type AdditionsDiscard struct {
	RunbookName string      `json:"runbook"`
	Revision    string      `json:"revision"`
	People      int         `json:"memberCount"` // of all decisions
	Discarded   Attribution `json:"discarded"`
}
