package rehearse

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/matoolkit/matoolkit/internal/snapshot"
	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
	"github.com/matoolkit/matoolkit/worker/graph"
	"github.com/matoolkit/matoolkit/worker/notify"
	"github.com/matoolkit/matoolkit/worker/standard"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

// end is one end of a migration: a local tenant, and the worker that calls it.
type end struct {
	name      string
	server    *tenant.Server
	url       string // of all tenants
	token     token
	functions *catalog.Catalog
	budget    *budget
	queue     []*job
	running   int
	tape      *tape // of all ends: they have one clock
}

// tape takes down what a job does, and is the clock of the tenant while it does.
type tape struct {
	now   time.Time
	parts []part
}

// limitless is a rate that no rehearsal reaches: the budget counts instead.
var limitless = throttle.Rate{Calls: 1 << 30, Per: time.Second}

// carryOut calls the function of a job in the tenant.
func (e *end) carryOut(ctx context.Context, j *job, now time.Time) (any, error) {
	e.tape.now, e.tape.parts = now, nil
	value, err := e.functions.Call(ctx, j.FunctionName, j.Parameters)
	j.parts = e.tape.parts
	return value, err
}

// RoundTrip takes a call down and makes it.
func (e *end) RoundTrip(r *http.Request) (*http.Response, error) {
	e.tape.parts = append(e.tape.parts, part{kind: kindOf(r)})
	return http.DefaultTransport.RoundTrip(r)
}

// sleep takes down that a function waits.
func (e *end) sleep(_ context.Context, d time.Duration) error {
	e.tape.parts = append(e.tape.parts, part{kind: wait, wait: d})
	e.tape.now = e.tape.now.Add(d)
	return nil
}

// token is the credential of a worker for a tenant. It is random: other accounts of the machine can reach the local tenants.
type token string

// GetToken never fails.
func (t token) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: string(t), ExpiresOn: time.Now().Add(24 * time.Hour)}, nil
}

// connect makes the worker of a tenant, whose servers are at a URL.
func (e *end) connect(url, tenantID string, domains []string, extra []catalog.Function) error {
	web := &http.Client{Transport: e, Timeout: time.Minute}
	pace := throttle.Default()
	pace.Sleep = e.sleep
	pace.Now = func() time.Time { return e.tape.now }
	g, err := graph.New(graph.Config{
		URL: url, Scope: "https://graph.microsoft.com/.default", Credential: e.token, HTTP: web, Policy: pace,
		Alert: graph.Alert{From: e.sender()}, MailDomains: domains, Writes: limitless, Invitations: limitless,
	})
	if err != nil {
		return err
	}
	x, err := exchange.New(session.Config{
		URL: url, Scope: "https://outlook.office365.com/.default", TenantID: tenantID, Credential: e.token, HTTP: web,
		Policy: pace, Concurrency: 1000,
	}, exchange.Cmdlets{})
	if err != nil {
		return err
	}
	e.functions, err = standard.Functions(notify.Config{Graph: g, From: e.sender()}, nil, x, true, extra...)
	return err
}

// sender is a user with a mailbox, who sends mails in the tenant; empty where there is none.
func (e *end) sender() string { return e.server.Summary().Sender }

// Tenant is the input of one tenant.
type Tenant struct {
	Name string
	ID   string // of the real tenant
	Seed tenant.Seed
	// Snapshot has the objects beside those of Seed; nil: there are no others.
	Snapshot *snapshot.Reader
}

// open starts the tenants and their workers. The servers stop when ctx ends.
func open(ctx context.Context, tenants []Tenant, a Assumptions, extra []catalog.Function) (map[string]*end, error) {
	tenantOf := map[string]string{} // by token
	config := tenant.TenantsConfig{TenantOf: func(token string) string { return tenantOf[token] }, Logger: slog.New(slog.DiscardHandler)}
	verify := func(token, _ string) error {
		if tenantOf[token] == "" {
			return errors.New("the token is not that of a worker of the rehearsal")
		}
		return nil
	}
	ends := map[string]*end{}
	var domains []string
	shared := new(tape)
	for _, t := range tenants {
		e := &end{name: t.Name, tape: shared, budget: newBudget(a), token: token(rand.Text())}
		if ends[t.Name] != nil {
			return nil, fmt.Errorf("the tenant %s is given twice", t.Name)
		}
		ends[t.Name], tenantOf[string(e.token)] = e, t.ID
		config.Tenants = append(config.Tenants, tenant.Named{Name: t.Name, Config: tenant.Config{
			TenantID: t.ID, Seed: &t.Seed, Snapshot: t.Snapshot, Now: func() time.Time { return e.tape.now }, Logger: config.Logger,
			MoveDelay: seconds(a.CopySeconds), ProvisionDelay: seconds(a.ProvisionSeconds), VerifyToken: verify, NoLocalEndpoint: true,
		}})
	}
	group, err := tenant.StartTenants(ctx, config)
	if err != nil {
		return nil, err
	}
	for _, t := range tenants {
		ends[t.Name].server = group.Tenant(t.Name)
		domains = append(domains, ends[t.Name].server.Domains()...)
	}
	slices.Sort(domains)
	for _, t := range tenants {
		e := ends[t.Name]
		e.url = group.URL()
		if err := e.connect(e.url, t.ID, slices.Compact(domains), extra); err != nil {
			return nil, errors.Join(fmt.Errorf("tenant %s: %w", t.Name, err), group.Close())
		}
	}
	return ends, nil
}

// assign finds the tenant of each worker: the one that said names, or the one whose name follows worker-, or the only one.
func assign(workers []string, said map[string]string, ends map[string]*end) (map[string]*end, error) {
	assigned := map[string]*end{}
	for _, id := range workers {
		key := strings.ToLower(id)
		name, known := said[key]
		if !known {
			name = strings.TrimPrefix(key, "worker-")
		}
		e := ends[name]
		if e == nil && !known && len(ends) == 1 {
			for _, only := range ends {
				e = only
			}
		}
		if e == nil {
			return nil, fmt.Errorf("no tenant is known for the worker %s: give --worker %s=TENANT", id, id)
		}
		assigned[key] = e
	}
	return assigned, nil
}
