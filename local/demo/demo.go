// Package demo runs a complete migration on one machine, as an administrator would: it starts the
// local system and a worker as processes of their own, signs in, publishes the example runbook,
// creates a batch, runs every phase with the commands of the command line, and checks the tenant.
package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/local/system"
)

// Config has the paths of the programs and of the example.
type Config struct {
	Matoolkit string // the executable
	Worker    string
	Build     string // the shell command that builds Worker while the system starts; empty if it is built
	App       string // the built Functions app
	Example   string // the folder with runbook.yaml, members.csv and tenant.json
	Data      string // the folder that the state of the local system stays in; that of an earlier demo is replaced
	Open      string // the command that opens the console on that state
	Console   command.Environment
}

// marker is the file by which a demo knows the folder of its state.
const marker = "demo"

// makeData makes the folder of the state anew. It leaves a folder alone that no demo has made.
func makeData(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(folder, marker)); err != nil {
			return fmt.Errorf("%s has files that are not of a demo: give another folder with --data-dir", folder)
		}
		if err := os.RemoveAll(folder); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, marker), nil, 0o600)
}

// Run runs the demo. It fails unless the result is that of the example.
func Run(ctx context.Context, c Config) error {
	return run(ctx, &demo{Config: c}, (*demo).run)
}

// run runs a demo, and stops its processes.
func run(ctx context.Context, d *demo, steps func(*demo, context.Context) error) (err error) {
	if err := makeData(d.Data); err != nil {
		return err
	}
	if d.dir, err = os.MkdirTemp("", "matoolkit-demo-"); err != nil {
		return err
	}
	d.out = d.Console.Stdout
	defer func() {
		err = errors.Join(err, d.stop())
		if err != nil {
			err = fmt.Errorf("%w\nLogs of this run: %s", err, d.dir)
			return
		}
		err = os.RemoveAll(d.dir)
	}()
	if err := steps(d, ctx); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "\n== See the result\nOpen the operations console on the state of this demo, which stays in %s:\n  %s\n", d.Data, d.Open)
	return nil
}

type demo struct {
	Config
	dir       string
	out       io.Writer
	endpoints system.Endpoints
	processes []*system.Process
	build     *system.Process // builds the worker; nil if it is built
	tenants   []string        // names; none: one tenant without a name
	more      []string        // further options of "local up"
	batch     int
}

func (d *demo) run(ctx context.Context) error {
	return d.steps(ctx, []step{
		{"Start Azure and a tenant on this machine", d.start},
		{"Add a group and an employee to the target tenant", d.seed},
		{"Sign in as an administrator", d.command("auth", "login")},
		{"Start a worker", d.startWorker},
		{"Publish the runbook", d.command("runbook", "publish", filepath.Join(d.Example, "runbook.yaml"))},
		{"Create a batch from a CSV file of members", d.create},
		{"Run every phase", d.advance},
		{"Show phases and failed members", d.summary},
		{"Check the tenant", d.check},
	})
}

// step is a part of a demo.
type step struct {
	title string
	do    func(context.Context) error
}

func (d *demo) steps(ctx context.Context, all []step) error {
	for _, step := range all {
		fmt.Fprintf(d.out, "\n== %s\n", step.title)
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", strings.ToLower(step.title[:1])+step.title[1:], err)
		}
	}
	return nil
}

