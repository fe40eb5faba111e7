package login

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/settings"
)

// The secret is read from the environment only: other users of the machine see options.
const EnvExportSecret = "MATOOLKIT_EXPORT_CLIENT_SECRET" // client secret of the app registration that `tenant export` signs in with

// TenantAccess says how to sign in to a tenant with an app registration of its own, which is not that of the admin API.
// With a certificate or a secret the application signs in, else a person.
type TenantAccess struct {
	TenantID, ClientID string
	Certificate        string // PEM or PFX file
	DeviceCode         bool   // a person enters a code, instead of signing in with the browser of this machine
}

// TenantTokens returns a source of tokens for the services of a tenant. Nothing is kept: a person signs in once for each
// process. fresh asks for a token that was not given before. The source is safe for concurrent use.
func (c *Opener) TenantTokens(all settings.Settings, web *http.Client, a TenantAccess) (func(ctx context.Context, scope string, fresh bool) (string, error), error) {
	open, person, err := c.tenantCredential(all, web, a)
	if err != nil {
		return nil, err
	}
	credential, err := open()
	if err != nil {
		return nil, exit.Usage(err)
	}
	var mu sync.Mutex // one sign-in at a time
	return func(ctx context.Context, scope string, fresh bool) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if fresh && !person { // a new credential has no kept tokens
			if credential, err = open(); err != nil {
				return "", exit.Usage(err)
			}
		}
		token, err := credential.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{scope}})
		if err != nil {
			if ctx.Err() != nil {
				return "", ctx.Err()
			}
			text := reason(err)
			return "", &exit.Error{Status: exit.NotSignedIn, Text: "no token for " + scope + ": " + text, Hint: tenantRemedies[code.FindString(text)]}
		}
		return token.Token, nil
	}, nil
}

// tenantRemedies are the hints for errors of Entra ID.
var tenantRemedies = map[string]string{
	"AADSTS90002":   "Check --tenant: the tenant does not exist",
	"AADSTS700016":  "Check --app and --tenant: the tenant has no such app registration",
	"AADSTS7000215": "Check " + EnvExportSecret + ": it must be the value of the secret, not its id",
	"AADSTS7000222": "The client secret has expired: add a new one to the app registration",
	"AADSTS700027":  "Register the certificate with the app registration of --app",
	"AADSTS65001":   "Have an administrator of the tenant consent to the permissions of the app registration",
	"AADSTS7000218": "Allow public client flows in the app registration, or sign in with a certificate or a client secret",
	"AADSTS50011":   "Add the redirect URI http://localhost of the platform \"Mobile and desktop applications\" to the app registration",
}

func (c *Opener) tenantCredential(all settings.Settings, web *http.Client, a TenantAccess) (open func() (azcore.TokenCredential, error), person bool, err error) {
	authority := all.Get("authority")
	options := policy.ClientOptions{
		Cloud: cloud.Configuration{ActiveDirectoryAuthorityHost: authority}, Transport: web,
		Retry: policy.RetryOptions{MaxRetries: 2, RetryDelay: time.Second / 2},
	}
	offline := authority != publicCloud
	secret := c.Getenv(EnvExportSecret)
	switch {
	case a.Certificate != "" && secret != "":
		return nil, false, exit.Usagef("--certificate and %s cannot be given together", EnvExportSecret)
	case a.DeviceCode && (a.Certificate != "" || secret != ""):
		return nil, false, exit.Usagef("--device-code cannot be given together with --certificate or %s", EnvExportSecret)
	case a.Certificate != "":
		certificates, key, err := c.readCertificate("--certificate", "--app", a.Certificate)
		if err != nil {
			return nil, false, err
		}
		return func() (azcore.TokenCredential, error) {
			return azidentity.NewClientCertificateCredential(a.TenantID, a.ClientID, certificates, key, &azidentity.ClientCertificateCredentialOptions{
				ClientOptions: options, DisableInstanceDiscovery: offline,
			})
		}, false, nil
	case secret != "":
		return func() (azcore.TokenCredential, error) {
			return azidentity.NewClientSecretCredential(a.TenantID, a.ClientID, secret, &azidentity.ClientSecretCredentialOptions{
				ClientOptions: options, DisableInstanceDiscovery: offline,
			})
		}, false, nil
	case a.DeviceCode:
		return func() (azcore.TokenCredential, error) {
			return azidentity.NewDeviceCodeCredential(&azidentity.DeviceCodeCredentialOptions{
				ClientOptions: options, DisableInstanceDiscovery: offline, TenantID: a.TenantID, ClientID: a.ClientID,
				UserPrompt: func(_ context.Context, m azidentity.DeviceCodeMessage) error {
					c.Notice("%s", m.Message)
					return nil
				},
			})
		}, true, nil
	}
	return func() (azcore.TokenCredential, error) {
		return azidentity.NewInteractiveBrowserCredential(&azidentity.InteractiveBrowserCredentialOptions{
			ClientOptions: options, DisableInstanceDiscovery: offline, TenantID: a.TenantID, ClientID: a.ClientID,
		})
	}, true, nil
}
