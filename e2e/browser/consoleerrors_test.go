//go:build browser

package browser

import (
	"context"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/matoolkit/matoolkit/local/entra"
)

const typed = "typed before it went wrong"

// TestConsoleSignInEnds: when the sign-in has ended, the dialog says so, and what was typed is there after the next one.
func TestConsoleSignInEnds(t *testing.T) {
	t.Parallel()
	i := newGated(t)
	b := i.browser()
	b.signIn("waves/1", entra.DefaultAdminUPN)
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
	b := i.browser()
	b.signIn("waves/1", entra.DefaultReaderUPN)
	b.shows("Needs an approval")
	token := eval[string](b, `JSON.parse(sessionStorage.getItem(Object.keys(sessionStorage).find((k) => /accesstoken/i.test(k)))).secret`)
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

// TestConsoleUpdated: when the handler serves another console by the time that the page is shown again, the page asks to reload.
func TestConsoleUpdated(t *testing.T) {
	t.Parallel()
	i := newGated(t)
	b := i.browser()
	b.signIn("waves/1", entra.DefaultReaderUPN)
	b.shows("Needs an approval")
	b.do(chromedp.Evaluate[chromedp.Void](`void ((original) => {
		window.fetch = (...all) => all[0] === "/api/console/" ? Promise.resolve(new Response('<script src="/api/console/assets/main-NEW.js"></script>')) : original(...all);
	})(window.fetch)`))
	b.do(chromedp.Evaluate[chromedp.Void](`void document.dispatchEvent(new Event("visibilitychange"))`))
	b.shows("The console was updated")
	b.shows("Needs an approval")
}
