package telemetry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/dispatch"
	"github.com/matoolkit/matoolkit/worker/telemetry"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

// kept holds the spans of a recorder.
type kept struct {
	spans  *tracetest.InMemoryExporter
	reader *sdkmetric.ManualReader
	traces trace.TracerProvider
	meters metric.MeterProvider
	logs   *sdklog.LoggerProvider
	audit  *auditRecords
}

// auditRecords keeps the log records of a recorder.
type auditRecords struct{ all []sdklog.Record }

func (a *auditRecords) Export(_ context.Context, records []sdklog.Record) error {
	for _, r := range records {
		a.all = append(a.all, r.Clone())
	}
	return nil
}
func (*auditRecords) Shutdown(context.Context) error   { return nil }
func (*auditRecords) ForceFlush(context.Context) error { return nil }

func (k *kept) On() bool                        { return true }
func (k *kept) Tracer(name string) trace.Tracer { return k.traces.Tracer(name) }
func (k *kept) Meter(name string) metric.Meter  { return k.meters.Meter(name) }
func (k *kept) Logger(name string) log.Logger   { return k.logs.Logger(name) }

func record(t *testing.T) (*telemetry.Recorder, *kept) {
	t.Helper()
	k := &kept{spans: tracetest.NewInMemoryExporter(), reader: sdkmetric.NewManualReader(), audit: &auditRecords{}}
	k.logs = sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewSimpleProcessor(k.audit)))
	k.traces = sdktrace.NewTracerProvider(sdktrace.WithSyncer(k.spans))
	k.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(k.reader))
	r := testenv.Must(telemetry.New(k))(t)
	return r, k
}

// metrics gives each metric as "name attribute=value … = n", n being a sum or, of a
// histogram, how often it was measured.
func (k *kept) metrics(t *testing.T) (all []string) {
	t.Helper()
	var data metricdata.ResourceMetrics
	if err := k.reader.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	line := func(name string, set attribute.Set, n any) {
		words := []string{name}
		for _, a := range set.ToSlice() {
			words = append(words, string(a.Key)+"="+a.Value.String())
		}
		all = append(all, fmt.Sprintf("%s = %v", strings.Join(words, " "), n))
	}
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					line(m.Name, p.Attributes, p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					line(m.Name, p.Attributes, p.Count)
				}
			default:
				t.Errorf("%s is a %T, which cannot be sent", m.Name, d)
			}
		}
	}
	slices.Sort(all)
	return all
}

func (k *kept) attributes(i int) map[string]string {
	all := map[string]string{}
	for _, a := range k.spans.GetSpans()[i].Attributes {
		all[string(a.Key)] = a.Value.String()
	}
	return all
}

func delivery(function string, count int) dispatch.Delivery {
	return dispatch.Delivery{
		Job: message.Job{
			JobID: "step-7-attempt-1", FunctionName: function, Parameters: json.RawMessage(`{"Password":"Pa55word","UserPrincipalName":"ada@contoso.example"}`),
			CorrelationData: message.Correlation{BatchID: 42, StepExecutionID: 7},
		},
		EnqueuedAt: time.Now().Add(-time.Second), Count: count,
		Trace: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled}),
	}
}

func watch(t *testing.T, r *telemetry.Recorder) dispatch.Observer {
	t.Helper()
	c := testenv.Must(catalog.New(catalog.NoOp))(t)
	return r.Jobs(c)
}

