package runbooks

import (
	"cmp"
	"context"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/csvtext"
	"github.com/matoolkit/matoolkit/internal/membercsv"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Runbooks lists the runbooks that have an active version, by name.
func (p *Publisher) Runbooks(ctx context.Context, o api.ListOptions) (api.Page[api.Runbook], error) {
	paging, err := apiview.RunbookSorting.Paging(o)
	if err != nil {
		return api.Page[api.Runbook]{}, err
	}
	found, err := p.store.Runbooks(ctx, store.RunbookFilter{NamePrefix: o.Search}, paging)
	if err != nil {
		return api.Page[api.Runbook]{}, err
	}
	page := api.Page[api.Runbook]{Items: []api.Runbook{}, Continuation: found.Continuation}
	for _, i := range found.Items {
		h := i.Doc
		page.Items = append(page.Items, api.Runbook{
			Name: h.Name, Version: h.Active, Description: h.Description, Active: true, CreatedAt: h.PublishedAt, PublishedBy: h.PublishedBy, Source: h.Source,
		})
	}
	if err := p.addAutomation(ctx, page.Items); err != nil {
		return api.Page[api.Runbook]{}, err
	}
	return page, nil
}

// Runbook gives the active version of a runbook, with its automation. Errors: CodeNotFound.
func (p *Publisher) Runbook(ctx context.Context, name string) (api.Runbook, error) {
	version, rb, err := p.runbooks.Active(ctx, name)
	if err != nil {
		return api.Runbook{}, err
	}
	return p.withAutomation(ctx, versionView(version, rb, true))
}

// CSVTemplate gives a member CSV for the runbook that has only the header, whose columns are separated by
// the delimiter of a name; empty: by commas. Errors: CodeNotFound, CodeInvalid.
func (p *Publisher) CSVTemplate(ctx context.Context, name, delimiter string) ([]byte, error) {
	by, ok := csvtext.DelimiterOf(cmp.Or(delimiter, csvtext.Comma.Name))
	if !ok {
		return nil, problem.New(api.CodeInvalid, "invalid delimiter %q: use one of %s", delimiter, strings.Join(csvtext.DelimiterNames(), ", "))
	}
	_, rb, err := p.runbooks.Active(ctx, name)
	if err != nil {
		return nil, err
	}
	return membercsv.Template(rb, by), nil
}

// withAutomation adds its automation to a runbook.
func (p *Publisher) withAutomation(ctx context.Context, view api.Runbook) (api.Runbook, error) {
	views := []api.Runbook{view}
	if err := p.addAutomation(ctx, views); err != nil {
		return api.Runbook{}, err
	}
	return views[0], nil
}

// addAutomation adds their automation, and the result of their last sync, to runbooks.
func (p *Publisher) addAutomation(ctx context.Context, views []api.Runbook) error {
	names := make([]string, len(views))
	for i, v := range views {
		names[i] = v.Name
	}
	settings, err := p.store.Automations(ctx, names)
	if err != nil {
		return err
	}
	last, err := p.store.SyncRecords(ctx, names)
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
		v.LastSyncAt, v.Rows, v.Problems = s.Doc.LastRunAt, s.Doc.Rows, s.Doc.ProblemCount
		held, err := p.members.RemovalHolds(ctx, s.Doc.Held)
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

// versionView gives a version of a runbook.
func versionView(v store.RunbookVersion, rb *runbook.Runbook, active bool) api.Runbook {
	return api.Runbook{
		Name: v.Name, Version: v.Version, Description: rb.Description, YAML: v.YAML, Active: active,
		CreatedAt: v.PublishedAt, PublishedBy: v.PublishedBy, Secrets: rb.Secret, Source: source(rb),
	}
}

func diagnosticViews(ds runbook.Diagnostics) []api.Diagnostic {
	var out []api.Diagnostic
	for _, d := range ds {
		out = append(out, api.Diagnostic{Severity: string(d.Severity), Code: d.Code, Message: d.Message, Path: d.Path, Line: d.Line, Column: d.Column, AlwaysFails: d.AlwaysFails})
	}
	return out
}
