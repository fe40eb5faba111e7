package runbooks

import (
	"context"
	"slices"
	"strconv"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/idempotency"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

// PublishRunbook checks a runbook and makes it the active version of its name, which must be the
// given name unless that is empty. It does not publish the active version again. The next tick, or an
// advance, moves batches that are under way to the new version; the answer has a forecast of that, and
// warnings about doubtful and ineffective parts.
//
// Errors: CodeInvalid with every diagnostic, and with every warning where publishing is strict;
// CodeKeyReused; CodeUnavailable. It stores nothing then.
func (rs *Publisher) PublishRunbook(ctx context.Context, by audit.Caller, name string, yaml []byte, o api.PublishOptions) (api.Runbook, error) {
	switch o.Overdue {
	case "":
		o.Overdue = api.OverdueIgnore
	case api.OverdueIgnore, api.OverdueRerun:
	default:
		return api.Runbook{}, problem.New(api.CodeInvalid, "what becomes of overdue phases is %q or %q, not %q", api.OverdueIgnore, api.OverdueRerun, o.Overdue)
	}
	rb, warnings, err := rs.check(ctx, name, yaml, o.Strict)
	if err != nil {
		return api.Runbook{}, err
	}
	if o.DryRun {
		by.Key = "" // a dry run stores no idempotency record
	}
	var view api.Runbook
	err = store.RetryOnConflict(ctx, func() (err error) { // another process has published: this version gets the next number
		view, err = rs.publish(ctx, publication{by: by, runbook: rb, yaml: string(yaml), options: o})
		return err
	})
	if err != nil {
		return api.Runbook{}, err
	}
	view.Warnings = diagnosticViews(warnings)
	return rs.withAutomation(ctx, view)
}

// publication is a checked runbook that is to be published.
type publication struct {
	by      audit.Caller
	runbook *runbook.Runbook
	yaml    string
	options api.PublishOptions
	head    store.Item[store.RunbookHead] // without an ETag for the first version
	record  store.IdempotencyRecord       // to be stored with the version
}

// publish publishes a runbook by its state in the store. It fails with ErrChanged or ErrExists
// where another process publishes it at the same time.
func (rs *Publisher) publish(ctx context.Context, p publication) (api.Runbook, error) {
	content := idempotency.Digest(p.runbook.Name, p.yaml, p.options.Overdue, strconv.FormatBool(p.options.RerunInit))
	var err error
	if p.head, err = store.OrNone(store.Read[store.RunbookHead](ctx, rs.store, store.RunbookKey(p.runbook.Name))); err != nil {
		return api.Runbook{}, err
	}
	known, err := rs.idempotency.Find(ctx, p.by, store.PartitionRunbooks, content)
	if err != nil {
		return api.Runbook{}, err
	}
	if known.ETag != "" {
		return rs.replay(ctx, p, known.Doc)
	}
	p.record = store.IdempotencyRecord{By: p.by.Name, Content: content, At: rs.now().UTC()}
	if p.head.Doc.Active > 0 {
		active, err := store.Read[store.RunbookVersion](ctx, rs.store, store.VersionKey(p.runbook.Name, p.head.Doc.Active))
		if err != nil {
			return api.Runbook{}, err
		}
		if active.Doc.YAML == p.yaml && slices.Equal(active.Doc.Secrets, p.runbook.Secret) {
			return rs.keepActive(ctx, p, active.Doc)
		}
	}
	return rs.publishVersion(ctx, p)
}

// replay gives the version of a publication that was received before, as it is now. Another
// version may be active by now, and stays so.
func (rs *Publisher) replay(ctx context.Context, p publication, record store.IdempotencyRecord) (api.Runbook, error) {
	version, err := store.Read[store.RunbookVersion](ctx, rs.store, store.VersionKey(p.runbook.Name, record.Version))
	if err != nil {
		return api.Runbook{}, err
	}
	view := versionView(version.Doc, p.runbook, p.head.Doc.Active == record.Version)
	view.Unchanged, view.Replayed = record.Unchanged, true
	return view, nil
}

// keepActive answers the publication of a runbook that equals the active version.
func (rs *Publisher) keepActive(ctx context.Context, p publication, active store.RunbookVersion) (api.Runbook, error) {
	p.record.Unchanged = true
	if ops := p.recordWrites(active.Version); len(ops) > 0 {
		if _, err := rs.store.Apply(ctx, ops); err != nil {
			return api.Runbook{}, err
		}
	}
	view := versionView(active, p.runbook, true)
	view.Unchanged, view.DryRun = true, p.options.DryRun
	var err error
	view.Changes, err = rs.changes(ctx, p.head.Doc, active, p.runbook)
	return view, err
}

// publishVersion stores a new version and makes it the active one; in a dry run it only shows it.
func (rs *Publisher) publishVersion(ctx context.Context, p publication) (api.Runbook, error) {
	rb, head := p.runbook, p.head.Doc
	version := store.RunbookVersion{
		Name: rb.Name, Version: head.Latest + 1, Description: rb.Description, YAML: p.yaml,
		PublishedAt: rs.now().UTC(), PublishedBy: p.by.Name, Overdue: p.options.Overdue, RerunInit: p.options.RerunInit, Secrets: rb.Secret,
	}
	// The forecast comes before the write: a tick may move batches to the version at once.
	changes, err := rs.changes(ctx, head, version, rb)
	if err != nil {
		return api.Runbook{}, err
	}
	view := versionView(version, rb, !p.options.DryRun)
	view.Changes, view.DryRun = changes, p.options.DryRun
	if p.options.DryRun {
		return view, nil
	}
	ops := store.Writes{
		p.headWrite(version),
		store.Create(store.VersionKey(rb.Name, version.Version), version),
		rs.audit.Record(audit.RunbookPublished(p.by, head.Active, version)),
	}
	if _, err := rs.store.Apply(ctx, append(ops, p.recordWrites(version.Version)...)); err != nil {
		return api.Runbook{}, err
	}
	rs.log.InfoContext(ctx, "runbook published", logkey.Runbook, rb.Name, logkey.RunbookVersion, version.Version, logkey.By, p.by.Name)
	return view, nil
}

// headWrite makes a version the active one.
func (p publication) headWrite(version store.RunbookVersion) store.Write {
	next := store.RunbookHead{
		Name: version.Name, Description: version.Description, Latest: version.Version, Active: version.Version,
		PublishedAt: version.PublishedAt, PublishedBy: version.PublishedBy, Secrets: p.head.Doc.Secrets || len(version.Secrets) > 0,
	}
	if p.head.ETag == "" {
		return store.Create(store.RunbookKey(version.Name), next)
	}
	return store.Replace(store.RunbookKey(version.Name), next, p.head.Version)
}

// recordWrites creates the idempotency record with the version; none where the caller gave no key.
func (p publication) recordWrites(version int) store.Writes {
	if p.by.Key == "" {
		return nil
	}
	p.record.Version = version
	return store.Writes{store.Create(idempotency.Key(p.by, store.PartitionRunbooks), p.record)}
}