func TestDeliveriesBecomeSpansAndMetrics(t *testing.T) {
	t.Parallel()
	r, k := record(t)
	jobs := watch(t, r)
	refused := &message.JobError{Type: "Request_BadRequest", Message: "ada@contoso.example is taken", Attempts: 2}
	throttled := &message.JobError{Type: "TooManyRequests", IsThrottled: true, Attempts: 6}
	odd := &message.JobError{Type: "ada@contoso.example", Attempts: 1}
	for _, d := range []struct {
		delivery dispatch.Delivery
		outcome  dispatch.Outcome
	}{
		{delivery(catalog.NoOp.Name, 1), dispatch.Outcome{Answered: true, Ran: true}},
		{delivery("no-op", 2), dispatch.Outcome{Answered: true}}, // runbooks name functions in any case
		{delivery(catalog.NoOp.Name, 1), dispatch.Outcome{Answered: true, Ran: true, Result: message.Result{Error: refused}}},
		{delivery(catalog.NoOp.Name, 1), dispatch.Outcome{Answered: true, Ran: true, Result: message.Result{Error: throttled}}},
		{delivery(catalog.NoOp.Name, 1), dispatch.Outcome{}},
		{delivery("ada@contoso.example", 1), dispatch.Outcome{Answered: true, Ran: true, Result: message.Result{Error: odd}}},
	} {
		_, ended := jobs.Received(t.Context(), d.delivery)
		ended(d.outcome)
	}
	spans := k.spans.GetSpans()
	if len(spans) != 6 {
		t.Fatalf("%d spans", len(spans))
	}
	for i, want := range []struct {
		name, outcome, kind string
		status              codes.Code
	}{
		{"job No-Op", "success", "", codes.Unset},
		{"job No-Op", "success", "", codes.Unset},
		{"job No-Op", "failure", "Request_BadRequest", codes.Error},
		{"job No-Op", "throttled", "TooManyRequests", codes.Error},
		{"job No-Op", "given-back", "", codes.Unset},
		{"job other", "failure", "Failure", codes.Error},
	} {
		s, attributes := spans[i], k.attributes(i)
		if s.Name != want.name || s.Status.Code != want.status || s.Status.Description != "" || s.SpanKind != trace.SpanKindConsumer ||
			s.SpanContext.TraceID() != (trace.TraceID{1}) || s.Parent.SpanID() != (trace.SpanID{2}) ||
			attributes["matoolkit.outcome"] != want.outcome || attributes["error.type"] != want.kind ||
			attributes["matoolkit.batch_id"] != "42" || attributes["matoolkit.step_execution_id"] != "7" || attributes["matoolkit.job_id"] != "step-7-attempt-1" {
			t.Errorf("span %d is %s %v %v, want %+v", i, s.Name, s.Status, attributes, want)
		}
	}
	want := []string{
		"matoolkit.worker.job.duration matoolkit.function=No-Op matoolkit.outcome=failure = 1",
		"matoolkit.worker.job.duration matoolkit.function=No-Op matoolkit.outcome=success = 1",
		"matoolkit.worker.job.duration matoolkit.function=No-Op matoolkit.outcome=throttled = 1",
		"matoolkit.worker.job.duration matoolkit.function=other matoolkit.outcome=failure = 1",
		"matoolkit.worker.job.redeliveries matoolkit.function=No-Op = 1",
		"matoolkit.worker.job.wait matoolkit.function=No-Op = 4",
		"matoolkit.worker.job.wait matoolkit.function=other = 1",
		"matoolkit.worker.jobs.running = 0",
	}
	got := k.metrics(t)
	if !slices.Equal(got, want) {
		t.Errorf("metrics\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var audited []string
	for _, r := range k.audit.all {
		attributes := map[string]string{}
		r.WalkAttributes(func(a attribute.KeyValue) bool {
			attributes[string(a.Key)] = a.Value.String()
			return true
		})
		if r.Body().AsString() != "job ended" || r.TraceID() != (trace.TraceID{1}) || r.Timestamp().IsZero() ||
			attributes["matoolkit.batch_id"] != "42" || attributes["matoolkit.step_execution_id"] != "7" || attributes["matoolkit.job_id"] != "step-7-attempt-1" {
			t.Errorf("audit record %v of trace %s", attributes, r.TraceID())
		}
		audited = append(audited, strings.TrimSpace(strings.Join([]string{
			r.Severity().String(), attributes["matoolkit.function"], attributes["matoolkit.outcome"], attributes["matoolkit.ran"], attributes["error.type"],
		}, " ")))
	}
	if want := []string{
		"INFO No-Op success true", "INFO No-Op success false", "WARN No-Op failure true Request_BadRequest", "WARN No-Op throttled true TooManyRequests",
		"INFO No-Op given-back false", "WARN other failure true Failure",
	}; !slices.Equal(audited, want) {
		t.Errorf("audit records\n%s\nwant\n%s", strings.Join(audited, "\n"), strings.Join(want, "\n"))
	}
	for _, secret := range []string{"Pa55word", "ada@"} {
		if strings.Contains(fmt.Sprint(spans, got, k.audit.all), secret) {
			t.Errorf("%s is told", secret)
		}
	}
}

func TestRunningJobsAreCounted(t *testing.T) {
	t.Parallel()
	r, k := record(t)
	jobs := watch(t, r)
	_, first := jobs.Received(t.Context(), delivery(catalog.NoOp.Name, 1))
	_, second := jobs.Received(t.Context(), delivery(catalog.NoOp.Name, 1))
	for _, want := range []string{"= 2", "= 1"} {
		if got := k.metrics(t); !slices.Contains(got, "matoolkit.worker.jobs.running "+want) {
			t.Errorf("%v", got)
		}
		first(dispatch.Outcome{})
	}
	second(dispatch.Outcome{})
}

// Calls are recorded by what they do and never by whom they do it to, within the span
// of their job and with the attempt that they are.
func TestCallsBecomeSpansAndMetrics(t *testing.T) {
	t.Parallel()
	r, k := record(t)
	answers := []int{429, 200}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("traceparent") != "" {
			t.Error("the trace is told to the tenant")
		}
		w.WriteHeader(answers[0])
		answers = answers[1:]
		_, _ = io.WriteString(w, `{"userPrincipalName":"ada@contoso.example"}`)
	}))
	defer api.Close()
	client := r.Client(nil, telemetry.Graph)
	pace := throttle.Policy{Retries: 1, Base: time.Millisecond, Max: time.Millisecond, Observe: r.Observe(telemetry.Graph)}
	ctx, ended := watch(t, r).Received(t.Context(), delivery(catalog.NoOp.Name, 1))
	call := func(ctx context.Context, address string) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPatch, address+"/v1.0/users/ada@contoso.example/manager/$ref?$filter=mail+eq+'ada@contoso.example'", strings.NewReader("Pa55word"))
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return errors.New(response.Status)
		}
		return nil
	}
	if _, err := pace.Do(ctx, func(error) throttle.Verdict { return throttle.Verdict{Outcome: throttle.Throttled} },
		func(ctx context.Context) error { return call(ctx, api.URL) }); err != nil {
		t.Fatal(err)
	}
	api.Close()
	if err := call(ctx, api.URL); err == nil {
		t.Fatal("a call to nobody was answered")
	}
	ended(dispatch.Outcome{Answered: true, Ran: true})

	spans := k.spans.GetSpans()
	if len(spans) != 4 {
		t.Fatalf("%d spans", len(spans))
	}
	job := spans[3]
	for i, want := range []struct {
		attempt, status string
		code            codes.Code
	}{{"1", "429", codes.Error}, {"2", "200", codes.Unset}, {"0", "", codes.Error}} {
		s, attributes := spans[i], k.attributes(i)
		if s.Name != "PATCH /v1.0/users/{id}/manager/$ref" || s.Parent.SpanID() != job.SpanContext.SpanID() || s.SpanKind != trace.SpanKindClient ||
			s.Status.Code != want.code || attributes["matoolkit.attempt"] != want.attempt || attributes["http.response.status_code"] != want.status ||
			attributes["matoolkit.api"] != "graph" || attributes["http.request.method"] != "PATCH" {
			t.Errorf("span %d is %s %v %v, want %+v", i, s.Name, s.Status, attributes, want)
		}
	}
	got := k.metrics(t)
	for _, want := range []string{
		"matoolkit.worker.call.retries matoolkit.api=graph = 1",
		"matoolkit.worker.call.throttles matoolkit.api=graph = 1",
		"matoolkit.worker.call.duration http.response.status_code=429 matoolkit.api=graph matoolkit.operation=PATCH /v1.0/users/{id}/manager/$ref = 1",
		"matoolkit.worker.call.duration http.response.status_code=none matoolkit.api=graph matoolkit.operation=PATCH /v1.0/users/{id}/manager/$ref = 1",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no metric %s among\n%s", want, strings.Join(got, "\n"))
		}
	}
	for _, secret := range []string{"Pa55word", "ada@", strings.TrimPrefix(api.URL, "http://")} {
		if strings.Contains(fmt.Sprint(spans, got), secret) {
			t.Errorf("%s is told", secret)
		}
	}
}

