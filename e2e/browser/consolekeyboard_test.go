//go:build browser

package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/matoolkit/matoolkit/local/entra"
)

// walk notes each element that the Tab key reaches: its place in the document, and its defect.
const walk = `(() => {
	let e = document.activeElement;
	if (!e || e === document.body || e.id === "content") return { end: true, problem: "" };
	while (e.shadowRoot?.activeElement) e = e.shadowRoot.activeElement;
	const name = e.tagName + " " + (e.ariaLabel ?? e.innerText ?? "").trim().slice(0, 40);
	if (e === window.lastElement) return { end: false, problem: "" }; // a part of a field for a time
	if (window.walked.has(e)) return { end: true, problem: "" };
	window.lastElement = e;
	window.walked.add(e);
	const wrong = [];
	const box = e.getBoundingClientRect();
	if (!e.checkVisibility()) wrong.push("is not visible");
	if (box.bottom <= 0 || box.top >= innerHeight) wrong.push("is off the screen");
	const ring = [e, e.parentElement, e.closest(".cm-editor"), e.closest("label")].filter(Boolean).some((n) => { const s = getComputedStyle(n); return s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 1; });
	if (!ring) wrong.push("has no focus ring");
	const last = window.lastWalked;
	const host = e.getRootNode().host ?? e;
	if (last && last !== host && last.compareDocumentPosition(host) & Node.DOCUMENT_POSITION_PRECEDING) wrong.push("comes before the element that had the focus before");
	window.lastWalked = host;
	return { end: false, problem: wrong.map((w) => name + " " + w).join("; ") };
})()`

// missed are the elements of a view that can be pressed or filled in, and that the Tab key did not reach. Of a group
// of rows the keys j and k reach those that are not in the order of Tab.
const missed = `[...document.querySelectorAll("a[href], button, input, select, textarea, summary")].filter((e) => e.checkVisibility({ visibilityProperty: true }) && !e.disabled && e.tabIndex >= 0 && !window.walked.has(e)).map((e) => e.tagName + " " + (e.ariaLabel ?? e.innerText ?? "").trim().slice(0, 40))`

// TestConsoleTabOrder: the Tab key reaches everything in each view in the order of the page, and what has the focus is seen.
func TestConsoleTabOrder(t *testing.T) {
	t.Parallel()
	i := newShowcase(t)
	b := i.signedIn("now", entra.DefaultAdminUPN)
	for _, p := range places {
		b.do(chromedp.Navigate(b.base + p.address))
		b.shows(p.text)
		b.await(`document.querySelector("[aria-busy=true]") === null`)
		b.do(chromedp.Evaluate[chromedp.Void](`void (window.walked = new Set(), window.lastWalked = window.lastElement = undefined)`))
		for steps := 0; ; steps++ {
			b.keys(kb.Tab)
			at := eval[struct {
				End     bool
				Problem string
			}](b, walk)
			if at.End {
				break
			}
			if at.Problem != "" {
				t.Errorf("%s: %s", p.name, at.Problem)
			}
			if steps > 400 {
				t.Fatalf("%s: the focus never returns", p.name)
			}
		}
		for _, name := range eval[[]string](b, missed) {
			t.Errorf("%s: Tab does not reach %s", p.name, name)
		}
	}
}

// focused waits until the focus is in an element that an expression tests as e.
func (b *browser) focused(test string) {
	b.t.Helper()
	b.await(`((e) => ` + test + `)(document.activeElement)`)
}

// tabTo presses Tab until the focus is in an element that an expression tests as e. The page and its main part hold
// every text, and are passed by.
func (b *browser) tabTo(test string) {
	b.t.Helper()
	for range 200 {
		b.keys(kb.Tab)
		if eval[bool](b, `((e) => e !== document.body && e.id !== "content" && (`+test+`))(document.activeElement)`) {
			return
		}
	}
	b.t.Fatalf("Tab does not reach an element with %s; the focus is in %s", test, eval[string](b, "document.activeElement.outerHTML.slice(0, 300)"))
}

// TestConsoleByKeyboard: an approver opens a wave and approves its phase with keys alone. Escape closes menus and dialogs that are
// open, and the focus returns to where it was.
func TestConsoleByKeyboard(t *testing.T) {
	t.Parallel()
	i := newGated(t)
	b := i.signedIn("now", entra.DefaultAdminUPN)
	b.await(`document.querySelector("main h1")?.innerText === "Now"`)
	b.keys("g", "w")
	b.await(`document.querySelector("tr[data-row]") !== null`)
	b.focused(`e.id === "content"`)
	b.keys("j")
	b.focused(`e.dataset.row === "0"`)
	b.keys(kb.Enter)
	b.arrives("waves/1")
	b.focused(`e.id === "content"`)
	b.keys("?")
	b.shows("Keyboard shortcuts")
	b.keys(kb.Escape)
	b.await(`document.querySelector("dialog[open]") === null`)
	b.focused(`e.id === "content"`)
	b.keys("/")
	b.focused(`e.type === "search"`)

	// The menu of the account, and that of the wave.
	b.tabTo(`e.ariaLabel?.includes("the account of")`)
	b.keys(kb.Enter)
	b.tabTo(`e.innerText === "Sign out"`)
	b.keys(kb.Escape)
	b.focused(`e.ariaLabel?.includes("the account of") && e.ariaExpanded === "false"`)
	b.tabTo(`e.innerText?.includes("Pause…")`)
	b.tabTo(`e.ariaLabel === "More actions"`)
	b.keys(kb.Enter)
	b.focused(`e.role === "menuitem" && e.innerText.includes("Reschedule…")`)
	b.keys(kb.ArrowUp)
	b.focused(`e.innerText.includes("Cancel the wave…")`)
	b.keys(kb.Escape)
	b.focused(`e.ariaLabel === "More actions" && e.ariaExpanded === "false"`)
	b.keys(kb.Enter)
	b.focused(`e.innerText.includes("Reschedule…")`)
	b.keys(kb.Enter)
	b.focused(`e.closest("dialog[open]") !== null`)
	b.keys(kb.Escape)
	b.await(`document.querySelector("dialog[open]") === null`)
	b.focused(`e.ariaLabel === "More actions"`)

	// A dialog takes the focus, and gives it back, also by its button.
	b.tabTo(`e.innerText?.includes("Approve…")`)
	b.keys(kb.Enter)
	b.shows("Way back")
	b.focused(`e.closest("dialog[open]") !== null && e.tagName === "INPUT"`)
	b.tabTo(`e.innerText === "Not now"`)
	b.keys(kb.Enter)
	b.await(`document.querySelector("dialog[open]") === null`)
	b.focused(`e.tagName === "BUTTON" && e.innerText.includes("Approve…")`)
	b.keys(kb.Enter)
	b.focused(`e.closest("dialog[open]") !== null && e.tagName === "INPUT"`)
	for _, letter := range "signed" {
		b.keys(string(letter))
	}
	b.shows("Way back")
	b.tabTo(`e.innerText?.startsWith("Approve pre-stage for 3 people")`)
	b.keys(kb.Enter)
	b.shows("Approved by " + entra.DefaultAdminUPN + ": “signed”")
	b.focused(`e !== document.body`)
}
