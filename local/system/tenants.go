package system

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/tenant"
)

// workerOf is the worker id of a named tenant.
func workerOf(tenant string) string { return "worker-" + tenant }

// startTenants starts the one tenant, or all named ones at one address.
func (s *System) startTenants(ctx context.Context) (err error) {
	if err := errors.Join(s.keepTenants(), s.keepWorkerSettings()); err != nil {
		return err
	}
	if len(s.config.Tenants) > 0 {
		return s.startSeveral(ctx)
	}
	t := s.tenantConfig(entra.DefaultTenantID, entra.DefaultAdminObjectID, entra.DefaultAdminUPN)
	t.Addr = s.config.Addresses.Tenant
	if t.DataDir, err = s.dir("tenant"); err != nil {
		return err
	}
	if s.Tenant, err = tenant.Start(ctx, t); err != nil {
		return err
	}
	s.config.Addresses.Tenant = strings.TrimPrefix(s.Tenant.URL(), "http://")
	s.started("Microsoft 365 tenant", s.Tenant.URL(), s.Tenant.Close)
	return nil
}

func (s *System) startSeveral(ctx context.Context) (err error) {
	g := tenant.TenantsConfig{Addr: s.config.Addresses.Tenant, TenantOf: s.tenantOf, Logger: s.config.Logger}
	for _, n := range s.config.Tenants {
		t := tenant.Named{Name: n.Name, Config: s.tenantConfig(n.TenantID, n.AdminObjectID, n.AdminUPN)}
		if t.Snapshot = s.config.Snapshots[n.Name]; t.Snapshot != nil {
			t.Seed.Users[0]["mailNickname"] = "matoolkit-local-admin" // a real tenant can have an admin
		}
		if t.DataDir, err = s.dir(stateOf(n)); err == nil {
			err = s.keepCopy(t.DataDir, n)
		}
		if err != nil {
			return err
		}
		g.Tenants = append(g.Tenants, t)
	}
	if s.Tenants, err = tenant.StartTenants(ctx, g); err != nil {
		return err
	}
	s.config.Addresses.Tenant = strings.TrimPrefix(s.Tenants.URL(), "http://")
	s.started("Microsoft 365 tenants", s.Tenants.URL(), s.Tenants.Close)
	for _, n := range s.config.Tenants {
		s.lines = append(s.lines, Line{Part: "  " + n.Name, Address: n.TenantID})
	}
	return nil
}

// moveDelay is how long a copy of a mailbox takes, and the completion of its move: long enough to be seen.
const moveDelay = 2 * time.Second

// tenantConfig is a tenant with an administrator whose mailbox alerts of workers are sent from and to.
func (s *System) tenantConfig(id, adminID, adminUPN string) tenant.Config {
	return tenant.Config{
		TenantID: id, MoveDelay: moveDelay, VerifyToken: s.Entra.VerifyToken, Roles: s.graphRoles, Logger: s.config.Logger,
		NoLocalEndpoint: s.copies,
		Seed: &tenant.Seed{
			Users: []tenant.User{{
				"id": adminID, "userPrincipalName": adminUPN, "mailNickname": "admin", "displayName": "Avery Admin", "accountEnabled": true,
			}},
			Recipients: []tenant.Recipient{{
				Kind: tenant.UserMailbox, ExternalDirectoryObjectID: adminID, EmailAddresses: []string{"SMTP:" + adminUPN},
			}},
		},
	}
}

// graphRoles are the application permissions in a token for Graph. A token that is not
// good has none.
func (s *System) graphRoles(token string) []string {
	claims, err := s.Entra.VerifyClaims(token, entra.GraphAudience)
	if err != nil {
		return nil
	}
	return claims.Roles
}

// tenantOf is the id of the tenant of a token for Graph or Exchange Online, empty if it is not good.
func (s *System) tenantOf(token string) string {
	for _, audience := range []string{entra.GraphAudience, entra.ExchangeAudience} {
		if claims, err := s.Entra.VerifyClaims(token, audience); err == nil {
			return claims.TenantID
		}
	}
	return ""
}

// tenantsFile has the names of the tenants of the system whose state is in the folder around it.
const tenantsFile = "tenants.json"

// keepTenants writes the names of the tenants where other programs find them.
func (s *System) keepTenants() error {
	if s.config.DataDir == "" {
		return nil
	}
	file := filepath.Join(s.config.DataDir, tenantsFile)
	if len(s.config.Tenants) == 0 {
		if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	var names []string
	for _, t := range s.config.Tenants {
		names = append(names, t.Name)
	}
	body, err := json.Marshal(names)
	if err == nil {
		err = os.MkdirAll(s.config.DataDir, 0o700)
	}
	if err == nil {
		err = os.WriteFile(file, body, 0o600)
	}
	return err
}

// TenantsIn returns the tenants of the system that has its state in the folder, none if it has one without
// a name or if there is no such system.
func TenantsIn(dataDir string) (tenants []entra.Named, err error) {
	file := filepath.Join(dataDir, tenantsFile)
	body, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	if err == nil {
		err = json.Unmarshal(body, &names)
	}
	if err == nil {
		tenants, err = entra.NamedTenants(names...)
	}
	for i := range tenants {
		if err == nil {
			tenants[i], _, err = copyIn(dataDir, tenants[i])
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return tenants, nil
}
