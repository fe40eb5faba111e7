// Command worker runs the jobs of one worker id against a Microsoft 365 tenant.
//
// Without arguments it runs jobs until SIGTERM or until it has been idle for a
// while. "worker functions" lists its functions, "worker verify" checks its permissions,
// and "worker health" checks the worker that runs on this machine. Everything else is
// configured by the environment; docs of the variables are with loadConfig.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/env"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/webhook"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/custom"
	"github.com/matoolkit/matoolkit/worker/exchange"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
	"github.com/matoolkit/matoolkit/worker/graph"
	"github.com/matoolkit/matoolkit/worker/notify"
	"github.com/matoolkit/matoolkit/worker/program"
	"github.com/matoolkit/matoolkit/worker/signin"
	"github.com/matoolkit/matoolkit/worker/standard"
	"github.com/matoolkit/matoolkit/worker/telemetry"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

// version is stamped by the build.
var version = "dev"

func main() { os.Exit(command(os.Getenv).Execute()) }

func command(getenv func(string) string) program.Command {
	return program.Command{
		Name: "worker", Short: "Run migration jobs against a Microsoft 365 tenant", Version: version, Getenv: getenv, Own: ownVariables,
		Run: func(ctx context.Context, stdout io.Writer) error { return run(ctx, getenv, stdout) },
		Declared: func(extra []catalog.Function) (*catalog.Catalog, error) {
			settings := env.New(getenv)
			noOp := settings.Switch(envNoOp)
			if err := settings.Err(); err != nil {
				return nil, err
			}
			return standard.Functions(notify.Config{Graph: &graph.Client{}}, nil, &exchange.Client{}, noOp, extra...)
		},
		More: []*cobra.Command{verifyCommand(getenv)},
	}
}

// run starts the worker, step by step, and returns when it has stopped. It
// refuses permanent errors and waits for services that are not available yet,
// such as the broker.
func run(ctx context.Context, getenv func(string) string, stdout io.Writer) error {
	// 1. Configuration.
	c, err := loadConfig(getenv)
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	// 2. TLS roots, and observability: the log, telemetry, probes.
	p, err := program.Start(ctx, program.Config{
		Settings: c.Settings, Service: "matoolkit-worker", Version: version, Attributes: map[string]string{"matoolkit.tenant_id": c.TenantID},
		Getenv: getenv, Stdout: stdout,
	})
	if err != nil {
		return err
	}
	defer p.Close()
	web, log, record := p.HTTP, p.Log, p.Record
	// 3. Azure, where the secret is.
	vault, err := openVault(c, web)
	if err != nil {
		return fmt.Errorf("Azure sign-in: %w", err)
	}
	// 4. The secret, and the identity in the target tenant that it makes.
	tenant, err := signIn(ctx, c, vault, web, log)
	if err != nil {
		return fmt.Errorf("target tenant credential: %w", err)
	}
	defer tenant.Close()
	// 5. The broker. The connection is made when jobs are received.
	client, err := program.Dial(c.Settings, nil)
	if err != nil {
		return fmt.Errorf("service bus: %w", err)
	}
	defer program.Hangup(client)
	// 6. Graph and Exchange Online, tried, and the functions.
	gauge := throttle.NewGauge()
	g, err := graph.New(graph.Config{
		URL: c.Graph.URL, Scope: c.Graph.Scope, Credential: tenant,
		HTTP: renewing(tenant, record.Client(web, telemetry.Graph)), Policy: watched(c.Limits.graphPace(c.LagTimeout, gauge), record, telemetry.Graph),
		Alert: graph.Alert{From: c.AlertFrom, To: c.AlertTo}, MailDomains: c.MailDomains, Requests: c.Requests,
		Writes: c.Limits.Writes, Invitations: c.Limits.Invitations,
	})
	if err != nil {
		return fmt.Errorf("Microsoft Graph: %w", err)
	}
	x, err := exchange.New(session.Config{
		URL: c.Exchange.URL, Scope: c.Exchange.Scope, TenantID: c.TenantID, Credential: tenant,
		HTTP: renewing(tenant, record.Client(web, telemetry.Exchange)), Policy: watched(c.Limits.exchangePace(c.LagTimeout, gauge), record, telemetry.Exchange),
		Concurrency: c.Limits.Commands,
	}, c.Cmdlets)
	if err != nil {
		return fmt.Errorf("Exchange Online: %w", err)
	}
	people := notify.Config{
		Graph: g, From: c.MailFrom, Poster: poster(c, getenv, web), Policy: throttle.Default(),
	}
	if err := try(ctx, log, trials(c, g, x)); err != nil {
		return fmt.Errorf("trial sign-in:\n%w", err)
	}
	extra, err := customFunctions(c, getenv, tenant)
	if err != nil {
		return fmt.Errorf("custom functions, %s:\n%w", program.EnvCustomDir, err)
	}
	defer program.CloseFunctions(extra)
	functions, err := standard.Functions(people, c.PasswordKey, x, c.NoOp, extra.Functions()...)
	if err != nil {
		return err
	}
	// 7. Jobs.
	log.Info("calling the tenant", logkey.Graph, c.Graph.URL, logkey.Exchange, c.Exchange.URL)
	return p.Run(ctx, client, functions, program.State{Gauge: gauge, CredentialExpires: tenant.Expires})
}

// watched is a pace of calls to an API whose failures are recorded.
func watched(pace throttle.Policy, record *telemetry.Recorder, api string) throttle.Policy {
	pace.Observe = record.Observe(api)
	return pace
}

// poster posts the messages of runbooks to the addresses in the worker's settings.
func poster(c config, getenv func(string) string, web *http.Client) *webhook.Sender {
	return webhook.New(webhook.Config{
		Program: "worker", List: envWebhooks, Parameter: "webhookVaultSettings", Settings: c.Webhooks, Getenv: getenv, HTTP: web, Local: c.BusString != "",
	})
}

// customFunctions are those that came with the deployment.
func customFunctions(c config, getenv func(string) string, tenant *signin.Credential) (*custom.Set, error) {
	scopes := map[string]string{custom.Graph: c.Graph.Scope, custom.Exchange: c.Exchange.Scope}
	return c.Custom(getenv, custom.Config{
		Own: slices.Concat(ownVariables, c.Webhooks), TenantID: c.TenantID,
		Tokens: func(ctx context.Context, api string) (custom.Token, error) {
			token, err := tenant.GetLastingToken(ctx, policy.TokenRequestOptions{Scopes: []string{scopes[api]}})
			return custom.Token{Value: token.Token, Expires: token.ExpiresOn}, err
		},
	})
}
