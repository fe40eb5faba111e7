package rehearse_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/cmd/matoolkit/rehearse"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/demo"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/tenant"
)

var start = time.Date(2026, 12, 1, 18, 0, 0, 0, time.UTC)

const example = "../../../examples/tenant-to-tenant"

// tenants are those of the example, with the ids that its runbook names.
func tenants(t testing.TB, change func(name string, seed *tenant.Seed)) []rehearse.Tenant {
	t.Helper()
	named := testenv.Must(entra.NamedTenants(demo.Source, demo.Target))(t)
	var all []rehearse.Tenant
	for _, n := range named {
		src := testenv.Must(os.ReadFile(filepath.Join(example, n.Name+".json")))(t)
		var seed tenant.Seed
		if err := json.Unmarshal(src, &seed); err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(n.Name, &seed)
		}
		all = append(all, rehearse.Tenant{Name: n.Name, ID: n.TenantID, Seed: seed})
	}
	return all
}

// checkFailures checks that those members of the example fail who fail in its demo, for the same reasons.
func checkFailures(t *testing.T, r *rehearse.Report) {
	t.Helper()
	failed := map[string]string{}
	for _, g := range r.Errors {
		for _, m := range g.Members {
			failed[m.Key] += g.Phase + ": " + m.Error + "\n"
		}
	}
	for key, want := range demo.MoveFailures {
		if !strings.Contains(failed[key], want.Phase) || !strings.Contains(failed[key], want.Reason) {
			t.Errorf("%s failed with %q, want %+v", key, failed[key], want)
		}
		delete(failed, key)
	}
	if len(failed) > 0 {
		t.Errorf("others failed, too: %v", failed)
	}
}

func TestTheExampleFailsForTheSamePeopleAsTheDemo(t *testing.T) {
	t.Parallel()
	assumed := rehearse.DefaultAssumptions()
	c := rehearse.Config{
		Runbook: testenv.Must(os.ReadFile(filepath.Join(example, "runbook.yaml")))(t), Members: filepath.Join(example, "members.csv"),
		Start: start, Tenants: tenants(t, nil), Assumed: assumed, Sample: 3,
	}
	r := testenv.Must(rehearse.Run(t.Context(), c))(t)
	checkFailures(t, r)
	if v := r.Removal; v == nil || len(v.Members) != 3 || len(v.Errors) > 0 || len(v.Left) != 2 { // the list, as a group and as a recipient
		t.Errorf("removal %+v", v)
	}
	for _, l := range r.Licenses {
		if want := map[string]int{"source SPE_E3": 7, "target SPE_E3": 13, "target SPE_E5": 5}[l.Tenant+" "+l.SKU]; l.UsedAfter != want {
			t.Errorf("licence %+v, want %d used", l, want)
		}
	}
	if i := slices.IndexFunc(r.Changes, func(c rehearse.Change) bool {
		return c.Tenant == "target" && c.Kind == "user" && c.Name == "ada.lindqvist@fabrikam.com" && c.Effect == "created"
	}); i < 0 {
		t.Error("the account that Ada gets is not among the changes")
	}
	if len(r.NotModelled) < 5 || len(r.NotRehearsed) != 1 || r.NotRehearsed[0].Function != "Send-AdminAlert" {
		t.Errorf("not modelled %v, not rehearsed %v", r.NotModelled, r.NotRehearsed)
	}
	var page strings.Builder
	if err := r.HTML(&page); err != nil || !strings.Contains(page.String(), "no licence of SPE_E5 is left") {
		t.Errorf("page: %v", err)
	}
}
