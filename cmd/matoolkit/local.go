package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/termlog"
	"github.com/matoolkit/matoolkit/local/demo"
	"github.com/matoolkit/matoolkit/local/system"
)

// localCommand runs the whole system on this machine.
func localCommand() *cobra.Command {
	c := command.Group("local", "Run Azure and a Microsoft 365 tenant on this machine",
		command.Verbatim(upCommand()), command.Verbatim(envCommand()), clockCommand(), tickCommand(), command.Verbatim(demoCommand()), command.Verbatim(benchCommand()))
	c.Long = `local runs everything that matoolkit needs on this machine, on loopback only:
Service Bus, Cosmos DB, the Functions host with the real handler, Entra ID, and a
tenant with Graph and Exchange. Nothing leaves the machine.

To see a whole migration at once:
  matoolkit local demo

To try things out, each of the two in a terminal of its own:
  matoolkit local up --auto-approve
  eval "$(matoolkit local env --for worker --wait)" && bin/worker

Then, in a third, matoolkit works as it does in Azure:
  eval "$(matoolkit local env)"
  matoolkit auth login`
	completed(c)
	return c
}

// completed has the Tab key offer what the arguments and options of the commands can be.
func completed(group *cobra.Command) {
	for _, c := range group.Commands() {
		c.ValidArgsFunction = cobra.NoFileCompletions
		for option, choices := range map[string][]cobra.Completion{
			"parts": {string(system.ServiceBus), string(system.Cosmos), string(system.Identity), string(system.Host)},
			"for":   {"cli", "worker", "handler", "func"},
		} {
			if c.Flags().Lookup(option) == nil {
				continue
			}
			if err := c.RegisterFlagCompletionFunc(option, cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp)); err != nil {
				panic(err) // it has been found
			}
		}
	}
}

// upFlags are the options that say where the parts are.
type upFlags struct {
	config    system.Config
	parts     []string
	settings  []string
	ephemeral bool
	free      bool
	endpoints string
	topology  string
	seed      string
	stats     string
	verbose   bool
}

