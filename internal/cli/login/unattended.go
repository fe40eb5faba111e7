package login

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/AzureAD/microsoft-authentication-library-for-go/apps/managedidentity"

	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/settings"
)

const (
	// azTimeout limits the time of az, which is slow on a machine that has just started.
	azTimeout = time.Minute
	// renewBefore is the remaining validity below which a token is renewed.
	renewBefore = 5 * time.Minute

	// metadataService is the address of the identity service on a virtual machine in Azure.
	metadataService = "http://169.254.169.254/metadata/identity/oauth2/token"
	metadataTimeout = 2 * time.Second
)

// Unattended gets tokens without a person. It is safe for concurrent use.
type Unattended struct {
	method, tenant, scope string
	credential            azcore.TokenCredential
	web                   *http.Client

	mu   sync.Mutex
	last azcore.AccessToken
}

// OpenUnattended prepares the authentication method of the settings. It requests no token yet.
func (c *Opener) OpenUnattended(all settings.Settings, web *http.Client) (*Unattended, error) {
	u := &Unattended{method: all.Get("auth"), tenant: all.Get("tenant-id"), scope: all.Get("api-scope"), web: web}
	if u.scope == "" {
		return nil, &exit.Error{Status: exit.WrongUsage, Text: "api-scope is not set", Hint: "Set it: matoolkit config set api-scope api://<client ID of the admin API>/.default"}
	}
	if !strings.HasSuffix(u.scope, "/.default") {
		return nil, exit.Usagef("api-scope is %q; with auth %s it must end in /.default", u.scope, u.method)
	}
	var err error
	switch u.method {
	case settings.AzureCLI:
		u.credential, err = azidentity.NewAzureCLICredential(&azidentity.AzureCLICredentialOptions{TenantID: u.tenant})
	case settings.ManagedIdentity:
		options := &azidentity.ManagedIdentityCredentialOptions{ClientOptions: policy.ClientOptions{Transport: web}}
		if id := all.Get("managed-identity-id"); id != "" {
			if err := settings.Check("managed-identity-id", id); err != nil {
				return nil, exit.Usage(err)
			}
			options.ID = azidentity.ClientID(id)
		}
		u.credential, err = azidentity.NewManagedIdentityCredential(options)
	case settings.ClientCertificate:
		u.credential, err = c.certificateCredential(all, web)
	default:
		return nil, exit.Usage(settings.Check("auth", u.method))
	}
	var usage *exit.Error
	if err != nil && !errors.As(err, &usage) {
		err = exit.Usage(err)
	}
	return u, err
}

// certificateCredential authenticates as the app registration of the certificate.
func (c *Opener) certificateCredential(all settings.Settings, web *http.Client) (azcore.TokenCredential, error) {
	t, err := c.target(all, web)
	if err != nil {
		return nil, err
	}
	path := all.Get("client-certificate")
	if path == "" {
		return nil, &exit.Error{Status: exit.WrongUsage, Text: "client-certificate is not set", Hint: "Give the PEM or PFX file in --client-certificate or MATOOLKIT_CLIENT_CERTIFICATE"}
	}
	certificates, key, err := c.readCertificate("client-certificate", "client-id", path)
	if err != nil {
		return nil, err
	}
	return azidentity.NewClientCertificateCredential(t.tenant, t.client, certificates, key, &azidentity.ClientCertificateCredentialOptions{
		ClientOptions: policy.ClientOptions{
			Cloud: cloud.Configuration{ActiveDirectoryAuthorityHost: t.authority}, Transport: web,
			Retry: policy.RetryOptions{MaxRetries: 2, RetryDelay: time.Second / 2},
		},
		DisableInstanceDiscovery: t.authority != publicCloud,
	})
}

// token returns a token. It reuses the last one while that is valid, because az requests a new
// token each time.
func (u *Unattended) token(ctx context.Context) (string, time.Time, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if time.Until(u.last.ExpiresOn) > renewBefore {
		return u.last.Token, u.last.ExpiresOn, nil
	}
	token, err := u.get(ctx)
	if err != nil {
		return "", time.Time{}, err
	}
	u.last = token
	return token.Token, token.ExpiresOn, nil
}

func (u *Unattended) get(ctx context.Context) (azcore.AccessToken, error) {
	if u.method == settings.AzureCLI {
		timed, cancel := context.WithTimeout(ctx, azTimeout)
		defer cancel()
		token, err := u.credential.GetToken(timed, policy.TokenRequestOptions{Scopes: []string{u.scope}})
		if err != nil && timed.Err() != nil && ctx.Err() == nil {
			return token, &exit.Error{Status: exit.Unavailable, Text: fmt.Sprintf("the Azure CLI (az) returned no token within %s", azTimeout)}
		}
		return token, u.explain(ctx, err)
	}
	if u.method == settings.ManagedIdentity {
		if err := u.findIdentity(ctx); err != nil {
			return azcore.AccessToken{}, err
		}
	}
	token, err := u.credential.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{u.scope}})
	return token, u.explain(ctx, err)
}

