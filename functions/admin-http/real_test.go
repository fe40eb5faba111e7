package adminhttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"golang.org/x/time/rate"

	adminhttp "github.com/matoolkit/matoolkit/functions/admin-http"
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	azbus "github.com/matoolkit/matoolkit/internal/bus/servicebus"
	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/datasource/csvfile"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/scalertest"
	"github.com/matoolkit/matoolkit/internal/signin"
	"github.com/matoolkit/matoolkit/internal/simulate"
	cosmosstore "github.com/matoolkit/matoolkit/internal/store/cosmos"
	"github.com/matoolkit/matoolkit/local/cosmos"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/servicebus"
)

const (
	automationID = "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1bf1" // may write
	reportsID    = "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1bf2" // may read
	strangerID   = "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1bf3" // has no role
	secret       = "only-good-in-this-test"
)

// real is the API over the use cases, a store, a broker and an identity provider.
type real struct {
	t      *testing.T
	url    string
	app    *app.App
	people string // the file that the environment variable PEOPLE names
	entra  *entra.Server
	cosmos *cosmos.Server
	broker *servicebus.Server
	bus    *azbus.Client
	azure  *scalertest.Azure // of the container scaler
}

func newReal(t *testing.T) *real {
	t.Helper()
	ctx := t.Context() // the servers live for as long as the test, however long the machine takes for it
	r := &real{t: t, people: filepath.Join(t.TempDir(), "people.csv")}
	directory := entra.DefaultConfig()
	directory.Addr = "127.0.0.1:0"
	for id, roles := range map[string][]string{automationID: {entra.RoleAdmin}, reportsID: {entra.RoleReader}, strangerID: nil} {
		directory.Tenants[0].Applications = append(directory.Tenants[0].Applications, entra.Application{
			ClientID: id, Name: id, Secrets: []string{secret}, Roles: map[string][]string{entra.DefaultAdminAPIClientID: roles},
		})
	}
	r.entra = start(t, func() (*entra.Server, error) { return entra.Start(ctx, directory) })
	r.cosmos = start(t, func() (*cosmos.Server, error) { return cosmos.Start(ctx, cosmos.Config{}) })
	r.broker = start(t, func() (*servicebus.Server, error) {
		return servicebus.Start(ctx, servicebus.Config{Addr: "127.0.0.1:0", Topology: servicebus.DefaultTopology(), Key: "SAS_KEY_VALUE"})
	})
	items, err := cosmosstore.Open(cosmosstore.Config{Endpoint: r.cosmos.URL(), Database: "d", Container: "c", Key: cosmos.DefaultKey})
	check(t, err)
	check(t, items.Provision(ctx))
	r.bus, err = azbus.Dial(azbus.Config{ConnectionString: r.broker.ConnectionString()})
	check(t, err)
	t.Cleanup(func() { _ = r.bus.Close(context.Background()) })
	verifier, err := signin.New(ctx, signin.Config{
		Instance: r.entra.URL(), TenantIDs: []string{entra.DefaultTenantID}, ClientID: entra.DefaultAdminAPIClientID, HTTPClient: r.entra.HTTPClient(),
	})
	check(t, err)
	quiet := slog.New(slog.DiscardHandler)
	sources := &datasource.Reader{
		Sources:  map[string]datasource.Open{runbook.SourceCSV: csvfile.Open},
		Settings: []string{"PEOPLE"},
		Getenv:   func(name string) string { return map[string]string{"PEOPLE": r.people}[name] },
	}
	r.azure = scalertest.Start(t, scalertest.Config{})
	r.app = app.New(app.Config{Store: items, Bus: r.bus, Log: quiet, Sources: sources, Containers: r.azure})
	cases := adminhttp.UseCasesOf(r.app)
	cases.Simulator = simulate.Service{Functions: r.app.Catalogs, TempDir: t.TempDir()}
	api := httptest.NewServer(adminhttp.New(adminhttp.Config{
		UseCases: cases, Verifier: verifier, Log: quiet, Rate: rate.Inf, Simulations: 8, // of which TestEveryRouteMayBeRepeated, as one caller, sends up to four at once
		SignIn: adminhttp.SignIn{Authority: "https://login.example/contoso", Scope: "api://own/access_as_user", ConsoleClientID: entra.DefaultConsoleClientID},
	}))
	t.Cleanup(api.Close)
	r.url = api.URL
	return r
}

