package signin

import (
	"context"
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/security/keyvault/azsecrets"

	"github.com/matoolkit/matoolkit/internal/loopback"
)

// Content types by which Key Vault says that a secret is the private part of one of its
// certificates.
const (
	contentPFX = "application/x-pkcs12"
	contentPEM = "application/x-pem-file"
)

// VaultConfig says where in Key Vault the secret is. URL, Identity and one of
// Certificate and Secret are required.
type VaultConfig struct {
	URL string // such as https://name.vault.azure.net
	// Certificate is the name of a certificate in the vault, or of a secret that holds
	// a PFX (in base64) or PEM.
	Certificate string
	// Password is the name of a secret with the password of the PFX. A certificate in
	// the vault has none.
	Password string
	// Secret is the name of a secret that holds a client secret.
	Secret string
	// Identity has the role Key Vault Secrets User.
	Identity azcore.TokenCredential
	HTTP     *http.Client        // nil means the SDK's
	Retry    policy.RetryOptions // zero means as the SDK does
}

// Vault reads the secret of the app registration from Key Vault.
type Vault struct {
	config VaultConfig
	client *azsecrets.Client
}

// secretName matches the names that Key Vault accepts.
var secretName = regexp.MustCompile(`^[0-9a-zA-Z-]{1,127}$`)

// NewVault makes a Vault. It does not connect.
func NewVault(config VaultConfig) (*Vault, error) {
	u, err := url.Parse(config.URL)
	if err != nil || u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.User != nil || u.RawQuery != "" {
		return nil, fmt.Errorf("invalid key vault URL %q: use one such as https://name.vault.azure.net", config.URL)
	}
	if (config.Certificate == "") == (config.Secret == "") {
		return nil, errors.New("give the name of a certificate or of a client secret")
	}
	for _, name := range []string{config.Certificate, config.Password, config.Secret} {
		if name != "" && !secretName.MatchString(name) {
			return nil, fmt.Errorf("invalid name %q in Key Vault: use letters, digits and hyphens", name)
		}
	}
	options := &azsecrets.ClientOptions{ClientOptions: azcore.ClientOptions{Retry: config.Retry}}
	if config.HTTP != nil {
		options.Transport = config.HTTP
	}
	// A vault on this machine is not below the domain that tokens are for.
	options.DisableChallengeResourceVerification = loopback.Is(u.Hostname())
	client, err := azsecrets.NewClient("https://"+u.Host, identified{config.Identity}, options)
	if err != nil {
		return nil, err
	}
	return &Vault{config: config, client: client}, nil
}

func (v *Vault) read(ctx context.Context) (secret, error) {
	return v.version(ctx, v.config.Certificate+v.config.Secret, "")
}

// before reads the newest of the enabled versions that were made before one.
func (v *Vault) before(ctx context.Context, version string) (secret, error) {
	name := v.config.Certificate + v.config.Secret
	made := map[string]time.Time{}
	for pager := v.client.NewListSecretPropertiesVersionsPager(name, nil); pager.More(); {
		page, err := pager.NextPage(ctx)
		if err != nil {
			return secret{}, fmt.Errorf("key vault %s: the versions of %s: %w", v.config.URL, name, vaultTrouble(err))
		}
		for _, p := range page.Value {
			if a := p.Attributes; p.ID != nil && a != nil && a.Created != nil && (p.ID.Version() == version || a.Enabled != nil && *a.Enabled) {
				made[p.ID.Version()] = *a.Created
			}
		}
	}
	newest := ""
	for id, at := range made {
		if at.Before(made[version]) && (newest == "" || at.After(made[newest])) {
			newest = id
		}
	}
	if newest == "" {
		return secret{}, errFirst
	}
	return v.version(ctx, name, newest)
}

// version reads one version, or the current one where it is empty.
func (v *Vault) version(ctx context.Context, name, version string) (secret, error) {
	found, err := v.get(ctx, name, version)
	if err != nil {
		return secret{}, err
	}
	s := secret{version: found.ID.Version()}
	if a := found.Attributes; a != nil && a.Expires != nil {
		s.expires = *a.Expires
	}
	content := ""
	if found.ContentType != nil {
		content = *found.ContentType
	}
	if v.config.Secret != "" {
		s.text, err = clientSecret(*found.Value, content)
	} else {
		err = v.certificate(ctx, &s, *found.Value, content)
	}
	if err != nil {
		return secret{}, fmt.Errorf("key vault %s: %s (version %s): %w", v.config.URL, name, s.version, err)
	}
	return s, nil
}

