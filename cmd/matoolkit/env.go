package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/local/system"
)

func envCommand() *cobra.Command {
	var dataDir, program, endpoints, base, tenant string
	var wait bool
	c := &cobra.Command{
		Use:   "env",
		Short: "Print the environment variables for programs that use the local system",
		Example: `  eval "$(matoolkit local env)"             then use matoolkit against it
  eval "$(matoolkit local env --for worker)" && bin/worker
  eval "$(matoolkit local env --for worker --tenant source)" && bin/worker
  matoolkit local env --for func --base local.settings.json.example > dist/local.settings.json`,
		Args: command.Needs(),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			e, err := endpointsOf(dataDir, endpoints)
			if err != nil {
				return err
			}
			if program == "worker" {
				if e.Worker, err = workerOf(e, tenant); err != nil {
					return exit.Usage(err)
				}
			} else if tenant != "" {
				return exit.Usage(errors.New("--tenant needs --for worker"))
			}
			sets := map[string]map[string]string{"cli": e.CLI, "worker": e.Worker, "handler": e.Handler, "func": e.Handler}
			env, ok := sets[program]
			switch {
			case !ok:
				return exit.Usage(fmt.Errorf("--for: unknown program %q: use cli, worker, handler or func", program))
			case base != "" && program != "func":
				return exit.Usage(errors.New("--base needs --for func"))
			}
			var file []byte
			if program == "func" {
				if file, err = funcSettings(base, env); err != nil {
					return exit.Usage(err)
				}
			}
			if wait && e.Addresses.Host == "" {
				return exit.Usage(errors.New("--wait: the system in the --endpoints file has no Functions host"))
			}
			if wait {
				if err := awaitHost(cmd.Context(), e.Addresses.Host); err != nil {
					return err
				}
			}
			if program == "func" {
				_, err = cmd.OutOrStdout().Write(file)
				return err
			}
			// Otherwise the next program would fail with a missing certificate file.
			if file := e.CLI["MATOOLKIT_CA_FILE"]; endpoints == "" && file != "" {
				if _, err := os.Stat(file); err != nil {
					fmt.Fprintf(cmd.ErrOrStderr(), "No system has its state in %s. Give the --data-dir or the --endpoints file of local up, or --wait if the system is starting.\n", dataDir)
				}
			}
			for _, name := range slices.Sorted(maps.Keys(env)) {
				fmt.Fprintf(cmd.OutOrStdout(), "export %s=%s\n", name, quoted(env[name]))
			}
			return nil
		},
	}
	c.Flags().StringVar(&dataDir, "data-dir", ".data", "state directory of the running system")
	c.Flags().BoolVar(&wait, "wait", false, "wait until the system is ready, at most 30 seconds")
	c.Flags().StringVar(&program, "for", "cli", "program: cli, worker, handler, or func for the local.settings.json of \"func start\"")
	c.Flags().StringVar(&tenant, "tenant", "", "with worker: the tenant of the worker, one of local up --tenants")
	c.Flags().StringVar(&base, "base", "", "with func: the local.settings.json to fill in")
	c.Flags().StringVar(&endpoints, "endpoints", "", "file that local up --endpoints wrote, for other than the default ports")
	c.MarkFlagsMutuallyExclusive("endpoints", "data-dir")
	return c
}

// endpointsOf reads the addresses of a running system, from its file or for its state directory.
func endpointsOf(dataDir, file string) (system.Endpoints, error) {
	if file != "" {
		e, err := system.ReadEndpoints(file)
		if err != nil {
			return e, fmt.Errorf("--endpoints: %w", err)
		}
		return e, nil
	}
	tenants, err := system.TenantsIn(dataDir)
	if err != nil {
		return system.Endpoints{}, err
	}
	settings, err := system.WorkerSettingsIn(dataDir)
	if err != nil {
		return system.Endpoints{}, err
	}
	return system.At(system.Config{DataDir: dataDir, Tenants: tenants, WorkerSettings: settings}).Endpoints(), nil
}

// workerOf returns the environment of the worker of a tenant, whose name is empty where there is only one.
func workerOf(e system.Endpoints, tenant string) (map[string]string, error) {
	env, ok := e.Workers[tenant]
	names := strings.Join(slices.Sorted(maps.Keys(e.Workers)), ", ")
	switch {
	case ok:
		return env, nil
	case len(e.Workers) == 0 && tenant == "":
		return e.Worker, nil
	case len(e.Workers) == 0:
		return nil, fmt.Errorf("--tenant: the system has one tenant, without a name: leave --tenant out, or start it with --tenants %s", tenant)
	case tenant == "":
		return nil, fmt.Errorf("the system has several tenants: give --tenant with one of %s", names)
	}
	return nil, fmt.Errorf("--tenant: unknown tenant %q: use one of %s", tenant, names)
}

// awaitHost waits until the host listens, which starts last.
func awaitHost(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the local system is not running: %w", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
