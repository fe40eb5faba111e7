//go:build browser

package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/system"
)

// The programs and the staged app that "make build" builds, and an example.
var (
	program = absolute("../../bin/matoolkit")
	staged  = absolute("../../dist")
	example = absolute("../../examples/user-migration")
)

func absolute(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		panic(err)
	}
	return abs
}

// installation is a local system with the real handler, which serves the console.
type installation struct {
	t   *testing.T
	up  int // the process of the local system, whose child is the handler
	at  system.Endpoints
	cli []string
}

func newInstallation(t *testing.T, options ...string) *installation {
	t.Helper()
	home, ready := t.TempDir(), filepath.Join(t.TempDir(), "endpoints.json")
	up := exec.Command(program, append([]string{"local", "up", "--free-ports", "--ephemeral", "--auto-approve", "--app", staged, "--endpoints", ready}, options...)...)
	var out bytes.Buffer
	up.Stdout, up.Stderr = &out, &out
	if err := up.Start(); err != nil {
		t.Fatalf("%v: run make test-console, which builds the programs", err)
	}
	t.Cleanup(func() {
		_ = up.Process.Signal(syscall.SIGTERM)
		_ = up.Wait()
	})
	i := &installation{t: t, up: up.Process.Pid}
	for end := time.Now().Add(time.Minute); ; {
		var err error
		if i.at, err = system.ReadEndpoints(ready); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the system is not ready: %v\n%s", err, &out)
		}
		time.Sleep(20 * time.Millisecond)
	}
	// All installations of a user share one key store, in which they sign each other out.
	i.cli = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home, "MATOOLKIT_TOKEN_STORE=file")
	for name, value := range i.at.CLI {
		i.cli = append(i.cli, name+"="+value)
	}
	i.run("auth", "login")
	return i
}

// run runs a command of the CLI as the administrator.
func (i *installation) run(args ...string) string {
	i.t.Helper()
	c := exec.Command(program, args...)
	c.Env = i.cli
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		i.t.Fatalf("%s: %v\n%s%s", strings.Join(args, " "), err, &out, &errs)
	}
	return out.String()
}

// startWorker runs the worker program with an id until the end of the test, or until it is killed.
func (i *installation) startWorker(id string) *exec.Cmd {
	i.t.Helper()
	w := exec.Command(filepath.Join(filepath.Dir(program), "worker"))
	w.Env = os.Environ()
	for name, value := range i.at.Worker {
		w.Env = append(w.Env, name+"="+value)
	}
	w.Env = append(w.Env, "WORKER_ID="+id)
	if err := w.Start(); err != nil {
		i.t.Fatal(err)
	}
	i.t.Cleanup(func() {
		_ = w.Process.Signal(syscall.SIGTERM)
		_ = w.Wait()
	})
	i.await(id+" alive", "worker", "list")
	return w
}

// publish publishes the text of a runbook, also if no worker has announced its functions.
func (i *installation) publish(yaml string) {
	i.t.Helper()
	i.run("runbook", "publish", "--force", write(i.t, "runbook.yaml", yaml))
}

// write writes a file of the test, and returns its path.
func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// await repeats a command of the CLI until its output has a text.
func (i *installation) await(text string, args ...string) {
	i.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		out := i.run(args...)
		if strings.Contains(strings.Join(strings.Fields(out), " "), strings.Join(strings.Fields(text), " ")) {
			return
		}
		if time.Now().After(end) {
			i.t.Fatalf("%s never shows %q:\n%s", strings.Join(args, " "), text, out)
		}
	}
}

