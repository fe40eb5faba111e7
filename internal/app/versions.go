package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Versions lists the versions of a runbook, the newest first, also where none is
// active. A page can be shorter than its limit. Errors: CodeNotFound, CodeUnavailable.
func (a *App) Versions(ctx context.Context, name string, o api.ListOptions) (api.Page[api.RunbookVersion], error) {
	head, err := a.head(ctx, name)
	if err != nil {
		return api.Page[api.RunbookVersion]{}, err
	}
	paging, err := versionSorting.paging(o)
	if err != nil {
		return api.Page[api.RunbookVersion]{}, err
	}
	found, err := a.store.RunbookVersions(ctx, name, paging)
	if err != nil {
		return api.Page[api.RunbookVersion]{}, err
	}
	page := api.Page[api.RunbookVersion]{Items: []api.RunbookVersion{}, Continuation: found.Continuation}
	for _, i := range found.Items {
		page.Items = append(page.Items, publishedView(i.Doc, head.Doc))
	}
	return page, nil
}

// Version gives one version of a runbook with its YAML, active or not. Errors:
// CodeNotFound, CodeUnavailable.
func (a *App) Version(ctx context.Context, name string, version int) (api.RunbookVersion, error) {
	head, err := a.head(ctx, name)
	if err != nil {
		return api.RunbookVersion{}, err
	}
	item, err := a.version(ctx, head.Doc, version)
	if err != nil {
		return api.RunbookVersion{}, err
	}
	return taggedView(item, head.Doc), nil
}

// Deactivate leaves a runbook without an active version, where this one is: no batches
// are made from then on, and automation does nothing, until a version is published
// again. Batches under way go on under their versions. A version that was deactivated
// already is answered as done, whatever has become of the runbook since. Where tags are
// given, only a version that is still at one of them is deactivated.
//
// Errors: CodeNotFound, CodeConflict for a version that a newer one has superseded,
// CodeChanged, CodeInvalid, CodeUnavailable.
func (a *App) Deactivate(ctx context.Context, by Caller, name string, version int, why string, tags ...string) (api.RunbookVersion, error) {
	if err := checkWhy(why); err != nil {
		return api.RunbookVersion{}, err
	}
	for {
		head, err := a.head(ctx, name)
		if err != nil {
			return api.RunbookVersion{}, err
		}
		item, err := a.version(ctx, head.Doc, version)
		if err != nil {
			return api.RunbookVersion{}, err
		}
		view := taggedView(item, head.Doc)
		switch {
		case view.Deactivated != nil:
			return view, nil
		case !view.Active && head.Doc.Active == 0:
			return api.RunbookVersion{}, fail(api.CodeConflict, "version %d of runbook %q was superseded by a newer one, and no version is active: there is nothing to deactivate", version, name)
		case !view.Active:
			return api.RunbookVersion{}, fail(api.CodeConflict, "version %d of runbook %q is not active, version %d is: only the active version can be deactivated", version, name, head.Doc.Active)
		case !matches(tags, view.ETag):
			return api.RunbookVersion{}, fail(api.CodeChanged, "version %d of runbook %q is no longer as it was: look at it again", version, name)
		}
		mark := engine.Mark{By: by.Name, At: a.now().UTC(), Why: why}
		next := head.Doc
		next.Active = 0
		// The head's ETag keeps a publish at the same time from being undone.
		_, err = a.store.Apply(ctx, store.Writes{
			store.Replace(store.RunbookKey(name), next, head.Version),
			store.Patch(store.VersionKey(name, version), item.ETag, store.Set("/deactivated", mark)),
			a.auditOp(store.AuditRecord{
				At: mark.At, Actor: by.actor(), Action: "deactivate", Runbook: name, Target: fmt.Sprintf("version %d", version), Why: why,
				Before: activeFacts(version).text(), After: activeFacts(0).text(),
			}),
		})
		if errors.Is(err, store.ErrChanged) {
			continue
		}
		if err != nil {
			return api.RunbookVersion{}, err
		}
		a.log.InfoContext(ctx, "runbook version deactivated", logkey.Runbook, name, logkey.RunbookVersion, version, logkey.By, by.Name)
	}
}

// version reads a version of the runbook with this head.
func (a *App) version(ctx context.Context, head store.RunbookHead, version int) (store.Item[store.RunbookVersion], error) {
	item, err := store.Read[store.RunbookVersion](ctx, a.store, store.VersionKey(head.Name, version))
	switch {
	case errors.Is(err, store.ErrNotFound) && head.Latest == 1:
		return item, fail(api.CodeNotFound, "runbook %q has no version %d; it has only version 1", head.Name, version)
	case errors.Is(err, store.ErrNotFound):
		return item, fail(api.CodeNotFound, "runbook %q has no version %d; it has 1 to %d", head.Name, version, head.Latest)
	case err != nil:
		return item, err
	}
	return item, nil
}

func publishedView(v store.RunbookVersion, head store.RunbookHead) api.RunbookVersion {
	view := api.RunbookVersion{
		Name: v.Name, Version: v.Version, Description: v.Description, YAML: v.YAML, Active: head.Active == v.Version,
		CreatedAt: v.PublishedAt, PublishedBy: v.PublishedBy, Overdue: v.Overdue, RerunInit: v.RerunInit, Deactivated: markView(v.Deactivated),
	}
	if view.Overdue == "" {
		view.Overdue = api.OverdueIgnore
	}
	return view
}

func taggedView(item store.Item[store.RunbookVersion], head store.RunbookHead) api.RunbookVersion {
	view := publishedView(item.Doc, head)
	active := "inactive"
	if view.Active {
		active = "active"
	}
	view.ETag = tag(item.ETag, active)
	return view
}

// tag makes an ETag of what it changes with. It has no quotes.
func tag(of ...string) string {
	h := sha256.New()
	for _, s := range of {
		h.Write([]byte(s + "\n"))
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// matches tells whether a tag is one of those that are asked for; none is any.
func matches(wanted []string, tag string) bool {
	return len(wanted) == 0 || slices.Contains(wanted, tag)
}
