package signin_test

import (
	"context"
	"crypto/x509"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/keyvault"
	"github.com/matoolkit/matoolkit/worker/signin"
)

func TestANewCertificateIsUsedWithoutARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old, next := current(t), current(t)
	w.accept(t, nil, old, next)
	w.set(t, "worker", stored(t, old))
	credential := w.mustOpen(t, certificate)
	first := w.token(t, credential, graphScope)
	other := w.token(t, credential, exchangeScope)

	// Jobs go on asking all the time, and none is refused.
	ctx, stop := context.WithCancel(t.Context())
	var jobs sync.WaitGroup
	for range 8 {
		jobs.Go(func() {
			for ctx.Err() == nil {
				if err := ask(ctx, credential); err != nil && ctx.Err() == nil {
					t.Errorf("a job got no token: %v", err)
					return
				}
			}
		})
	}
	version := w.set(t, "worker", stored(t, next))
	if changed, err := credential.Refresh(t.Context()); err != nil || !changed {
		t.Fatalf("changed: %v, %v", changed, err)
	}
	w.accept(t, nil, next) // whatever is asked for now is asked for with the new one
	testenv.Eventually(t, "what happens in the background", func() bool { return w.token(t, credential, exchangeScope) != other })
	if w.token(t, credential, graphScope) == first {
		t.Error("the next token is the old one")
	}
	stop()
	jobs.Wait()
	for _, want := range []string{thumbprint(next), version, "Before=", thumbprint(old)} {
		if !strings.Contains(w.log.String(), want) {
			t.Errorf("the log does not tell %s:\n%s", want, w.log)
		}
	}
	if changed, err := credential.Refresh(t.Context()); changed || err != nil {
		t.Errorf("the same version again: changed %v, %v", changed, err)
	}
}

func TestKeyVaultIsAskedAtIntervals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.accept(t, []string{"one", "two"})
	w.set(t, "worker", keyvault.Secret{Value: "one"})
	vaultConfig := w.vaultConfig(t)
	vaultConfig.Secret = "worker"
	vault := testenv.Must(signin.NewVault(vaultConfig))(t)
	config := w.config()
	config.Vault, config.Refresh = vault, 5*time.Millisecond
	credential := testenv.Must(signin.Open(t.Context(), config))(t)
	defer credential.Close()
	version := w.set(t, "worker", keyvault.Secret{Value: "two"})
	testenv.Eventually(t, "what happens in the background", func() bool {
		return strings.Contains(w.log.String(), "with a new credential") && strings.Contains(w.log.String(), version)
	})
}

// A secret in the vault that does not work changes nothing and is logged.
func TestASecretThatDoesNotWorkIsNotUsed(t *testing.T) {
	t.Parallel()
	year := 365 * 24 * time.Hour
	for name, c := range map[string]struct {
		put  func(t *testing.T, w *world)
		text string
	}{
		"not registered": {func(t *testing.T, w *world) { w.set(t, "worker", stored(t, current(t))) }, "the certificate is unknown"},
		"ended": {func(t *testing.T, w *world) {
			w.set(t, "worker", stored(t, issue(t, workerKey(), time.Now().Add(-2*year), time.Now().Add(-year))))
		}, "expired at"},
		"not valid yet": {func(t *testing.T, w *world) {
			w.set(t, "worker", stored(t, issue(t, workerKey(), time.Now().Add(year), time.Now().Add(2*year))))
		}, "not valid before"},
		"no certificate": {func(t *testing.T, w *world) { w.set(t, "worker", keyvault.Secret{Value: "bm9uZQ=="}) }, "not a PFX with one private key"},
		"disabled":       {func(t *testing.T, w *world) { w.set(t, "worker", keyvault.Secret{Disabled: true}) }, "the current version is disabled"},
		"deleted":        {func(_ *testing.T, w *world) { w.vault.Delete("worker") }, "not found in the vault"},
		"vault away":     {func(_ *testing.T, w *world) { _ = w.vault.Close() }, "cannot reach the vault"},
		"Entra ID away": {func(t *testing.T, w *world) {
			w.set(t, "worker", stored(t, current(t)))
			w.requests.failWith(answering(503, `{}`))
		}, "503"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			old := current(t)
			w.accept(t, nil, old)
			w.set(t, "worker", stored(t, old))
			credential := w.mustOpen(t, certificate)
			first := w.token(t, credential, graphScope)
			c.put(t, w)
			changed, err := credential.Refresh(t.Context())
			if changed || err == nil || !strings.Contains(err.Error(), c.text) {
				t.Errorf("changed: %v, %v; want %q", changed, err, c.text)
			}
			if !strings.Contains(w.log.String(), "keeping the current one") || !strings.Contains(w.log.String(), c.text) {
				t.Errorf("the log is\n%s", w.log)
			}
			if w.token(t, credential, graphScope) != first {
				t.Error("the token is not the one that is still good")
			}
			w.requests.failWith(nil)
			w.clock.Advance(2 * time.Hour)
			w.token(t, credential, graphScope)
		})
	}
}