// start starts the build of the worker, and the system on free ports.
func (d *demo) start(ctx context.Context) (err error) {
	if d.Build != "" {
		if d.build, err = system.SpawnShell("the build of the worker", d.Console.Stderr, d.Build); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // a build takes all processors
	defer cancel()
	file := filepath.Join(d.dir, "endpoints.json")
	args := []string{"local", "up", "--free-ports", "--auto-approve", "--data-dir", d.Data, "--app", d.App, "--endpoints", file}
	if len(d.tenants) > 0 {
		args = append(args, "--tenants", strings.Join(d.tenants, ","))
	}
	up, err := d.spawn("system", nil, d.Matoolkit, append(args, d.more...)...)
	if err != nil {
		return err
	}
	if d.endpoints, err = system.WaitEndpoints(ctx, file, up); err != nil {
		return err
	}
	a := d.endpoints.Addresses
	lines := [][2]string{
		{"Service Bus", "amqp://" + a.ServiceBus},
		{"Cosmos DB", "http://" + a.Cosmos},
		{"Functions host", d.endpoints.CLI["MATOOLKIT_API_URL"]},
		{"Entra ID", d.endpoints.CLI["MATOOLKIT_AUTHORITY"]},
	}
	switch {
	case a.GitHub != "":
		lines = append(lines, [2]string{"Blob Storage", "https://" + a.Blob}, [2]string{"GitHub", "http://" + a.GitHub})
	case len(d.tenants) == 0:
		lines = append(lines, [2]string{"Microsoft 365 tenant", d.endpoints.TenantURL})
	}
	for _, name := range d.tenants {
		lines = append(lines, [2]string{"Tenant " + name, d.endpoints.TenantURLs[name]})
	}
	for _, line := range lines {
		fmt.Fprintf(d.out, "%-22s %s\n", line[0], line[1])
	}
	return nil
}

// awaitBuild returns when the build of the worker, if there is one, has succeeded.
func (d *demo) awaitBuild(ctx context.Context) error {
	if d.build == nil {
		return nil
	}
	select {
	case <-d.build.Done():
	default:
		fmt.Fprintln(d.out, "Compiling the worker. The first time takes minutes, because the Microsoft Graph SDK is large.")
	}
	if err := d.build.Wait(ctx); err != nil {
		return fmt.Errorf("%s: %w", d.build.Name, err)
	}
	return nil
}

// startWorker starts the worker of each tenant when its build has succeeded.
func (d *demo) startWorker(ctx context.Context) error {
	if err := d.awaitBuild(ctx); err != nil {
		return err
	}
	envs := map[string]map[string]string{"worker": d.endpoints.Worker}
	if len(d.tenants) > 0 {
		envs = map[string]map[string]string{}
		for _, name := range d.tenants {
			envs["worker-"+name] = d.endpoints.Workers[name]
		}
	}
	var workers []*system.Process
	for _, name := range slices.Sorted(maps.Keys(envs)) {
		p, err := d.spawn(name, envs[name], d.Worker)
		if err != nil {
			return err
		}
		workers = append(workers, p)
	}
	return d.awaitWorkers(ctx, workers)
}

// awaitWorkers waits until the workers have announced their functions: the runbook is checked against them.
func (d *demo) awaitWorkers(ctx context.Context, processes []*system.Process) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		workers, err := ask[api.Page[api.Worker]](ctx, d, "worker", "list")
		switch {
		case err != nil:
			return err
		case announced(workers.Items) >= len(processes):
			return d.command("worker", "list")(ctx)
		}
		for _, p := range processes {
			select {
			case <-p.Done():
				return errors.New("the " + p.Name + " ended before it announced its functions: see its log")
			default:
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the worker has not announced its functions: %w", ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// announced counts the workers whose functions are known. A heartbeat can come before them.
func announced(workers []api.Worker) (n int) {
	for _, w := range workers {
		if w.FunctionCount > 0 {
			n++
		}
	}
	return n
}

func (d *demo) spawn(name string, env map[string]string, path string, args ...string) (*system.Process, error) {
	log, err := os.Create(filepath.Join(d.dir, name+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own
	p, err := system.Spawn(name, log, env, path, args...)
	if err == nil {
		d.processes = append(d.processes, p)
	}
	return p, err
}

func (d *demo) stop() error {
	var errs []error
	if d.build != nil {
		_ = d.build.Stop(15 * time.Second) // startWorker returned its error
	}
	for i := len(d.processes) - 1; i >= 0; i-- {
		errs = append(errs, d.processes[i].Stop(15*time.Second))
	}
	return errors.Join(errs...)
}

func (d *demo) seed(ctx context.Context) error {
	if len(d.tenants) == 0 {
		return d.seedFrom(ctx, "tenant.json", d.endpoints.TenantURL)
	}
	for _, name := range d.tenants {
		if err := d.seedFrom(ctx, name+".json", d.endpoints.TenantURLs[name]); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) seedFrom(ctx context.Context, file, address string) error {
	body, err := os.ReadFile(filepath.Join(d.Example, file))
	if err != nil {
		return err
	}
	return Seed(ctx, address, body)
}

// Seed adds objects to a local tenant.
func Seed(ctx context.Context, tenantURL string, seed []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, tenantURL+"/_local/seed", bytes.NewReader(seed))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusNoContent {
		text, _ := io.ReadAll(response.Body)
		return fmt.Errorf("the tenant answered %s: %s", response.Status, text)
	}
	return nil
}

// command returns a step that shows and runs a command.
func (d *demo) command(args ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		fmt.Fprintf(d.out, "$ matoolkit %s\n", strings.Join(args, " "))
		return d.cli(ctx, d.Console, args...)
	}
}

func (d *demo) cli(ctx context.Context, console command.Environment, args ...string) error {
	env := maps.Clone(d.endpoints.CLI)
	env["MATOOLKIT_HOME"], env["MATOOLKIT_TOKEN_STORE"] = filepath.Join(d.dir, "home"), "file" // the demo leaves nothing on the machine
	outer := console.Getenv
	console.Getenv = func(name string) string {
		if v, ok := env[name]; ok {
			return v
		}
		return outer(name)
	}
	root := cli.NewRoot(console)
	root.SetArgs(args)
	if status := cli.Execute(ctx, root); status != exit.OK {
		return fmt.Errorf("matoolkit %s ended with status %d", args[0], status)
	}
	return nil
}

// ask runs a command and parses its JSON, also when the command fails.
func ask[T any](ctx context.Context, d *demo, args ...string) (T, error) {
	var answer T
	var out bytes.Buffer
	console := d.Console
	console.Stdout, console.Terminal = &out, false
	// The status may only say that something in the answer has failed.
	err := d.cli(ctx, console, append(args, "--output", "json")...)
	if decoded := json.Unmarshal(out.Bytes(), &answer); err == nil {
		err = decoded
	}
	return answer, err
}

func (d *demo) create(ctx context.Context) error {
	members := filepath.Join(d.Example, "members.csv")
	fmt.Fprintf(d.out, "$ matoolkit batch create %s %s\n", filepath.Base(d.Example), members)
	b, err := ask[api.Batch](ctx, d, "batch", "create", filepath.Base(d.Example), members)
	d.batch = b.ID
	return err
}

func (d *demo) advance(ctx context.Context) error { return d.advanceThrough("")(ctx) }

// advanceThrough runs the phases up to one with a name, or all.
func (d *demo) advanceThrough(phase string) func(context.Context) error {
	return func(ctx context.Context) error { return d.advanceTo(ctx, phase) }
}

func (d *demo) advanceTo(ctx context.Context, phase string) error {
	id := strconv.Itoa(d.batch)
	for {
		fmt.Fprintf(d.out, "$ matoolkit batch advance %s --yes\n", id)
		a, err := ask[api.AdvanceResult](ctx, d, "batch", "advance", id, "--yes")
		if err != nil {
			return err
		}
		if err := d.command("batch", "watch", id, "--until-idle")(ctx); err != nil {
			return err
		}
		if len(a.Remaining) == 0 || phase != "" && a.Advanced == phase {
			return nil
		}
	}
}

func (d *demo) summary(ctx context.Context) error {
	id := strconv.Itoa(d.batch)
	if err := d.command("batch", "phases", id)(ctx); err != nil {
		return err
	}
	return d.command("batch", "members", id, "--status", "failed")(ctx)
}
