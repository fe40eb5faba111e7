package datasync

import (
	"context"
	"errors"
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

// Automation tells how a runbook's automation stands. That somebody read it is recorded
// first where rows that were not used name members. Errors: CodeNotFound,
// CodeUnavailable.
func (sy *Syncer) Automation(ctx context.Context, by audit.Caller, name string) (api.Automation, error) {
	head, err := sy.runbooks.Head(ctx, name)
	if err != nil {
		return api.Automation{}, err
	}
	setting, err := store.OrNone(store.Read[store.Automation](ctx, sy.store, store.AutomationKey(name)))
	if err != nil {
		return api.Automation{}, err
	}
	view, err := sy.automationView(ctx, head.Doc, setting)
	if err == nil && slices.ContainsFunc(view.Problems, func(p api.RowProblem) bool { return p.Key != "" }) {
		err = sy.audit.RecordRead(ctx, by, store.AuditRecord{Action: api.ActionReadProblems, Runbook: head.Doc.Name})
	}
	if err != nil {
		return api.Automation{}, err
	}
	return view, nil
}

// SetAutomation turns the making of new batches on or off. Batches that are there
// follow the data source either way. What is so already is left as it is, with who
// made it so. Where tags are given, only a setting that is still at one of them is
// changed. Errors: CodeNotFound; CodeConflict where the runbook has no query, and for
// turning it on where no version is active; CodeChanged.
func (sy *Syncer) SetAutomation(ctx context.Context, by audit.Caller, name string, enabled bool, tags ...string) (api.Automation, error) {
	return sy.setAutomation(ctx, by, name, enabled, "", tags)
}

// EnableAutomation turns the making of new batches on and confirms, in the same write, the
// additions of a revision: that of a preview, so that the first tick makes the batches
// whose additions it would hold otherwise. Errors: those of SetAutomation; CodeInvalid for
// a malformed revision; CodeConflict when a tick has held other additions since automation
// is on.
func (sy *Syncer) EnableAutomation(ctx context.Context, by audit.Caller, name, revision string, tags ...string) (api.Automation, error) {
	if !additionsRevision.MatchString(revision) {
		return api.Automation{}, invalidRevision(revision)
	}
	return sy.setAutomation(ctx, by, name, true, revision, tags)
}

// setAutomation writes the setting, and a confirmation where a revision is given.
func (sy *Syncer) setAutomation(ctx context.Context, by audit.Caller, name string, enabled bool, revision string, tags []string) (api.Automation, error) {
	for {
		head, err := sy.runbooks.Head(ctx, name)
		if err != nil {
			return api.Automation{}, err
		}
		was, err := store.OrNone(store.Read[store.Automation](ctx, sy.store, store.AutomationKey(name)))
		if err != nil {
			return api.Automation{}, err
		}
		if err := sy.automatable(ctx, head.Doc, was.Doc.Enabled, enabled); err != nil {
			return api.Automation{}, err
		}
		if err := sy.confirmable(ctx, name, &was.Doc, revision); err != nil {
			return api.Automation{}, err
		}
		next := was.Doc
		sets := was.ETag == "" || was.Doc.Enabled != enabled
		if confirms := revision != "" && !was.Doc.Confirmed(revision); sets || confirms {
			if !apiview.Matches(tags, apiview.ETag(was.ETag)) {
				return api.Automation{}, problem.New(api.CodeChanged, "somebody has set the automation of runbook %q meanwhile: look at it again", name)
			}
			now := sy.now().UTC()
			next.Runbook, next.Enabled = name, enabled
			switch {
			case sets && enabled:
				next.EnabledAt, next.EnabledBy = &now, by.Name
			case sets:
				next.DisabledAt, next.DisabledBy = &now, by.Name
			}
			if confirms {
				next.Additions = &store.ConfirmedAdditions{Revision: revision, Mark: model.Mark{By: by.Name, At: now}}
			}
			write := store.Create(store.AutomationKey(name), next)
			if was.ETag != "" {
				write = store.Replace(store.AutomationKey(name), next, was.Version)
			}
			applied, err := sy.store.Apply(ctx, store.Writes{write, sy.audit.Record(automationSet(by, was.Doc, next, now))})
			if errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrExists) {
				continue
			}
			if err != nil {
				return api.Automation{}, err
			}
			was.Version = applied.Version(0)
			sy.log.InfoContext(ctx, "automation set", logkey.Runbook, name, logkey.Enabled, enabled, logkey.Revision, revision, logkey.By, by.Name)
		}
		was.Doc = next
		view, err := sy.automationView(ctx, head.Doc, was)
		if err != nil {
			return api.Automation{}, err
		}
		return view, nil
	}
}

