package vault_test

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/matoolkit/matoolkit/internal/secret"
	"github.com/matoolkit/matoolkit/internal/secret/vault"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/keyvault"
)

type app struct{ directory *entra.Server }

func (a app) GetToken(_ context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	token, err := a.directory.IssueAppToken(entra.DefaultWorkerClientID, o.Scopes[0])
	return azcore.AccessToken{Token: token, ExpiresOn: time.Now().Add(time.Hour)}, err
}

func TestTheKeyIsASecretInKeyVault(t *testing.T) {
	t.Parallel()
	config := entra.DefaultConfig()
	config.Addr = "127.0.0.1:0"
	directory := testenv.Started(entra.Start(t.Context(), config))(t)
	certificate, err := directory.ServerCertificate()
	if err != nil {
		t.Fatal(err)
	}
	server := testenv.Started(keyvault.Start(t.Context(), keyvault.Config{
		Certificate: certificate, Authority: directory.URL(), TenantID: entra.DefaultTenantID, VerifyToken: directory.VerifyToken,
	}))(t)
	keys, err := vault.New(vault.Config{
		URL: server.URL(), Name: "secrets-key", Credential: app{directory}, HTTP: directory.HTTPClient(), Retry: policy.RetryOptions{MaxRetries: -1},
	})
	if err != nil {
		t.Fatal(err)
	}
	wants := func(want error, text string, err error) {
		t.Helper()
		if !errors.Is(err, want) || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "canary") {
			t.Errorf("got %v, want %v with %q", err, want, text)
		}
	}
	_, err = keys.Current(t.Context())
	wants(secret.ErrUnavailable, "it does not exist: create it", err)
	if _, err := server.Set("secrets-key", keyvault.Secret{Value: "canary"}); err != nil {
		t.Fatal(err)
	}
	_, err = keys.Current(t.Context())
	wants(secret.ErrUnavailable, "openssl rand -base64 32", err)

	first, err := server.Set("secrets-key", keyvault.Secret{Value: base64.StdEncoding.EncodeToString(make([]byte, 32)) + "\n"})
	if err != nil {
		t.Fatal(err)
	}
	box := secret.New(keys)
	sealed, err := box.Seal(t.Context(), []byte("canary"), "p")
	if err != nil || !strings.Contains(sealed, first) {
		t.Fatalf("%s, %v", sealed, err)
	}
	if _, err := server.Set("secrets-key", keyvault.Secret{Value: base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))}); err != nil {
		t.Fatal(err)
	}
	later := secret.New(keys)
	if opened, err := later.Open(t.Context(), sealed, "p"); err != nil || string(opened) != "canary" {
		t.Errorf("after a rotation: %q, %v", opened, err)
	}
	if fresh, err := later.Seal(t.Context(), nil, "p"); err != nil || strings.Contains(fresh, first) {
		t.Errorf("after a rotation values are encrypted as %s, %v", fresh, err)
	}
	_, err = keys.Version(t.Context(), "0123456789abcdef0123456789abcdef")
	wants(secret.ErrLost, "gone from Key Vault", err)
	_, err = keys.Version(t.Context(), "../x")
	wants(secret.ErrLost, "no version", err)

	server.Fail(&keyvault.Failure{Status: 503, Code: "Unavailable"})
	_, err = keys.Version(t.Context(), first)
	wants(secret.ErrUnavailable, "not available", err)
	server.Fail(&keyvault.Failure{Status: 403, Code: "Forbidden", Inner: "ForbiddenByRbac"})
	_, err = keys.Version(t.Context(), first)
	wants(secret.ErrUnavailable, "Key Vault Secrets User", err)
	server.Fail(&keyvault.Failure{Status: 403, Code: "Forbidden", Inner: "SecretDisabled"})
	_, err = keys.Version(t.Context(), first)
	wants(secret.ErrLost, "disabled", err)
}

func TestAddressesAreChecked(t *testing.T) {
	t.Parallel()
	for _, bad := range [][2]string{{"http://v.vault.azure.net", "k"}, {"https://v.vault.azure.net/secrets/k", "k"}, {"", "k"}, {"https://v.vault.azure.net", "a b"}, {"https://v.vault.azure.net", ""}} {
		if err := vault.Check(bad[0], bad[1]); err == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
	if err := vault.Check("https://v.vault.azure.net/", "secrets-key"); err != nil {
		t.Error(err)
	}
}
