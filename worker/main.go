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
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/heap"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/otlp"
	"github.com/matoolkit/matoolkit/internal/termlog"
	"github.com/matoolkit/matoolkit/internal/tlsroots"
	"github.com/matoolkit/matoolkit/internal/webhook"
	"github.com/matoolkit/matoolkit/worker/access"
	"github.com/matoolkit/matoolkit/worker/announce"
	"github.com/matoolkit/matoolkit/worker/authentication"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/control"
	"github.com/matoolkit/matoolkit/worker/custom"
	"github.com/matoolkit/matoolkit/worker/dispatch"
	"github.com/matoolkit/matoolkit/worker/exchange"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
	"github.com/matoolkit/matoolkit/worker/graph"
	"github.com/matoolkit/matoolkit/worker/groups"
	"github.com/matoolkit/matoolkit/worker/health"
	"github.com/matoolkit/matoolkit/worker/heartbeat"
	"github.com/matoolkit/matoolkit/worker/migration"
	"github.com/matoolkit/matoolkit/worker/notify"
	"github.com/matoolkit/matoolkit/worker/sharepoint"
	"github.com/matoolkit/matoolkit/worker/signin"
	"github.com/matoolkit/matoolkit/worker/teams"
	"github.com/matoolkit/matoolkit/worker/telemetry"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

// version is stamped by the build.
var version = "dev"

func main() { os.Exit(runCommand()) }

// runCommand runs the command and returns the exit status.
func runCommand() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := command(os.Getenv).ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		return 1
	}
	return 0
}

func command(getenv func(string) string) *cobra.Command {
	root := &cobra.Command{
		Use:           "worker",
		Short:         "Run migration jobs against a Microsoft 365 tenant",
		Version:       version,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd.Context(), getenv, cmd.OutOrStdout())
		},
	}
	root.AddCommand(functionsCommand(getenv), healthCommand(getenv), verifyCommand(getenv))
	return root
}

// heapFloor is small beside the memory of a container.
const heapFloor = 80 << 20

// run starts the worker, step by step, and returns when it has stopped. It
// refuses permanent errors and waits for services that are not available yet,
// such as the broker.
func run(ctx context.Context, getenv func(string) string, stdout io.Writer) error {
	heap.SetFloor(heapFloor)
	// 1. Configuration.
	c, err := loadConfig(getenv)
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	// 2. TLS roots, and observability: the log, telemetry, probes.
	web, err := tlsroots.HTTPClient(c.CAFile)
	if err != nil {
		return fmt.Errorf("%s: %w", tlsroots.EnvCAFile, err)
	}
	web.Timeout = 100 * time.Second
	anonymous := slog.New(termlog.Handler(stdout, c.LogLevel, slog.NewJSONHandler(stdout, &slog.HandlerOptions{Level: c.LogLevel})))
	log := anonymous.With(logkey.WorkerID, c.WorkerID)
	about := map[string]string{"matoolkit.worker_id": c.WorkerID, "matoolkit.tenant_id": c.TenantID}
	if replica := getenv(envReplica); replica != "" {
		about["service.instance.id"] = replica
	}
	measured, err := otlp.Start(ctx, otlp.Config{
		Service: "matoolkit-worker", Version: version, Attributes: about,
		Getenv: getenv, HTTP: web, Log: log,
	})
	if err != nil {
		return fmt.Errorf("telemetry: %w", err)
	}
	defer flush(measured)
	record, err := telemetry.New(measured)
	if err != nil {
		return fmt.Errorf("telemetry: %w", err)
	}
	var probes *health.Server
	if c.Health != "" {
		if probes, err = health.Listen(c.Health); err != nil {
			return fmt.Errorf("%s: %w", envHealth, err)
		}
		defer probes.Close()
	}
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
	client, err := busClient(c, nil)
	if err != nil {
		return fmt.Errorf("service bus: %w", err)
	}
	defer closeClient(client)
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
		return fmt.Errorf("custom functions, %s:\n%w", envCustomDir, err)
	}
	defer closeFunctions(extra)
	functions, err := offered(people, x, c.NoOp, extra.Functions()...)
	if err != nil {
		return err
	}
	// 7. What ends the worker: ctx, at a signal, and idleness.
	revoked, err := control.New(client, control.Config{WorkerID: c.WorkerID, Log: log})
	if err != nil {
		return fmt.Errorf("service bus: %w", err)
	}
	loop, err := dispatch.New(client, functions, dispatch.Config{
		WorkerID: c.WorkerID, MaxParallelism: c.MaxParallelism, JobTimeout: c.JobTimeout, Linger: c.ResultLinger,
		IdleTimeout: c.IdleTimeout, ShutdownGrace: c.ShutdownGrace, Log: anonymous, // to which it adds the id
		Controls: revoked, Observer: record.Jobs(functions),
	})
	if err != nil {
		return fmt.Errorf("service bus: %w", err)
	}
	if probes != nil {
		probes.Watch(loop)
		log.Info("serving health probes", logkey.Address, probes.Address())
	}
	// 8. Jobs.
	log.Info("taking jobs", logkey.MaxParallelism, c.MaxParallelism,
		logkey.Functions, len(functions.Functions()), logkey.Graph, c.Graph.URL, logkey.Exchange, c.Exchange.URL)
	report := heartbeat.New(heartbeat.Config{
		WorkerID: c.WorkerID, Version: version, MaxParallelism: c.MaxParallelism, To: client, Log: log,
		Changed: gauge.Changed(), State: func() heartbeat.State {
			jobs := loop.InHand()
			return heartbeat.State{
				Jobs: jobs.Jobs, Oldest: jobs.Oldest, TakenThrough: jobs.TakenThrough, Ended: jobs.Ended,
				ThrottledUntil: gauge.Until(), CredentialExpiresAt: tenant.Expires(),
			}
		},
	})
	who := announce.Worker{ID: c.WorkerID, Version: version, Started: time.Now(), JobTimeout: c.JobTimeout, Functions: functions.Functions()}
	stop := while(revoked.Run, report.Run, func(ctx context.Context) { who.Send(ctx, client, log) })
	loop.Run(ctx)
	stop()
	report.Stop(goodbyeTime)
	return nil
}