// findIdentity fails at once if the machine has no managed identity. The SDK would retry for
// minutes, because the answer on a virtual machine in Azure can take that long.
func (u *Unattended) findIdentity(ctx context.Context) error {
	if source, err := managedidentity.GetSource(); err != nil || source != managedidentity.DefaultToIMDS {
		return nil // the SDK returns the error
	}
	timed, cancel := context.WithTimeout(ctx, metadataTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(timed, http.MethodGet, metadataService, nil)
	if err != nil {
		return err
	}
	answer, err := u.web.Do(r)
	if err == nil {
		_ = answer.Body.Close()
		switch answer.StatusCode {
		case http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			// These are answers of a proxy: the service itself answers 400, because a header
			// is missing.
		default:
			return nil
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &exit.Error{
		Status: exit.NotSignedIn, Text: "this machine has no managed identity",
		Hint: "Use a machine in Azure with a managed identity, with 169.254.169.254 in NO_PROXY if there is a proxy,\nor another method: --auth azure-cli, client-certificate or device-code",
	}
}

// code matches the number of an error of Entra ID.
var code = regexp.MustCompile(`AADSTS\d+`)

// remedies are the hints for errors of Entra ID that a setting causes.
var remedies = map[string]string{
	"AADSTS90002":  "Check tenant-id: the tenant does not exist",
	"AADSTS700016": "Check client-id and tenant-id: the tenant has no such app registration",
	"AADSTS500011": "Check api-scope: it must be api://<client ID of the admin API>/.default",
	"AADSTS65001":  "Check api-scope. If it is correct, consent to it for the app registration of client-id: matoolkit auth login",
	"AADSTS650053": "Check api-scope: the API has no such permission",
	"AADSTS650057": "Check api-scope, or give the app registration of client-id the permission to the admin API",
	"AADSTS70011":  "Check api-scope: it must be api://<client ID of the admin API>/.default",
	"AADSTS700027": "Register the certificate with the app registration of client-id",
	"AADSTS501051": "Assign an app role of the admin API to this identity",
}

// explain returns an error with the reason and a hint. Of the answer it shows only the message.
func (u *Unattended) explain(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return errors.Join(err, ctx.Err())
	}
	text := reason(err)
	var failed *azidentity.AuthenticationFailedError
	outage := errors.As(err, &failed) && failed.RawResponse == nil
	if errors.As(err, &failed) && failed.RawResponse != nil {
		status := failed.RawResponse.StatusCode
		outage = status >= http.StatusInternalServerError || status == http.StatusTooManyRequests
	}
	hint := remedies[code.FindString(text)]
	if u.method == settings.AzureCLI {
		switch {
		case strings.Contains(text, "executable not found"):
			return &exit.Error{Status: exit.NotSignedIn, Text: "the Azure CLI (az) is not installed, or not on the PATH", Hint: "Install it from https://aka.ms/azure-cli, or use another method: --auth managed-identity, client-certificate or device-code"}
		case strings.Contains(text, "Max retries exceeded"): // the message of az without a network
			return unavailable(errors.New(text))
		}
		if hint == "" {
			hint = u.azLogin()
		}
		return &exit.Error{Status: exit.NotSignedIn, Text: "the Azure CLI returned no token: " + text, Hint: hint}
	}
	if outage {
		return unavailable(errors.New(text))
	}
	return &exit.Error{Status: exit.NotSignedIn, Text: "no token with auth " + u.method + ": " + text, Hint: hint}
}

func (u *Unattended) azLogin() string {
	if u.tenant == "" {
		return "Sign in with: az login"
	}
	return "Sign in with: az login --tenant " + u.tenant
}

// reason returns the message of an error in one line, without the name of the SDK's credential
// and its help address. Of az it returns the first line: the others are advice or a trace.
func reason(err error) string {
	var failed *azidentity.AuthenticationFailedError
	if errors.As(err, &failed) && failed.RawResponse != nil {
		return cmp.Or(serverMessage(failed.RawResponse), failed.RawResponse.Status)
	}
	text, _, _ := strings.Cut(err.Error(), " To troubleshoot, visit")
	if az, ok := strings.CutPrefix(text, "AzureCLICredential: "); ok {
		return strings.TrimPrefix(firstLine(errors.New(az)), "ERROR: ")
	}
	for _, name := range []string{"ManagedIdentityCredential: ", "ClientCertificateCredential: "} {
		text = strings.TrimPrefix(text, name)
	}
	return strings.Join(strings.Fields(text), " ")
}

// serverMessage returns the message of an answer: error_description of Entra ID, message of App
// Service.
func serverMessage(r *http.Response) string {
	var body struct {
		Description string `json:"error_description"`
		Message     string `json:"message"`
	}
	if err := runtime.UnmarshalAsJSON(r, &body); err != nil {
		return ""
	}
	text, _, _ := strings.Cut(body.Description+body.Message, " Trace ID: ")
	return firstLine(errors.New(text))
}

// Instead describes the authentication that replaces a sign-in.
func (u *Unattended) Instead() string {
	switch u.method {
	case settings.AzureCLI:
		return "It uses the account of the Azure CLI. " + u.azLogin()
	case settings.ManagedIdentity:
		return "It uses the managed identity of this machine"
	}
	return "It uses the certificate"
}
