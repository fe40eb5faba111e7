// Package pipeline answers requests that start batches: a runbook with trigger: request has one batch for
// each request, and its members are the items of the request. The package decides whether a request needs
// a batch, creates it, and tells those who requested it where it stands and what it has brought about.
//
// It does not know how the batch is run: that is the same as for any other batch.
package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/idempotency"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbookstore"
	"github.com/matoolkit/matoolkit/internal/sealing"
	"github.com/matoolkit/matoolkit/internal/store"

	"go.opentelemetry.io/otel/metric"
)

// Pipelines starts batches for requests. It is safe for concurrent use.
type Pipelines struct {
	store       store.Store
	now         func() time.Time
	log         *slog.Logger
	idempotency *idempotency.Records
	runbooks    *runbookstore.Reader
	sealer      *sealing.Sealer
	members     *membership.Registrar
	phases      func(ctx context.Context, by audit.Caller, batch int) (api.Page[api.Phase], error)
	audit       *audit.Log
	metrics     metrics
	shares      shareChecks
}

// Config has the parts that Pipelines use. All but Meter are required.
type Config struct {
	Store       store.Store
	Now         func() time.Time
	Log         *slog.Logger
	Idempotency *idempotency.Records
	Runbooks    *runbookstore.Reader
	Sealer      *sealing.Sealer
	Members     *membership.Registrar
	Phases      func(ctx context.Context, by audit.Caller, batch int) (api.Page[api.Phase], error) // with the counts of their members
	Audit       *audit.Log
	Meter       metric.Meter // nil: nothing is measured
}

// New returns Pipelines.
func New(c Config) *Pipelines {
	return &Pipelines{
		store: c.Store, now: c.Now, log: c.Log, idempotency: c.Idempotency, runbooks: c.Runbooks, sealer: c.Sealer, members: c.Members, phases: c.Phases,
		audit: c.Audit, metrics: newMetrics(c.Meter),
	}
}

// order is a request that was checked, under one version of its runbook.
type order struct {
	by          audit.Caller
	owner       string
	force       bool
	shadow      bool
	version     int
	runbook     *runbook.Runbook
	items       items
	fingerprint string // of the items and the version
	content     string // identifies the request, for its idempotency key
}

// key is the document with the newest request of the owner.
func (o *order) key() store.Key {
	if o.shadow {
		return store.ShadowKey(o.runbook.Name, o.owner)
	}
	return store.PipelineKey(o.runbook.Name, o.owner)
}

// errMeanwhile: another process has begun with a request of the same owner.
var errMeanwhile = errors.New("pipeline: another request of the owner came first")

// StartPipeline starts a batch for the items of a request, under the active version of the runbook. It
// starts none if the owner's last batch had the same items and has completed without a failed item:
// the answer is that batch, with PipelineCached. If that batch still runs, the answer is the batch as it
// is. With Force neither matters.
//
// With Shadow the batch is only compared with the old orchestrator: it is not the last batch of the owner
// and gives no latest result. Shadows have a last batch of their own.
//
// A request with an idempotency key that was received before is answered with the batch that it started.
//
// Errors: CodeInvalid with every bad item, CodeNotFound, CodeConflict where requests do not start the
// batches of the runbook or its shadow mode is off, CodeKeyReused, CodeUnavailable.
func (p *Pipelines) StartPipeline(ctx context.Context, by audit.Caller, name string, r api.PipelineRequest) (api.PipelineBatch, error) {
	owner, err := checkOwner(r.Owner)
	if err != nil {
		return api.PipelineBatch{}, err
	}
	content, err := contentOf(name, owner, r)
	if err != nil {
		return api.PipelineBatch{}, err
	}
	var view api.PipelineBatch
	err = store.RetryOnConflict(ctx, func() error {
		record, err := p.idempotency.Find(ctx, by, store.PartitionBatches, content)
		if err != nil {
			return err
		}
		version := record.Doc.Version
		if record.ETag == "" {
			if err := p.checkShadow(ctx, name, r.Shadow); err != nil {
				return err
			}
			if version, err = p.activeVersion(ctx, name); err != nil {
				return err
			}
		}
		o, err := p.newOrder(ctx, by, name, version, owner, r)
		if err != nil {
			return err
		}
		if o.content = content; record.ETag != "" {
			view, err = p.repeat(ctx, o, record.Doc)
			return err
		}
		view, err = p.start(ctx, o)
		if errors.Is(err, errMeanwhile) {
			return fmt.Errorf("%w: %w", store.ErrExists, err)
		}
		return err
	})
	return view, err
}

