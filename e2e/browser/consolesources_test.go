//go:build browser

package browser

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the data source

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
)

// TestConsoleSource: an administrator previews a source with bad rows, turns its automation on, keeps the people
// whose removal is held the first time, and removes them the second time.
func TestConsoleSource(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "people.db")
	people := testenv.Must(sql.Open("sqlite", file))(t)
	t.Cleanup(func() { _ = people.Close() })
	do := func(statement string, values ...any) {
		t.Helper()
		if _, err := people.ExecContext(t.Context(), statement, values...); err != nil {
			t.Fatal(err)
		}
	}
	do("create table people (UserId text, Name text, Start text)")
	start := time.Now().Add(48 * time.Hour).UTC().Truncate(time.Hour).Format(time.RFC3339)
	for n := range 20 {
		do("insert into people values (?, ?, ?)", fmt.Sprintf("u%d", n), fmt.Sprintf("Person %d", n), start)
	}
	do("insert into people values ('late', 'Person without a start', 'next week')")

	i := newInstallation(t, "--setting", "PEOPLE=sqlite:"+file)
	i.publish(`name: waves
data_source: {type: sql, connection: PEOPLE, query: "select UserId, Name, Start from people", primary_key: UserId, batch_time_column: Start, removal_guard: 10%}
display: Name
phases:
  - name: move
    offset: T-0
    steps:
      - {name: move, worker_id: worker-01, function: Move-User, params: {Name: "{{Name}}"}}
`)

	b := i.signedIn("sources", entra.DefaultAdminUPN)
	b.press("waves")
	b.press("Preview the next sync")
	b.shows("Read 21 rows")
	b.shows("Person without a start")
	b.shows(`"next week" is not a time`)

	b.press("Turn automation on…")
	b.shows("of 21 rows are added at the next tick")
	b.press("Turn on for 20 people")
	b.shows("Turned automation of waves on")
	i.run("local", "tick")
	b.shows("of 21 rows in the last sync")
	b.showsIn("section:has(#problems)", "bad-time")

	hold := func() {
		t.Helper()
		do("delete from people where UserId in ('u3', 'u4', 'u5')")
		i.run("local", "tick")
		b.shows("3 people of 20 are gone from the list")
		b.shows("Person 4") // the only hold shows its names
	}
	hold()
	b.press("Discard: keep 3 people…")
	b.shows("Way back")
	b.fill("Reason", "they are on leave")
	b.press("Keep 3 people")
	b.shows("Kept 3 people in")
	if out := i.run("batch", "members", "1", "--status", "active"); strings.Count(out, " active ") != 20 {
		t.Errorf("after the discard the wave has\n%s", out)
	}

	for n := 3; n <= 5; n++ { // listed again, so that their removal is held again
		do("insert into people values (?, ?, ?)", fmt.Sprintf("u%d", n), fmt.Sprintf("Person %d", n), start)
	}
	i.run("local", "tick")
	hold()
	b.press("Remove 3 people…")
	b.shows("Way back")
	b.press("Remove 3 people")
	b.shows("Confirmed the removal of 3 people")
	i.await("Person 4 removed", "batch", "members", "1", "--status", "removed")

	b.press("Turn automation off…")
	b.press("Turn off")
	b.shows("Turned automation of waves off")
	if out := i.run("automation", "status", "waves"); !strings.Contains(out, "off") {
		t.Errorf("%s", out)
	}
}

// TestConsoleHeldAdditions: an approver is led to additions that wait, sees their names, and adds them.
func TestConsoleHeldAdditions(t *testing.T) {
	t.Parallel()
	start := time.Now().Add(48 * time.Hour).UTC().Truncate(time.Hour).Format(time.RFC3339)
	file := peopleStarting(t, start)
	i := newInstallation(t, "--setting", "PEOPLE="+file)
	i.publish(`name: waves
data_source: {type: csv, connection: PEOPLE, primary_key: Mail, batch_time_column: Start, addition_guard: {share: 1%, number: 1}}
phases:
  - name: move
    offset: T-0
    steps:
      - {name: move, worker_id: worker-01, function: Move-User, params: {Name: "{{Mail}}"}}
`)
	i.run("automation", "enable", "waves")
	i.run("local", "tick")
	i.await("waves", "batch", "list")
	more := testenv.Must(os.ReadFile(peopleStarting(t, start, start, start, start, start)))(t)
	if err := os.WriteFile(file, more, 0o600); err != nil {
		t.Fatal(err)
	}
	i.run("local", "tick")

	b := i.signedIn("now", entra.DefaultApproverUPN)
	b.shows("additions of waves need confirmation")
	b.press("Review 4 names")
	b.arrives("sources/waves")
	b.shows("4 people would be added")
	b.showsIn(".hold", "person4@fabrikam.com") // the names are open
	b.press("Add 4 people…")
	b.shows("join at the next tick")
	b.fill("Reason", "they are hired")
	b.confirms("Add 4 people")
	b.shows("Confirmed the addition of 4 people")
	b.showsIn(".hold", "Confirmed by "+entra.DefaultApproverUPN)
	i.run("local", "tick")
	b.await(`document.querySelector(".hold") === null`)
	has := func(members int) {
		t.Helper()
		if out := i.run("batch", "members", "1", "--status", "active"); strings.Count(out, "@fabrikam.com") != members {
			t.Errorf("the wave has\n%s", out)
		}
	}
	has(5)

	// Two more are kept out, and added after all.
	more = testenv.Must(os.ReadFile(peopleStarting(t, start, start, start, start, start, start, start)))(t)
	if err := os.WriteFile(file, more, 0o600); err != nil {
		t.Fatal(err)
	}
	i.run("local", "tick")
	b.press("Discard: keep 2 people out…")
	b.shows("Way back")
	b.fill("Reason", "they belong to another company")
	b.confirms("Keep 2 people out")
	b.shows("2 people whom the source lists are kept out of the waves")
	b.shows("they belong to another company")
	i.run("local", "tick")
	has(5)
	b.press("Add them after all…")
	b.shows("Way back")
	b.confirms("Add 2 people")
	i.run("local", "tick")
	b.hides("main", "kept out of the waves")
	has(7)
}
