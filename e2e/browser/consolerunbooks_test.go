//go:build browser

package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
)

// The editor, which is in a shadow root.
const editor = `document.querySelector(".editor-host").shadowRoot`

// types presses the keys of a text in the editor. Chromium would insert a line for Enter as well as the editor.
func (b *browser) types(keys string) {
	b.t.Helper()
	for _, key := range keys {
		if string(key) != kb.Enter {
			b.do(chromedp.KeyEvent(string(key)))
			continue
		}
		b.do(chromedp.Evaluate[chromedp.Void](`void ` + editor + `.querySelector(".cm-content").dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", code: "Enter", keyCode: 13, bubbles: true, cancelable: true }))`))
	}
}

// TestConsoleRunbook: an administrator edits a runbook, sees an error beside its line, takes a suggestion,
// compares, reads what a publication does to the open wave, and publishes. The draft outlives a reload.
func TestConsoleRunbook(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.startWorker("worker-01")
	yaml := string(testenv.Must(os.ReadFile(filepath.Join(example, "runbook.yaml")))(t)) + `
rollbacks:
  disable-account:
    - {name: disable, worker_id: worker-01, function: Set-EntraUserEnabled, params: {UserId: "{{UserId}}", Enabled: false}}
`
	yaml = strings.Replace(yaml, "        function: Set-EntraUserUPN\n", "        function: Set-EntraUserUPN\n        on_failure: disable-account\n", 1)
	i.run("runbook", "publish", write(t, "runbook.yaml", yaml))
	i.run("batch", "create", "user-migration", filepath.Join(example, "members.csv"), "--name", "Finance and Legal")

	b := i.signedIn("runbooks", entra.DefaultAdminUPN)
	b.press("user-migration")
	b.shows("v1 is active")
	b.shows("No findings")
	b.shows("cut-over")
	b.refuses("Publish v2", "Change it to publish a version")

	// The graph leads to the lines of a step, where a rollback is named wrongly.
	b.press("set-primary-address")
	b.await(editor + `.activeElement !== null`)
	b.types(kb.End + kb.Enter)
	b.types("on_failure: disable-acount")
	b.shows("1 error")
	b.await(editor + `.querySelector(".cm-finding.cm-error").innerText.includes("disable-acount")`)
	b.shows("Draft of v2")
	b.refuses("Publish v2", "Publishing waits until the error in line")
	b.shows("This is shown once the text has no error.")
	b.do(chromedp.Evaluate[chromedp.Void](`void [...` + editor + `.querySelectorAll(".cm-finding button")].find((e) => e.innerText === "Use disable-account").click()`))
	b.shows("No findings")

	// Completion: the keys of a step, the functions of its worker, and their parameters.
	completes := func(option string) {
		t.Helper()
		b.await(`[...` + editor + `.querySelectorAll(".cm-tooltip-autocomplete li")].some((e) => e.innerText.startsWith(` + quoted(option) + `))`)
	}
	b.types(kb.Enter + "tim")
	completes("timeout")
	b.types(kb.Escape)
	b.types(kb.Backspace + kb.Backspace + kb.Backspace)
	b.shows("No findings")

	// What would happen to the people of the wave.
	b.press("Simulate")
	b.shows("All succeed")
	b.await(`[...document.querySelectorAll(".simulated li")].some((e) => e.innerText.includes("cut-over") && e.innerText.includes("25 of 25"))`)

	// What changed, and what happens to the wave.
	b.press("Compare with v1")
	b.await(editor + `.querySelectorAll(".cm-changedLine, .cm-insertedLine").length > 0`)
	b.press("assign-license")
	b.press("Discard draft")
	b.shows("Discarded the draft")
	b.await(editor + `.querySelector(".cm-activeLine").innerText.includes("assign-license")`) // the cursor keeps its place
	b.press("Undo")
	b.shows("Draft of v2")
	b.press("Discard draft")
	b.await(`!document.body.innerText.includes("Draft of v2")`)
	b.press("set-primary-address")
	b.await(editor + `.activeElement !== null`)
	b.types(kb.End + kb.Enter + "on_failure: disable-account")
	b.shows("If you publish v2")
	b.await(`document.querySelector("#forecast")?.closest("section").innerText.includes("Wave 1")`)
	b.shows("1 change from v1")

	b.do(chromedp.Navigate(b.base + "runbooks/user-migration"))
	b.shows("Draft of v2")
	b.await(`document.querySelector(".editor-host") !== null && ` + editor + `.querySelector(".cm-content").innerText.length > 0`)
	b.press("Publish v2")
	b.shows("goes over to v2 at the next tick")
	b.press("Publish v2 for 1 wave")
	b.shows("v2 is active")
	b.shows("Published v2 of user-migration")
	if got := i.run("runbook", "get", "user-migration"); strings.Count(got, "on_failure: disable-account") != 2 {
		t.Errorf("the active version is\n%s", got)
	}

	b.press("Versions")
	b.await(`[...document.querySelectorAll("select")].some((e) => e.value === "2") && ` + editor + `.querySelectorAll(".cm-changedLine, .cm-insertedLine").length > 0`)
	b.shows("Superseded")
	b.press("Activity")
	b.shows("Published user-migration")
}

// TestConsoleCompletion: the editor knows the functions that workers announced, with their parameters, and
// the columns of the runbook.
func TestConsoleCompletion(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.startWorker("worker-01")
	b := i.signedIn("runbooks?new=1", entra.DefaultAdminUPN)
	b.await(`document.querySelector(".editor-host") !== null && ` + editor + `.querySelector(".cm-content") !== null`)
	// The editor ignores keys in the first moment of its list, so the option is chosen with the mouse.
	takes := func(option string) {
		t.Helper()
		li := `[...` + editor + `.querySelectorAll(".cm-tooltip-autocomplete li")].find((e) => e.innerText.startsWith(` + quoted(option) + `))`
		b.await(li + ` !== undefined`)
		b.do(chromedp.Evaluate[chromedp.Void](`void ` + li + `.dispatchEvent(new MouseEvent("mousedown", { bubbles: true, cancelable: true }))`))
		b.await(editor + `.querySelector(".cm-tooltip-autocomplete") === null`)
	}
	b.shows("create-user")
	b.do(chromedp.Evaluate[chromedp.Void](`void ` + editor + `.querySelector(".cm-content").focus()`))
	b.do(chromedp.KeyEvent(kb.End, chromedp.KeyModifiers(2))) // Ctrl
	b.types(kb.Enter + kb.Home)
	b.types("      - name: join")
	b.types(kb.Enter + "wor")
	takes("worker_id")
	b.types("wo")
	takes("worker-01")
	b.types(kb.Enter + "function: Add-EntraG")
	takes("Add-EntraGroupMember")
	b.types(kb.Enter + "params: {Gr")
	takes("GroupId")
	b.types("\"{{Disp")
	takes("DisplayName")
	b.await(editor + `.querySelector(".cm-content").innerText.includes('function: Add-EntraGroupMember') && ` + editor + `.querySelector(".cm-content").innerText.includes('{{DisplayName}}')`)
}
