// Command matoolkit is the command line of the admin API. It also runs the whole system on one
// machine.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/internal/cli/command"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return cli.Execute(ctx, newRoot(command.OSEnvironment(), os.Getenv))
}

// newRoot makes the matoolkit command with the commands of this package.
func newRoot(env command.Environment, getenv func(string) string) *cobra.Command {
	root := cli.NewRoot(env)
	root.Example = `  matoolkit local demo                        a complete migration on this machine, without Azure
  matoolkit local up                          the system on this machine, for trials

` + root.Example
	root.AddCommand(localCommand())
	root.AddCommand(rehearseCommand())
	addSimulate(root)
	addVerify(root, getenv)
	return root
}
