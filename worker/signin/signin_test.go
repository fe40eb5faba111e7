package signin_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/google/uuid"
	"software.sslmate.com/src/go-pkcs12"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/keyvault"
	"github.com/matoolkit/matoolkit/worker/signin"
)

const (
	identityHeader = "the-header-of-this-process"
	graphScope     = entra.GraphAudience + "/.default"
	exchangeScope  = entra.ExchangeAudience + "/.default"
	vaultTenant    = "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1bd0"
)

// identities are the managed identities of this process, each served by the directory
// of a test of its own: the SDK finds them by variables of the process, and keeps their
// tokens for it.
var identities sync.Map // client id → http.Handler

func TestMain(m *testing.M) {
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler, ok := identities.Load(r.URL.Query().Get("client_id"))
		if !ok {
			http.Error(w, `{"statusCode":400,"message":"No User Assigned or Delegated Managed Identity found"}`, http.StatusBadRequest)
			return
		}
		handler.(http.Handler).ServeHTTP(w, r)
	}))
	for name, value := range map[string]string{"IDENTITY_ENDPOINT": endpoint.URL + "/", "IDENTITY_HEADER": identityHeader} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	endpoint.Close()
	os.Exit(code)
}

// world is Entra ID, a vault that a managed identity of it may read, and a worker's
// clock and log.
type world struct {
	directory *entra.Server
	vault     *keyvault.Server
	identity  string // client id of the managed identity
	clock     *testenv.Clock
	log       *testenv.Buffer
	requests  *counter // of the worker at Entra ID
	allowed   func(token string) bool
}

// counter counts token requests and can fail them.
type counter struct {
	base http.RoundTripper
	mu   sync.Mutex
	n    int
	last string
	fail func() *http.Response
}

// lastForm returns the form of the last request.
func (c *counter) lastForm() url.Values {
	c.mu.Lock()
	defer c.mu.Unlock()
	form, _ := url.ParseQuery(c.last)
	return form
}

func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, "/token") {
		return c.base.RoundTrip(r)
	}
	sent, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(sent))
	c.mu.Lock()
	c.n++
	c.last = string(sent)
	fail := c.fail
	c.mu.Unlock()
	if fail != nil {
		if response := fail(); response != nil {
			response.Request = r
			return response, nil
		}
	}
	return c.base.RoundTrip(r)
}

func (c *counter) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

func (c *counter) failWith(fail func() *http.Response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = fail
}

func answering(status int, body string) func() *http.Response {
	return func() *http.Response {
		w := httptest.NewRecorder()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.WriteString(body)
		return w.Result()
	}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{identity: uuid.NewString(), clock: testenv.NewClock(), log: &testenv.Buffer{}}
	config := entra.DefaultConfig()
	config.Addr = "127.0.0.1:0"
	config.Tenants = append(config.Tenants, entra.Tenant{ID: vaultTenant, Applications: append(entra.MicrosoftResources(),
		entra.Application{ClientID: w.identity, Name: "worker's identity"})})
	w.directory = testenv.Started(entra.Start(t.Context(), config))(t)
	identities.Store(w.identity, w.directory.ManagedIdentity(identityHeader, "", w.identity))
	t.Cleanup(func() { identities.Delete(w.identity) })
	certificate := testenv.Must(w.directory.ServerCertificate())(t)
	w.vault = testenv.Started(keyvault.Start(t.Context(), keyvault.Config{
		Certificate: certificate, Authority: w.directory.URL(), TenantID: vaultTenant, VerifyToken: w.directory.VerifyToken,
		Allowed: func(token string) bool { return w.allowed == nil || w.allowed(token) }, Now: w.clock.Now,
	}))(t)
	w.requests = &counter{base: w.directory.HTTPClient().Transport}
	return w
}

// set puts a version of a secret into the vault.
func (w *world) set(t *testing.T, name string, secret keyvault.Secret) string {
	t.Helper()
	return testenv.Must(w.vault.Set(name, secret))(t)
}