// goodbyeTime bounds the last heartbeat: when the jobs have used up the grace, the platform
// gives the worker some more seconds only.
const goodbyeTime = time.Second

// while does things at the same time until what it returns is called. That waits for
// their end.
func while(things ...func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for _, do := range things {
		group.Go(func() { do(ctx) })
	}
	return func() {
		cancel()
		group.Wait()
	}
}

// watched is a pace of calls to an API whose failures are recorded.
func watched(pace throttle.Policy, record *telemetry.Recorder, api string) throttle.Policy {
	pace.Observe = record.Observe(api)
	return pace
}

// flush sends the telemetry of the last jobs. A collector that is away is not waited
// for any longer: the platform would kill the worker.
func flush(p *otlp.Providers) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	p.Close(ctx)
}

// poster posts the messages of runbooks to the addresses in the worker's settings.
func poster(c config, getenv func(string) string, web *http.Client) *webhook.Sender {
	return webhook.New(webhook.Config{
		Program: "worker", List: envWebhooks, Parameter: "webhookVaultSettings", Settings: c.Webhooks, Getenv: getenv, HTTP: web, Local: c.BusString != "",
	})
}

// offered is the catalogue of this worker.
func offered(people notify.Config, x *exchange.Client, noOp bool, extra ...catalog.Function) (*catalog.Catalog, error) {
	g := people.Graph
	functions := slices.Concat(
		g.Functions(), x.Functions(), sharepoint.Functions(g), migration.Functions(g), authentication.Functions(g), teams.Functions(g), groups.Functions(g), access.Functions(g), notify.Functions(people), extra,
	)
	if noOp {
		functions = append(functions, catalog.NoOp)
	}
	return catalog.New(functions...)
}

// customFunctions are those that came with the deployment. Where there are any, the
// worker hides from them what it knows itself.
func customFunctions(c config, getenv func(string) string, tenant *signin.Credential) (*custom.Set, error) {
	if c.CustomDir == "" {
		return &custom.Set{}, nil
	}
	if err := custom.Shield(); err != nil {
		return nil, err
	}
	scopes := map[string]string{custom.Graph: c.Graph.Scope, custom.Exchange: c.Exchange.Scope}
	return custom.Load(custom.Config{
		Dir: c.CustomDir, Getenv: getenv, Own: slices.Concat(ownVariables, c.Webhooks), MaxTimeout: c.JobTimeout, TenantID: c.TenantID,
		Tokens: func(ctx context.Context, api string) (custom.Token, error) {
			token, err := tenant.GetLastingToken(ctx, policy.TokenRequestOptions{Scopes: []string{scopes[api]}})
			return custom.Token{Value: token.Token, Expires: token.ExpiresOn}, err
		},
	})
}

// closeFunctions waits until the processes of functions that were stopped with
// their jobs are gone.
func closeFunctions(functions *custom.Set) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	_ = functions.Close(ctx) // what the kernel cannot end now ends with the container
}
