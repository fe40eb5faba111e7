package runbooks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/idempotency"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/membercsv"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/lint"
	"github.com/matoolkit/matoolkit/internal/store"
)

// PublishRunbook checks a runbook and makes it the active version of its name. A
// name that is given must be the one in the YAML. What is active already is not
// published again. Batches under way are taken over to it by the next tick, or when
// they are advanced: the answer tells what becomes of them. Warnings name what is
// doubtful and what has no effect. Errors: CodeInvalid with every diagnostic, with every
// warning where they are not taken; CodeUnavailable. Nothing is stored then.
func (rs *Publisher) PublishRunbook(ctx context.Context, by audit.Caller, name string, yaml []byte, o api.PublishOptions) (api.Runbook, error) {
	switch o.Overdue {
	case "":
		o.Overdue = api.OverdueIgnore
	case api.OverdueIgnore, api.OverdueRerun:
	default:
		return api.Runbook{}, problem.New(api.CodeInvalid, "what becomes of overdue phases is %q or %q, not %q", api.OverdueIgnore, api.OverdueRerun, o.Overdue)
	}
	rb, diagnostics := runbook.Parse(yaml)
	if rb == nil {
		return api.Runbook{}, &problem.Error{Code: api.CodeInvalid, Message: "the runbook has errors", Problems: problems(diagnostics)}
	}
	if name != "" && name != rb.Name {
		message := fmt.Sprintf("the request names runbook %q, its YAML %q", name, rb.Name)
		return api.Runbook{}, &problem.Error{Code: api.CodeInvalid, Message: message, Problems: []api.InputProblem{{Field: "name", Message: message}}}
	}
	if bad := slices.Concat(tooLong(rb), problems(rs.unlistedSettings(yaml, rb))); len(bad) > 0 {
		return api.Runbook{}, &problem.Error{Code: api.CodeInvalid, Message: "the runbook has errors", Problems: bad}
	}
	known, err := rs.workers.Catalogs(ctx, rb.Workers())
	if err != nil {
		return api.Runbook{}, err
	}
	warnings := slices.Concat(diagnostics, lint.Check(yaml, rb, known))
	if err := rs.takeSecrets(ctx, rb, known); err != nil {
		return api.Runbook{}, err
	}
	if o.Strict && len(warnings) > 0 {
		return api.Runbook{}, &problem.Error{Code: api.CodeInvalid, Message: "the runbook has warnings, which strict publishing does not take", Problems: problems(warnings)}
	}
	if o.DryRun {
		by.Key = "" // nothing is done that could be done twice
	}
	for {
		view, err := rs.publish(ctx, by, rb, string(yaml), o)
		if errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrExists) {
			continue // somebody else has published: the next number is ours
		}
		if err != nil {
			return api.Runbook{}, err
		}
		view.Warnings = diagnosticViews(warnings)
		views := []api.Runbook{view}
		if err := rs.automated(ctx, views); err != nil {
			return api.Runbook{}, err
		}
		return views[0], nil
	}
}

func (rs *Publisher) publish(ctx context.Context, by audit.Caller, rb *runbook.Runbook, yaml string, o api.PublishOptions) (api.Runbook, error) {
	content := idempotency.Digest(rb.Name, yaml, o.Overdue, strconv.FormatBool(o.RerunInit))
	key := store.RunbookKey(rb.Name)
	head, err := store.Read[store.RunbookHead](ctx, rs.store, key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return api.Runbook{}, err
	}
	asked, err := rs.idempotency.Find(ctx, by, store.PartitionRunbooks, content)
	if err != nil {
		return api.Runbook{}, err
	}
	if asked.ETag != "" {
		return rs.published(ctx, rb, head.Doc.Active, asked.Doc)
	}
	asked.Doc = store.IdempotencyRecord{By: by.Name, Content: content, At: rs.now().UTC()}
	if head.Doc.Active > 0 {
		active, err := store.Read[store.RunbookVersion](ctx, rs.store, store.VersionKey(rb.Name, head.Doc.Active))
		if err != nil {
			return api.Runbook{}, err
		}
		if active.Doc.YAML == yaml && slices.Equal(active.Doc.Secrets, rb.Secret) {
			asked.Doc.Version, asked.Doc.Unchanged = head.Doc.Active, true
			if by.Key != "" {
				if _, err := rs.store.Apply(ctx, store.Writes{store.Create(idempotency.Key(by, store.PartitionRunbooks), asked.Doc)}); err != nil {
					return api.Runbook{}, err
				}
			}
			view := versionView(active.Doc, rb, true)
			view.Unchanged, view.DryRun = true, o.DryRun
			view.Changes, err = rs.changes(ctx, head.Doc, active.Doc, rb)
			return view, err
		}
	}
	version := store.RunbookVersion{Name: rb.Name, Version: head.Doc.Latest + 1, Description: rb.Description, YAML: yaml, PublishedAt: rs.now().UTC(), PublishedBy: by.Name, Overdue: o.Overdue, RerunInit: o.RerunInit, Secrets: rb.Secret}
	// Before it is stored: a tick may take batches over to it at once.
	changes, err := rs.changes(ctx, head.Doc, version, rb)
	if err != nil {
		return api.Runbook{}, err
	}
	view := versionView(version, rb, !o.DryRun)
	view.Changes, view.DryRun = changes, o.DryRun
	if o.DryRun {
		return view, nil
	}
	next := store.RunbookHead{
		Name: rb.Name, Description: rb.Description, Latest: version.Version, Active: version.Version,
		PublishedAt: version.PublishedAt, PublishedBy: by.Name, Secrets: head.Doc.Secrets || len(rb.Secret) > 0,
	}
	write := store.Create(key, next)
	if head.ETag != "" {
		write = store.Replace(key, next, head.Version)
	}
	ops := store.Writes{write, store.Create(store.VersionKey(rb.Name, version.Version), version), rs.audit.Record(audit.RunbookPublished(by, head.Doc.Active, version))}
	if by.Key != "" {
		asked.Doc.Version = version.Version
		ops = append(ops, store.Create(idempotency.Key(by, store.PartitionRunbooks), asked.Doc))
	}
	if _, err := rs.store.Apply(ctx, ops); err != nil {
		return api.Runbook{}, err
	}
	rs.log.InfoContext(ctx, "runbook published", logkey.Runbook, rb.Name, logkey.RunbookVersion, version.Version, logkey.By, by.Name)
	return view, nil
}

