package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"software.sslmate.com/src/go-pkcs12"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/keyvault"
	"github.com/matoolkit/matoolkit/local/servicebus"
	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/program"
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
	for name, value := range map[string]string{"IDENTITY_ENDPOINT": endpoint.URL + "/", "IDENTITY_HEADER": "h"} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	endpoint.Close()
	os.Exit(code)
}

// cloud is all that a worker signs in to: Entra ID, a vault, a target tenant that knows
// permissions, and Service Bus.
type cloud struct {
	directory *entra.Server
	vault     *keyvault.Server
	target    *tenant.Server
	broker    *servicebus.Server
	identity  string // client id of the worker's managed identity

	mu      sync.Mutex
	revoked map[string]bool
	seen    map[string]string // the last token by audience
	noRole  bool              // the app has no directory role for Exchange
	calls   int               // of Graph and Exchange
	expire  int               // the call after which all tokens expire; 0 is none
	ahead   atomic.Int64      // how far the clock of the tenant and of Entra ID is ahead
}

// newCloud starts them. roles are the app's permissions by the resource's client id;
// nil means all that it needs.
func newCloud(t *testing.T, roles map[string][]string) *cloud {
	t.Helper()
	c := &cloud{identity: uuid.NewString(), revoked: map[string]bool{}, seen: map[string]string{}}
	config := entra.DefaultConfig()
	config.Addr, config.DataDir = "127.0.0.1:0", t.TempDir()
	config.Now = func() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }
	applications := config.Tenants[0].Applications
	for i := range applications {
		if applications[i].ClientID == entra.DefaultWorkerClientID && roles != nil {
			applications[i].Roles = roles
		}
	}
	config.Tenants[0].Applications = slices.Concat(applications, []entra.Application{{ClientID: c.identity, Name: "worker's identity"}})
	c.directory = testenv.Started(entra.Start(t.Context(), config))(t)
	identities.Store(c.identity, c.directory.ManagedIdentity("h", "", c.identity))
	t.Cleanup(func() { identities.Delete(c.identity) })
	certificate := testenv.Must(c.directory.ServerCertificate())(t)
	c.vault = testenv.Started(keyvault.Start(t.Context(), keyvault.Config{
		Certificate: certificate, Authority: c.directory.URL(), TenantID: entra.DefaultTenantID, VerifyToken: c.directory.VerifyToken,
	}))(t)
	c.target = testenv.Started(tenant.Start(t.Context(), tenant.Config{
		TenantID: entra.DefaultTenantID, VerifyToken: c.verify,
		Seed: &tenant.Seed{Groups: []tenant.SeedGroup{{Properties: map[string]any{
			"id": groupID, "displayName": "Pilots", "mailNickname": "pilots", "mailEnabled": false, "securityEnabled": true,
		}}}},
	}))(t)
	c.broker = testenv.Started(servicebus.Start(t.Context(), servicebus.Config{
		Addr: "127.0.0.1:0", Topology: servicebus.DefaultTopology(), Key: "c2VjcmV0",
		VerifyToken: func(token, _ string) error { return c.directory.VerifyToken(token, entra.ServiceBusAudience) },
	}))(t)
	return c
}

// verify is how the target tenant judges a token.
func (c *cloud) verify(token, audience string) error {
	claims, err := c.directory.VerifyClaims(token, audience)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[audience] = token
	if c.calls++; c.calls == c.expire {
		defer c.ahead.Store(int64(2 * time.Hour))
	}
	switch {
	case c.revoked[token]:
		return errors.New("the token was revoked")
	case len(claims.Roles) == 0:
		return tenant.ErrMissingPermission
	case c.noRole && audience == tenant.ExchangeAudience:
		return tenant.ErrMissingRole
	}
	return nil
}

// revoke makes the tokens that were used so far void.
func (c *cloud) revoke() (revoked int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, token := range c.seen {
		c.revoked[token] = true
	}
	return len(c.seen)
}

func (c *cloud) environment(changes map[string]string) func(string) string {
	env := map[string]string{
		program.EnvWorkerID: "worker-01", program.EnvBusString: c.broker.ConnectionString(),
		envTenantID: entra.DefaultTenantID, envAppID: entra.DefaultWorkerClientID, program.EnvIdentityID: c.identity,
		envVaultURL: c.vault.URL(), envCertName: "worker",
		envAuthorityHost: c.directory.URL(), "EXTRA_CA_FILE": c.directory.CAFile(),
		envGraphURL: c.target.URL(), envExchangeURL: c.target.URL(), program.EnvIdle: "0",
	}
	maps.Copy(env, changes)
	return func(name string) string { return env[name] }
}