func clientSecret(value, content string) (string, error) {
	text := strings.TrimSpace(value)
	switch {
	case content == contentPFX || content == contentPEM || strings.Contains(text, "-----BEGIN "):
		return "", errors.New("not a client secret but a certificate: set CERT_NAME instead")
	case text == "":
		return "", errors.New("the value is empty")
	}
	return text, nil
}

// certificate reads a value by what it is, where the content type does not tell.
func (v *Vault) certificate(ctx context.Context, s *secret, value, content string) error {
	read := v.readPFX
	if content == contentPEM || content != contentPFX && strings.Contains(value, "-----BEGIN ") {
		read = readPEM
	}
	certificates, key, err := read(ctx, value)
	if err != nil {
		return err
	}
	if s.certificates, s.key, err = pair(certificates, key); err != nil {
		return err
	}
	s.expires = s.certificates[0].NotAfter
	return nil
}

func readPEM(_ context.Context, value string) ([]*x509.Certificate, crypto.PrivateKey, error) {
	return parsePEM([]byte(value))
}

// readPFX opens a PFX with the password that the vault has for it.
func (v *Vault) readPFX(ctx context.Context, value string) ([]*x509.Certificate, crypto.PrivateKey, error) {
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(value), ""))
	if err != nil {
		return nil, nil, errors.New("neither PEM nor a PFX in base64")
	}
	password := ""
	if v.config.Password != "" {
		found, err := v.get(ctx, v.config.Password, "")
		if err != nil {
			return nil, nil, err
		}
		password = *found.Value
	}
	certificates, key, err := parsePFX(data, password)
	switch {
	case errors.Is(err, errPassword) && v.config.Password == "":
		return nil, nil, errors.New("the PFX has a password: store it as a secret of the vault and name that in CERT_PASSWORD_NAME, or import the PFX as a certificate")
	case errors.Is(err, errPassword):
		return nil, nil, fmt.Errorf("wrong password of the PFX in %s", v.config.Password)
	}
	return certificates, key, err
}

func (v *Vault) get(ctx context.Context, name, version string) (azsecrets.GetSecretResponse, error) {
	found, err := v.client.GetSecret(ctx, name, version, nil)
	if err != nil {
		return found, fmt.Errorf("key vault %s: %s: %w", v.config.URL, name, vaultTrouble(err))
	}
	if found.Value == nil || found.ID == nil {
		return found, fmt.Errorf("key vault %s: %s: the answer has no value", v.config.URL, name)
	}
	return found, nil
}

// vaultTrouble adds to an error of Key Vault what to do about it.
func vaultTrouble(err error) error {
	var identity *identityError
	var refused *azcore.ResponseError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &identity):
		return fmt.Errorf("no token for the managed identity: give the container a managed identity, "+
			"and set AZURE_CLIENT_ID if it is user-assigned: %w", identity.err)
	case !errors.As(err, &refused):
		return fmt.Errorf("cannot reach the vault: check its URL, its private endpoint and the container's DNS: %w", err)
	}
	code, message := vaultSaid(refused)
	advice := "unexpected answer of the vault"
	switch {
	case code == "SecretDisabled":
		advice = "the current version is disabled: enable it or add a new version"
	case code == "ForbiddenByFirewall", code == "ForbiddenByConnection":
		advice = "the vault's firewall blocks the worker: allow the container's subnet, or use the private endpoint"
	case refused.StatusCode == http.StatusForbidden:
		advice = "access denied: assign the role Key Vault Secrets User to the worker's identity, and wait some minutes"
	case refused.StatusCode == http.StatusUnauthorized:
		advice = "the vault refuses the token of the worker's identity: both must belong to the same tenant"
	case refused.StatusCode == http.StatusNotFound:
		advice = "not found in the vault, or deleted"
	case refused.StatusCode == http.StatusTooManyRequests, refused.StatusCode >= 500:
		advice = "the vault is temporarily unavailable"
	}
	return fmt.Errorf("%s (%d %s: %s)", advice, refused.StatusCode, code, message)
}

// vaultSaid is the most precise code of an error and the first line of its message.
func vaultSaid(refused *azcore.ResponseError) (code, message string) {
	var answer struct {
		Error struct {
			Code       string `json:"code"`
			Message    string `json:"message"`
			InnerError struct {
				Code string `json:"code"`
			} `json:"innererror"`
		} `json:"error"`
	}
	if refused.RawResponse != nil {
		if body, err := runtime.Payload(refused.RawResponse); err == nil {
			_ = json.Unmarshal(body, &answer) // else there is nothing to tell
		}
	}
	code = refused.ErrorCode
	if answer.Error.InnerError.Code != "" {
		code = answer.Error.InnerError.Code
	}
	message, _, _ = strings.Cut(answer.Error.Message, "\n")
	return code, strings.TrimSpace(message)
}
