//go:build browser

package browser

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/local/entra"
)

// createFailed makes wave 1, of which seven people fail: four whose domain is not verified and two whose name is
// taken at the first step, and one whose name is taken at the second.
func (i *installation) createFailed() {
	i.t.Helper()
	i.publish(`name: repairs
data_source: {type: csv, primary_key: Mail}
phases:
  - name: move
    offset: T-0
    steps:
      - {name: create, worker_id: worker-01, function: New-EntraUser, params: {DisplayName: "{{Mail}}", UserPrincipalName: "{{Upn}}"}}
      - {name: mirror, worker_id: worker-01, function: New-EntraUser, params: {DisplayName: "{{Mail}}", UserPrincipalName: "{{Mail}}"}}
  - name: later
    offset: T+1d
    steps:
      - {name: create, worker_id: worker-01, function: New-EntraUser, params: {DisplayName: "{{Mail}}", UserPrincipalName: "{{Mail}}"}}
`)
	i.run("batch", "create", "repairs", write(i.t, "members.csv", `Mail,Upn
p0@fabrikam.com,p0@unverified.example
p1@fabrikam.com,p1@unverified.example
p2@fabrikam.com,p2@unverified.example
p3@fabrikam.com,p3@unverified.example
p4@fabrikam.com,ghana.projects@fabrikam.com
p5@fabrikam.com,ghana.projects@fabrikam.com
ghana.projects@fabrikam.com,p6@fabrikam.com
p7@fabrikam.com,p7.second@fabrikam.com
`), "--name", "Repairs")
	i.run("batch", "advance", "1", "--phase", "move")
	i.run("batch", "watch", "1", "--until-idle")
}

// TestConsoleRepairs: an operator's work on a wave of which people failed in groups: shows the people of an error,
// retries and skips groups, repairs single people in each way, and acts on selected ones.
func TestConsoleRepairs(t *testing.T) {
	t.Parallel()
	i := newInstallation(t, "--seed", filepath.Join(example, "tenant.json"))
	i.startWorker("worker-01")
	i.createFailed()
	b := i.signedIn("waves/1", entra.DefaultAdminUPN)
	in := func(part, button string) string {
		return `[...(` + part + `?.querySelectorAll("button") ?? [])].find((e) => e.innerText.startsWith(` + quoted(button) + `))`
	}
	rows := func(n string) { t.Helper(); b.await(`document.querySelectorAll("tr[data-row]").length === ` + n) }

	// The errors stand in groups, the largest first. Its count leads to its people.
	b.await(`[...document.querySelectorAll(".group .n")].map((e) => e.innerText).join() === "4,2,1"`)
	rows("8")
	b.click(`document.querySelector(".group .n")`)
	rows("4")
	b.await(`new URLSearchParams(location.search).get("error") !== null && !document.querySelector("tbody").innerText.includes("p4@")`)

	// Two are corrected elsewhere; the retry of the group lets them go on.
	for _, member := range []string{"p0", "p1"} {
		i.run("member", "set", "1", member+"@fabrikam.com", "Upn="+member+".right@fabrikam.com", "--reason", "the domain is verified")
	}
	b.click(in(`document.querySelector(".group")`, "Retry 4…"))
	b.shows("continue at create")
	b.confirms("Retry 4 people")
	b.shows("Retrying 4 people.")
	b.await(`[...document.querySelectorAll(".group .n")].map((e) => e.innerText).join() === "2,2,1"`)

	// A skip needs a reason.
	b.click(in(`[...document.querySelectorAll(".group")].find((g) => g.innerText.includes("differs in") && g.innerText.includes("move / create"))`, "Skip…"))
	b.shows("Way back")
	b.await(named("button", "Skip the step for 2 people") + `.ariaDisabled === "true"`)
	b.fill("Reason", "their accounts stay as they are")
	b.confirms("Skip the step for 2 people")
	b.await(`document.querySelectorAll(".group").length === 2`)

	// One person: skip, mark as done with a result, retry from an earlier step.
	b.open("waves/1/people/3", "p2@fabrikam.com")
	b.press("Skip step…")
	b.fill("Reason", "has an account")
	b.confirms("Skip the step for 1 person")
	b.showsIn(".head .status", "Active")
	b.shows("Skipped by " + entra.DefaultAdminUPN)

	b.open("waves/1/people/4", "p3@fabrikam.com")
	b.press("Mark step done…")
	b.fill("Result, as JSON", `{"UserId": `)
	b.shows("This is no JSON.")
	b.fill("Result, as JSON", `{"UserId": "6f1c0f52-0000-4000-8000-000000000001"}`)
	b.fill("Reason", "made by hand")
	b.shows("Way back")
	b.confirms("Mark 1 step done")
	b.showsIn(".head .status", "Active")
	b.shows("Marked done by " + entra.DefaultAdminUPN)
	b.shows("6f1c0f52-0000-4000-8000-000000000001")

	b.open("waves/1/people/7", "ghana.projects@fabrikam.com")
	b.shows("failed at step 2 of 2")
	b.press("Retry…")
	b.shows("continue at mirror")
	b.fill("Begin with", "create")
	b.shows("continue at create")
	b.fill("Reason", "from the beginning")
	b.confirms("Retry 1 person")
	b.shows("from the beginning") // in the activity
	b.shows("failed at step 2 of 2")

	// Selected people.
	b.open("waves/1", "Repairs")
	for _, member := range []string{"p0@fabrikam.com", "p7@fabrikam.com"} {
		b.click(`document.querySelector('[aria-label="Select ` + member + `"]')`)
	}
	b.shows("2 selected")
	b.click(in(`document.querySelector(".selection")`, "Remove…"))
	b.fill("Reason", "they stay where they are")
	b.confirms("Remove 2 people")
	b.hides("main", "2 selected")
	b.press("Removed")
	rows("2")
	b.press("Failed")
	b.click(`document.querySelector('[aria-label="Select ghana.projects@fabrikam.com"]')`)
	b.click(in(`document.querySelector(".selection")`, "Retry…"))
	b.confirms("Retry 1 person")
	b.shows("Retrying 1 person.")

	if out := i.run("batch", "audit", "1"); !strings.Contains(out, "their accounts stay as they are") || !strings.Contains(out, "they stay where they are") {
		t.Errorf("the audit has\n%s", out)
	}
}

