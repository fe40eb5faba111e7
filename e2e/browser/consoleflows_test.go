//go:build browser

package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
)

var example = absolute("../../examples/user-migration")

// TestConsoleMigration: an administrator makes a wave from a CSV, whose errors are shown before anything is
// written, runs it, finds the failed by their error, corrects one of them, retries, and cancels the wave.
func TestConsoleMigration(t *testing.T) {
	t.Parallel()
	i := newInstallation(t, "--seed", filepath.Join(example, "tenant.json"))
	i.startWorker()
	i.run("runbook", "publish", filepath.Join(example, "runbook.yaml"))
	members := string(testenv.Must(os.ReadFile(filepath.Join(example, "members.csv")))(t))
	lines := strings.Split(strings.TrimSpace(members), "\n")
	wrong := strings.Join(append(lines[:3:3], lines[1], lines[2]), "\n") + "\n"

	b := i.browser()
	b.signIn("waves/new", entra.DefaultAdminUPN)
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
	b.await("location.pathname === '/api/console/waves/1'")
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
	b.await(`document.querySelector(".head .status").innerText.trim() === "Active"`)

	b.open("waves/1", "Finance and Legal")
	b.press("Pause…")
	b.fill("Reason", "the change is not approved")
	b.press("Pause the wave")
	b.shows("Paused")
	b.press("Undo")
	b.await(`!document.querySelector(".head").innerText.includes("Paused")`)
	b.shows("corrected member")

	b.press("More actions")
	b.press("Cancel the wave…")
	b.await(find + `("button", "Cancel the wave").ariaDisabled === "true"`)
	b.fill("Type Finance and Legal", "Finance and Legal")
	b.press("Cancel the wave")
	b.await(`document.querySelector(".head").innerText.includes("Cancelled")`)
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
	folder := t.TempDir()
	people, runbook := filepath.Join(folder, "people.csv"), filepath.Join(folder, "gated.yaml")
	var list strings.Builder
	list.WriteString("Mail,Start\n")
	for n := range 3 {
		fmt.Fprintf(&list, "person%d@fabrikam.com,2035-05-05T18:00:00Z\n", n)
	}
	for path, text := range map[string]string{people: list.String(), runbook: gated} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	i := newInstallation(t, "--setting", "PEOPLE="+people)
	i.run("runbook", "publish", "--force", runbook)
	i.run("automation", "enable", "gated")
	i.run("local", "tick")
	i.await("gated", "batch", "list")
	return i
}

// TestConsoleGate: an approver approves a phase from what needs a person, and an administrator moves the start.
func TestConsoleGate(t *testing.T) {
	t.Parallel()
	i := newGated(t)
	b := i.browser()
	b.signIn("waves/1", entra.DefaultApproverUPN)
	b.shows("Needs an approval")
	b.press("Approve…")
	b.fill("Reason", "change 4711 is signed")
	b.press("Approve pre-stage for 3 people")
	b.shows("Approved by " + entra.DefaultApproverUPN)
	b.await(`!document.body.innerText.includes("Needs an approval")`)

	admin := i.browser()
	admin.signIn("waves/1", entra.DefaultAdminUPN)
	admin.press("More actions")
	admin.press("Reschedule…")
	admin.fill("New start", "2035-06-01T18:00")
	admin.shows("Is due")
	admin.press("Move the start for 3 people")
	admin.await(`document.querySelector(".facts").innerText.includes("Jun")`)
}

// TestConsoleRoles: what a role may not do is shown, disabled, with the reason.
func TestConsoleRoles(t *testing.T) {
	t.Parallel()
	i := newGated(t)
	for _, c := range []struct {
		upn                    string
		pause, approve, cancel bool
	}{
		{entra.DefaultReaderUPN, false, false, false},
		{entra.DefaultOperatorUPN, true, false, false},
		{entra.DefaultApproverUPN, false, true, false},
		{entra.DefaultAdminUPN, true, true, true},
	} {
		t.Run(c.upn, func(t *testing.T) {
			b := i.browser()
			b.t = t
			b.signIn("waves/1", c.upn)
			b.shows("Needs an approval")
			b.press("More actions")
			for text, allowed := range map[string]bool{"Pause…": c.pause, "Approve…": c.approve, "Cancel the wave…": c.cancel} {
				element := find + `("button", ` + quoted(text) + `)`
				b.await(element + " !== undefined")
				if got := eval[bool](b, element+`.ariaDisabled !== "true"`); got != allowed {
					t.Errorf("%s: allowed is %v", text, got)
				}
				reason := `(document.getElementById(` + element + `.getAttribute("aria-describedby")) ?? ` + element + `).textContent`
				if !allowed && !strings.Contains(eval[string](b, reason), "app role") {
					t.Errorf("%s is disabled without the reason: %q", text, eval[string](b, reason))
				}
			}
		})
	}
}

