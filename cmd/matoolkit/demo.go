package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/local/demo"
)

func demoCommand() *cobra.Command {
	return demoOf(&cobra.Command{
		Use:   "demo",
		Short: "Run a complete migration on this machine and check the result",
		Long: `Starts the local system and a worker, signs in, publishes a runbook, creates a batch of 25
members, runs every phase and then checks the tenant. Two members fail, each for a real
reason. The exit status is 0 only if the result is as expected. At the end it prints the command
that opens the operations console on the result.`,
		Example: `  make demo                builds the programs first
  bin/matoolkit local demo`,
	}, "demo", "user-migration", demo.Run)
}

func demoMoveCommand() *cobra.Command {
	return demoOf(&cobra.Command{
		Use:   "demo-tenant-to-tenant",
		Short: "Run a migration between two tenants on this machine and check the result",
		Long: `Starts the local system with two tenants and a worker for each, publishes a runbook, creates a batch
of 15 members and moves them with their mailboxes: checks, accounts, licences, copy, cut-over,
permissions and the clean-up of the source. Six members fail, each for a real reason, and one leaves
the batch. Then it checks both tenants. The exit status is 0 only if the result is as expected. At the
end it prints the command that opens the operations console on the result.`,
		Example: `  make demo-tenant-to-tenant   builds the programs first
  bin/matoolkit local demo-tenant-to-tenant`,
	}, "demo-tenant-to-tenant", "tenant-to-tenant", demo.RunMove)
}

// demoOf completes the command of a demo, which is also the target of make that builds its programs.
func demoOf(cmd *cobra.Command, name, example string, run func(context.Context, demo.Config) error) *cobra.Command {
	c := demo.Config{}
	cmd.Args = command.Needs()
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		if c.Matoolkit, err = os.Executable(); err != nil {
			return err
		}
		if c.Worker == "" {
			c.Worker = filepath.Join(filepath.Dir(c.Matoolkit), executable("worker"))
		}
		programs := []string{c.Worker}
		if c.Build != "" {
			programs = nil
		}
		for _, needed := range append(programs, filepath.Join(c.App, "host.json"), filepath.Join(c.Example, "runbook.yaml")) {
			if _, err := os.Stat(needed); err != nil {
				return fmt.Errorf("%w; run \"make %s\" in the root of the repository, which builds the programs first", err, name)
			}
		}
		c.Console = command.OSEnvironment()
		c.Open = "bin/matoolkit local up --data-dir " + word(c.Data) + " --open"
		if c.App != "dist" {
			c.Open += " --app " + word(c.App)
		}
		return run(ctx, c)
	}
	cmd.Flags().StringVar(&c.App, "app", "dist", "directory of the built Functions app")
	cmd.Flags().StringVar(&c.Data, "data-dir", filepath.Join(".data", name), "directory of the state; that of an earlier demo is replaced")
	cmd.Flags().StringVar(&c.Worker, "worker", "", "the worker program (default: beside this program)")
	cmd.Flags().StringVar(&c.Build, "build-worker", "", "shell command that builds the worker program; it runs while the system starts")
	cmd.Flags().StringVar(&c.Example, "example", filepath.Join("examples", example), "directory of the example")
	return cmd
}

func demoPipelineCommand() *cobra.Command {
	c, functions := demo.Config{}, ""
	cmd := &cobra.Command{
		Use:   "demo-pipeline",
		Short: "Run requests for bundles of repositories on this machine and check the results",
		Long: `Starts the local system with GitHub and three workers, publishes a runbook that requests start, and
requests a bundle of ten repositories: for the first time, unchanged, with two changed repositories,
forced, with repositories that fail, and for an owner that cannot be. A model is trained behind each new bundle. The exit status is
0 only if the results are as expected. At the end it prints the command that opens the operations
console on the result.`,
		Example: `  make demo-pipeline       builds the programs first
  bin/matoolkit local demo-pipeline`,
		Args: command.Needs(),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			if c.Matoolkit, err = os.Executable(); err != nil {
				return err
			}
			if c.Worker == "" {
				c.Worker = filepath.Join(filepath.Dir(c.Matoolkit), executable("context-worker"))
			}
			if functions == "" {
				functions = filepath.Join(filepath.Dir(c.Matoolkit), "context-functions")
			}
			if functions, err = filepath.Abs(functions); err != nil {
				return err
			}
			for _, needed := range []string{c.Worker, filepath.Join(functions, "train-semantic-model.yaml"), filepath.Join(c.App, "host.json"), filepath.Join(c.Example, "runbook.yaml")} {
				if _, err := os.Stat(needed); err != nil {
					return fmt.Errorf("%w; run \"make demo-pipeline\" in the root of the repository, which builds the programs first", err)
				}
			}
			c.Console = command.OSEnvironment()
			c.Open = "bin/matoolkit local up --data-dir " + word(c.Data) + " --open"
			return demo.RunPipeline(ctx, c, functions)
		},
	}
	cmd.Flags().StringVar(&c.App, "app", "dist", "directory of the built Functions app")
	cmd.Flags().StringVar(&c.Data, "data-dir", filepath.Join(".data", "demo-pipeline"), "directory of the state; that of an earlier demo is replaced")
	cmd.Flags().StringVar(&c.Worker, "worker", "", "the worker program (default: context-worker beside this program)")
	cmd.Flags().StringVar(&functions, "functions", "", "directory of the command function (default: context-functions beside this program)")
	cmd.Flags().StringVar(&c.Example, "example", filepath.Join("examples", "context-bundle"), "directory of the example")
	return cmd
}

func demoScalerCommand() *cobra.Command {
	c := demo.ScalerConfig{}
	cmd := &cobra.Command{
		Use:   "demo-scaler",
		Short: "Run the container scaler on this machine and check the result",
		Long: `Starts the local system with Azure Resource Manager, sends messages of different sizes to three
subscriptions, and runs the container scaler until all messages are settled. A local program
runs as each container. The exit status is 0 only if each message had one container, never more
containers than allowed ran at once, and all container groups are deleted.`,
		Example: `  make demo-scaler         builds the programs first
  bin/matoolkit local demo-scaler`,
		Args: command.Needs(),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			if c.Matoolkit, err = os.Executable(); err != nil {
				return err
			}
			if c.Container == "" {
				c.Container = filepath.Join(filepath.Dir(c.Matoolkit), executable("container-per-message"))
			}
			for _, needed := range []string{c.Container, filepath.Join(c.App, "host.json")} {
				if _, err := os.Stat(needed); err != nil {
					return fmt.Errorf("%w; run \"make demo-scaler\" in the root of the repository, which builds the programs first", err)
				}
			}
			c.Console = command.OSEnvironment()
			return demo.RunScaler(ctx, c)
		},
	}
	cmd.Flags().StringVar(&c.App, "app", "dist", "directory of the built Functions app")
	cmd.Flags().StringVar(&c.Container, "program", "", "the program that runs as the container (default: container-per-message beside this program)")
	cmd.Flags().IntVar(&c.Messages, "messages", 9, "number of messages")
	cmd.Flags().IntVar(&c.Instances, "instances", 3, "containers that may run at once")
	return cmd
}

func executable(name string) string {
	if runtime.GOOS == "windows" {
		return name + ".exe"
	}
	return name
}
