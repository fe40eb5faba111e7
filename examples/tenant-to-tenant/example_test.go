package example_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/membercsv"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/template"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/demo"
	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// The runbooks.
const (
	graphJobs       = "runbook.yaml"
	exchangeBatches = "runbook-exchange-batches.yaml"
	exchangeName    = "tenant-to-tenant-exchange-batches"
)

// outputs are the answers of the steps in the source and the target.
var outputs = template.Variables{
	"ExchangeGuid": "5b2f9a4e-0000-4000-8000-000000000001", "ArchiveGuid": nil, "LegacyExchangeDN": "/o=ExchangeLabs/cn=ada", "X500Addresses": []any{},
	"TargetId": "5b2f9a4e-0000-4000-8000-000000000002", "FullAccess": []any{"ben.carter@contoso.com"}, "SendAs": []any{}, "SendOnBehalf": []any{},
	"CalendarPermissions": []any{"Default=AvailabilityOnly"},
}

// Every step of every member can be sent to a worker: the file has what the runbook asks for, the functions take what
// the steps give them, and answer what the steps keep.
func TestEveryStepOfEveryMemberCanBeSent(t *testing.T) {
	t.Parallel()
	for _, name := range []string{graphJobs, exchangeBatches} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkAll(t, load(t, name))
		})
	}
}

func checkAll(t *testing.T, rb *runbook.Runbook) {
	t.Helper()
	steps := slices.Concat(rb.Checks, rb.OnMemberRemoved)
	for _, p := range rb.Phases {
		steps = append(steps, p.Steps...)
	}
	for _, list := range rb.Rollbacks {
		steps = append(steps, list...)
	}
	vars := maps.Clone(outputs)
	vars["_batch_id"] = json.Number("42")
	for _, step := range rb.Init {
		check(t, step, vars)
	}
	for _, row := range rows(t, rb) {
		for name, value := range testenv.Must(row.Data())(t) {
			vars[name] = decode[any](t, value)
		}
		for _, step := range steps {
			check(t, step, vars)
		}
	}
}

// Both tenants start with the objects that the people need or fail for.
func TestTenantsStart(t *testing.T) {
	t.Parallel()
	people := rows(t, load(t, graphJobs))
	for _, name := range []string{demo.Source, demo.Target} {
		server := testenv.Started(tenant.Start(t.Context(), tenant.Config{Seed: new(decode[tenant.Seed](t, read(t, name+".json")))}))(t)
		mailboxes := 0
		for _, row := range people {
			if slices.ContainsFunc(server.State().Recipients, func(r tenant.Recipient) bool { return r.Primary() == row.Key && r.Kind == tenant.UserMailbox }) {
				mailboxes++
			}
		}
		if want := map[string]int{demo.Source: len(people)}[name]; mailboxes != want {
			t.Errorf("%s has mailboxes of %d members, want %d", name, mailboxes, want)
		}
	}
	for key := range demo.MoveFailures {
		if !slices.ContainsFunc(people, func(r membercsv.Row) bool { return r.Key == key }) {
			t.Errorf("%s must fail, and is no member", key)
		}
	}
}

