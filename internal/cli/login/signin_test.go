package login

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/settings"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
)

// provider is an identity provider that approves every sign-in.
func provider(t *testing.T) *entra.Server {
	t.Helper()
	c := entra.DefaultConfig()
	c.Addr, c.AutoApprove = "127.0.0.1:0", entra.DefaultAdminUPN
	return testenv.Started(entra.Start(t.Context(), c))(t)
}

func targetOf(s *entra.Server, home string) target {
	web, refused := countRefusals(s.HTTPClient())
	return target{
		authority: s.URL(), tenant: entra.DefaultTenantID, client: entra.DefaultCLIClientID, scope: entra.DefaultAdminAPIScope,
		web: web, refused: refused, home: home,
	}
}

// Both stores sign in the same way. The system's own is not touched: what stands in
// for it here keeps tokens in memory.
func TestCredentials(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(target) (credential, error){
		settings.StoreSystem: func(to target) (credential, error) {
			return newSystemCredential(to, account{}, azidentity.Cache{})
		},
		settings.StoreFile: func(to target) (credential, error) { return newFileCredential(to, account{}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := provider(t)
			c, err := open(targetOf(s, t.TempDir()))
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := c.token(t.Context()); !errors.Is(err, errSignIn) {
				t.Fatalf("a token before the sign-in: %v", err)
			}
			var told string
			a, err := c.login(t.Context(), func(message string) { told = message })
			if err != nil || a.Username != entra.DefaultAdminUPN || a.HomeID == "" || !strings.Contains(told, s.URL()) {
				t.Fatalf("signed in as %+v, told %q, %v", a, told, err)
			}
			token, until, err := c.token(t.Context())
			if err != nil || until.Before(time.Now()) {
				t.Fatalf("a token until %v, %v", until, err)
			}
			if err := s.VerifyToken(token, entra.DefaultAdminAPIAudience); err != nil {
				if err := s.VerifyToken(token, entra.DefaultAdminAPIClientID); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// The error of an unknown scope names the scope and does not ask for a sign-in.
func TestWrongScope(t *testing.T) {
	t.Parallel()
	const scope = "api://other/.default"
	for name, open := range map[string]func(target, account) (credential, error){
		settings.StoreSystem: func(to target, a account) (credential, error) { return newSystemCredential(to, a, azidentity.Cache{}) },
		settings.StoreFile:   func(to target, a account) (credential, error) { return newFileCredential(to, a) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := targetOf(provider(t), t.TempDir())
			c, err := open(to, account{})
			if err != nil {
				t.Fatal(err)
			}
			a, err := c.login(t.Context(), func(string) {})
			if err != nil {
				t.Fatal(err)
			}
			to.scope = scope
			if system, ok := c.(*systemCredential); ok {
				system.target = to // its tokens are kept by it alone
			} else if c, err = open(to, a); err != nil {
				t.Fatal(err)
			}
			_, _, err = (&SignIn{account: a, credential: c, target: to}).token(t.Context())
			var e *exit.Error
			if !errors.As(err, &e) || e.Status != exit.NotSignedIn || !strings.Contains(e.Text, scope) ||
				!strings.Contains(e.Text, "AADSTS500011") || !strings.HasPrefix(e.Hint, "Check api-scope") {
				t.Errorf("told %v", err)
			}
		})
	}
}

func TestFileCredentialOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	s := provider(t)
	to := targetOf(s, t.TempDir())
	first, err := newFileCredential(to, account{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := first.login(t.Context(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	// Each of these is another process.
	token := func(a account) (string, error) {
		t.Helper()
		c, err := newFileCredential(to, a)
		if err != nil {
			t.Fatal(err)
		}
		token, _, err := c.token(t.Context())
		return token, err
	}
	old, err := token(a)
	if err != nil {
		t.Fatalf("the next process: %v", err)
	}
	if _, err := token(account{HomeID: "somebody.else"}); !errors.Is(err, errSignIn) {
		t.Errorf("another account: %v", err)
	}
	rewrite(t, to.tokenFile(), "expires_on", "1") // the access token is too old
	fresh, err := token(a)
	if err != nil || fresh == old {
		t.Errorf("an expired token was not renewed: %v", err)
	}
	rewrite(t, to.tokenFile(), "expires_on", "1")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := token(a); err == nil || errors.Is(err, errSignIn) {
		t.Errorf("an outage asks for a sign-in: %v", err)
	}
}

func TestRevokedSignIn(t *testing.T) {
	t.Parallel()
	s := provider(t)
	to := targetOf(s, t.TempDir())
	c, err := newFileCredential(to, account{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.login(t.Context(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	rewrite(t, to.tokenFile(), "expires_on", "1")
	rewrite(t, to.tokenFile(), "secret", "revoked")
	if c, err = newFileCredential(to, a); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.token(t.Context()); !errors.Is(err, errSignIn) {
		t.Errorf("a revoked sign-in: %v", err)
	}
}

func TestAnOutageIsNoReasonToSignInAgain(t *testing.T) {
	t.Parallel()
	s := provider(t)
	c, err := newSystemCredential(targetOf(s, t.TempDir()), account{}, azidentity.Cache{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.token(t.Context()); err == nil || errors.Is(err, errSignIn) {
		t.Errorf("an outage asks for a sign-in: %v", err)
	}
}

// rewrite sets every field of this name in a JSON file.
func rewrite(t *testing.T, path, field, value string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	fields := regexp.MustCompile(`"` + field + `":"[^"]*"`)
	if !fields.Match(data) {
		t.Fatalf("%s has no %s", path, field)
	}
	if err := os.WriteFile(path, fields.ReplaceAll(data, []byte(`"`+field+`":"`+value+`"`)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLoginStops(t *testing.T) {
	t.Parallel()
	c := entra.DefaultConfig()
	c.Addr = "127.0.0.1:0" // nobody approves
	s := testenv.Started(entra.Start(t.Context(), c))(t)
	ctx, cancel := context.WithCancel(t.Context())
	f, err := newFileCredential(targetOf(s, t.TempDir()), account{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.login(ctx, func(string) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
}
