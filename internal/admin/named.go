package admin

import (
	"context"
	"fmt"
	"slices"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/store"
)

// namedPerQuery is how many members one query reads by their numbers.
const namedPerQuery = 200

// loadNamed reads the members that the selection names, by itself or by their steps, and finds their
// pages. Errors: CodeNotFound for one that the batch does not have.
func (f *forecast) loadNamed(ctx context.Context) error {
	s := f.repair.Selection
	ids := slices.Clone(s.Members)
	pages := map[int]bool{}
	for _, step := range s.Steps {
		_, member, _, err := model.ParseStepID(step)
		switch {
		case err != nil:
			return noStep(f.batch.ID, step)
		case member == 0:
			pages[0] = true
		default:
			ids = append(ids, member)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	for chunk := range slices.Chunk(ids, namedPerQuery) {
		found, err := f.admin.store.MembersByID(ctx, f.batch.ID, chunk)
		if err != nil {
			return err
		}
		f.named = append(f.named, found...)
	}
	for i, id := range ids {
		if i >= len(f.named) || f.named[i].Doc.ID != id {
			return problem.New(api.CodeNotFound, "batch %d has no member %d", f.batch.ID, id)
		}
		pages[f.named[i].Doc.Page] = true
	}
	for page := range pages {
		f.pages = append(f.pages, page)
	}
	slices.Sort(f.pages)
	m := f.named
	one := len(m) == 1 && len(s.Members) == 1
	switch {
	case one && f.repair.Action == api.RepairMove:
		return membership.RefuseMemberMove(&f.batch, &m[0].Doc)
	case one && !leaves(f.repair.Action):
		return membership.RefuseMemberRepair(&f.batch, &m[0].Doc, f.repair.Action)
	}
	return nil
}

// refuseUnselected refuses the members that the selection names and that did not fail, or did not fail
// as it says.
func (f *forecast) refuseUnselected(selected []store.FailedMember) {
	for _, m := range f.named {
		if slices.ContainsFunc(selected, func(s store.FailedMember) bool { return s.ID == m.Doc.ID }) {
			continue
		}
		reason := "has not failed: it is " + apiview.MemberStatus(&f.batch, &m.Doc)
		switch {
		case m.Doc.Status == model.MemberFailed && len(f.repair.Selection.Steps) == 0:
			continue // another field does not select the member
		case m.Doc.Status == model.MemberFailed:
			reason = fmt.Sprintf("failed at step %q of phase %q, which the request does not select", m.Doc.FailedStep, m.Doc.FailedIn)
		}
		f.refused = append(f.refused, api.RefusedMember{ID: m.Doc.ID, Key: m.Doc.Key, Reason: reason})
	}
}

// noteMoving counts the phases that a member who moves has finished, or is in.
func (f *forecast) noteMoving(m *model.Member) {
	if f.finished == nil {
		f.finished = map[string]int{}
	}
	done := slices.Concat(m.Carried, m.Finished)
	if m.OpenPhase != 0 {
		f.inPhase++
		if p, ok := f.batch.Phase(m.OpenPhase); ok {
			done = append(done, p.Name)
		}
	}
	slices.Sort(done)
	for _, name := range slices.Compact(done) {
		f.finished[name]++
	}
}

// membersPerRead is how many members of a filter one query reads.
const membersPerRead = 500

// removal gives the effect of a removal, or of a move. It refuses one of no member.
func (f *forecast) removal(ctx context.Context) (api.RepairEffect, error) {
	e := api.RepairEffect{Groups: []api.RepairGroup{}, Refused: []api.RefusedMember{}}
	verb := membership.RepairVerb(f.repair.Action)
	if f.batch.HasEnded() {
		return e, problem.New(api.CodeConflict, "batch %d is %s: no member can be %sd", f.batch.ID, f.batch.Status, verb)
	}
	count := func(items []store.Item[model.Member]) {
		for _, m := range items {
			switch {
			case !membership.SelectsForRemoval(&f.batch, f.repair.Selection, &m.Doc):
				if len(f.named) > 0 {
					f.refused = append(f.refused, api.RefusedMember{ID: m.Doc.ID, Key: m.Doc.Key, Reason: "was removed, or is not as the request selects"})
				}
			case m.Doc.Status == model.MemberFailed:
				f.refused = append(f.refused, api.RefusedMember{ID: m.Doc.ID, Key: m.Doc.Key, Reason: fmt.Sprintf("has failed: to %s it, retry it first", verb)})
			default:
				e.Members++
				f.noteMoving(&m.Doc)
			}
		}
	}
	if count(f.named); len(f.named) == 0 {
		paging := store.Paging{Limit: membersPerRead}
		filter := store.MemberFilter{Text: model.FoldText(f.repair.Selection.Search)}
		if f.repair.Selection.Status != "" {
			filter.Statuses = []model.MemberStatus{model.MemberActive} // also of those who are done
		}
		for more := true; more; more = paging.Continuation != "" {
			page, err := f.admin.store.Members(ctx, f.batch.ID, filter, paging)
			if err != nil {
				return e, err
			}
			count(page.Items)
			paging.Continuation = page.Continuation
		}
	}
	e.RefusedCount = len(f.refused)
	e.Refused = append(e.Refused, f.refused[:min(len(f.refused), maxRefused)]...)
	switch {
	case e.Members > 0:
		return e, f.admin.addDisplay(ctx, &f.batch, e.Refused)
	case len(f.refused) > 0:
		return e, problem.New(api.CodeConflict, "none of the selected members of batch %d can be %sd: %s %s", f.batch.ID, verb, f.refused[0].Key, f.refused[0].Reason)
	}
	return e, problem.New(api.CodeConflict, "no member of batch %d matches %s: there is no one to %s", f.batch.ID, membership.SelectionText(f.repair.Selection), verb)
}
