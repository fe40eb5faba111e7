package runbooks

import (
	"cmp"
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
// given name unless that is empty. It does not publish the active version again, unless the options are
// others. The next tick, or an
// advance, moves batches that are under way to the new version; the answer has a forecast of that, and
// warnings about doubtful and ineffective parts.
//
// Errors: CodeInvalid with every diagnostic, and with every warning where publishing is strict;
// CodeKeyReused; CodeUnavailable. It stores nothing then.
func (p *Publisher) PublishRunbook(ctx context.Context, by audit.Caller, name string, yaml []byte, o api.PublishOptions) (api.Runbook, error) {
	switch o.Overdue {
	case "":
		o.Overdue = api.OverdueIgnore
	case api.OverdueIgnore, api.OverdueRerun:
	default:
		return api.Runbook{}, problem.New(api.CodeInvalid, "overdueBehavior must be %q or %q, not %q", api.OverdueIgnore, api.OverdueRerun, o.Overdue)
	}
	rb, warnings, err := p.check(ctx, name, yaml, o.Strict)
	if err != nil {
		return api.Runbook{}, err
	}
	if o.DryRun {
		by.Key = "" // a dry run stores no idempotency record
	}
	var view api.Runbook
	err = store.RetryOnConflict(ctx, func() (err error) { // another process has published: this version gets the next number
		view, err = p.publish(ctx, publication{by: by, runbook: rb, yaml: string(yaml), options: o})
		return err
	})
	if err != nil {
		return api.Runbook{}, err
	}
	view.Warnings = diagnosticViews(warnings)
	return p.withAutomation(ctx, view)
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
func (p *Publisher) publish(ctx context.Context, pub publication) (api.Runbook, error) {
	content := idempotency.Digest(pub.runbook.Name, pub.yaml, pub.options.Overdue, strconv.FormatBool(pub.options.RerunInit))
	var err error
	if pub.head, err = store.OrNone(store.Read[store.RunbookHead](ctx, p.store, store.RunbookKey(pub.runbook.Name))); err != nil {
		return api.Runbook{}, err
	}
	known, err := p.idempotency.Find(ctx, pub.by, store.PartitionRunbooks, content)
	if err != nil {
		return api.Runbook{}, err
	}
	if known.ETag != "" {
		return p.replay(ctx, pub, known.Doc)
	}
	pub.record = store.IdempotencyRecord{By: pub.by.Name, Content: content, At: p.now().UTC()}
	if pub.head.Doc.Active > 0 {
		active, err := store.Read[store.RunbookVersion](ctx, p.store, store.VersionKey(pub.runbook.Name, pub.head.Doc.Active))
		if err != nil {
			return api.Runbook{}, err
		}
		if pub.equals(active.Doc) {
			return p.keepActive(ctx, pub, active.Doc)
		}
	}
	return p.publishVersion(ctx, pub)
}

// equals reports whether a version has the text and the options of the publication. The options say
// how batches change to the version, so that the same text with other options is another version.
func (pub publication) equals(v store.RunbookVersion) bool {
	return v.YAML == pub.yaml && slices.Equal(v.Secrets, pub.runbook.Secret) &&
		cmp.Or(v.Overdue, api.OverdueIgnore) == pub.options.Overdue && v.RerunInit == pub.options.RerunInit
}

// replay gives the version of a publication that was received before, as it is now. Another
// version may be active by now, and stays so.
func (p *Publisher) replay(ctx context.Context, pub publication, record store.IdempotencyRecord) (api.Runbook, error) {
	version, err := store.Read[store.RunbookVersion](ctx, p.store, store.VersionKey(pub.runbook.Name, record.Version))
	if err != nil {
		return api.Runbook{}, err
	}
	view := versionView(version.Doc, pub.runbook, pub.head.Doc.Active == record.Version)
	view.Unchanged, view.Replayed = record.Unchanged, true
	return view, nil
}

// keepActive answers the publication of a runbook that equals the active version.
func (p *Publisher) keepActive(ctx context.Context, pub publication, active store.RunbookVersion) (api.Runbook, error) {
	pub.record.Unchanged = true
	if ops := pub.recordWrites(active.Version); len(ops) > 0 {
		if _, err := p.store.Apply(ctx, ops); err != nil {
			return api.Runbook{}, err
		}
	}
	view := versionView(active, pub.runbook, true)
	view.Unchanged, view.DryRun = true, pub.options.DryRun
	var err error
	view.Changes, err = p.changes(ctx, pub.head.Doc, active, pub.runbook)
	return view, err
}

// publishVersion stores a new version and makes it the active one; in a dry run it only shows it.
func (p *Publisher) publishVersion(ctx context.Context, pub publication) (api.Runbook, error) {
	rb, head := pub.runbook, pub.head.Doc
	version := store.RunbookVersion{
		Name: rb.Name, Version: head.Latest + 1, Description: rb.Description, YAML: pub.yaml,
		PublishedAt: p.now().UTC(), PublishedBy: pub.by.Name, Overdue: pub.options.Overdue, RerunInit: pub.options.RerunInit, Secrets: rb.Secret,
	}
	// The forecast comes before the write: a tick may move batches to the version at once.
	changes, err := p.changes(ctx, head, version, rb)
	if err != nil {
		return api.Runbook{}, err
	}
	view := versionView(version, rb, !pub.options.DryRun)
	view.Changes, view.DryRun = changes, pub.options.DryRun
	if pub.options.DryRun {
		return view, nil
	}
	ops := store.Writes{
		pub.headWrite(version),
		store.Create(store.VersionKey(rb.Name, version.Version), version),
		p.audit.Record(audit.RunbookPublished(pub.by, head.Active, version)),
	}
	if _, err := p.store.Apply(ctx, append(ops, pub.recordWrites(version.Version)...)); err != nil {
		return api.Runbook{}, err
	}
	p.log.InfoContext(ctx, "runbook published", logkey.Runbook, rb.Name, logkey.RunbookVersion, version.Version, logkey.By, pub.by.Name)
	return view, nil
}

// headWrite makes a version the active one.
func (pub publication) headWrite(version store.RunbookVersion) store.Write {
	next := store.RunbookHead{
		Name: version.Name, Description: version.Description, Latest: version.Version, Active: version.Version,
		PublishedAt: version.PublishedAt, PublishedBy: version.PublishedBy, Secrets: pub.head.Doc.Secrets || len(version.Secrets) > 0,
		Source: source(pub.runbook),
	}
	if pub.head.ETag == "" {
		return store.Create(store.RunbookKey(version.Name), next)
	}
	return store.Replace(store.RunbookKey(version.Name), next, pub.head.Version)
}

// recordWrites creates the idempotency record with the version; none where the caller gave no key.
func (pub publication) recordWrites(version int) store.Writes {
	if pub.by.Key == "" {
		return nil
	}
	pub.record.Version = version
	return store.Writes{store.Create(idempotency.Key(pub.by, store.PartitionRunbooks), pub.record)}
}
