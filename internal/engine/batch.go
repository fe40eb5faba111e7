package engine

import (
	"errors"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// NewBatch makes a batch with its phase executions, all pending. A nil start is a
// manual batch: its phases have no due time. The init sequence, where the runbook
// has one, is the first execution, behind the call that lists the items. A batch with such a call has no
// members yet, and is filling.
func NewBatch(id int, rb *runbook.Runbook, version, members int, start *time.Time, by string, now time.Time) model.Batch {
	b := model.Batch{
		ID: id, Runbook: rb.Name, Version: version, Status: model.BatchActive, Manual: start == nil,
		CreatedBy: by, StartTime: start, DetectedAt: now.UTC(), Members: members, Pages: model.PageOf(members),
	}
	if rb.ListsItems() {
		b.Status, b.Filling, b.Pages = model.BatchDetected, true, 0
		b.Phases = append(b.Phases, model.Phase{ID: 1, Kind: model.KindItems, Name: runbook.ItemsName, Version: version, Status: model.PhasePending})
	}
	if len(rb.Init) > 0 {
		b.Status = model.BatchDetected
		addInit(&b, version)
	}
	addPhases(&b, rb, version)
	if len(rb.Checks) > 0 {
		b.Checks = &model.Checks{Task: "created", At: now.UTC()}
	}
	return b
}

// addInit adds an execution of the init sequence.
func addInit(b *model.Batch, version int) {
	b.Phases = append(b.Phases, model.Phase{ID: len(b.Phases) + 1, Kind: model.KindInit, Name: "init", Version: version, Status: model.PhasePending})
}

// addPhases adds an execution of each of the runbook's phases, and takes over the display column and the
// quiet hours in which none of them begins. A manual batch has none: its administrator
// says when.
func addPhases(b *model.Batch, rb *runbook.Runbook, version int) {
	b.Secrets, b.Display = b.Secrets || len(rb.Secret) > 0, rb.Display
	if !b.Manual {
		b.Quiet = rb.QuietHours
	}
	for _, p := range rb.Phases {
		execution := model.Phase{
			ID: len(b.Phases) + 1, Kind: model.KindPhase, Name: p.Name, Version: version,
			OffsetMinutes: p.Offset.Minutes(), Status: model.PhasePending,
			Approval: p.Approval, SecondApprover: p.SecondApprover, RequireSuccess: p.RequireSuccess, OnComplete: len(p.Attached()) > 0, Detached: len(p.Detached()) > 0, StopWhen: p.StopWhen,
		}
		if !b.Manual {
			due := p.Offset.DueAt(*b.StartTime)
			execution.DueAt = &due
		}
		b.Phases = append(b.Phases, execution)
	}
}

// refuseEnded refuses what a batch that has ended, or is being cancelled, does not allow.
func refuseEnded(b *model.Batch, consequence string) error {
	switch {
	case b.Status == model.BatchCancelling:
		return model.Refusef("batch %d is being cancelled: %s", b.ID, consequence)
	case b.Status.Terminal():
		return model.Refusef("batch %d has ended (%s): %s", b.ID, b.Status, consequence)
	}
	return model.Refusef("batch %d was cancelled: %s", b.ID, consequence)
}

// batchChanged is the decision that the batch changes, with the messages that follow.
func batchChanged(b *model.Batch, messages ...model.Message) model.Decision {
	return model.Decision{Writes: model.Writes{Batch: b}, Messages: messages}
}

// followUp is the consequence of a stored decision.
type followUp struct {
	Messages []model.Message
	Next     []model.Event
}

// appendFollowUp adds what follows from the decision.
func appendFollowUp(d *model.Decision, f followUp) {
	d.Messages, d.Next = append(d.Messages, f.Messages...), append(d.Next, f.Next...)
}

// NewDetected creates a batch for a start found in a data source. It has no members
// yet and is filling: MembersJoined adds them page by page, and no phase begins
// before BatchFilled. Until then its status is detected, with and without init steps.
func NewDetected(id int, rb *runbook.Runbook, version int, start, now time.Time) model.Batch {
	start = start.UTC()
	b := NewBatch(id, rb, version, 0, &start, "", now)
	b.Status, b.Filling, b.Pages = model.BatchDetected, true, 0
	return b
}

// newRequested creates a batch that begins at once, whose members are written.
func newRequested(e model.BatchCreated, rb *runbook.Runbook) model.Batch {
	start := e.At.UTC()
	b := NewBatch(e.ID, rb, e.Version, e.Members, &start, e.By, e.At)
	b.Requested = e.Requested
	return b
}

// onBatchCreated creates a batch, once. One that a request starts begins with its first announcement,
// which a repeated request sends again: it does not wait for the tick.
func onBatchCreated(s model.State, e model.BatchCreated, now time.Time) (model.Decision, error) {
	existing, err := s.LoadBatch()
	if e.At.After(now) { // by the clock of the process that took the request
		now = e.At
	}
	switch {
	case err == nil && existing.Requested != nil:
		return model.Decision{Repeated: true, Messages: append(checksDue(existing), NextDue(existing, now)...)}, nil
	case !errors.Is(err, model.ErrNoBatch):
		return model.Decision{Repeated: err == nil}, err
	}
	rb, err := s.LoadRunbook(e.Runbook, e.Version)
	if err != nil {
		return model.Decision{}, err
	}
	var b model.Batch
	switch {
	case e.Requested != nil:
		b = newRequested(e, rb)
	case e.Start != nil:
		b = NewDetected(e.ID, rb, e.Version, *e.Start, e.At)
	default:
		b = NewBatch(e.ID, rb, e.Version, e.Members, nil, e.By, e.At)
	}
	b.Shared, b.BatchDetails = e.Shared, e.Details
	if e.Requested == nil {
		return batchChanged(&b, checksDue(&b)...), nil
	}
	return batchChanged(&b, append(checksDue(&b), NextDue(&b, now)...)...), nil
}

// onBatchExpired ends all that can happen to a batch whose time is over: its documents are deleted next,
// and a retry must not open it meanwhile.
func onBatchExpired(b *model.Batch, now time.Time) model.Decision {
	switch {
	case b.Requested != nil && b.Requested.ExpiredAt != nil:
		return model.Decision{Repeated: true}
	case !b.HasExpired(now):
		return model.Decision{Stale: true}
	}
	r := *b.Requested
	r.ExpiredAt = &now
	b.Requested = &r
	return batchChanged(b)
}

// onBatchUpdated gives a batch other details, also after its end. The owner of a request stays: its result is for the
// owner, and so are the variables of the steps that have run.
func onBatchUpdated(b *model.Batch, e model.BatchUpdated) (model.Decision, error) {
	next := b.With(e.Name, e.Note, e.Owner)
	switch {
	case next == b.BatchDetails:
		return model.Decision{Repeated: true}, nil
	case b.Requested != nil && next.Owner != b.Owner:
		return model.Decision{}, model.Refusef("batch %d was started by a request, and its result is for %s: send a request for the other owner", b.ID, b.Owner)
	}
	b.BatchDetails = next
	return batchChanged(b), nil
}

// onBatchFilled opens a batch whose members are stored: it announces the init sequence,
// or the first phase that is due. A batch without members waits for one: a phase
// without members fails.
func onBatchFilled(b *model.Batch, now time.Time) model.Decision {
	switch {
	case b.Manual || b.HasEnded() || b.IsListing(): // listed items open their batch
		return model.Decision{Stale: true}
	case !b.Filling:
		return model.Decision{Repeated: true, Messages: openingMessages(b, now)}
	case b.Empty():
		return model.Decision{Stale: true}
	}
	return openFilled(b, now)
}

// openFilled opens a batch that has its members.
func openFilled(b *model.Batch, now time.Time) model.Decision {
	b.Filling = false
	if pendingInit(b) == nil {
		b.Status = model.BatchActive
	}
	updateWaitingReason(b, now)
	return batchChanged(b, openingMessages(b, now)...)
}

// openingMessages announce the checks of a batch that opens, and the init sequence or the first phase that is due.
func openingMessages(b *model.Batch, now time.Time) []model.Message {
	return append(checksDue(b), NextDue(b, now)...)
}