// checkOwner returns the owner of a request. Errors: CodeInvalid.
func checkOwner(owner string) (string, error) {
	d, err := membership.CheckDetails(api.BatchDetails{Owner: &owner})
	if err == nil && *d.Owner == "" {
		err = problem.New(api.CodeInvalid, "the owner is missing: name who the result is for")
	}
	if err != nil {
		return "", err
	}
	return *d.Owner, nil
}

// activeVersion gives the number of the active version of a runbook.
func (p *Pipelines) activeVersion(ctx context.Context, name string) (int, error) {
	head, err := p.runbooks.Head(ctx, name)
	if err != nil {
		return 0, err
	}
	if head.Doc.Active == 0 {
		return 0, problem.New(api.CodeNotFound, "no version of runbook %q is active: the last was deactivated. Publish one to use it again", name)
	}
	return head.Doc.Active, nil
}

// newOrder checks a request under a version of the runbook.
func (p *Pipelines) newOrder(ctx context.Context, by audit.Caller, name string, version int, owner string, r api.PipelineRequest) (order, error) {
	rb, err := p.runbooks.Load(ctx, name, version)
	if err != nil {
		return order{}, err
	}
	if !rb.IsRequested() {
		return order{}, problem.New(api.CodeConflict, "requests do not start the batches of runbook %q: it has no trigger: request", name)
	}
	var hashKey []byte
	if len(rb.Secret) > 0 {
		if hashKey, err = p.sealer.DigestKey(ctx); err != nil {
			return order{}, err
		}
	}
	all, err := readItems(rb, r.Items, hashKey)
	if err != nil {
		return order{}, err
	}
	fingerprint := idempotency.Digest(strconv.Itoa(version), all.digest)
	return order{
		by: by, owner: owner, force: r.Force, shadow: r.Shadow, version: version, runbook: rb, items: all, fingerprint: fingerprint,
	}, nil
}

// contentOf identifies a request, for all versions of the runbook that reads it. Errors: CodeInvalid.
func contentOf(name, owner string, r api.PipelineRequest) (string, error) {
	texts := make([]string, len(r.Items))
	for i, item := range r.Items {
		text, err := json.Marshal(item) // in the order of the fields
		if err != nil {
			return "", problem.New(api.CodeInvalid, "item %d cannot be read: %v", i+1, err)
		}
		texts[i] = string(text)
	}
	slices.Sort(texts)
	what := "pipeline"
	if r.Shadow {
		what = "shadow"
	}
	return idempotency.Digest(append([]string{what, name, owner, strconv.FormatBool(r.Force)}, texts...)...), nil
}

// repeat answers a request with an idempotency key that was received before: with its batch, which it
// goes on to write where that was cut short. Errors: CodeNotFound if the batch has expired.
func (p *Pipelines) repeat(ctx context.Context, o order, record store.IdempotencyRecord) (api.PipelineBatch, error) {
	b, err := store.OrNone(store.Read[model.Batch](ctx, p.store, store.BatchKey(record.Batch)))
	if err != nil {
		return api.PipelineBatch{}, err
	}
	creating := false
	if b.ETag == "" {
		if creating, err = p.isCreating(ctx, record.Batch); err != nil {
			return api.PipelineBatch{}, err
		}
	}
	if b.ETag == "" && !creating || b.ETag != "" && b.Doc.HasExpired(p.now()) {
		return api.PipelineBatch{}, problem.New(api.CodeNotFound, "the request with this idempotency key was answered with batch %d, which has expired: use a new key for a new request", record.Batch)
	}
	if record.Unchanged {
		return p.answerCached(ctx, o.by, &b.Doc)
	}
	return p.ensure(ctx, o, record.Batch, record.At)
}

// remember keeps the idempotency key of a request that is answered with an earlier batch. cached: with
// its result, which a repetition gets again.
func (p *Pipelines) remember(ctx context.Context, o order, batch int, at time.Time, cached bool) error {
	write, err := p.record(ctx, o, batch, at, cached)
	if err != nil || len(write) == 0 {
		return err
	}
	_, err = p.store.Apply(ctx, write)
	return err
}

