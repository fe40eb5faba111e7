//go:build browser

package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
)

// TestConsoleMigration: an administrator makes a wave from a CSV, whose errors are shown before anything is
// written, runs it, finds the failed by their error, corrects one of them, retries, and cancels the wave.
func TestConsoleMigration(t *testing.T) {
	t.Parallel()
	i := newInstallation(t, "--seed", filepath.Join(example, "tenant.json"))
	i.startWorker("worker-01")
	i.run("runbook", "publish", filepath.Join(example, "runbook.yaml"))
	members := string(testenv.Must(os.ReadFile(filepath.Join(example, "members.csv")))(t))
	lines := strings.Split(strings.TrimSpace(members), "\n")
	wrong := strings.Join(append(lines[:3:3], lines[1], lines[2]), "\n") + "\n"

	b := i.signedIn("waves/new", entra.DefaultAdminUPN)
	b.fill("Name", "Finance and Legal")
	b.drop(".drop", "people.csv", wrong)
	b.shows("Problems")
	b.await(`document.querySelectorAll("table.problems tbody tr").length >= 2`)
	if out := i.run("batch", "list"); strings.Contains(out, "Finance") {
		t.Errorf("a wave was made of a file with errors:\n%s", out)
	}
	b.drop(".drop", "people.csv", members)
	b.shows("25 people in user-migration version 1")
	b.press("Create a wave of 25 people")
	b.arrives("waves/1")
	b.shows("Finance and Legal")

	for _, phase := range []string{"init", "pre-stage"} {
		b.press("Start " + phase + "…")
		b.shows("Way back")
		b.press("Start " + phase + " for")
	}
	// One person cannot be made: another account has the name.
	b.shows("is already being used by another object")
	b.press("Retry 1…")
	b.shows("continue at create-mail-user")
	b.press("Not now")
	b.press("Open one")
	b.shows("daniel.garcia@fabrikam.com")
	b.press("Correct…")
	b.fill("Alias", "daniel.garcia2")
	b.fill("Reason", "the alias belongs to a colleague")
	b.shows("Starts again at create-mail-user")
	b.press("Correct and retry")
	b.showsIn(".head .status", "Active")

	b.open("waves/1", "Finance and Legal")
	b.press("Pause…")
	b.fill("Reason", "the change is not approved")
	b.press("Pause the wave")
	b.shows("Paused")
	b.press("Undo")
	b.hides(".head", "Paused")
	b.shows("corrected member")

	b.menu("Cancel the wave…")
	b.await(named("button", "Cancel the wave") + `.ariaDisabled === "true"`)
	b.fill("Type Finance and Legal", "Finance and Legal")
	b.press("Cancel the wave")
	b.showsIn(".head", "Cancelled")
}

// gated is a runbook whose waves come from a list, with a gate.
const gated = `name: gated
data_source:
  type: csv
  connection: PEOPLE
  primary_key: Mail
  batch_time_column: Start
  time_zone: UTC
phases:
  - name: pre-stage
    offset: T-5d
    approval: required
    steps:
      - {name: create, worker_id: worker-01, function: New-EntraUser, params: {DisplayName: "{{Mail}}", UserPrincipalName: "{{Mail}}"}}
  - name: cut-over
    offset: T-0
    steps:
      - {name: create, worker_id: worker-01, function: New-EntraUser, params: {DisplayName: "{{Mail}}", UserPrincipalName: "{{Mail}}"}}
`

// newGated has a wave of three people from a list, whose first phase waits at a gate.
func newGated(t *testing.T) *installation {
	t.Helper()
	i := newInstallation(t, "--setting", "PEOPLE="+peopleStarting(t, "2035-05-05T18:00:00Z", "2035-05-05T18:00:00Z", "2035-05-05T18:00:00Z"))
	i.enableGated()
	return i
}

// peopleStarting is a file with a person for each start.
func peopleStarting(t *testing.T, starts ...string) string {
	t.Helper()
	list := "Mail,Start,Department\n"
	for n, start := range starts {
		list += fmt.Sprintf("person%d@fabrikam.com,%s,Sales\n", n, start)
	}
	return write(t, "people.csv", list)
}

// enableGated makes the waves of the gated runbook from its list.
func (i *installation) enableGated() {
	i.t.Helper()
	i.publish(gated)
	i.run("automation", "enable", "gated")
	i.run("local", "tick")
	i.await("gated", "batch", "list")
}

// TestConsoleGate: an approver approves a phase from what needs a person, and an administrator moves the start.
func TestConsoleGate(t *testing.T) {
	t.Parallel()
	i := newGated(t)
	b := i.signedIn("waves/1", entra.DefaultApproverUPN)
	b.shows("Needs an approval")
	b.press("Approve…")
	b.fill("Reason", "change 4711 is signed")
	b.press("Approve pre-stage for 3 people")
	b.shows("Approved by " + entra.DefaultApproverUPN)
	b.hides("body", "Needs an approval")

	admin := i.signedIn("waves/1", entra.DefaultAdminUPN)
	admin.menu("Reschedule…")
	admin.fill("New start", "2035-06-01T18:00")
	admin.shows("Is due")
	admin.press("Move the start for 3 people")
	admin.showsIn(".facts", "Jun")
	admin.showsIn(".facts", "2035") // a day of another year has its year
}