// TestConsoleSkipSelected: an operator skips the step of selected people, who failed at different steps, at once.
func TestConsoleSkipSelected(t *testing.T) {
	t.Parallel()
	i := newInstallation(t, "--seed", filepath.Join(example, "tenant.json"))
	i.startWorker("worker-01")
	i.createFailed()
	b := i.signedIn("waves/1?people=failed", entra.DefaultOperatorUPN)
	rows := func(n string) { t.Helper(); b.await(`document.querySelectorAll("tr[data-row]").length === ` + n) }
	rows("7")
	for _, member := range []string{"p4@fabrikam.com", "p5@fabrikam.com", "ghana.projects@fabrikam.com"} {
		b.click(`document.querySelector('[aria-label="Select ` + member + `"]')`)
	}
	b.shows("3 selected")
	b.click(`[...document.querySelectorAll(".selection button")].find((e) => e.innerText === "Skip…")`)
	b.shows("Way back")
	b.await(named("button", "Skip the step for 3 people") + `.ariaDisabled === "true"`) // it needs a reason
	b.fill("Reason", "they keep their accounts")
	b.confirms("Skip the step for 3 people")
	b.shows("Skipping the step of 3 people.")
	b.hides("main", "3 selected")
	rows("4")
	b.await(`[...document.querySelectorAll(".group .n")].map((e) => e.innerText).join() === "4"`)
	if out := i.run("batch", "audit", "1"); !strings.Contains(out, "they keep their accounts") {
		t.Errorf("the audit has\n%s", out)
	}
}

// TestConsoleCheck: an operator checks the people of a wave again after one of them was corrected.
func TestConsoleCheck(t *testing.T) {
	t.Parallel()
	i := newInstallation(t, "--seed", filepath.Join(example, "tenant.json"))
	i.startWorker("worker-01")
	i.publish(`name: checked
data_source: {type: csv, primary_key: Mail}
checks:
  - {name: name-is-available, worker_id: worker-01, function: Test-EntraAddressAvailable, require: true, params: {Address: "{{Upn}}"}}
phases:
  - name: move
    offset: T-0
    steps:
      - {name: create, worker_id: worker-01, function: New-EntraUser, params: {DisplayName: "{{Mail}}", UserPrincipalName: "{{Upn}}"}}
`)
	i.run("batch", "create", "checked", write(t, "members.csv", "Mail,Upn\np0@fabrikam.com,p0@fabrikam.com\np1@fabrikam.com,ghana.projects@fabrikam.com\n"), "--name", "Checked")
	i.await(`"failed": 1`, "batch", "get", "1", "--output", "json")
	i.run("member", "set", "1", "p1@fabrikam.com", "Upn=p1@fabrikam.com", "--reason", "the name is taken")

	b := i.signedIn("waves/1", entra.DefaultOperatorUPN)
	b.menu("Check the people…")
	b.shows("Check 2 people?")
	b.fill("Reason", "one is corrected")
	b.confirms("Check the people")
	b.shows("1 check of 2 people started.")
	b.showsIn("section:has(#audit)", "one is corrected")
	i.await("p1@fabrikam.com,name-is-available,passed", "batch", "checks", "1", "--output", "csv", "--columns", "member,check,status")
}

