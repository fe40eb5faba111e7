//go:build browser

package browser

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
)

// msal is the folder of the package @azure/msal-browser, whose files are served as they are.
const msal = "node_modules/@azure/msal-browser/lib"

// scene is a page that signs in with MSAL, a local Entra ID and Chromium.
type scene struct {
	t      *testing.T
	page   string
	entra  *entra.Server
	clock  *testenv.Clock
	chrome context.Context
}

func newScene(t *testing.T) *scene {
	t.Helper()
	listener := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	// Over TLS the page and Entra ID are one site, so that the browser sends the cookie of Entra ID from
	// a frame as well.
	s := &scene{t: t, page: "https://" + listener.Addr().String() + "/api/console/", clock: testenv.NewClock()}

	config := entra.DefaultConfig()
	config.Addr, config.Now = "127.0.0.1:0", s.clock.Now
	config.AddRedirectURIs(entra.DefaultConsoleClientID, s.page, s.page+"bridge.html")
	s.entra = testenv.Must(entra.Start(t.Context(), config))(t)
	t.Cleanup(func() { _ = s.entra.Close() })

	mux := http.NewServeMux()
	for path, file := range map[string]string{
		"/api/console/{$}": "testdata/page.html", "/api/console/bridge.html": "testdata/bridge.html", "/page.js": "testdata/page.js", "/answer.js": "testdata/answer.js",
		"/msal.js": filepath.Join(msal, "msal-browser.min.js"), "/bridge.js": filepath.Join(msal, "redirect-bridge/msal-redirect-bridge.min.js"),
	} {
		if _, err := os.Stat(file); err != nil {
			t.Fatalf("%v: run make test-browser, which installs MSAL", err)
		}
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, file) })
	}
	mux.HandleFunc("GET /config.json", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{
			"clientId": entra.DefaultConsoleClientID, "authority": s.entra.URL() + "/" + entra.DefaultTenantID,
			"scope": entra.DefaultAdminAPIAudience + "/access_as_user", "redirectUri": s.page, "bridgeUri": s.page + "bridge.html", "user": entra.DefaultReaderUPN,
		})
	})
	certificate := testenv.Must(s.entra.ServerCertificate())(t)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}}
	go func() { _ = server.ServeTLS(listener, "", "") }()
	t.Cleanup(func() { _ = server.Close() })

	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.Flag("ignore-certificate-errors", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-quic", true))
	chrome, end := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(end)
	chrome, end = chromedp.NewContext(chrome)
	t.Cleanup(end)
	s.chrome, end = context.WithTimeout(chrome, 2*time.Minute)
	t.Cleanup(end)
	return s
}

func (s *scene) do(steps ...chromedp.Action[chromedp.Void]) {
	s.t.Helper()
	if err := chromedp.Do(s.chrome, steps...); err != nil {
		s.t.Fatal(err)
	}
}

func valueOf[T any](s *scene, a chromedp.Action[T]) T {
	s.t.Helper()
	return testenv.Must(chromedp.Run(s.chrome, a))(s.t)
}

// answer is the return value of a function of the page.
type answer struct {
	User, Nonce, Token, Error, Detail string
	Scopes                            []string
	Cached                            bool
}

// call calls a function of the page and waits for its answer.
func (s *scene) call(expression string) answer {
	s.t.Helper()
	return valueOf(s, chromedp.Evaluate[answer](expression, chromedp.EvalAwaitPromise))
}

// open loads the page and returns what MSAL made of its address.
func (s *scene) open() answer {
	s.t.Helper()
	s.do(chromedp.Navigate(s.page))
	return s.started()
}

func (s *scene) started() answer {
	s.t.Helper()
	return *await[*answer](s, "window.left ? null : window.started || null")
}

