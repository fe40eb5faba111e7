package admin

import (
	"cmp"
	"context"
	"slices"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/store"
)

// maxExamples is how many members an error group names.
const maxExamples = 5

// Errors groups the errors of a batch's failed members. It records first that the caller read them.
// Errors: CodeNotFound; CodeUnavailable.
func (a *Admin) Errors(ctx context.Context, by audit.Caller, batch int) (api.BatchErrors, error) {
	if _, err := a.applier.ReadBatch(ctx, batch); err != nil {
		return api.BatchErrors{}, err
	}
	members, err := a.store.FailedMembers(ctx, batch)
	if err != nil {
		return api.BatchErrors{}, err
	}
	if err := a.audit.RecordRead(ctx, by, store.AuditRecord{Action: api.ActionReadMembers, Batch: batch}); err != nil {
		return api.BatchErrors{}, err
	}
	return groupErrors(members), nil
}

// groupErrors groups failed members, given in any order.
func groupErrors(members []store.FailedMember) api.BatchErrors {
	type where struct{ phase, step, status, group string }
	groups := map[where]*api.ErrorGroup{}
	slices.SortFunc(members, func(x, y store.FailedMember) int { return cmp.Compare(x.ID, y.ID) })
	for _, m := range members {
		w := where{m.FailedIn, m.FailedStep, string(m.FailedAs), membership.ErrorGroup(m)}
		g := groups[w]
		if g == nil {
			g = &api.ErrorGroup{ErrorGroup: w.group, Phase: w.phase, Step: w.step, Status: w.status, Examples: []api.ErrorExample{}}
			groups[w] = g
		}
		g.Count++
		if len(g.Examples) < maxExamples {
			g.Examples = append(g.Examples, api.ErrorExample{ID: m.ID, Key: m.Key, Error: membership.StepError(m)})
		}
		if at := m.FailedAt; at != nil {
			if g.FirstAt.IsZero() || at.Before(g.FirstAt) {
				g.FirstAt = *at
			}
			if at.After(g.LastAt) {
				g.LastAt = *at
			}
		}
	}
	all := api.BatchErrors{Groups: []api.ErrorGroup{}, Members: len(members)}
	for _, g := range groups {
		all.Groups = append(all.Groups, *g)
	}
	slices.SortFunc(all.Groups, func(x, y api.ErrorGroup) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.Phase, y.Phase), cmp.Compare(x.Step, y.Step), cmp.Compare(x.ErrorGroup, y.ErrorGroup))
	})
	all.Groups = all.Groups[:min(len(all.Groups), api.MaxErrorGroups)]
	return all
}
