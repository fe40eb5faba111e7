// Package engine is the state machine of a migration: every transition of a batch, a phase,
// a member, a run or a step is decided here, by Decide, from the current state, an event and
// the time. This package has the batch, its phases and its members; package runstate has the
// runs, and package model the documents and the vocabulary.
//
// It is pure. It must not know a clock, a random number, a store or a bus: a
// decision returns the next state and the messages to send.
// docs/reference/state-machine.md draws the machine.
package engine

import (
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/model"
)

// Decide takes one decision. It changes nothing that it is given. Its errors are
// model.ErrNotYet, model.ErrOutdated, a *model.Refusal, one of a load, or a broken state.
func Decide(s model.State, e model.Event, now time.Time) (model.Decision, error) {
	now = now.UTC()
	if on, ok := e.(model.OnRun); ok {
		return runstate.Decide(s, on, onSequenceEnded, now)
	}
	return decideBatch(s, e, now)
}

// decideBatch applies an event to a batch: what it changes is a copy.
func decideBatch(s model.State, e model.Event, now time.Time) (model.Decision, error) {
	switch e := e.(type) { // most of these concern the batch no further
	case model.ShardCounted:
		return onShardCounted(s, e)
	case model.BatchCreated:
		return onBatchCreated(s, e, now)
	case model.CheckDue:
		return onCheckDue(s, e, now)
	case model.MembersRefreshed:
		return onMembersRefreshed(s, e)
	case model.MemberCorrected:
		return onMemberCorrected(s, e, now)
	case model.SecretsDue:
		return onSecretsDue(s, e, now)
	case model.MemberSecretsDue:
		return onMemberSecretsDue(s, e, now)
	case model.PageSent:
		return model.Decision{Writes: model.Writes{Counts: []model.Count{model.MarkSent(e)}}}, nil
	}
	stored, err := s.LoadBatch()
	if err != nil {
		return model.Decision{}, err
	}
	if _, again := e.(model.BatchExpired); !again && stored.Requested != nil && stored.Requested.ExpiredAt != nil {
		return model.Decision{}, model.Refusef("batch %d has expired, and is being deleted", stored.ID)
	}
	b := stored.Clone()
	b.Revision++
	for _, decide := range batchDecisions {
		d, known, err := decide(s, stored, b, e, now)
		if known && err == nil {
			err = noteSecrets(s, d.Batch)
		}
		if known {
			return d, err
		}
	}
	return model.Decision{}, fmt.Errorf("engine: unknown event %T", e)
}

// batchDecisions are the groups of events on a batch. Each gets the stored batch and a copy to
// change, and reports whether the event belongs to its group.
var batchDecisions = []func(s model.State, stored, b *model.Batch, e model.Event, now time.Time) (d model.Decision, known bool, err error){
	decidePhase, decideFanOut, decideControl, decideItems, decideMembership, decideRemovalHold,
}

// decidePhase applies an event on the course of phases and sequences.
func decidePhase(s model.State, _, b *model.Batch, e model.Event, now time.Time) (d model.Decision, known bool, err error) {
	switch e := e.(type) {
	case model.Advanced:
		d, err = advance(b, e, now)
	case model.PhaseDue:
		d, err = onPhaseDue(b, e, now)
	case model.PhaseApproved:
		d, err = onPhaseApproved(b, e, now)
	case model.SequenceSent:
		d = onSequenceSent(b, e)
	case model.PhaseCounted:
		d = onPhaseCounted(b, e, now)
	case model.FailureCounted:
		d = onFailureCounted(b, e, now)
	case model.SequenceRetried:
		d, err = onSequenceRetried(s, b, e, now)
	default:
		return model.Decision{}, false, nil
	}
	return d, true, err
}

