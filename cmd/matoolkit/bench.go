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
		Example: `  make bench                                         builds what is needed first
  bin/matoolkit local bench --members 1000
  bin/matoolkit local bench --members 0 --protocol-members 0 --readers 0 --worker-jobs 0 \
      --tick-members 0                               what Azure bills, and nothing else`,
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
	cmd.Flags().StringVar(&c.App, "app", "dist", "the staged Functions app")
	cmd.Flags().IntSliceVar(&c.Members, "members", []int{100, 1000, 10000}, "the sizes of batch to measure; 0 leaves them out")
	cmd.Flags().IntVar(&c.ProtocolMembers, "protocol-members", 500, "members of the batches that retry, poll, rollback and removal are measured with; 0 leaves them out")
	cmd.Flags().IntVar(&c.CostMembers, "cost-members", 1000, "members of the batches that what Azure bills is counted with; 0 leaves them out")
	cmd.Flags().IntVar(&c.TickMembers, "tick-members", 10000, "rows of the data source that ticks of the scheduler are measured with; 0 leaves them out")
	cmd.Flags().IntVar(&c.Load.Readers, "readers", 200, "people who read at once from the admin API under load; 0 leaves the load out")
	cmd.Flags().IntVar(&c.Load.Writers, "writers", 20, "people who write at once under that load")
	cmd.Flags().IntVar(&c.Load.Members, "load-members", 10000, "members of the batch that they read")
	cmd.Flags().DurationVar(&c.Load.For, "load-for", 30*time.Second, "how long that load lasts")
	cmd.Flags().IntVar(&c.WorkerJobs, "worker-jobs", 1000, "jobs that a worker alone is measured with; 0 leaves that out")
	cmd.Flags().IntVar(&c.Steps, "steps", 5, "steps of each member")
	return cmd
}

// administrator signs in to a local Entra ID that approves by itself.
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
