// Package signin is how the worker signs in: at the target tenant as an app
// registration, with a certificate or a client secret that Key Vault keeps, and in
// Azure with its managed identity.
//
// A Credential gives the tokens of the target tenant. It renews them before they
// expire, replaces one that an API refuses, and follows its secret: a new version in
// Key Vault is tried at Entra ID and, once that takes it, used for all further tokens,
// without a restart and without a job that notices. One that begins with a version that
// Entra ID refuses uses the version before it.
//
// It knows neither Graph nor Exchange, only scopes.
package signin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/matoolkit/matoolkit/internal/logkey"
)

const (
	// DefaultRefresh is how often Key Vault is asked for a new version.
	DefaultRefresh = time.Hour
	// afterTrouble is when Key Vault is asked again where that or the trial of a new
	// version failed: a certificate may be in the vault before Entra ID knows it.
	afterTrouble = 5 * time.Minute
	// atOnce is how often a refused secret may make it be read again.
	atOnce = 30 * time.Second
	// asking bounds a request for a token with all its repetitions, and the reading
	// of Key Vault that it may cause.
	asking = 100 * time.Second
)

// Config of a Credential. TenantID, AppID, Scope and one of Secret and Vault are
// required.
type Config struct {
	TenantID string // of the target tenant: its id or a domain
	AppID    string // client id of the app registration there
	// AuthorityHost is the Entra ID to sign in at; empty means the public cloud's. An
	// authority on this machine is not in Microsoft's list of authorities, and with
	// Local it is not looked up there.
	AuthorityHost string
	Local         bool
	// Secret is a client secret that does not change.
	Secret string
	// Vault has the secret otherwise.
	Vault *Vault
	// Scope is the scope of the token that tests a new version of the secret.
	Scope string
	// Refresh is how often Key Vault is asked; 0 means DefaultRefresh.
	Refresh time.Duration
	// HTTP reaches Entra ID; nil means the SDK's.
	HTTP *http.Client
	// Retry is how requests for tokens are repeated; zero means as the SDK does.
	Retry policy.RetryOptions
	Now   func() time.Time // nil means time.Now
	Log   *slog.Logger     // nil discards
}

// Credential gives tokens. It is safe for concurrent use.
type Credential struct {
	config Config
	source source

	// turn guards reads of the source and reread, the time of the last read after a
	// refusal.
	turn   chan struct{}
	reread time.Time

	mu     sync.Mutex
	secret secret
	former *secret // the one before, for as long as Entra ID takes it
	looked bool    // for the one before, which a process that has just begun does not know
	tokens map[request]*held

	ctx   context.Context // of what outlasts the call that needed it
	stop  context.CancelFunc
	group sync.WaitGroup
}

// Open reads the secret and, where it is in Key Vault, keeps following it until Close.
// It asks Entra ID for nothing yet. ctx bounds the opening alone.
func Open(ctx context.Context, config Config) (*Credential, error) {
	if (config.Secret == "") == (config.Vault == nil) {
		return nil, errors.New("give a client secret or a key vault")
	}
	if config.Refresh == 0 {
		config.Refresh = DefaultRefresh
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	c := &Credential{config: config, turn: make(chan struct{}, 1), tokens: map[request]*held{}}
	c.source = fixed(config.Secret)
	if config.Vault != nil {
		c.source = config.Vault
	}
	first, err := c.source.read(ctx)
	if err != nil {
		return nil, err
	}
	if err := first.usable(config.Now()); err != nil {
		return nil, fmt.Errorf("%s: %w", first, err)
	}
	if _, err := c.identity(first); err != nil {
		return nil, err
	}
	c.secret = first
	c.ctx, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	config.Log.Info("signing in to the target tenant", logkey.Credential, first.String(), logkey.ExpiresAt, first.end())
	c.warn(first)
	if config.Vault != nil {
		c.group.Go(c.follow)
	}
	return c, nil
}

// Close ends what goes on in the background and waits for it. The credential gives no
// new tokens afterwards.
func (c *Credential) Close() {
	c.mu.Lock()
	c.stop() // under c.mu, where what goes on in the background is begun
	c.mu.Unlock()
	c.group.Wait()
}

// identity signs in with a secret. It keeps no token that it got before.
func (c *Credential) identity(s secret) (azcore.TokenCredential, error) {
	options := azcore.ClientOptions{Retry: c.config.Retry}
	if c.config.HTTP != nil {
		options.Transport = c.config.HTTP
	}
	if c.config.AuthorityHost != "" {
		options.Cloud = cloud.Configuration{ActiveDirectoryAuthorityHost: c.config.AuthorityHost}
	}
	if s.key == nil {
		return azidentity.NewClientSecretCredential(c.config.TenantID, c.config.AppID, s.text,
			&azidentity.ClientSecretCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: c.config.Local})
	}
	// With the chain, an app registration may trust a name and an issuer instead of
	// every single certificate.
	return azidentity.NewClientCertificateCredential(c.config.TenantID, c.config.AppID, s.certificates, s.key,
		&azidentity.ClientCertificateCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: c.config.Local, SendCertificateChain: true})
}