// TestConsoleWaveDetails: an administrator changes the details of a wave, saves its reports, and pauses and
// resumes it with reasons.
func TestConsoleWaveDetails(t *testing.T) {
	t.Parallel()
	i := newGated(t)
	b := i.signedIn("waves/1", entra.DefaultAdminUPN)
	saved := b.downloads()
	b.shows("Needs an approval")
	b.menu("Change name, owner or note…")
	b.await(named("button", "Change") + `.ariaDisabled === "true"`)
	b.fill("Name", "Finance and Legal")
	b.fill("Owner", "dana@contoso.com")
	b.fill("Note", "Call the help desk before")
	b.confirms("Change")
	b.await(`document.querySelector("main h1").innerText === "Finance and Legal"`)
	b.showsIn(".facts", "dana@contoso.com")
	b.showsIn(".note", "Call the help desk before")

	b.menu("Report as CSV")
	if report := saved("*.csv"); !strings.Contains(report, "person1@fabrikam.com") {
		t.Errorf("the report is %q", report)
	}
	b.menu("Report as a page")
	if report := saved("*.html"); !strings.Contains(report, "<html") || !strings.Contains(report, "person1@fabrikam.com") {
		t.Errorf("the report is %q", report)
	}

	b.press("Pause…")
	b.shows("Way back")
	b.confirms("Pause the wave")
	b.showsIn(".head .status", "Paused")
	b.press("Resume…")
	b.shows("Way back")
	b.fill("Reason", "the change is approved")
	b.confirms("Resume the wave")
	b.hides(".head .status", "Paused")
	b.shows("the change is approved")
}

// TestConsoleMove: an operator moves people to another wave of the runbook, selected ones and a single one.
func TestConsoleMove(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.publish("name: moves\ndata_source: {type: csv, primary_key: Mail}\nphases: [{name: move, offset: T-0, steps: [{name: move, worker_id: worker-01, function: Move-User}]}]\n")
	i.run("batch", "create", "moves", write(t, "members.csv", "Mail\np0@fabrikam.com\np1@fabrikam.com\np2@fabrikam.com\n"), "--name", "First")
	i.run("batch", "create", "moves", write(t, "members.csv", "Mail\np3@fabrikam.com\n"), "--name", "Second")

	b := i.signedIn("waves/1", entra.DefaultOperatorUPN)
	for _, member := range []string{"p0@fabrikam.com", "p1@fabrikam.com"} {
		b.click(`document.querySelector('[aria-label="Select ` + member + `"]')`)
	}
	b.click(`[...document.querySelectorAll(".selection button")].find((e) => e.innerText === "Move…")`)
	b.shows("To the wave")
	b.await(named("button", "Move people") + `.ariaDisabled === "true"`)
	b.await(`[...document.querySelectorAll("dialog option")].some((e) => e.innerText.startsWith("Second"))`)
	b.fill("To the wave", "2")
	b.shows("Way back")
	b.fill("Reason", "they start with their manager")
	b.confirms("Move 2 people")
	b.shows("Moving 2 people.")
	b.press("Removed")
	b.showsIn("tbody", "p0@fabrikam.com")
	b.open("waves/1/people/1", "p0@fabrikam.com")
	b.showsIn(".facts", "Moved to wave 2")

	b.open("waves/1/people/3", "p2@fabrikam.com")
	b.menu("Move to another wave…")
	b.await(`[...document.querySelectorAll("dialog option")].some((e) => e.innerText.startsWith("Second"))`)
	b.fill("To the wave", "2")
	b.fill("Reason", "the last one")
	b.confirms("Move 1 person")
	b.showsIn(".facts", "Moved to wave 2")
	b.open("waves/2", "Second")
	for _, member := range []string{"p0@", "p1@", "p2@", "p3@"} {
		b.showsIn("section:has(#people) tbody", member)
	}
}