// killHandler kills the process of the handler. The host starts another.
func (i *installation) killHandler() {
	i.t.Helper()
	children := string(testenv.Must(os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", i.up, i.up)))(i.t))
	threads := testenv.Must(filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", i.up)))(i.t)
	for _, thread := range threads {
		children += " " + string(testenv.Must(os.ReadFile(thread))(i.t))
	}
	killed := false
	for _, child := range strings.Fields(children) {
		pid := testenv.Must(strconv.Atoi(child))(i.t)
		if name, _ := os.Readlink("/proc/" + child + "/exe"); strings.HasSuffix(name, "/handler") {
			killed = syscall.Kill(pid, syscall.SIGKILL) == nil || killed
		}
	}
	if !killed {
		i.t.Fatalf("the handler is none of the processes %q", children)
	}
}

// browser is a person at the console.
type browser struct {
	t      *testing.T
	base   string
	chrome context.Context
}

func (i *installation) browser() *browser {
	i.t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.WindowSize(1280, 900),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true))
	chrome, end := chromedp.NewExecAllocator(i.t.Context(), options...)
	i.t.Cleanup(end)
	chrome, end = chromedp.NewContext(chrome)
	i.t.Cleanup(end)
	chrome, end = context.WithTimeout(chrome, 4*time.Minute)
	i.t.Cleanup(end)
	return &browser{i.t, "http://" + i.at.Addresses.Host + "/api/console/", chrome}
}

// signedIn is a browser in which a user has signed in at a view.
func (i *installation) signedIn(address, upn string) *browser {
	i.t.Helper()
	b := i.browser()
	b.signIn(address, upn)
	return b
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.chrome, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// await waits until an expression of the page is true.
func (b *browser) await(expression string) {
	b.t.Helper()
	late := time.After(45 * time.Second)
	for {
		if ok, err := chromedp.Run(b.chrome, chromedp.Evaluate[bool](expression)); ok && err == nil { // it fails between two pages
			return
		}
		select {
		case <-b.chrome.Done():
			b.t.Fatalf("never true: %s", expression)
		case <-late:
			page, _ := chromedp.Run(b.chrome, chromedp.Evaluate[string](`[location.pathname, document.body.innerText, ...[...document.querySelectorAll(".editor-host")].map((e) => "The editor has " + e.shadowRoot.querySelector(".cm-content").innerText)].join("\n")`))
			focus, _ := chromedp.Run(b.chrome, chromedp.Evaluate[string](`document.activeElement.outerHTML.slice(0, 300)`))
			b.t.Fatalf("never true: %s\nThe page is %s\nThe focus is in %s", expression, page, focus)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// shows waits until the page has a text.
func (b *browser) shows(text string) {
	b.t.Helper()
	b.showsIn("body", text)
}

// showsIn waits until the first element of a selector has a text.
func (b *browser) showsIn(selector, text string) {
	b.t.Helper()
	b.await("document.querySelector(" + quoted(selector) + ")?.innerText.includes(" + quoted(text) + ") === true")
}

// hides waits until the first element of a selector is there without a text.
func (b *browser) hides(selector, text string) {
	b.t.Helper()
	b.await("document.querySelector(" + quoted(selector) + ")?.innerText.includes(" + quoted(text) + ") === false")
}

// arrives waits until the address is that of a view.
func (b *browser) arrives(view string) {
	b.t.Helper()
	b.await("location.pathname === " + quoted("/api/console/"+view))
}

// open shows the view of an address and waits for its heading.
func (b *browser) open(address, heading string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.base + address))
	b.await("document.querySelector('main h1')?.innerText === " + quoted(heading))
}

// signIn opens a view, and signs in as a user on the page of Entra ID on the way.
func (b *browser) signIn(address, upn string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.base + address))
	choice := `input[value="` + upn + `"]`
	b.await("document.querySelector('" + choice + "') !== null")
	b.do(chromedp.Click(chromedp.CSS(choice)), chromedp.Click(chromedp.CSS("button[value=approve]")))
	b.await("document.querySelector('header.top') !== null")
}

// eval returns the value of an expression of the page.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	return testenv.Must(chromedp.Run(b.chrome, chromedp.Evaluate[T](expression)))(b.t)
}

// quoted is a text as JavaScript has it.
func quoted(text string) string {
	data, _ := json.Marshal(text) // a text always has a form
	return string(data)
}

