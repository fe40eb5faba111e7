package engine

import (
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// mostMoves is how many moves of members to other batches a batch can have under way. The batch document
// lists each of them.
const mostMoves = 20

// onMoveRequested begins to move members to another batch. Until all are there, the batch does not end:
// it has the outputs that the other batch takes over.
func onMoveRequested(b *model.Batch, e model.MoveRequested) (model.Decision, error) {
	if moveAt(b, e.Task) >= 0 {
		return model.Decision{Repeated: true}, nil
	}
	if err := refuseMoves(b); err != nil {
		return model.Decision{}, err
	}
	b.Moves = append(slices.Clone(b.Moves), model.Move{Task: e.Task, To: e.To})
	return batchChanged(b), nil
}

// moveAt gives the index of the move of a task, -1 when it is done.
func moveAt(b *model.Batch, task string) int {
	return slices.IndexFunc(b.Moves, func(m model.Move) bool { return m.Task == task })
}

// refuseMoves refuses to move members of a batch; nil otherwise.
func refuseMoves(b *model.Batch) error {
	switch {
	case b.HasEnded():
		return refuseEnded(b, "no member can be moved")
	case b.Filling:
		return model.Refusef("batch %d is being filled from its data source: move members when that is done", b.ID)
	case len(b.Moves) >= mostMoves:
		return model.Refusef("%d moves of members of batch %d are under way; at most %d are allowed: move more when members have ended the phases that they are in", len(b.Moves), b.ID, mostMoves)
	}
	return nil
}

// RefuseMove refuses to move a member to another batch; nil otherwise.
func RefuseMove(b *model.Batch, m *model.Member) error {
	if err := refuseMoves(b); err != nil {
		return err
	}
	switch {
	case m.Status == model.MemberRemoved && m.MovedToBatch != 0:
		return model.Refusef("%s of batch %d moves, or moved, to batch %d", m.Label(), b.ID, m.MovedToBatch)
	case m.Status == model.MemberRemoved:
		return model.Refusef("%s of batch %d was removed: add the person to the other batch", m.Label(), b.ID)
	case m.Status == model.MemberFailed:
		return refuseFailedMove(m)
	}
	return nil
}

func refuseFailedMove(m *model.Member) error {
	return model.Refusef("%s has failed: to move it, retry it first", m.Label())
}

// onMovePassed lets no more members leave from a page.
func onMovePassed(b *model.Batch, e model.MovePassed) model.Decision {
	at := moveAt(b, e.Task)
	if at < 0 || b.Moves[at].Passed > e.Place {
		return model.Decision{Stale: true}
	}
	b.Moves = slices.Clone(b.Moves)
	b.Moves[at].Passed = e.Place + 1
	return batchChanged(b)
}

// onMoveDone ends a move whose members are in the other batch.
func onMoveDone(b *model.Batch, e model.MoveDone, now time.Time) model.Decision {
	at := moveAt(b, e.Task)
	if at < 0 {
		return model.Decision{Stale: true}
	}
	if b.Moves = slices.Delete(slices.Clone(b.Moves), at, at+1); len(b.Moves) == 0 {
		b.Moves = nil
	}
	_, f := endPhases(b, now)
	d := batchChanged(b)
	appendFollowUp(&d, f)
	return d
}

// CheckMoveTo refuses a batch to which members of another one cannot be moved; nil otherwise.
func CheckMoveTo(from, to *model.Batch) error {
	switch {
	case from.ID == to.ID:
		return model.Refusef("batch %d is the batch of the members: name another one", to.ID)
	case from.Requested != nil || to.Requested != nil:
		return model.Refusef("requests started the batches of %s, and brought their members: send another request", from.Runbook)
	case from.Runbook != to.Runbook:
		return model.Refusef("batch %d is of runbook %s and batch %d of runbook %s: members move between batches of one runbook", to.ID, to.Runbook, from.ID, from.Runbook)
	case to.Filling:
		return model.Refusef("batch %d is being filled from its data source: move members to it when that is done", to.ID)
	case from.Shared && to.FollowsSource():
		return model.Refusef("members of batch %d may be in other batches, and batch %d follows a data source, which does not allow that", from.ID, to.ID)
	}
	return CheckJoin(to)
}
