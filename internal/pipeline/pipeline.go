// Package pipeline answers requests that start batches: a runbook with trigger: request has one batch for
// each request, and its members are the items of the request, or those that a function lists for it. The package decides whether a request needs
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
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/idempotency"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/panics"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbookstore"
	"github.com/matoolkit/matoolkit/internal/sealing"
	"github.com/matoolkit/matoolkit/internal/store"

	"go.opentelemetry.io/otel/metric"
	"golang.org/x/sync/errgroup"
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
	countPhase  func(ctx context.Context, b *model.Batch, p model.Phase) (api.Phase, error)
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
	CountPhase  func(ctx context.Context, b *model.Batch, p model.Phase) (api.Phase, error) // with the counts of its members
	Audit       *audit.Log
	Meter       metric.Meter // nil: nothing is measured
}

// New returns Pipelines.
func New(c Config) *Pipelines {
	return &Pipelines{
		store: c.Store, now: c.Now, log: c.Log, idempotency: c.Idempotency, runbooks: c.Runbooks, sealer: c.Sealer, members: c.Members, countPhase: c.CountPhase,
		audit: c.Audit, metrics: newMetrics(c.Meter),
	}
}

// order is a request that was checked, under one version of its runbook.
type order struct {
	by      audit.Caller
	owner   string
	force   bool
	shadow  bool
	version int
	runbook *runbook.Runbook
	items   membership.Items                  // none if a function lists them
	content string                            // identifies the request, for its idempotency key
	last    store.Item[store.PipelineRequest] // of the owner, before this one
}

// key is the document with the newest request of the owner.
func (o *order) key() store.Key { return requestKey(o.runbook.Name, o.owner, o.shadow) }

func requestKey(name, owner string, shadow bool) store.Key {
	if shadow {
		return store.ShadowKey(name, owner)
	}
	return store.PipelineKey(name, owner)
}

// errMeanwhile: another process has begun with a request of the same owner.
var errMeanwhile = errors.New("pipeline: another request of the owner came first")

