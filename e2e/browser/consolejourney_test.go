//go:build browser

package browser

import (
	"testing"

	"github.com/matoolkit/matoolkit/local/entra"
)

// TestConsoleJourney: what a step asks for stands beside what it gets while it polls; when it has failed, its
// rollback is part of the journey. Secrets are not shown, and a person is found by any column.
func TestConsoleJourney(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.startWorker("worker-01")
	i.publish(`name: journey
data_source: {type: csv, primary_key: Mail}
secret: [FirstPassword]
phases:
  - name: move
    offset: T-0
    steps:
      - name: create
        worker_id: worker-01
        function: New-EntraUser
        params: {DisplayName: "{{Mail}}", UserPrincipalName: "{{Mail}}", Department: "{{Department}}", Password: "{{FirstPassword}}"}
        output_params: {UserId: UserId}
      - name: check-department
        worker_id: worker-01
        function: Test-EntraAttributeMatch
        params: {UserId: "{{UserId}}", AttributeName: department, ExpectedValue: Sales}
        poll: {interval: 2s, timeout: 20s}
        on_failure: undo
rollbacks:
  undo:
    - {name: remove, worker_id: worker-01, function: Remove-EntraUser, params: {UserId: "{{UserId}}"}}
`)
	const password = "Zt7-quiet-river"
	i.run("batch", "create", "journey", write(t, "members.csv", "Mail,Department,FirstPassword\nada@fabrikam.onmicrosoft.com,Legal,"+password+"\n"), "--name", "Finance")
	i.run("batch", "advance", "1", "--phase", "move")

	b := i.signedIn("waves/1/people/1", entra.DefaultReaderUPN)
	b.showsIn("table.answer", "Sales") // expected
	b.showsIn("table.answer", "Legal") // actual
	b.showsIn("table.answer", "not yet")
	b.showsIn(".head .status", "Active")
	b.press("Open all steps")
	b.showsIn("#create pre.well", "secret, not shown")
	b.showsIn("dl.columns", "secret, not shown")

	b.showsIn(".head", "Rolled back")
	b.showsIn("table.answer", "not as expected")
	b.shows("undo / remove")
	b.shows("failed at step 2 of 2")
	if eval[bool](b, "document.documentElement.outerHTML.includes("+quoted(password)+")") {
		t.Error("the page has the secret")
	}

	b.open("people?q=legal", "People")
	b.showsIn("tbody", "ada@fabrikam.onmicrosoft.com")
	b.showsIn("tbody", "Department")
	b.press("ada@fabrikam")
	b.arrives("waves/1/people/1")
}

// TestConsoleWaves: the address keeps what the list of waves is filtered and sorted by, and a step back leads to it.
func TestConsoleWaves(t *testing.T) {
	t.Parallel()
	i := newGated(t)
	i.publish("name: other\ndata_source: {type: csv, primary_key: Mail}\nphases: [{name: move, offset: T-0, steps: [{name: move, worker_id: worker-01, function: Move-User}]}]\n")
	i.run("batch", "create", "other", write(t, "members.csv", "Mail\nada@fabrikam.com\n"), "--name", "Finance", "--owner", "dana@contoso.com")
	i.run("batch", "cancel", "2", "--yes", "--reason", "a test")
	b := i.signedIn("waves", entra.DefaultReaderUPN)
	b.showsIn("tbody", "Finance")
	b.showsIn("tbody", "gated")
	b.press("Not started")
	b.await(`location.search === "?show=waiting"`)
	b.shows("No wave fits this filter.")
	b.press("Running")
	b.showsIn("tbody", "gated")
	b.hides("tbody", "Finance")
	b.press("Ended")
	b.showsIn("tbody", "Finance")
	b.hides("tbody", "gated")
	b.press("dana@contoso.com")
	b.await(`location.search === "?owner=dana%40contoso.com"`)
	b.fillFilter("Runbook begins with", "gat")
	b.shows("No wave fits this filter.")
	b.press("Owner dana@contoso.com")
	b.showsIn("tbody", "gated")
	b.press("Start")
	b.await(`new URLSearchParams(location.search).get("sort") === "batchStartTime"`)
	b.press("gated")
	b.arrives("waves/1")
	b.keys("g", "w")
	b.arrives("waves")
}
