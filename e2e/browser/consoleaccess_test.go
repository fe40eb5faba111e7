//go:build browser

package browser

import (
	"context"
	"os"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
)

// places are the addresses of all views, with the text that shows that they are drawn.
var places = []struct{ name, address, text string }{
	{"now", "now", "Next seven days"},
	{"waves", "waves", "New wave from a CSV"},
	{"new-wave", "waves/new", "Drop a CSV"},
	{"wave", "waves/1", "Pace and time left"},
	{"person", "waves/1/people/1", "Journey"},
	{"people", "people?q=person", "person0@fabrikam.com"},
	{"runbooks", "runbooks", "gated"},
	{"sources", "sources", "gated"},
	{"workers", "workers", "Workers"},
	{"activity", "activity", "Activity"},
	{"notifications", "notifications", "Notifications"},
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

// TestConsoleAccessible: axe finds no violation of WCAG 2.2 AA in any view, in both themes and both widths, and
// no view is wider than the screen.
func TestConsoleAccessible(t *testing.T) {
	t.Parallel()
	axe := string(testenv.Must(os.ReadFile("node_modules/axe-core/axe.min.js"))(t))
	i := newGated(t)
	b := i.browser()
	b.signIn("now", entra.DefaultAdminUPN)
	for _, theme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 390} {
			b.theme(theme)
			b.do(chromedp.EmulateViewport(width, 900))
			for _, p := range places {
				b.do(chromedp.Navigate(b.base + p.address))
				b.shows(p.text)
				b.await(`document.querySelector("[aria-busy=true]") === null`)
				b.do(chromedp.Evaluate[chromedp.Void](axe+"; void 0"))
				b.do(chromedp.Evaluate[chromedp.Void](`void axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }).then((r) => { window.found = r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.target.join(" ") + ": " + n.failureSummary)); })`))
				b.await("window.found !== undefined")
				for _, found := range eval[[]string](b, "window.found") {
					t.Errorf("%s in %s at %d px: %s", p.name, theme, width, found)
				}
				if wide := eval[int](b, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
					t.Errorf("%s at %d px is %d px wider than the screen", p.name, width, wide)
				}
			}
		}
	}
}