func TestCommandsAreRecordedByTheirName(t *testing.T) {
	t.Parallel()
	r, k := record(t)
	api := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer api.Close()
	client := r.Client(api.Client(), telemetry.Exchange)
	for i, name := range []string{"Set-MailUser", "ada@contoso.example", ""} {
		request := testenv.Must(http.NewRequestWithContext(t.Context(), http.MethodPost, api.URL+"/adminapi/beta/tenant/InvokeCommand", nil))(t)
		request.Header.Set("X-CmdletName", name)
		response := testenv.Must(client.Do(request))(t)
		_ = response.Body.Close()
		want := []string{"Set-MailUser", "other", "other"}[i]
		if got := k.spans.GetSpans()[i]; got.Name != want || k.attributes(i)["matoolkit.api"] != "exchange" {
			t.Errorf("%q is recorded as %s %v", name, got.Name, k.attributes(i))
		}
	}
}

// off sends nothing: a recorder must not ask it for spans.
type off struct{ kept }

func (*off) On() bool { return false }

// Where nothing is sent, a job's trace is passed on and nothing is recorded.
func TestNothingIsRecordedWhereTelemetryIsOff(t *testing.T) {
	t.Parallel()
	_, k := record(t)
	r := testenv.Must(telemetry.New(&off{*k}))(t)
	d := delivery(catalog.NoOp.Name, 2)
	ctx, ended := watch(t, r).Received(t.Context(), d)
	ended(dispatch.Outcome{Answered: true, Ran: true})
	if got := trace.SpanContextFromContext(ctx); got.TraceID() != d.Trace.TraceID() || got.SpanID() != d.Trace.SpanID() {
		t.Errorf("the function has the trace %v", got)
	}
	base := &http.Client{Transport: http.NewFileTransport(http.Dir(t.TempDir()))}
	if client := r.Client(base, telemetry.Graph); client.Transport != base.Transport {
		t.Error("calls are recorded")
	}
	if spans, metrics := k.spans.GetSpans(), k.metrics(t); len(spans) > 0 || len(metrics) > 0 {
		t.Errorf("recorded %v and %v", spans, metrics)
	}
}
