package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/store"
)

// defaultRouting is that of a pipeline before its first change: all is at the old orchestrator.
var defaultRouting = store.PipelineRouting{
	Output: "Fingerprint",
	Rule:   store.ShareReturnRule{MaxErrorPercent: 2, MinRequests: 20, WindowMinutes: 60, OverdueSeconds: 600},
}

// readRouting reads the routing of a pipeline, with that of all. stored is false where it was never changed.
func (p *Pipelines) readRouting(ctx context.Context, name string) (all store.Item[store.Routing], r store.PipelineRouting, stored bool, err error) {
	all, err = store.OrNone(store.Read[store.Routing](ctx, p.store, store.RoutingKey()))
	if r, stored = all.Doc.Pipelines[name]; !stored {
		r = defaultRouting
	}
	return all, r, stored, err
}

// writeRouting returns the write of a changed routing. The document of all is replaced under its ETag.
func writeRouting(all store.Item[store.Routing], name string, next store.PipelineRouting) store.Write {
	changed := store.Routing{Pipelines: maps.Clone(all.Doc.Pipelines)}
	if changed.Pipelines == nil {
		changed.Pipelines = map[string]store.PipelineRouting{}
	}
	changed.Pipelines[name] = next
	if all.ETag == "" {
		return store.Create(store.RoutingKey(), changed)
	}
	return store.Replace(store.RoutingKey(), changed, all.Version)
}

// checkShadow refuses a shadow where the shadow mode is off. It reads nothing for another request.
func (p *Pipelines) checkShadow(ctx context.Context, name string, shadow bool) error {
	if !shadow {
		return nil
	}
	if _, r, _, err := p.readRouting(ctx, name); err != nil || r.Shadow {
		return err
	}
	return problem.New(api.CodeConflict, "the shadow mode of pipeline %q is off; no batch was started", name)
}

// bucket is the number of an owner, 0 to 99. It depends on the pipeline and the owner in lower case, and on
// nothing else: an owner whom a share includes is included by each larger one.
func bucket(name, owner string) int {
	digest := sha256.Sum256(fmt.Appendf(nil, "%d:%s%s", len(name), name, strings.ToLower(owner)))
	return int(binary.BigEndian.Uint64(digest[:8]) % 100)
}

// Route says which orchestrator serves the requests of an owner. It returns the share to 0 first where too
// many requests have failed. Errors: CodeInvalid, CodeNotFound, CodeUnavailable.
func (p *Pipelines) Route(ctx context.Context, name, owner string) (api.PipelineRoute, error) {
	owner, err := checkOwner(owner)
	if err != nil {
		return api.PipelineRoute{}, err
	}
	_, r, stored, err := p.readRouting(ctx, name)
	if err == nil && !stored {
		_, err = p.runbooks.Head(ctx, name)
	}
	if err == nil && r.Percent > 0 && p.shares.due(name, p.now()) {
		r, err = p.returnShare(ctx, name)
	}
	if err != nil {
		return api.PipelineRoute{}, err
	}
	route := api.PipelineRoute{Pipeline: name, Owner: owner, Orchestrator: api.OrchestratorOld, Bucket: bucket(name, owner), Percent: r.Percent}
	if route.Bucket < r.Percent {
		route.Orchestrator = api.OrchestratorNew
	} else {
		route.Shadow = r.Shadow
	}
	p.metrics.routes.Add(ctx, 1, metric.WithAttributes(runbookAttribute(name), orchestratorAttribute(route.Orchestrator)))
	return route, nil
}

// Routing gives the routing of a pipeline, with the requests that count for the return of its share.
// Errors: CodeNotFound, CodeUnavailable.
func (p *Pipelines) Routing(ctx context.Context, name string) (api.Routing, error) {
	if _, err := p.runbooks.Head(ctx, name); err != nil {
		return api.Routing{}, err
	}
	_, r, stored, err := p.readRouting(ctx, name)
	if err != nil {
		return api.Routing{}, err
	}
	return p.routingView(ctx, name, r, stored)
}

// SetRouting changes the routing of a pipeline, if it has one of the tags or none are given. A request that
// changes nothing writes nothing. Errors: CodeInvalid, CodeNotFound, CodeChanged where no tag matches;
// CodeConflict where requests do not start the batches of the runbook, or no version is active;
// CodeUnavailable.
func (p *Pipelines) SetRouting(ctx context.Context, by audit.Caller, name, why string, request api.RoutingRequest, tags ...string) (api.Routing, error) {
	if err := checkRouting(request); err != nil {
		return api.Routing{}, err
	}
	head, err := p.runbooks.Head(ctx, name)
	if err != nil {
		return api.Routing{}, err
	}
	if request.Shadow != nil && *request.Shadow || request.Percent != nil && *request.Percent > 0 {
		if err := p.checkMovable(ctx, name, head.Doc.Active); err != nil {
			return api.Routing{}, err
		}
	}
	var view api.Routing
	err = store.RetryOnConflict(ctx, func() error {
		all, was, stored, err := p.readRouting(ctx, name)
		if err != nil {
			return err
		}
		now := p.now().UTC()
		next := changedRouting(was, request, now)
		if before, after := routingState(was), routingState(next); string(before) != string(after) {
			if !apiview.Matches(tags, routingTag(was)) {
				return problem.New(api.CodeChanged, "the routing of pipeline %q has changed since you read it: read it again", name)
			}
			next.Revision++
			next.Changed = model.Attribution{By: by.Name, At: now, Why: why}
			record := store.AuditRecord{At: now, Actor: by.Actor(), Action: api.ActionSetRouting, Runbook: name, Why: why, Before: before, After: after}
			if _, err := p.store.Apply(ctx, store.Writes{writeRouting(all, name, next), p.audit.Record(record)}); err != nil {
				return err
			}
			was, stored = next, true
			p.log.InfoContext(ctx, "routing changed", logkey.Runbook, name, logkey.Revision, next.Revision, logkey.By, by.Name, logkey.After, string(after))
		}
		view, err = p.routingView(ctx, name, was, stored)
		return err
	})
	return view, err
}

