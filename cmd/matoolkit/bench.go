package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/tlsroots"
	"github.com/matoolkit/matoolkit/local/bench"
	"github.com/matoolkit/matoolkit/local/system"
)

func benchCommand() *cobra.Command {
	c := bench.Config{}
	var only []string
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the performance of the system on this machine",
		Long: `Starts every part as a process of its own, with state on disk, and runs batches of no-op
steps. Then it measures the scheduler with a large data source, the admin API under load,
requests that start batches, bundles of repositories, a worker that creates users in a
tenant that throttles it, a rehearsal on the exported snapshot
of a tenant, and how far its predicted durations are from those of a batch. At the end it compares the
results with the targets. docs/architecture.md has the results and the costs in Azure.

Where PostgreSQL is installed, it also runs the same steps with the job queue River, in turn
with the local system, so that both meet the same load of other programs.`,
		Example: `  make bench                                         builds the programs first
  make bench-long                                    300,000 members, then 1,000,000 in ten batches
  bin/matoolkit local bench --only members,pair --members 1000
  bin/matoolkit local bench --only costs --output json`,
		Args: command.Needs(),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			if c.Matoolkit, err = os.Executable(); err != nil {
				return err
			}
			c.Worker = filepath.Join(filepath.Dir(c.Matoolkit), executable("worker"))
			if c.River == "" {
				c.River = filepath.Join(filepath.Dir(c.Matoolkit), executable("bench-river"))
			}
			c.Bundles.Worker = filepath.Join(filepath.Dir(c.Matoolkit), executable("context-worker"))
			c.Out, c.Log, c.Token = cmd.OutOrStdout(), cmd.ErrOrStderr(), administrator
			if c.Linger < 0 || c.Linger > 1000 {
				return exit.Usage(fmt.Errorf("--linger: %d is not from 0 to 1000", c.Linger))
			}
			if err := keep(&c, only); err != nil {
				return err
			}
			if command.Plain(cmd) {
				_, err = bench.Run(ctx, c)
				return err
			}
			c.Out = io.Discard
			r, err := bench.Run(ctx, c)
			if err != nil {
				return err
			}
			names := command.Table{Head: []string{"target", "limit", "met"}}
			for _, t := range r.Targets {
				names.Rows = append(names.Rows, []any{t.Name, t.Limit, t.Met})
			}
			return command.Print(cmd, r, names)
		},
	}
	cmd.Flags().StringSliceVar(&only, "only", nil, "measure only these: "+strings.Join(benchParts, ", "))
	cmd.Flags().StringVar(&c.River, "river", "", "the program of bench/peers/river (default: bench-river beside matoolkit)")
	cmd.Flags().IntVar(&c.PairMembers, "pair-members", 2000, "members of the batches that run in turn with River; 0 skips them")
	cmd.Flags().IntVar(&c.PairRounds, "pair-rounds", 2, "how often each of both runs")
	cmd.Flags().IntVar(&c.Batches, "batches", 0, "batches that go through one step at the same time; 0 skips them")
	cmd.Flags().IntVar(&c.BatchMembers, "batch-members", 100_000, "members of each of those batches")
	cmd.Flags().DurationVar(&c.StoreLatency, "store-latency", 0, "latency to add to each request to Cosmos DB, such as 20ms")
	cmd.Flags().DurationVar(&c.HostCPU, "host-cpu", 0, "CPU time to add to each invocation in the Functions host; 2.5ms is about what the real host uses")
	cmd.Flags().IntVar(&c.Workers, "workers", 1, "replicas of the worker")
	cmd.Flags().IntVar(&c.Parallelism, "parallelism", 64, "jobs of each replica at once")
	cmd.Flags().IntVar(&c.Linger, "linger", 0, "milliseconds that a worker's result waits for those of its other running jobs, at most 1000")
	cmd.Flags().IntVar(&c.Calls, "calls", 0, "maxConcurrentCalls of the Functions host (default: that of host.json)")
	cmd.Flags().StringVar(&c.App, "app", "dist", "directory of the built Functions app")
	cmd.Flags().IntSliceVar(&c.Members, "members", []int{100, 1000, 10000}, "sizes of the batches; 0 skips them")
	cmd.Flags().IntVar(&c.ProtocolMembers, "protocol-members", 500, "members of the batches with retries, polls, rollbacks and removals; 0 skips them")
	cmd.Flags().IntVar(&c.CostMembers, "cost-members", 1000, "members of the batches for the costs in Azure; 0 skips them")
	cmd.Flags().IntVar(&c.TickMembers, "tick-members", 10000, "rows of the data source of the scheduler; 0 skips it")
	cmd.Flags().IntVar(&c.Load.Readers, "readers", 200, "concurrent readers of the admin API; 0 skips the load")
	cmd.Flags().IntVar(&c.Load.Writers, "writers", 20, "concurrent writers of the admin API")
	cmd.Flags().IntVar(&c.Load.Members, "load-members", 10000, "members of the batch for the load")
	cmd.Flags().DurationVar(&c.Load.For, "load-for", 30*time.Second, "duration of the load")
	cmd.Flags().IntVar(&c.Requests.Rate, "requests", 50, "requests per second that start batches; 0 skips them")
	cmd.Flags().IntVar(&c.Requests.Items, "request-items", 10, "items of each of those requests")
	cmd.Flags().IntVar(&c.Requests.Callers, "requesters", 10, "callers who take turns with those requests")
	cmd.Flags().DurationVar(&c.Requests.For, "requests-for", 20*time.Second, "duration of those requests")
	cmd.Flags().IntVar(&c.Bundles.Owners, "bundle-owners", 5, "owners of ten repositories each, whose bundles are requested; 0 skips them")
	cmd.Flags().DurationVar(&c.Bundles.Latency, "github-latency", 200*time.Millisecond, "latency of each answer of GitHub")
	cmd.Flags().StringVar(&c.Bundles.Example, "bundle", filepath.Join("examples", "context-bundle"), "folder of the runbook of the bundles")
	cmd.Flags().IntVar(&c.Rehearsal.People, "people", 10_000, "people of a tenant on whose snapshot a wave is rehearsed; 0 skips it")
	cmd.Flags().IntVar(&c.Rehearsal.Members, "wave", 100, "members of that wave")
	cmd.Flags().StringVar(&c.Rehearsal.Example, "tenant-to-tenant", filepath.Join("examples", "tenant-to-tenant"), "folder of the runbook of that wave")
	cmd.Flags().IntVar(&c.Predicted.Members, "predicted-members", 300, "members of a batch that is rehearsed and run, to compare the durations; 0 skips it")
	cmd.Flags().DurationVar(&c.Predicted.Graph, "graph-latency", 300*time.Millisecond, "latency of each request to Graph in that batch")
	cmd.Flags().DurationVar(&c.Predicted.Exchange, "exchange-latency", 300*time.Millisecond, "latency of each command of Exchange Online in that batch")
	cmd.Flags().IntVar(&c.WorkerJobs, "worker-jobs", 1000, "jobs of the worker alone; 0 skips it")
	cmd.Flags().IntVar(&c.Steps, "steps", 5, "steps per member")
	return cmd
}

