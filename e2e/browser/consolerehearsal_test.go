//go:build browser

package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
)

// rehearsed is the report of a rehearsal of the example that moves people between two tenants.
func rehearsed(t *testing.T) string {
	t.Helper()
	folder, report := absolute("../../examples/tenant-to-tenant"), filepath.Join(t.TempDir(), "rehearsal.json")
	file := func(name string) string { return filepath.Join(folder, name) }
	c := exec.CommandContext(t.Context(), program, "rehearse", file("runbook.yaml"), "--members", file("members.csv"), "--start", "2026-12-01 18:00",
		"--source", file("source.json"), "--target", file("target.json"), "--json", report)
	var failed *exec.ExitError
	if out, err := c.CombinedOutput(); err != nil && !errors.As(err, &failed) {
		t.Fatalf("%v: %s", err, out)
	}
	return string(testenv.Must(os.ReadFile(report))(t))
}

// crowded is a report in which five people have the first error.
func crowded(t *testing.T, report string) string {
	t.Helper()
	var r map[string]any
	if err := json.Unmarshal([]byte(report), &r); err != nil {
		t.Fatal(err)
	}
	group := r["errors"].([]any)[0].(map[string]any)
	for _, name := range []string{"ann", "bob", "cy", "dot"} {
		group["members"] = append(group["members"].([]any), map[string]any{"key": name + "@contoso.com", "error": "not " + name})
	}
	return string(testenv.Must(json.Marshal(r))(t))
}

// choose gives a file to a field for files.
func (b *browser) choose(label, name, content string) {
	b.t.Helper()
	field := `document.querySelector('input[type=file][aria-label=` + quoted(label) + `]')`
	b.await(field + ` !== null`)
	b.do(chromedp.Evaluate[chromedp.Void](`void ((field, transfer) => {
		transfer.items.add(new File([` + quoted(content) + `], ` + quoted(name) + `, { type: "application/json" }));
		field.files = transfer.files;
		field.dispatchEvent(new Event("change", { bubbles: true }));
	})(` + field + `, new DataTransfer())`))
}

// TestConsoleRehearsal: the console shows the report of a rehearsal, sends nothing of it, and says what is wrong with other files.
func TestConsoleRehearsal(t *testing.T) {
	t.Parallel()
	report := rehearsed(t)
	b := newInstallation(t).signedIn("runbooks", entra.DefaultReaderUPN)
	b.press("Rehearsal report")
	b.shows("No report is open.")
	const label = "Report of a rehearsal as JSON"
	for _, tc := range []struct{ content, want string }{
		{"name: moves", "This is not JSON."},
		{`{"users": []}`, "This is not the report of a rehearsal. Open the file that matoolkit rehearse --json wrote."},
		{strings.Replace(report, `"format": 1`, `"format": 9`, 1), "The report has format 9, and this console reads format 1."},
	} {
		b.choose(label, "other.json", tc.content)
		b.showsIn("[role=alert]", tc.want)
	}

	b.do(chromedp.Evaluate[chromedp.Void](`void (window.sent = [], window.before = window.fetch, window.fetch = (...a) => { if (a[1]?.method && a[1].method !== "GET" || a[0].method && a[0].method !== "GET") sent.push(String(a[0].url ?? a[0])); return before(...a); })`))
	b.choose(label, "rehearsal.json", report)
	b.shows("15 people: 9 succeed, 6 fail")
	for heading, text := range map[string]string{
		"errors": "no licence of SPE_E5 is left", "warnings": "", "calendar": "T-0", "licences": "SPE_E3", "calls": "3000 calls in 2m30s", "way-back": "leave at T-1m",
		"not-rehearsed": "Send-AdminAlert", "not-modelled": "How long Microsoft copies a mailbox", "changes": "ada.lindqvist@fabrikam.com",
	} {
		b.await(fmt.Sprintf(`document.querySelector(%s)?.closest("section").innerText.includes(%s) === true`, quoted("#"+heading), quoted(text)))
	}
	b.choose(label, "crowded.json", crowded(t, report))
	b.showsIn("section:has(#errors)", "ann@contoso.com, bob@contoso.com and 2 others")
	b.hides("section:has(#errors)", "dot@contoso.com")
	b.press("Who")
	b.showsIn("section:has(#errors)", "dot@contoso.com: not dot")
	b.fillSearch("ada.lindqvist@fabrikam.com")
	b.await(`document.querySelector("#changes").closest("section").querySelectorAll("details.change").values().every((d) => d.innerText.includes("ada.lindqvist@fabrikam.com"))`)
	b.press("ada.lindqvist@fabrikam.com")
	b.await(`document.querySelector("#changes").closest("section").innerText.includes("UserPrincipalName")`)
	if sent := eval[[]string](b, "window.sent"); len(sent) > 0 {
		t.Errorf("the console sent %v", sent)
	}
	axe := readAxe(t)
	for _, theme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 390} {
			b.theme(theme)
			b.do(chromedp.EmulateViewport(width, 900))
			b.wantAccessible(axe, fmt.Sprintf("rehearsal in %s at %d px", theme, width))
			b.keep("rehearsal", theme, width)
		}
	}
}

// fillSearch types into the filter of the changes.
func (b *browser) fillSearch(text string) {
	b.t.Helper()
	b.await(`((field) => field && (field.value = ` + quoted(text) + `, field.dispatchEvent(new Event("input", { bubbles: true }))))(document.querySelector("#changes").closest("section").querySelector("input[type=search]"))`)
}