// checkMovable refuses a pipeline that cannot serve requests.
func (p *Pipelines) checkMovable(ctx context.Context, name string, active int) error {
	if active == 0 {
		return problem.New(api.CodeConflict, "no version of runbook %q is active: publish one first", name)
	}
	rb, err := p.runbooks.Load(ctx, name, active)
	if err == nil && !rb.IsRequested() {
		err = problem.New(api.CodeConflict, "requests do not start the batches of runbook %q: it has no trigger: request", name)
	}
	return err
}

// maxOutputName is how many bytes the name of an output can have, as the format has it.
const maxOutputName = 100

// checkRouting refuses values out of range. Errors: CodeInvalid.
func checkRouting(r api.RoutingRequest) error {
	for _, f := range []struct {
		name     string
		value    *int
		min, max int
	}{
		{"percent", r.Percent, 0, 100},
		{"maxErrorPercent", r.MaxErrorPercent, 0, 100},
		{"minRequests", r.MinRequests, 1, maxShareRequests},
		{"windowMinutes", r.WindowMinutes, 5, 24 * 60},
		{"overdueSeconds", r.OverdueSeconds, 1, 24 * 60 * 60},
	} {
		if f.value != nil && (*f.value < f.min || *f.value > f.max) {
			return problem.New(api.CodeInvalid, "invalid %s %d: use %d to %d", f.name, *f.value, f.min, f.max)
		}
	}
	if o := r.FingerprintOutput; o != nil && (*o == "" || len(*o) > maxOutputName) {
		return problem.New(api.CodeInvalid, "fingerprintOutput has %d bytes; name an output of the on_complete steps, with 1 to %d", len(*o), maxOutputName)
	}
	return nil
}

// changedRouting returns the routing after a request. Setting the share, to any value, takes note of its
// return.
func changedRouting(r store.PipelineRouting, c api.RoutingRequest, now time.Time) store.PipelineRouting {
	if c.Shadow != nil {
		if *c.Shadow && !r.Shadow {
			r.ShadowSince = &now
		}
		r.Shadow = *c.Shadow
	}
	if c.Percent != nil {
		if r.Percent == 0 && *c.Percent > 0 {
			r.Since = &now
		}
		r.Percent, r.Returned = *c.Percent, nil
	}
	if c.FingerprintOutput != nil {
		r.Output = *c.FingerprintOutput
	}
	for _, f := range []struct{ value, into *int }{
		{c.MaxErrorPercent, &r.Rule.MaxErrorPercent}, {c.MinRequests, &r.Rule.MinRequests}, {c.WindowMinutes, &r.Rule.WindowMinutes}, {c.OverdueSeconds, &r.Rule.OverdueSeconds},
	} {
		if f.value != nil {
			*f.into = *f.value
		}
	}
	return r
}

// routingState has the settings of an administrator, for audit records.
func routingState(r store.PipelineRouting) []byte {
	s := audit.State{
		"shadow": r.Shadow, "fingerprintOutput": r.Output, "percent": r.Percent,
		"maxErrorPercent": r.Rule.MaxErrorPercent, "minRequests": r.Rule.MinRequests, "windowMinutes": r.Rule.WindowMinutes, "overdueSeconds": r.Rule.OverdueSeconds,
	}
	if b := r.Returned; b != nil {
		s["returned"] = returnReason(b, r.Rule)
	}
	return s.JSON()
}

func routingTag(r store.PipelineRouting) string {
	return apiview.ETag("routing", strconv.Itoa(r.Revision))
}

func (p *Pipelines) routingView(ctx context.Context, name string, r store.PipelineRouting, stored bool) (api.Routing, error) {
	v := api.Routing{
		Pipeline: name, Shadow: r.Shadow, ShadowSince: r.ShadowSince, FingerprintOutput: r.Output, Percent: r.Percent, Return: api.ShareRule(r.Rule), ETag: routingTag(r),
	}
	if stored {
		v.Changed = apiview.Attribution(&r.Changed)
	}
	if b := r.Returned; b != nil {
		v.Returned = &api.ShareReturn{At: b.At, Percent: b.Percent, Requests: b.Requests, Failed: b.Failed, Reason: returnReason(b, r.Rule)}
	}
	if r.Percent == 0 {
		return v, nil
	}
	v.ShareSince = r.Since
	recent, err := p.recentRequests(ctx, name, r)
	v.Recent = &recent.ShareRequests
	return v, err
}
