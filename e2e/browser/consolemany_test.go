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

// TestConsoleManyMembers: of a wave of 100,000 people, the page draws those on the screen, and reads the pages that
// are scrolled to.
func TestConsoleManyMembers(t *testing.T) {
	t.Parallel()
	const members = 100_000
	i := newInstallation(t)
	i.run("runbook", "publish", "--force", filepath.Join(example, "runbook.yaml"))
	lines := strings.SplitN(string(testenv.Must(os.ReadFile(filepath.Join(example, "members.csv")))(t)), "\n", 3)
	var csv strings.Builder
	csv.WriteString(lines[0] + "\n")
	for n := range members {
		csv.WriteString(strings.ReplaceAll(lines[1], "ada.lindqvist", fmt.Sprintf("p%06d", n)) + "\n")
	}
	i.run("batch", "create", "user-migration", write(t, "many.csv", csv.String()), "--name", "Many")
	i.await("100000", "batch", "list")

	b := i.signedIn("waves/1", entra.DefaultReaderUPN)
	b.shows("100,000 people")
	b.shows("p000000@fabrikam.com")
	requests := func(most int) {
		t.Helper()
		if n := eval[int](b, `performance.getEntriesByType("resource").filter((e) => e.name.includes("/members?")).length`); n > most {
			t.Errorf("the page asked %d times for members", n)
		}
		if rows := eval[int](b, `document.querySelectorAll("tr[data-row]").length`); rows > 100 {
			t.Errorf("%d rows are drawn", rows)
		}
	}
	for _, person := range []string{"p0003", "p0006", "p0020"} {
		b.await(`(scrollTo(0, document.body.scrollHeight), document.querySelector("tbody").innerText.includes("` + person + `"))`)
	}
	requests(60) // 21 pages, and those on the screen again while they are read; the list has 1,000
	b.await(`(scrollTo(0, 0), document.querySelector("tbody").innerText.includes("p000000"))`)
}