// The first element of a selector that is seen and whose text, or name for those who cannot see it, begins with a text.
const find = `((selector, text) => [...(document.querySelector("dialog[open]") ?? document).querySelectorAll(selector)].find((e) => e.checkVisibility() && (e.innerText.trim() || e.getAttribute("aria-label") || "").startsWith(text)))`

// named is the expression of the first element of a selector that is seen and begins with a text.
func named(selector, text string) string {
	return find + "(" + quoted(selector) + ", " + quoted(text) + ")"
}

// press presses a button, a link or an entry of a menu by the beginning of its text, once it can be pressed.
func (b *browser) press(text string) {
	b.t.Helper()
	b.click(named("button, a, summary, [role=menuitem]", text))
}

// click clicks on the element of an expression, once it is there and not disabled.
func (b *browser) click(element string) {
	b.t.Helper()
	b.await(`((e) => e != null && e.ariaDisabled !== "true" && (e.click(), true))(` + element + `)`)
}

// menu presses an entry of the menu of a view.
func (b *browser) menu(entry string) {
	b.t.Helper()
	b.press("More actions")
	b.press(entry)
}

// confirms presses the button of a dialog once its effect is known, and waits until the dialog is closed.
func (b *browser) confirms(verb string) {
	b.t.Helper()
	b.press(verb)
	b.await(`document.querySelector("dialog[open]") === null`)
}

// refuses waits until a button is disabled and says why, in a text beside it or in itself.
func (b *browser) refuses(text, reason string) {
	b.t.Helper()
	button := named("button", text)
	b.await(button + `?.ariaDisabled === "true" && (document.getElementById(` + button + `.getAttribute("aria-describedby")) ?? ` + button + `).textContent.includes(` + quoted(reason) + `)`)
}

// keys presses keys.
func (b *browser) keys(keys ...string) {
	b.t.Helper()
	for _, key := range keys {
		b.do(chromedp.KeyEvent(key))
	}
}

// downloads has the browser save files to a folder, and returns a function that waits for the only one of a pattern.
func (b *browser) downloads() func(pattern string) string {
	b.t.Helper()
	folder := b.t.TempDir()
	testenv.Must(chromedp.CallBrowser(b.chrome, cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{Behavior: "allow", DownloadPath: folder}))(b.t)
	return func(pattern string) string {
		b.t.Helper()
		var content string
		testenv.Eventually(b.t, pattern+" is saved", func() bool {
			files, _ := filepath.Glob(filepath.Join(folder, pattern))
			if len(files) != 1 {
				return false
			}
			content = string(testenv.Must(os.ReadFile(files[0]))(b.t))
			return content != ""
		})
		return content
	}
}

// fill types a text into the field with a label.
func (b *browser) fill(label, text string) {
	b.t.Helper()
	field := named("label", label)
	b.await(field + " !== undefined")
	b.do(chromedp.Evaluate[chromedp.Void](`void ((field) => {
		const set = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), "value").set;
		set.call(field, ` + quoted(text) + `);
		field.dispatchEvent(new Event("input", { bubbles: true }));
		field.dispatchEvent(new Event("change", { bubbles: true }));
	})(document.getElementById(` + field + `.htmlFor))`))
}

// fillFilter types into a field that has a name but no label that is seen.
func (b *browser) fillFilter(name, text string) {
	b.t.Helper()
	field := `document.querySelector('input[aria-label=` + quoted(name) + `]')`
	b.await(field + ` !== null`)
	b.await(`((field) => { field.value = ` + quoted(text) + `; field.dispatchEvent(new Event("input", { bubbles: true })); return true; })(` + field + `)`)
}

// drop drops a file onto the page.
func (b *browser) drop(selector, name, content string) {
	b.t.Helper()
	b.await("document.querySelector(" + quoted(selector) + ") !== null")
	b.do(chromedp.Evaluate[chromedp.Void](`void ((target, transfer) => {
		transfer.items.add(new File([` + quoted(content) + `], ` + quoted(name) + `, { type: "text/csv" }));
		target.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
	})(document.querySelector(` + quoted(selector) + `), new DataTransfer())`))
}