// Who leaves after the completion of the move was asked for keeps the account, which may have the mailbox. Before it, the
// account of a person whose mailbox moves is deleted by the function that looks for the mailbox, also if no step knows of
// the completion; that of another person is deleted by its interim name, which it has until it gets mail.
func TestNoAccountIsDeletedOnceItsMailboxMoves(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		runbook, complete string
		mailbox           string
		moving            bool
		steps             []string
	}{
		{graphJobs, "Complete-CrossTenantMigrationJob", "moves", false, []string{"Stop-CrossTenantMigrationJob JobName", "Remove-CrossTenantMigrationJob JobName", "Remove-ExchangeMailUser UserId"}},
		{graphJobs, "Complete-CrossTenantMigrationJob", "moves", true, nil},
		{graphJobs, "Complete-CrossTenantMigrationJob", "stays", false, []string{"Remove-EntraUser Upn UserId"}},
		{exchangeBatches, "Complete-ExchangeMigrationBatch", "moves", false, []string{"Remove-ExchangeMigrationBatch BatchName", "Remove-ExchangeMailUser UserId"}},
		{exchangeBatches, "Complete-ExchangeMigrationBatch", "moves", true, nil},
	} {
		rb := load(t, tc.runbook)
		vars := map[string]any{"TargetId": outputs["TargetId"], "Mailbox": tc.mailbox}
		if tc.moving {
			for _, step := range stepsOf(rb, tc.complete) {
				for name := range step.OutputParams {
					vars[name] = "42 ada"
				}
			}
		}
		for note, steps := range map[string][]runbook.Step{"removal": rb.OnMemberRemoved, "undo-prepare": rb.Rollbacks["undo-prepare"]} {
			var run []string
			for _, step := range steps {
				if step.When == nil {
					run = append(run, step.Function+" "+strings.Join(slices.Sorted(maps.Keys(step.Params)), " "))
				} else if holds, err := step.When.Holds(vars); err != nil {
					t.Errorf("step %s: %v", step.Name, err)
				} else if holds {
					run = append(run, step.Function+" "+strings.Join(slices.Sorted(maps.Keys(step.Params)), " "))
				}
			}
			want := tc.steps
			if note == "undo-prepare" { // before there is a job
				want = slices.DeleteFunc(slices.Clone(want), func(s string) bool { return strings.Contains(s, "Migration") })
			}
			if (note == "removal" || !tc.moving) && !slices.Equal(run, want) {
				t.Errorf("%s, %s of a person whose mailbox %s, moving is %v: runs %q, want %q", tc.runbook, note, tc.mailbox, tc.moving, run, want)
			}
		}
	}
}

func stepsOf(rb *runbook.Runbook, function string) (found []runbook.Step) {
	for _, p := range rb.Phases {
		for _, step := range p.Steps {
			if step.Function == function {
				found = append(found, step)
			}
		}
	}
	return found
}

// README.md names each person who fails.
func TestReadmeNamesThoseWhoFail(t *testing.T) {
	t.Parallel()
	rb := load(t, graphJobs)
	text := string(read(t, "README.md"))
	for _, row := range rows(t, rb) {
		_, fails := demo.MoveFailures[row.Key]
		name := decode[string](t, testenv.Must(row.Data())(t)["Name"])
		if (fails || row.Key == demo.Leaver) && !strings.Contains(text, "**"+name+"**") {
			t.Errorf("README.md does not name %s", name)
		}
	}
}

func load(t *testing.T, name string) *runbook.Runbook {
	t.Helper()
	rb, found := runbook.Parse(read(t, name))
	if len(found) > 0 {
		t.Fatal(found)
	}
	return rb
}

func rows(t *testing.T, rb *runbook.Runbook) []membercsv.Row {
	t.Helper()
	rows, warnings, problems := membercsv.Parse(read(t, "members.csv"), rb)
	if rb.Name == exchangeName { // which leaves columns out
		warnings = nil
	}
	if len(problems) > 0 || len(warnings) > 0 {
		t.Fatal(problems, warnings)
	}
	return rows
}

func check(t *testing.T, step runbook.Step, vars template.Variables) {
	t.Helper()
	at := slices.IndexFunc(catalog.Standard(), func(f catalog.Function) bool { return f.Name == step.Function })
	if at < 0 {
		t.Errorf("step %s: no worker has %s", step.Name, step.Function)
		return
	}
	function := catalog.Standard()[at]
	params, err := template.ResolveParams(step.Params, vars)
	if err != nil {
		t.Errorf("step %s: %v", step.Name, err)
		return
	}
	if _, err := function.Check(testenv.Must(json.Marshal(params))(t)); err != nil {
		t.Errorf("step %s: %v", step.Name, err)
	}
	for variable, field := range step.OutputParams {
		names := []string{"data"}
		for _, f := range function.Result {
			names = append(names, f.Name)
			if f.Name == "data" { // of a poll: its fields are listed in the text
				names = append(names, strings.Split(strings.Trim(strings.ReplaceAll(f.Description, ", and", ","), "."), ", ")...)
			}
		}
		if !slices.Contains(names, field) {
			t.Errorf("step %s: %s answers no %s, which %s takes", step.Name, step.Function, field, variable)
		}
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	return testenv.Must(os.ReadFile(name))(t)
}

func decode[T any](t *testing.T, raw []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}
