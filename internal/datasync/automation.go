package datasync

import (
	"context"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/schedule"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Automation gives the automation of a runbook with the result of its last sync. Where problems of
// rows name members, it records first that the caller read them. Errors: CodeNotFound,
// CodeUnavailable.
func (s *Syncer) Automation(ctx context.Context, by audit.Caller, name string) (api.Automation, error) {
	head, setting, err := s.readAutomation(ctx, name)
	if err != nil {
		return api.Automation{}, err
	}
	view, err := s.automationView(ctx, head, setting)
	if err == nil && slices.ContainsFunc(view.Problems, func(p api.RowProblem) bool { return p.Key != "" }) {
		err = s.audit.RecordRead(ctx, by, store.AuditRecord{Action: api.ActionReadProblems, Runbook: head.Name})
	}
	if err != nil {
		return api.Automation{}, err
	}
	return view, nil
}

// SetAutomation turns on or off that a runbook's data source creates new batches. Batches that exist
// follow the data source either way. A setting that is so already stays as it is, with the caller
// who set it. With tags, it changes the setting only if it has one of these ETags. Errors:
// CodeNotFound; CodeConflict where the runbook has no query, and for turning automation on where
// no version is active; CodeChanged.
func (s *Syncer) SetAutomation(ctx context.Context, by audit.Caller, name string, enabled bool, tags ...string) (api.Automation, error) {
	return s.setAutomation(ctx, by, name, automationChange{enabled: enabled}, tags)
}

// EnableAutomation turns automation on and confirms, in the same write, the additions of a
// revision: that of a preview, so that the first tick creates the batches whose additions it would
// hold otherwise. Errors: those of SetAutomation; CodeInvalid for a malformed revision; CodeConflict
// where a tick has held other additions since automation is on.
func (s *Syncer) EnableAutomation(ctx context.Context, by audit.Caller, name, revision string, tags ...string) (api.Automation, error) {
	if !additionsRevision.MatchString(revision) {
		return api.Automation{}, invalidRevision(revision)
	}
	return s.setAutomation(ctx, by, name, automationChange{enabled: true, revision: revision}, tags)
}

// automationChange is a change of a runbook's automation.
type automationChange struct {
	enabled  bool
	revision string // of additions to confirm; empty for none
}

// sets reports whether the change turns automation on or off, or stores the setting for the first
// time.
func (c automationChange) sets(was store.Item[store.Automation]) bool {
	return was.ETag == "" || was.Doc.Enabled != c.enabled
}

// confirms reports whether the change confirms additions that are not confirmed yet.
func (c automationChange) confirms(was store.Item[store.Automation]) bool {
	return c.revision != "" && !was.Doc.Confirmed(c.revision)
}

// next gives the setting after the change. Held are the additions that are held; nil for none.
func (c automationChange) next(was store.Item[store.Automation], held *store.HeldAdditions, name string, by audit.Caller, now time.Time) store.Automation {
	next := was.Doc
	next.Runbook, next.Enabled = name, c.enabled
	switch {
	case c.sets(was) && c.enabled:
		next.EnabledAt, next.EnabledBy = &now, by.Name
	case c.sets(was):
		next.DisabledAt, next.DisabledBy = &now, by.Name
	}
	if c.confirms(was) {
		next.Confirm(store.ConfirmedAdditions{Revision: c.revision, By: model.Attribution{By: by.Name, At: now}}, held)
	}
	return next
}

// setAutomation applies a change, if the setting has one of the tags or none are given.
func (s *Syncer) setAutomation(ctx context.Context, by audit.Caller, name string, c automationChange, tags []string) (api.Automation, error) {
	var view api.Automation
	err := store.RetryOnConflict(ctx, func() (err error) {
		view, err = s.applyAutomation(ctx, by, name, c, tags)
		return err
	})
	return view, err
}

// applyAutomation applies a change to the setting as it is in the store. It fails with ErrExists or
// ErrChanged where another process changes the setting at the same time.
func (s *Syncer) applyAutomation(ctx context.Context, by audit.Caller, name string, c automationChange, tags []string) (api.Automation, error) {
	head, setting, err := s.readAutomation(ctx, name)
	if err != nil {
		return api.Automation{}, err
	}
	if err := s.checkAutomation(ctx, head, setting.Doc.Enabled, c.enabled); err != nil {
		return api.Automation{}, err
	}
	held, err := s.checkRevision(ctx, name, &setting.Doc, c.revision)
	if err != nil {
		return api.Automation{}, err
	}
	if c.sets(setting) || c.confirms(setting) {
		if !apiview.Matches(tags, apiview.ETag(setting.ETag)) {
			return api.Automation{}, problem.New(api.CodeChanged, "the automation of runbook %q has changed since you read it: read it again", name)
		}
		now := s.now().UTC()
		next := c.next(setting, held, name, by, now)
		applied, err := s.store.Apply(ctx, store.Writes{writeAutomation(setting, next), s.audit.Record(automationRecord(by, setting.Doc, next, now))})
		if err != nil {
			return api.Automation{}, err
		}
		setting.Doc, setting.Version = next, applied.Version(0)
		s.log.InfoContext(ctx, "automation changed", logkey.Runbook, name, logkey.Enabled, c.enabled, logkey.Revision, c.revision, logkey.By, by.Name)
	}
	view, err := s.automationView(ctx, head, setting)
	if err != nil {
		return api.Automation{}, err
	}
	return view, nil
}

// readAutomation reads a runbook and its automation, which has no ETag where it was never set.
func (s *Syncer) readAutomation(ctx context.Context, name string) (store.RunbookHead, store.Item[store.Automation], error) {
	head, err := s.runbooks.Head(ctx, name)
	if err != nil {
		return store.RunbookHead{}, store.Item[store.Automation]{}, err
	}
	setting, err := store.OrNone(store.Read[store.Automation](ctx, s.store, store.AutomationKey(name)))
	return head.Doc, setting, err
}

// writeAutomation stores a runbook's automation in place of the one that was read.
func writeAutomation(read store.Item[store.Automation], next store.Automation) store.Write {
	if read.ETag == "" {
		return store.Create(store.AutomationKey(next.Runbook), next)
	}
	return store.Replace(store.AutomationKey(next.Runbook), next, read.Version)
}

// automationRecord gives the audit record of a setting, and of the additions that it confirms.
func automationRecord(by audit.Caller, was, next store.Automation, now time.Time) store.AuditRecord {
	r := store.AuditRecord{At: now, Actor: by.Actor(), Action: "disable_automation", Runbook: next.Runbook}
	before, after := audit.State{"automationEnabled": was.Enabled}, audit.State{"automationEnabled": next.Enabled}
	if next.Enabled {
		r.Action = "enable_automation"
	}
	if c := next.Additions; c != nil && !was.Confirmed(c.Revision) {
		if after["revision"] = c.Revision; was.Enabled {
			r.Action = "confirm_additions"
		}
	}
	r.Before, r.After = before.JSON(), after.JSON()
	return r
}

// checkAutomation refuses a setting that the runbook cannot have.
func (s *Syncer) checkAutomation(ctx context.Context, head store.RunbookHead, was, enabled bool) error {
	if head.Active == 0 {
		if enabled && !was {
			return problem.New(api.CodeConflict, "no version of runbook %q is active: publish one before you enable automation", head.Name)
		}
		return nil
	}
	rb, err := s.runbooks.Load(ctx, head.Name, head.Active)
	if err != nil {
		return err
	}
	if !rb.DataSource.Queried() && (enabled || !was) {
		return problem.New(api.CodeConflict, "runbook %q has no data source: its members are uploaded", head.Name)
	}
	return nil
}

// automationView gives a runbook's automation with the result of its last sync.
func (s *Syncer) automationView(ctx context.Context, head store.RunbookHead, item store.Item[store.Automation]) (api.Automation, error) {
	last, err := store.OrNone(store.Read[store.SyncRecord](ctx, s.store, store.SyncKey(head.Name)))
	if err != nil {
		return api.Automation{}, err
	}
	state, setting := last.Doc, item.Doc
	view := api.Automation{
		RunbookName: head.Name, ETag: apiview.ETag(item.ETag), Enabled: setting.Enabled, EnabledAt: setting.EnabledAt, EnabledBy: setting.EnabledBy,
		DisabledAt: setting.DisabledAt, DisabledBy: setting.DisabledBy,
		LastRunAt: state.LastRunAt, LastGoodAt: state.LastGoodAt, LastError: state.LastError, LastErrorAt: state.LastErrorAt,
		Milliseconds: state.Milliseconds, Rows: state.Rows, ProblemCount: state.ProblemCount, Problems: rowProblems(state.Problems),
	}
	if head.Active == 0 {
		view.Idle = "no version of the runbook is active, so no batches are created and open batches do not follow the data source. Publish a version to resume"
	}
	view.Additions = apiview.AdditionHold(&state, &setting)
	view.Discarded = apiview.AdditionsDiscard(head.Name, setting.Discarded)
	view.Held, err = s.members.RemovalHolds(ctx, state.Held)
	return view, err
}

func rowProblems(problems []schedule.Problem) []api.RowProblem {
	var out []api.RowProblem
	for _, p := range problems {
		out = append(out, api.RowProblem{Row: p.Row, Key: p.Key, Column: p.Column, Code: p.Code, Message: p.Message})
	}
	return out
}
