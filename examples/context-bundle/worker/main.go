// Command worker runs the jobs of the context bundle: it reads repositories of GitHub and merges their contexts. Command
// functions in CUSTOM_FUNCTIONS_DIR, such as Train-SemanticModel, come beside. Several worker ids run it, so that each kind
// of job scales by itself.
//
// Everything is configured by the environment; docs of the variables are with loadConfig and with package program.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/matoolkit/matoolkit/examples/context-bundle/bundle"
	"github.com/matoolkit/matoolkit/examples/context-bundle/github"
	"github.com/matoolkit/matoolkit/internal/artifact/blobstorage"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/custom"
	"github.com/matoolkit/matoolkit/worker/program"
	"github.com/matoolkit/matoolkit/worker/signin"
	"github.com/matoolkit/matoolkit/worker/telemetry"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

// version is stamped by the build.
var version = "dev"

func main() { os.Exit(command(os.Getenv).Execute()) }

func command(getenv func(string) string) program.Command {
	return program.Command{
		Name: "context-worker", Short: "Read repositories of GitHub and merge their contexts", Version: version, Getenv: getenv, Own: ownVariables,
		Run: func(ctx context.Context, stdout io.Writer) error { return run(ctx, getenv, stdout) },
		Declared: func(extra []catalog.Function) (*catalog.Catalog, error) {
			return catalog.New(append(bundle.Functions(nil, nil), extra...)...)
		},
	}
}

// run starts the worker and returns when it has stopped.
func run(ctx context.Context, getenv func(string) string, stdout io.Writer) error {
	c, err := loadConfig(getenv)
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	p, err := program.Start(ctx, program.Config{Settings: c.Settings, Service: "context-worker", Version: version, Getenv: getenv, Stdout: stdout})
	if err != nil {
		return err
	}
	defer p.Close()
	identity, err := signin.ManagedIdentity(c.IdentityID, p.HTTP)
	if err != nil {
		return fmt.Errorf("managed identity: %w", err)
	}
	store, err := blobstorage.New(blobstorage.Config{
		Endpoint: c.Endpoint, Container: c.Container, Credential: identity, HTTP: p.Record.Client(p.HTTP, telemetry.Storage), Retry: policy.RetryOptions{RetryDelay: storeDelay},
	})
	if err != nil {
		return fmt.Errorf("%s: %w", envEndpoint, err)
	}
	gauge := throttle.NewGauge()
	retries := pace(gauge)
	retries.Observe = p.Record.Observe(telemetry.GitHub)
	from, err := github.New(github.Config{
		URL: c.GitHubURL, Token: c.Token, UserAgent: "matoolkit-context-worker/" + version, HTTP: p.Record.Client(p.HTTP, telemetry.GitHub), Policy: retries, PerMinute: c.PerMinute,
	})
	if err != nil {
		return fmt.Errorf("%s: %w", envGitHubURL, err)
	}
	extra, err := c.Custom(getenv, custom.Config{Own: ownVariables, APIs: []string{custom.Storage}, Tokens: tokens(identity)})
	if err != nil {
		return fmt.Errorf("custom functions, %s:\n%w", program.EnvCustomDir, err)
	}
	defer program.CloseFunctions(extra)
	functions, err := catalog.New(append(bundle.Functions(store, from), extra.Functions()...)...)
	if err != nil {
		return err
	}
	client, err := program.Dial(c.Settings, nil)
	if err != nil {
		return fmt.Errorf("service bus: %w", err)
	}
	defer program.Hangup(client)
	return p.Run(ctx, client, functions, program.State{Gauge: gauge})
}

// tokens are those of command functions: for the artifacts, of the worker's identity.
func tokens(identity azcore.TokenCredential) func(context.Context, string) (custom.Token, error) {
	return func(ctx context.Context, _ string) (custom.Token, error) {
		token, err := identity.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{"https://storage.azure.com/.default"}})
		return custom.Token{Value: token.Token, Expires: token.ExpiresOn}, err
	}
}
