// Package schedule decides what the answer of a runbook's query means for the
// runbook's batches: which batches are new, who comes into one, who leaves it, whose
// data has changed, and which removals an administrator should look at first.
//
// It is pure: rows and batches in, a plan out. It knows the columns of a runbook and
// how batch times are written. It must not know the clock, the source of the rows,
// the store, the bus, or the run of a batch. The same input gives the same plan, in
// any order of the rows.
package schedule

import (
	"time"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// Situation is the present state that a result is compared with.
type Situation struct {
	Now time.Time
	// Automation tells that new batches are made.
	Automation bool
	// Batches are those of the runbook that have not ended, in any order.
	Batches []Batch
	// Ended has the batch that was made for a start and has ended.
	Ended map[time.Time]int
	// Former has the keys of those who were members of one of Batches and are not any
	// more. The addition guard does not count them: a person who moves is one of them
	// between the removal and the addition.
	Former map[string]bool
	// Reserved has the batch that has the slot of a start, and is not one of it: it is being rescheduled
	// to that start, or was before. No person enters a batch of that start, or leaves another for it.
	Reserved map[time.Time]int
	// Discarded has the keys of people whose held addition an administrator discarded. They come into no
	// batch, and the addition guard does not count them.
	Discarded map[string]bool
	// Confirmed is the revision of held additions that an administrator confirmed.
	Confirmed string
}

// Batch is a batch that has not ended.
type Batch struct {
	ID    int
	Start time.Time // of no meaning when Manual
	// Earlier are starts before the batch was rescheduled. Rows that still have one are of this batch.
	Earlier []time.Time
	// Manual: the source has no say about its members. They are in no other batch.
	Manual bool
	// Filling: no phase has begun, so members who are gone leave without steps.
	Filling bool
	// HeldOf is Held.Active as it was when removals began to be held; 0 while none are.
	// Those who come in meanwhile do not make the share of those held smaller.
	HeldOf  int
	Members []Member
}

// Member is a member of a batch, or was until an administrator removed them.
type Member struct {
	ID            int
	Key           string
	Hash          string // of the row that their data is from
	Failed        bool
	RemovedByHand bool // is no member any more
	Kept          bool // an administrator added them, or discarded their removal: the source does not remove them
	// Leaving: is no member any more, and what their removal asks for is still under
	// way: its steps, or a run that is being stopped. Until that is over their key comes
	// into no batch, or two runs would work on one person.
	Leaving bool
}

// Plan is the changes to apply. Its lists have a fixed order: groups and changes by
// start, their members by key. After its application, the same rows give a plan with
// only the same holds.
type Plan struct {
	New     []Group
	Changes []Change
	// Additions are held by the addition guard; nil when none are.
	Additions *HeldAdditions
	// Revision identifies who would be in which batch by this result.
	Revision string
	Problems []Problem // at most MaxProblems; Counts.Problems has how many there are
	Counts   Counts
}

// Group is a batch to be made.
type Group struct {
	Start time.Time // in UTC
	Rows  []Row     // never empty
}

// Change is the changes of one batch; it is never empty. A member who moves
// is in the Add of one batch, or in a new group, and in the Remove of another: they have
// to be removed before they are added.
type Change struct {
	Batch   int
	Add     []Row
	Refresh []Refresh
	Remove  []Removal
	Held    *Held // nil when nothing is held
	// Released are the earlier starts that no row of a member has any more.
	Released []time.Time
	// Returned are members who were kept and whose row is in the result again: they
	// need not be kept any more.
	Returned []int
}

// Refresh is a member whose data has changed.
type Refresh struct {
	Member int
	Row    Row
}

// Removal is a member who leaves.
type Removal struct {
	Member int
	Key    string
	// MovesTo is the start of the batch that they come into instead; nil when none.
	MovesTo *time.Time
}

// Held are removals that wait for an administrator. Members who would move are not
// added elsewhere. If the removals are held for their share, the batch accepts no new
// members either: after a change of the primary key, or when all people are renamed, the
// new people are those who are gone.
type Held struct {
	Removals []Removal
	// Moving is how many of them move to the start MovesTo, if they are most of the batch; 0 otherwise.
	// Then the batch was probably put off or brought forward.
	Moving  int
	MovesTo time.Time
	// MovesInto is the batch that has the start MovesTo; 0 if none has. Then this batch cannot have it.
	MovesInto int
	// Active is how many members, none of them failed, the share of the removals is
	// reckoned of.
	Active int
	Reason string // for administrators
}

// HeldAdditions are people who enter batches only when an administrator has confirmed
// the plan's revision.
type HeldAdditions struct {
	People []Addition // never empty; by key
	Of     int        // members of the runbook's batches that follow the data source
	Reason string     // for administrators
}

// Addition is a person who would enter a batch.
type Addition struct {
	Key   string
	Start time.Time // of the batch, in UTC
}

// Counts counts the rows by outcome.
type Counts struct {
	Rows          int // of the result
	Bad           int // rows that are not used because of a problem
	Unchanged     int // rows of members who stay as they are
	InManual      int // rows of members of manual batches
	RemovedByHand int // rows of those whom an administrator removed
	Ended         int // rows of batches that have ended
	LongPast      int // rows of batches that would have been due long ago
	Off           int // rows without a batch, since automation is off
	// Waiting counts rows whose people are added later: their move is held, or they are
	// still leaving, or their batch accepts no members now, or additions are held.
	Waiting int
	// Discarded counts rows of people whose addition an administrator discarded.
	Discarded int
	Kept      int // members without a row whom the source does not remove
	Problems  int // all of them
}

// Make decides what a result means in a situation.
func Make(rb *runbook.Runbook, r *Result, s Situation) Plan {
	p := newPlanner(rb, r, s)
	p.takeEarlierStarts()
	p.keysByCase()
	for _, i := range p.inKeyOrder() {
		p.place(i)
	}
	p.missing()
	p.guard()
	p.come()
	return p.plan()
}
