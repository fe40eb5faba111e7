package rehearse_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/matoolkit/matoolkit/cmd/matoolkit/rehearse"
	"github.com/matoolkit/matoolkit/internal/tenantexport"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
)

// exported exports a tenant into the folder of a snapshot.
func exported(t testing.TB, from rehearse.Tenant) string {
	t.Helper()
	s := testenv.Started(tenant.Start(t.Context(), tenant.Config{TenantID: from.ID, Seed: &from.Seed}))(t)
	var roles []string
	for _, p := range tenantexport.Permissions() {
		roles = append(roles, p.Name)
	}
	claims := testenv.Must(json.Marshal(map[string]any{"roles": roles}))(t)
	token := "e30." + base64.RawURLEncoding.EncodeToString(claims) + ".x"
	folder := filepath.Join(t.TempDir(), from.Name)
	testenv.Must(tenantexport.Run(t.Context(), tenantexport.Config{
		Dir: folder, TenantID: from.ID, Tool: "test", GraphURL: s.URL(), ExchangeURL: s.URL(), GraphScope: "graph", ExchangeScope: "exchange",
		Token: func(context.Context, string, bool) (string, error) { return token, nil }, Details: tenantexport.Details(), Units: 1e6,
	}))(t)
	return folder
}

// On exported copies of its tenants the example fails for the same people as on the tenants themselves.
func TestAnExportedTenantIsRehearsed(t *testing.T) {
	t.Parallel()
	var all []rehearse.Tenant
	for _, from := range tenants(t, nil) {
		all = append(all, testenv.Must(rehearse.ReadTenant(from.Name, exported(t, from), ""))(t))
	}
	r := testenv.Must(rehearse.Run(t.Context(), rehearse.Config{
		Runbook: testenv.Must(os.ReadFile(filepath.Join(example, "runbook.yaml")))(t), Members: filepath.Join(example, "members.csv"),
		Start: start, Tenants: all, Assumed: rehearse.DefaultAssumptions(),
	}))(t)
	checkFailures(t, r)
	if r.Tenants[0].TakenAt == nil {
		t.Errorf("tenants %+v", r.Tenants)
	}
}