// An administrator who removes the old secret first, or lets it expire, is forgiven as
// soon as the new one is in the vault.
func TestARefusedSecretIsReadAgainAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.accept(t, []string{"old"})
	w.set(t, "worker", keyvault.Secret{Value: "old"})
	credential := w.mustOpen(t, secret)
	w.token(t, credential, graphScope)
	w.set(t, "worker", keyvault.Secret{Value: "new"})
	w.accept(t, []string{"new"})
	reads := w.vault.Reads()
	w.clock.Advance(2 * time.Hour)
	w.token(t, credential, graphScope)
	w.token(t, credential, exchangeScope)
	if n := w.vault.Reads() - reads; n != 1 {
		t.Errorf("the vault was read %d times, want once", n)
	}
}

func TestARefusedSecretIsNotReadAgainAllTheTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.accept(t, []string{"old"})
	w.set(t, "worker", keyvault.Secret{Value: "old"})
	credential := w.mustOpen(t, secret)
	w.accept(t, []string{"new"})
	reads := w.vault.Reads()
	w.clock.Advance(2 * time.Hour)
	for range 20 {
		if err := ask(t.Context(), credential); err == nil || !strings.Contains(err.Error(), "AADSTS7000215") {
			t.Fatalf("got %v", err)
		}
	}
	if n := w.vault.Reads() - reads; n != 2 {
		t.Errorf("the vault was read %d times, want once for a new version and once for the one before", n)
	}
	w.set(t, "worker", keyvault.Secret{Value: "new"})
	w.clock.Advance(time.Minute)
	w.token(t, credential, graphScope)
}

// The certificate in use ends by Entra ID's clock, and its successor was put into the
// vault since it was last read.
func TestACertificateThatEndedIsReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old, next := current(t), current(t)
	w.accept(t, nil, old)
	w.set(t, "worker", stored(t, old))
	credential := w.mustOpen(t, certificate)
	w.token(t, credential, graphScope)
	w.set(t, "worker", stored(t, next))
	w.accept(t, nil, next)
	w.clock.Advance(2 * time.Hour)
	var jobs sync.WaitGroup
	for _, scope := range []string{graphScope, exchangeScope, graphScope, exchangeScope} {
		jobs.Go(func() {
			if _, err := credential.GetToken(t.Context(), tokenOptions(scope)); err != nil {
				t.Errorf("a job got no token: %v", err)
			}
		})
	}
	jobs.Wait()
}

