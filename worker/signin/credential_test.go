package signin_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/keyvault"
	"github.com/matoolkit/matoolkit/worker/signin"
)

func TestSigningInWithWhatKeyVaultHas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := current(t)
	w.accept(t, []string{"the-client-secret"}, made)
	w.set(t, "certificate", stored(t, made))
	w.set(t, "text", keyvault.Secret{Value: "the-client-secret\n"})
	for name, change := range map[string]func(*signin.VaultConfig){
		"certificate":   func(c *signin.VaultConfig) { c.Certificate = "certificate" },
		"client secret": func(c *signin.VaultConfig) { c.Secret = "text" },
	} {
		credential := w.mustOpen(t, change)
		first := w.token(t, credential, graphScope)
		if w.token(t, credential, exchangeScope) == first {
			t.Errorf("%s: one token for two services", name)
		}
		before := w.requests.count()
		if w.token(t, credential, graphScope) != first || w.requests.count() != before {
			t.Errorf("%s: a token is not kept", name)
		}
	}
	if log := w.log.String(); !strings.Contains(log, thumbprint(made)) || strings.Contains(log, "the-client-secret") {
		t.Errorf("the log is\n%s", log)
	}
}

func TestTokensAreRenewedBeforeTheyExpire(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.accept(t, []string{"s"})
	w.set(t, "worker", keyvault.Secret{Value: "s"})
	credential := w.mustOpen(t, secret)
	first := w.token(t, credential, graphScope)

	w.clock.Advance(45 * time.Minute)
	if w.token(t, credential, graphScope) != first || w.requests.count() != 1 {
		t.Fatal("renewed too early")
	}
	// In the last ten minutes the old token is still given out while another is asked for.
	w.clock.Advance(8 * time.Minute)
	if got := w.token(t, credential, graphScope); got != first {
		t.Error("the caller waited for a new token while the old one was good")
	}
	testenv.Eventually(t, "what happens in the background", func() bool { return w.token(t, credential, graphScope) != first })
	if n := w.requests.count(); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
	// A token that was not used in time is not returned any more.
	second := w.token(t, credential, graphScope)
	w.clock.Advance(2 * time.Hour)
	if w.token(t, credential, graphScope) == second {
		t.Error("an expired token was given out")
	}
}

func TestACallerWhoKeepsATokenWaitsForItsRenewal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.accept(t, []string{"s"})
	w.set(t, "worker", keyvault.Secret{Value: "s"})
	credential := w.mustOpen(t, secret)
	lasting := func() string {
		return testenv.Must(credential.GetLastingToken(t.Context(), tokenOptions(graphScope)))(t).Token
	}
	first := w.token(t, credential, graphScope)
	if lasting() != first || w.requests.count() != 1 {
		t.Error("another token at the beginning")
	}
	w.clock.Advance(53 * time.Minute)
	w.requests.failWith(answering(503, `{"error":"temporarily_unavailable"}`))
	for range 2 {
		if lasting() != first {
			t.Error("no token while Entra ID is away")
		}
	}
	w.requests.failWith(nil)
	w.clock.Advance(time.Minute)
	if lasting() == first {
		t.Error("a token for some minutes only")
	}
	if n := w.requests.count(); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
}

func TestARenewalThatFailsTakesNoTokenAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.accept(t, []string{"s"})
	w.set(t, "worker", keyvault.Secret{Value: "s"})
	credential := w.mustOpen(t, secret)
	first := w.token(t, credential, graphScope)
	w.requests.failWith(answering(503, `{"error":"temporarily_unavailable"}`))
	w.clock.Advance(53 * time.Minute)
	if w.token(t, credential, graphScope) != first {
		t.Fatal("no token while Entra ID is away")
	}
	testenv.Eventually(t, "what happens in the background", func() bool { return strings.Contains(w.log.String(), "cannot get a token of the target tenant") })
	for end := time.Now().Add(200 * time.Millisecond); time.Now().Before(end); {
		if w.token(t, credential, graphScope) != first {
			t.Fatal("no token while Entra ID is away")
		}
	}
	if n := w.requests.count(); n != 2 {
		t.Errorf("%d requests, want 2: a failed renewal is not repeated at once", n)
	}
	w.clock.Advance(time.Minute)
	w.requests.failWith(nil)
	testenv.Eventually(t, "what happens in the background", func() bool { return w.token(t, credential, graphScope) != first })
}

func TestManyCallersAskOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.accept(t, []string{"s"})
	w.set(t, "worker", keyvault.Secret{Value: "s"})
	credential := w.mustOpen(t, secret)
	// The one that causes the request goes away.
	gone, leave := context.WithCancel(t.Context())
	leave()
	if err := ask(gone, credential); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			if err := ask(t.Context(), credential); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := w.requests.count(); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

func TestARefusalSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*signin.Config)
		code   int
		text   string
	}{
		"wrong secret": {func(c *signin.Config) { c.Secret = "t0p-secret" }, 7000215, "wrong client secret: use the secret's value"},
		"wrong tenant": {func(c *signin.Config) { c.TenantID = "11111111-1111-1111-1111-111111111111" }, 90002, "check TARGET_TENANT_ID"},
		"wrong app":    {func(c *signin.Config) { c.AppID = "11111111-1111-1111-1111-111111111111" }, 700016, "check that APP_ID and TARGET_TENANT_ID belong together"},
		"no such API":  {func(c *signin.Config) { c.Scope = "https://graph.example/.default" }, 500011, "the tenant does not have this service"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			config := w.config()
			config.Secret = entra.DefaultWorkerSecret
			c.change(&config)
			credential := testenv.Must(signin.Open(t.Context(), config))(t)
			defer credential.Close()
			_, err := credential.GetToken(t.Context(), tokenOptions(config.Scope))
			var refused *signin.RefusedError
			var failed *azidentity.AuthenticationFailedError
			if !errors.As(err, &refused) || refused.Code != c.code || !strings.Contains(err.Error(), c.text) || !errors.As(err, &failed) {
				t.Errorf("got %v, want AADSTS%d and %q", err, c.code, c.text)
			}
			if strings.Contains(err.Error()+w.log.String(), "t0p-secret") || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestOpenRefusesWhatCannotBecomeRight(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, c := range map[string]struct {
		change func(*signin.Config)
		text   string
	}{
		"no secret":    {func(c *signin.Config) { c.Secret = "" }, "give a client secret or a key vault"},
		"no tenant id": {func(c *signin.Config) { c.TenantID = "no tenant!" }, "tenant"},
	} {
		config := w.config()
		config.Secret = "s"
		c.change(&config)
		if _, err := signin.Open(t.Context(), config); err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %q", name, err, c.text)
		}
	}
}

func TestAClosedCredentialGivesNoNewTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.accept(t, []string{"s"})
	w.set(t, "worker", keyvault.Secret{Value: "s"})
	credential := w.mustOpen(t, secret)
	credential.Close()
	if err := ask(t.Context(), credential); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