// TestConsoleWithoutTheHandler: while the handler is away the page says so and keeps what was typed, and goes on
// when another handler has started.
func TestConsoleWithoutTheHandler(t *testing.T) {
	t.Parallel()
	i := newGated(t)
	b := i.browser()
	b.signIn("waves/1", entra.DefaultAdminUPN)
	b.press("Pause…")
	b.fill("Reason", "typed before the handler was killed")
	b.shows("Way back")
	i.killHandler()
	b.press("Pause the wave")
	b.await(`document.querySelector(".head .status").innerText.includes("Paused") || document.querySelector("dialog[open] [role=alert]") !== null`)
	b.await(`(() => {
		if (document.querySelector(".head .status").innerText.includes("Paused")) return true;
		if (document.querySelector("dialog[open]") && document.querySelector("dialog input").value !== "typed before the handler was killed") throw new Error("lost");
		` + find + `("button", "Pause")?.click();
		return false;
	})()`)
	i.await("typed before the handler was killed", "batch", "audit", "1")
}

// TestConsoleManyMembers: of a wave with many members, the page draws those on the screen, and reads pages on the way down.
func TestConsoleManyMembers(t *testing.T) {
	t.Parallel()
	const members = 2000
	i := newInstallation(t)
	i.run("runbook", "publish", "--force", filepath.Join(example, "runbook.yaml"))
	lines := strings.SplitN(string(testenv.Must(os.ReadFile(filepath.Join(example, "members.csv")))(t)), "\n", 3)
	var csv strings.Builder
	csv.WriteString(lines[0] + "\n")
	for n := range members {
		csv.WriteString(strings.ReplaceAll(lines[1], "ada.lindqvist", fmt.Sprintf("p%05d", n)) + "\n")
	}
	file := filepath.Join(t.TempDir(), "many.csv")
	if err := os.WriteFile(file, []byte(csv.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	i.run("batch", "create", "user-migration", file, "--name", "Many")
	b := i.browser()
	b.signIn("waves/1", entra.DefaultReaderUPN)
	b.shows("p00000@fabrikam.com")
	requests := `performance.getEntriesByType("resource").filter((e) => e.name.includes("/members?")).length`
	if n := eval[int](b, requests); n > 5 {
		t.Errorf("the first view asked %d times for members", n)
	}
	b.await(`(scrollTo(0, document.body.scrollHeight), document.body.innerText.includes("p00600@fabrikam.com"))`)
	if rows := eval[int](b, `document.querySelectorAll("tr[data-row]").length`); rows > 100 {
		t.Errorf("%d rows are drawn", rows)
	}
	b.await(`(scrollTo(0, document.body.scrollHeight), document.body.innerText.includes("p01999@fabrikam.com"))`)
}

// TestConsoleByKeyboard: a person opens a wave with keys alone.
func TestConsoleByKeyboard(t *testing.T) {
	t.Parallel()
	i := newGated(t)
	b := i.browser()
	b.signIn("now", entra.DefaultReaderUPN)
	b.await(`document.querySelector("main h1")?.innerText === "Now"`)
	b.do(chromedp.KeyEvent("g"), chromedp.KeyEvent("w"))
	b.await(`document.querySelector("tr[data-row]") !== null`)
	b.do(chromedp.KeyEvent("j"))
	b.await(`document.activeElement.dataset.row === "0"`)
	b.do(chromedp.KeyEvent("\r"))
	b.await("location.pathname === '/api/console/waves/1'")
	b.do(chromedp.KeyEvent("?"))
	b.shows("Keyboard shortcuts")
	b.do(chromedp.KeyEvent("\x1b"))
	b.await(`document.querySelector("dialog[open]") === null`)
	b.do(chromedp.KeyEvent("/"))
	b.await(`document.activeElement.type === "search"`)
}
