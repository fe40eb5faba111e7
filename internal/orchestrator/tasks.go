package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// maxRefusals is how many of the members whom a task leaves as they are the task names.
const maxRefusals = 50

// taskOutcome counts the effects of a task on one page.
type taskOutcome struct {
	finished int
	refusals []store.TaskRefusal
}

// taskRefusal is the outcome for a member whom the engine refuses to change.
type taskRefusal struct{ store.TaskRefusal }

func (r *taskRefusal) Error() string { return r.Reason }

// refusals are those among the outcomes for members, by member.
func refusals(outcomes map[int]error) (all []store.TaskRefusal) {
	for _, err := range outcomes {
		if refusal := new(taskRefusal); errors.As(err, &refusal) {
			all = append(all, refusal.TaskRefusal)
		}
	}
	slices.SortFunc(all, func(x, y store.TaskRefusal) int { return cmp.Compare(x.Member, y.Member) })
	return all
}

// taskPage does the work of a task on one page of members, and notes how far the task is. The page of
// the message is the place in the task's order.
func (o *Orchestrator) taskPage(ctx context.Context, b *model.Batch, m message.BatchWork) (more bool, err error) {
	key := store.TaskKey(b.ID, m.Task)
	task, err := store.Read[store.Task](ctx, o.store, key)
	if errors.Is(err, store.ErrNotFound) {
		return false, message.Reject("batch %d has no task %q", b.ID, m.Task)
	}
	if err != nil {
		return false, err
	}
	page, more := task.Doc.Page(m.Page, b.PageCount())
	work := o.retryPage
	if task.Doc.Work == message.WorkRemove {
		work = o.removeSelected
	}
	done, err := work(ctx, b, m.Task, &task.Doc, page)
	if err != nil {
		return false, err
	}
	cancelled := more && b.DispatchMode() == model.Cancelled
	return more && !cancelled, o.noteProgress(ctx, key, m.Page, done, more, cancelled)
}

// noteProgress counts what a task did at a place in its order, once. A delivery that comes again finds
// the place counted: what it repeats has the same outcome.
func (o *Orchestrator) noteProgress(ctx context.Context, key store.Key, place int, done taskOutcome, more, cancelled bool) error {
	return store.RetryOnConflict(ctx, func() error {
		task, err := store.Read[store.Task](ctx, o.store, key)
		if err != nil || task.Doc.Progress.Next > place {
			return err
		}
		p := &task.Doc.Progress
		p.Next, p.Finished = place+1, p.Finished+done.finished
		noteRefusals(p, done.refusals)
		if !more || cancelled {
			now := o.now().UTC()
			p.EndedAt, p.Cancelled = &now, cancelled
		}
		_, err = o.store.Apply(ctx, store.Writes{store.Replace(key, task.Doc, task.Version)})
		return err
	})
}

// noteRefusals counts members whom a task leaves as they are, and names the first of them.
func noteRefusals(p *store.TaskProgress, refused []store.TaskRefusal) {
	p.Refused += len(refused)
	p.Refusals = append(p.Refusals, refused[:min(len(refused), maxRefusals-len(p.Refusals))]...)
}

// removeSelected removes the members of one page whom the task selects.
func (o *Orchestrator) removeSelected(ctx context.Context, b *model.Batch, _ string, task *store.Task, page int) (done taskOutcome, err error) {
	if page == 0 {
		return done, nil // runs without a member
	}
	members, err := o.store.MembersOfPage(ctx, b.ID, page, "")
	if err != nil {
		return done, err
	}
	outcomes, err := o.members.RemoveSelected(ctx, b, members, task)
	if err != nil {
		return done, err
	}
	done.refusals = append(done.refusals, outcomes.Refused...)
	done.finished = outcomes.Removed
	return done, nil
}
