//go:build browser

package browser

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
)

// before runs a script in each page that is loaded from now on, before the scripts of the page.
func (b *browser) before(script string) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
		return err
	}))
}

// token is the access token of the signed-in user.
func (b *browser) token() string {
	b.t.Helper()
	return eval[string](b, `JSON.parse(sessionStorage.getItem(Object.keys(sessionStorage).find((k) => /accesstoken/i.test(k)))).secret`)
}

// client is another client of the API, with the token of the signed-in user.
func (b *browser) client() func(method, path, body string) {
	b.t.Helper()
	token := b.token()
	return func(method, path, body string) {
		b.t.Helper()
		request := testenv.Must(http.NewRequestWithContext(b.t.Context(), method, strings.TrimSuffix(b.base, "console/")+strings.TrimPrefix(path, "/"), strings.NewReader(body)))(b.t)
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("Content-Type", "application/json")
		answer := testenv.Must(http.DefaultClient.Do(request))(b.t)
		_ = answer.Body.Close()
		if answer.StatusCode >= 300 {
			b.t.Fatalf("%s %s: %s", method, path, answer.Status)
		}
	}
}

// TestConsoleLive: what another client changes through the API is shown within two seconds, without a reload.
// It measures time, and runs alone.
func TestConsoleLive(t *testing.T) { //nolint:paralleltest // it measures time
	start := time.Now().UTC().AddDate(0, 0, 8).Format(time.RFC3339) // the first phase is due within seven days
	i := newInstallation(t, "--setting", "PEOPLE="+peopleStarting(t, start, start, start))
	i.enableGated()
	b := i.signedIn("now", entra.DefaultAdminUPN)
	call := b.client()
	for _, c := range []struct {
		view, selector, shown, method, path, body, then string
	}{
		{"waves/1", ".head .status", "Needs an approval", "POST", "/batches/1/pause", `{}`, "Paused"},
		{"waves/1", "section:has(#audit)", "paused", "POST", "/batches/1/resume", `{"reason":"another client"}`, "another client"},
		{"waves/1", "ol.track", "Needs an approval", "POST", "/batches/1/approve", `{"phase":"pre-stage","reason":"signed"}`, "Approved by"},
		{"waves", "tbody", "gated", "PATCH", "/batches/1", `{"name":"Finance and Legal"}`, "Finance and Legal"},
		{"waves/1/people/2", ".data-panel", "Sales", "PATCH", "/batches/1/members/id:2", `{"data":{"Department":"Research"},"reason":"moved"}`, "Research"},
		{"people?q=person0@", "tbody", "Key or name", "POST", "/batches/1/remove", `{"memberIds":[1],"reason":"left"}`, "Removed"},
		{"people?q=Research", "main", "person1@", "PATCH", "/batches/1/members/id:2", `{"data":{"Department":"Legal"},"reason":"moved"}`, "No wave has a person with"},
		{"people?q=Finance", "main", "No wave has a person with", "PATCH", "/batches/1/members/id:3", `{"data":{"Department":"Finance"},"reason":"moved"}`, "person2@"},
		{"waves/1", "section:has(#people)", "person2@", "POST", "/batches/1/remove", `{"memberIds":[3],"reason":"left"}`, "Removed 2"},
		{"now", "main", "pre-stage", "POST", "/batches/1/cancel", `{"reason":"over"}`, "No phase is due within seven days"},
	} {
		b.do(chromedp.Navigate(b.base + c.view))
		b.showsIn(c.selector, c.shown)
		call(c.method, c.path, c.body)
		changed := time.Now()
		b.showsIn(c.selector, c.then)
		if took := time.Since(changed); took > 2*time.Second {
			t.Errorf("%s shows %q %s after %s %s", c.view, c.then, took.Round(10*time.Millisecond), c.method, c.path)
		}
	}
}

// TestConsoleFirstView: the first view has its content within a second, and comes in less than 150 KB. It
// measures time, and runs alone.
func TestConsoleFirstView(t *testing.T) { //nolint:paralleltest // it measures time
	i := newGated(t)
	b := i.signedIn("now", entra.DefaultReaderUPN) // the next load is that of a user who has signed in
	b.shows("Next seven days")
	b.before(`new MutationObserver(() => { if (!window.firstView && document.querySelector("#calendar")) window.firstView = performance.now(); }).observe(document, { childList: true, subtree: true })`)
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		ignore := true
		_, err := cdp.Call(ctx, t, page.Reload, page.ReloadParams{IgnoreCache: &ignore})
		return err
	}))
	b.await("window.firstView > 0")
	if took := eval[float64](b, "window.firstView"); took > 1000 {
		t.Errorf("the first view was there after %.0f ms", took)
	}
	size := eval[int](b, `performance.getEntriesByType("resource").filter((e) => e.name.includes("/api/console/assets/")).concat(performance.getEntriesByType("navigation")).reduce((sum, e) => sum + e.encodedBodySize, 0)`)
	if size == 0 || size > 150_000 {
		t.Errorf("the first view comes in %d bytes", size)
	}
}

// TestConsoleSteady: nothing moves on the page of a wave while its counters run, apart from the parts of the bars.
func TestConsoleSteady(t *testing.T) {
	t.Parallel()
	const members = 400
	i := newInstallation(t, "--store-latency", "50ms")
	i.startWorker("worker-01")
	i.publish(`name: steady
data_source: {type: csv, primary_key: Mail}
phases:
  - name: move
    offset: T-0
    steps:
      - {name: first, worker_id: worker-01, function: New-EntraUser, params: {DisplayName: "{{Mail}}", UserPrincipalName: "{{Mail}}"}}
      - {name: second, worker_id: worker-01, function: New-EntraUser, params: {DisplayName: "{{Mail}}", UserPrincipalName: "second.{{Mail}}"}}
`)
	csv := "Mail\n"
	for n := range members {
		csv += fmt.Sprintf("person%d@fabrikam.onmicrosoft.com\n", n)
	}
	i.run("batch", "create", "steady", write(t, "members.csv", csv))
	b := i.signedIn("waves/1", entra.DefaultAdminUPN)
	b.press("Start move…")
	b.shows("Way back")
	b.confirms("Start move for 400 people")
	b.showsIn(".head .status", "Running")
	b.await(`document.querySelector(".pace .chart canvas") !== null`)
	b.do(chromedp.Evaluate[chromedp.Void](`void (window.shifts = [], window.counts = new Set(), new PerformanceObserver((list) => { for (const e of list.getEntries()) if (!document.querySelector(".head .status")?.innerText.includes("Completed")) window.shifts.push(...e.sources.filter((s) => s.node && s.previousRect.width > 0 && !s.node.closest?.(".bar")).map((s) => (s.node.outerHTML ?? s.node.parentElement.outerHTML).slice(0, 200) + " from " + Math.round(s.previousRect.x) + "," + Math.round(s.previousRect.y) + " to " + Math.round(s.currentRect.x) + "," + Math.round(s.currentRect.y))); }).observe({ type: "layout-shift" }))`))
	b.await(`(window.counts.add(document.querySelector(".legend").innerText), document.querySelector(".head .status").innerText.includes("Completed"))`)
	if n := eval[int](b, "window.counts.size"); n < 3 {
		t.Errorf("the counters had %d states", n)
	}
	for _, shift := range eval[[]string](b, "window.shifts") {
		t.Errorf("moved: %s", shift)
	}
}
