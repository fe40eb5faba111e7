package signin_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/keyvault"
	"github.com/matoolkit/matoolkit/worker/signin"
)

func TestWhatKeyVaultDoesNotGiveIsExplained(t *testing.T) {
	t.Parallel()
	year := 365 * 24 * time.Hour
	for name, c := range map[string]struct {
		prepare func(t *testing.T, w *world)
		change  func(*signin.VaultConfig)
		text    string
	}{
		"no role": {func(_ *testing.T, w *world) { w.allowed = func(string) bool { return false } }, secret, "assign the role Key Vault Secrets User"},
		"firewall": {func(_ *testing.T, w *world) {
			w.vault.Fail(&keyvault.Failure{Status: 403, Code: "Forbidden", Inner: "ForbiddenByFirewall", Message: "Client address is not authorized"})
		}, secret, "the vault's firewall blocks the worker"},
		"busy": {func(_ *testing.T, w *world) {
			w.vault.Fail(&keyvault.Failure{Status: 429, Code: "Throttled", Message: "Too many"})
		}, secret, "temporarily unavailable (429 Throttled: Too many)"},
		"away":           {func(_ *testing.T, w *world) { _ = w.vault.Close() }, secret, "cannot reach the vault: check its URL"},
		"no such secret": {func(_ *testing.T, w *world) { w.vault.Delete("worker") }, secret, "worker: not found in the vault"},
		"disabled":       {func(t *testing.T, w *world) { w.set(t, "worker", keyvault.Secret{Disabled: true}) }, secret, "enable it or add a new version"},
		"empty":          {func(t *testing.T, w *world) { w.set(t, "worker", keyvault.Secret{Value: " \n"}) }, secret, "the value is empty"},
		"a certificate": {func(t *testing.T, w *world) {
			w.set(t, "worker", keyvault.Secret{Value: "v4lue", ContentType: keyvault.ContentTypePFX})
		}, secret, "not a client secret but a certificate"},
		"a client secret": {func(*testing.T, *world) {}, certificate, "neither PEM nor a PFX in base64"},
		"no identity": {func(*testing.T, *world) {}, func(c *signin.VaultConfig) {
			secret(c)
			other, err := signin.ManagedIdentity(uuid.NewString(), nil)
			if err != nil {
				panic(err)
			}
			c.Identity = other
		}, "no token for the managed identity"},
		"ended": {func(t *testing.T, w *world) {
			w.set(t, "worker", stored(t, issue(t, workerKey(), time.Now().Add(-2*year), time.Now().Add(-year))))
		}, certificate, "expired at"},
		"not valid yet": {func(t *testing.T, w *world) {
			w.set(t, "worker", stored(t, issue(t, workerKey(), time.Now().Add(year), time.Now().Add(2*year))))
		}, certificate, "not valid before"},
		"no password": {func(*testing.T, *world) {}, func(c *signin.VaultConfig) { c.Certificate, c.Password = "protected", "none" }, "none: not found in the vault"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.set(t, "worker", keyvault.Secret{Value: "a-t0p.secret"})
			w.set(t, "protected", stored(t, current(t)))
			c.prepare(t, w)
			_, err := w.open(t, c.change)
			if err == nil || !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), w.vault.URL()) && !strings.Contains(err.Error(), "certificate") {
				t.Fatalf("got %v, want %q", err, c.text)
			}
			if strings.Contains(err.Error(), "t0p") || strings.Contains(err.Error(), "v4lue") {
				t.Errorf("the error tells the secret: %v", err)
			}
		})
	}
}

func TestAVaultThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]signin.VaultConfig{
		"without TLS":     {URL: "http://name.vault.azure.net", Secret: "a"},
		"a name":          {URL: "name", Secret: "a"},
		"a secret's URL":  {URL: "https://name.vault.azure.net/secrets/a", Secret: "a"},
		"nothing to read": {URL: "https://name.vault.azure.net"},
		"two to read":     {URL: "https://name.vault.azure.net", Secret: "a", Certificate: "b"},
		"no name":         {URL: "https://name.vault.azure.net", Secret: "a_b"},
	} {
		if _, err := signin.NewVault(config); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// The SDK asks again for as long as the caller waits.
func TestAVaultThatIsBusyIsAskedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.accept(t, []string{"s"})
	w.set(t, "worker", keyvault.Secret{Value: "s"})
	w.vault.Fail(&keyvault.Failure{Status: 503, Code: "ServiceUnavailable"})
	vaultConfig := w.vaultConfig(t)
	vaultConfig.Secret = "worker"
	vaultConfig.Retry.MaxRetries, vaultConfig.Retry.RetryDelay = 1000, time.Millisecond
	vaultConfig.Retry.MaxRetryDelay = time.Millisecond
	vault := testenv.Must(signin.NewVault(vaultConfig))(t)
	config := w.config()
	config.Vault = vault
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	opened := make(chan error, 1)
	go func() {
		credential, err := signin.Open(ctx, config)
		if err == nil {
			credential.Close()
		}
		opened <- err
	}()
	testenv.Eventually(t, "what happens in the background", func() bool { return w.vault.Reads() > 3 })
	w.vault.Fail(nil)
	if err := <-opened; err != nil {
		t.Error(err)
	}
}
