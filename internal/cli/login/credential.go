package login

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	extcache "github.com/AzureAD/microsoft-authentication-extensions-for-go/cache"
	"github.com/AzureAD/microsoft-authentication-extensions-for-go/cache/accessor"
	"github.com/AzureAD/microsoft-authentication-extensions-for-go/cache/accessor/file"
	msal "github.com/AzureAD/microsoft-authentication-library-for-go/apps/errors"
	"github.com/AzureAD/microsoft-authentication-library-for-go/apps/public"
)

const publicCloud = "https://login.microsoftonline.com"

// systemCredential keeps tokens in the key store of the system.
type systemCredential struct {
	device *azidentity.DeviceCodeCredential
	prompt func(string)
	target target
}

func newSystemCredential(t target, a account, keys azidentity.Cache) (*systemCredential, error) {
	s := &systemCredential{target: t}
	device, err := azidentity.NewDeviceCodeCredential(&azidentity.DeviceCodeCredentialOptions{
		ClientOptions:        policy.ClientOptions{Cloud: cloud.Configuration{ActiveDirectoryAuthorityHost: t.authority}, Transport: t.web},
		TenantID:             t.tenant,
		ClientID:             t.client,
		Cache:                keys,
		AuthenticationRecord: a.Record,
		// Only login asks. Other commands return an error.
		DisableAutomaticAuthentication: true,
		DisableInstanceDiscovery:       t.authority != publicCloud,
		UserPrompt: func(_ context.Context, m azidentity.DeviceCodeMessage) error {
			s.prompt(m.Message)
			return nil
		},
	})
	s.device = device
	return s, err
}

func (s *systemCredential) login(ctx context.Context, prompt func(string)) (account, error) {
	s.prompt = prompt
	record, err := s.device.Authenticate(ctx, s.request())
	return account{Username: record.Username, HomeID: record.HomeAccountID, Record: record}, err
}

func (s *systemCredential) token(ctx context.Context) (string, time.Time, error) {
	token, err := s.device.GetToken(ctx, *s.request())
	var required *azidentity.AuthenticationRequiredError
	if errors.As(err, &required) {
		// azidentity returns this error after an outage as well.
		if err := s.target.reach(ctx); err != nil {
			return "", time.Time{}, err
		}
		return "", time.Time{}, errSignIn
	}
	return token.Token, token.ExpiresOn, err
}

func (s *systemCredential) request() *policy.TokenRequestOptions {
	return &policy.TokenRequestOptions{Scopes: []string{s.target.scope}}
}

// reach returns an error if the identity provider does not answer.
func (t target) reach(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, t.authority+"/"+t.tenant+"/v2.0/.well-known/openid-configuration", nil)
	if err != nil {
		return err
	}
	answer, err := t.web.Do(r)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// msalCredential keeps tokens in storage for which azidentity has no cache, so it uses the library below
// azidentity.
type msalCredential struct {
	client public.Client
	homeID string
	scopes []string
}

func (t target) tokenFile() string { return filepath.Join(t.home, "tokens.json") }

// newFileCredential keeps tokens in a file.
func newFileCredential(t target, a account) (*msalCredential, error) {
	if err := os.MkdirAll(t.home, 0o700); err != nil {
		return nil, err
	}
	storage, err := file.New(t.tokenFile()) // makes it with mode 0600
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(t.tokenFile(), 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return newMSALCredential(t, a, storage, t.tokenFile())
}

// newMSALCredential keeps tokens in storage, with a lock beside path.
func newMSALCredential(t target, a account, storage accessor.Accessor, path string) (*msalCredential, error) {
	tokens, err := extcache.New(storage, path+".sync")
	if err != nil {
		return nil, err
	}
	client, err := public.New(t.client,
		public.WithAuthority(t.authority+"/"+t.tenant), public.WithCache(tokens), public.WithHTTPClient(t.web),
		public.WithInstanceDiscovery(t.authority == publicCloud))
	return &msalCredential{client: client, homeID: a.HomeID, scopes: []string{t.scope}}, err
}

func (f *msalCredential) login(ctx context.Context, prompt func(string)) (account, error) {
	code, err := f.client.AcquireTokenByDeviceCode(ctx, f.scopes)
	if err != nil {
		return account{}, err
	}
	prompt(code.Result.Message)
	result, err := code.AuthenticationResult(ctx)
	if err != nil {
		return account{}, err
	}
	f.homeID = result.Account.HomeAccountID
	return account{Username: result.Account.PreferredUsername, HomeID: f.homeID}, nil
}

func (f *msalCredential) token(ctx context.Context) (string, time.Time, error) {
	accounts, err := f.client.Accounts(ctx)
	if err != nil {
		return "", time.Time{}, err
	}
	for _, a := range accounts {
		if a.HomeAccountID != f.homeID {
			continue
		}
		result, err := f.client.AcquireTokenSilent(ctx, f.scopes, public.WithSilentAccount(a))
		if refused(err) {
			return "", time.Time{}, errSignIn
		}
		return result.AccessToken, result.ExpiresOn, err
	}
	return "", time.Time{}, errSignIn
}

// refused reports whether the kept sign-in is no longer accepted. An outage is no refusal.
func refused(err error) bool {
	if err == nil {
		return false
	}
	var call msal.CallErr
	if errors.As(err, &call) && call.Resp != nil {
		return call.Resp.StatusCode >= 400 && call.Resp.StatusCode < 500 && call.Resp.StatusCode != http.StatusTooManyRequests
	}
	return err.Error() == "no token found" // the library has no error type for it
}
