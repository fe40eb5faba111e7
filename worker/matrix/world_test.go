package matrix_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/internal/webhook"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/access"
	"github.com/matoolkit/matoolkit/worker/authentication"
	"github.com/matoolkit/matoolkit/worker/calls"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
	"github.com/matoolkit/matoolkit/worker/graph"
	"github.com/matoolkit/matoolkit/worker/groups"
	"github.com/matoolkit/matoolkit/worker/migration"
	"github.com/matoolkit/matoolkit/worker/notify"
	"github.com/matoolkit/matoolkit/worker/sharepoint"
	"github.com/matoolkit/matoolkit/worker/signin"
	"github.com/matoolkit/matoolkit/worker/teams"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

const (
	graphScope    = "https://graph.microsoft.com/.default"
	exchangeScope = "https://outlook.office365.com/.default"
)

// directory is that of all worlds. So is the credential, except where tokens end:
// one process does not see so many end at once.
var (
	directory  *entra.Server
	credential *signin.Credential
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx := context.Background()
	config := entra.DefaultConfig()
	config.Addr = "127.0.0.1:0"
	var err error
	if directory, err = entra.Start(ctx, config); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer directory.Close()
	if credential, err = open(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer credential.Close()
	return m.Run()
}

func open(ctx context.Context) (*signin.Credential, error) {
	return signin.Open(ctx, signin.Config{
		TenantID: entra.DefaultTenantID, AppID: entra.DefaultWorkerClientID, Secret: entra.DefaultWorkerSecret,
		AuthorityHost: directory.URL(), Local: true, Scope: graphScope, HTTP: directory.HTTPClient(),
	})
}

// clock is the time of a world. It advances only while a caller waits.
type clock struct {
	mu    sync.Mutex
	now   time.Time
	slept []time.Duration
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.slept = append(c.slept, d)
	return ctx.Err()
}

// hook takes the place of sending request n, counted from 1.
type hook func(n int, r *http.Request, send func() (*http.Response, error)) (*http.Response, error)

// world is a tenant and what a worker needs to act on it.
type world struct {
	t       *testing.T
	tenant  *tenant.Server
	clock   *clock
	calls   *calls.Transport
	began   time.Time
	alert   graph.Alert
	domains []string // of people who may be mailed

	passwordKey []byte   // of the workers; nil: passwords are random
	roles       []string // of the application: those that the function says it needs
	signin      *signin.Credential

	mu      sync.Mutex
	n       int
	hook    hook
	refuse  error           // what every token lacks
	revoked map[string]bool // tokens
}

// start makes the world of a row, with a change to the tenant's configuration.
func start(t *testing.T, r row, change func(*tenant.Config)) *world {
	t.Helper()
	w := &world{t: t, clock: &clock{now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}, revoked: map[string]bool{}, signin: credential}
	w.alert = graph.Alert{From: bobID, To: []string{"admins@contoso.example"}}
	w.domains = []string{"Contoso.example"}
	w.began = w.clock.now
	seed := people()
	if r.seed != nil {
		r.seed(&seed)
	}
	config := tenant.Config{
		TenantID: entra.DefaultTenantID, Seed: &seed, Now: w.clock.Now, VerifyToken: w.verify, Roles: w.hasRoles,
	}
	if change != nil {
		change(&config)
	}
	w.tenant = testenv.Started(tenant.Start(t.Context(), config))(t)
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	w.calls = &calls.Transport{Base: base, Report: func(err error) { t.Error(err) }}
	w.faults(r)
	return w
}

// faults sets rules beside what the row's tenant does anyway.
func (w *world) faults(r row, rules ...tenant.Fault) {
	w.t.Helper()
	if err := w.tenant.SetFaults(tenant.Faults{Rules: rules, ExternalMovesPrimary: r.movesPrimary, IgnoresPrimarySMTP: r.ignoresPrimary}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) verify(token, audience string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse != nil {
		return w.refuse
	}
	if w.revoked[token] {
		return errors.New("the token has expired")
	}
	return directory.VerifyToken(token, audience)
}

func (w *world) hasRoles(string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.roles
}

// RoundTrip counts requests and lets the hook at them.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	w.n++
	n, h := w.n, w.hook
	w.mu.Unlock()
	send := func() (*http.Response, error) { return w.calls.RoundTrip(r) }
	if h == nil {
		return send()
	}
	return h(n, r, send)
}

func (w *world) requests() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.n
}

// interrupt has the hook at the requests from now on, counted anew.
func (w *world) interrupt(h hook) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hook, w.n = h, 0
}

