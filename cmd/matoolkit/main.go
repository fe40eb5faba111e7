// Command matoolkit is the administrator's client of the admin API. It also runs the
// whole system on one machine.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/matoolkit/matoolkit/internal/cli"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := cli.NewRoot(cli.OSEnvironment())
	root.AddCommand(localCommand())
	addSimulate(root)
	addVerify(root, os.Getenv)
	return cli.Execute(ctx, root)
}