// record returns the write of the idempotency record of a request; none for a request without a key.
func (p *Pipelines) record(ctx context.Context, o order, batch int, at time.Time, cached bool) (store.Writes, error) {
	if o.by.Key == "" {
		return nil, nil
	}
	content, err := p.sealer.ContentDigest(ctx, o.runbook, o.content)
	if err != nil {
		return nil, err
	}
	return store.Writes{store.Create(idempotency.Key(o.by, store.PartitionBatches), store.IdempotencyRecord{By: o.by.Name, Content: content, At: at, Version: o.version, Batch: batch, Unchanged: cached})}, nil
}

// start answers a request that is new: with the owner's last batch, or with a new one.
func (p *Pipelines) start(ctx context.Context, o order) (api.PipelineBatch, error) {
	key := o.key()
	last, err := store.OrNone(store.Read[store.PipelineRequest](ctx, p.store, key))
	if err != nil {
		return api.PipelineBatch{}, err
	}
	var b store.Item[model.Batch]
	if last.ETag != "" {
		if b, err = store.OrNone(store.Read[model.Batch](ctx, p.store, store.BatchKey(last.Doc.Batch))); err != nil {
			return api.PipelineBatch{}, err
		}
	}
	if last.Doc.Fingerprint == o.fingerprint && !o.force {
		runs := b.ETag != "" && !b.Doc.HasEnded()
		if b.ETag == "" {
			if runs, err = p.isCreating(ctx, last.Doc.Batch); err != nil {
				return api.PipelineBatch{}, err
			}
		}
		if current := isCurrent(&b.Doc, p.now()); runs || current {
			if err := p.remember(ctx, o, last.Doc.Batch, last.Doc.At, current); err != nil {
				return api.PipelineBatch{}, err
			}
			if current {
				return p.answerCached(ctx, o.by, &b.Doc)
			}
			return p.ensure(ctx, o, last.Doc.Batch, last.Doc.At)
		}
	}
	now, tries := p.now().UTC(), 0
	next := store.PipelineRequest{Runbook: o.runbook.Name, Owner: o.owner, Version: o.version, Fingerprint: o.fingerprint, At: now, Before: last.Doc.Batch}
	id, err := p.members.ReserveBatch(ctx, store.BatchSummary{RunbookName: o.runbook.Name, RunbookVersion: o.version, BatchDetails: model.BatchDetails{Owner: o.owner}, Claimed: true}, func(id int) (store.Writes, error) {
		if tries++; tries > 1 {
			if err := p.ensureNewest(ctx, o, last.Version); err != nil {
				return nil, err
			}
		}
		return p.reservation(ctx, o, id, next, last.Version)
	})
	if err != nil {
		return api.PipelineBatch{}, err
	}
	return p.write(ctx, o, id, now, next.Before)
}

// ensureNewest fails with errMeanwhile if another request of the owner came after the last known one.
func (p *Pipelines) ensureNewest(ctx context.Context, o order, last store.Version) error {
	stored, err := store.OrNone(store.Read[store.PipelineRequest](ctx, p.store, o.key()))
	if err == nil && stored.ETag != last.ETag {
		err = errMeanwhile
	}
	return err
}

// reservation returns the writes that keep the request beside its number. They fail if another request of the owner came
// after the last known one.
func (p *Pipelines) reservation(ctx context.Context, o order, id int, next store.PipelineRequest, last store.Version) (store.Writes, error) {
	key := o.key()
	next.Batch = id
	ops := store.Writes{store.Create(key, next)}
	if last.ETag != "" {
		ops[0] = store.Replace(key, next, last)
	}
	record, err := p.record(ctx, o, id, next.At, false)
	return append(ops, record...), err
}

// ensure writes a batch whose number is reserved, as far as it is not written, and begins it. A call that
// goes on with a request has the same items in the same order, and so writes the same.
func (p *Pipelines) ensure(ctx context.Context, o order, id int, at time.Time) (api.PipelineBatch, error) {
	before, err := p.before(ctx, o, id)
	if err != nil {
		return api.PipelineBatch{}, err
	}
	existing, err := store.OrNone(store.Read[model.Batch](ctx, p.store, store.BatchKey(id)))
	if err != nil {
		return api.PipelineBatch{}, err
	}
	if existing.ETag != "" {
		return p.begin(ctx, o, id, at, before)
	}
	return p.write(ctx, o, id, at, before)
}

