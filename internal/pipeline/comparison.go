package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/alert"
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/store"
)

const (
	maxPendingComparisons = 1000
	maxDiffering          = 50
	maxFingerprint        = 200 // bytes
	maxComparedError      = 500 // bytes that are kept of an error
	maxComparedTime       = 7 * 24 * time.Hour
	// comparedPerWrite is how many comparisons a tick stores in one write, with their counts.
	comparedPerWrite = 40
)

// verdict is a comparison with its outcome, which is pending while the shadow runs.
type verdict struct{ store.Comparison }

// bothSucceeded reports whether the durations of a comparison can be compared.
func (c *verdict) bothSucceeded() bool {
	return c.Outcome == api.ComparisonSame || c.Outcome == api.ComparisonDifferent
}

// isWorse reports whether the new orchestrator did not serve the request as the old one did.
func (c *verdict) isWorse() bool {
	return c.Outcome == api.ComparisonDifferent || c.Outcome == api.ComparisonNewFailed
}

// ReportComparison takes down how the old orchestrator served the request of a shadow, and compares it with
// the shadow: at once if that has ended, otherwise at a tick after its end. A report that comes again
// changes nothing, and the answer is the comparison with the first one.
//
// Errors: CodeInvalid; CodeNotFound; CodeConflict for a batch that is no shadow, or too many reports that
// wait; CodeUnavailable.
func (p *Pipelines) ReportComparison(ctx context.Context, by audit.Caller, name string, batch int, report api.ComparisonRequest) (api.Comparison, error) {
	if err := checkReport(report); err != nil {
		return api.Comparison{}, err
	}
	var view api.Comparison
	err := store.RetryOnConflict(ctx, func() error {
		b, err := p.read(ctx, name, batch)
		if err != nil {
			return err
		}
		if !b.IsShadow() {
			return problem.New(api.CodeConflict, "batch %d is not a shadow: it was started without shadow", batch)
		}
		earlier, err := store.OrNone(store.Read[store.Comparison](ctx, p.store, store.ComparisonKey(batch)))
		if err != nil || earlier.ETag != "" {
			view = comparisonView(&earlier.Doc)
			return err
		}
		_, r, _, err := p.readRouting(ctx, name)
		if err != nil {
			return err
		}
		sums, err := p.readComparisons(ctx, name, r)
		if err != nil {
			return err
		}
		c := verdict{store.Comparison{
			Runbook: name, Batch: batch, Owner: b.Owner, Outcome: api.ComparisonPending, At: p.now().UTC(), By: by.Name,
			Old: store.ComparisonSide{Fingerprint: report.Fingerprint, Milliseconds: report.Milliseconds, Error: humanize.Clip(report.Error, maxComparedError)},
		}}
		switch {
		case b.HasEnded():
			if err := p.decideOutcome(ctx, &c, b, r.Output); err != nil {
				return err
			}
			addVerdict(&sums.Doc, &c)
		case len(sums.Doc.Pending) >= maxPendingComparisons:
			return problem.New(api.CodeConflict, "%d comparisons of pipeline %q wait for the end of their batches: report later", len(sums.Doc.Pending), name)
		default:
			sums.Doc.Pending = append(sums.Doc.Pending, batch)
		}
		p.logDiffering(ctx, &c)
		if _, err := p.store.Apply(ctx, store.Writes{store.Create(store.ComparisonKey(batch), c.Comparison), writeComparisons(sums)}); err != nil {
			return err
		}
		p.measure(ctx, &c)
		view = comparisonView(&c.Comparison)
		return nil
	})
	return view, err
}

// checkReport refuses a report that says nothing. Errors: CodeInvalid.
func checkReport(r api.ComparisonRequest) error {
	switch {
	case r.Fingerprint == "" && r.Error == "":
		return problem.New(api.CodeInvalid, "the report has neither a fingerprint nor an error: give the fingerprint of the result, or the error of the request that failed")
	case r.Fingerprint != "" && r.Error != "":
		return problem.New(api.CodeInvalid, "the report has a fingerprint and an error: give one of them")
	case len(r.Fingerprint) > maxFingerprint:
		return problem.New(api.CodeInvalid, "the fingerprint has %d bytes; at most %d are allowed", len(r.Fingerprint), maxFingerprint)
	case r.Milliseconds < 0 || r.Milliseconds > maxComparedTime.Milliseconds():
		return problem.New(api.CodeInvalid, "invalid milliseconds %d: use 0 to %d", r.Milliseconds, maxComparedTime.Milliseconds())
	}
	return nil
}

