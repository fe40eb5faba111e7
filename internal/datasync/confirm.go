package datasync

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

// ConfirmAdditions confirms additions by their revision: the next tick adds the people whom the
// query returns with this revision, and no others. It is the revision of the held additions; where
// none are held, or automation is off, it can be that of a preview, so that an administrator can
// confirm a first fill before turning automation on. The revision of additions that were discarded takes
// that back, of these and earlier ones. Confirming a revision again changes nothing.
//
// Errors: CodeNotFound; CodeInvalid for a revision that is missing or malformed; CodeConflict where
// other additions are held, or the runbook has no query; CodeUnavailable.
func (s *Syncer) ConfirmAdditions(ctx context.Context, by audit.Caller, name, revision, why string) (api.AdditionsConfirmation, error) {
	if err := checkDecision(revision, why); err != nil {
		return api.AdditionsConfirmation{}, err
	}
	var view api.AdditionsConfirmation
	err := store.RetryOnConflict(ctx, func() (err error) {
		view, err = s.confirmAdditions(ctx, by, name, revision, why)
		return err
	})
	return view, err
}

// confirmAdditions confirms additions as the store has them. It fails with ErrExists or ErrChanged
// where another process sets the automation at the same time.
func (s *Syncer) confirmAdditions(ctx context.Context, by audit.Caller, name, revision, why string) (api.AdditionsConfirmation, error) {
	_, last, setting, err := s.confirmable(ctx, name, revision)
	if err != nil {
		return api.AdditionsConfirmation{}, err
	}
	if setting.Doc.Confirmed(revision) {
		return confirmationView(name, setting.Doc.Additions), nil
	}
	now := s.now().UTC()
	next := setting.Doc
	next.Runbook = name
	next.Confirm(store.ConfirmedAdditions{Revision: revision, By: model.Attribution{By: by.Name, At: now, Why: why}}, last.Doc.Additions)
	state := additionHoldState(last.Doc.Additions, revision)
	_, err = s.store.Apply(ctx, store.Writes{writeAutomation(setting, next), s.audit.Record(store.AuditRecord{
		At: now, Actor: by.Actor(), Action: api.ActionConfirmAdditions, Runbook: name, Why: why, After: state.JSON(),
	})})
	if err != nil {
		return api.AdditionsConfirmation{}, err
	}
	s.log.InfoContext(ctx, "additions confirmed", logkey.Runbook, name, logkey.Revision, revision, logkey.By, by.Name)
	return confirmationView(name, next.Additions), nil
}

// confirmable reads what a confirmation depends on, and refuses one that is not possible.
func (s *Syncer) confirmable(ctx context.Context, name, revision string) (rb *runbook.Runbook, last store.Item[store.SyncRecord], setting store.Item[store.Automation], err error) {
	if _, rb, err = s.runbooks.Active(ctx, name); err != nil {
		return rb, last, setting, err
	}
	if !rb.DataSource.Queried() {
		return rb, last, setting, problem.New(api.CodeConflict, "runbook %q has no query: its members are uploaded, and no additions are held", name)
	}
	if last, setting, err = s.readAdditions(ctx, name); err == nil {
		err = refuseOther(&last.Doc, &setting.Doc, revision)
	}
	return rb, last, setting, err
}

// PreviewAdditions gives the effect of a confirmation of held additions, or of discarded ones, and changes
// nothing. Errors: those of ConfirmAdditions; CodeConflict where there are none.
func (s *Syncer) PreviewAdditions(ctx context.Context, name, revision, why string) (api.Preview, error) {
	if err := checkDecision(revision, why); err != nil {
		return api.Preview{}, err
	}
	rb, last, setting, err := s.confirmable(ctx, name, revision)
	if err != nil {
		return api.Preview{}, err
	}
	people, given := waiting(last.Doc.Additions, &setting.Doc, revision)
	if !given {
		return api.Preview{}, problem.New(api.CodeConflict, "runbook %q holds no additions with the revision %s; the query preview shows what the next sync adds", name, revision)
	}
	v := api.Preview{
		Runbook: name, Action: api.ActionConfirmAdditions, Members: people,
		WayBack: "Remove the people from the data source again, or the members from their batches.",
	}
	v.Phases, v.Jobs = apiview.Joins(rb, people, func(string) bool { return true })
	if !setting.Doc.Enabled {
		v.Warnings = append(v.Warnings, "the automation is off: the people are added once it is on")
	}
	return v, nil
}

// waiting counts the people whose addition a confirmation of a revision lets through: they are held, or
// were discarded.
func waiting(held *store.HeldAdditions, setting *store.Automation, revision string) (people int, given bool) {
	switch {
	case setting.IsDiscarded(revision, held):
		return setting.Discarded.People, true
	case held != nil && held.Revision == revision:
		return held.People, true
	}
	return 0, false
}

func invalidRevision(revision string) error {
	return problem.New(api.CodeInvalid, "invalid revision %q: use the revision of the held additions or of the query preview", clip(revision))
}

// checkRevision refuses a revision where other additions are held, and gives those that are; nil for none.
// An empty revision confirms nothing.
func (s *Syncer) checkRevision(ctx context.Context, name string, setting *store.Automation, revision string) (*store.HeldAdditions, error) {
	if revision == "" {
		return nil, nil
	}
	last, err := store.OrNone(store.Read[store.SyncRecord](ctx, s.store, store.SyncKey(name)))
	if err != nil {
		return nil, err
	}
	return last.Doc.Additions, refuseOther(&last.Doc, setting, revision)
}

// refuseOther refuses a revision where a tick has held another one since automation is on.
// Additions that a tick held before have a revision that no preview shows.
func refuseOther(last *store.SyncRecord, setting *store.Automation, revision string) error {
	held := last.Additions
	if held == nil || held.Revision == revision || !setting.Enabled {
		return nil
	}
	if last.LastRunAt != nil && setting.EnabledAt != nil && last.LastRunAt.Before(*setting.EnabledAt) {
		return nil
	}
	return problem.New(api.CodeConflict, "the held additions of runbook %q have changed: review them again (revision %s)", setting.Runbook, held.Revision)
}

func confirmationView(name string, c *store.ConfirmedAdditions) api.AdditionsConfirmation {
	return api.AdditionsConfirmation{RunbookName: name, Revision: c.Revision, Confirmed: apiview.Attribution(&c.By)}
}

// additionHoldState returns the state of the additions of a confirmation for its audit record.
func additionHoldState(held *store.HeldAdditions, revision string) audit.State {
	f := audit.State{"revision": revision}
	if held != nil {
		f["held"], f["of"] = held.People, held.Of
	}
	return f
}
