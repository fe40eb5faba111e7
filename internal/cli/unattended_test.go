package cli_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"software.sslmate.com/src/go-pkcs12"

	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/local/entra"
)

// commandVariable makes the test's own program a matoolkit: the ways to sign in of a
// pipeline go by the environment of the process, which tests side by side cannot share.
const commandVariable = "MATOOLKIT_TEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(commandVariable) != "" {
		os.Exit(cli.Execute(context.Background(), cli.NewRoot(command.OSEnvironment())))
	}
	os.Exit(m.Run())
}

const (
	pipelineAdmin  = "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1bc1"
	pipelineReader = "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1bc2"
	pipelineNobody = "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1bc3"

	identityHeader = "the-header-of-this-process"
	pfxPassword    = "the-password-of-this-file"
)

// pipelines is a system in which three applications can sign in: with a certificate,
// and as the managed identities of a machine.
type pipelines struct {
	*system
	key         *rsa.PrivateKey
	certificate *x509.Certificate
}

// pipelineKey is that of all pipelines: making one takes long.
var pipelineKey = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })

func newPipelines(t *testing.T) *pipelines {
	t.Helper()
	key := pipelineKey()
	p := &pipelines{key: key, certificate: selfSigned(key, time.Now().Add(time.Hour))}
	directory := entra.DefaultConfig()
	for id, roles := range map[string][]string{pipelineAdmin: {entra.RoleAdmin}, pipelineReader: {entra.RoleReader}, pipelineNobody: nil} {
		directory.Tenants[0].Applications = append(directory.Tenants[0].Applications, entra.Application{
			ClientID: id, Name: id, Certificates: []*x509.Certificate{p.certificate}, Roles: map[string][]string{entra.DefaultAdminAPIClientID: roles},
		})
	}
	p.system = newSystemIn(t, directory)
	return p
}

func selfSigned(key crypto.Signer, until time.Time) *x509.Certificate {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "pipeline"},
		NotBefore: until.Add(-48 * time.Hour), NotAfter: until,
	}
	return must(x509.ParseCertificate(must(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))))
}

func pemOf(key crypto.Signer, certificate *x509.Certificate) string {
	block := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return block("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(key))) + block("CERTIFICATE", certificate.Raw)
}

// machine is a process of its own, with nothing in its environment but what the test
// puts there.
type machine struct {
	*person
}

func (s *system) machine() *machine {
	m := &machine{s.person()}
	m.env[commandVariable] = "1"
	m.env["PATH"] = m.dir + ":/usr/bin:/bin"
	m.env["HOME"] = m.dir
	return m
}

// run gives a command: in a process of its own where the way to sign in goes by what the
// process has. Secrets are never printed.
func (m *machine) run(args ...string) (stdout, stderr string, status int) {
	m.t.Helper()
	if m.env["MATOOLKIT_AUTH"] == "client-certificate" { // it goes by the settings alone, and a process takes long to start
		stdout, stderr, status = m.person.run(args...)
	} else {
		stdout, stderr, status = m.start(args...)
	}
	for _, secret := range []string{"eyJ", identityHeader, pfxPassword, "PRIVATE"} {
		if strings.Contains(stdout+stderr, secret) {
			m.t.Errorf("%s: %q is printed: %s%s", args, secret, stdout, stderr)
		}
	}
	return stdout, stderr, status
}

// start gives a command in a process of its own.
func (m *machine) start(args ...string) (stdout, stderr string, status int) {
	m.t.Helper()
	command := exec.CommandContext(m.ctx, must(os.Executable()), args...)
	command.Env = []string{}
	for name, value := range m.env {
		command.Env = append(command.Env, name+"="+value)
	}
	var out, told bytes.Buffer
	command.Stdout, command.Stderr = &out, &told
	err := command.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		m.t.Fatal(err)
	}
	return m.plain(out.String()), m.plain(told.String()), command.ProcessState.ExitCode()
}

// az puts an az on the path that runs these lines.
func (m *machine) az(lines string) {
	m.t.Helper()
	check(m.t, os.WriteFile(filepath.Join(m.dir, "az"), []byte("#!/bin/sh\necho \"$@\" >> '"+m.dir+"/calls'\n"+lines+"\n"), 0o700))
}