// request is the cache key of tokens.
type request struct {
	scopes string
	tenant string
	cae    bool
}

func requestFor(o policy.TokenRequestOptions) request {
	return request{strings.Join(o.Scopes, " "), o.TenantID, o.EnableCAE}
}

// ask gets a token with a secret. Its error is a *RefusedError where Entra ID answered.
func (c *Credential) ask(ctx context.Context, s secret, r request, claims string) (azcore.AccessToken, error) {
	identity, err := c.identity(s)
	if err != nil {
		return azcore.AccessToken{}, err
	}
	token, err := identity.GetToken(ctx, policy.TokenRequestOptions{
		Scopes: strings.Fields(r.scopes), TenantID: r.tenant, EnableCAE: r.cae, Claims: claims,
	})
	if err != nil {
		return azcore.AccessToken{}, c.explain(err)
	}
	return token, nil
}

// acquire requests a token with the current secret. If Entra ID refuses that, it uses
// the current secret of Key Vault, or the previous one: one server of Entra ID may know a
// new certificate before the next does, and none does before it is registered.
func (c *Credential) acquire(ctx context.Context, r request, claims string) (azcore.AccessToken, error) {
	used := c.current()
	token, err := c.ask(ctx, used, r, claims)
	if !secretRefused(err) {
		return token, err
	}
	if newer, changed := c.another(ctx, used); changed {
		return c.ask(ctx, newer, r, claims)
	}
	former := c.before(ctx, used)
	if former == nil {
		return token, err
	}
	older, olderErr := c.ask(ctx, *former, r, claims)
	if olderErr == nil {
		c.config.Log.Warn("Entra ID refuses the new credential: using the previous one", logkey.Credential, used.String(), logkey.Before, former.String())
		return older, nil
	}
	if secretRefused(olderErr) {
		c.forget(former)
	}
	return token, err
}

// before is the secret before the current one: the one that this process has used until
// then or, where it began with the current one, what Key Vault had before that. Workers
// start at any time, also between the making of a new certificate and its registration.
func (c *Credential) before(ctx context.Context, current secret) *secret {
	if c.take(ctx) != nil {
		return nil
	}
	defer c.release()
	c.mu.Lock()
	former, look := c.former, c.former == nil && !c.looked
	c.looked = true
	c.mu.Unlock()
	if !look {
		return former
	}
	older, err := c.source.before(ctx, current.version)
	if err == nil {
		err = older.usable(c.config.Now())
	}
	if err != nil {
		if !errors.Is(err, errFirst) {
			c.config.Log.Warn("Entra ID refuses the credential, and the previous one is not usable", logkey.Credential, current.String(), logkey.Error, err.Error())
		}
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.former = &older
	return c.former
}

func (c *Credential) forget(former *secret) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.former == former {
		c.former = nil
	}
}

// Expires returns when the certificate or client secret expires that the worker signs in
// with, zero when that is not known: only Key Vault says it of a client secret.
func (c *Credential) Expires() time.Time { return c.current().expires }

func (c *Credential) current() secret {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.secret
}