// newCertificate puts a certificate into the vault as the current one, and has the app
// registration know it and no other.
func (c *cloud) newCertificate(t *testing.T) {
	t.Helper()
	key := testenv.Must(rsa.GenerateKey(rand.Reader, 2048))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "matoolkit worker"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
	}
	der := testenv.Must(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))(t)
	certificate := testenv.Must(x509.ParseCertificate(der))(t)
	pfx := testenv.Must(pkcs12.Modern2023.Encode(key, certificate, nil, ""))(t)
	if _, err := c.vault.Set("worker", keyvault.Secret{Value: base64.StdEncoding.EncodeToString(pfx), ContentType: keyvault.ContentTypePFX}); err != nil {
		t.Fatal(err)
	}
	if err := c.directory.SetCredentials(entra.DefaultTenantID, entra.DefaultWorkerClientID, nil, []*x509.Certificate{certificate}); err != nil {
		t.Fatal(err)
	}
}

// The worker as it runs in Azure: a certificate from Key Vault, read as a managed
// identity. Tokens are revoked and the certificate is replaced under it, and no job
// notices.
func TestWorkerWithACertificateThatIsReplaced(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := newCloud(t, nil)
	c.newCertificate(t)
	log := &testenv.Buffer{}
	workerCtx, stop := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	go func() { stopped <- run(workerCtx, c.environment(nil), log) }()
	o := newOrchestrator(t, ctx, c.broker.ConnectionString())

	address := func(n int) string { return fmt.Sprintf("grace%d@contoso.example", n) }
	var user struct{ UserId string }
	created := o.do(t, ctx, "New-ExchangeMailUser", map[string]any{
		"DisplayName": "Grace Hopper", "UserPrincipalName": address(0), "Password": "Pa55word-Of-Grace", "ExternalEmail": "grace@old.example",
	})
	if err := json.Unmarshal(created.Result, &user); err != nil || user.UserId == "" {
		t.Fatalf("New-ExchangeMailUser answered %s %+v\n%s", created.Result, created.Error, log)
	}
	for n, happens := range []func(){
		func() {},
		func() { // a body has to be sent again, to both APIs
			if c.revoke() != 2 {
				t.Error("the two APIs were not both used")
			}
		},
		func() { // new tokens take the new certificate
			c.newCertificate(t)
			c.revoke()
		},
	} {
		happens()
		for function, params := range map[string]map[string]any{
			"Set-EntraUserUPN":         {"UserId": user.UserId, "NewUserPrincipalName": address(n + 1)},
			"Set-ExchangePrimaryEmail": {"Identity": user.UserId, "PrimaryEmail": address(n + 1)},
		} {
			if got := o.do(t, ctx, function, params); string(got.Result) != "true" {
				t.Fatalf("%d: %s answered %s %+v\n%s", n, function, got.Result, got.Error, log)
			}
		}
	}
	stop()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if lines := log.String(); strings.Count(lines, "with a new credential") != 1 || strings.Contains(lines, "BEGIN") || strings.Contains(lines, "eyJ") {
		t.Errorf("the log is\n%s", lines)
	}
}