// ways is how an application can sign in on a machine.
func (p *pipelines) ways(id string) map[string]func(*machine) {
	certificate := func(name string, file func() []byte, password string) func(*machine) {
		return func(m *machine) {
			m.env["MATOOLKIT_AUTH"], m.env["MATOOLKIT_CLIENT_ID"] = "client-certificate", id
			m.env["MATOOLKIT_CLIENT_CERTIFICATE"] = m.file(name, string(file()))
			m.env["MATOOLKIT_CLIENT_CERTIFICATE_PASSWORD"] = password
		}
	}
	pfx := func(kind *pkcs12.Encoder, password string) func() []byte {
		return func() []byte { return must(kind.Encode(p.key, p.certificate, nil, password)) }
	}
	return map[string]func(*machine){
		"azure-cli": func(m *machine) {
			token := must(p.entra.IssueAppToken(id, entra.DefaultAdminAPIScope))
			m.file("token.json", string(must(json.Marshal(map[string]any{
				"accessToken": token, "expires_on": time.Now().Add(time.Hour).Unix(), "tokenType": "Bearer", "tenant": entra.DefaultTenantID,
			}))))
			m.az("cat '" + m.dir + "/token.json'")
			m.env["MATOOLKIT_AUTH"] = "azure-cli"
			delete(m.env, "MATOOLKIT_CLIENT_ID")
		},
		"managed-identity": func(m *machine) {
			endpoint := httptest.NewServer(p.entra.ManagedIdentity(identityHeader, id))
			m.t.Cleanup(endpoint.Close)
			m.env["MATOOLKIT_AUTH"] = "managed-identity"
			m.env["IDENTITY_ENDPOINT"], m.env["IDENTITY_HEADER"] = endpoint.URL+"/", identityHeader
			delete(m.env, "MATOOLKIT_CLIENT_ID")
			delete(m.env, "MATOOLKIT_TENANT_ID")
		},
		"a named managed-identity": func(m *machine) {
			endpoint := httptest.NewServer(p.entra.ManagedIdentity(identityHeader, "", pipelineNobody, id))
			m.t.Cleanup(endpoint.Close)
			m.env["MATOOLKIT_AUTH"], m.env["MATOOLKIT_MANAGED_IDENTITY_ID"] = "managed-identity", id
			m.env["IDENTITY_ENDPOINT"], m.env["IDENTITY_HEADER"] = endpoint.URL+"/", identityHeader
		},
		"client-certificate in PEM":           certificate("c.pem", func() []byte { return []byte(pemOf(p.key, p.certificate)) }, ""),
		"client-certificate in PFX":           certificate("c.pfx", pfx(pkcs12.Modern, pfxPassword), pfxPassword),
		"client-certificate in an older PFX":  certificate("c.p12", pfx(pkcs12.LegacyDES, pfxPassword), pfxPassword),
		"client-certificate without password": certificate("c.pfx", pfx(pkcs12.Modern, ""), ""),
	}
}

// Each way leads to the API through its real routes, with no more than the roles that
// the application was assigned.
func TestPipelinesSignIn(t *testing.T) {
	t.Parallel()
	p := newPipelines(t)
	for way, prepare := range p.ways(pipelineAdmin) {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			m := p.machine()
			m.t = t
			prepare(m)
			m.reaches("Admin", 0, exit.NotFound)
			m.tells(pipelineAdmin, "Admin")
			if out, told, status := m.run("auth", "login"); status != 0 || out != "" || !strings.Contains(told, "needs no sign-in") {
				t.Errorf("auth login ended with %d: %s%s", status, out, told)
			}
			if _, err := os.Stat(m.env["MATOOLKIT_HOME"]); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("something was kept: %v", err)
			}
		})
	}
	for _, way := range []string{"azure-cli", "managed-identity", "client-certificate in PEM"} {
		t.Run(way+", of others", func(t *testing.T) {
			t.Parallel()
			m := p.machine()
			m.t = t
			p.ways(pipelineReader)[way](m)
			m.reaches("Reader", 0, exit.NotSignedIn)
			m = p.machine()
			m.t = t
			p.ways(pipelineNobody)[way](m)
			m.reaches("none", exit.NotSignedIn, exit.NotSignedIn)
			m.tells(pipelineNobody, "")
		})
	}
}

// reaches reads and tries to write. An administrator's writing fails for want of the
// runbook alone.
func (m *machine) reaches(role string, read, write int) {
	m.t.Helper()
	if _, told, status := m.run("runbook", "list"); status != read {
		m.t.Errorf("with the role %s: reading ended with %d: %s", role, status, told)
	}
	if _, told, status := m.run("runbook", "delete", "no-such", "1", "--yes"); status != write {
		m.t.Errorf("with the role %s: writing ended with %d: %s", role, status, told)
	}
}

