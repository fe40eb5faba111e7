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

	"github.com/chromedp/chromedp"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/system"
)

// The programs and the staged app that "make build" builds.
var (
	program = absolute("../../bin/matoolkit")
	staged  = absolute("../../dist")
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
	i.cli = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home)
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

// startWorker runs the worker program until the end of the test.
func (i *installation) startWorker() {
	i.t.Helper()
	w := exec.Command(filepath.Join(filepath.Dir(program), "worker"))
	w.Env = os.Environ()
	for name, value := range i.at.Worker {
		w.Env = append(w.Env, name+"="+value)
	}
	if err := w.Start(); err != nil {
		i.t.Fatal(err)
	}
	i.t.Cleanup(func() {
		_ = w.Process.Signal(syscall.SIGTERM)
		_ = w.Wait()
	})
	i.await("worker-01  alive", "worker", "list")
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
			b.t.Fatalf("never true: %s\nThe page is %s", expression, page)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// shows waits until the page has a text.
func (b *browser) shows(text string) {
	b.t.Helper()
	b.await("document.body.innerText.includes(" + string(testenv.Must(json.Marshal(text))(b.t)) + ")")
}

// open shows the view of an address and waits for its heading.
func (b *browser) open(address, heading string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.base + address))
	b.await("document.querySelector('main h1')?.innerText === " + string(testenv.Must(json.Marshal(heading))(b.t)))
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

// press presses a button, a link or an entry of a menu by the beginning of its text, once it can be pressed.
func (b *browser) press(text string) {
	b.t.Helper()
	element := find + `("button, a, summary, [role=menuitem]", ` + quoted(text) + `)`
	b.await(element + ` !== undefined && ` + element + `.ariaDisabled !== "true"`)
	b.do(chromedp.Evaluate[chromedp.Void]("void " + element + ".click()"))
}

// fill types a text into the field with a label.
func (b *browser) fill(label, text string) {
	b.t.Helper()
	field := find + `("label", ` + quoted(label) + `)`
	b.await(field + " !== undefined")
	b.do(chromedp.Evaluate[chromedp.Void](`void ((field) => {
		const set = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), "value").set;
		set.call(field, ` + quoted(text) + `);
		field.dispatchEvent(new Event("input", { bubbles: true }));
		field.dispatchEvent(new Event("change", { bubbles: true }));
	})(document.getElementById(` + field + `.htmlFor))`))
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
