//go:build browser

package browser

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/matoolkit/matoolkit/local/entra"
)

const typed = "typed before it went wrong"

// TestConsoleSignInEnds: when the sign-in has ended, the dialog says so, and typed text is there after the next one.
func TestConsoleSignInEnds(t *testing.T) {
	t.Parallel()
	i := newGated(t)
	b := i.signedIn("waves/1", entra.DefaultAdminUPN)
	b.press("Pause…")
	b.fill("Reason", typed)
	b.shows("Way back")
	b.do(chromedp.Evaluate[chromedp.Void](`void Object.keys(sessionStorage).filter((k) => /accesstoken|refreshtoken/i.test(k)).forEach((k) => sessionStorage.removeItem(k))`))
	b.press("Pause the wave")
	b.await(`document.querySelector("dialog[open] [role=alert]")?.innerText.includes("Your sign-in has ended") === true`)
	b.press("Sign in")
	b.await(`document.querySelector("dialog[open]") === null && document.querySelector("header.top") !== null && location.pathname === "/api/console/waves/1"`)
	b.press("Pause…")
	b.await(`document.querySelector("dialog[open] input")?.value === ` + quoted(typed))
	b.press("Pause the wave")
	b.shows("Paused")
}

// TestConsoleTooManyRequests: when the API refuses requests for a while, the page says so, and goes on afterwards.
func TestConsoleTooManyRequests(t *testing.T) {
	t.Parallel()
	i := newGated(t)
	b := i.signedIn("waves/1", entra.DefaultReaderUPN)
	b.shows("Needs an approval")
	token := b.token()
	flood, end := context.WithCancel(t.Context())
	defer end()
	for range 20 {
		go func() {
			for flood.Err() == nil {
				request, _ := http.NewRequestWithContext(flood, http.MethodGet, "http://"+i.at.Addresses.Host+"/api/me", nil)
				request.Header.Set("Authorization", "Bearer "+token)
				if answer, err := http.DefaultClient.Do(request); err == nil {
					_ = answer.Body.Close()
				}
			}
		}()
	}
	b.shows("sends too many requests")
	end()
	b.await(`!document.body.innerText.includes("sends too many requests")`)
	b.shows("Live")
}

// answering lets the test answer requests of the page in place of the API, with respond. The page is loaded anew.
func (b *browser) answering() {
	b.t.Helper()
	b.before(`((original) => { window.fetch = async (...all) => await window.answerFor?.(all[0] instanceof Request ? all[0].clone() : new Request(...all), () => original(...all)) ?? original(...all); })(window.fetch)`)
	b.do(chromedp.Reload())
	b.await(`document.querySelector("header.top") !== null`)
}

// respond has the page get an answer for the requests of a method whose address ends with a text.
func (b *browser) respond(method, address string, status int, body string) {
	b.t.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`void ((before) => {
		window.answerFor = (r, original) => r.method === %s && r.url.endsWith(%s) ? new Response(%s, { status: %d, headers: { "Content-Type": "application/json" } }) : before?.(r, original);
	})(window.answerFor)`, quoted(method), quoted(address), quoted(body), status)))
}

// offline cuts the network of the browser off, or connects it again.
func (b *browser) offline(off bool) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		if _, err := cdp.Call(ctx, t, network.Enable, network.EnableParams{}); err != nil {
			return err
		}
		all := []*network.Conditions{{Offline: off, DownloadThroughput: -1, UploadThroughput: -1}}
		_, err := cdp.Call(ctx, t, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: all})
		return err
	}))
}

// TestConsoleUpdated: when the handler serves another console by the time that the page is shown again, or that it
// refuses what the page sends, the page asks to reload, and keeps typed text. A status that the page does not
// know is shown by its name.
func TestConsoleUpdated(t *testing.T) {
	t.Parallel()
	i := newGated(t)
	b := i.signedIn("waves/1", entra.DefaultAdminUPN)
	b.answering()
	b.shows("Needs an approval")
	b.do(chromedp.Evaluate[chromedp.Void](`void (window.answerFor = async (r, original) => {
		if (!r.url.endsWith("/api/batches/1")) return undefined;
		const batch = await (await original()).json();
		return new Response(JSON.stringify({ ...batch, status: "in_hibernation" }), { headers: { "Content-Type": "application/json" } });
	})`))
	b.showsIn(".head .status", "in hibernation")
	b.hides("main", "The console was updated")

	b.respond("GET", "/api/console/", 200, `<script src="/api/console/assets/main-NEW.js"></script>`)
	b.press("Pause…")
	b.shows("Way back")
	b.fill("Reason", typed)
	b.respond("POST", "/pause", 400, `{"error":"invalid","detail":"The body has a field that this version does not know."}`)
	b.press("Pause the wave")
	b.showsIn("dialog[open] [role=alert]", "a field that this version does not know")
	b.shows("The console was updated")
	b.keys(kb.Escape)
	b.await(`document.querySelector("dialog[open]") === null`)
	b.do(chromedp.Evaluate[chromedp.Void]("void (window.older = true)"))
	b.click(`[...document.querySelectorAll("main button")].find((e) => e.innerText === "Reload")`)
	b.await(`window.older === undefined && document.querySelector("header.top") !== null`)
	b.press("Pause…")
	b.await(`document.querySelector("dialog[open] input")?.value === ` + quoted(typed))

	b.open("waves/1", "gated 2035-05-05 18:00Z")
	b.respond("GET", "/api/console/", 200, `<script src="/api/console/assets/main-NEW.js"></script>`)
	b.do(chromedp.Evaluate[chromedp.Void](`void document.dispatchEvent(new Event("visibilitychange"))`))
	b.shows("The console was updated")
	b.shows("Needs an approval")
}

