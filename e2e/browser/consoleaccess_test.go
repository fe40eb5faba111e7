//go:build browser

package browser

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
)

var screenshots = flag.String("screenshots", "", "write a screenshot of each view to this `folder`, as make console-screenshots does")

// places are the addresses of all views, with a text that shows that they are drawn.
var places = []struct{ name, address, text string }{
	{"now", "now", "Next seven days"},
	{"waves", "waves", "Finance and Legal"},
	{"new-wave", "waves/new", "Drop a CSV"},
	{"wave", "waves/1", "Pace and time left"},
	{"person", "waves/1/people/9", "already being used"},
	{"people", "people?q=garcia", "daniel.garcia@fabrikam.com"},
	{"runbooks", "runbooks", "user-migration"},
	{"runbook", "runbooks/user-migration", "user-migration"},
	{"sources", "sources", "gated"},
	{"source", "sources/gated", "gated"},
	{"workers", "workers", "worker-01"},
	{"activity", "activity", "Activity"},
	{"notifications", "notifications", "Notifications"},
}

// newShowcase has something in each view: a wave of which a person failed, and waves of the next days with gates.
func newShowcase(t *testing.T) *installation {
	t.Helper()
	starts := make([]string, 9)
	for n := range starts {
		starts[n] = time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 2+n/3).Add(21 * time.Hour).Format(time.RFC3339)
	}
	i := newInstallation(t, "--seed", filepath.Join(example, "tenant.json"), "--setting", "PEOPLE="+peopleStarting(t, starts...))
	i.startWorker("worker-01")
	i.run("runbook", "publish", filepath.Join(example, "runbook.yaml"))
	i.run("batch", "create", "user-migration", filepath.Join(example, "members.csv"), "--name", "Finance and Legal")
	for _, phase := range []string{"init", "pre-stage", "verify"} {
		i.run("batch", "advance", "1", "--phase", phase)
		i.run("batch", "watch", "1", "--until-idle")
	}
	i.enableGated()
	return i
}

// theme shows the page in light or dark colours.
func (b *browser) theme(name string) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"}},
		})
		return err
	}))
}

// picture writes a picture of the screen to a file.
func (b *browser) picture(file string) {
	b.t.Helper()
	quality := int64(70)
	var data []byte
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		shot, err := cdp.Call(ctx, t, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatWebp, Quality: &quality})
		data = shot.Data
		return err
	}))
	if err := os.WriteFile(file, data, 0o644); err != nil { //nolint:gosec // a picture for everybody
		b.t.Fatal(err)
	}
}

// keep keeps a picture of a view with -screenshots. There is none of the narrow one in the dark.
func (b *browser) keep(name, theme string, width int64) {
	b.t.Helper()
	if *screenshots != "" && (width == 1280 || theme == "light") {
		b.picture(filepath.Join(*screenshots, fmt.Sprintf("%s-%s.webp", name, map[int64]string{1280: theme, 390: "narrow"}[width])))
	}
}

// readAxe reads the program that finds what hinders people.
func readAxe(t *testing.T) string {
	t.Helper()
	return string(testenv.Must(os.ReadFile("node_modules/axe-core/axe.min.js"))(t))
}

// wantAccessible checks that axe finds no violation of WCAG 2.2 AA on the page, and that it is not wider than the screen.
func (b *browser) wantAccessible(axe, page string) {
	b.t.Helper()
	b.await(`document.querySelector("[aria-busy=true]") === null`)
	b.do(chromedp.Evaluate[chromedp.Void](axe + "; void (window.found = undefined)"))
	b.do(chromedp.Evaluate[chromedp.Void](`void axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }).then((r) => { window.found = r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.target.join(" ") + ": " + n.failureSummary)); })`))
	b.await("window.found !== undefined")
	for _, found := range eval[[]string](b, "window.found") {
		b.t.Errorf("%s: %s", page, found)
	}
	if wide := eval[int](b, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
		b.t.Errorf("%s is %d px wider than the screen", page, wide)
	}
}

// TestConsoleAccessible: axe finds no violation of WCAG 2.2 AA in any view, in both themes and both widths, and
// no view is wider than the screen. With -screenshots it keeps a picture of each.
func TestConsoleAccessible(t *testing.T) {
	t.Parallel()
	axe := readAxe(t)
	i := newShowcase(t)
	b := i.signedIn("now", entra.DefaultAdminUPN)
	for _, theme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 390} {
			b.theme(theme)
			b.do(chromedp.EmulateViewport(width, 900))
			for _, p := range places {
				b.do(chromedp.Navigate(b.base + p.address))
				b.shows(p.text)
				b.wantAccessible(axe, fmt.Sprintf("%s in %s at %d px", p.name, theme, width))
				b.keep(p.name, theme, width)
			}
		}
	}
}

// opensFilters opens the sheet that has the filters of a list on a narrow screen, and says how many are in use.
// On a wide one they are beside the list.
func (b *browser) opensFilters(active string) {
	b.t.Helper()
	if eval[int](b, "innerWidth") > 700 {
		b.await(`document.querySelector(".filters .tabs, .filters select") !== null`)
		return
	}
	b.await(`document.querySelector(".filters .tabs, .filters select") === null && (document.querySelector(".filters .count")?.firstChild.textContent ?? "") === ` + quoted(active))
	b.press("Filters")
	b.await(`document.querySelector("dialog.sheet[open]")?.getBoundingClientRect().bottom === innerHeight`)
}