// StartPipeline starts a batch for the items of a request, under the active version of the runbook. It
// starts none if the owner's last batch had the same items and has completed without a failed item:
// the answer is that batch, with PipelineCached. If that batch still runs, the answer is the batch as it
// is. With Force neither matters.
//
// If a function lists the items, the request has none, and the batch begins with the call. If it finds the
// items of the owner's last batch, the batch ends with the result of that one. While the function lists
// the items of the owner's last batch, the answer is that batch.
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
		var last store.Item[store.PipelineRequest]
		if record.ETag == "" {
			if err := p.checkShadow(ctx, name, r.Shadow); err != nil {
				return err
			}
			if version, last, err = p.standing(ctx, name, owner, r.Shadow); err != nil {
				return err
			}
		}
		o, err := p.newOrder(ctx, by, name, version, owner, r)
		if err != nil {
			return err
		}
		if o.content, o.last = content, last; record.ETag != "" {
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

// standing gives the active version of a runbook and the last request of an owner, which it reads at the same time.
func (p *Pipelines) standing(ctx context.Context, name, owner string, shadow bool) (version int, last store.Item[store.PipelineRequest], err error) {
	var reading errgroup.Group
	reading.Go(func() error {
		return panics.Catch(ctx, func() (err error) {
			last, err = store.OrNone(store.Read[store.PipelineRequest](ctx, p.store, requestKey(name, owner, shadow)))
			return err
		})
	})
	version, err = p.activeVersion(ctx, name)
	if failed := reading.Wait(); err == nil {
		err = failed
	}
	return version, last, err
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
	o := order{by: by, owner: owner, force: r.Force, shadow: r.Shadow, version: version, runbook: rb}
	if rb.ListsItems() {
		if r.Items != nil {
			return order{}, problem.New(api.CodeInvalid, "a function lists the items of runbook %q: send the request without items", name)
		}
		return o, nil
	}
	var hashKey []byte
	if len(rb.Secret) > 0 {
		if hashKey, err = p.sealer.DigestKey(ctx); err != nil {
			return order{}, err
		}
	}
	rows, err := readItems(rb, r.Items, hashKey)
	if err != nil {
		return order{}, err
	}
	o.items = membership.ItemsOf(version, rows)
	return o, nil
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
	return idempotency.Digest(append([]string{what, name, strings.ToLower(owner), strconv.FormatBool(r.Force)}, texts...)...), nil
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

// keepsKeys is how much longer than its batches a runbook keeps the idempotency keys of its requests.
const keepsKeys = 24 * time.Hour

// record returns the write of the idempotency record of a request; none for a request without a key. The Functions host
// gives a key to each request that has none, so that the records must expire.
func (p *Pipelines) record(ctx context.Context, o order, batch int, at time.Time, cached bool) (store.Writes, error) {
	if o.by.Key == "" {
		return nil, nil
	}
	content, err := p.sealer.ContentDigest(ctx, o.runbook, o.content)
	if err != nil {
		return nil, err
	}
	expires := p.now().UTC().Add(o.runbook.Request.Expires + keepsKeys)
	return store.Writes{store.Create(idempotency.Key(o.by, store.PartitionBatches), store.IdempotencyRecord{
		By: o.by.Name, Content: content, At: at, Version: o.version, Batch: batch, Unchanged: cached, ExpiresAt: &expires,
	})}, nil
}

// start answers a request that is new: with the owner's last batch, or with a new one.
func (p *Pipelines) start(ctx context.Context, o order) (api.PipelineBatch, error) {
	last := o.last
	var b store.Item[model.Batch]
	var err error
	if last.ETag != "" {
		if b, err = store.OrNone(store.Read[model.Batch](ctx, p.store, store.BatchKey(last.Doc.Batch))); err != nil {
			return api.PipelineBatch{}, err
		}
	}
	runs, current, err := p.serves(ctx, o, &last.Doc, b)
	if err != nil {
		return api.PipelineBatch{}, err
	}
	if runs || current {
		if err := p.remember(ctx, o, last.Doc.Batch, last.Doc.At, current); err != nil {
			return api.PipelineBatch{}, err
		}
		if current {
			return p.answerCached(ctx, o.by, &b.Doc)
		}
		return p.ensure(ctx, o, last.Doc.Batch, last.Doc.At)
	}
	now, tries := p.now().UTC(), 0
	next := store.PipelineRequest{Runbook: o.runbook.Name, Owner: o.owner, Version: o.version, Fingerprint: o.items.Fingerprint, At: now, Before: last.Doc.Batch, Result: last.Doc.Result}
	if hasResult(&b.Doc, now) {
		next.Result = last.Doc.Batch
	}
	id, err := p.members.ReserveBatch(ctx, store.BatchSummary{RunbookName: o.runbook.Name, RunbookVersion: o.version, BatchDetails: model.BatchDetails{Owner: o.owner}, Claimed: true, Requested: true, Shadow: o.shadow}, func(id int) (store.Writes, error) {
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

// serves reports whether the batch of the owner's last request serves this one, too: it runs, or has a current
// result. If a function lists the items, their fingerprint is not known before, so that only a batch serves it
// whose items are being listed.
func (p *Pipelines) serves(ctx context.Context, o order, last *store.PipelineRequest, b store.Item[model.Batch]) (runs, current bool, err error) {
	switch {
	case o.force || last.Version != o.version || last.Fingerprint != o.items.Fingerprint:
		return false, false, nil
	case b.ETag == "":
		runs, err = p.isCreating(ctx, last.Batch)
		return runs, false, err
	case o.runbook.ListsItems():
		return b.Doc.IsListing(), false, nil
	}
	return !b.Doc.HasEnded(), b.Doc.HasCurrentResult(p.now()), nil
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
		return p.begin(ctx, o, id, at, before, nil)
	}
	return p.write(ctx, o, id, at, before)
}

// write writes the items of a batch, as far as they are not written, and begins it.
func (p *Pipelines) write(ctx context.Context, o order, id int, at time.Time, before int) (api.PipelineBatch, error) {
	last, err := p.members.WriteEarlierMembers(ctx, model.Batch{ID: id, DetectedAt: at, Display: o.runbook.Display}, o.runbook, o.items.People)
	if err != nil {
		return api.PipelineBatch{}, err
	}
	return p.begin(ctx, o, id, at, before, last)
}

// begin writes the document of a batch with its last items, unless it exists. The other items are written.
func (p *Pipelines) begin(ctx context.Context, o order, id int, at time.Time, before int, last store.Writes) (api.PipelineBatch, error) {
	b, existed, err := p.members.EnsureDocument(ctx, o.by, model.BatchCreated{
		ID: id, Runbook: o.runbook.Name, Version: o.version, Members: len(o.items.People), By: o.by.Name, At: at,
		Requested: &model.Requested{Fingerprint: o.items.Fingerprint, Force: o.force, Shadow: o.shadow, Before: before, KeepSeconds: int(o.runbook.Request.Expires / time.Second)}, Details: model.BatchDetails{Owner: o.owner},
	}, last)
	if err != nil {
		return api.PipelineBatch{}, err
	}
	p.log.InfoContext(ctx, "batch requested", logkey.BatchID, id, logkey.Runbook, o.runbook.Name, logkey.Members, len(o.items.People), logkey.By, o.by.Name, logkey.Repeated, existed)
	view, err := p.view(ctx, &b)
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
	view, err := p.view(ctx, b)
	view.Status = api.PipelineCached
	return view, err
}

// isCreating reports whether a batch that does not exist has a number, and is being written or was cut
// short. One that has expired has none.
func (p *Pipelines) isCreating(ctx context.Context, batch int) (bool, error) {
	entry, err := store.OrNone(store.Read[store.BatchSummary](ctx, p.store, store.EntryKey(batch)))
	return entry.Doc.Creating, err
}

// hasResult reports whether a batch has a result that has not expired.
func hasResult(b *model.Batch, now time.Time) bool { return b.HasResult() && !b.HasExpired(now) }

// place is the address of a batch, within the handler.
func place(name string, batch int) string {
	return fmt.Sprintf("/api/pipelines/%s/batches/%d", url.PathEscape(name), batch)
}
