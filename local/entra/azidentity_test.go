package entra_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/internal/tlsroots"
	"github.com/matoolkit/matoolkit/local/entra"
)

// options are how every program reaches the server: the authority host and a
// transport that trusts its CA.
func options(server *entra.Server) azcore.ClientOptions {
	return azcore.ClientOptions{
		Cloud:     cloud.Configuration{ActiveDirectoryAuthorityHost: server.URL()},
		Transport: server.HTTPClient(),
		Retry:     policy.RetryOptions{MaxRetries: -1},
	}
}

func scopes(scope string) policy.TokenRequestOptions {
	return policy.TokenRequestOptions{Scopes: []string{scope}}
}

func TestClientSecretCredential(t *testing.T) {
	t.Parallel()
	server := start(t, entra.DefaultConfig())
	credential := testenv.Must(azidentity.NewClientSecretCredential(entra.DefaultTenantID, entra.DefaultWorkerClientID, entra.DefaultWorkerSecret,
		&azidentity.ClientSecretCredentialOptions{ClientOptions: options(server), DisableInstanceDiscovery: true}))(t)
	for _, c := range []struct{ scope, audience string }{
		{"https://graph.microsoft.com/.default", entra.GraphAudience},
		{"https://outlook.office365.com/.default", entra.ExchangeAudience},
		{"https://servicebus.azure.net//.default", entra.ServiceBusAudience},
		{"https://cosmos.azure.com/.default", entra.CosmosAudience},
		{"https://account.documents.azure.com/.default", entra.CosmosAudience},
		{entra.DefaultAdminAPIScope, entra.DefaultAdminAPIAudience},
	} {
		token, err := credential.GetToken(t.Context(), scopes(c.scope))
		if err != nil {
			t.Errorf("%s: %v", c.scope, err)
			continue
		}
		claims, err := server.VerifyClaims(token.Token, c.audience)
		if err != nil {
			t.Errorf("%s: %v", c.scope, err)
		}
		if claims.ClientID != entra.DefaultWorkerClientID || claims.UPN != "" || len(claims.Scopes) != 0 {
			t.Errorf("%s: %+v", c.scope, claims)
		}
	}
	token := testenv.Must(credential.GetToken(t.Context(), scopes("https://outlook.office365.com/.default")))(t)
	if claims, _ := server.VerifyClaims(token.Token, entra.ExchangeAudience); strings.Join(claims.Roles, " ") != "Exchange.ManageAsApp" {
		t.Errorf("roles %v", claims.Roles)
	}
}

// This is how the handler, the worker and the CLI come to trust the server.
func TestACredentialThatTrustsTheCAFile(t *testing.T) {
	t.Parallel()
	config := entra.DefaultConfig()
	config.DataDir = t.TempDir()
	server := start(t, config)
	for caFile, good := range map[string]bool{server.CAFile(): true, "": false} {
		client := testenv.Must(tlsroots.HTTPClient(caFile))(t)
		options := options(server)
		options.Transport = client
		credential := testenv.Must(azidentity.NewClientSecretCredential(entra.DefaultTenantID, entra.DefaultWorkerClientID, entra.DefaultWorkerSecret,
			&azidentity.ClientSecretCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: true}))(t)
		if _, err := credential.GetToken(t.Context(), scopes(graphScope)); (err == nil) != good {
			t.Errorf("CA file %q: %v", caFile, err)
		}
	}
}

func TestClientSecretCredentialLearnsWhatIsWrong(t *testing.T) {
	t.Parallel()
	server := start(t, entra.DefaultConfig())
	credential := testenv.Must(azidentity.NewClientSecretCredential(entra.DefaultTenantID, entra.DefaultWorkerClientID, "not the secret",
		&azidentity.ClientSecretCredentialOptions{ClientOptions: options(server), DisableInstanceDiscovery: true}))(t)
	_, err := credential.GetToken(t.Context(), scopes(graphScope))
	if err == nil || !strings.Contains(err.Error(), "AADSTS7000215") {
		t.Error(err)
	}
}