// published answers a publish that was carried out before: with its version, as it
// stands. Another may be active by now, and stays so.
func (rs *Publisher) published(ctx context.Context, rb *runbook.Runbook, active int, r store.IdempotencyRecord) (api.Runbook, error) {
	version, err := store.Read[store.RunbookVersion](ctx, rs.store, store.VersionKey(rb.Name, r.Version))
	if err != nil {
		return api.Runbook{}, err
	}
	view := versionView(version.Doc, rb, active == r.Version)
	view.Unchanged, view.Replayed = r.Unchanged, true
	return view, nil
}

// Runbooks lists the runbooks that have an active version, by name.
func (rs *Publisher) Runbooks(ctx context.Context, o api.ListOptions) (api.Page[api.Runbook], error) {
	paging, err := apiview.RunbookSorting.Paging(o)
	if err != nil {
		return api.Page[api.Runbook]{}, err
	}
	found, err := rs.store.Runbooks(ctx, store.RunbookFilter{NamePrefix: o.Search}, paging)
	if err != nil {
		return api.Page[api.Runbook]{}, err
	}
	page := api.Page[api.Runbook]{Items: []api.Runbook{}, Continuation: found.Continuation}
	for _, i := range found.Items {
		h := i.Doc
		page.Items = append(page.Items, api.Runbook{
			Name: h.Name, Version: h.Active, Description: h.Description, Active: true, CreatedAt: h.PublishedAt, PublishedBy: h.PublishedBy,
		})
	}
	if err := rs.automated(ctx, page.Items); err != nil {
		return api.Page[api.Runbook]{}, err
	}
	return page, nil
}

// automated adds to runbooks how their automation stands.
func (rs *Publisher) automated(ctx context.Context, views []api.Runbook) error {
	names := make([]string, len(views))
	for i, v := range views {
		names[i] = v.Name
	}
	settings, err := rs.store.Automations(ctx, names)
	if err != nil {
		return err
	}
	last, err := rs.store.SyncRecords(ctx, names)
	if err != nil {
		return err
	}
	at := map[string]*api.Runbook{}
	for i := range views {
		at[views[i].Name] = &views[i]
	}
	setting := map[string]store.Automation{}
	for _, s := range settings {
		setting[s.Doc.Runbook], at[s.Doc.Runbook].Enabled = s.Doc, s.Doc.Enabled
	}
	for _, s := range last {
		v := at[s.Doc.Runbook]
		v.LastError, v.LastErrorAt = s.Doc.LastError, s.Doc.LastErrorAt
		held, err := rs.members.RemovalHolds(ctx, s.Doc.Held)
		if err != nil {
			return err
		}
		v.Held = len(held)
		of := setting[s.Doc.Runbook]
		if waiting := apiview.AdditionHold(&s.Doc, &of); waiting != nil && waiting.Confirmed == nil {
			v.Additions = waiting.People
		}
	}
	return nil
}

// Runbook gives the active version of a runbook. Errors: CodeNotFound.
func (rs *Publisher) Runbook(ctx context.Context, name string) (api.Runbook, error) {
	version, rb, err := rs.runbooks.Active(ctx, name)
	if err != nil {
		return api.Runbook{}, err
	}
	view := []api.Runbook{versionView(version, rb, true)}
	if err := rs.automated(ctx, view); err != nil {
		return api.Runbook{}, err
	}
	return view[0], nil
}

// CSVTemplate is the header that a CSV of members for the runbook must have.
// Errors: CodeNotFound.
func (rs *Publisher) CSVTemplate(ctx context.Context, name string) ([]byte, error) {
	_, rb, err := rs.runbooks.Active(ctx, name)
	if err != nil {
		return nil, err
	}
	return membercsv.Template(rb), nil
}

func versionView(v store.RunbookVersion, rb *runbook.Runbook, active bool) api.Runbook {
	return api.Runbook{
		Name: v.Name, Version: v.Version, Description: rb.Description, YAML: v.YAML, Active: active,
		CreatedAt: v.PublishedAt, PublishedBy: v.PublishedBy, Secrets: rb.Secret,
	}
}

func diagnosticViews(ds runbook.Diagnostics) []api.Diagnostic {
	var out []api.Diagnostic
	for _, d := range ds {
		out = append(out, api.Diagnostic{Severity: string(d.Severity), Code: d.Code, Message: d.Message, Path: d.Path, Line: d.Line, Column: d.Column})
	}
	return out
}

func problems(ds runbook.Diagnostics) []api.InputProblem {
	var out []api.InputProblem
	for _, d := range ds {
		out = append(out, api.InputProblem{Severity: string(d.Severity), Line: d.Line, Column: d.Column, Field: d.Path, Code: d.Code, Message: d.Message})
	}
	return out
}