// A job whose first call is answered and whose token has expired by the second.
func TestATokenThatExpiresInTheMiddleOfAJob(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := newCloud(t, nil)
	if _, err := c.vault.Set("text", keyvault.Secret{Value: entra.DefaultWorkerSecret}); err != nil {
		t.Fatal(err)
	}
	log := &testenv.Buffer{}
	workerCtx, stop := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	go func() {
		stopped <- run(workerCtx, c.environment(map[string]string{envCertName: "", envSecretName: "text"}), log)
	}()
	o := newOrchestrator(t, ctx, c.broker.ConnectionString())
	var user struct{ UserId string }
	created := o.do(t, ctx, "New-ExchangeMailUser", map[string]any{
		"DisplayName": "Ada Lovelace", "UserPrincipalName": "ada@contoso.example", "Password": "Pa55word-Of-Ada", "ExternalEmail": "ada@old.example",
	})
	if err := json.Unmarshal(created.Result, &user); err != nil || user.UserId == "" {
		t.Fatalf("New-ExchangeMailUser answered %s %+v\n%s", created.Result, created.Error, log)
	}
	for function, params := range map[string]map[string]any{
		"Remove-EntraGroupMember":  {"UserId": user.UserId, "GroupId": groupID}, // who is none, which takes reads to confirm
		"Set-ExchangePrimaryEmail": {"Identity": user.UserId, "PrimaryEmail": "countess@contoso.example"},
	} {
		c.mu.Lock()
		c.ahead.Store(0)
		before := c.calls
		c.expire = before + 1
		c.mu.Unlock()
		if got := o.do(t, ctx, function, params); string(got.Result) != "true" {
			t.Fatalf("%s answered %s %+v\n%s", function, got.Result, got.Error, log)
		}
		c.mu.Lock()
		if c.ahead.Load() == 0 || c.calls < before+3 {
			t.Errorf("%s made %d calls: the token did not expire between two", function, c.calls-before)
		}
		c.mu.Unlock()
	}
	stop()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestStartSaysWhatIsWrongWithTheSignIn(t *testing.T) {
	t.Parallel()
	text := map[string]string{envCertName: "", envSecretName: "text"}
	for name, tc := range map[string]struct {
		changes map[string]string
		roles   map[string][]string
		noRole  bool
		want    []string
	}{
		"wrong tenant": {map[string]string{envTenantID: "11111111-1111-1111-1111-111111111111"}, nil, false, []string{
			"trial sign-in:", "Microsoft Graph: ", "AADSTS90002", "check TARGET_TENANT_ID",
		}},
		"wrong secret": {map[string]string{envSecretName: "wrong"}, nil, false, []string{
			"trial sign-in:", "Exchange Online: ", "AADSTS7000215", "wrong client secret",
		}},
		"no consent": {nil, map[string][]string{}, false, []string{
			"trial sign-in:", "Microsoft Graph: ", "have an administrator of the target tenant consent", "Exchange Online: ", "Exchange.ManageAsApp",
		}},
		"no consent for Exchange": {map[string]string{envTrial: "exchange"}, map[string][]string{entra.GraphClientID: {"User.ReadWrite.All"}}, false, []string{
			"trial sign-in:", "Exchange.ManageAsApp",
		}},
		"no role": {nil, nil, true, []string{"trial sign-in:", "Exchange Online: ", "Exchange Recipient Administrator"}},
		"no such secret": {map[string]string{envSecretName: "none"}, nil, false, []string{
			"target tenant credential: key vault https://", "none: not found in the vault",
		}},
		"no identity": {map[string]string{program.EnvIdentityID: uuid.NewString()}, nil, false, []string{
			"target tenant credential: ", "no token for the managed identity", "AZURE_CLIENT_ID",
		}},
		"no name": {map[string]string{envSecretName: "a_b"}, nil, false, []string{"Azure sign-in: ", `invalid name "a_b" in Key Vault`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCloud(t, tc.roles)
			c.noRole = tc.noRole
			for secret, value := range map[string]string{"text": entra.DefaultWorkerSecret, "wrong": "not-the-s3cret"} {
				if _, err := c.vault.Set(secret, keyvault.Secret{Value: value}); err != nil {
					t.Fatal(err)
				}
			}
			changes := maps.Clone(text)
			maps.Copy(changes, tc.changes)
			log := &testenv.Buffer{}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := run(ctx, c.environment(changes), log)
			if err == nil || slices.ContainsFunc(tc.want, func(part string) bool { return !strings.Contains(err.Error(), part) }) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if err != nil && strings.Contains(err.Error()+log.String(), "s3cret") {
				t.Errorf("a secret is told: %v\n%s", err, log)
			}
		})
	}
}

// A tenant that does not answer yet keeps no worker from starting.
func TestATenantThatIsAwayIsNoWrongSignIn(t *testing.T) {
	t.Parallel()
	c := newCloud(t, nil)
	if err := c.target.SetFaults(tenant.Faults{Rules: []tenant.Fault{{Status: 503}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.vault.Set("text", keyvault.Secret{Value: entra.DefaultWorkerSecret}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	log := &testenv.Buffer{}
	stopped := make(chan error, 1)
	go func() {
		stopped <- run(ctx, c.environment(map[string]string{envCertName: "", envSecretName: "text"}), log)
	}()
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(log.String(), "taking jobs"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not start:\n%s", log)
		}
	}
	stop()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if n := strings.Count(log.String(), "no answer to the trial sign-in"); n != 2 {
		t.Errorf("told %d times, want 2:\n%s", n, log)
	}
}

// Service Bus takes the token of the managed identity, and refuses another one's.
func TestServiceBusAsTheManagedIdentity(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := newCloud(t, nil)
	connect := func(context.Context, string) (net.Conn, error) { return c.broker.Dial() }
	for identity, good := range map[string]bool{c.identity: true, uuid.NewString(): false} {
		client := testenv.Must(program.Dial(program.Settings{BusNamespace: "ns.servicebus.windows.net", IdentityID: identity}, connect))(t)
		err := client.Send(ctx, "worker-results", bus.Message{ID: identity, Body: []byte("{}")})
		if (err == nil) != good || err != nil && !errors.Is(err, bus.ErrUnavailable) {
			t.Errorf("identity %s: %v", identity, err)
		}
		program.Hangup(client)
	}
}