// tells checks what auth status tells of an application.
func (m *machine) tells(id, roles string) {
	m.t.Helper()
	out, told, status := m.run("auth", "status", "--output", "json")
	var s struct {
		SignedIn                                  bool
		Method, Username, TenantID, ApplicationID string
		Roles                                     []string
		TokenExpiresOn                            *time.Time
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil || status != 0 {
		m.t.Fatalf("auth status ended with %d, %v: %s%s", status, err, out, told)
	}
	if !s.SignedIn || s.Method != m.env["MATOOLKIT_AUTH"] || s.Username != id || s.ApplicationID != id || s.TenantID != entra.DefaultTenantID ||
		strings.Join(s.Roles, " ") != roles || s.TokenExpiresOn == nil {
		m.t.Errorf("auth status tells %s", out)
	}
}

// az is slow: a command asks it once, for the tenant and the API that the settings name.
func TestTheAzureCLIIsAskedOnce(t *testing.T) {
	t.Parallel()
	p := newPipelines(t)
	m := p.machine()
	p.ways(pipelineAdmin)["azure-cli"](m)
	m.env["MATOOLKIT_TENANT_ID"] = entra.DefaultTenantID
	if _, told, status := m.run("automation", "status", "no-such"); status != exit.NotFound {
		t.Fatalf("ended with %d: %s", status, told)
	}
	calls := string(must(os.ReadFile(filepath.Join(m.dir, "calls"))))
	if want := "account get-access-token -o json --resource " + entra.DefaultAdminAPIAudience + " --tenant " + entra.DefaultTenantID + "\n"; calls != want {
		t.Errorf("az was given %q, want %q", calls, want)
	}
}

// The API sees the account of az, with its roles.
func TestAPersonInTheAzureCLI(t *testing.T) {
	t.Parallel()
	p := newPipelines(t)
	m := p.machine()
	p.ways(pipelineAdmin)["azure-cli"](m)
	m.file("token.json", string(must(json.Marshal(map[string]any{
		"accessToken": must(p.entra.IssueUserToken(entra.DefaultReaderUPN, entra.DefaultAdminAPIScope)), "expires_on": time.Now().Add(time.Hour).Unix(),
	}))))
	if _, told, status := m.run("runbook", "list"); status != 0 {
		t.Errorf("reading ended with %d: %s", status, told)
	}
	if _, told, status := m.run("runbook", "delete", "no-such", "1", "--yes"); status != exit.NotSignedIn || !strings.Contains(told, entra.DefaultReaderUPN) {
		t.Errorf("writing ended with %d: %s", status, told)
	}
	if out, told, status := m.run("auth", "status"); status != 0 || !strings.Contains(out, entra.DefaultReaderUPN) || !strings.Contains(out, "Reader") {
		t.Errorf("auth status ended with %d: %s%s", status, out, told)
	}
}

func TestStatusWithoutATokenToBeHad(t *testing.T) {
	t.Parallel()
	p := newPipelines(t)
	m := p.machine()
	p.ways(pipelineAdmin)["azure-cli"](m)
	m.az("echo \"ERROR: Please run 'az login' to setup account.\" >&2; exit 1")
	if out, told, status := m.run("auth", "status"); status != exit.NotSignedIn || out != "" || !strings.Contains(told, "Sign in with: az login") {
		t.Errorf("ended with %d: %s%s", status, out, told)
	}
	out, _, status := m.run("auth", "status", "--output", "json")
	var s struct {
		SignedIn       bool
		Method, Reason string
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil || status != exit.NotSignedIn || s.SignedIn || s.Method != "azure-cli" || !strings.Contains(s.Reason, "az login") {
		t.Errorf("ended with %d, %v: %s", status, err, out)
	}
}

// Each missing or invalid setting is named, with a hint.
func TestPipelinesThatCannotSignIn(t *testing.T) {
	t.Parallel()
	p := newPipelines(t)
	strange := must(rsa.GenerateKey(rand.Reader, 2048))
	elliptical := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
	t.Cleanup(refusing.Close)
	pemFile := func(text string) func(*machine) {
		return func(m *machine) {
			p.ways(pipelineAdmin)["client-certificate in PEM"](m)
			m.file("c.pem", text)
		}
	}
	set := func(way string, env map[string]string) func(*machine) {
		return func(m *machine) { p.ways(pipelineAdmin)[way](m); maps.Copy(m.env, env) }
	}
	az := func(lines string) func(*machine) {
		return func(m *machine) { p.ways(pipelineAdmin)["azure-cli"](m); m.az(lines) }
	}
	for name, c := range map[string]struct {
		prepare func(*machine)
		status  int
		told    []string
	}{
		"no such way":     {set("azure-cli", map[string]string{"MATOOLKIT_AUTH": "password"}), exit.WrongUsage, []string{`"password" is invalid: use one of device-code, azure-cli, managed-identity, client-certificate`}},
		"no scope":        {set("azure-cli", map[string]string{"MATOOLKIT_API_SCOPE": ""}), exit.WrongUsage, []string{"api-scope is not set", "config set api-scope"}},
		"a user's scope":  {set("azure-cli", map[string]string{"MATOOLKIT_API_SCOPE": entra.DefaultAdminAPIAudience + "/access_as_user"}), exit.WrongUsage, []string{"must end in /.default"}},
		"another API":     {set("client-certificate in PEM", map[string]string{"MATOOLKIT_API_SCOPE": "api://other/.default"}), exit.NotSignedIn, []string{"AADSTS500011", "Check api-scope"}},
		"no az":           {func(m *machine) { p.ways(pipelineAdmin)["azure-cli"](m); m.env["PATH"] = m.env["MATOOLKIT_HOME"] }, exit.NotSignedIn, []string{"az) is not installed", "https://aka.ms/azure-cli"}},
		"nobody in az":    {az("echo \"ERROR: Please run 'az login' to setup account.\" >&2; exit 1"), exit.NotSignedIn, []string{"Please run 'az login'", "Sign in with: az login"}},
		"az offline":      {az("echo 'ERROR: HTTPSConnectionPool(host=login): Max retries exceeded with url' >&2; exit 1"), exit.Unavailable, []string{"Max retries"}},
		"az in no JSON":   {az("echo 'a new version is available'"), exit.NotSignedIn, []string{"the Azure CLI returned no token"}},
		"no identity":     {set("azure-cli", map[string]string{"MATOOLKIT_AUTH": "managed-identity", "HTTP_PROXY": closed.URL}), exit.NotSignedIn, []string{"this machine has no managed identity", "--auth azure-cli"}},
		"a proxy before":  {set("azure-cli", map[string]string{"MATOOLKIT_AUTH": "managed-identity", "HTTP_PROXY": refusing.URL}), exit.NotSignedIn, []string{"this machine has no managed identity", "NO_PROXY"}},
		"other identity":  {set("managed-identity", map[string]string{"MATOOLKIT_MANAGED_IDENTITY_ID": pipelineReader}), exit.NotSignedIn, []string{"No User Assigned"}},
		"identity's name": {set("managed-identity", map[string]string{"MATOOLKIT_MANAGED_IDENTITY_ID": "my-identity"}), exit.WrongUsage, []string{"not a client ID"}},
		"wrong header":    {set("managed-identity", map[string]string{"IDENTITY_HEADER": "another"}), exit.NotSignedIn, []string{"X-IDENTITY-HEADER is missing or wrong"}},

		"no file named":         {set("client-certificate in PEM", map[string]string{"MATOOLKIT_CLIENT_CERTIFICATE": ""}), exit.WrongUsage, []string{"client-certificate is not set", "MATOOLKIT_CLIENT_CERTIFICATE"}},
		"no such file":          {set("client-certificate in PEM", map[string]string{"MATOOLKIT_CLIENT_CERTIFICATE": "/nowhere.pem"}), exit.WrongUsage, []string{"/nowhere.pem"}},
		"no tenant":             {set("client-certificate in PEM", map[string]string{"MATOOLKIT_TENANT_ID": ""}), exit.WrongUsage, []string{"tenant-id is not set"}},
		"no client":             {set("client-certificate in PEM", map[string]string{"MATOOLKIT_CLIENT_ID": ""}), exit.WrongUsage, []string{"client-id is not set"}},
		"another tenant":        {set("client-certificate in PEM", map[string]string{"MATOOLKIT_TENANT_ID": "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b99"}), exit.NotSignedIn, []string{"AADSTS90002", "Check tenant-id"}},
		"another client":        {set("client-certificate in PEM", map[string]string{"MATOOLKIT_CLIENT_ID": "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b99"}), exit.NotSignedIn, []string{"AADSTS700016", "Check client-id"}},
		"a password too few":    {set("client-certificate in PFX", map[string]string{"MATOOLKIT_CLIENT_CERTIFICATE_PASSWORD": ""}), exit.WrongUsage, []string{"needs a password; set MATOOLKIT_CLIENT_CERTIFICATE_PASSWORD"}},
		"another password":      {set("client-certificate in PFX", map[string]string{"MATOOLKIT_CLIENT_CERTIFICATE_PASSWORD": "x"}), exit.WrongUsage, []string{"is wrong"}},
		"not a certificate":     {pemFile("hello"), exit.WrongUsage, []string{"neither PEM nor a PFX file"}},
		"no key":                {pemFile(strings.SplitAfter(pemOf(p.key, p.certificate), "-----END PRIVATE KEY-----\n")[1]), exit.WrongUsage, []string{"found no private key"}},
		"an encrypted key":      {pemFile("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAA==\n-----END ENCRYPTED PRIVATE KEY-----\n"), exit.WrongUsage, []string{"is encrypted", "openssl pkcs12 -export"}},
		"not RSA":               {pemFile(pemOf(elliptical, selfSigned(elliptical, time.Now().Add(time.Hour)))), exit.WrongUsage, []string{"RSA"}},
		"another's key":         {pemFile(pemOf(strange, p.certificate)), exit.WrongUsage, []string{"key doesn't match"}},
		"ended":                 {pemFile(pemOf(p.key, selfSigned(p.key, time.Now().Add(-time.Minute)))), exit.NotSignedIn, []string{"expired on 2", "Add a new certificate"}},
		"not registered":        {pemFile(pemOf(strange, selfSigned(strange, time.Now().Add(time.Hour)))), exit.NotSignedIn, []string{"AADSTS700027", "Register the certificate"}},
		"not trusted":           {set("client-certificate in PEM", map[string]string{"MATOOLKIT_CA_FILE": ""}), exit.Unavailable, []string{"certificate"}},
		"provider out of reach": {set("client-certificate in PEM", map[string]string{"MATOOLKIT_AUTHORITY": strings.Replace(closed.URL, "http:", "https:", 1)}), exit.Unavailable, []string{"refused"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := p.machine()
			m.t = t
			c.prepare(m)
			out, told, status := m.run("runbook", "list")
			if status != c.status || out != "" {
				t.Errorf("ended with %d: %s%s", status, out, told)
			}
			for _, want := range c.told {
				if !strings.Contains(told, want) {
					t.Errorf("%q does not tell %q", told, want)
				}
			}
		})
	}
}

// A password has no place in options and files, which others see.
func TestAPasswordIsTakenFromTheEnvironmentOnly(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	if _, told, status := p.run("auth", "status", "--client-certificate-password", "x"); status != exit.WrongUsage || !strings.Contains(told, "unknown flag") {
		t.Errorf("ended with %d: %s", status, told)
	}
	if _, told, status := p.run("config", "set", "client-certificate-password", "x"); status != exit.WrongUsage || !strings.Contains(told, "unknown setting") {
		t.Errorf("ended with %d: %s", status, told)
	}
}

// What the environment says of proxies holds for tokens too.
func TestPipelinesGoThroughTheProxy(t *testing.T) {
	t.Parallel()
	p := newPipelines(t)
	m := p.machine()
	p.ways(pipelineAdmin)["managed-identity"](m)
	identity := p.entra.ManagedIdentity(identityHeader, pipelineAdmin)
	var asked atomic.Value
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.Method + " " + r.Host)
		if r.Method == http.MethodConnect {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		identity.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	m.env["HTTP_PROXY"], m.env["HTTPS_PROXY"] = proxy.URL, proxy.URL
	m.env["IDENTITY_ENDPOINT"] = "http://identity.example/"
	if _, told, status := m.run("runbook", "list"); status != 0 || asked.Load() != "GET identity.example" {
		t.Errorf("managed identity ended with %d, the proxy was asked %v: %s", status, asked.Load(), told)
	}
	m = p.machine()
	p.ways(pipelineAdmin)["client-certificate in PEM"](m)
	m.env["HTTP_PROXY"], m.env["HTTPS_PROXY"] = proxy.URL, proxy.URL
	m.env["MATOOLKIT_AUTHORITY"] = "https://login.example"
	if _, told, status := m.start("runbook", "list"); status != exit.Unavailable || asked.Load() != "CONNECT login.example:443" {
		t.Errorf("certificate ended with %d, the proxy was asked %v: %s", status, asked.Load(), told)
	}
}
