package program

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/worker/health"
)

// healthCommand asks the worker that runs with the same environment: an image
// without a shell needs it for its health check.
func healthCommand(getenv func(string) string) *cobra.Command {
	var ready bool
	command := &cobra.Command{
		Use:   "health",
		Short: "Check the health of the worker on this machine",
		Long: "Checks that the worker at HEALTH_ADDR is alive, or with --ready that it takes jobs. The exit status is 0\n" +
			"if so; otherwise the command prints the reason.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			address := getenv(EnvHealth)
			if address == "" {
				return fmt.Errorf("%s is not set: the worker has no health endpoint", EnvHealth)
			}
			if err := health.CheckAddress(address); err != nil {
				return fmt.Errorf("%s: %w", EnvHealth, err)
			}
			path := health.Live
			if ready {
				path = health.Ready
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), 3*time.Second)
			defer cancel()
			if err := health.Ask(ctx, address, path); err != nil {
				return err
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "ok")
			return err
		},
	}
	command.Flags().BoolVar(&ready, "ready", false, "check that the worker takes jobs")
	return command
}