func upCommand() *cobra.Command {
	f := &upFlags{}
	c := &cobra.Command{
		Use:   "up",
		Short: "Start the local system and run it until Ctrl-C",
		Example: `  matoolkit local up                        state in .data, the documented ports
  matoolkit local up --ephemeral            keep nothing
  matoolkit local up --setting PEOPLE="sqlite:$PWD/people.db"
  matoolkit local up --parts servicebus     one part only, the others elsewhere`,
		Args: command.Needs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return up(ctx, f, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	d := system.DefaultAddresses()
	flags := c.Flags()
	flags.StringVar(&f.config.DataDir, "data-dir", ".data", "keep all state here")
	flags.BoolVar(&f.ephemeral, "ephemeral", false, "keep no state")
	flags.StringVar(&f.config.AppDir, "app", "dist", "the staged Functions app")
	flags.BoolVar(&f.config.AutoApprove, "auto-approve", false, "approve every sign-in as the administrator, without a browser")
	flags.StringSliceVar(&f.config.Workers, "worker-id", []string{"worker-01"}, "the workers that have a subscription")
	flags.StringArrayVar(&f.settings, "setting", nil, "an app setting of the handler, NAME=VALUE, such as the connection that a runbook's data_source names; can be given again")
	flags.StringVar(&f.topology, "topology", "", "topics and subscriptions, as the emulator's Config.json (default: what matoolkit needs)")
	flags.StringSliceVar(&f.parts, "parts", nil, "only these: servicebus, cosmos, identity, host")
	flags.StringVar(&f.config.Addresses.ServiceBus, "servicebus", d.ServiceBus, "address of Service Bus (AMQP)")
	flags.StringVar(&f.config.Addresses.Cosmos, "cosmos", d.Cosmos, "address of Cosmos DB (HTTP)")
	flags.StringVar(&f.config.Addresses.Host, "host", d.Host, "address of the Functions host (HTTP)")
	flags.StringVar(&f.config.Addresses.Entra, "entra", d.Entra, "address of Entra ID (HTTPS)")
	flags.StringVar(&f.config.Addresses.Tenant, "tenant", d.Tenant, "address of the tenant: Graph and Exchange (HTTP)")
	flags.StringVar(&f.config.Addresses.KeyVault, "key-vault", d.KeyVault, "address of Key Vault (HTTPS)")
	flags.StringVar(&f.seed, "seed", "", "put the users, groups and recipients in this file into the tenant; what is there stays")
	flags.BoolVar(&f.free, "free-ports", false, "take free ports instead")
	flags.StringVar(&f.endpoints, "endpoints", "", "write where everything is to this file, as JSON, when all is ready")
	flags.StringVar(&f.stats, "stats", "", "write what the parts counted to this file at the end, as JSON")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print what the parts log")
	flags.SortFlags = false
	for _, address := range []string{"servicebus", "cosmos", "host", "entra", "tenant", "key-vault"} {
		c.MarkFlagsMutuallyExclusive("free-ports", address)
	}
	c.MarkFlagsMutuallyExclusive("ephemeral", "data-dir")
	return c
}

// settings reads NAME=VALUE. A value may have anything in it, a comma or another "=" of
// a connection string too; it may be a secret, so no error quotes it.
func settings(all []string) (map[string]string, error) {
	read := map[string]string{}
	for _, text := range all {
		name, value, ok := strings.Cut(text, "=")
		_, again := read[name]
		switch {
		case !ok || name == "":
			return nil, exit.Usage(errors.New("--setting: it is NAME=VALUE"))
		case again:
			return nil, exit.Usage(fmt.Errorf("--setting: %s is given twice", name))
		}
		read[name] = value
	}
	return read, nil
}

func up(ctx context.Context, f *upFlags, out, log io.Writer) (err error) {
	c := f.config
	if c.Settings, err = settings(f.settings); err != nil {
		return err
	}
	for _, p := range f.parts {
		if !slices.Contains(system.AllParts(), system.Part(p)) {
			return exit.Usage(fmt.Errorf("--parts: there is no part %q; there are servicebus, cosmos, identity and host", p))
		}
		c.Parts = append(c.Parts, system.Part(p))
	}
	if f.topology != "" {
		config, err := os.ReadFile(f.topology)
		if err != nil {
			return fmt.Errorf("--topology: %w", err)
		}
		c.Topology = config
	}
	if f.ephemeral {
		c.DataDir = ""
	}
	if f.free {
		c.Addresses = system.FreeAddresses()
	}
	level := slog.LevelWarn
	if f.verbose {
		level = slog.LevelInfo
	}
	c.Logger = slog.New(termlog.Handler(log, level, slog.NewTextHandler(log, &slog.HandlerOptions{Level: level})))
	c.Output = io.Discard
	if f.verbose {
		c.Output = log
		if termlog.IsTerminal(log) {
			c.Output = termlog.Lines(log)
		}
	}
	// Memory is cheap on a laptop, and the collector's work is not.
	debug.SetGCPercent(400)
	began := time.Now()
	s, err := system.Start(context.WithoutCancel(ctx), c)
	if err != nil {
		return err
	}
	if err := seed(ctx, s, f.seed); err != nil {
		return errors.Join(fmt.Errorf("--seed: %w", err), s.Close())
	}
	for _, line := range s.Lines() {
		fmt.Fprintf(out, "%-22s %s\n", line.Part, line.Address)
	}
	if now, offset := s.Clock().Read(); offset > 0 {
		fmt.Fprintf(out, "%-22s %s, %s\n", "clock", now.UTC().Format(time.RFC3339), aheadOf(offset))
	}
	state := "state in " + c.DataDir
	if c.DataDir == "" {
		state = "no state is kept"
	}
	fmt.Fprintf(out, "ready in %d ms; %s; Ctrl-C stops\n", time.Since(began).Milliseconds(), state)
	fmt.Fprint(out, next(f, s.Endpoints().Addresses))
	if f.endpoints != "" {
		if err := system.WriteEndpoints(f.endpoints, s.Endpoints()); err != nil {
			return err
		}
	}
	<-ctx.Done()
	if f.stats != "" {
		if err := s.WriteStats(f.stats); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	return s.Close()
}

// next tells a newcomer how the system is used from other terminals. Where the addresses
// are others than the documented ones, or there is no host, they know their way already.
func next(f *upFlags, a system.Addresses) string {
	if a != system.DefaultAddresses() || len(f.parts) > 0 || f.ephemeral {
		return ""
	}
	dir := ""
	if f.config.DataDir != ".data" {
		dir = " --data-dir " + word(f.config.DataDir)
	}
	return fmt.Sprintf(`In a second terminal, a worker, without which no step is done:
  eval "$(bin/matoolkit local env --for worker%[1]s)" && bin/worker
In a third, sign in, and go on from there:
  eval "$(bin/matoolkit local env%[1]s)" && bin/matoolkit auth login
`, dir)
}

func seed(ctx context.Context, s *system.System, file string) error {
	if file == "" {
		return nil
	}
	body, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return demo.Seed(ctx, s.TenantURL(), body)
}

// awaitHost waits until the part that starts last listens.
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
			return fmt.Errorf("the local system does not run: %w", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// word is a path as a shell takes it for one word, without quotes where it needs none.
func word(path string) string {
	if strings.Trim(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./") == "" {
		return path
	}
	return quoted(path)
}

// quoted is a text as a shell takes it for one word.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func envCommand() *cobra.Command {
	var dataDir, program, endpoints, base string
	var wait bool
	c := &cobra.Command{
		Use:   "env",
		Short: "Print the environment variables for programs that use the local system",
		Example: `  eval "$(matoolkit local env)"             then use matoolkit against it
  eval "$(matoolkit local env --for worker)" && bin/worker
  matoolkit local env --for func --base local.settings.json.example > dist/local.settings.json`,
		Args: command.Needs(),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			e := system.At(system.Config{DataDir: dataDir}).Endpoints()
			if endpoints != "" {
				if e, err = system.ReadEndpoints(endpoints); err != nil {
					return fmt.Errorf("--endpoints: %w", err)
				}
			}
			sets := map[string]map[string]string{"cli": e.CLI, "worker": e.Worker, "handler": e.Handler, "func": e.Handler}
			env, ok := sets[program]
			switch {
			case !ok:
				return exit.Usage(fmt.Errorf("--for: there is no environment for %q; there are cli, worker, handler and func", program))
			case base != "" && program != "func":
				return exit.Usage(errors.New("--base is for --for func"))
			}
			var file []byte
			if program == "func" {
				if file, err = funcSettings(base, env); err != nil {
					return exit.Usage(err)
				}
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
					fmt.Fprintf(cmd.ErrOrStderr(), "No system has its state in %s: give the --data-dir that local up has, and --wait where it is still to start.\n", dataDir)
				}
			}
			for _, name := range slices.Sorted(maps.Keys(env)) {
				fmt.Fprintf(cmd.OutOrStdout(), "export %s=%s\n", name, quoted(env[name]))
			}
			return nil
		},
	}
	c.Flags().StringVar(&dataDir, "data-dir", ".data", "the state folder of the running system")
	c.Flags().BoolVar(&wait, "wait", false, "wait until the system is ready, at most 30 s")
	c.Flags().StringVar(&program, "for", "cli", "cli, worker, handler, or func: the local.settings.json of the handler, for Azure's \"func start\"")
	c.Flags().StringVar(&base, "base", "", "of func: the local.settings.json to fill in")
	c.Flags().StringVar(&endpoints, "endpoints", "", "the file that local up --endpoints wrote, where the system is not at the documented ports")
	c.MarkFlagsMutuallyExclusive("endpoints", "data-dir")
	return c
}
