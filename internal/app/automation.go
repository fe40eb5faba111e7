package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/schedule"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Automation tells how a runbook's automation stands. That somebody read it is recorded
// first where rows that were not used name members. Errors: CodeNotFound,
// CodeUnavailable.
func (a *App) Automation(ctx context.Context, by Caller, name string) (api.Automation, error) {
	head, err := a.head(ctx, name)
	if err != nil {
		return api.Automation{}, err
	}
	setting, err := orNone(store.Read[store.Automation](ctx, a.store, store.AutomationKey(name)))
	if err != nil {
		return api.Automation{}, err
	}
	view, err := a.automationView(ctx, head.Doc, setting)
	if err == nil && slices.ContainsFunc(view.Problems, func(p api.RowProblem) bool { return p.Key != "" }) {
		err = a.noteRead(ctx, by, store.AuditRecord{Action: api.ActionReadProblems, Runbook: head.Doc.Name})
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
func (a *App) SetAutomation(ctx context.Context, by Caller, name string, enabled bool, tags ...string) (api.Automation, error) {
	return a.setAutomation(ctx, by, name, enabled, "", tags)
}

// EnableAutomation turns the making of new batches on and confirms, in the same write, the
// additions of a revision: that of a preview, so that the first tick makes the batches
// whose additions it would hold otherwise. Errors: those of SetAutomation; CodeInvalid for
// a malformed revision; CodeConflict when a tick has held other additions since automation
// is on.
func (a *App) EnableAutomation(ctx context.Context, by Caller, name, revision string, tags ...string) (api.Automation, error) {
	if !additionsRevision.MatchString(revision) {
		return api.Automation{}, invalidRevision(revision)
	}
	return a.setAutomation(ctx, by, name, true, revision, tags)
}

// setAutomation writes the setting, and a confirmation where a revision is given.
func (a *App) setAutomation(ctx context.Context, by Caller, name string, enabled bool, revision string, tags []string) (api.Automation, error) {
	for {
		head, err := a.head(ctx, name)
		if err != nil {
			return api.Automation{}, err
		}
		was, err := orNone(store.Read[store.Automation](ctx, a.store, store.AutomationKey(name)))
		if err != nil {
			return api.Automation{}, err
		}
		if err := a.automatable(ctx, head.Doc, was.Doc.Enabled, enabled); err != nil {
			return api.Automation{}, err
		}
		if err := a.confirmable(ctx, name, &was.Doc, revision); err != nil {
			return api.Automation{}, err
		}
		next := was.Doc
		sets := was.ETag == "" || was.Doc.Enabled != enabled
		if confirms := revision != "" && !was.Doc.Confirmed(revision); sets || confirms {
			if !matches(tags, tag(was.ETag)) {
				return api.Automation{}, fail(api.CodeChanged, "somebody has set the automation of runbook %q meanwhile: look at it again", name)
			}
			now := a.now().UTC()
			next.Runbook, next.Enabled = name, enabled
			switch {
			case sets && enabled:
				next.EnabledAt, next.EnabledBy = &now, by.Name
			case sets:
				next.DisabledAt, next.DisabledBy = &now, by.Name
			}
			if confirms {
				next.Additions = &store.ConfirmedAdditions{Revision: revision, Mark: engine.Mark{By: by.Name, At: now}}
			}
			write := store.Create(store.AutomationKey(name), next)
			if was.ETag != "" {
				write = store.Replace(store.AutomationKey(name), next, was.Version)
			}
			applied, err := a.store.Apply(ctx, store.Writes{write, a.auditOp(automationSet(by, was.Doc, next, now))})
			if errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrExists) {
				continue
			}
			if err != nil {
				return api.Automation{}, err
			}
			was.Version = applied.Version(0)
			a.log.InfoContext(ctx, "automation set", logkey.Runbook, name, logkey.Enabled, enabled, logkey.Revision, revision, logkey.By, by.Name)
		}
		was.Doc = next
		view, err := a.automationView(ctx, head.Doc, was)
		if err != nil {
			return api.Automation{}, err
		}
		return view, nil
	}
}

// automationSet makes the audit record of a setting, and of the additions that it confirms.
func automationSet(by Caller, was, next store.Automation, now time.Time) store.AuditRecord {
	r := store.AuditRecord{At: now, Actor: by.actor(), Action: "disable-automation", Runbook: next.Runbook}
	before, after := facts{"automationEnabled": was.Enabled}, facts{"automationEnabled": next.Enabled}
	if next.Enabled {
		r.Action = "enable-automation"
	}
	if c := next.Additions; c != nil && !was.Confirmed(c.Revision) {
		if after["revision"] = c.Revision; was.Enabled {
			r.Action = "confirm-additions"
		}
	}
	r.Before, r.After = before.text(), after.text()
	return r
}

// automatable tells why a runbook's automation cannot be set: nil where it can.
func (a *App) automatable(ctx context.Context, head store.RunbookHead, was, enabled bool) error {
	if head.Active == 0 {
		if enabled && !was {
			return fail(api.CodeConflict, "no version of runbook %q is active: publish one, and then turn automation on", head.Name)
		}
		return nil
	}
	rb, err := a.runbook(ctx, head.Name, head.Active)
	if err != nil {
		return err
	}
	if !rb.DataSource.Queried() && (enabled || !was) {
		return fail(api.CodeConflict, "the members of runbook %q are uploaded: it has no data source that batches could be made from", head.Name)
	}
	return nil
}

func (a *App) automationView(ctx context.Context, head store.RunbookHead, item store.Item[store.Automation]) (api.Automation, error) {
	last, err := orNone(store.Read[store.SyncRecord](ctx, a.store, store.SyncKey(head.Name)))
	if err != nil {
		return api.Automation{}, err
	}
	s, setting := last.Doc, item.Doc
	view := api.Automation{
		RunbookName: head.Name, ETag: tag(item.ETag), Enabled: setting.Enabled, EnabledAt: setting.EnabledAt, EnabledBy: setting.EnabledBy,
		DisabledAt: setting.DisabledAt, DisabledBy: setting.DisabledBy,
		LastRunAt: s.LastRunAt, LastGoodAt: s.LastGoodAt, LastError: s.LastError, LastErrorAt: s.LastErrorAt,
		Milliseconds: s.Milliseconds, Rows: s.Rows, ProblemCount: s.ProblemCount, Problems: rowProblems(s.Problems),
	}
	if head.Active == 0 {
		view.Idle = "no version of the runbook is active: no batches are made, and those under way go on without following the data source. Publish a version to have both again"
	}
	view.Additions = heldAdditionsOf(&s, &setting)
	view.Held, err = a.stillHeld(ctx, s.Held)
	return view, err
}

// stillHeld tells of the batches of which removals were held at the last tick and still
// are: an administrator may have decided since.
func (a *App) stillHeld(ctx context.Context, batches []int) ([]api.RemovalHoldSummary, error) {
	var held []api.RemovalHoldSummary
	for _, id := range batches {
		b, err := a.batch(ctx, id)
		if err != nil {
			return nil, err
		}
		if h := heldSummary(id, b.Doc.Held); h != nil {
			held = append(held, *h)
		}
	}
	return held, nil
}

func rowProblems(problems []schedule.Problem) []api.RowProblem {
	var out []api.RowProblem
	for _, p := range problems {
		out = append(out, api.RowProblem{Row: p.Row, Key: p.Key, Column: p.Column, Code: p.Code, Message: p.Message})
	}
	return out
}

// orNone takes what is not there for an empty one, without an ETag.
func orNone[T any](item store.Item[T], err error) (store.Item[T], error) {
	if errors.Is(err, store.ErrNotFound) {
		return store.Item[T]{}, nil
	}
	return item, err
}