// TestConsoleForbidden: what the API forbids is said where it was tried, with the typed text; a view that may no
// longer be read says that it is not kept up to date.
func TestConsoleForbidden(t *testing.T) {
	t.Parallel()
	i := newGated(t)
	b := i.signedIn("waves/1", entra.DefaultAdminUPN)
	b.answering()
	b.press("Pause…")
	b.shows("Way back")
	b.fill("Reason", typed)
	const why = "This needs the app role Operator or Admin; you have Reader."
	b.respond("POST", "/pause", 403, `{"error":"forbidden","detail":"`+why+`"}`)
	b.press("Pause the wave")
	b.showsIn("dialog[open] [role=alert]", why)
	b.await(`document.querySelector("dialog[open] input").value === ` + quoted(typed))
	b.keys(kb.Escape)
	b.respond("GET", "/api/batches/1", 403, `{"error":"forbidden","detail":"You may not read this wave any more."}`)
	b.showsIn("main [role=alert]", "You may not read this wave any more.")
	b.shows("Needs an approval")
}

// TestConsoleUnreachable: without a network the page says since when it has no news, keeps the text typed in each
// form, and goes on by itself.
func TestConsoleUnreachable(t *testing.T) {
	t.Parallel()
	i := newGated(t)
	b := i.signedIn("waves/1/people/2", entra.DefaultAdminUPN)
	const lost = "The API cannot be reached."
	b.press("Correct…")
	b.fill("Department", "Research")
	b.offline(true)
	b.shows(lost)
	b.showsIn(".live", "Last update")
	b.press("Save")
	b.showsIn(".data-panel [role=alert]", lost)
	b.offline(false)
	b.showsIn(".live", "Live")
	b.press("Save")
	b.showsIn("dl.columns", "Research")

	b.open("waves/1", "gated 2035-05-05 18:00Z")
	b.press("Pause…")
	b.shows("Way back")
	b.offline(true)
	b.fill("Reason", typed)
	b.press("Pause the wave")
	b.showsIn("dialog[open] [role=alert]", lost)
	b.offline(false)
	b.await(`document.querySelector("dialog[open] input").value === ` + quoted(typed))
	b.confirms("Pause the wave")
	b.showsIn(".head .status", "Paused")
	b.hides("main", lost)
}

// TestConsoleKilledHandler: a wave that is made while the handler is killed is made once.
func TestConsoleKilledHandler(t *testing.T) {
	t.Parallel()
	i := newInstallation(t, "--setting", "PEOPLE="+peopleStarting(t))
	i.publish(gated)
	b := i.signedIn("waves/new", entra.DefaultAdminUPN)
	b.fill("Name", "Finance and Legal")
	b.drop(".drop", "people.csv", "Mail\nada@fabrikam.com\n")
	b.shows("1 person in gated version 1")
	i.killHandler()
	b.press("Create a wave of 1 person")
	b.await(`location.pathname === "/api/console/waves/1" || (() => {
		if (document.querySelector("main h1")?.innerText !== "New wave") return false;
		if (document.querySelector(".form-grid input").value !== "Finance and Legal") throw new Error("lost");
		` + named("button", "Create a wave") + `?.click();
		return false;
	})()`)
	b.shows("Finance and Legal")
	if out := i.run("batch", "list"); strings.Count(out, "Finance and Legal") != 1 {
		t.Errorf("the waves are\n%s", out)
	}
}

// TestConsoleWithoutTheHandler: while the handler is away the page says so and keeps typed text, and goes on
// when another handler has started.
func TestConsoleWithoutTheHandler(t *testing.T) {
	t.Parallel()
	i := newGated(t)
	b := i.signedIn("waves/1", entra.DefaultAdminUPN)
	b.press("Pause…")
	b.fill("Reason", typed)
	b.shows("Way back")
	i.killHandler()
	b.press("Pause the wave")
	paused := `document.querySelector(".head .status").innerText.includes("Paused")`
	b.await(paused + ` || document.querySelector("dialog[open] [role=alert]") !== null`)
	b.await(paused + ` || (() => {
		if (document.querySelector("dialog[open]") && document.querySelector("dialog input").value !== ` + quoted(typed) + `) throw new Error("lost");
		` + named("button", "Pause") + `?.click();
		return false;
	})()`)
	i.await(typed, "batch", "audit", "1")
}
