package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/pkg/browser"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/heap"
	"github.com/matoolkit/matoolkit/internal/termlog"
	"github.com/matoolkit/matoolkit/local/demo"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/system"
)

// localCommand runs the whole system on this machine.
func localCommand() *cobra.Command {
	c := command.Group("local", "Run Azure and a Microsoft 365 tenant on this machine",
		command.Verbatim(upCommand()), command.Verbatim(envCommand()), clockCommand(), tickCommand(), command.Verbatim(demoCommand()), command.Verbatim(demoMoveCommand()), command.Verbatim(demoScalerCommand()), command.Shows(benchCommand()))
	c.Long = `Runs everything that matoolkit needs on this machine, on loopback only: Service Bus, Cosmos
DB, the Functions host with the real handler, Entra ID, and a tenant with Graph and Exchange.
Nothing leaves the machine.

To try it, use three terminals: the system, a worker, and matoolkit as in Azure.`
	c.Example = `  matoolkit local demo                                           a complete migration
  matoolkit local up --auto-approve                              first terminal
  eval "$(matoolkit local env --for worker --wait)" && bin/worker   second terminal
  eval "$(matoolkit local env)" && matoolkit auth login             third terminal`
	completed(c)
	return c
}

// completed sets the completion of the commands.
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
				panic(err) // the option exists
			}
		}
	}
}

// upFlags are the options of local up.
type upFlags struct {
	config    system.Config
	parts     []string
	settings  []string
	programs  []string
	ephemeral bool
	free      bool
	endpoints string
	topology  string
	seeds     []string
	tenants   []string
	stats     string
	open      bool
	verbose   bool
}

