package e2e_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/demo"
	"github.com/matoolkit/matoolkit/local/tenant"
)

// blocking blocks accounts.
const blocking = `
name: blocking
data_source: {type: csv, primary_key: Alias}
phases:
  - name: cut-over
    offset: T-0
    steps:
      - {name: block, worker_id: worker-01, function: Set-EntraUserEnabled, params: {UserId: "{{Id}}", Enabled: false}}
`

// blocked are the tenants of the rehearsal and of the batch: Ben is missing in the copy, Chen in the tenant, and Dee in both.
func blocked(t *testing.T, missing ...string) []byte {
	t.Helper()
	seed := tenant.Seed{VerifiedDomains: []string{"contoso.com"}}
	for _, alias := range []string{"ada", "ben", "chen", "dee", "zoe"} {
		if !slices.Contains(missing, alias) {
			seed.Users = append(seed.Users, tenant.User{"id": idOf(alias), "userPrincipalName": alias + "@contoso.com"})
		}
	}
	return testenv.Must(json.Marshal(seed))(t)
}

func idOf(alias string) string { return uuid.NewSHA1(uuid.NameSpaceOID, []byte(alias)).String() }

func memberList(aliases ...string) []byte {
	list := "Alias,Id\n"
	for _, alias := range aliases {
		list += alias + "," + idOf(alias) + "\n"
	}
	return []byte(list)
}

// A rehearsal is compared with the batch that follows: with the members who fail in one of both only. The differences are
// entries that a later rehearsal lists.
func TestARehearsalIsComparedWithItsBatch(t *testing.T) {
	t.Parallel()
	m := newMachineWith(t, []byte("{}"), environment{worker: map[string]string{"LAG_TIMEOUT_SECONDS": "0"}}, everything)
	if err := demo.Seed(t.Context(), m.endpoints.TenantURL, blocked(t, "chen", "dee")); err != nil {
		t.Fatal(err)
	}
	m.write("runbook.yaml", []byte(blocking))
	m.write("copy.json", blocked(t, "ben", "dee"))
	m.write("rehearsed.csv", memberList("ada", "ben", "chen", "dee", "zoe"))
	m.write("members.csv", memberList("ada", "ben", "chen", "dee", "yan"))
	rehearsal := []string{"rehearse", m.path("runbook.yaml"), "--members", m.path("rehearsed.csv"), "--start", "2026-12-01 18:00", "--target", m.path("copy.json")}
	if out, status := runTool(t, nil, append(rehearsal, "--json", m.path("rehearsal.json"))...); status != exit.Failed {
		t.Fatalf("status %d: %s", status, out)
	}

	a := newAdminOf(m, "blocking", m.path("runbook.yaml"), m.path("members.csv"))
	compare := func(args ...string) (string, int) {
		return runTool(t, a.env, append([]string{"rehearse", m.path("rehearsal.json")}, args...)...)
	}
	if out, status := compare("--compare", a.batch); status != exit.Failed || !strings.Contains(out, "Some phases have not ended in both.") {
		t.Errorf("before the batch has begun: status %d: %s", status, out)
	}
	if err := a.advance(); err != nil {
		t.Fatal(err)
	}
	if err := a.await("cut-over", ended); err != nil {
		t.Fatal(err)
	}
	var entries [2]string
	for i := range entries { // the second time changes nothing
		out, status := compare("--compare", a.batch, "--entries", m.path("observed.json"), "--json", m.path("comparison.json"))
		if status != exit.Failed {
			t.Errorf("status %d: %s", status, out)
		}
		entries[i] = string(testenv.Must(os.ReadFile(m.path("observed.json")))(t))
	}
	if entries[0] != entries[1] || strings.Count(entries[0], `"behaviour"`) != 1 {
		t.Errorf("entries:\n%s\nand again:\n%s", entries[0], entries[1])
	}
	checkComparison(t, testenv.Must(os.ReadFile(m.path("comparison.json")))(t))

	out, _ := runTool(t, nil, append(rehearsal, "--not-modelled", m.path("observed.json"))...)
	if !strings.Contains(out, "Not modelled: Step block of blocking (cut-over) failed for other members than on the copies: ") || !strings.Contains(out, "(batch "+a.batch+", 1 member in the batch only, 1 on the copies only)") {
		t.Errorf("the entries are not listed: %s", out)
	}

	if out, status := compare("--compare", "4711"); status != exit.NotFound {
		t.Errorf("an unknown batch: status %d: %s", status, out)
	}
	var other api.Batch
	m.write("other.yaml", []byte(strings.Replace(blocking, "name: blocking", "name: other", 1)))
	a.must("runbook", "publish", m.path("other.yaml"), "--force")
	a.ask(&other, "batch", "create", "other", m.path("members.csv"), "--allow-in-other-batches")
	if out, status := compare("--compare", "2"); status != exit.Refused || !strings.Contains(out, "batch 2 is of the runbook other, and the report is of blocking") {
		t.Errorf("another runbook: status %d: %s", status, out)
	}
	m.write("next.yaml", []byte(strings.Replace(blocking, "false", "true", 1)))
	a.must("runbook", "publish", m.path("next.yaml"), "--force")
	a.ask(&other, "batch", "create", "blocking", m.path("members.csv"), "--allow-in-other-batches")
	if out, status := compare("--compare", "3"); status != exit.Refused || !strings.Contains(out, "the report is of another text of blocking than version 2") {
		t.Errorf("another version: status %d: %s", status, out)
	}
}

// checkComparison checks who failed where, and in which of both.
func checkComparison(t *testing.T, text []byte) {
	t.Helper()
	var c struct {
		MemberCount                int
		OnlyRehearsed, OnlyInBatch []string
		AsPredicted                bool
		Phases                     []struct {
			Phase             string
			SecondsDifference *float64
			Differs           bool
		}
		Errors []struct {
			Step                      string
			Predicted                 int
			OnlyPredicted, OnlyActual []string
		}
	}
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	if c.MemberCount != 4 || !slices.Equal(c.OnlyRehearsed, []string{"zoe"}) || !slices.Equal(c.OnlyInBatch, []string{"yan"}) || c.AsPredicted {
		t.Errorf("%s", text)
	}
	var both, predicted, actual []string
	for _, e := range c.Errors {
		if e.Predicted > len(e.OnlyPredicted) {
			both = append(both, e.Step)
		}
		predicted, actual = append(predicted, e.OnlyPredicted...), append(actual, e.OnlyActual...)
	}
	if !slices.Equal(both, []string{"block"}) || !slices.Equal(predicted, []string{"ben"}) || !slices.Equal(actual, []string{"chen"}) {
		t.Errorf("failed as predicted in %v, only predicted %v, only in the batch %v", both, predicted, actual)
	}
	if len(c.Phases) == 0 || c.Phases[0].Phase != "cut-over" || c.Phases[0].SecondsDifference == nil || c.Phases[0].Differs {
		t.Errorf("phases: %s", text)
	}
}

// runTool runs matoolkit, and returns what it prints and its exit status.
func runTool(t *testing.T, env map[string]string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program("matoolkit"), args...)
	cmd.Env = os.Environ()
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}
