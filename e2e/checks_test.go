package e2e_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/local/tenant"
)

// TestChecksFindWhatWouldFail finds a taken sign-in name, an unverified domain and a missing licence
// in the tenant before the first phase.
func TestChecksFindWhatWouldFail(t *testing.T) {
	t.Parallel()
	seed, err := json.Marshal(tenant.Seed{
		VerifiedDomains: []string{"fabrikam.com"},
		Licenses:        []tenant.License{{SkuPartNumber: "SPE_E3", Enabled: 25, Consumed: 25}},
		Users:           []tenant.User{{"userPrincipalName": "ada@fabrikam.com", "displayName": "Another Ada"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	m := newMachineWith(t, seed, environment{}, everything)
	m.write("members.csv", []byte("UserPrincipalName,Name\nada@fabrikam.com,Ada\nbob@contoso.com,Bob\n"))
	a := newAdminOf(m, "checks", filepath.Join("testdata", "checks.yaml"), m.path("members.csv"))
	var batch api.Batch
	for a.ask(&batch, "batch", "get", a.batch); batch.Checks == nil || !batch.Checks.Done; a.ask(&batch, "batch", "get", a.batch) {
		time.Sleep(50 * time.Millisecond)
	}
	out, status, err := a.give("batch", "checks", a.batch, "--output", "csv", "--columns", "member,check,status,error")
	if err != nil && status != 1 {
		t.Fatal(err)
	}
	for _, want := range []string{
		"ada@fabrikam.com,name-is-available,failed,\"ada@fabrikam.com belongs to the user ada@fabrikam.com (",
		"ada@fabrikam.com,domain-is-verified,passed,",
		"ada@fabrikam.com,license-is-available,failed,\"25 of 25 licences of SPE_E3 are assigned",
		"bob@contoso.com,name-is-available,passed,",
		"bob@contoso.com,domain-is-verified,failed,\"the tenant does not have domain contoso.com, expected a verified domain",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	if status != 1 {
		t.Errorf("status %d", status)
	}
}
