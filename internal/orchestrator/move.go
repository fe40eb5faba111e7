package orchestrator

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// moveOf finds the move that a message works on. The task of a message that a tick sends again has the
// tick behind it. It finds none when the move is done, and its last message was delivered again.
func moveOf(b *model.Batch, task string) (model.Move, bool) {
	for _, m := range b.Moves {
		if task == m.Task || strings.HasPrefix(task, m.Task+"-") {
			return m, true
		}
	}
	return model.Move{}, false
}

// movePage moves the members of one page to another batch: those whom the task selects leave this one, and
// those who have ended their phase join the other. It visits each page once, and then, with each tick, those
// with members who had not. After the last page it ends the move.
func (o *Orchestrator) movePage(ctx context.Context, b *model.Batch, m message.BatchWork) (more bool, err error) {
	move, underWay := moveOf(b, m.Task)
	if !underWay {
		return false, nil
	}
	key := store.TaskKey(b.ID, move.Task)
	task, err := store.Read[store.Task](ctx, o.store, key)
	if errors.Is(err, store.ErrNotFound) {
		return false, message.Reject("batch %d has no task %q", b.ID, move.Task)
	}
	if err != nil {
		return false, err
	}
	place, left := nextMovePlace(&task.Doc, m.Page, b.PageCount())
	if !left {
		return false, o.endMove(ctx, b.ID, move, &task.Doc)
	}
	done, err := o.moveMembers(ctx, b, move, &task.Doc, place)
	if err != nil {
		return false, err
	}
	progress, err := o.noteMove(ctx, key, b, place, done)
	if err != nil {
		return false, err
	}
	if next, left := nextMovePlace(progress, place+1, b.PageCount()); left {
		return false, o.bus.Send(ctx, message.TopicOrchestratorEvents, applier.BatchWorkMessage(b.ID, message.WorkMove, m.Task, next))
	}
	return false, o.endMove(ctx, b.ID, move, progress)
}

// nextMovePlace gives the first place in the order of a task, from one on, where members are to be moved.
func nextMovePlace(t *store.Task, from, pages int) (place int, found bool) {
	places := pages + 1 // page 0 has no members
	if len(t.Pages) > 0 {
		places = len(t.Pages)
	}
	for place = from; place < places; place++ {
		if place >= t.Progress.Next || slices.Contains(t.Progress.Waiting, place) {
			return place, t.Progress.EndedAt == nil
		}
	}
	return 0, false
}

// moveMembers moves the members of the page at a place. Those of a cancelled batch who have not left it
// stay.
func (o *Orchestrator) moveMembers(ctx context.Context, b *model.Batch, move model.Move, task *store.Task, place int) (done membership.Moves, err error) {
	page, _ := task.Page(place, b.PageCount())
	if page == 0 { // runs without a member
		return done, o.applier.Decide(ctx, b.ID, model.MovePassed{Task: move.Task, Place: place})
	}
	members, err := o.store.MembersOfPage(ctx, b.ID, page, "")
	if err != nil {
		return done, err
	}
	var stayed []store.TaskRefusal
	if place >= task.Progress.Next {
		if b.DispatchMode() != model.Cancelled {
			move.Passed = place
			if stayed, err = o.members.MoveOut(ctx, b, members, move, task); err != nil {
				return done, err
			}
		}
		// From here on no other delivery takes anyone out, whom this one would not count.
		if err := o.applier.Decide(ctx, b.ID, model.MovePassed{Task: move.Task, Place: place}); err != nil {
			return done, err
		}
		if members, err = o.store.MembersOfPage(ctx, b.ID, page, model.MemberRemoved); err != nil {
			return done, err
		}
	}
	done, err = o.members.MoveIn(ctx, b, members, move, task)
	done.Stayed = stayed
	return done, err
}

// noteMove counts what a move did at a place, once: those who stayed with the first visit, and the others
// when none waits there any more. The audit record of members whom no batch has is in the same write.
func (o *Orchestrator) noteMove(ctx context.Context, key store.Key, b *model.Batch, place int, done membership.Moves) (task *store.Task, err error) {
	err = store.RetryOnConflict(ctx, func() error {
		item, err := store.Read[store.Task](ctx, o.store, key)
		if err != nil {
			return err
		}
		task = &item.Doc
		var writes store.Writes
		p := &task.Progress
		first, waited := place >= p.Next, slices.Contains(p.Waiting, place)
		if !first && !waited {
			return nil // another delivery has counted it
		}
		p.Waiting = slices.DeleteFunc(slices.Clone(p.Waiting), func(at int) bool { return at == place })
		if first {
			p.Next = place + 1
			p.Cancelled = p.Cancelled || b.DispatchMode() == model.Cancelled
			noteRefusals(p, done.Stayed)
		}
		if done.Waiting > 0 {
			p.Waiting = append(p.Waiting, place)
			slices.Sort(p.Waiting)
		} else {
			p.Finished += done.Moved
			noteRefusals(p, done.Refused)
			writes = done.Lost
		}
		_, err = o.store.Apply(ctx, append(store.Writes{store.Replace(key, *task, item.Version)}, writes...))
		return err
	})
	return task, err
}

// endMove ends a move of which no place is left. The batch, which the tick looks at, goes on last.
func (o *Orchestrator) endMove(ctx context.Context, batch int, move model.Move, task *store.Task) error {
	if len(task.Progress.Waiting) > 0 {
		return nil // the next tick comes back to it
	}
	key := store.TaskKey(batch, move.Task)
	err := store.RetryOnConflict(ctx, func() error {
		item, err := store.Read[store.Task](ctx, o.store, key)
		if err != nil || item.Doc.Progress.EndedAt != nil {
			return err
		}
		now := o.now().UTC()
		item.Doc.Progress.EndedAt = &now
		_, err = o.store.Apply(ctx, store.Writes{store.Replace(key, item.Doc, item.Version)})
		return err
	})
	if err != nil {
		return err
	}
	return o.applier.Decide(ctx, batch, model.MoveDone{Task: move.Task})
}
