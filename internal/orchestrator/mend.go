package orchestrator

import (
	"context"
	"errors"
	"strconv"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// mend does again what follows from a step's having been resolved.
func (or *Orchestrator) mend(ctx context.Context, b *model.Batch, m message.BatchWork) (more bool, err error) {
	id, err := strconv.ParseInt(m.Task, 10, 64)
	if err != nil {
		return false, message.Reject("the task %q is no step execution", m.Task)
	}
	phase, member, index, err := model.ParseStepID(id)
	if err != nil {
		return false, message.Reject("%v", err)
	}
	run, err := store.Read[model.Run](ctx, or.store, store.RunKey(b.ID, phase, member))
	if errors.Is(err, store.ErrNotFound) || err == nil && (index >= len(run.Doc.Steps) || run.Doc.Steps[index].Resolved == nil) {
		return false, nil // it was refused
	}
	if err != nil {
		return false, err
	}
	if run.Doc.Status == model.RunWaiting {
		err = or.members.StartIfNext(ctx, &run.Doc)
	} else {
		err = or.applier.Decide(ctx, b.ID, model.OnRun{Phase: phase, Member: member, RunEvent: model.RunMended{}})
	}
	if err != nil {
		return false, err
	}
	return false, or.relistReopened(ctx, b.ID)
}
