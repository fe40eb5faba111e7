package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
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
	"github.com/matoolkit/matoolkit/internal/snapshot"
	"github.com/matoolkit/matoolkit/internal/termlog"
	"github.com/matoolkit/matoolkit/local/demo"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/github"
	"github.com/matoolkit/matoolkit/local/system"
	"github.com/matoolkit/matoolkit/local/tenant"
)

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
	github    string
	tenants   []string
	identity  string
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
  matoolkit local up --tenants source,target --setting target:MAX_PARALLELISM=2
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
	flags.StringSliceVar(&f.tenants, "tenants", nil, "names of Microsoft 365 tenants, such as source,target, or with the folders of their snapshots, such as source=FOLDER,target=FOLDER (default: one without a name)")
	flags.StringVar(&f.identity, "identity", "", "file with the private keys of encrypted snapshots, as age-keygen writes it")
	flags.StringArrayVar(&f.settings, "setting", nil, "setting of the programs, NAME=VALUE: those of the worker go to the workers, others, such as the connection of a data_source, to the handler; with --tenants also TENANT:NAME=VALUE for one worker; repeatable")
	flags.StringArrayVar(&f.programs, "container", nil, "run a local program as the container of an image, IMAGE=PROGRAM, and the container scaler; repeatable")
	flags.StringVar(&f.topology, "topology", "", "queues and topics as a Config.json of the official emulator (default: those of matoolkit, which a host always gets)")
	flags.StringSliceVar(&f.parts, "parts", nil, "start only these parts: servicebus, cosmos, identity, host")
	flags.StringVar(&f.config.Addresses.ServiceBus, "servicebus", d.ServiceBus, "address of Service Bus (AMQP)")
	flags.StringVar(&f.config.Addresses.Cosmos, "cosmos", d.Cosmos, "address of Cosmos DB (HTTP)")
	flags.StringVar(&f.config.Addresses.Host, "host", d.Host, "address of the Functions host (HTTP)")
	flags.StringVar(&f.config.Addresses.Entra, "entra", d.Entra, "address of Entra ID (HTTPS)")
	flags.StringVar(&f.config.Addresses.Tenant, "tenant", d.Tenant, "address of Graph and Exchange, of all tenants (HTTP)")
	flags.StringVar(&f.config.Addresses.KeyVault, "key-vault", d.KeyVault, "address of Key Vault (HTTPS)")
	flags.StringVar(&f.config.Addresses.Blob, "blob", d.Blob, "address of Blob Storage (HTTPS)")
	flags.StringVar(&f.config.Addresses.ARM, "arm", d.ARM, "address of Azure Resource Manager (HTTPS), with --container")
	flags.StringArrayVar(&f.seeds, "seed", nil, "file with users, groups and recipients to add to the tenant; with --tenants NAME=FILE, repeatable")
	flags.StringVar(&f.config.Addresses.GitHub, "github", d.GitHub, "address of GitHub (HTTP), with --github-seed")
	flags.StringVar(&f.github, "github-seed", "", "file with users, repositories and tokens of GitHub, which starts it")
	flags.BoolVar(&f.free, "free-ports", false, "use free ports")
	flags.StringVar(&f.endpoints, "endpoints", "", "write the addresses to this file as JSON when the system is ready")
	flags.DurationVar(&f.config.Latency, "store-latency", 0, "latency to add to each request to Cosmos DB, such as 20ms")
	flags.DurationVar(&f.config.HostCPU, "host-cpu", 0, "CPU time to add to each invocation in the Functions host; 2.5ms is about what the real host uses")
	flags.StringVar(&f.stats, "stats", "", "write statistics to this file as JSON at the end")
	flags.BoolVar(&f.open, "open", false, "open the operations console in the browser, if the host is one of the parts")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print the logs of the parts")
	flags.SortFlags = false
	for _, address := range []string{"servicebus", "cosmos", "host", "entra", "tenant", "key-vault", "blob", "github", "arm"} {
		c.MarkFlagsMutuallyExclusive("free-ports", address)
	}
	c.MarkFlagsMutuallyExclusive("ephemeral", "data-dir")
	return c
}

// elsewhere finds the parts that run elsewhere: those not to start whose address is given.
func (f *upFlags) elsewhere(flags *pflag.FlagSet) {
	for part, options := range map[system.Part][]string{
		system.ServiceBus: {"servicebus"}, system.Cosmos: {"cosmos"}, system.Identity: {"entra", "tenant", "key-vault", "blob"}, system.Host: {"host"},
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

// openSnapshots takes the folders of snapshots out of --tenants, NAME=FOLDER.
func (f *upFlags) openSnapshots(c *system.Config) error {
	c.Snapshots = map[string]*snapshot.Reader{}
	for i, text := range f.tenants {
		name, folder, has := strings.Cut(text, "=")
		if !has {
			continue
		}
		f.tenants[i] = name
		r, err := snapshot.Open(folder, f.identity)
		if err != nil {
			return exit.Usage(fmt.Errorf("--tenants %s: %w", text, err))
		}
		c.Snapshots[name] = r
	}
	return nil
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

// collectGarbage sets when Go collects garbage. Memory is cheaper on a laptop than that, up to a limit: Service Bus keeps the
// message ids of ten minutes, up to a million under load. With snapshots most of the memory is tenants, which stay.
func collectGarbage(snapshots bool) {
	if snapshots {
		debug.SetGCPercent(40)
		return
	}
	heap.SetFloor(heapFloor)
	debug.SetGCPercent(400)
	if debug.SetMemoryLimit(-1) == math.MaxInt64 { // else GOMEMLIMIT has set it
		debug.SetMemoryLimit(384 << 20)
	}
}

func up(ctx context.Context, f *upFlags, out, log io.Writer) (err error) {
	c := f.config
	if err := f.openSnapshots(&c); err != nil {
		return err
	}
	collectGarbage(len(c.Snapshots) > 0)
	settings, err := system.ReadSettings(f.settings, f.tenants)
	if err != nil {
		return exit.Usage(fmt.Errorf("--setting: %w", err))
	}
	c.Settings, c.WorkerSettings = settings.Handler, settings.Worker
	if c.Containers, err = containers(f.programs); err != nil {
		return err
	}
	if c.Tenants, err = entra.NamedTenants(f.tenants...); err != nil {
		return exit.Usage(fmt.Errorf("--tenants: %w", err))
	}
	for i, t := range c.Tenants {
		if r := c.Snapshots[t.Name]; r != nil && !r.Manifest().Redacted {
			c.Tenants[i].TenantID = r.Manifest().TenantID
		}
		if slices.ContainsFunc(c.Tenants[:i], func(o entra.Named) bool { return strings.EqualFold(o.TenantID, c.Tenants[i].TenantID) }) {
			return exit.Usage(fmt.Errorf("--tenants: the snapshot of %s is of the tenant of another one", t.Name))
		}
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
	if f.github != "" {
		seed, err := github.ReadSeed(f.github)
		if err != nil {
			return exit.Usage(fmt.Errorf("--github-seed: %w", err))
		}
		c.GitHub = &seed
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
	address, server := s.TenantURL(), s.Tenant
	if f.tenant != "" {
		address = s.TenantURLOf(f.tenant)
	}
	if s.Tenants != nil {
		server = s.Tenants.Tenant(f.tenant)
	}
	if server == nil { // it runs elsewhere
		return demo.Seed(ctx, address, body)
	}
	seed, err := tenant.ParseSeed(body)
	if err != nil {
		return fmt.Errorf("%s: %w", f.file, err)
	}
	return server.Seed(seed)
}
