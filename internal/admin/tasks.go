package admin

import (
	"cmp"
	"context"
	"errors"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Task gives a repair or a removal of many members, and how far it is. Errors: CodeNotFound;
// CodeUnavailable.
func (a *Admin) Task(ctx context.Context, batch int, id string) (api.Task, error) {
	b, err := a.applier.ReadBatch(ctx, batch)
	if err != nil {
		return api.Task{}, err
	}
	t, err := store.Read[store.Task](ctx, a.store, store.TaskKey(batch, id))
	if errors.Is(err, store.ErrNotFound) || err == nil && t.Doc.Work == message.WorkCheck {
		return api.Task{}, problem.New(api.CodeNotFound, "batch %d has no task %q", batch, id)
	}
	if err != nil {
		return api.Task{}, err
	}
	p := t.Doc.Progress
	view := api.Task{
		ID: id, BatchID: batch, Action: cmp.Or(t.Doc.Action, api.RepairRetry), Status: api.TaskRunning, To: t.Doc.To, Selection: api.Selection(t.Doc.Selection),
		Requested: *apiview.Attribution(&t.Doc.By), EndedAt: p.EndedAt, Total: p.Total, Finished: p.Finished, RefusedCount: p.Refused, Refused: []api.RefusedMember{},
	}
	for _, r := range p.Refusals {
		view.Refused = append(view.Refused, api.RefusedMember{ID: r.Member, Key: r.Key, Reason: r.Reason})
	}
	switch {
	case p.EndedAt == nil: // also of a cancelled batch, whose members still move
	case p.Cancelled:
		view.Status = api.TaskCancelled
	default:
		view.Status = api.TaskCompleted
	}
	return view, a.addDisplay(ctx, &b.Doc, view.Refused)
}

// addDisplay gives refused members the value of the display column, which is a read for each of them where
// the batch has one.
func (a *Admin) addDisplay(ctx context.Context, b *model.Batch, refused []api.RefusedMember) error {
	if b.Display == "" || len(refused) == 0 {
		return nil
	}
	secrets, err := a.runbooks.SecretsOf(ctx, b)
	if err != nil {
		return err
	}
	for i, r := range refused {
		if r.ID == 0 {
			continue
		}
		m, err := a.applier.ReadMember(ctx, b.ID, r.ID)
		if err != nil {
			return err
		}
		refused[i].Display = apiview.Display(b, m.Doc.Data[b.Display], secrets)
	}
	return nil
}
