// Package model has the documents of a migration and the vocabulary of the state machine on
// them: batches, phases, members, runs and their statuses, the state that a decision reads,
// the events, and what a decision consists of.
//
// It must not know how anything is decided. That is in package engine.
package model

import (
	"fmt"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// Batch is a group of members who go through a runbook together, with its phase
// executions. Times are UTC; a nil time has not come.
type Batch struct {
	BatchDetails
	ID                int          `json:"batchId"`
	Runbook           string       `json:"runbook"`
	Version           int          `json:"version"`
	Status            BatchStatus  `json:"status"`
	Manual            bool         `json:"manual"`
	CreatedBy         string       `json:"createdBy,omitempty"`
	StartTime         *time.Time   `json:"startTime,omitempty"` // the cut-over; a manual batch has none until it is first advanced
	DetectedAt        time.Time    `json:"detectedAt"`
	InitDispatchedAt  *time.Time   `json:"initDispatchedAt,omitempty"`
	CompletedAt       *time.Time   `json:"completedAt,omitempty"`
	Ended             bool         `json:"ended,omitempty"`         // once, though a retry may have opened it again
	Rescheduled       *Attribution `json:"rescheduled,omitempty"`   // who moved the start last
	EarlierStarts     []time.Time  `json:"earlierStarts,omitempty"` // starts before that, which rows of the data source still have
	CurrentPhase      string       `json:"currentPhase,omitempty"`  // the phase that was advanced to last
	Error             string       `json:"error,omitempty"`         // why the batch failed
	Members           int          `json:"members"`                 // ever added; member ids run from 1 to this
	Removed           int          `json:"removed,omitempty"`       // of them
	Pages             int          `json:"pages,omitempty"`         // of members; see PageCount
	Filling           bool         `json:"filling,omitempty"`       // its members are being written: nothing begins
	Paused            *Attribution `json:"paused,omitempty"`        // nothing new is dispatched
	StoppedBy         int          `json:"stoppedBy,omitempty"`     // the phase execution whose stop_when paused it; 0: none did
	Cancelled         *Attribution `json:"cancelled,omitempty"`
	Requested         *Requested   `json:"requested,omitempty"`         // the request that started it; nil: an administrator or a data source did
	Shared            bool         `json:"shared,omitempty"`            // an administrator allowed members who are in other batches
	Revision          int          `json:"revision,omitempty"`          // counts the decisions on it, so that what follows from each is told apart
	ReleaseRevision   int          `json:"releaseRevision,omitempty"`   // Revision when it was last resumed or cancelled; see ReleaseTask
	Joining           []Join       `json:"joining,omitempty"`           // pages of members added late that have not caught up
	Moves             []Move       `json:"moves,omitempty"`             // of members to other batches, who may not all be there
	RemovalHold       *RemovalHold `json:"removalHold,omitempty"`       // removals by the source that wait for an administrator
	DiscardedRemovals int          `json:"discardedRemovals,omitempty"` // members whom the source lacks and whose removal an administrator discarded
	Display           string       `json:"display,omitempty"`           // the column that its version shows for a member beside the key
	Secrets           bool         `json:"secrets,omitempty"`           // a version of its runbook has secrets
	SecretsErasedAt   *time.Time   `json:"secretsErasedAt,omitempty"`   // when all secrets that were left were erased last
	SecretsSuppliedAt *time.Time   `json:"secretsSuppliedAt,omitempty"` // when an administrator last gave a secret to a member after the batch had ended
	Checks            *Checks      `json:"checks,omitempty"`            // the request to make the checks of all members; nil where no version had any
	FailedChecks      int          `json:"failedChecks,omitempty"`      // members whom a required check failed
	Phases            []Phase      `json:"phases"`                      // append-only: an execution's place never changes

	Quiet *runbook.QuietHours `json:"quiet,omitempty"` // of its version: no phase begins in them; nil in a manual batch
}

// Requested is the part of a request that its batch keeps.
type Requested struct {
	Fingerprint string     `json:"fingerprint"`         // of its items; empty until they are taken, or found to be those of CachedBatch
	Force       bool       `json:"force,omitempty"`     // nothing is taken from a cache
	KeepSeconds int        `json:"keepSeconds"`         // how long the batch stays after its end
	Before      int        `json:"beforeId,omitempty"`  // the batch of the owner's request before; 0 for none
	CachedBatch int        `json:"cachedId,omitempty"`  // the batch that has the result of the same items; 0: this one has
	Shadow      bool       `json:"shadow,omitempty"`    // it is compared with another orchestrator, and no one gets its result
	ExpiredAt   *time.Time `json:"expiredAt,omitempty"` // since when its documents are being deleted: nothing happens to it any more
}

// ExpiresAt is when a batch that a request started is deleted; nil for other batches, and before the
// end of the batch and of its detached steps: a job of theirs would return to a batch that is gone.
func (b *Batch) ExpiresAt() *time.Time {
	if b.Requested == nil || !b.Status.Terminal() || b.CompletedAt == nil || b.HasOpenDetached() {
		return nil
	}
	end := *b.CompletedAt
	for _, p := range b.Phases {
		if p.Kind == KindDetached && p.CompletedAt != nil && p.CompletedAt.After(end) {
			end = *p.CompletedAt
		}
	}
	at := end.Add(time.Duration(b.Requested.KeepSeconds) * time.Second)
	return &at
}

// HasOpenDetached reports whether detached steps of the batch have not ended. They go on after its end.
func (b *Batch) HasOpenDetached() bool {
	return slices.ContainsFunc(b.Phases, func(p Phase) bool { return p.Kind == KindDetached && !p.Status.Terminal() })
}

// HasExpired reports whether the batch is to be deleted, or is being deleted.
func (b *Batch) HasExpired(now time.Time) bool {
	at := b.ExpiresAt()
	return at != nil && !now.Before(*at) || b.Requested != nil && b.Requested.ExpiredAt != nil
}

// HasTakenItems reports whether the items that a function listed are the members of the batch, or are being
// written as such.
func (b *Batch) HasTakenItems() bool {
	return b.ListingPhase() != nil && b.Requested.Fingerprint != "" && b.Requested.CachedBatch == 0
}

// ListingPhase returns the call that lists the items of the batch; nil if the batch began with its members.
func (b *Batch) ListingPhase() *Phase {
	for i := range b.Phases {
		if p := &b.Phases[i]; p.Kind == KindItems {
			return p
		}
	}
	return nil
}

// ClaimsMembers reports whether a member of the batch is in no other one. The items of requests may be in several.
func (b *Batch) ClaimsMembers() bool { return b.Requested == nil }

// IsListing reports whether a function lists the items of the batch, or they are being written.
func (b *Batch) IsListing() bool { return b.Filling && b.ListingPhase() != nil }

// HasResult reports whether a batch that a request started has completed, also the on_complete steps that give
// its result, or an earlier batch has its result.
func (b *Batch) HasResult() bool {
	if b.Status != BatchCompleted || b.Requested == nil {
		return false
	}
	last := b.ResultPhase()
	return last == nil || last.OnCompleteStatus == RunSucceeded
}

// ResultPhase returns the phase whose on_complete steps give the result of the batch, the last that has any;
// nil for none.
func (b *Batch) ResultPhase() (last *Phase) {
	for i := range b.Phases {
		if p := &b.Phases[i]; p.Kind == KindPhase && p.OnCompleteStatus != "" {
			last = p
		}
	}
	return last
}

// HasCurrentResult reports whether the batch has a result of all its items: none failed, and each phase
// completed.
func (b *Batch) HasCurrentResult(now time.Time) bool {
	if !b.HasResult() || b.HasExpired(now) || b.Failed() > 0 || b.Removed > 0 {
		return false
	}
	return b.Requested.CachedBatch != 0 || !slices.ContainsFunc(b.Phases, func(p Phase) bool {
		return p.Kind == KindPhase && p.Status != PhaseCompleted && p.Status != PhaseSuperseded
	})
}

// IsShadow reports whether the batch runs in the shadow of another orchestrator, only to be compared with it.
func (b *Batch) IsShadow() bool { return b.Requested != nil && b.Requested.Shadow }

// FollowsSource reports whether the members of the batch come from a data source that is queried.
func (b *Batch) FollowsSource() bool { return !b.Manual && b.Requested == nil }

// BatchDetails are the name, note and owner of a batch. All can be empty.
type BatchDetails struct {
	Name  string `json:"name,omitempty"`
	Note  string `json:"note,omitempty"`
	Owner string `json:"owner,omitempty"` // who answers for it
}

// With returns the details with those that are given in their place.
func (d BatchDetails) With(name, note, owner *string) BatchDetails {
	if name != nil {
		d.Name = *name
	}
	if note != nil {
		d.Note = *note
	}
	if owner != nil {
		d.Owner = *owner
	}
	return d
}

// ReleaseTask names the task that releases the batch's paused runs since it was last resumed or
// cancelled.
func (b *Batch) ReleaseTask() string { return fmt.Sprintf("rev-%d", b.ReleaseRevision) }

// Phase finds a phase execution by its id, which is its place.
func (b *Batch) Phase(id int) (*Phase, bool) {
	if id < 1 || id > len(b.Phases) {
		return nil, false
	}
	return &b.Phases[id-1], true
}

// Remaining names the phases that have not been dispatched, in order.
func (b *Batch) Remaining() []string {
	var names []string
	for _, p := range b.Phases {
		if p.Status == PhasePending {
			names = append(names, p.Name)
		}
	}
	return names
}

// HasEnded tells whether nothing more begins in the batch.
func (b *Batch) HasEnded() bool { return b.Status.Terminal() || b.Status == BatchCancelling }

// Empty reports whether the batch has no members, or all were removed.
func (b *Batch) Empty() bool { return b.Members == b.Removed }

// Failed counts the members whom required checks failed, and those who failed in phases that have ended. A
// member fails in one of them, and takes part in no phase after it.
func (b *Batch) Failed() (n int) {
	n = b.FailedChecks
	for _, p := range b.Phases {
		if p.Kind == KindPhase {
			n += p.Failed
		}
	}
	return n
}

// Active counts the members who would take part in a phase that begins now: those who were not removed
// and have not failed, by the counts of the phases that have ended.
func (b *Batch) Active() int { return max(0, b.Members-b.Removed-b.Failed()) }

// Done reports whether an active member has nothing left to do: the batch has completed, or the member
// has finished each of its phases while others are in them.
func (b *Batch) Done(m *Member) bool {
	if m.Status != MemberActive || b.Status == BatchCompleted {
		return m.Status == MemberActive
	}
	finished := false
	for i := range b.Phases {
		p := &b.Phases[i]
		switch {
		case p.Kind != KindPhase || p.Status == PhaseSuperseded || p.Status == PhaseSkipped:
		case p.Status == PhasePending || p.Status == PhaseCancelled, p.Status == PhaseDispatched && !p.FannedOut:
			return false
		case !slices.Contains(m.Finished, p.Name) && !m.Skips(p):
			return false
		default:
			finished = true
		}
	}
	return finished && m.OpenPhase == 0 && len(m.Queue) == 0
}

// Clone copies the batch with its phases.
func (b *Batch) Clone() *Batch {
	c := *b
	c.Phases = slices.Clone(b.Phases)
	return &c
}

// Next names the phase that an advance would start: the first that has not begun.
// It is empty where none is left.
func (b *Batch) Next() string {
	for _, p := range b.Phases {
		if p.Status == PhasePending {
			return p.Name
		}
	}
	return ""
}

// Current returns the phase execution that was started last; nil if there is none.
func (b *Batch) Current() *Phase {
	for i := len(b.Phases) - 1; i >= 0; i-- {
		if p := &b.Phases[i]; p.Name == b.CurrentPhase && p.Kind != KindRemoval && p.DispatchedAt != nil {
			return p
		}
	}
	return nil
}

// StoppedSince reports whether the batch was paused, since it was as given, because too many
// members had failed.
func (b *Batch) StoppedSince(was *Batch) bool { return was.StoppedBy == 0 && b.StoppedBy != 0 }

// IsJoining reports whether a page of late members has not caught up.
func (b *Batch) IsJoining(page int) bool {
	return slices.ContainsFunc(b.Joining, func(j Join) bool { return j.Page == page })
}

// PageCount is how many pages of members the batch has.
func (b *Batch) PageCount() int {
	if b.Pages == 0 && b.Members > 0 {
		return PageOf(b.Members)
	}
	return b.Pages
}

// Attribution says who did something, when and why.
type Attribution struct {
	By  string    `json:"by"`
	At  time.Time `json:"at"`
	Why string    `json:"why,omitempty"`
}

// Checks is the request to make the checks of all members. Members who are added later are checked
// under it, too.
type Checks struct {
	Task  string    `json:"task"` // which tells it from earlier requests
	At    time.Time `json:"at"`
	By    string    `json:"by,omitempty"` // the administrator who requested it; empty where the batch began with it
	Pages int       `json:"pages"`        // whose members have runs, from the first
}

// ChecksDispatched reports whether the checks of all members are under way, or have ended.
func (b *Batch) ChecksDispatched() bool { return b.Checks != nil && b.Checks.Pages >= b.PageCount() }

// RemovalHold is a removal of so many members at once that an administrator is to confirm
// it first. It tells how many, not who: that is for the source to say, each time that
// it is read.
type RemovalHold struct {
	Members   int          `json:"members"`
	Of        int          `json:"of"` // the batch's active members
	Reason    string       `json:"reason"`
	Since     time.Time    `json:"since"`
	Moving    int          `json:"moving,omitempty"`    // of the members, those whom the source moves to one other start; 0 unless they are most of the batch
	MovesTo   time.Time    `json:"movesTo,omitzero"`    // that start
	MovesInto int          `json:"movesInto,omitempty"` // the batch that has that start; 0 while none has
	Confirmed *Attribution `json:"confirmed,omitempty"` // they are being removed, or moved
	Move      bool         `json:"move,omitempty"`      // with Confirmed: those who move keep their finished phases and outputs
	Out       bool         `json:"out,omitempty"`       // with Move: all who move are out of the batch, or end the phase that they are in
}

// Moved reports whether members are moved, who may not be in another batch yet.
func (h *RemovalHold) Moved() bool { return h != nil && h.Confirmed != nil && h.Move }

// Move is a task that moves members to another batch. It goes through their pages in an order; once it has
// passed a page, no more members of that page leave, so that those who have left can be counted.
type Move struct {
	Task   string `json:"task"`
	To     int    `json:"to"`               // the batch
	Passed int    `json:"passed,omitempty"` // how many places in the order of the task it has passed
}

// MovesTo reports whether members of the batch are being moved to another one.
func (b *Batch) MovesTo(batch int) bool {
	return batch != 0 && slices.ContainsFunc(b.Moves, func(m Move) bool { return m.To == batch })
}

// Join is a page of members added late and the phase executions, in order, that
// they have to catch up on.
type Join struct {
	Page   int    `json:"page"`
	First  int    `json:"first"` // the member with the lowest id
	Key    string `json:"key"`   // of that member
	Phases []int  `json:"phases,omitempty"`
}
