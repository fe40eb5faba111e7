//go:build browser

package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/local/entra"
)

// sourced is a runbook whose people come from the list of a setting.
func sourced(name, setting, more string) string {
	return fmt.Sprintf(`name: %s
data_source: {type: csv, connection: %s, primary_key: Mail, batch_time_column: Start, %s}
phases:
  - name: move
    offset: T-0
    steps:
      - {name: move, worker_id: exo-01, function: Move-User, params: {Name: "{{Mail}}"}}
`, name, setting, more)
}

// TestConsoleTiles: each kind of thing that needs a person has a tile in Now, and its button opens what the tile
// is about: the list with its filter, the names of a hold, the worker, the gate.
func TestConsoleTiles(t *testing.T) {
	t.Parallel()
	soon := time.Now().Add(48 * time.Hour).UTC().Truncate(time.Hour).Format(time.RFC3339)
	people := func(list string, n int) string { // each list has its own people: a person is in one wave
		t.Helper()
		rows := "Mail,Start\n"
		for at := range n {
			rows += fmt.Sprintf("%s%d@fabrikam.com,%s\n", strings.ToLower(list), at, soon)
		}
		return rows
	}
	lists := map[string]string{}
	for list, n := range map[string]int{"PEOPLE": 3, "LEAVERS": 20, "JOINERS": 1, "BROKEN": 1} {
		lists[list] = write(t, "people.csv", people(list, n))
	}
	options := []string{"--seed", filepath.Join(example, "tenant.json"), "--worker-id", "worker-01,exo-01"}
	for name, file := range lists {
		options = append(options, "--setting", name+"="+file)
	}
	i := newInstallation(t, options...)
	i.startWorker("worker-01")
	i.createFailed() // wave 1
	i.enableGated()  // wave 2, whose gate is due
	exo := i.startWorker("exo-01")
	_ = exo.Process.Kill()
	_ = exo.Wait()
	i.publish(`name: silence
data_source: {type: csv, primary_key: UserId}
phases:
  - name: move
    offset: T-0
    steps:
      - {name: move, worker_id: exo-01, function: Set-EntraUserEnabled, params: {UserId: "{{UserId}}", Enabled: true}, timeout: 2h}
`)
	i.run("batch", "create", "silence", write(t, "members.csv", "UserId\n7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b01\n")) // wave 3
	for _, r := range []struct{ name, setting, more string }{
		{"leavers", "LEAVERS", "removal_guard: 10%, addition_guard: {share: 100%, number: 100}"}, {"joiners", "JOINERS", "addition_guard: {share: 1%, number: 1}"}, {"broken", "BROKEN", "time_zone: UTC"},
	} {
		i.publish(sourced(r.name, r.setting, r.more))
		i.run("automation", "enable", r.name)
	}
	i.run("local", "tick")
	i.await("broken", "batch", "list")
	change := func(list string, n int) {
		t.Helper()
		if err := os.WriteFile(lists[list], []byte(people(list, n)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	change("LEAVERS", 17)
	change("JOINERS", 5)
	if err := os.Remove(lists["BROKEN"]); err != nil {
		t.Fatal(err)
	}
	i.sendUnprocessable()
	i.run("batch", "advance", "3", "--phase", "move")
	i.run("local", "clock", "--advance", "3m")
	i.run("local", "tick")

	b := i.signedIn("now", entra.DefaultAdminUPN)
	pressed := `[...document.querySelectorAll("[aria-pressed=true]")].map((e) => e.innerText.replace(/\s+/g, " ").trim())`
	for _, tile := range []struct{ says, button, query, selector, shows, then string }{
		{"7 people failed in move of Repairs", "Review 7 failures", "waves/1?people=failed", "section:has(#people) tbody", "p0@fabrikam.com", pressed + `.includes("Failed 7") && document.querySelectorAll("tr[data-row]").length === 7`},
		{"waits for approval of pre-stage", "Review and approve", "waves/2", "ol.track", "Needs an approval", named("button", "Approve…") + ` !== undefined`},
		{"3 removals", "Review 3 names", "sources/leavers?hold=", ".hold table", "leavers18@fabrikam.com", `document.querySelectorAll(".hold tbody tr").length === 3`},
		{"4 additions of joiners", "Review 4 names", "sources/joiners?hold=additions", ".hold table", "joiners4@fabrikam.com", `document.querySelectorAll(".hold tbody tr").length === 4`},
		{"The source of broken cannot be read", "Open source", "sources/broken", ".notice.fail", "The source cannot be read", "true"},
		{"Worker exo-01 is silent", "Open worker", "workers/exo-01", ".side-panel", "exo-01", `document.querySelector("tbody a[aria-current=true]").innerText === "exo-01"`},
		{"phase-due", "Open messages", "activity?tab=messages", "tbody", "phase-due", pressed + `.some((e) => e.startsWith("Unprocessable messages")) && ` + pressed + `.includes("Open")`},
	} {
		b.open("now", "Now")
		b.shows(tile.says)
		b.click(`[...document.querySelectorAll(".tile")].find((e) => e.innerText.includes(` + quoted(tile.says) + `))?.querySelector("a.button")`)
		b.await(`(location.pathname + location.search).startsWith(` + quoted("/api/console/"+tile.query) + `)`)
		b.showsIn(tile.selector, tile.shows)
		b.await(tile.then)
	}
	b.open("now", "Now")
	b.await(`document.querySelectorAll(".tile").length >= 7`)
}
