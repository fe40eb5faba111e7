package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

// Where a sign-in is kept. The system's key store (Keychain, DPAPI, the kernel's
// keyring) is the place for it; on a machine without one, as in most containers, a
// file that only its owner reads stands in, or every command would have to ask for
// a sign-in of its own.
const (
	storeAuto   = "auto"
	storeSystem = "system"
	storeFile   = "file"
)

const cacheName = "matoolkit-cli"

// account is what a sign-in leaves in signin.json: who, where and in which store
// the tokens are. It is no secret.
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
	// token gives a token without asking anyone; errSignIn when that cannot be.
	token(ctx context.Context) (string, time.Time, error)
}

var errSignIn = errors.New("a person has to sign in")

// signIn is a person's sign-in as it was kept.
type signIn struct {
	account
	credential
	target target
}

func (s *signIn) token(ctx context.Context) (string, time.Time, error) {
	token, until, err := s.credential.token(ctx)
	if errors.Is(err, errSignIn) {
		if err := s.target.heard.scope(s.target.scope); err != nil {
			return "", time.Time{}, err
		}
		return "", time.Time{}, &exit{status: ExitNotSignedIn, text: "the sign-in of " + s.Username + " is no longer good", hint: signInHint}
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
	return &exit{status: ExitUnavailable, text: "no token: " + firstLine(err)}
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	return line
}

// target is what is signed in to.
type target struct {
	authority, tenant, client, scope string
	web                              *http.Client
	heard                            *refusals // of web
	home                             string
}

func (c *console) target(all Settings, web *http.Client) (target, error) {
	home, err := c.home()
	web, heard := hearing(web)
	t := target{
		authority: strings.TrimRight(all.Get("authority"), "/"), tenant: all.Get("tenant-id"),
		client: all.Get("client-id"), scope: all.Get("api-scope"), web: web, heard: heard, home: home,
	}
	for _, need := range []struct{ value, key string }{{t.tenant, "tenant-id"}, {t.client, "client-id"}} {
		if need.value == "" {
			return t, &exit{status: ExitUsage, text: need.key + " is not set", hint: "Set it with: matoolkit config set " + need.key + " <value>\n" + localHint}
		}
	}
	return t, err
}

func (t target) accountFile() string { return filepath.Join(t.home, "signin.json") }

// openSignIn finds the sign-in that was kept for these settings.
func (c *console) openSignIn(all Settings, web *http.Client) (*signIn, error) {
	t, err := c.target(all, web)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(t.accountFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &exit{status: ExitNotSignedIn, text: "nobody has signed in", hint: signInHint}
	}
	a := account{}
	if err == nil {
		err = json.Unmarshal(data, &a)
	}
	if err != nil {
		return nil, fmt.Errorf("the sign-in kept in %s: %w", t.accountFile(), err)
	}
	if a.Authority != t.authority || !strings.EqualFold(a.TenantID, t.tenant) || !strings.EqualFold(a.ClientID, t.client) {
		return nil, &exit{status: ExitNotSignedIn, text: "the sign-in of " + a.Username + " is for another tenant or app registration than the settings name", hint: signInHint}
	}
	cred, err := t.credential(a.Store, a)
	if err != nil {
		return nil, err
	}
	return &signIn{account: a, credential: cred, target: t}, nil
}

// signInAnew asks the person and keeps what comes of it.
func (c *console) signInAnew(ctx context.Context, all Settings) (*signIn, error) {
	web, err := c.web(all)
	if err != nil {
		return nil, err
	}
	t, err := c.target(all, web)
	if err != nil {
		return nil, err
	}
	store := all.Get("token-store")
	if store == storeAuto {
		store = storeSystem
		if _, err := keyStore(); err != nil {
			store = storeFile
			c.notice(noKeyStore+"; the sign-in is kept in the file %s, which only you can read.", t.tokenFile())
		}
	}
	cred, err := t.credential(store, account{})
	if err != nil {
		return nil, err
	}
	a, err := cred.login(ctx, func(message string) { fmt.Fprintln(c.env.Stderr, message) })
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return nil, err
		}
		if err := t.heard.scope(t.scope); err != nil {
			return nil, err
		}
		return nil, &exit{status: ExitNotSignedIn, text: "the sign-in failed: " + firstLine(err)}
	}
	a.Store, a.Authority, a.TenantID, a.ClientID = store, t.authority, t.tenant, t.client
	data, err := json.MarshalIndent(a, "", "  ")
	if err == nil {
		err = replaceFile(t.accountFile(), append(data, '\n'))
	}
	if err != nil {
		return nil, fmt.Errorf("the sign-in was good but cannot be kept: %w", err)
	}
	return &signIn{account: a, credential: cred, target: t}, nil
}

func (t target) credential(store string, a account) (credential, error) {
	if store == storeFile {
		return newFileCredential(t, a)
	}
	keys, err := keyStore()
	if err != nil {
		return nil, &exit{
			status: ExitNotSignedIn, text: "the system's key store cannot be used: " + firstLine(err),
			hint: "Keep the sign-in in a file instead: matoolkit auth login --token-store file",
		}
	}
	return newSystemCredential(t, a, keys)
}
