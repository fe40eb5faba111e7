package program

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/worker/catalog"
)

// Command describes the command of a worker program. All but Own and More are required.
type Command struct {
	Name, Short, Version string
	Getenv               func(string) string
	// Own are the program's own variables, which no command function is given.
	Own []string
	// Run runs the worker until ctx ends or it is idle for long.
	Run func(ctx context.Context, stdout io.Writer) error
	// Declared is the catalogue with further functions. It is only described, not called.
	Declared func(extra []catalog.Function) (*catalog.Catalog, error)
	// More are commands beside "functions" and "health".
	More []*cobra.Command
}

// Cobra makes the command: without arguments it runs the worker.
func (c Command) Cobra() *cobra.Command {
	root := &cobra.Command{
		Use:           c.Name,
		Short:         c.Short,
		Version:       c.Version,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return c.Run(cmd.Context(), cmd.OutOrStdout()) },
	}
	root.AddCommand(functionsCommand(c), healthCommand(c.Getenv))
	root.AddCommand(c.More...)
	return root
}

// Execute runs the command until a signal, and returns the exit status.
func (c Command) Execute() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := c.Cobra().ExecuteContext(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", c.Name, err)
		return 1
	}
	return 0
}
