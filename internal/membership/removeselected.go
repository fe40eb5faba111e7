package membership

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// SelectsForRemoval reports whether a removal selects a member: one who was not removed.
func SelectsForRemoval(b *model.Batch, s api.Selection, m *model.Member) bool {
	return m.Status != model.MemberRemoved && matchesRemoval(s, m, apiview.MemberStatus(b, m))
}

func matchesRemoval(s api.Selection, m *model.Member, status string) bool {
	return (len(s.Members) == 0 || slices.Contains(s.Members, m.ID)) &&
		(s.Status == "" || s.Status == status) &&
		(s.Search == "" || strings.Contains(m.Search, model.FoldText(s.Search)))
}

// Removals are the outcome of RemoveSelected.
type Removals struct {
	Removed int                 // also by an earlier call with the same task
	Refused []store.TaskRefusal // by member
}

// RemoveSelected removes those of the members whom a task selects. A call with the same members and
// task later removes no one twice, and has the same outcome.
func (r *Registrar) RemoveSelected(ctx context.Context, b *model.Batch, members []store.Item[model.Member], task *store.Task) (out Removals, err error) {
	s := api.Selection(task.Selection)
	var leaving []int
	for _, m := range members {
		switch {
		case SelectsForRemoval(b, s, &m.Doc) && !m.Doc.AddedAt.After(task.By.At):
			leaving = append(leaving, m.Doc.ID)
		case removedBy(task, &m.Doc) && matchesRemoval(s, &m.Doc, s.Status):
			out.Removed++
		}
	}
	refused := map[int]store.TaskRefusal{}
	leave := Leave{By: taskCaller(task), Why: task.By.Why, Chosen: true, OnRefused: func(m *model.Member, reason string) {
		refused[m.ID] = store.TaskRefusal{Member: m.ID, Key: m.Key, Reason: reason}
	}}
	if _, err := r.RemoveMembers(ctx, b.ID, leaving, leave); err != nil {
		return out, err
	}
	out.Removed += len(leaving) - len(refused)
	for _, id := range slices.Sorted(maps.Keys(refused)) {
		out.Refused = append(out.Refused, refused[id])
	}
	return out, nil
}

// removedBy reports whether a member was removed by the caller of a task since its request.
func removedBy(task *store.Task, m *model.Member) bool {
	return m.Status == model.MemberRemoved && m.RemovedAt != nil && !m.RemovedAt.Before(task.By.At) && m.RemovedBy == task.By.By
}

// taskCaller gives the caller who requested a task.
func taskCaller(task *store.Task) audit.Caller {
	by := audit.Caller{Name: task.By.By}
	if a := task.Actor; a != nil {
		by.Kind, by.TenantID, by.ObjectID = api.ActorKind(a.Kind), a.TenantID, a.ObjectID
	}
	return by
}