// benchParts are the parts of the measurement.
var benchParts = []string{"members", "pair", "protocols", "costs", "scheduler", "load", "requests", "bundles", "worker", "rehearsal", "predicted", "batches"}

// keep leaves out the parts that are not named.
func keep(c *bench.Config, only []string) error {
	for _, name := range only {
		if !slices.Contains(benchParts, name) {
			return exit.Usage(fmt.Errorf("--only: unknown part %q: use %s", name, strings.Join(benchParts, ", ")))
		}
	}
	if len(only) == 0 {
		return nil
	}
	for part, leave := range map[string]func(){
		"members": func() { c.Members = nil }, "pair": func() { c.PairMembers = 0 }, "protocols": func() { c.ProtocolMembers = 0 },
		"costs": func() { c.CostMembers = 0 }, "scheduler": func() { c.TickMembers = 0 }, "load": func() { c.Load.Readers = 0 },
		"requests": func() { c.Requests.Rate = 0 }, "bundles": func() { c.Bundles.Owners = 0 },
		"worker": func() { c.WorkerJobs = 0 }, "rehearsal": func() { c.Rehearsal.People = 0 }, "predicted": func() { c.Predicted.Members = 0 }, "batches": func() { c.Batches = 0 },
	} {
		if !slices.Contains(only, part) {
			leave()
		}
	}
	return nil
}

// administrator signs in to a local Entra ID with automatic approval.
func administrator(e system.Endpoints) func(context.Context) (string, error) {
	credential := sync.OnceValues(func() (azcore.TokenCredential, error) {
		web, err := tlsroots.HTTPClient(e.CLI["MATOOLKIT_CA_FILE"])
		if err != nil {
			return nil, err
		}
		return azidentity.NewDeviceCodeCredential(&azidentity.DeviceCodeCredentialOptions{
			ClientOptions: azcore.ClientOptions{Cloud: cloud.Configuration{ActiveDirectoryAuthorityHost: e.CLI["MATOOLKIT_AUTHORITY"]}, Transport: web},
			TenantID:      e.CLI["MATOOLKIT_TENANT_ID"], ClientID: e.CLI["MATOOLKIT_CLIENT_ID"], DisableInstanceDiscovery: true,
			UserPrompt: func(context.Context, azidentity.DeviceCodeMessage) error { return nil },
		})
	})
	return func(ctx context.Context) (string, error) {
		c, err := credential()
		if err != nil {
			return "", err
		}
		token, err := c.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{e.CLI["MATOOLKIT_API_SCOPE"]}})
		return token.Token, err
	}
}