func upCommand() *cobra.Command {
	f := &upFlags{}
	c := &cobra.Command{
		Use:   "up",
		Short: "Start the local system and run it until Ctrl-C",
		Example: `  matoolkit local up                        state in .data, the default ports
  matoolkit local up --ephemeral            keep nothing
  matoolkit local up --tenants source,target   two tenants, each with a worker
  matoolkit local up --open                 show the operations console in the browser
  matoolkit local up --setting PEOPLE="sqlite:$PWD/people.db"
  matoolkit local up --parts servicebus     one part only`,
		Args: command.Needs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			f.elsewhere(cmd.Flags())
			return up(ctx, f, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	d := system.DefaultAddresses()
	flags := c.Flags()
	flags.StringVar(&f.config.DataDir, "data-dir", ".data", "directory of the state")
	flags.BoolVar(&f.ephemeral, "ephemeral", false, "keep no state")
	flags.StringVar(&f.config.AppDir, "app", "dist", "directory of the built Functions app")
	flags.BoolVar(&f.config.AutoApprove, "auto-approve", false, "approve every sign-in as the administrator, without a browser")
	flags.StringSliceVar(&f.config.Workers, "worker-id", nil, "workers with a subscription (default: worker-01, or one for each of --tenants: worker-NAME)")
	flags.StringSliceVar(&f.tenants, "tenants", nil, "names of Microsoft 365 tenants, such as source,target (default: one without a name)")
	flags.StringArrayVar(&f.settings, "setting", nil, "app setting of the handler, NAME=VALUE, such as the connection of a data_source; repeatable")
	flags.StringArrayVar(&f.programs, "container", nil, "run a local program as the container of an image, IMAGE=PROGRAM, and the container scaler; repeatable")
	flags.StringVar(&f.topology, "topology", "", "queues and topics as a Config.json of the official emulator (default: those of matoolkit, which a host always gets)")
	flags.StringSliceVar(&f.parts, "parts", nil, "start only these parts: servicebus, cosmos, identity, host")
	flags.StringVar(&f.config.Addresses.ServiceBus, "servicebus", d.ServiceBus, "address of Service Bus (AMQP)")
	flags.StringVar(&f.config.Addresses.Cosmos, "cosmos", d.Cosmos, "address of Cosmos DB (HTTP)")
	flags.StringVar(&f.config.Addresses.Host, "host", d.Host, "address of the Functions host (HTTP)")
	flags.StringVar(&f.config.Addresses.Entra, "entra", d.Entra, "address of Entra ID (HTTPS)")
	flags.StringVar(&f.config.Addresses.Tenant, "tenant", d.Tenant, "address of Graph and Exchange, of all tenants (HTTP)")
	flags.StringVar(&f.config.Addresses.KeyVault, "key-vault", d.KeyVault, "address of Key Vault (HTTPS)")
	flags.StringVar(&f.config.Addresses.ARM, "arm", d.ARM, "address of Azure Resource Manager (HTTPS), with --container")
	flags.StringArrayVar(&f.seeds, "seed", nil, "file with users, groups and recipients to add to the tenant; with --tenants NAME=FILE, repeatable")
	flags.BoolVar(&f.free, "free-ports", false, "use free ports")
	flags.StringVar(&f.endpoints, "endpoints", "", "write the addresses to this file as JSON when the system is ready")
	flags.DurationVar(&f.config.Latency, "store-latency", 0, "latency to add to each request to Cosmos DB, such as 20ms")
	flags.DurationVar(&f.config.HostCPU, "host-cpu", 0, "CPU time to add to each invocation in the Functions host; 2.5ms is about what the real host uses")
	flags.StringVar(&f.stats, "stats", "", "write statistics to this file as JSON at the end")
	flags.BoolVar(&f.open, "open", false, "open the operations console in the browser, if the host is one of the parts")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print the logs of the parts")
	flags.SortFlags = false
	for _, address := range []string{"servicebus", "cosmos", "host", "entra", "tenant", "key-vault", "arm"} {
		c.MarkFlagsMutuallyExclusive("free-ports", address)
	}
	c.MarkFlagsMutuallyExclusive("ephemeral", "data-dir")
	return c
}

// elsewhere finds the parts that run elsewhere: those not to start whose address is given.
func (f *upFlags) elsewhere(flags *pflag.FlagSet) {
	for part, options := range map[system.Part][]string{
		system.ServiceBus: {"servicebus"}, system.Cosmos: {"cosmos"}, system.Identity: {"entra", "tenant", "key-vault"}, system.Host: {"host"},
	} {
		known := func(name string) bool {
			option := flags.Lookup(name)
			return option.Changed && option.Value.String() != "" && !strings.HasSuffix(option.Value.String(), ":0")
		}
		if len(f.parts) > 0 && !slices.Contains(f.parts, string(part)) && slices.ContainsFunc(options, known) {
			f.config.Elsewhere = append(f.config.Elsewhere, part)
		}
	}
}

// settings parses NAME=VALUE. A value can contain commas and "=", as connection strings do. It can
// be a secret, so errors do not quote it.
func settings(all []string) (map[string]string, error) {
	read := map[string]string{}
	for _, text := range all {
		name, value, ok := strings.Cut(text, "=")
		_, again := read[name]
		switch {
		case !ok || name == "":
			return nil, exit.Usage(errors.New("--setting: give NAME=VALUE"))
		case again:
			return nil, exit.Usage(fmt.Errorf("--setting: %s is given twice", name))
		}
		read[name] = value
	}
	return read, nil
}

// containers parses IMAGE=PROGRAM, and finds the programs, which start in other directories.
func containers(all []string) (map[string]string, error) {
	read := map[string]string{}
	for _, text := range all {
		image, program, ok := strings.Cut(text, "=")
		if !ok || image == "" || program == "" {
			return nil, exit.Usage(fmt.Errorf("--container: %q is not IMAGE=PROGRAM", text))
		}
		path, err := exec.LookPath(program)
		if err == nil {
			path, err = filepath.Abs(path)
		}
		if err != nil {
			return nil, exit.Usage(fmt.Errorf("--container: %w", err))
		}
		read[image] = path
	}
	return read, nil
}

// heapFloor is about what the parts take together in use.
const heapFloor = 48 << 20

func up(ctx context.Context, f *upFlags, out, log io.Writer) (err error) {
	heap.SetFloor(heapFloor)
	c := f.config
	if c.Settings, err = settings(f.settings); err != nil {
		return err
	}
	if c.Containers, err = containers(f.programs); err != nil {
		return err
	}
	if c.Tenants, err = entra.NamedTenants(f.tenants...); err != nil {
		return exit.Usage(fmt.Errorf("--tenants: %w", err))
	}
	seeds, err := readSeeds(f.seeds, f.tenants)
	if err != nil {
		return err
	}
	for _, p := range f.parts {
		if !slices.Contains(system.AllParts(), system.Part(p)) {
			return exit.Usage(fmt.Errorf("--parts: unknown part %q: use servicebus, cosmos, identity or host", p))
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
	// Memory is cheaper on a laptop than garbage collection, up to a limit. Service Bus keeps the message
	// ids of ten minutes, up to a million under load.
	debug.SetGCPercent(400)
	if debug.SetMemoryLimit(-1) == math.MaxInt64 { // else GOMEMLIMIT has set it
		debug.SetMemoryLimit(384 << 20)
	}
	began := time.Now()
	s, err := system.Start(context.WithoutCancel(ctx), c)
	if err != nil {
		return err
	}
	for _, seed := range seeds {
		if err := seed.add(ctx, s); err != nil {
			return errors.Join(fmt.Errorf("--seed: %w", err), s.Close())
		}
	}
	for _, line := range s.Lines() {
		fmt.Fprintf(out, "%-22s %s\n", line.Part, line.Address)
	}
	if now, offset := s.Clock().Read(); offset > 0 {
		fmt.Fprintf(out, "%-22s %s, %s\n", "clock", now.UTC().Format(time.RFC3339), aheadOf(offset))
	}
	state := "state in " + c.DataDir
	if c.DataDir == "" {
		state = "no state kept"
	}
	if f.endpoints != "" {
		if err := system.WriteEndpoints(f.endpoints, s.Endpoints()); err != nil {
			return errors.Join(fmt.Errorf("--endpoints: %w", err), s.Close())
		}
	}
	fmt.Fprintf(out, "ready in %d ms; %s; Ctrl-C to stop\n", time.Since(began).Milliseconds(), state)
	fmt.Fprint(out, next(f, s.Endpoints().Addresses))
	if f.open && s.Host != nil {
		if err := browser.OpenURL(s.ConsoleURL()); err != nil {
			fmt.Fprintf(out, "No browser can be opened here (%v). Open %s\n", err, s.ConsoleURL())
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

// next returns the next commands for other terminals, none without a host.
func next(f *upFlags, a system.Addresses) string {
	dir := ""
	switch {
	case len(f.parts) > 0:
		return ""
	case f.endpoints != "":
		dir = " --endpoints " + word(f.endpoints)
	case f.ephemeral, a != system.DefaultAddresses():
		return "To use these addresses in other terminals, start with --endpoints FILE, and give that file to \"local env\".\n"
	case f.config.DataDir != ".data":
		dir = " --data-dir " + word(f.config.DataDir)
	}
	start, signIn := "Next, start a worker in a second terminal:", "Then sign in, in a third terminal:"
	workers := []string{""}
	if len(f.tenants) > 0 {
		start, signIn = "Next, start a worker for each tenant, in terminals of their own:", "Then sign in, in another terminal:"
		workers = nil
		for _, name := range f.tenants {
			workers = append(workers, " --tenant "+name)
		}
	}
	lines := start + "\n"
	for _, tenant := range workers {
		lines += fmt.Sprintf("  eval \"$(bin/matoolkit local env --for worker%s%s)\" && bin/worker\n", tenant, dir)
	}
	return lines + signIn + "\n" + fmt.Sprintf("  eval \"$(bin/matoolkit local env%s)\" && bin/matoolkit auth login\n", dir)
}

// seedFile is a file with objects for a tenant, whose name is empty where there is only one.
type seedFile struct{ tenant, file string }

// readSeeds parses FILE, or with several tenants NAME=FILE.
func readSeeds(all, tenants []string) ([]seedFile, error) {
	var read []seedFile
	for _, text := range all {
		if len(tenants) == 0 {
			read = append(read, seedFile{file: text})
			continue
		}
		name, file, ok := strings.Cut(text, "=")
		if !ok || !slices.Contains(tenants, name) {
			return nil, exit.Usage(fmt.Errorf("--seed: give NAME=FILE with one of the tenants %s", strings.Join(tenants, ", ")))
		}
		read = append(read, seedFile{name, file})
	}
	return read, nil
}

func (f seedFile) add(ctx context.Context, s *system.System) error {
	body, err := os.ReadFile(f.file)
	if err != nil {
		return err
	}
	address := s.TenantURL()
	if f.tenant != "" {
		address = s.TenantURLOf(f.tenant)
	}
	return demo.Seed(ctx, address, body)
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

// word quotes a path for a shell if it needs quotes.
func word(path string) string {
	if strings.Trim(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./") == "" {
		return path
	}
	return quoted(path)
}

// quoted quotes a text for a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

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
	return system.At(system.Config{DataDir: dataDir, Tenants: tenants}).Endpoints(), nil
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
