//go:build browser

package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
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
	at  system.Endpoints
	cli []string
}

func newInstallation(t *testing.T) *installation {
	t.Helper()
	home, ready := t.TempDir(), filepath.Join(t.TempDir(), "endpoints.json")
	up := exec.Command(program, "local", "up", "--free-ports", "--ephemeral", "--auto-approve", "--app", staged, "--endpoints", ready)
	var out bytes.Buffer
	up.Stdout, up.Stderr = &out, &out
	if err := up.Start(); err != nil {
		t.Fatalf("%v: run make test-console, which builds the programs", err)
	}
	t.Cleanup(func() {
		_ = up.Process.Signal(syscall.SIGTERM)
		_ = up.Wait()
	})
	i := &installation{t: t}
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
	chrome, end = context.WithTimeout(chrome, 2*time.Minute)
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
	for {
		if ok, err := chromedp.Run(b.chrome, chromedp.Evaluate[bool](expression)); ok && err == nil { // it fails between two pages
			return
		}
		select {
		case <-b.chrome.Done():
			b.t.Fatalf("never true: %s", expression)
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

// TestConsole: a reader signs in at the address of a view, and sees the waves, one of them, and a person found by a column.
func TestConsole(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	example := absolute("../../examples/user-migration")
	i.run("runbook", "publish", "--force", filepath.Join(example, "runbook.yaml")) // no worker runs
	i.run("batch", "create", "user-migration", filepath.Join(example, "members.csv"), "--name", "Finance and Legal")

	b := i.browser()
	b.signIn("waves/1", entra.DefaultReaderUPN)
	// The sign-in comes back to the address that it began at.
	b.shows("Finance and Legal")
	b.shows("pre-stage")
	b.shows("ada.lindqvist@fabrikam.com")
	b.open("waves", "Waves")
	b.shows("user-migration")
	b.open("people?q=lindqvist", "People")
	b.do(chromedp.Click(chromedp.CSS("main table a")))
	b.await("location.pathname === '/api/console/waves/1/people/1'")
	b.shows("No phase has started for this person.")

	// What changes elsewhere is shown without a reload.
	b.open("waves/1", "Finance and Legal")
	i.run("batch", "pause", "1", "--reason", "the change is not approved")
	b.shows("Paused")
}

// TestConsolePolicy: nothing of the page is blocked by its Content-Security-Policy, and no request leaves this machine.
func TestConsolePolicy(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	b := i.browser()
	b.signIn("waves", entra.DefaultReaderUPN)
	b.do(chromedp.Evaluate[chromedp.Void]("void (window.blocked = [], document.addEventListener('securitypolicyviolation', (e) => window.blocked.push(e.violatedDirective + ' ' + e.blockedURI)))"))
	b.do(chromedp.Click(chromedp.CSS(`nav a[href="/api/console/people"]`)))
	b.await("document.querySelector('main h1')?.innerText === 'People'")
	blocked := testenv.Must(chromedp.Run(b.chrome, chromedp.Evaluate[[]string]("window.blocked")))(t)
	if len(blocked) > 0 {
		t.Errorf("blocked: %q", blocked)
	}
	hosts := testenv.Must(chromedp.Run(b.chrome, chromedp.Evaluate[[]string]("[...new Set(performance.getEntriesByType('resource').map((e) => new URL(e.name).hostname))]")))(t)
	for _, host := range hosts {
		if host != "127.0.0.1" {
			t.Errorf("a request to %s", host)
		}
	}
}
