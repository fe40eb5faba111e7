package model

import (
	"time"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// Message is a message to send after the decision is stored. Its id derives from the
// state, so that the same message sent again is known to be the same.
type Message interface{ message() }

type (
	// Dispatch sends the job of a step that the run has in flight, to the worker of its definition and
	// with its timeout. At is when the job becomes visible to the worker; zero: at once.
	Dispatch struct {
		Run        *Run
		Step       int
		Definition *runbook.Step
		At         time.Time
	}
	// Poll sends a poll-check for a polling step at a time.
	Poll struct {
		Run  *Run
		Step int
		At   time.Time
	}
	// Retry sends a retry-check for a pending step at a time.
	Retry struct {
		Run  *Run
		Step int
		At   time.Time
	}
	// Deadline sends a deadline-check for a dispatched step at a time. Deadlines
	// that a tick of the scheduler comes before are left to it.
	Deadline struct {
		Run  *Run
		Step int
		At   time.Time
	}
	// Announce sends phase-due for a page of a phase, or batch-init for the init sequence.
	// FanOut distinguishes it from earlier announcements, which came too early or were lost; empty
	// for the first. At is when the message becomes visible; zero for now.
	Announce struct {
		Phase, Page int
		FanOut      string
		At          time.Time
	}
	// CatchUp sends member-added: a page of late members comes to where the others are.
	CatchUp struct{ Join }
	// Remove sends member-removed.
	Remove struct{ Member *Member }
	// Check sends batch-work: the checks of the members of a page, and of those behind it, are made.
	Check struct{ Page int }
	// WriteItems sends batch-work: the items that a function listed become the members of the batch.
	WriteItems struct{}
	// Release sends batch-work: the runs go on that waited for the batch to be resumed.
	Release struct{}
	// CancelRuns sends batch-work, which cancels the runs of a cancelled batch.
	CancelRuns struct{}
	// Revoke tells the workers not to begin the batch's jobs that were dispatched by then.
	Revoke struct{ Through time.Time }
)

func (Dispatch) message()   {}
func (Poll) message()       {}
func (Retry) message()      {}
func (Deadline) message()   {}
func (Announce) message()   {}
func (CatchUp) message()    {}
func (Remove) message()     {}
func (Check) message()      {}
func (WriteItems) message() {}
func (Release) message()    {}
func (CancelRuns) message() {}
func (Revoke) message()     {}

// BrokerRemembers is for how long a broker surely drops a message that it has seen: one
// that was sent longer ago would be delivered again.
const BrokerRemembers = 9 * time.Minute
