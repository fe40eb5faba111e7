package adminhttp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	adminhttp "github.com/matoolkit/matoolkit/functions/admin-http"
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/membercsv"
	"github.com/matoolkit/matoolkit/internal/signin"
	"github.com/matoolkit/matoolkit/internal/tracecontext"
)

// recorder notes the calls of the fakes below, one for each resource. They answer with err
// or with something that can be recognised.
type recorder struct {
	mu     sync.Mutex
	calls  []string
	err    error
	health api.Health
	panics bool
	marks  map[int]string // the change marks of batches

	early, late error        // of a report: before its first byte, and after it
	by          audit.Caller // of the last request with an idempotency key
}

type (
	fakeHealth     struct{ *recorder }
	fakeRunbooks   struct{ *recorder }
	fakeAutomation struct{ *recorder }
	fakeBatches    struct{ *recorder }
	fakeMembers    struct{ *recorder }
	fakeSteps      struct{ *recorder }
	fakeReports    struct{ *recorder }
	fakeAudit      struct{ *recorder }
	fakeWorkers    struct{ *recorder }
	fakeMessages   struct{ *recorder }

	fakeNotifications struct{ *recorder }
	fakePipelines     struct{ *recorder }
	fakeScaler        struct{ *recorder }
)

func (r *recorder) useCases() adminhttp.UseCases {
	return adminhttp.UseCases{
		Health: fakeHealth{r}, Runbooks: fakeRunbooks{r}, Automation: fakeAutomation{r}, Batches: fakeBatches{r}, Members: fakeMembers{r}, Steps: fakeSteps{r}, Reports: fakeReports{r}, Audit: fakeAudit{r}, Workers: fakeWorkers{r}, Messages: fakeMessages{r}, Notifications: fakeNotifications{r}, Simulator: r, Pipelines: fakePipelines{r}, Scaler: fakeScaler{r},
	}
}

func (r *recorder) note(format string, args ...any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, fmt.Sprintf(format, args...))
	if r.panics {
		panic("secret of the implementation")
	}
	return r.err
}

func (r *recorder) noteCaller(by audit.Caller) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.by = by
}

// shown are the options that are given.
func shown(o api.ListOptions) string {
	var given []string
	for _, f := range reflect.VisibleFields(reflect.TypeOf(o)) {
		if v := reflect.ValueOf(o).FieldByIndex(f.Index); !v.IsZero() {
			given = append(given, fmt.Sprintf("%s:%v", f.Name, v))
		}
	}
	return "{" + strings.Join(given, " ") + "}"
}

func (r fakeHealth) Health(context.Context) api.Health {
	_ = r.note("Health")
	return r.health
}

func (r fakeRunbooks) PublishRunbook(_ context.Context, by audit.Caller, name string, yaml []byte, o api.PublishOptions) (api.Runbook, error) {
	r.noteCaller(by)
	return api.Runbook{Name: "a b", Version: 1, Unchanged: string(yaml) == "same", DryRun: o.DryRun}, r.note("PublishRunbook %s %q %q %+v", by.Name, name, yaml, o)
}

func (r fakeRunbooks) Runbooks(_ context.Context, o api.ListOptions) (api.Page[api.Runbook], error) {
	return api.Page[api.Runbook]{}, r.note("Runbooks %s", shown(o))
}

func (r fakeRunbooks) Runbook(_ context.Context, name string) (api.Runbook, error) {
	return api.Runbook{Name: name, Version: 3}, r.note("Runbook %q", name)
}

// Simulate is the simulator of the fixture.
func (r *recorder) Simulate(_ context.Context, q api.SimulationRequest) (api.Simulation, error) {
	return api.Simulation{Runbook: "rb", Batches: []api.SimulatedBatch{}}, r.note("Simulate %q %q %s %v", q.YAML, q.Members, q.Start.Format(time.RFC3339), q.Approve)
}