// accept makes these the credentials of the app registration.
func (w *world) accept(t *testing.T, secrets []string, certificates ...*x509.Certificate) {
	t.Helper()
	if err := w.directory.SetCredentials(entra.DefaultTenantID, entra.DefaultWorkerClientID, secrets, certificates); err != nil {
		t.Fatal(err)
	}
}

// once makes the SDKs give up at the first failure.
var once = policy.RetryOptions{MaxRetries: -1}

func (w *world) vaultConfig(t *testing.T) signin.VaultConfig {
	t.Helper()
	identity := testenv.Must(signin.ManagedIdentity(w.identity, nil))(t)
	return signin.VaultConfig{URL: w.vault.URL(), Identity: identity, HTTP: w.directory.HTTPClient(), Retry: once}
}

func (w *world) config() signin.Config {
	return signin.Config{
		TenantID: entra.DefaultTenantID, AppID: entra.DefaultWorkerClientID, AuthorityHost: w.directory.URL(), Local: true,
		Scope: graphScope, HTTP: &http.Client{Transport: w.requests}, Retry: once, Now: w.clock.Now,
		Log: slog.New(slog.NewTextHandler(w.log, nil)),
	}
}

// open signs in by what change names in the vault.
func (w *world) open(t *testing.T, change func(*signin.VaultConfig)) (*signin.Credential, error) {
	t.Helper()
	vaultConfig := w.vaultConfig(t)
	change(&vaultConfig)
	vault, err := signin.NewVault(vaultConfig)
	if err != nil {
		return nil, err
	}
	config := w.config()
	config.Vault = vault
	credential, err := signin.Open(t.Context(), config)
	if err == nil {
		t.Cleanup(credential.Close)
	}
	return credential, err
}

func (w *world) mustOpen(t *testing.T, change func(*signin.VaultConfig)) *signin.Credential {
	t.Helper()
	return testenv.Must(w.open(t, change))(t)
}

func certificate(c *signin.VaultConfig) { c.Certificate = "worker" }
func secret(c *signin.VaultConfig)      { c.Secret = "worker" }

// token asks for one and has the directory verify it.
func (w *world) token(t *testing.T, credential *signin.Credential, scope string) string {
	t.Helper()
	token := testenv.Must(credential.GetToken(t.Context(), tokenOptions(scope)))(t)
	if err := w.directory.VerifyToken(token.Token, strings.TrimSuffix(scope, "/.default")); err != nil {
		t.Fatal(err)
	}
	return token.Token
}

func ask(ctx context.Context, credential *signin.Credential) error {
	_, err := credential.GetToken(ctx, tokenOptions(graphScope))
	return err
}

// tokenOptions are as Graph's client gives them.
func tokenOptions(scope string) policy.TokenRequestOptions {
	return policy.TokenRequestOptions{Scopes: []string{scope}, EnableCAE: true}
}

// keys take long to make.
var (
	workerKey  = sync.OnceValue(newKey)
	anotherKey = sync.OnceValue(newKey)
)

func newKey() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
}

// issue makes a certificate for a key, signed by that key.
func issue(t *testing.T, key *rsa.PrivateKey, from, to time.Time) *x509.Certificate {
	t.Helper()
	serial := testenv.Must(rand.Int(rand.Reader, big.NewInt(1<<62)))(t)
	template := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: "matoolkit worker"}, NotBefore: from, NotAfter: to}
	der := testenv.Must(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))(t)
	return testenv.Must(x509.ParseCertificate(der))(t)
}

// current makes a certificate for the worker that is good for a year.
func current(t *testing.T) *x509.Certificate {
	t.Helper()
	return issue(t, workerKey(), time.Now().Add(-time.Hour), time.Now().AddDate(1, 0, 0))
}

// stored is a certificate as Key Vault gives it: a PFX without a password.
func stored(t *testing.T, made *x509.Certificate) keyvault.Secret {
	t.Helper()
	pfx := testenv.Must(pkcs12.LegacyDES.Encode(workerKey(), made, nil, ""))(t)
	return keyvault.Secret{Value: base64.StdEncoding.EncodeToString(pfx), ContentType: keyvault.ContentTypePFX}
}

func thumbprint(made *x509.Certificate) string { return fmt.Sprintf("%X", sha1.Sum(made.Raw)) }
