package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/loopback"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange"
	"github.com/matoolkit/matoolkit/worker/graph"
	"github.com/matoolkit/matoolkit/worker/signin"
)

// Environment variables of the sign-in. The secret of the app registration comes from
// one place: from Key Vault, or, where nothing else is configured, from APP_SECRET.
const (
	envVaultURL     = "KEY_VAULT_URL"          // vault with the credential, such as https://name.vault.azure.net
	envCertName     = "CERT_NAME"              // certificate in the vault, or secret with a PFX (base64) or PEM; set one of CERT_NAME, APP_SECRET_NAME and APP_SECRET
	envCertPassword = "CERT_PASSWORD_NAME"     // secret in the vault with the password of the PFX
	envSecretName   = "APP_SECRET_NAME"        // secret in the vault with a client secret
	envRefresh      = "SECRET_REFRESH_SECONDS" // how often the worker reads a new version from the vault, at least 60. Default: 3600
	envTrial        = "TRIAL_SIGN_IN"          // APIs that the worker calls once at the start: `graph`, `exchange`, both with a comma, or `none`. Default: graph,exchange
)

// vaultConfig says where in Key Vault the secret is; its zero value that it is not there.
type vaultConfig struct {
	URL, Certificate, Password, Secret string
	Refresh                            time.Duration
}

// The APIs that a trial can be made with.
const (
	trialGraph    = "graph"
	trialExchange = "exchange"
)

// vault reads where the secret is, and refuses more and fewer places than one.
func (r reader) vault(appSecret string) vaultConfig {
	v := vaultConfig{
		URL: r.SecureServer(envVaultURL), Certificate: r.Text(envCertName), Password: r.Text(envCertPassword),
		Secret: r.Text(envSecretName), Refresh: r.Seconds(envRefresh, int(signin.DefaultRefresh.Seconds())),
	}
	named := v.Certificate != "" || v.Secret != ""
	switch {
	case appSecret != "" && (named || v.URL != "" || v.Password != ""):
		r.Problem("%s cannot be combined with %s, %s, %s or %s: unset it, or do not use Key Vault", envAppSecret, envVaultURL, envCertName, envCertPassword, envSecretName)
	case appSecret != "":
	case v.Certificate != "" && v.Secret != "":
		r.Problem("set one of %s and %s", envCertName, envSecretName)
	case !named && v.URL == "":
		r.Problem("no credential: set %s and one of %s (a certificate) and %s (a client secret), or, without Key Vault, %s",
			envVaultURL, envCertName, envSecretName, envAppSecret)
	case !named:
		r.Problem("%s is set: also set %s or %s, the name of the credential in the vault", envVaultURL, envCertName, envSecretName)
	case v.URL == "":
		r.Problem("%s is not set: give the vault of %s, such as https://name.vault.azure.net", envVaultURL, v.Certificate+v.Secret)
	case v.Password != "" && v.Certificate == "":
		r.Problem("%s is set without %s", envCertPassword, envCertName)
	}
	if v.Refresh < time.Minute {
		r.Wrong(envRefresh, "must be at least 60")
	}
	if !named {
		return vaultConfig{}
	}
	return v
}

// trials reads which APIs are tried before jobs are taken.
func (r reader) trials() (graph, exchange bool) {
	v := r.Text(envTrial)
	switch v {
	case "":
		return true, true
	case "none":
		return false, false
	}
	names := strings.Split(v, ",")
	for _, name := range names {
		if name != trialGraph && name != trialExchange {
			r.Wrong(envTrial, "unknown API %q: use %s, %s or none", name, trialGraph, trialExchange)
		}
	}
	return slices.Contains(names, trialGraph), slices.Contains(names, trialExchange)
}

// openVault reaches Key Vault as the managed identity; nil where it is not used.
func openVault(c config, web *http.Client) (*signin.Vault, error) {
	if c.Vault.URL == "" {
		return nil, nil
	}
	identity, err := signin.ManagedIdentity(c.IdentityID, nil)
	if err != nil {
		return nil, err
	}
	return signin.NewVault(signin.VaultConfig{
		URL: c.Vault.URL, Certificate: c.Vault.Certificate, Password: c.Vault.Password, Secret: c.Vault.Secret, Identity: identity, HTTP: web,
	})
}

// signIn opens the credential of the target tenant.
func signIn(ctx context.Context, c config, vault *signin.Vault, web *http.Client, log *slog.Logger) (*signin.Credential, error) {
	local := false
	if c.AuthorityHost != "" {
		u, err := url.Parse(c.AuthorityHost)
		if err != nil {
			return nil, err
		}
		local = loopback.Is(u.Hostname())
	}
	if vault == nil {
		log.Warn("the client secret is in the environment: use Key Vault in production", logkey.Variable, envAppSecret)
	}
	return signin.Open(ctx, signin.Config{
		TenantID: c.TenantID, AppID: c.AppID, AuthorityHost: c.AuthorityHost, Local: local,
		Secret: c.AppSecret, Vault: vault, Scope: c.Graph.Scope, Refresh: c.Vault.Refresh, HTTP: web, Log: log,
	})
}

// renewing is a client that replaces a token which an API refuses.
func renewing(tenant *signin.Credential, client *http.Client) *http.Client {
	renewing := *client
	renewing.Transport = tenant.Transport(client.Transport)
	return &renewing
}

// trials are those that are asked for.
func trials(c config, g *graph.Client, x *exchange.Client) map[string]func(context.Context) error {
	trials := map[string]func(context.Context) error{}
	if c.TryGraph {
		trials["Microsoft Graph"] = g.Trial
	}
	if c.TryExchange {
		trials["Exchange Online"] = x.Trial
	}
	return trials
}

// trialTime bounds the trial: what does not answer by then is waited for by the jobs.
const trialTime = 15 * time.Second

// try calls each API once, so that a wrong tenant, secret or consent fails the
// deployment and not the first job. It logs transient errors and continues.
func try(ctx context.Context, log *slog.Logger, trials map[string]func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	var mu sync.Mutex
	var group sync.WaitGroup
	var refusals []error
	for name, trial := range trials {
		group.Go(func() {
			err := trial(ctx)
			var failure *catalog.Failure
			switch {
			case err == nil:
			case ctx.Err() != nil, errors.As(err, &failure) && failure.Type == catalog.FailureUnreachable:
				log.Warn("no answer to the trial sign-in: continuing; jobs will retry", logkey.API, name, logkey.Error, err.Error())
			default:
				mu.Lock()
				defer mu.Unlock()
				refusals = append(refusals, fmt.Errorf("%s: %w", name, err))
			}
		})
	}
	group.Wait()
	slices.SortFunc(refusals, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(refusals...)
}
