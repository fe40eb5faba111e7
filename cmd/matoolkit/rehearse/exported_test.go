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

// exported exports a tenant into the folder of a snapshot, redacted or not.
func exported(t testing.TB, from rehearse.Tenant, redact bool) string {
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
		Token: func(context.Context, string, bool) (string, error) { return token, nil }, Details: tenantexport.Details(), Units: 1e6, Redact: redact,
	}))(t)
	return folder
}

// On exported copies of its tenants the example fails for the same people as on the tenants themselves.
func TestAnExportedTenantIsRehearsed(t *testing.T) {
	t.Parallel()
	var all []rehearse.Tenant
	for _, from := range tenants(t, nil) {
		all = append(all, testenv.Must(rehearse.ReadTenant(from.Name, exported(t, from, false), ""))(t))
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

// renameWave is a runbook that gives all users of the source their address as a sign-in name.
const renameWave = `name: rename
data_source:
  type: graph
  connection: SOURCE_GRAPH
  users: accountEnabled eq true
  columns: {UserId: id, NewUpn: mail}
  primary_key: UserId
  batch_time: immediate
phases:
  - name: rename
    offset: T-0
    steps: [{name: rename, worker_id: worker-source, function: Set-EntraUserUPN, params: {UserId: "{{UserId}}", NewUserPrincipalName: "{{NewUpn}}"}}]
`

// A redacted copy has the same people who get the name of a deleted user.
func TestARedactedCopyHasTheNamesOfDeletedUsers(t *testing.T) {
	t.Parallel()
	from := rehearse.Tenant{Name: "source", ID: tenant.DefaultTenantID, Seed: tenant.Seed{
		VerifiedDomains: []string{"contoso.com"},
		Users: []tenant.User{
			{"id": idOf("ada"), "userPrincipalName": "ada@contoso.com", "displayName": "Ada", "accountEnabled": true, "mail": "carl@contoso.com"},
			{"id": idOf("ben"), "userPrincipalName": "ben@contoso.com", "displayName": "Ben", "accountEnabled": true, "mail": "benjamin@contoso.com"},
		},
		DeletedUsers: []tenant.User{tenant.User{"id": idOf("carl"), "userPrincipalName": "carl@contoso.com", "displayName": "Carl"}.Deleted(start)},
	}}
	for _, redact := range []bool{false, true} {
		all := []rehearse.Tenant{testenv.Must(rehearse.ReadTenant("source", exported(t, from, redact), ""))(t)}
		r := testenv.Must(rehearse.Run(t.Context(), rehearse.Config{
			Runbook: []byte(renameWave), FromSource: true, Start: start, Tenants: all, Assumed: rehearse.DefaultAssumptions(),
		}))(t)
		if len(r.Errors) > 0 || len(r.Warnings) != 1 || r.Warnings[0].Step != "deleted users" || len(r.Warnings[0].Members) != 1 {
			t.Errorf("redacted %v: errors %+v, warnings %+v", redact, r.Errors, r.Warnings)
		}
	}
}
