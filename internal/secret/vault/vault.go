// Package vault reads the key of secrets from Azure Key Vault: it is the value of a
// secret there, of which each version is a version of the key.
package vault

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/security/keyvault/azsecrets"

	"github.com/matoolkit/matoolkit/internal/loopback"
	"github.com/matoolkit/matoolkit/internal/secret"
)

// Config says where the key is. All but HTTP and Retry are required.
type Config struct {
	URL        string // of the vault, such as https://name.vault.azure.net
	Name       string // of the secret that holds the key
	Credential azcore.TokenCredential
	HTTP       *http.Client        // nil: the SDK's
	Retry      policy.RetryOptions // zero: as the SDK does
}

// Vault reads the key.
type Vault struct {
	name   string
	client *azsecrets.Client
}

var secretName = regexp.MustCompile(`^[0-9a-zA-Z-]{1,127}$`)

// Check validates the URL of a vault and the name of a secret in it.
func Check(address, name string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.User != nil || u.RawQuery != "":
		return fmt.Errorf("invalid key vault URL %q: use one such as https://name.vault.azure.net", address)
	case !secretName.MatchString(name):
		return fmt.Errorf("invalid secret name %q in Key Vault: use letters, digits and hyphens", name)
	}
	return nil
}

// New makes a Vault. It does not connect.
func New(c Config) (*Vault, error) {
	if err := Check(c.URL, c.Name); err != nil {
		return nil, err
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, err
	}
	options := &azsecrets.ClientOptions{ClientOptions: azcore.ClientOptions{Retry: c.Retry}}
	if c.HTTP != nil {
		options.Transport = c.HTTP
	}
	// A vault on this machine is not below the domain that tokens are for.
	options.DisableChallengeResourceVerification = loopback.Is(u.Hostname())
	client, err := azsecrets.NewClient("https://"+u.Host, c.Credential, options)
	if err != nil {
		return nil, err
	}
	return &Vault{name: c.Name, client: client}, nil
}

// Current reads the newest version of the key.
func (v *Vault) Current(ctx context.Context) (secret.Key, error) { return v.read(ctx, "") }

// Version reads one version of the key.
func (v *Vault) Version(ctx context.Context, id string) (secret.Key, error) {
	if !secretName.MatchString(id) {
		return secret.Key{}, fmt.Errorf("%w: the key has no version %q", secret.ErrLost, id)
	}
	key, err := v.read(ctx, id)
	var refused *azcore.ResponseError
	if errors.As(err, &refused) && (refused.StatusCode == http.StatusNotFound || disabled(refused)) {
		return key, fmt.Errorf("%w: version %s of the key %s is gone from Key Vault or disabled: recover or enable it, and retry", secret.ErrLost, id, v.name)
	}
	return key, err
}

func (v *Vault) read(ctx context.Context, version string) (secret.Key, error) {
	found, err := v.client.GetSecret(ctx, v.name, version, nil)
	if err != nil {
		return secret.Key{}, fmt.Errorf("%w: secret %s in Key Vault: %s: %w", secret.ErrUnavailable, v.name, advice(err), err)
	}
	if found.Value == nil || found.ID == nil {
		return secret.Key{}, fmt.Errorf("%w: the answer of Key Vault for %s has no value", secret.ErrUnavailable, v.name)
	}
	key, err := secret.DecodeKey(*found.Value)
	if err != nil {
		return secret.Key{}, fmt.Errorf("%w: secret %s in Key Vault: %w", secret.ErrUnavailable, v.name, err)
	}
	return secret.Key{ID: found.ID.Version(), Bytes: key}, nil
}

func disabled(refused *azcore.ResponseError) bool {
	return refused.StatusCode == http.StatusForbidden && strings.Contains(refused.Error(), "SecretDisabled")
}

// advice says what to do about an error of Key Vault.
func advice(err error) string {
	var refused *azcore.ResponseError
	if !errors.As(err, &refused) {
		return "the vault cannot be reached"
	}
	switch {
	case refused.StatusCode == http.StatusNotFound:
		return "it does not exist: create it (docs/deploy.md)"
	case disabled(refused):
		return "its current version is disabled: enable it or create a new version"
	case refused.StatusCode == http.StatusForbidden:
		return "the handler may not read it: give its identity the role Key Vault Secrets User on this secret, and check the vault's firewall"
	case refused.StatusCode == http.StatusUnauthorized:
		return "the vault refuses the token of the handler's identity: both must be of one tenant"
	}
	return "the vault is not available"
}
