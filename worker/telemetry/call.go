package telemetry

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/matoolkit/matoolkit/worker/throttle"
)

// APIs of the tenant, and of other workers than that of a tenant.
const (
	Graph    = "graph"
	Exchange = "exchange"
	GitHub   = "github"
	Storage  = "storage"
)

// Client is base with each of its requests recorded as a call to an API, where anything is sent. A
// nil base is an empty client.
func (r *Recorder) Client(base *http.Client, api string) *http.Client {
	var client http.Client
	if base != nil {
		client = *base
	}
	if client.Transport == nil {
		client.Transport = http.DefaultTransport
	}
	if r.on {
		client.Transport = &transport{recorder: r, api: api, next: client.Transport}
	}
	return &client
}

// Observe is a throttle.Policy's Observe for calls to an API.
func (r *Recorder) Observe(api string) func(ctx context.Context, v throttle.Verdict) {
	attributes := metric.WithAttributes(attribute.String("matoolkit.api", api))
	return func(ctx context.Context, v throttle.Verdict) {
		if v.Outcome == throttle.Throttled {
			r.throttles.Add(ctx, 1, attributes)
		}
	}
}

type transport struct {
	recorder *Recorder
	api      string
	next     http.RoundTripper
}

// RoundTrip makes the request within a span of its own. It records neither the
// address nor the bodies, and sends no trace header to the tenant.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	r := t.recorder
	api := attribute.String("matoolkit.api", t.api)
	operation := attribute.String("matoolkit.operation", operationOf(t.api, request))
	attempt := throttle.Attempt(request.Context())
	ctx, span := r.tracer.Start(request.Context(), operation.Value.AsString(), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		api, operation,
		attribute.String("http.request.method", request.Method),
		attribute.Int("matoolkit.attempt", attempt),
	))
	defer span.End()
	if attempt > 1 {
		r.retries.Add(ctx, 1, metric.WithAttributes(api))
	}
	began := time.Now()
	response, err := t.next.RoundTrip(request.WithContext(ctx))
	status := "none"
	if err != nil {
		span.SetStatus(codes.Error, "no answer") // the error's text has the address
	} else {
		status = strconv.Itoa(response.StatusCode)
		span.SetAttributes(attribute.Int("http.response.status_code", response.StatusCode))
		if response.StatusCode >= 400 {
			span.SetStatus(codes.Error, "")
		}
	}
	r.calls.Record(ctx, time.Since(began).Seconds(), metric.WithAttributes(api, operation, attribute.String("http.response.status_code", status)))
	return response, err
}

// operationOf names the operation of a request without its object.
func operationOf(api string, request *http.Request) string {
	if api == Exchange {
		return cmdlet(request.Header.Get("X-CmdletName"))
	}
	return request.Method + " " + template(request.URL.Path)
}

// cmdlet is the name of one, which is a verb and a noun.
func cmdlet(name string) string {
	for _, c := range name {
		if c != '-' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return otherFunction
		}
	}
	if name == "" || len(name) > 64 {
		return otherFunction
	}
	return name
}

// words are the parts of Graph's paths that name no object. Every other part of a path
// counts as an object's id, name or address.
var words = map[string]bool{}

func init() {
	for word := range strings.FieldsSeq(`v1.0 beta users groups members memberOf transitiveMemberOf transitiveMembers owners
		directory directoryObjects deletedItems invitations domains organization applications servicePrincipals manager
		sendMail revokeSignInSessions assignLicense checkMemberGroups checkMemberObjects getMemberGroups getByIds restore authentication methods
		convertExternalToInternalMemberUser subscribedSkus microsoft.graph.user microsoft.graph.group $ref $value $count $batch
		teams identity conditionalAccess policies drive solutions sharePoint migrations crossTenantMigrationJobs repos contents validate migrate temporaryAccessPassMethods emailMethods fido2Methods
		microsoftAuthenticatorMethods phoneMethods platformCredentialMethods softwareOathMethods windowsHelloForBusinessMethods crossOrganizationMigrationTasks cancel getBySourceUserPrincipalName(sourcePrincipalName=@source)
		getBySourceSiteUrl(sourceSiteUrl=@source) getBySourceGroupMailNickname(sourceGroupMailNickname=@source)`) {
		words[word] = true
	}
}

// template is a path with {id} for what names an object.
func template(path string) string {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	for i, s := range segments {
		if !words[s] {
			segments[i] = "{id}"
		}
	}
	return "/" + strings.Join(segments, "/")
}