// worker is a catalogue as a worker has it that was just started.
func (w *world) worker() *catalog.Catalog {
	w.t.Helper()
	pace := throttle.Default()
	pace.Now, pace.Sleep, pace.Random = w.clock.Now, w.clock.sleep, func() float64 { return 0 }
	web := &http.Client{Transport: w.signin.Transport(w)}
	g := testenv.Must(graph.New(graph.Config{
		URL: w.tenant.URL(), Scope: graphScope, Credential: w.signin, HTTP: web, Policy: pace,
		Alert: w.alert, MailDomains: w.domains, Requests: graph.Requests{Setting: "GRAPH_REQUESTS"},
	}))(w.t)
	x := testenv.Must(exchange.New(session.Config{
		URL: w.tenant.URL(), Scope: exchangeScope, TenantID: entra.DefaultTenantID, Credential: w.signin, HTTP: web, Policy: pace,
	}, exchange.Cmdlets{Setting: "EXCHANGE_CMDLETS"}))(w.t)
	return testenv.Must(catalog.New(slices.Concat(g.Functions(), x.Functions(), sharepoint.Functions(g), migration.Functions(g), authentication.Functions(authentication.Config{Graph: g, PasswordKey: w.passwordKey}), teams.Functions(g), groups.Functions(g), access.Functions(g),
		notify.Functions(notify.Config{Graph: g, From: bobID, Poster: webhook.New(webhook.Config{})}))...))(w.t)
}

// deliver runs a row's job on a worker that was just started.
func (w *world) deliver(ctx context.Context, r row, again bool) (string, error) {
	w.t.Helper()
	w.allow(r.function, r.permissions)
	return w.callOn(ctx, w.worker(), r.function, r.params, again)
}

// allow gives the application these permissions, or those that the catalogue says a function needs.
func (w *world) allow(function string, permissions []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.roles = permissions; permissions == nil {
		w.roles = permissionsOf(function)
	}
}

// call runs a function on a new worker with the documented permissions of the function.
func (w *world) call(ctx context.Context, function string, params map[string]any, again bool) (string, error) {
	w.t.Helper()
	w.allow(function, nil)
	return w.callOn(ctx, w.worker(), function, params, again)
}

// callOn returns JSON with random values replaced.
func (w *world) callOn(ctx context.Context, c *catalog.Catalog, function string, params map[string]any, again bool) (string, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return "", err
	}
	ctx = catalog.WithJob(ctx, catalog.Job{ID: "batch-1-step-7-attempt-1", EffectID: "1/7/1", Redelivered: again, Enqueued: w.began})
	answer, err := c.Call(ctx, function, raw)
	if err != nil {
		return "", err
	}
	out, err := json.Marshal(answer)
	return normalize(string(out)), err
}

// permissionsOf are those that the catalogue says a function needs, and no others.
func permissionsOf(function string) []string {
	for _, f := range catalog.Standard() {
		if f.Name == function {
			return f.Permissions
		}
	}
	return nil
}

var (
	anyGUID = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|=[0-9a-f]{32}-`)
	anyTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
)

// normalize replaces ids, times and secrets that are others in each run.
func normalize(text string) string {
	text = anyGUID.ReplaceAllStringFunc(text, func(id string) string {
		if strings.Contains(id, "-0000-4000-8000-") {
			return id // of the seed
		}
		return "(id)"
	})
	text = secretInMail.ReplaceAllString(text, "$1(secret)")
	return anyTime.ReplaceAllString(text, "(time)")
}

// state is the tenant's, a line for each value, in order. Identical mails count as
// one: a recipient can recognise them.
func (w *world) state() []string {
	w.t.Helper()
	raw := testenv.Must(json.Marshal(w.tenant.State()))(w.t)
	var all map[string]any
	if err := json.Unmarshal([]byte(normalize(string(raw))), &all); err != nil {
		w.t.Fatal(err)
	}
	var lines []string
	for kind, objects := range all {
		list, _ := objects.([]any)
		for _, object := range list {
			of := flat(kind+" "+nameOf(object), object)
			if kind != "mails" || !slices.Contains(lines, of[0]) {
				lines = append(lines, of...)
			}
		}
	}
	slices.Sort(lines)
	return lines
}

func nameOf(object any) string {
	o, _ := object.(map[string]any)
	if properties, ok := o["properties"].(map[string]any); ok {
		o = properties
	}
	for _, key := range []string{"id", "ExternalDirectoryObjectId", "subject", "name"} {
		if s, ok := o[key].(string); ok {
			return s
		}
	}
	return "?"
}

func flat(at string, value any) []string {
	object, ok := value.(map[string]any)
	if !ok {
		raw, _ := json.Marshal(value)
		return []string{at + ": " + string(raw)}
	}
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if v := object[key]; v != nil {
			lines = append(lines, flat(at+"."+key, v)...)
		}
	}
	return lines
}

// difference lists the lines that only one of two states has, or has more often.
func difference(before, after []string) []string {
	var gone []string
	added := slices.Clone(after)
	for _, line := range before {
		if i := slices.Index(added, line); i >= 0 {
			added = slices.Delete(added, i, i+1)
		} else {
			gone = append(gone, "- "+line)
		}
	}
	for _, line := range added {
		gone = append(gone, "+ "+line)
	}
	return gone
}