// A server of Entra ID that has not heard of the new certificate yet is no outage.
func TestTheSecretBeforeIsUsedWhereTheNewOneIsNotKnownYet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old, next := current(t), current(t)
	w.accept(t, nil, old, next)
	w.set(t, "worker", stored(t, old))
	credential := w.mustOpen(t, certificate)
	w.token(t, credential, graphScope)
	w.set(t, "worker", stored(t, next))
	if changed, err := credential.Refresh(t.Context()); err != nil || !changed {
		t.Fatalf("changed: %v, %v", changed, err)
	}
	w.accept(t, nil, old)
	w.token(t, credential, exchangeScope)
	if !strings.Contains(w.log.String(), "using the previous one") {
		t.Errorf("the log is\n%s", w.log)
	}
	// Once the old one is refused as well, it is not tried any more.
	w.accept(t, nil)
	for range 2 {
		w.clock.Advance(2 * time.Hour)
		if err := ask(t.Context(), credential); err == nil || !strings.Contains(err.Error(), "AADSTS700027") {
			t.Fatalf("got %v", err)
		}
	}
	before := w.requests.count()
	w.clock.Advance(2 * time.Hour)
	_ = ask(t.Context(), credential)
	if n := w.requests.count() - before; n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
	w.accept(t, nil, next)
	w.token(t, credential, graphScope)
}

// A worker can start after the vault has renewed the certificate and before the new one
// is registered.
func TestAWorkerThatStartsWithACertificateThatIsNotRegisteredUsesTheOneBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, old, next := current(t), current(t), current(t)
	w.accept(t, nil, old)
	put := func(made *x509.Certificate, disabled bool) {
		s := stored(t, made)
		s.Disabled = disabled
		w.set(t, "worker", s)
		w.clock.Advance(time.Minute)
	}
	put(first, false)
	put(old, false)
	put(current(t), true) // of no use: it is passed over
	put(next, false)
	credential := w.mustOpen(t, certificate)
	var asked sync.WaitGroup // Graph and Exchange are tried at the same time
	for _, scope := range []string{graphScope, exchangeScope} {
		asked.Go(func() { w.token(t, credential, scope) })
	}
	asked.Wait()
	if !strings.Contains(w.log.String(), "using the previous one") {
		t.Errorf("the log is\n%s", w.log)
	}
	// Once the new one is registered, the worker uses it, and the old one can be removed.
	w.accept(t, nil, next)
	w.clock.Advance(2 * time.Hour)
	before := w.requests.count()
	w.token(t, credential, graphScope)
	if n := w.requests.count() - before; n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

// If neither is registered, the error says so, and the worker does not read the vault repeatedly.
func TestAWorkerThatStartsWithoutAnyRegisteredCertificateSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.accept(t, nil)
	w.set(t, "worker", stored(t, current(t)))
	w.clock.Advance(time.Minute)
	w.set(t, "worker", stored(t, current(t)))
	credential := w.mustOpen(t, certificate)
	for range 3 {
		if err := ask(t.Context(), credential); err == nil || !strings.Contains(err.Error(), "AADSTS700027") {
			t.Fatalf("got %v", err)
		}
	}
	if n := w.requests.count(); n != 4 {
		t.Errorf("%d requests, want one for each and one with the certificate before", n)
	}
}

func TestASecretThatEndsSoonIsWarnedOf(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ends := time.Now().Add(13 * 24 * time.Hour)
	made := issue(t, workerKey(), time.Now().Add(-time.Hour), ends)
	w.set(t, "worker", stored(t, made))
	w.set(t, "text", keyvault.Secret{Value: entra.DefaultWorkerSecret, Expires: ends})
	w.mustOpen(t, certificate)
	w.mustOpen(t, func(c *signin.VaultConfig) { c.Secret = "text" })
	if n := strings.Count(w.log.String(), "expires soon"); n != 2 {
		t.Errorf("warned %d times, want 2:\n%s", n, w.log)
	}
	w.set(t, "worker", stored(t, current(t)))
	w.mustOpen(t, certificate)
	if n := strings.Count(w.log.String(), "expires soon"); n != 2 {
		t.Errorf("warned of a certificate that is good for a year:\n%s", w.log)
	}
}