// readComparisons reads the counts of a pipeline. Those from before its shadow mode was turned on last do
// not count.
func (p *Pipelines) readComparisons(ctx context.Context, name string, r store.PipelineRouting) (store.Item[store.Comparisons], error) {
	sums, err := store.OrNone(store.Read[store.Comparisons](ctx, p.store, store.ComparisonsKey(name)))
	if r.ShadowSince != nil && sums.Doc.Since.Before(*r.ShadowSince) {
		sums.Doc = store.Comparisons{Since: *r.ShadowSince}
	}
	sums.Key, sums.Doc.Runbook, sums.Doc.Counts = store.ComparisonsKey(name), name, maps.Clone(sums.Doc.Counts)
	sums.Doc.Pending = slices.Clone(sums.Doc.Pending)
	return sums, err
}

func writeComparisons(sums store.Item[store.Comparisons]) store.Write {
	if sums.ETag == "" {
		return store.Create(sums.Key, sums.Doc)
	}
	return store.Replace(sums.Key, sums.Doc, sums.Version)
}

// decideOutcome compares the report of a shadow that has ended with it.
func (p *Pipelines) decideOutcome(ctx context.Context, c *verdict, b *model.Batch, output string) error {
	if b.CompletedAt != nil {
		c.New.Milliseconds = b.CompletedAt.Sub(b.DetectedAt).Milliseconds()
	}
	if b.Cancelled != nil {
		c.Outcome, c.Reason = api.ComparisonCancelled, "the shadow was "+failure(b)
		return nil
	}
	if !b.HasResult() {
		c.New.Error = humanize.Clip(failure(b), maxComparedError)
		c.Outcome, c.Reason = api.ComparisonNewFailed, "the shadow failed: "+c.New.Error
		if c.Old.Error != "" {
			c.Outcome, c.Reason = api.ComparisonBothFailed, ""
		}
		return nil
	}
	b, err := p.holder(ctx, b)
	if err != nil {
		return err
	}
	outputs, err := p.outputs(ctx, b)
	if err != nil {
		return err
	}
	c.New.Fingerprint = humanize.Clip(plain(outputs[output]), maxFingerprint)
	switch {
	case c.Old.Error != "":
		c.Outcome = api.ComparisonOldFailed
	case c.New.Fingerprint == "":
		c.Outcome, c.Reason = api.ComparisonDifferent, "the result of the shadow has no output "+output
	case c.Old.Fingerprint != c.New.Fingerprint:
		c.Outcome, c.Reason = api.ComparisonDifferent, "the fingerprints differ"
	default:
		c.Outcome = api.ComparisonSame
	}
	return nil
}

// plain is the text of a JSON string, or another value as it is.
func plain(value json.RawMessage) string {
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		return string(value)
	}
	return text
}

// addVerdict adds a verdict to the counts of its pipeline.
func addVerdict(sums *store.Comparisons, c *verdict) {
	if c.Outcome == api.ComparisonCancelled {
		return
	}
	if sums.Counts == nil {
		sums.Counts = map[string]int{}
	}
	sums.Counts[c.Outcome]++
	if c.bothSucceeded() {
		sums.Old.Add(c.Old.Milliseconds)
		sums.New.Add(c.New.Milliseconds)
	}
	if c.isWorse() {
		sums.Differing = slices.Insert(slices.Clone(sums.Differing), 0, c.Comparison)
		sums.Differing = sums.Differing[:min(len(sums.Differing), maxDiffering)]
	}
}

// logDiffering logs a shadow that did not do as the old orchestrator did. It is called before the write:
// if the process dies in between, it is logged again.
func (p *Pipelines) logDiffering(ctx context.Context, c *verdict) {
	if c.isWorse() {
		p.log.WarnContext(ctx, "a shadow differs from the old orchestrator", logkey.Event, alert.ShadowDiffers, logkey.BatchID, c.Batch, logkey.Runbook, c.Runbook, logkey.Reason, c.Reason)
	}
}