// write writes the items of a batch, as far as they are not written, and begins it.
func (p *Pipelines) write(ctx context.Context, o order, id int, at time.Time, before int) (api.PipelineBatch, error) {
	if err := p.members.WriteMembers(ctx, model.Batch{ID: id, DetectedAt: at, Display: o.runbook.Display}, o.runbook, o.items.people); err != nil {
		return api.PipelineBatch{}, err
	}
	return p.begin(ctx, o, id, at, before)
}

// begin writes the document of a batch whose items are written, unless it exists.
func (p *Pipelines) begin(ctx context.Context, o order, id int, at time.Time, before int) (api.PipelineBatch, error) {
	b, existed, err := p.members.EnsureDocument(ctx, o.by, model.BatchCreated{
		ID: id, Runbook: o.runbook.Name, Version: o.version, Members: len(o.items.people), By: o.by.Name, At: at,
		Requested: &model.Requested{Fingerprint: o.fingerprint, Force: o.force, Shadow: o.shadow, Before: before, KeepSeconds: int(o.runbook.Request.Expires / time.Second)}, Details: model.BatchDetails{Owner: o.owner},
	})
	if err != nil {
		return api.PipelineBatch{}, err
	}
	p.log.InfoContext(ctx, "batch requested", logkey.BatchID, id, logkey.Runbook, o.runbook.Name, logkey.Members, len(o.items.people), logkey.By, o.by.Name, logkey.Repeated, existed)
	view, err := p.view(ctx, o.by, &b)
	view.Replayed = existed
	return view, err
}

// before gives the batch of the owner's request before, as far as a later request has not come since.
func (p *Pipelines) before(ctx context.Context, o order, id int) (int, error) {
	last, err := store.OrNone(store.Read[store.PipelineRequest](ctx, p.store, o.key()))
	if err != nil || last.Doc.Batch != id {
		return 0, err
	}
	return last.Doc.Before, nil
}

// answerCached answers a request with a batch that has completed with the same items.
func (p *Pipelines) answerCached(ctx context.Context, by audit.Caller, b *model.Batch) (api.PipelineBatch, error) {
	view, err := p.view(ctx, by, b)
	view.Status = api.PipelineCached
	return view, err
}

// isCreating reports whether a batch that does not exist has a number, and is being written or was cut
// short. One that has expired has none.
func (p *Pipelines) isCreating(ctx context.Context, batch int) (bool, error) {
	entry, err := store.OrNone(store.Read[store.BatchSummary](ctx, p.store, store.EntryKey(batch)))
	return entry.Doc.Creating, err
}

// hasResult reports whether a batch has completed, also the on_complete steps that give its result, and
// has not expired.
func hasResult(b *model.Batch, now time.Time) bool {
	return succeeded(b) && !b.HasExpired(now)
}

// succeeded reports whether a batch has completed with its result.
func succeeded(b *model.Batch) bool {
	if b.Status != model.BatchCompleted || b.Requested == nil {
		return false
	}
	last := resulting(b)
	return last == nil || last.OnCompleteStatus == model.RunSucceeded
}

// resulting returns the phase whose on_complete steps give the result of a batch, the last that has any;
// nil for none.
func resulting(b *model.Batch) (last *model.Phase) {
	for i := range b.Phases {
		if p := &b.Phases[i]; p.Kind == model.KindPhase && p.OnCompleteStatus != "" {
			last = p
		}
	}
	return last
}

// isCurrent reports whether the result of a batch is that of all its items: none failed, and each phase
// completed.
func isCurrent(b *model.Batch, now time.Time) bool {
	if !hasResult(b, now) || b.Failed() > 0 || b.Removed > 0 {
		return false
	}
	for _, ph := range b.Phases {
		if ph.Kind == model.KindPhase && ph.Status != model.PhaseCompleted && ph.Status != model.PhaseSuperseded {
			return false
		}
	}
	return true
}

// place is the address of a batch, within the handler.
func place(name string, batch int) string {
	return fmt.Sprintf("/api/pipelines/%s/batches/%d", url.PathEscape(name), batch)
}
