package runbooks

import (
	"context"
	"fmt"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Versions lists the versions of a runbook, the newest first, also where none is active. A page
// can be shorter than its limit. Errors: CodeNotFound, CodeUnavailable.
func (p *Publisher) Versions(ctx context.Context, name string, o api.ListOptions) (api.Page[api.RunbookVersion], error) {
	head, err := p.runbooks.Head(ctx, name)
	if err != nil {
		return api.Page[api.RunbookVersion]{}, err
	}
	paging, err := apiview.VersionSorting.Paging(o)
	if err != nil {
		return api.Page[api.RunbookVersion]{}, err
	}
	found, err := p.store.RunbookVersions(ctx, name, paging)
	if err != nil {
		return api.Page[api.RunbookVersion]{}, err
	}
	page := api.Page[api.RunbookVersion]{Items: []api.RunbookVersion{}, Continuation: found.Continuation}
	for _, i := range found.Items {
		page.Items = append(page.Items, publishedView(i.Doc, head.Doc))
	}
	return page, nil
}

// Version gives one version of a runbook with its YAML, active or not. Errors: CodeNotFound,
// CodeUnavailable.
func (p *Publisher) Version(ctx context.Context, name string, version int) (api.RunbookVersion, error) {
	head, err := p.runbooks.Head(ctx, name)
	if err != nil {
		return api.RunbookVersion{}, err
	}
	item, err := p.runbooks.Version(ctx, head.Doc, version)
	if err != nil {
		return api.RunbookVersion{}, err
	}
	return taggedView(item, head.Doc), nil
}

// Deactivate deactivates the active version of a runbook: until another version is published, the
// runbook has no new batches and automation does nothing. Batches under way go on under their
// versions. A version that was deactivated before stays as it is, also after newer publications.
// With tags, it deactivates the version only if it has one of these ETags.
//
// Errors: CodeNotFound, CodeConflict for a version that a newer one has superseded, CodeChanged,
// CodeInvalid, CodeUnavailable.
func (p *Publisher) Deactivate(ctx context.Context, by audit.Caller, name string, version int, why string, tags ...string) (api.RunbookVersion, error) {
	if err := audit.CheckReason(why); err != nil {
		return api.RunbookVersion{}, err
	}
	var view api.RunbookVersion
	err := store.RetryOnConflict(ctx, func() (err error) {
		view, err = p.deactivate(ctx, by, name, version, why, tags)
		return err
	})
	return view, err
}

// deactivate deactivates a version as it is in the store. It fails with ErrChanged where another
// process publishes or deactivates at the same time.
func (p *Publisher) deactivate(ctx context.Context, by audit.Caller, name string, version int, why string, tags []string) (api.RunbookVersion, error) {
	head, err := p.runbooks.Head(ctx, name)
	if err != nil {
		return api.RunbookVersion{}, err
	}
	item, err := p.runbooks.Version(ctx, head.Doc, version)
	if err != nil {
		return api.RunbookVersion{}, err
	}
	view := taggedView(item, head.Doc)
	switch {
	case view.Deactivated != nil:
		return view, nil
	case !view.Active && head.Doc.Active == 0:
		return api.RunbookVersion{}, problem.New(api.CodeConflict, "a newer version superseded version %d of runbook %q, and no version is active: there is nothing to deactivate", version, name)
	case !view.Active:
		return api.RunbookVersion{}, problem.New(api.CodeConflict, "version %d of runbook %q is not active, version %d is: only the active version can be deactivated", version, name, head.Doc.Active)
	case !apiview.Matches(tags, view.ETag):
		return api.RunbookVersion{}, problem.New(api.CodeChanged, "version %d of runbook %q has changed since you read it: read it again", version, name)
	}
	mark := model.Attribution{By: by.Name, At: p.now().UTC(), Why: why}
	next := head.Doc
	next.Active = 0
	// The ETag of the head protects a publication at the same time.
	_, err = p.store.Apply(ctx, store.Writes{
		store.Replace(store.RunbookKey(name), next, head.Version),
		store.Patch(store.VersionKey(name, version), item.ETag, store.Set("/deactivated", mark)),
		p.audit.Record(store.AuditRecord{
			At: mark.At, Actor: by.Actor(), Action: "deactivate", Runbook: name, Target: fmt.Sprintf("version %d", version), Why: why,
			Before: audit.ActiveVersionState(version).JSON(), After: audit.ActiveVersionState(0).JSON(),
		}),
	})
	if err != nil {
		return api.RunbookVersion{}, err
	}
	p.log.InfoContext(ctx, "runbook version deactivated", logkey.Runbook, name, logkey.RunbookVersion, version, logkey.By, by.Name)
	return p.Version(ctx, name, version)
}

// publishedView gives a version as the list of versions has it.
func publishedView(v store.RunbookVersion, head store.RunbookHead) api.RunbookVersion {
	view := api.RunbookVersion{
		Name: v.Name, Version: v.Version, Description: v.Description, YAML: v.YAML, Active: head.Active == v.Version,
		CreatedAt: v.PublishedAt, PublishedBy: v.PublishedBy, Overdue: v.Overdue, RerunInit: v.RerunInit, Deactivated: apiview.Attribution(v.Deactivated),
	}
	if view.Overdue == "" {
		view.Overdue = api.OverdueIgnore
	}
	return view
}

// taggedView gives a version with its ETag, which also changes when the version becomes active or
// inactive.
func taggedView(item store.Item[store.RunbookVersion], head store.RunbookHead) api.RunbookVersion {
	view := publishedView(item.Doc, head)
	active := "inactive"
	if view.Active {
		active = "active"
	}
	view.ETag = apiview.ETag(item.ETag, active)
	return view
}
