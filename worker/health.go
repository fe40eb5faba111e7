package main

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
		Short: "Ask the worker on this machine whether it does its work",
		Long: "Ask the worker that listens at HEALTH_ADDR whether it does its work, or with --ready whether it takes jobs.\n" +
			"The status is 0 for yes; otherwise the reason is told.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			address := getenv(envHealth)
			if address == "" {
				return fmt.Errorf("%s is not set: a worker without it answers no probes", envHealth)
			}
			if err := health.CheckAddress(address); err != nil {
				return fmt.Errorf("%s: %w", envHealth, err)
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
	command.Flags().BoolVar(&ready, "ready", false, "whether it takes jobs")
	return command
}