func TestClientCertificateCredential(t *testing.T) {
	t.Parallel()
	key, registered := newCertificate(t, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	server := start(t, withCertificate(registered))
	credential := func(certificate *x509.Certificate, key *rsa.PrivateKey, chain bool) *azidentity.ClientCertificateCredential {
		return testenv.Must(azidentity.NewClientCertificateCredential(entra.DefaultTenantID, entra.DefaultWorkerClientID,
			[]*x509.Certificate{certificate}, key, &azidentity.ClientCertificateCredentialOptions{
				ClientOptions: options(server), DisableInstanceDiscovery: true, SendCertificateChain: chain,
			}))(t)
	}
	for _, chain := range []bool{false, true} {
		token, err := credential(registered, key, chain).GetToken(t.Context(), scopes(graphScope))
		if err != nil {
			t.Fatal(err)
		}
		if err := server.VerifyToken(token.Token, entra.GraphAudience); err != nil {
			t.Error(err)
		}
	}
	strangeKey, strange := newCertificate(t, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	if _, err := credential(strange, strangeKey, true).GetToken(t.Context(), scopes(graphScope)); err == nil || !strings.Contains(err.Error(), "AADSTS700027") {
		t.Errorf("a certificate that is not registered: %v", err)
	}
}

func TestDeviceCodeCredentialApprovedByItself(t *testing.T) {
	t.Parallel()
	config := entra.DefaultConfig()
	config.AutoApprove = strings.ToUpper(entra.DefaultAdminUPN)
	server := start(t, config)
	prompts := 0
	credential := deviceCodeCredential(t, server, func(azidentity.DeviceCodeMessage) { prompts++ })

	token := testenv.Must(credential.GetToken(t.Context(), scopes(entra.DefaultAdminAPIScope)))(t)
	claims := testenv.Must(server.VerifyClaims(token.Token, entra.DefaultAdminAPIAudience))(t)
	if claims.UPN != entra.DefaultAdminUPN || claims.ObjectID != entra.DefaultAdminObjectID || claims.ClientID != entra.DefaultCLIClientID ||
		strings.Join(claims.Roles, " ") != entra.RoleAdmin || strings.Join(claims.Scopes, " ") != "access_as_user" {
		t.Errorf("%+v", claims)
	}

	// A token for another resource comes by the refresh token, without a word
	// to the person.
	token = testenv.Must(credential.GetToken(t.Context(), scopes(graphScope)))(t)
	if err := server.VerifyToken(token.Token, entra.GraphAudience); err != nil {
		t.Error(err)
	}
	if prompts != 1 {
		t.Errorf("prompted %d times", prompts)
	}
}

func TestDeviceCodeCredentialApprovedOnThePage(t *testing.T) {
	t.Parallel()
	server := start(t, entra.DefaultConfig())
	credential := deviceCodeCredential(t, server, func(message azidentity.DeviceCodeMessage) {
		if !strings.Contains(message.Message, message.UserCode) || !strings.Contains(message.Message, message.VerificationURL) {
			t.Errorf("message %q", message.Message)
		}
		browser := newBrowser(t, server)
		status, text := browser.approve(message.VerificationURL, message.UserCode, entra.DefaultReaderUPN, "approve")
		if status != http.StatusOK || !strings.Contains(text, entra.DefaultReaderUPN) {
			t.Errorf("%d %s", status, text)
		}
	})
	token := testenv.Must(credential.GetToken(t.Context(), scopes(entra.DefaultAdminAPIScope)))(t)
	claims, err := server.VerifyClaims(token.Token, entra.DefaultAdminAPIAudience)
	if err != nil || claims.UPN != entra.DefaultReaderUPN || strings.Join(claims.Roles, " ") != entra.RoleReader {
		t.Errorf("%+v, %v", claims, err)
	}
}

func TestDeviceCodeCredentialDeclinedOnThePage(t *testing.T) {
	t.Parallel()
	server := start(t, entra.DefaultConfig())
	credential := deviceCodeCredential(t, server, func(message azidentity.DeviceCodeMessage) {
		newBrowser(t, server).approve(message.VerificationURL, message.UserCode, "", "decline")
	})
	// The credential gives up; what it was told is in TestDeviceCodeFlow, since
	// it does not repeat it.
	if _, err := credential.GetToken(t.Context(), scopes(entra.DefaultAdminAPIScope)); err == nil {
		t.Error("signed in")
	}
}

func deviceCodeCredential(t *testing.T, server *entra.Server, prompt func(azidentity.DeviceCodeMessage)) *azidentity.DeviceCodeCredential {
	t.Helper()
	return testenv.Must(azidentity.NewDeviceCodeCredential(&azidentity.DeviceCodeCredentialOptions{
		ClientOptions: options(server), DisableInstanceDiscovery: true,
		TenantID: entra.DefaultTenantID, ClientID: entra.DefaultCLIClientID,
		UserPrompt: func(_ context.Context, message azidentity.DeviceCodeMessage) error {
			prompt(message)
			return nil
		},
	}))(t)
}

// browser keeps cookies and fills in the form it was shown.
type browser struct {
	t      *testing.T
	client *http.Client
}

func newBrowser(t *testing.T, server *entra.Server) browser {
	t.Helper()
	jar := testenv.Must(cookiejar.New(nil))(t)
	client := server.HTTPClient()
	client.Jar = jar
	return browser{t, client}
}

var hidden = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// open shows the question about a code and returns the token in its form.
func (b browser) open(page, code string) (status int, text, csrf string) {
	b.t.Helper()
	status, text = b.read(b.client.Get(page + "?user_code=" + url.QueryEscape(code)))
	if match := hidden.FindStringSubmatch(text); match != nil {
		csrf = match[1]
	}
	return status, text, csrf
}

func (b browser) approve(page, code, upn, decision string) (status int, text string) {
	b.t.Helper()
	_, _, csrf := b.open(page, code)
	return b.submit(page, url.Values{"csrf": {csrf}, "user_code": {code}, "user": {upn}, "decision": {decision}})
}

func (b browser) submit(page string, form url.Values) (status int, text string) {
	b.t.Helper()
	return b.read(b.client.PostForm(page, form))
}

func (b browser) read(response *http.Response, err error) (int, string) {
	b.t.Helper()
	if err != nil {
		b.t.Error(err)
		return 0, ""
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Error(err)
	}
	return response.StatusCode, string(body)
}

func newCertificate(t *testing.T, from, to time.Time) (*rsa.PrivateKey, *x509.Certificate) {
	t.Helper()
	key := testenv.Must(rsa.GenerateKey(rand.Reader, 2048))(t)
	return key, selfSigned(t, &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "worker"}, NotBefore: from, NotAfter: to,
	}, &key.PublicKey, key)
}

func selfSigned(t *testing.T, template *x509.Certificate, public, private any) *x509.Certificate {
	t.Helper()
	der := testenv.Must(x509.CreateCertificate(rand.Reader, template, template, public, private))(t)
	return testenv.Must(x509.ParseCertificate(der))(t)
}

// withCertificate is the default directory with a certificate for the worker.
func withCertificate(certificates ...*x509.Certificate) entra.Config {
	config := entra.DefaultConfig()
	for i, application := range config.Tenants[0].Applications {
		if application.ClientID == entra.DefaultWorkerClientID {
			config.Tenants[0].Applications[i].Certificates = certificates
		}
	}
	return config
}
