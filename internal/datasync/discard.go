package datasync

import (
	"context"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/schedule"
	"github.com/matoolkit/matoolkit/internal/store"
)

// DiscardAdditions discards the held additions of a revision: the people are added to no batch until the
// query has not returned them, and then returns them again. Others whom the query returns are added, or
// held, as before. Confirming the same revision takes it back. Discarding a revision again changes nothing.
//
// Errors: CodeNotFound; CodeInvalid for a revision that is missing or malformed; CodeConflict where no
// additions or others are held, or these are confirmed; CodeUnavailable.
func (s *Syncer) DiscardAdditions(ctx context.Context, by audit.Caller, name, revision, why string) (api.AdditionsDiscard, error) {
	if err := checkDecision(revision, why); err != nil {
		return api.AdditionsDiscard{}, err
	}
	var view api.AdditionsDiscard
	err := store.RetryOnConflict(ctx, func() (err error) {
		view, err = s.discardAdditions(ctx, by, name, revision, why)
		return err
	})
	return view, err
}

// discardAdditions discards additions as the store has them. It fails with ErrExists or ErrChanged where
// another process sets the automation, or a sync ends, at the same time.
func (s *Syncer) discardAdditions(ctx context.Context, by audit.Caller, name, revision, why string) (api.AdditionsDiscard, error) {
	last, setting, err := s.readAdditions(ctx, name)
	if err != nil {
		return api.AdditionsDiscard{}, err
	}
	earlier := setting.Doc.Discarded
	held := last.Doc.Additions
	if setting.Doc.IsDiscarded(revision, held) {
		return *apiview.AdditionsDiscard(name, earlier), nil
	}
	if err := refuseDiscard(name, held, &setting.Doc, revision); err != nil {
		return api.AdditionsDiscard{}, err
	}
	now := s.now().UTC()
	next := setting.Doc
	discarded := store.DiscardedAdditions{Revision: revision, People: held.People, Lists: []string{held.List}, By: model.Attribution{By: by.Name, At: now, Why: why}}
	if earlier != nil && !earlier.Withdrawn {
		discarded.People += earlier.People
		discarded.Lists = slices.Concat(earlier.Lists, discarded.Lists)
	}
	next.Runbook, next.Discarded = name, &discarded
	// The sync that replaces the list deletes its pages once the record names another. So the record is
	// written as it was read: a discard after the end of that sync fails here.
	same := store.Replace(store.SyncKey(name), last.Doc, last.Version)
	_, err = s.store.Apply(ctx, store.Writes{same, writeAutomation(setting, next), s.audit.Record(store.AuditRecord{
		At: now, Actor: by.Actor(), Action: api.ActionDiscardAdditions, Runbook: name, Why: why,
		Before: additionHoldState(held, revision).JSON(), After: audit.State{"discarded": discarded.People}.JSON(),
	})})
	if err != nil {
		return api.AdditionsDiscard{}, err
	}
	s.log.InfoContext(ctx, "additions discarded", logkey.Runbook, name, logkey.Revision, revision, logkey.Members, held.People, logkey.By, by.Name)
	return *apiview.AdditionsDiscard(name, next.Discarded), nil
}

// PreviewDiscard gives the effect of a discard of held additions, and changes nothing. Errors: those of
// DiscardAdditions.
func (s *Syncer) PreviewDiscard(ctx context.Context, name, revision, why string) (api.Preview, error) {
	if err := checkDecision(revision, why); err != nil {
		return api.Preview{}, err
	}
	last, setting, err := s.readAdditions(ctx, name)
	if err != nil {
		return api.Preview{}, err
	}
	held := last.Doc.Additions
	if err := refuseDiscard(name, held, &setting.Doc, revision); err != nil {
		return api.Preview{}, err
	}
	return api.Preview{
		Runbook: name, Action: api.ActionDiscardAdditions, Members: held.People, Phases: []api.PhasePreview{},
		WayBack: "Confirm the additions with the same revision.",
	}, nil
}

// checkDecision refuses a decision on additions whose revision or reason is not valid.
func checkDecision(revision, why string) error {
	if err := audit.CheckReason(why); err != nil {
		return err
	}
	if !additionsRevision.MatchString(revision) {
		return invalidRevision(revision)
	}
	return nil
}

// refuseDiscard refuses to discard additions that are not held with this revision, or confirmed; nil
// otherwise.
func refuseDiscard(name string, held *store.HeldAdditions, setting *store.Automation, revision string) error {
	switch {
	case held == nil || setting.DiscardedList(held.List):
		return problem.New(api.CodeConflict, "runbook %q holds no additions: there is nothing to discard", name)
	case held.Revision != revision:
		return problem.New(api.CodeConflict, "the held additions of runbook %q have changed: review them again (revision %s)", name, held.Revision)
	case setting.Confirmed(revision):
		return problem.New(api.CodeConflict, "the additions of runbook %q were confirmed by %s: the next tick adds the people. Remove them from the data source, or later from their batches", name, setting.Additions.By.By)
	}
	return nil
}

// loadDiscarded gives the people whose addition was discarded, by key.
func (s *syncRun) loadDiscarded(ctx context.Context, setting *store.Automation) (people []store.HeldAddition, err error) {
	if d := setting.Discarded; d == nil || d.Withdrawn {
		return nil, nil
	}
	pages, err := s.syncer.store.AdditionsPages(ctx, s.name)
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		if setting.DiscardedList(page.Doc.List) {
			people = append(people, page.Doc.People...)
		}
	}
	slices.SortFunc(people, func(p, q store.HeldAddition) int { return strings.Compare(p.Key, q.Key) })
	return slices.CompactFunc(people, func(p, q store.HeldAddition) bool { return p.Key == q.Key }), nil
}

// discardedPeople are the people whose addition stays discarded, with what the setting has of them.
type discardedPeople struct {
	people    []store.HeldAddition
	discarded *store.DiscardedAdditions // nil for none
}

// stillDiscarded gives those of the discarded people whom the query still returns, in one list, and whether
// that differs from what the setting has. A result from which nothing follows about absent people changes nothing.
func (s *syncRun) stillDiscarded(setting *store.Automation, all []store.HeldAddition) (still discardedPeople, changed bool) {
	was := setting.Discarded
	if was == nil {
		return still, false
	}
	if !s.result.Complete() { // the person's row may be there
		return still, false
	}
	still.people = slices.DeleteFunc(slices.Clone(all), func(p store.HeldAddition) bool { return !s.result.Has(p.Key) })
	if !was.Withdrawn && len(still.people) == was.People && len(was.Lists) == 1 {
		return still, false
	}
	if len(still.people) > 0 {
		next := *was
		next.People, next.Lists = len(still.people), []string{discardedListID(still.people)}
		still.discarded = &next
	}
	return still, true
}

// discardedListID identifies a list of people whose addition was discarded. It differs from the id of the
// same people as held additions, whose pages a tick deletes.
func discardedListID(people []store.HeldAddition) string {
	list := make([]schedule.Addition, len(people)+1) // the empty one in front
	for i, p := range people {
		list[i+1] = schedule.Addition{Key: p.Key, Start: p.Start}
	}
	return listID(list)
}
