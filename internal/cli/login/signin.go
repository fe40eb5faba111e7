// Package login gets access tokens for the admin API: from the sign-in of a person, which
// it keeps on the machine, or unattended, from the Azure CLI, a managed identity or a
// certificate. It knows the settings and no command.
package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/settings"
)

const cacheName = "matoolkit-cli"

// account is the content of signin.json: the account, the tenant and the store of the tokens. It
// has no secret.
type account struct {
	Store     string                          `json:"store"`
	Authority string                          `json:"authority"`
	TenantID  string                          `json:"tenantId"`
	ClientID  string                          `json:"clientId"`
	Username  string                          `json:"username"`
	HomeID    string                          `json:"homeAccountId"`
	Record    azidentity.AuthenticationRecord `json:"record,omitzero"`
}

// credential signs a person in by device code and gives tokens later on.
type credential interface {
	// login asks the person, through prompt, to enter a code in a browser.
	login(ctx context.Context, prompt func(string)) (account, error)
	// token returns a token without asking a person, or errSignIn.
	token(ctx context.Context) (string, time.Time, error)
}

var errSignIn = errors.New("a person must sign in")

// SignIn is the kept sign-in of a person.
type SignIn struct {
	account
	credential
	target target
}

func (s *SignIn) token(ctx context.Context) (string, time.Time, error) {
	token, until, err := s.credential.token(ctx)
	if errors.Is(err, errSignIn) {
		if err := s.target.refused.scope(s.target.scope); err != nil {
			return "", time.Time{}, err
		}
		return "", time.Time{}, &exit.Error{Status: exit.NotSignedIn, Text: "the sign-in of " + s.Username + " has expired or was revoked", Hint: SignInHint}
	}
	if err != nil {
		return "", time.Time{}, unavailable(err)
	}
	return token, until, nil
}

func unavailable(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return &exit.Error{Status: exit.Unavailable, Text: "no token: " + firstLine(err)}
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	return line
}

// Opener opens sign-ins.
type Opener struct {
	Getenv func(string) string
	Now    func() time.Time
	Home   func() (string, error) // the directory of the sign-in
	Stderr io.Writer
	Notice func(format string, args ...any)
}

// target has the settings of a sign-in.
type target struct {
	authority, tenant, client, scope string
	web                              *http.Client
	refused                          *refusals // of web
	home                             string
}

func (c *Opener) target(all settings.Settings, web *http.Client) (target, error) {
	home, err := c.Home()
	web, refused := countRefusals(web)
	t := target{
		authority: strings.TrimRight(all.Get("authority"), "/"), tenant: all.Get("tenant-id"),
		client: all.Get("client-id"), scope: all.Get("api-scope"), web: web, refused: refused, home: home,
	}
	for _, need := range []struct{ value, key string }{{t.tenant, "tenant-id"}, {t.client, "client-id"}} {
		if need.value == "" {
			return t, &exit.Error{Status: exit.WrongUsage, Text: need.key + " is not set", Hint: "Set it: matoolkit config set " + need.key + " <value>\n" + settings.LocalHint}
		}
	}
	return t, err
}

func (t target) accountFile() string { return filepath.Join(t.home, "signin.json") }

// openSignIn reads the sign-in that was kept for these settings.
func (c *Opener) openSignIn(all settings.Settings, web *http.Client) (*SignIn, error) {
	t, err := c.target(all, web)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(t.accountFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &exit.Error{Status: exit.NotSignedIn, Text: "you are not signed in", Hint: SignInHint}
	}
	a := account{}
	if err == nil {
		err = json.Unmarshal(data, &a)
	}
	if err != nil {
		return nil, fmt.Errorf("read the sign-in in %s: %w", t.accountFile(), err)
	}
	if a.Authority != t.authority || !strings.EqualFold(a.TenantID, t.tenant) || !strings.EqualFold(a.ClientID, t.client) {
		return nil, &exit.Error{Status: exit.NotSignedIn, Text: "the sign-in of " + a.Username + " is for a tenant or app registration other than that of the settings", Hint: SignInHint}
	}
	cred, err := t.credential(a.Store, a)
	if err != nil {
		return nil, err
	}
	return &SignIn{account: a, credential: cred, target: t}, nil
}

// SignIn signs a person in and keeps the sign-in.
func (c *Opener) SignIn(ctx context.Context, all settings.Settings) (*SignIn, error) {
	web, err := HTTPClient(all)
	if err != nil {
		return nil, err
	}
	t, err := c.target(all, web)
	if err != nil {
		return nil, err
	}
	store := all.Get("token-store")
	if store == settings.StoreAuto {
		store = settings.StoreSystem
		if err := checkKeyStore(); err != nil {
			store = settings.StoreFile
			c.Notice(noKeyStore+". The sign-in is kept in %s, which only you can read.", t.tokenFile())
		}
	}
	cred, err := t.credential(store, account{})
	if err != nil {
		return nil, err
	}
	a, err := cred.login(ctx, func(message string) { fmt.Fprintln(c.Stderr, message) })
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return nil, err
		}
		if err := t.refused.scope(t.scope); err != nil {
			return nil, err
		}
		return nil, &exit.Error{Status: exit.NotSignedIn, Text: "the sign-in failed: " + firstLine(err)}
	}
	a.Store, a.Authority, a.TenantID, a.ClientID = store, t.authority, t.tenant, t.client
	data, err := json.MarshalIndent(a, "", "  ")
	if err == nil {
		err = settings.ReplaceFile(t.accountFile(), append(data, '\n'))
	}
	if err != nil {
		return nil, fmt.Errorf("the sign-in succeeded but could not be stored: %w", err)
	}
	return &SignIn{account: a, credential: cred, target: t}, nil
}

func (t target) credential(store string, a account) (credential, error) {
	if store == settings.StoreFile {
		return newFileCredential(t, a)
	}
	if err := checkKeyStore(); err != nil {
		return nil, &exit.Error{
			Status: exit.NotSignedIn, Text: "the key store of the system is not available: " + firstLine(err),
			Hint: "Keep the sign-in in a file: matoolkit auth login --token-store file",
		}
	}
	return newStoredCredential(t, a)
}