func (r fakeRunbooks) Lint(_ context.Context, name string, yaml []byte) (api.RunbookCheck, error) {
	return api.RunbookCheck{Findings: []api.Diagnostic{}}, r.note("Lint %q %q", name, yaml)
}

func (r fakeRunbooks) CSVTemplate(_ context.Context, name, delimiter string) ([]byte, error) {
	return []byte("Key,Mail\r\n"), r.note("CSVTemplate %q %q", name, delimiter)
}

func (r fakeBatches) CreateBatchFrom(_ context.Context, by audit.Caller, name string, csv membercsv.File, options ...api.UploadOption) (api.Batch, error) {
	r.noteCaller(by)
	return api.Batch{ID: 42}, r.note("CreateBatch %s %q %q%s", by.Name, name, content(csv), shownOptions(options))
}

func (r fakeBatches) CheckBatch(_ context.Context, name string, csv membercsv.File, options ...api.UploadOption) (api.UploadCheck, error) {
	return api.UploadCheck{DryRun: true, Runbook: name, Version: 3, Delimiter: "comma"}, r.note("CheckBatch %q %q%s", name, content(csv), shownOptions(options))
}

// content is the text of a file, or why it cannot be read.
func content(file membercsv.File) string {
	text, err := io.ReadAll(io.NewSectionReader(file, 0, file.Size()))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func shownOptions(options []api.UploadOption) string {
	text := ""
	o := api.UploadOptionsOf(options)
	if o.AllowInOtherBatches {
		text = " in other batches"
	}
	if o.Delimiter != "" {
		text += " by " + o.Delimiter
	}
	return text + shownDetails(o.Details)
}

func (r fakeBatches) Batches(_ context.Context, o api.ListOptions) (api.Page[api.Batch], error) {
	return api.Page[api.Batch]{Items: []api.Batch{{ID: 1}}, Continuation: "next"}, r.note("Batches %s", shown(o))
}

func (r fakeBatches) UpdateBatch(_ context.Context, by audit.Caller, id int, d api.BatchDetails, why string, tags ...string) (api.Batch, error) {
	return api.Batch{ID: id, ETag: "b2"}, r.note("UpdateBatch %s %d%s %q %q", by.Name, id, shownDetails(d), why, tags)
}

func shownDetails(d api.BatchDetails) (text string) {
	for name, given := range map[string]*string{"name": d.Name, "note": d.Note, "owner": d.Owner} {
		if given != nil {
			text += fmt.Sprintf(" %s=%q", name, *given)
		}
	}
	return text
}

func (r fakeAutomation) Syncs(_ context.Context, name string) (api.Page[api.Sync], error) {
	return api.Page[api.Sync]{Items: []api.Sync{}}, r.note("Syncs %q", name)
}

func (r fakeBatches) Summary(context.Context) (api.Summary, error) {
	return api.Summary{Attention: []api.Attention{}, Running: []api.RunningPhase{}, Upcoming: []api.UpcomingPhase{}}, r.note("Summary")
}

func (r fakeBatches) Batch(_ context.Context, by audit.Caller, id int) (api.Batch, error) {
	return api.Batch{ID: id, Actions: allActions()}, r.note("Batch %s %d", by.Name, id)
}

// allActions allows everything.
func allActions() (all []api.Action) {
	for _, name := range adminhttp.ActionNames() {
		all = append(all, api.Action{Name: name, Allowed: true})
	}
	return all
}

func (r fakeMembers) Find(_ context.Context, by audit.Caller, text string, o api.ListOptions) (api.Page[api.FoundMember], error) {
	return api.Page[api.FoundMember]{}, r.note("Find %s %q %s", by.Name, text, shown(o))
}

func (r fakeMembers) Members(_ context.Context, by audit.Caller, id int, o api.ListOptions) (api.Page[api.Member], error) {
	return api.Page[api.Member]{}, r.note("Members %s %d %s", by.Name, id, shown(o))
}

func (r fakeBatches) ChangeMark(_ context.Context, id int) (string, error) {
	return r.marks[id], nil
}

func (r fakeBatches) Phases(_ context.Context, by audit.Caller, id int) (api.Page[api.Phase], error) {
	return api.Page[api.Phase]{}, r.note("Phases %s %d", by.Name, id)
}

func (r fakeSteps) Step(_ context.Context, by audit.Caller, batch int, stepID int64) (api.Step, error) {
	return api.Step{ID: stepID, Actions: allActions()}, r.note("Step %s %d %d", by.Name, batch, stepID)
}

func (r fakeSteps) Errors(_ context.Context, by audit.Caller, batch int) (api.BatchErrors, error) {
	return api.BatchErrors{Groups: []api.ErrorGroup{}, Members: 3}, r.note("Errors %s %d", by.Name, batch)
}

func (r fakeSteps) Steps(_ context.Context, by audit.Caller, id int, o api.ListOptions) (api.Page[api.Step], error) {
	return api.Page[api.Step]{}, r.note("Steps %s %d %s", by.Name, id, shown(o))
}

func (r fakeBatches) Advance(_ context.Context, by audit.Caller, id int, phase string, tags ...string) (api.AdvanceResult, error) {
	return api.AdvanceResult{Batch: api.Batch{ID: id, ETag: "e1"}, Advanced: phase}, r.note("Advance %s %d %s %q", by.Name, id, phase, tags)
}

func (r fakeBatches) Reschedule(_ context.Context, by audit.Caller, id int, start, why string, dryRun bool) (api.RescheduleResult, error) {
	return api.RescheduleResult{Batch: api.Batch{ID: id}, DryRun: dryRun}, r.note("Reschedule %s %d %q %q %t", by.Name, id, start, why, dryRun)
}

func (r fakeMessages) UnprocessableMessages(_ context.Context, o api.ListOptions) (api.Page[api.UnprocessableMessage], error) {
	return api.Page[api.UnprocessableMessage]{}, r.note("UnprocessableMessages %s", shown(o))
}

func (r fakeMessages) UnprocessableMessage(_ context.Context, by audit.Caller, id string) (api.UnprocessableMessage, error) {
	return api.UnprocessableMessage{ID: id, Body: []byte(`{"a":1}`)}, r.note("UnprocessableMessage %s %q", by.Name, id)
}

func (r fakeMessages) Replay(_ context.Context, by audit.Caller, id, why string) (api.UnprocessableMessage, error) {
	return api.UnprocessableMessage{ID: id, Status: api.UnprocessableReplayed}, r.note("Replay %s %q %q", by.Name, id, why)
}

func (r fakeMessages) Discard(_ context.Context, by audit.Caller, id, why string) (api.UnprocessableMessage, error) {
	return api.UnprocessableMessage{ID: id, Status: api.UnprocessableDiscarded}, r.note("Discard %s %q %q", by.Name, id, why)
}

// fixture is the API over a recorder.
type fixture struct {
	app     *recorder
	handler http.Handler
	log     *bytes.Buffer
	now     time.Time
}

func newFixture() *fixture {
	f := &fixture{app: &recorder{health: api.Health{Status: "ok", Version: "1"}}, log: &bytes.Buffer{}, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	f.handler = adminhttp.New(adminhttp.Config{
		UseCases: f.app.useCases(), Verifier: tokens{}, MaxBody: 1000, Now: func() time.Time { return f.now },
		Log: slog.New(tracecontext.LogHandler(slog.NewJSONHandler(f.log, nil))),
	})
	return f
}

type request struct {
	method, path, token, media, body string
}

func (f *fixture) send(r request) *httptest.ResponseRecorder {
	req := httptest.NewRequest(r.method, r.path, strings.NewReader(r.body))
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	if r.media != "" {
		req.Header.Set("Content-Type", r.media)
	}
	w := httptest.NewRecorder()
	f.handler.ServeHTTP(w, req)
	return w
}

func form(t *testing.T, parts ...string) (media, body string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i < len(parts); i += 2 {
		p, err := w.CreateFormField(parts[i])
		if err == nil {
			_, err = io.WriteString(p, parts[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), b.String()
}

// names are whose the tokens are.
var names = map[string]string{"admin": "avery@contoso", "reader": "robin@contoso", "none": "guest@contoso"}

// tokens accepts the words admin and reader as tokens with that role, and none as a
// token without a role.
type tokens struct{}

func (tokens) Verify(_ context.Context, header string) (signin.Identity, error) {
	switch header {
	case "Bearer admin":
		return signin.Identity{Name: "avery@contoso", Roles: []string{"Reader", signin.RoleAdmin}}, nil
	case "Bearer reader":
		return signin.Identity{Name: "robin@contoso", Roles: []string{"Reader"}}, nil
	case "Bearer none":
		return signin.Identity{Name: "guest@contoso"}, nil
	case "Bearer application":
		return signin.Identity{}, &signin.Error{Kind: signin.ErrForbidden, Reason: "the token carries no role"}
	case "Bearer outage":
		return signin.Identity{}, &signin.Error{Kind: signin.ErrUnavailable, Reason: "the keys cannot be had"}
	case "Bearer broken":
		return signin.Identity{}, errors.New("secret")
	case "":
		return signin.Identity{}, &signin.Error{Kind: signin.ErrMissing, Reason: "a bearer token is required"}
	}
	return signin.Identity{}, &signin.Error{Kind: signin.ErrInvalid, Reason: "the token has expired"}
}

func (r fakeNotifications) NotificationRules(context.Context) (api.Page[api.NotificationRule], error) {
	return api.Page[api.NotificationRule]{}, r.note("NotificationRules")
}

func (r fakeNotifications) NotificationRule(_ context.Context, name string) (api.NotificationRule, error) {
	return api.NotificationRule{NotificationRequest: api.NotificationRequest{Name: name}}, r.note("NotificationRule %q", name)
}

func (r fakeNotifications) AddNotificationRule(_ context.Context, by audit.Caller, request api.NotificationRequest) (api.NotificationRule, error) {
	return api.NotificationRule{NotificationRequest: request, Unchanged: request.Name == "same"}, r.note("AddNotificationRule %s %q %q", by.Name, request.Name, request.Events)
}

func (r fakeNotifications) RemoveNotificationRule(_ context.Context, by audit.Caller, name, why string) (api.NotificationRule, error) {
	return api.NotificationRule{NotificationRequest: api.NotificationRequest{Name: name}}, r.note("RemoveNotificationRule %s %q %q", by.Name, name, why)
}

func (r fakeNotifications) TestNotificationRule(_ context.Context, by audit.Caller, name string) (api.NotificationDelivery, error) {
	return api.NotificationDelivery{Rule: name, Status: api.DeliverySent}, r.note("TestNotificationRule %s %q", by.Name, name)
}

func (r fakeNotifications) NotificationDeliveries(_ context.Context, name string, o api.ListOptions) (api.Page[api.NotificationDelivery], error) {
	return api.Page[api.NotificationDelivery]{}, r.note("NotificationDeliveries %q %s", name, shown(o))
}

func (r fakeScaler) ScalerStatus(context.Context) (api.ScalerStatus, error) {
	return api.ScalerStatus{}, r.note("ScalerStatus")
}

func (r fakeScaler) PlanScaling(context.Context) (api.ScalerPlan, error) {
	return api.ScalerPlan{
		Create: []api.PlannedGroup{}, Delete: []string{}, Verdicts: map[api.ScalerVerdict]int{}, Messages: []api.ScalerMessage{}, Subscriptions: []api.BlockedSubscription{}, Partial: []string{},
	}, r.note("PlanScaling")
}
