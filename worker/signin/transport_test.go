package signin_test

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/keyvault"
	"github.com/matoolkit/matoolkit/worker/signin"
)

// api takes a body with a token that is not revoked.
type api struct {
	*httptest.Server
	mu      sync.Mutex
	revoked map[string]bool
	all     bool
	header  string
	bodies  []string
	calls   int
}

func newAPI(t *testing.T) *api {
	t.Helper()
	a := &api{revoked: map[string]bool{}}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.calls++
		if token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "); a.all || a.revoked[token] {
			w.Header().Set("WWW-Authenticate", a.header)
			http.Error(w, "revoked", http.StatusUnauthorized)
			return
		}
		a.bodies = append(a.bodies, string(body))
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *api) revoke(token, header string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.revoked[token], a.header = true, header
}

// post sends a body as Graph's client does: it cannot be read twice.
func (a *api) post(t *testing.T, client *http.Client, token string) int {
	t.Helper()
	r := testenv.Must(http.NewRequestWithContext(t.Context(), http.MethodPost, a.URL, io.NopCloser(strings.NewReader("the body"))))(t)
	r.Header.Set("Authorization", "Bearer "+token)
	response := testenv.Must(client.Do(r))(t)
	_ = response.Body.Close()
	if got := r.Header.Get("Authorization"); got != "Bearer "+token {
		t.Errorf("the request was changed")
	}
	return response.StatusCode
}

func signedIn(t *testing.T) (*world, *signin.Credential, *http.Client) {
	t.Helper()
	w := newWorld(t)
	w.accept(t, []string{"s"})
	w.set(t, "worker", keyvault.Secret{Value: "s"})
	credential := w.mustOpen(t, secret)
	return w, credential, &http.Client{Transport: credential.Transport(nil)}
}

func TestARevokedTokenIsReplacedOnce(t *testing.T) {
	t.Parallel()
	w, credential, client := signedIn(t)
	a := newAPI(t)
	token := w.token(t, credential, graphScope)
	if a.post(t, client, token) != 200 || w.requests.count() != 1 {
		t.Fatal("a good token is not used")
	}
	a.revoke(token, "")
	// Every job that holds the revoked token is served, by one new one.
	var jobs sync.WaitGroup
	for range 10 {
		jobs.Go(func() {
			if status := a.post(t, client, token); status != 200 {
				t.Errorf("a job was answered %d", status)
			}
		})
	}
	jobs.Wait()
	if n := w.requests.count(); n != 2 {
		t.Errorf("%d requests for tokens, want 2", n)
	}
	second := w.token(t, credential, graphScope)
	if second == token {
		t.Error("the revoked token is still given out")
	}
	a.revoke(second, "")
	if status := a.post(t, client, second); status != 200 {
		t.Errorf("a second revocation: answered %d", status)
	}
	for _, body := range a.bodies {
		if body != "the body" {
			t.Errorf("the body arrived as %q", body)
		}
	}
}

func TestAnAPIThatRefusesEveryTokenIsNotFedWithThem(t *testing.T) {
	t.Parallel()
	w, credential, client := signedIn(t)
	a := newAPI(t)
	a.all = true
	for range 10 {
		if status := a.post(t, client, w.token(t, credential, graphScope)); status != 401 {
			t.Fatalf("answered %d", status)
		}
	}
	if n := w.requests.count(); n != 2 {
		t.Errorf("%d requests for tokens, want 2", n)
	}
	w.clock.Advance(time.Minute)
	a.post(t, client, w.token(t, credential, graphScope))
	if n := w.requests.count(); n != 3 {
		t.Errorf("%d requests for tokens, want 3: it may be another reason by now", n)
	}
}

func TestATokenFromElsewhereIsNotReplaced(t *testing.T) {
	t.Parallel()
	w, credential, client := signedIn(t)
	a := newAPI(t)
	w.token(t, credential, graphScope)
	a.revoke("another", "")
	if status := a.post(t, client, "another"); status != 401 || a.calls != 1 || w.requests.count() != 1 {
		t.Errorf("answered %d after %d calls", status, a.calls)
	}
	response := testenv.Must(client.Get(a.URL))(t)
	if _ = response.Body.Close(); response.StatusCode != http.StatusOK {
		t.Errorf("without a token: %d", response.StatusCode)
	}
}

func TestClaimsThatAnAPIAsksForAreAskedOfEntraID(t *testing.T) {
	t.Parallel()
	w, credential, client := signedIn(t)
	a := newAPI(t)
	const claims = `{"access_token":{"nbf":{"essential":true,"value":"1700000000"}}}`
	token := w.token(t, credential, graphScope)
	a.revoke(token, `Bearer realm="", authorization_uri="x", error="insufficient_claims", claims="`+base64.StdEncoding.EncodeToString([]byte(claims))+`"`)
	if status := a.post(t, client, token); status != 200 {
		t.Fatalf("answered %d", status)
	}
	if form := w.requests.lastForm(); !strings.Contains(form.Get("claims"), `"nbf"`) {
		t.Errorf("asked for claims %q", form.Get("claims"))
	}
}