// automationSet makes the audit record of a setting, and of the additions that it confirms.
func automationSet(by audit.Caller, was, next store.Automation, now time.Time) store.AuditRecord {
	r := store.AuditRecord{At: now, Actor: by.Actor(), Action: "disable-automation", Runbook: next.Runbook}
	before, after := audit.Facts{"automationEnabled": was.Enabled}, audit.Facts{"automationEnabled": next.Enabled}
	if next.Enabled {
		r.Action = "enable-automation"
	}
	if c := next.Additions; c != nil && !was.Confirmed(c.Revision) {
		if after["revision"] = c.Revision; was.Enabled {
			r.Action = "confirm-additions"
		}
	}
	r.Before, r.After = before.JSON(), after.JSON()
	return r
}

// automatable tells why a runbook's automation cannot be set: nil where it can.
func (sy *Syncer) automatable(ctx context.Context, head store.RunbookHead, was, enabled bool) error {
	if head.Active == 0 {
		if enabled && !was {
			return problem.New(api.CodeConflict, "no version of runbook %q is active: publish one, and then turn automation on", head.Name)
		}
		return nil
	}
	rb, err := sy.runbooks.Load(ctx, head.Name, head.Active)
	if err != nil {
		return err
	}
	if !rb.DataSource.Queried() && (enabled || !was) {
		return problem.New(api.CodeConflict, "the members of runbook %q are uploaded: it has no data source that batches could be made from", head.Name)
	}
	return nil
}

func (sy *Syncer) automationView(ctx context.Context, head store.RunbookHead, item store.Item[store.Automation]) (api.Automation, error) {
	last, err := store.OrNone(store.Read[store.SyncRecord](ctx, sy.store, store.SyncKey(head.Name)))
	if err != nil {
		return api.Automation{}, err
	}
	s, setting := last.Doc, item.Doc
	view := api.Automation{
		RunbookName: head.Name, ETag: apiview.ETag(item.ETag), Enabled: setting.Enabled, EnabledAt: setting.EnabledAt, EnabledBy: setting.EnabledBy,
		DisabledAt: setting.DisabledAt, DisabledBy: setting.DisabledBy,
		LastRunAt: s.LastRunAt, LastGoodAt: s.LastGoodAt, LastError: s.LastError, LastErrorAt: s.LastErrorAt,
		Milliseconds: s.Milliseconds, Rows: s.Rows, ProblemCount: s.ProblemCount, Problems: rowProblems(s.Problems),
	}
	if head.Active == 0 {
		view.Idle = "no version of the runbook is active: no batches are made, and those under way go on without following the data source. Publish a version to have both again"
	}
	view.Additions = apiview.AdditionHold(&s, &setting)
	view.Held, err = sy.members.RemovalHolds(ctx, s.Held)
	return view, err
}

func rowProblems(problems []schedule.Problem) []api.RowProblem {
	var out []api.RowProblem
	for _, p := range problems {
		out = append(out, api.RowProblem{Row: p.Row, Key: p.Key, Column: p.Column, Code: p.Code, Message: p.Message})
	}
	return out
}
