package example_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/matoolkit/matoolkit/internal/membercsv"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/template"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

var functions = map[string]catalog.Function{
	"New-EntraUser":            catalog.NewEntraUser,
	"New-ExchangeMailUser":     catalog.NewExchangeMailUser,
	"Set-EntraUserAttributes":  catalog.SetEntraUserAttributes,
	"Add-EntraGroupMember":     catalog.AddEntraGroupMember,
	"Test-ExchangeMailUser":    catalog.TestExchangeMailUser,
	"Test-EntraAttributeMatch": catalog.TestEntraAttributeMatch,
	"Set-EntraUserUPN":         catalog.SetEntraUserUPN,
	"Set-ExchangePrimaryEmail": catalog.SetExchangePrimaryEmail,
	"Add-EntraUserLicense":     catalog.AddEntraUserLicense,
	"Test-EntraUserLicense":    catalog.TestEntraUserLicense,
}

// Every step of every member can be sent to a worker: the file has what the
// runbook asks for, and the functions take what the steps give them.
func TestEveryStepOfEveryMemberCanBeSent(t *testing.T) {
	t.Parallel()
	rb, rows := load(t)
	if len(rows) != 25 {
		t.Errorf("%d members; want 25", len(rows))
	}
	for _, step := range rb.Init {
		check(t, step, template.Variables{"_batch_id": json.Number("42")})
	}
	for _, row := range rows {
		vars := template.Variables{"UserId": "5b2f9a4e-0000-4000-8000-000000000001"}
		for name, value := range values(t, row) {
			vars[name] = decode[any](t, value)
		}
		for _, phase := range rb.Phases {
			for _, step := range phase.Steps {
				check(t, step, vars)
			}
		}
		for _, steps := range rb.Rollbacks {
			for _, step := range steps {
				check(t, step, vars)
			}
		}
	}
}

// Outputs are fields that the functions answer.
func TestOutputsAreAnswered(t *testing.T) {
	t.Parallel()
	rb, _ := load(t)
	for _, phase := range rb.Phases {
		for _, step := range phase.Steps {
			for variable, field := range step.OutputParams {
				if !answers(functions[step.Function], field) {
					t.Errorf("step %s: %s answers no %s, which %s takes", step.Name, step.Function, field, variable)
				}
			}
		}
	}
}

// The tenant is as README.md says: the group is there, and one member's name and
// another one's address are taken.
func TestTenantFailsTwoMembers(t *testing.T) {
	t.Parallel()
	rb, rows := load(t)
	server := testenv.Started(tenant.Start(t.Context(), tenant.Config{Seed: new(decode[tenant.Seed](t, read(t, "tenant.json")))}))(t)
	state := server.State()

	if len(state.Groups) != 1 || state.Groups[0].ID() != rb.Phases[0].Steps[2].Params["GroupId"] {
		t.Errorf("groups = %v", state.Groups)
	}
	var failing []string
	for _, row := range rows {
		alias := decode[string](t, values(t, row)["Alias"])
		for _, user := range state.Users {
			if user.UPN() == alias+"@fabrikam.onmicrosoft.com" || slices.Contains(user.List("proxyAddresses"), "smtp:"+row.Key) {
				failing = append(failing, row.Key)
			}
		}
	}
	if len(failing) != 2 || failing[0] != "daniel.garcia@fabrikam.com" || failing[1] != "kofi.mensah@fabrikam.com" {
		t.Errorf("failing members = %v", failing)
	}
}

func values(t *testing.T, row membercsv.Row) map[string]json.RawMessage {
	t.Helper()
	data, err := row.Data()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func load(t *testing.T) (*runbook.Runbook, []membercsv.Row) {
	t.Helper()
	rb, found := runbook.Parse(read(t, "runbook.yaml"))
	if len(found) > 0 {
		t.Fatal(found)
	}
	rows, warnings, problems := membercsv.Parse(read(t, "members.csv"), rb)
	if len(problems) > 0 || len(warnings) > 0 {
		t.Fatal(problems, warnings)
	}
	return rb, rows
}

func check(t *testing.T, step runbook.Step, vars template.Variables) {
	t.Helper()
	function, known := functions[step.Function]
	if !known {
		t.Errorf("step %s: no worker has %s", step.Name, step.Function)
		return
	}
	params, err := template.ResolveParams(step.Params, vars)
	if err != nil {
		t.Errorf("step %s: %v", step.Name, err)
		return
	}
	body, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := function.Check(body); err != nil {
		t.Errorf("step %s: %v", step.Name, err)
	}
}

func answers(function catalog.Function, field string) bool {
	for _, f := range function.Result {
		if f.Name == field {
			return true
		}
	}
	return false
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func decode[T any](t *testing.T, raw []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}
