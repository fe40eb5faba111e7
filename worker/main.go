// Command worker runs the jobs of one worker id against a Microsoft 365 tenant.
//
// Without arguments it takes jobs until it is told to stop or has been idle for
// a while. "worker functions" lists what it can be asked to do. Everything else
// is configured by the environment; docs of the variables are with loadConfig.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/trust"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/custom"
	"github.com/matoolkit/matoolkit/worker/dispatch"
	"github.com/matoolkit/matoolkit/worker/exchange"
	"github.com/matoolkit/matoolkit/worker/graph"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := command(os.Getenv).ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

func command(getenv func(string) string) *cobra.Command {
	root := &cobra.Command{
		Use:           "worker",
		Short:         "Run migration jobs against a Microsoft 365 tenant",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd.Context(), getenv, cmd.OutOrStdout())
		},
	}
	root.AddCommand(functionsCommand(getenv))
	return root
}

// run starts the worker, step by step, and returns when it has stopped. What
// cannot be right later is refused here; what is only not there yet, such as the
// broker, is waited for.
func run(ctx context.Context, getenv func(string) string, stdout io.Writer) error {
	// 1. Configuration.
	c, err := loadConfig(getenv)
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	// 2. Logging.
	log := slog.New(slog.NewJSONHandler(stdout, &slog.HandlerOptions{Level: c.LogLevel}))
	// 3. Whom the TLS connections trust.
	web, err := trust.HTTPClient(c.CAFile)
	if err != nil {
		return fmt.Errorf("trust: %w", err)
	}
	web.Timeout = 100 * time.Second
	// 4. The identity in the target tenant.
	tenant, err := tenantCredential(c, web)
	if err != nil {
		return fmt.Errorf("target tenant credential: %w", err)
	}
	// 5. Graph and Exchange Online.
	pace := throttle.Default()
	pace.Lag = c.LagTimeout
	g, err := graph.New(graph.Config{
		URL: c.Graph.URL, Scope: c.Graph.Scope, Credential: tenant, HTTP: web, Policy: pace,
	})
	if err != nil {
		return err
	}
	x, err := exchange.New(exchange.Config{
		URL: c.Exchange.URL, Scope: c.Exchange.Scope, TenantID: c.TenantID, Credential: tenant, HTTP: web, Policy: pace,
	})
	if err != nil {
		return err
	}
	// 6. The functions.
	extra, err := customFunctions(c, getenv)
	if err != nil {
		return fmt.Errorf("custom functions:\n%w", err)
	}
	defer closeFunctions(extra)
	functions, err := offered(g, x, c.NoOp, extra.Functions()...)
	if err != nil {
		return err
	}
	// 7. The broker.
	client, err := busClient(c)
	if err != nil {
		return fmt.Errorf("service bus: %w", err)
	}
	defer closeClient(client)
	loop, err := dispatch.New(client, functions, dispatch.Config{
		WorkerID: c.WorkerID, MaxParallelism: c.MaxParallelism, JobTimeout: c.JobTimeout,
		IdleTimeout: c.IdleTimeout, ShutdownGrace: c.ShutdownGrace, Log: log,
	})
	if err != nil {
		return fmt.Errorf("service bus: %w", err)
	}
	// 8. Jobs.
	log.Info("taking jobs", "WorkerId", c.WorkerID, "MaxParallelism", c.MaxParallelism,
		"Functions", len(functions.Functions()), "Graph", c.Graph.URL, "Exchange", c.Exchange.URL)
	loop.Run(ctx)
	return nil
}

// offered is the catalogue of this worker.
func offered(g *graph.Client, x *exchange.Client, noOp bool, extra ...catalog.Function) (*catalog.Catalog, error) {
	functions := slices.Concat(g.Functions(), x.Functions(), extra)
	if noOp {
		functions = append(functions, catalog.NoOp)
	}
	return catalog.New(functions...)
}

// customFunctions are those that came with the deployment. Where there are any, the
// worker hides from them what it knows itself.
func customFunctions(c config, getenv func(string) string) (*custom.Set, error) {
	if c.CustomDir == "" {
		return &custom.Set{}, nil
	}
	if err := custom.Shield(); err != nil {
		return nil, err
	}
	return custom.Load(custom.Config{Dir: c.CustomDir, Getenv: getenv, Own: ownVariables, MaxTimeout: c.JobTimeout})
}

// closeFunctions waits until the processes of functions that were stopped with
// their jobs are gone.
func closeFunctions(functions *custom.Set) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	_ = functions.Close(ctx) // what the kernel cannot end now ends with the container
}

// tenantCredential is the app registration's. An authority on this machine is
// not in Microsoft's list of authorities and is not looked up there.
func tenantCredential(c config, web *http.Client) (azcore.TokenCredential, error) {
	options := &azidentity.ClientSecretCredentialOptions{}
	options.Transport = web
	if c.AuthorityHost != "" {
		u, err := serverURL(c.AuthorityHost)
		if err != nil {
			return nil, err
		}
		options.Cloud = cloud.Configuration{ActiveDirectoryAuthorityHost: c.AuthorityHost}
		options.DisableInstanceDiscovery = onLoopback(u)
	}
	return azidentity.NewClientSecretCredential(c.TenantID, c.AppID, c.AppSecret, options)
}

func busClient(c config) (*azservicebus.Client, error) {
	// The loop waits out what these do not; a short reach makes its log truthful.
	options := &azservicebus.ClientOptions{
		ApplicationID: "matoolkit-worker",
		RetryOptions:  azservicebus.RetryOptions{MaxRetries: 2, RetryDelay: 200 * time.Millisecond, MaxRetryDelay: 2 * time.Second},
	}
	if c.BusString != "" {
		client, err := azservicebus.NewClientFromConnectionString(c.BusString, options)
		if err != nil {
			// The SDK's error may quote the string, and with it the key.
			return nil, errors.New(envBusString + " is not a connection string of a namespace")
		}
		return client, nil
	}
	identity, err := azidentity.NewManagedIdentityCredential(nil)
	if err != nil {
		return nil, err
	}
	return azservicebus.NewClient(c.BusNamespace, identity, options)
}

func closeClient(client *azservicebus.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	_ = client.Close(ctx) // the process ends; the broker notices either way
}