// leave calls a function of the page that leads away from it, and waits for an element of the next.
func (s *scene) leave(expression, element string) {
	s.t.Helper()
	s.do(chromedp.Evaluate[chromedp.Void]("void (window.left = true, " + expression + ")"))
	await[bool](s, fmt.Sprintf("!window.left && document.querySelector(%q) !== null", element))
}

// await evaluates an expression until its value is not the zero value. A page that is about to be
// replaced cannot be asked, so a failed evaluation is repeated as well.
func await[T comparable](s *scene, expression string) T {
	s.t.Helper()
	var zero T
	for {
		value, err := chromedp.Run(s.chrome, chromedp.Evaluate[T](expression))
		if err == nil && value != zero {
			return value
		}
		select {
		case <-s.chrome.Done():
			s.t.Fatalf("%s stayed %v: %v", expression, value, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// click leaves the page of Entra ID by a button.
func (s *scene) click(button string) answer {
	s.t.Helper()
	s.leave(fmt.Sprintf("document.querySelector(%q).click()", button), "#account")
	return s.started()
}

func (s *scene) signIn() answer {
	s.t.Helper()
	s.open()
	s.leave("signIn()", `input[value="`+entra.DefaultReaderUPN+`"]`)
	s.do(chromedp.Click(chromedp.CSS(`input[value="` + entra.DefaultReaderUPN + `"]`)))
	return s.click("button[value=approve]")
}

// TestSignIn: an unmodified MSAL signs in, uses its cache, refreshes, and gets an answer in a frame.
func TestSignIn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	if a := s.signIn(); a.User != entra.DefaultReaderUPN || a.Nonce == "" || a.Token == "" || !strings.Contains(strings.Join(a.Scopes, " "), "access_as_user") {
		t.Fatalf("%+v", a)
	}
	cached := s.call("silent()")
	if !cached.Cached || cached.Token == "" {
		t.Errorf("from the cache: %+v", cached)
	}
	refreshed := s.call("silent({forceRefresh: true})")
	if refreshed.Token == "" || refreshed.Token == cached.Token || refreshed.Cached {
		t.Errorf("refreshed: %+v", refreshed)
	}
	if err := s.entra.VerifyToken(refreshed.Token, entra.DefaultAdminAPIClientID); err != nil {
		t.Errorf("the token of the API: %v", err)
	}
	if a := s.call("single()"); a.User != entra.DefaultReaderUPN || a.Token == "" {
		t.Errorf("in a frame: %+v", a)
	}
}

// TestExpiredRefreshToken: a day after the sign-in, MSAL needs the visitor.
func TestExpiredRefreshToken(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.signIn()
	s.clock.Advance(25 * time.Hour)
	if a := s.call("silent({forceRefresh: true})"); a.Error != "login_required" {
		t.Errorf("%+v", a)
	}
}

// TestSignOut: the session ends for frames as well.
func TestSignOut(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.signIn()
	s.leave("signOut()", "#account")
	if a := s.started(); a.User != "" || a.Error != "" {
		t.Errorf("after the sign-out: %s %s", a.User, a.Error)
	}
	if a := s.call("single()"); a.Error != "login_required" {
		t.Errorf("in a frame: %+v", a)
	}
}

// TestWrongRedirectURI: the visitor stays at Entra ID, which says why.
func TestWrongRedirectURI(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.open()
	s.leave(`signIn({redirectUri: location.origin + "/other"})`, ".problem")
	text, at := valueOf(s, chromedp.Text(chromedp.CSS(".problem"))), valueOf(s, chromedp.Location())
	if !strings.Contains(text, "AADSTS50011") || !strings.HasPrefix(at, s.entra.URL()) {
		t.Errorf("at %s: %s", at, text)
	}
}

// TestDeclinedSignIn: MSAL tells the page.
func TestDeclinedSignIn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.open()
	s.leave("signIn()", `button[value=decline]`)
	if a := s.click("button[value=decline]"); a.Error != "access_denied" {
		t.Errorf("%+v", a)
	}
}