func start[S io.Closer](t *testing.T, start func() (S, error)) S {
	t.Helper()
	s, err := start()
	check(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// token signs an application in, as its SDK does.
func (r *real) token(clientID string) string {
	r.t.Helper()
	options := &azidentity.ClientSecretCredentialOptions{DisableInstanceDiscovery: true}
	options.Cloud = cloud.Configuration{ActiveDirectoryAuthorityHost: r.entra.URL()}
	options.Transport = r.entra.HTTPClient()
	credential, err := azidentity.NewClientSecretCredential(entra.DefaultTenantID, clientID, secret, options)
	check(r.t, err)
	token, err := credential.GetToken(r.t.Context(), policy.TokenRequestOptions{Scopes: []string{entra.DefaultAdminAPIScope}})
	check(r.t, err)
	return token.Token
}

// call sends a request, checks its status and decodes the answer.
func (r *real) call(q request, status int, into any) http.Header {
	r.t.Helper()
	httpRequest, err := http.NewRequestWithContext(r.t.Context(), q.method, r.url+q.path, strings.NewReader(q.body))
	check(r.t, err)
	httpRequest.Header.Set("Authorization", "Bearer "+q.token)
	httpRequest.Header.Set("Content-Type", q.media)
	answer, err := http.DefaultClient.Do(httpRequest)
	check(r.t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	check(r.t, err)
	if answer.StatusCode != status {
		r.t.Fatalf("%s %s: status %d, want %d: %s", q.method, q.path, answer.StatusCode, status, body)
	}
	if into != nil {
		check(r.t, json.Unmarshal(body, into))
	}
	return answer.Header
}

const moves = `name: moves
data_source: {type: csv, primary_key: UserId}
phases:
  - name: move
    offset: T-0
    steps:
      - {name: move, worker_id: worker-01, function: Move-User, params: {Mail: "{{Mail}}"}}
`

func TestOverTheRealSystem(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	admin, reader := r.token(automationID), r.token(reportsID)
	var p api.Problem

	// Nothing is there yet.
	r.call(request{"GET", "/api/runbooks/moves", reader, "", ""}, 404, &p)
	r.call(request{"GET", "/api/batches/1", reader, "", ""}, 404, &p)
	r.call(request{"GET", "/api/batches/1/steps", reader, "", ""}, 404, &p)

	// A runbook is published, once.
	var rb api.Runbook
	r.call(request{"POST", "/api/runbooks", admin, "application/yaml", "name: moves\n"}, 422, &p)
	if len(p.Problems) == 0 || p.Error != "invalid" {
		t.Errorf("problem %+v", p)
	}
	r.call(request{"POST", "/api/runbooks", reader, "application/yaml", moves}, 403, &p)
	r.call(request{"POST", "/api/runbooks", admin, "application/yaml", moves}, 201, &rb)
	r.call(request{"POST", "/api/runbooks", admin, "application/yaml", moves}, 200, &rb)
	if rb.Version != 1 || !rb.Unchanged || rb.PublishedBy == "" {
		t.Errorf("runbook %+v", rb)
	}
	r.call(request{"POST", "/api/runbooks", admin, jsonMedia, `{"name":"other","yamlContent":` + quote(moves) + `}`}, 422, &p)
	r.call(request{"GET", "/api/runbooks/moves", reader, "", ""}, 200, &rb)
	if rb.YAML != moves {
		t.Errorf("YAML %q", rb.YAML)
	}

	// Batches are made of good files only.
	var batch api.Batch
	media, body := form(t, "runbook", "moves", "file", "UserId,Mail\nu1,\nu1,x\n")
	r.call(request{"POST", "/api/batches", admin, media, body}, 422, &p)
	if len(p.Problems) != 1 || p.Problems[0].Line != 3 || p.Problems[0].Field != "UserId" {
		t.Errorf("problem %+v", p)
	}
	for id := 1; id <= 3; id++ {
		media, body = form(t, "runbook", "moves", "file", "UserId,Mail\nu1,a\nu2,b\nu3,c\n")
		header := r.call(request{"POST", "/api/batches?allowInOtherBatches=true", admin, media, body}, 201, &batch)
		if batch.ID != id || header.Get("Location") != fmt.Sprintf("/api/batches/%d", id) {
			t.Errorf("batch %d at %s", batch.ID, header.Get("Location"))
		}
	}

	// Lists come in pages.
	var seen []int
	for path, pages := "/api/batches?limit=2", 0; path != "" && pages < 5; pages++ {
		var page api.Page[api.Batch]
		r.call(request{"GET", path, reader, "", ""}, 200, &page)
		for _, b := range page.Items {
			seen = append(seen, b.ID)
		}
		if path = ""; page.Continuation != "" {
			path = "/api/batches?limit=2&continuationToken=" + url.QueryEscape(page.Continuation)
		}
	}
	if fmt.Sprint(seen) != "[3 2 1]" {
		t.Errorf("pages have batches %v", seen)
	}
	for _, list := range []string{"runbooks", "batches", "batches/1/members", "batches/1/steps", "batches/1/audit", "messages/unprocessed", "messages/audit", "audit"} {
		r.call(request{"GET", "/api/" + list + "?continuationToken=of%20another", admin, "", ""}, 400, &p)
		if p.Error != "invalid" || !strings.Contains(p.Detail, "the continuation token does not belong to this list") {
			t.Errorf("%s: %+v", list, p)
		}
	}
	var members api.Page[api.Member]
	r.call(request{"GET", "/api/batches/1/members", reader, "", ""}, 200, &members)
	if len(members.Items) != 3 || members.Items[1].Key != "u2" || string(members.Items[1].Data["Mail"]) != `"b"` {
		t.Errorf("members %+v", members)
	}

	// An advance is taken; the same once more starts nothing.
	var advance api.AdvanceResult
	const phase = `{"phase":"move"}`
	r.call(request{"POST", "/api/batches/1/advance", reader, jsonMedia, phase}, 403, &p)
	r.call(request{"POST", "/api/batches/1/advance", admin, jsonMedia, `{"phase":"later"}`}, 409, &p)
	if p.NextPhase != "move" || p.CurrentPhase != "" || !strings.Contains(p.Detail, `the next phase is "move"`) {
		t.Errorf("problem %+v", p)
	}
	r.call(request{"POST", "/api/batches/1/advance", admin, jsonMedia, phase}, 202, &advance)
	if advance.Advanced != "move" || advance.Repeated || advance.Members != 3 {
		t.Errorf("advance %+v", advance)
	}
	r.call(request{"POST", "/api/batches/1/advance", admin, jsonMedia, phase}, 202, &advance)
	if !advance.Repeated {
		t.Errorf("second advance %+v", advance)
	}
	p = api.Problem{}
	r.call(request{"POST", "/api/batches/1/advance", admin, jsonMedia, `{"phase":"later"}`}, 409, &p)
	if p.NextPhase != "" || p.CurrentPhase != "move" || !strings.Contains(p.Detail, `still in phase "move"`) {
		t.Errorf("problem %+v", p)
	}
	r.call(request{"POST", "/api/batches/9/advance", admin, jsonMedia, phase}, 404, &p)
	r.call(request{"GET", "/api/health", "", "", ""}, 200, nil)
}

const gated = `name: gated
data_source: {type: csv, primary_key: UserId}
checks:
  - {name: look, worker_id: worker-01, function: Look-Up, params: {Mail: "{{Mail}}"}}
phases:
  - name: prepare
    offset: T-1d
    steps:
      - {name: check, worker_id: worker-01, function: Test-User, params: {Mail: "{{Mail}}"}}
  - name: cut over
    offset: T-0
    approval: required
    steps:
      - {name: move, worker_id: worker-01, function: Move-User, params: {Mail: "{{Mail}}"}}
on_member_removed:
  - {name: tell, worker_id: worker-01, function: Send-Mail, params: {Mail: "{{Mail}}"}}
`

func TestControlOverTheRealSystem(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	admin, reader := r.token(automationID), r.token(reportsID)
	var p api.Problem
	post := func(path, body string, status int, into any) http.Header {
		t.Helper()
		return r.call(request{"POST", "/api/batches/" + path, admin, jsonMedia, body}, status, into)
	}
	upload := func(path, csv string, status int, into any) http.Header {
		t.Helper()
		media, body := form(t, "file", csv)
		return r.call(request{"POST", "/api/batches/" + path, admin, media, body}, status, into)
	}
	published := `{"overdueBehavior":"rerun","rerunInit":true,"yamlContent":` + quote(gated) + `}`
	r.call(request{"POST", "/api/runbooks", admin, jsonMedia, published}, 201, nil)
	media, body := form(t, "runbook", "gated", "file", "UserId,Mail\nu1,a\nu2,b\n")
	r.call(request{"POST", "/api/batches", admin, media, body}, 201, nil)

	// A paused batch says by whom and why, and is not advanced.
	var batch api.Batch
	post("1/pause", `{"reason":"throttled"}`, 200, &batch)
	if batch.Paused == nil || batch.Paused.By == "" || batch.Paused.Why != "throttled" || batch.Paused.At.IsZero() {
		t.Errorf("paused %+v", batch.Paused)
	}
	post("1/pause", `{"reason":"again"}`, 200, &batch)
	if batch.Paused.Why != "throttled" {
		t.Errorf("paused %+v", batch.Paused)
	}
	post("1/advance", `{"phase":"prepare"}`, 409, &p)
	post("1/resume", "", 200, nil)
	batch = api.Batch{}
	r.call(request{"GET", "/api/batches/1", reader, "", ""}, 200, &batch)
	if batch.Paused != nil {
		t.Errorf("paused %+v after it was resumed", batch.Paused)
	}

	// A gate is opened by the name of its phase.
	var phase api.Phase
	post("1/approve", `{"phase":"prepare"}`, 409, &p)
	post("1/approve", `{"phase":"none"}`, 404, &p)
	post("1/approve", `{"phase":"cut over","reason":"change 4711"}`, 200, &phase)
	if phase.Name != "cut over" || !phase.Approval || phase.Approved == nil || phase.Approved.Why != "change 4711" {
		t.Errorf("phase %+v", phase)
	}

	// Members join and leave.
	var added api.AddResult
	upload("1/members", "UserId,Mail\n,c\n", 422, &p)
	if len(p.Problems) != 1 || p.Problems[0].Line != 2 {
		t.Errorf("problem %+v", p)
	}
	upload("1/members", "UserId,Mail\nu2,b\nu3,c\n", 201, &added)
	if added.Added != 1 || added.Batch.MemberCount != 3 || fmt.Sprint(added.Present) != "[u2]" {
		t.Errorf("added %+v", added)
	}
	upload("1/members", "UserId,Mail\nu2,b\nu3,c\n", 200, &added)
	upload("9/members", "UserId,Mail\nu4,d\n", 404, &p)
	remove := func(member string, status int, into any) {
		t.Helper()
		r.call(request{"DELETE", "/api/batches/1/members/" + member, admin, "", ""}, status, into)
	}
	var member api.Member
	remove("3?reason=has%20left", 202, &member)
	remove("3", 202, &member)
	if member.Key != "u3" || member.Status != "removed" || member.RemovedAt == nil {
		t.Errorf("member %+v", member)
	}
	remove("9", 404, &p)

	// A step that has not failed is not retried, and an unknown message is not resolved.
	post("1/retry", `{"phase":"prepare","error":"timeout"}`, 409, &p)
	post("1/retry", `{"memberIds":[1]}`, 409, &p)
	post("1/retry", `{"memberIds":[9]}`, 404, &p)
	post("1/steps/10000001000/skip", `{"reason":"x"}`, 404, &p)
	post("1/steps/7/done", `{"reason":"x"}`, 404, &p)

	post("1/cancel", `{"reason":"the merger is off"}`, 202, &batch)
	if batch.Cancelled == nil || batch.Cancelled.Why != "the merger is off" {
		t.Errorf("batch %+v", batch)
	}
	var page api.Page[api.Batch]
	r.call(request{"GET", "/api/batches?status=" + batch.Status, reader, "", ""}, 200, &page)
	if len(page.Items) != 1 || page.Items[0].ID != 1 {
		t.Errorf("batches that are %s: %+v", batch.Status, page.Items)
	}
	for _, path := range []string{"1/pause", "1/resume", "1/retry"} {
		post(path, "", 409, &p)
	}
	post("1/advance", `{"phase":"prepare"}`, 409, &p)
	for _, path := range []string{"9/cancel", "9/pause", "9/resume", "9/retry"} {
		post(path, "", 404, &p)
	}
	post("9/approve", `{"phase":"x"}`, 404, &p)
}

func TestTokensOfTheRealIdentityProvider(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	var p api.Problem
	list := func(token string) request { return request{"GET", "/api/batches", token, "", ""} }
	r.call(list(r.token(reportsID)), 200, nil)
	r.call(list(r.token(strangerID)), 403, &p)
	forged := r.token(automationID)
	forged = forged[:len(forged)-4] + map[bool]string{true: "BBBB", false: "AAAA"}[strings.HasSuffix(forged, "AAAA")]
	header := r.call(list(forged), 401, &p)
	if !strings.HasPrefix(header.Get("WWW-Authenticate"), `Bearer error="invalid_token"`) {
		t.Errorf("challenge %q", header.Get("WWW-Authenticate"))
	}
	r.call(list("not-a-token"), 401, &p)
	r.call(list(""), 401, &p)
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// keepClosed takes an address so that no server of another test gets it, and serves no one there.
func keepClosed(t *testing.T, address string) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	check(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_ = connection.Close()
		}
	}()
}

func TestOutageOfTheStore(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	admin := r.token(automationID)
	r.call(request{"POST", "/api/runbooks", admin, "application/yaml", moves}, 201, nil)
	address := strings.TrimPrefix(r.cosmos.URL(), "http://")
	check(t, r.cosmos.Close())
	keepClosed(t, address)
	var p api.Problem
	header := r.call(request{"POST", "/api/batches/1/advance", admin, jsonMedia, `{"phase":"move"}`}, 503, &p)
	if p.Error != "unavailable" || header.Get("Retry-After") == "" || strings.Contains(p.Detail, "127.0.0.1") {
		t.Errorf("problem %+v", p)
	}
	r.call(request{"GET", "/api/health", "", "", ""}, 503, nil)
}
