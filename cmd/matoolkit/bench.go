package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/tlsroots"
	"github.com/matoolkit/matoolkit/local/bench"
	"github.com/matoolkit/matoolkit/local/system"
)

func benchCommand() *cobra.Command {
	c := bench.Config{}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the performance of the system on this machine",
		Long: `Starts every part as a process of its own, with state on disk, and runs batches of no-op
steps. Then it measures the scheduler with a large data source, the admin API under load,
and a worker that creates users in a tenant that throttles it. docs/architecture.md has the
results and the costs in Azure.`,
		Example: `  make bench                                         builds the programs first
  bin/matoolkit local bench --members 1000
  bin/matoolkit local bench --members 0 --protocol-members 0 --readers 0 --worker-jobs 0 \
      --tick-members 0                               the costs in Azure only`,
		Args: command.Needs(),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			if c.Matoolkit, err = os.Executable(); err != nil {
				return err
			}
			c.Worker = filepath.Join(filepath.Dir(c.Matoolkit), executable("worker"))
			c.Out, c.Token = cmd.OutOrStdout(), administrator
			return bench.Run(ctx, c)
		},
	}
	cmd.Flags().StringVar(&c.App, "app", "dist", "directory of the built Functions app")
	cmd.Flags().IntSliceVar(&c.Members, "members", []int{100, 1000, 10000}, "sizes of the batches; 0 skips them")
	cmd.Flags().IntVar(&c.ProtocolMembers, "protocol-members", 500, "members of the batches with retries, polls, rollbacks and removals; 0 skips them")
	cmd.Flags().IntVar(&c.CostMembers, "cost-members", 1000, "members of the batches for the costs in Azure; 0 skips them")
	cmd.Flags().IntVar(&c.TickMembers, "tick-members", 10000, "rows of the data source of the scheduler; 0 skips it")
	cmd.Flags().IntVar(&c.Load.Readers, "readers", 200, "concurrent readers of the admin API; 0 skips the load")
	cmd.Flags().IntVar(&c.Load.Writers, "writers", 20, "concurrent writers of the admin API")
	cmd.Flags().IntVar(&c.Load.Members, "load-members", 10000, "members of the batch for the load")
	cmd.Flags().DurationVar(&c.Load.For, "load-for", 30*time.Second, "duration of the load")
	cmd.Flags().IntVar(&c.WorkerJobs, "worker-jobs", 1000, "jobs of the worker alone; 0 skips it")
	cmd.Flags().IntVar(&c.Steps, "steps", 5, "steps per member")
	return cmd
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
