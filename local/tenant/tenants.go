package tenant

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/matoolkit/matoolkit/local/tenant/graph"
	"github.com/matoolkit/matoolkit/local/tenant/odata"
)

// TenantsConfig is the configuration of Tenants. Tenants and TenantOf are required.
type TenantsConfig struct {
	Addr    string // loopback address, default 127.0.0.1:0
	Tenants []Named
	// TenantOf is the id of the tenant of a token for Graph or Exchange, empty if the token is not good.
	TenantOf func(token string) string
	Logger   *slog.Logger // default slog.Default()
}

// Named is one of Tenants. Its Addr is not used.
type Named struct {
	Name string
	Config
}

// Tenants are several tenants at one address, as Graph and Exchange Online are: the token of a
// request says which tenant it is for. The local admin endpoints of a tenant are below /tenants/NAME.
//
// A migration endpoint with the name of another tenant moves mailboxes out of that tenant, and so does a migration job with
// its id. Other endpoints move mailboxes of tenants that are not here.
type Tenants struct {
	config  TenantsConfig
	tenants []*Server // in the order of config.Tenants
	moving  sync.Mutex
	*endpoint
}

// StartTenants opens the tenants and listens. They are ready when it returns and stop when ctx
// ends or Close is called.
func StartTenants(ctx context.Context, config TenantsConfig) (*Tenants, error) {
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	if len(config.Tenants) == 0 {
		return nil, errors.New("tenant: no tenants")
	}
	g := &Tenants{config: config}
	for _, t := range config.Tenants {
		t.linked = func(endpoint string) bool { return !strings.EqualFold(endpoint, t.Name) && g.named(endpoint) >= 0 }
		t.linkedID = func(id string) bool { return !strings.EqualFold(id, t.TenantID) && g.withID(id) >= 0 }
		s, err := open(ctx, t.Config)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("tenant %s: %w", t.Name, err), g.closeTenants())
		}
		g.tenants = append(g.tenants, s)
	}
	var err error
	if g.endpoint, err = listen(config.Addr, g, config.Logger); err != nil {
		return nil, errors.Join(err, g.closeTenants())
	}
	context.AfterFunc(ctx, func() { g.Close() })
	return g, nil
}

// Close stops the server at once; requests under way are cut off.
func (g *Tenants) Close() error { return errors.Join(g.endpoint.stop(), g.closeTenants()) }

func (g *Tenants) closeTenants() error {
	var errs []error
	for _, s := range g.tenants {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// Tenant is a tenant by its name, nil if there is none.
func (g *Tenants) Tenant(name string) *Server {
	i := slices.IndexFunc(g.config.Tenants, func(t Named) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return g.tenants[i]
}

// named is the place of the tenant that an endpoint names, -1 for none.
func (g *Tenants) named(endpoint string) int {
	return slices.IndexFunc(g.config.Tenants, func(t Named) bool { return strings.EqualFold(t.Name, endpoint) })
}

// withID is the place of the tenant that an id names, -1 for none.
func (g *Tenants) withID(id string) int {
	return slices.IndexFunc(g.config.Tenants, func(t Named) bool { return strings.EqualFold(t.TenantID, id) })
}

// ServeHTTP passes a request on to its tenant. One without a good token, or with that of a tenant that is not here,
// goes to the first, which refuses it.
func (g *Tenants) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := g.moveMailboxes(); err != nil {
		g.config.Logger.Error("cannot move mailboxes between the tenants", "error", err)
	}
	if rest, local := strings.CutPrefix(r.URL.Path, "/tenants/"); local {
		g.serveLocal(w, r, rest)
		return
	}
	if r.URL.Path == "/_local" || strings.HasPrefix(r.URL.Path, "/_local/") {
		http.Error(w, "tenant: this address has several tenants: use /tenants/NAME"+r.URL.Path+" with one of "+g.names(), http.StatusNotFound)
		return
	}
	id := g.config.TenantOf(odata.Bearer(r))
	if rest, download := strings.CutPrefix(r.URL.Path, graph.ContentPath); download {
		id, _, _ = strings.Cut(rest, "/")
	}
	i := g.withID(id)
	if i < 0 && id != "" {
		r = r.Clone(r.Context())
		r.Header.Del("Authorization") // the first would take a good token for its own
	}
	g.tenants[max(i, 0)].ServeHTTP(w, r)
}

// serveLocal serves the local admin endpoint of one tenant; path is NAME/_local/….
func (g *Tenants) serveLocal(w http.ResponseWriter, r *http.Request, path string) {
	name, rest, _ := strings.Cut(path, "/")
	t := g.Tenant(name)
	if t == nil || !strings.HasPrefix(rest, "_local/") {
		http.Error(w, fmt.Sprintf("tenant: no local endpoint %s; the tenants are %s", r.URL.Path, g.names()), http.StatusNotFound)
		return
	}
	t.serveLocal(w, r, strings.Split(rest, "/")[1:])
}

func (g *Tenants) names() string {
	names := make([]string, len(g.config.Tenants))
	for i, t := range g.config.Tenants {
		names[i] = t.Name
	}
	return strings.Join(names, ", ")
}