// TestConsoleFilterSheet: on a narrow screen the filters are in a sheet. Text typed there filters the list, also
// if the sheet is closed at once.
func TestConsoleFilterSheet(t *testing.T) {
	t.Parallel()
	i := newGated(t)
	i.publish("name: other\ndata_source: {type: csv, primary_key: Mail}\nphases: [{name: move, offset: T-0, steps: [{name: move, worker_id: worker-01, function: Move-User}]}]\n")
	i.run("batch", "create", "other", write(t, "members.csv", "Mail\np0@fabrikam.com\n"), "--name", "Second")
	b := i.signedIn("waves", entra.DefaultReaderUPN)
	b.do(chromedp.EmulateViewport(390, 900))
	rows := func(n string) { t.Helper(); b.await(`document.querySelectorAll("tr[data-row]").length === ` + n) }
	rows("2")
	b.opensFilters("")
	b.await(`(document.querySelector("dialog input[type=search]").focus(), true)`)
	b.keys("g", "a", "t", "\r")
	b.press("Show the list")
	b.await(`document.querySelector("dialog[open]") === null`)
	b.await(`new URLSearchParams(location.search).get("q") === "gat"`)
	rows("1")
	b.opensFilters("1")
	b.press("Ended")
	b.keys("\x1b") // Esc
	b.shows("No wave fits this filter.")
	b.opensFilters("2")
}

// states are parts of views that are seen after some steps.
var states = []struct {
	name, address string
	reach         func(b *browser)
}{
	{"the menu of the account", "now", func(b *browser) { b.click(`document.querySelector(".menu > button")`) }},
	{"the list of keys", "now", func(b *browser) { b.keys("?"); b.shows("Keyboard shortcuts") }},
	{"a CSV with problems", "waves/new?runbook=user-migration", func(b *browser) {
		b.drop(".drop", "people.csv", "UserPrincipalName\nada@fabrikam.com\nada@fabrikam.com\n")
		b.shows("Problems")
	}},
	{"the menu of a wave", "waves/1", func(b *browser) { b.press("More actions") }},
	{"selected people", "waves/1", func(b *browser) {
		b.click(`document.querySelector('[aria-label="Select the rows that are loaded"]')`)
		b.shows("25 selected")
	}},
	{"the people of an error", "waves/1", func(b *browser) { b.click(`document.querySelector(".group .n")`) }},
	{"the dialog of a pause", "waves/1", func(b *browser) { b.press("Pause…"); b.shows("Way back") }},
	{"the dialog of a cancellation", "waves/1", func(b *browser) { b.menu("Cancel the wave…"); b.shows("Way back") }},
	{"the dialog of a retry", "waves/1", func(b *browser) { b.press("Retry all 1…"); b.shows("Way back") }},
	{"the details of a wave", "waves/1", func(b *browser) { b.menu("Change name, owner or note…") }},
	{"the dialog of a new start", "waves/2", func(b *browser) { b.menu("Reschedule…") }},
	{"the correction of a person", "waves/1/people/9", func(b *browser) { b.press("Correct…"); b.fill("Alias", "another") }},
	{"a step that is marked as done", "waves/1/people/9", func(b *browser) { b.press("Mark step done…"); b.shows("the result lacks Id") }},
	{"all steps of a person", "waves/1/people/9", func(b *browser) { b.press("Open all steps") }},
	{"the move of a person", "waves/2/people/1", func(b *browser) { b.menu("Move to another wave…") }},
	{"a draft and its publication", "runbooks/user-migration", func(b *browser) {
		b.press("set-primary-address")
		b.await(editor + `.activeElement !== null`)
		b.types("x")
		b.shows("Draft of v2")
		b.press("Compare with v1")
	}},
	{"the versions of a runbook", "runbooks/user-migration?tab=versions", func(b *browser) { b.shows("compared with") }},
	{"a new runbook", "runbooks?new=1", func(b *browser) { b.shows("create-user") }},
	{"a preview", "sources/gated?preview=1", func(b *browser) { b.shows("Nothing was changed") }},
	{"the switch of the automation", "sources/gated", func(b *browser) { b.press("Turn automation off…") }},
	{"a worker", "workers/worker-01", func(b *browser) { b.shows("Replicas") }},
	{"a record", "activity", func(b *browser) {
		b.press("Published gated")
		b.await(`document.querySelector("dialog[open]") !== null`)
	}},
	{"the filters of the waves", "waves?show=waiting", func(b *browser) { b.opensFilters("1") }},
	{"the filters of the activity", "activity", func(b *browser) { b.opensFilters("") }},
	{"a new rule", "notifications", func(b *browser) { b.press("New rule…") }},
	{"no view", "nothing", func(b *browser) { b.shows("There is no view at this address") }},
	{"no wave", "waves/99", func(b *browser) { b.shows("Wave 99 cannot be shown") }},
}

// TestConsoleStatesAccessible: axe finds no violation in dialogs, menus and forms either, in light at 1280 pixels and in dark at 390.
func TestConsoleStatesAccessible(t *testing.T) {
	t.Parallel()
	axe := readAxe(t)
	i := newShowcase(t)
	b := i.signedIn("now", entra.DefaultAdminUPN)
	for theme, width := range map[string]int64{"light": 1280, "dark": 390} {
		b.theme(theme)
		b.do(chromedp.EmulateViewport(width, 900))
		for _, s := range states {
			if width == 390 && strings.HasPrefix(s.address, "runbooks/user-migration") {
				continue // the editor only reads on a narrow screen
			}
			b.do(chromedp.Evaluate[chromedp.Void](`void Object.keys(sessionStorage).filter((k) => k.startsWith("matoolkit:draft:")).forEach((k) => sessionStorage.removeItem(k))`))
			b.do(chromedp.Navigate(b.base + s.address))
			b.await(`document.querySelector("main h1") !== null`)
			s.reach(b)
			b.wantAccessible(axe, fmt.Sprintf("%s in %s at %d px", s.name, theme, width))
		}
	}
}