func (p *Pipelines) measure(ctx context.Context, c *verdict) {
	if c.Outcome != api.ComparisonPending && c.Outcome != api.ComparisonCancelled {
		p.metrics.compared(ctx, c)
	}
}

// compareEnded compares the shadows of a pipeline that have ended since their report.
func (p *Pipelines) compareEnded(ctx context.Context, name string, r store.PipelineRouting) error {
	for more := true; more; {
		err := store.RetryOnConflict(ctx, func() (err error) {
			more, err = p.comparePending(ctx, name, r)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// comparePending compares some pending ones in one write, and reports whether others may be left.
func (p *Pipelines) comparePending(ctx context.Context, name string, r store.PipelineRouting) (more bool, err error) {
	sums, err := p.readComparisons(ctx, name, r)
	if err != nil {
		return false, err
	}
	var ops store.Writes
	var compared []verdict
	var left []int
	for i, id := range sums.Doc.Pending {
		if len(ops) == comparedPerWrite {
			left, more = append(left, sums.Doc.Pending[i:]...), true
			break
		}
		b, err := store.Read[model.Batch](ctx, p.store, store.BatchKey(id))
		if errors.Is(err, store.ErrNotFound) || err == nil && b.Doc.HasExpired(p.now()) { // before a tick came: its result may be gone
			continue
		}
		if err != nil {
			return false, err
		}
		if !b.Doc.HasEnded() {
			left = append(left, id)
			continue
		}
		stored, err := store.Read[store.Comparison](ctx, p.store, store.ComparisonKey(id))
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return false, err
		}
		c := verdict{stored.Doc}
		if err := p.decideOutcome(ctx, &c, &b.Doc, r.Output); err != nil {
			return false, err
		}
		addVerdict(&sums.Doc, &c)
		compared, ops = append(compared, c), append(ops, store.Replace(stored.Key, c.Comparison, stored.Version))
	}
	if len(left) == len(sums.Doc.Pending) {
		return false, nil
	}
	sums.Doc.Pending = left
	for i := range compared {
		p.logDiffering(ctx, &compared[i])
	}
	if _, err := p.store.Apply(ctx, append(ops, writeComparisons(sums))); err != nil {
		return false, err
	}
	for i := range compared {
		p.measure(ctx, &compared[i])
	}
	return more, nil
}

// Comparisons gives the comparisons of a pipeline since its shadow mode was turned on last. Errors:
// CodeNotFound, CodeUnavailable.
func (p *Pipelines) Comparisons(ctx context.Context, name string) (api.Comparisons, error) {
	if _, err := p.runbooks.Head(ctx, name); err != nil {
		return api.Comparisons{}, err
	}
	_, r, _, err := p.readRouting(ctx, name)
	if err != nil {
		return api.Comparisons{}, err
	}
	sums, err := p.readComparisons(ctx, name, r)
	if err != nil {
		return api.Comparisons{}, err
	}
	s := &sums.Doc
	v := api.Comparisons{
		Pipeline: name, Since: r.ShadowSince, Same: s.Counts[api.ComparisonSame], Different: s.Counts[api.ComparisonDifferent], OldFailed: s.Counts[api.ComparisonOldFailed],
		NewFailed: s.Counts[api.ComparisonNewFailed], BothFailed: s.Counts[api.ComparisonBothFailed], Pending: len(s.Pending), Old: latencyView(s.Old), New: latencyView(s.New),
		Differing: []api.Comparison{},
	}
	for i := range s.Differing {
		v.Differing = append(v.Differing, comparisonView(&s.Differing[i]))
	}
	return v, nil
}

func latencyView(l store.Latency) api.Latency {
	return api.Latency{Requests: l.Requests, AverageMilliseconds: l.Milliseconds / int64(max(1, l.Requests)), MaxMilliseconds: l.MaxMilliseconds}
}

func comparisonView(c *store.Comparison) api.Comparison {
	return api.Comparison{
		ID: c.Batch, Pipeline: c.Runbook, Owner: c.Owner, Outcome: c.Outcome, Reason: c.Reason, Old: api.ComparisonSide(c.Old), New: api.ComparisonSide(c.New), ReportedAt: c.At, ReportedBy: c.By,
	}
}