// decideFanOut applies an event on the fan-out of a phase, or of late members, to pages.
func decideFanOut(s model.State, stored, b *model.Batch, e model.Event, now time.Time) (d model.Decision, known bool, err error) {
	switch e := e.(type) {
	case model.PageDue:
		d, err = onPageDue(s, stored, e, now)
	case model.PageResumed:
		d, err = onPageResumed(s, e, now)
	case model.PageFannedOut:
		d, err = onPageFannedOut(s, b, e, now)
	case model.CatchUpDue:
		d = onCatchUpDue(stored, e)
	case model.PageCaughtUp:
		d = onPageCaughtUp(b, e.Page, now)
	default:
		return model.Decision{}, false, nil
	}
	return d, true, err
}

// decideControl applies an event on the batch as a whole.
func decideControl(s model.State, _, b *model.Batch, e model.Event, now time.Time) (d model.Decision, known bool, err error) {
	switch e := e.(type) {
	case model.BatchPaused:
		d, err = onBatchPaused(b, e.By)
	case model.BatchResumed:
		d, err = onBatchResumed(b, now)
	case model.BatchCancelRequested:
		d, err = onBatchCancelRequested(b, e.By, now)
	case model.BatchDrained:
		d = onBatchDrained(b, now)
	case model.BatchFilled:
		d = onBatchFilled(b, now)
	case model.BatchRescheduled:
		d, err = onBatchRescheduled(b, e, now)
	case model.BatchExpired:
		d = onBatchExpired(b, now)
	case model.BatchUpdated:
		d, err = onBatchUpdated(b, e)
	case model.EarlierStartsReleased:
		d = onEarlierStartsReleased(b, e)
	case model.SecretsErased:
		d = onSecretsErased(b, now)
	case model.VersionPublished:
		d, err = onVersionPublished(s, b, e, now)
	default:
		return model.Decision{}, false, nil
	}
	return d, true, err
}

// decideItems applies an event on the items that a function listed.
func decideItems(_ model.State, _, b *model.Batch, e model.Event, now time.Time) (d model.Decision, known bool, err error) {
	switch e := e.(type) {
	case model.ItemsTaken:
		d = onItemsTaken(b, e)
	case model.ItemsWritten:
		d = onItemsWritten(b, e, now)
	case model.ItemsUnchanged:
		d = onItemsUnchanged(b, e, now)
	default:
		return model.Decision{}, false, nil
	}
	return d, true, nil
}

// decideMembership applies an event on who takes part.
func decideMembership(s model.State, stored, b *model.Batch, e model.Event, now time.Time) (d model.Decision, known bool, err error) {
	switch e := e.(type) {
	case model.ChecksRequested:
		d, err = onChecksRequested(s, b, e, now)
	case model.ChecksDispatched:
		d = onChecksDispatched(b, e)
	case model.MembersJoined:
		d, err = onMembersJoined(b, e)
	case model.MemberLeft:
		d, err = onMemberLeft(s, b, e, now)
	case model.RemovalDue:
		d, err = onRemovalDue(s, stored, e, now)
	case model.MoveRequested:
		d, err = onMoveRequested(b, e)
	case model.MovePassed:
		d = onMovePassed(b, e)
	case model.MoveDone:
		d = onMoveDone(b, e, now)
	case model.MemberRetried:
		d, err = onMemberRetried(s, b, e, now)
	default:
		return model.Decision{}, false, nil
	}
	return d, true, err
}

// decideRemovalHold applies an event on removals that wait for an administrator.
func decideRemovalHold(_ model.State, _, b *model.Batch, e model.Event, now time.Time) (d model.Decision, known bool, err error) {
	switch e := e.(type) {
	case model.RemovalsHeld:
		d, err = onRemovalsHeld(b, e, now)
	case model.RemovalsConfirmed:
		d, err = onRemovalsConfirmed(b, e)
	case model.RemovalsDiscarded:
		d, err = onRemovalsDiscarded(b, now)
	case model.RemovalsDone:
		d = onRemovalsDone(b, now)
	case model.MovesDone:
		d = onMovesDone(b, now)
	case model.DiscardedRemovalsChanged:
		d, err = onDiscardedRemovalsChanged(b, e.Count)
	default:
		return model.Decision{}, false, nil
	}
	return d, true, err
}
