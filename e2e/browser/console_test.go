//go:build browser

package browser

import (
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
)

// TestConsole: a reader signs in at the address of a view, and sees the waves, one of them, and a person found by a column.
func TestConsole(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.run("runbook", "publish", "--force", filepath.Join(example, "runbook.yaml")) // no worker runs
	i.run("batch", "create", "user-migration", filepath.Join(example, "members.csv"), "--name", "Finance and Legal")

	b := i.signedIn("waves/1", entra.DefaultReaderUPN)
	// The sign-in comes back to the address that it began at.
	b.shows("Finance and Legal")
	b.shows("pre-stage")
	b.shows("ada.lindqvist@fabrikam.com")
	b.open("waves", "Waves")
	b.shows("user-migration")
	b.open("people?q=lindqvist", "People")
	b.await(`document.querySelector("main table a") !== null`)
	b.do(chromedp.Click(chromedp.CSS("main table a")))
	b.arrives("waves/1/people/1")
	b.shows("No phase has started for this person.")

	// What changes elsewhere is shown without a reload.
	b.open("waves/1", "Finance and Legal")
	i.run("batch", "pause", "1", "--reason", "the change is not approved")
	b.shows("Paused")
}

// TestConsolePolicy: nothing of the page is blocked by its Content-Security-Policy, and no request leaves this machine.
func TestConsolePolicy(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	b := i.signedIn("waves", entra.DefaultReaderUPN)
	b.do(chromedp.Evaluate[chromedp.Void]("void (window.blocked = [], document.addEventListener('securitypolicyviolation', (e) => window.blocked.push(e.violatedDirective + ' ' + e.blockedURI)))"))
	b.do(chromedp.Click(chromedp.CSS(`nav a[href="/api/console/people"]`)))
	b.await("document.querySelector('main h1')?.innerText === 'People'")
	blocked := testenv.Must(chromedp.Run(b.chrome, chromedp.Evaluate[[]string]("window.blocked")))(t)
	if len(blocked) > 0 {
		t.Errorf("blocked: %q", blocked)
	}
	hosts := testenv.Must(chromedp.Run(b.chrome, chromedp.Evaluate[[]string]("[...new Set(performance.getEntriesByType('resource').map((e) => new URL(e.name).hostname))]")))(t)
	for _, host := range hosts {
		if host != "127.0.0.1" {
			t.Errorf("a request to %s", host)
		}
	}
}
