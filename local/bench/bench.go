// Package bench measures the whole local system: every part a process of its own,
// as in Azure, with state on disk, and a worker whose function does nothing. It
// measures the engine, the store and the bus alone.
package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/local/system"
)

// Config says what to measure and with which programs.
type Config struct {
	Matoolkit, Worker, App string // the executables and the staged app
	Members                []int  // one run for each size of batch; 0 is none
	ProtocolMembers        int    // of the batch that each protocol is measured with; 0: none is
	Steps                  int    // of each member
	CostMembers            int    // of the batches that what Azure bills is counted with; 0: it is not
	TickMembers            int    // in the data source of the ticks that are measured; 0: none is
	Load                   Load   // on the admin API
	WorkerJobs             int    // that a worker alone is measured with; 0: it is not
	Token                  func(system.Endpoints) func(context.Context) (string, error)
	Out                    io.Writer
}

// Run measures each size with a system of its own and prints a table.
func Run(ctx context.Context, c Config) error {
	t := table.NewWriter()
	t.SetOutputMirror(c.Out)
	t.AppendHeader(table.Row{"members", "steps", "seconds", "steps/s", "CPU ms/step", "reads/step", "writes/step", "messages/step", "KB written/step"})
	var memory []string
	for _, n := range c.Members {
		if n == 0 {
			continue
		}
		created, err := measure(ctx, c, unstarted(n, c.Steps))
		if err != nil {
			return fmt.Errorf("a batch of %d members that is not advanced: %w", n, err)
		}
		r, err := measure(ctx, c, straight(n, c.Steps))
		if err != nil {
			return fmt.Errorf("%d members: %w", n, err)
		}
		steps := float64(n * c.Steps)
		perStep := func(count func(counted) int64) string {
			return fmt.Sprintf("%.2f", float64(count(r.stats)-count(created.stats))/steps)
		}
		t.AppendRow(table.Row{
			n, int(steps), fmt.Sprintf("%.2f", r.elapsed.Seconds()), int(steps / r.elapsed.Seconds()),
			fmt.Sprintf("%.2f", r.cpu().Seconds()*1000/steps), perStep(counted.reads), perStep(counted.writes),
			perStep(counted.sent), fmt.Sprintf("%.1f", float64(r.written())/1024/steps),
		})
		memory = append(memory, fmt.Sprintf("%d members: %s", n, r.processes()))
	}
	if len(memory) > 0 {
		t.Render()
		fmt.Fprintln(c.Out, "\nCPU seconds and peak resident memory of each process:\n"+strings.Join(memory, "\n"))
	}
	if c.ProtocolMembers > 0 {
		if err := protocols(ctx, c); err != nil {
			return err
		}
	}
	if c.CostMembers > 0 {
		if err := costs(ctx, c); err != nil {
			return err
		}
	}
	if c.TickMembers > 0 {
		if err := ticks(ctx, c); err != nil {
			return err
		}
	}
	if c.Load.Readers > 0 {
		if err := MeasureLoad(ctx, c, c.Load); err != nil {
			return err
		}
	}
	if c.WorkerJobs > 0 {
		if err := workers(ctx, c); err != nil {
			return err
		}
	}
	ready, err := handlerReady(ctx, c)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.Out, "\nThe handler answers %d ms after its start (best of %d).\n", ready.Milliseconds(), readyTries)
	return nil
}

// Stats are the counters of the parts, as "matoolkit local up --stats" writes them.
type Stats = system.Stats

type result struct {
	elapsed time.Duration
	usage   []usage
	stats   counted
	logged  int64 // bytes that the host, with the handler, and the worker wrote to their logs
}

type counted struct{ Stats }

func (c counted) reads() int64  { return c.Cosmos.PointReads }
func (c counted) writes() int64 { return c.Cosmos.SingleWrites + c.Cosmos.Batches }

func (c counted) sent() int64 {
	var n int64
	for name, e := range c.ServiceBus.Entities {
		if !strings.Contains(name, "/") {
			n += e.Sent
		}
	}
	return n
}

func (r result) cpu() (total time.Duration) {
	for _, u := range r.usage {
		total += u.cpu
	}
	return total
}

func (r result) written() (total int64) {
	for _, u := range r.usage {
		total += u.written
	}
	return total
}

func (r result) processes() string {
	var parts []string
	for _, u := range r.usage {
		parts = append(parts, fmt.Sprintf("%s %.1f s %.0f MB", u.name, u.cpu.Seconds(), float64(u.peak)/(1<<20)))
	}
	return strings.Join(parts, ", ")
}

func (r result) of(process string) usage {
	for _, u := range r.usage {
		if u.name == process {
			return u
		}
	}
	return usage{}
}

// bed is one system under measurement.
type bed struct {
	Config
	dir       string
	settings  []string // options of the host
	telling   bool     // the worker logs as much as it does by itself
	people    bool     // many people call: this process signs them in
	identity  *system.System
	endpoints system.Endpoints
	processes []*system.Process
}

func measure(ctx context.Context, c Config, l load) (r result, err error) {
	dir, err := os.MkdirTemp("", "matoolkit-bench-")
	if err != nil {
		return r, err
	}
	b := &bed{Config: c, dir: dir, telling: l.logs}
	defer func() { err = errors.Join(err, b.stop(), os.RemoveAll(dir)) }()
	if b.telling {
		b.settings = []string{"--verbose"}
	}
	if err := b.start(ctx); err != nil {
		return r, errors.Join(err, b.logs())
	}
	if r, err = b.run(ctx, l); err != nil {
		return r, errors.Join(err, b.logs())
	}
	if err := b.stop(); err != nil {
		return r, err
	}
	if r.logged, err = b.logged(); err != nil {
		return r, err
	}
	r.stats, err = b.counts()
	return r, err
}

// counts reads the counters of the parts that have just been stopped.
func (b *bed) counts() (c counted, err error) {
	for _, part := range []string{"servicebus", "cosmos"} {
		body, err := os.ReadFile(b.file(part + ".stats"))
		if err == nil {
			err = json.Unmarshal(body, &c.Stats)
		}
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

func (b *bed) file(name string) string { return filepath.Join(b.dir, name) }

// start starts each part as a process, in the order in which they need each other.
func (b *bed) start(ctx context.Context) error {
	life := ctx // of what is started in this process
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	addresses := system.FreeAddresses()
	for _, part := range system.AllParts() {
		if b.people && part == system.Identity {
			if err := b.startIdentity(life, addresses); err != nil {
				return err
			}
			addresses = b.endpoints.Addresses.Or(addresses)
			continue
		}
		endpoints := b.file(string(part) + ".json")
		if err := os.Remove(endpoints); err != nil && !errors.Is(err, os.ErrNotExist) { // of a start before
			return err
		}
		p, err := b.spawn(string(part), nil, b.Matoolkit, append([]string{
			"local", "up", "--parts", string(part), "--auto-approve",
			"--data-dir", b.file("data"), "--app", b.App, "--endpoints", endpoints, "--stats", b.file(string(part) + ".stats"),
			"--servicebus", addresses.ServiceBus, "--cosmos", addresses.Cosmos, "--entra", addresses.Entra,
			"--tenant", addresses.Tenant, "--key-vault", addresses.KeyVault, "--host", addresses.Host,
		}, b.settings...)...)
		if err != nil {
			return err
		}
		if b.endpoints, err = system.WaitEndpoints(ctx, endpoints, p); err != nil {
			return err
		}
		addresses = b.endpoints.Addresses.Or(addresses)
	}
	env := b.endpoints.Worker
	env["WORKER_NOOP"], env["MAX_PARALLELISM"] = "1", "64"
	if !b.telling {
		env["LOG_LEVEL"] = "warn"
	}
	_, err := b.spawn("worker", env, b.Worker)
	return err
}

func (b *bed) spawn(name string, env map[string]string, path string, args ...string) (*system.Process, error) {
	log, err := os.Create(b.file(name + ".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own
	p, err := system.Spawn(name, log, env, path, args...)
	if err == nil {
		b.processes = append(b.processes, p)
	}
	return p, err
}

func (b *bed) stop() error {
	var errs []error
	for i := len(b.processes) - 1; i >= 0; i-- {
		errs = append(errs, b.processes[i].Stop(20*time.Second))
	}
	b.processes = nil
	if b.identity != nil {
		errs = append(errs, b.identity.Close())
		b.identity = nil
	}
	return errors.Join(errs...)
}

func (b *bed) logs() error {
	var text []string
	for _, p := range b.processes {
		if body, err := os.ReadFile(b.file(p.Name + ".log")); err == nil && len(body) > 0 {
			text = append(text, p.Name+": "+string(body[max(0, len(body)-2000):]))
		}
	}
	return errors.New(strings.Join(text, "\n"))
}

// load is a batch to measure with.
type load struct {
	runbook string // YAML of a runbook named bench
	members int
	// drive does what an administrator does until the batch has ended.
	drive func(ctx context.Context, client *apiclient.Client, batch int) error
	// succeed is how many members must succeed in the first phase.
	succeed int
	logs    bool // they are measured: the worker's too
}

// straight is a batch whose members go through one phase of steps that succeed.
func straight(members, steps int) load {
	return load{runbook: flat(steps), members: members, succeed: members, drive: advanceOnce}
}

// unstarted is the batch of straight, which is created and not advanced: the costs of a step leave
// out what the start of the system and the upload cost.
func unstarted(members, steps int) load {
	return load{runbook: flat(steps), members: members, drive: func(context.Context, *apiclient.Client, int) error { return nil }}
}

func advanceOnce(ctx context.Context, client *apiclient.Client, batch int) error {
	if _, err := client.Advance(ctx, batch, "only", ""); err != nil {
		return err
	}
	return await(ctx, client, batch, func(b api.Batch) bool { return b.CompletedAt != nil })
}

// await waits until a batch is as it must be. It asks some twenty times in as long as it has waited,
// so that its requests are few beside what is measured.
func await(ctx context.Context, client *apiclient.Client, batch int, done func(api.Batch) bool) error {
	for began := time.Now(); ; {
		view, err := client.Batch(ctx, batch)
		if err != nil || done(view) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(max(50*time.Millisecond, time.Since(began)/20)):
		}
	}
}

func (b *bed) run(ctx context.Context, l load) (result, error) {
	client, err := b.api()
	if err != nil {
		return result{}, err
	}
	if _, err := client.PublishRunbook(ctx, []byte(l.runbook)); err != nil {
		return result{}, err
	}
	batch, err := client.CreateBatch(ctx, "bench", []byte(people(l.members)))
	if err != nil {
		return result{}, err
	}
	before, err := b.usage()
	if err != nil {
		return result{}, err
	}
	began := time.Now()
	if err := l.drive(ctx, client, batch.ID); err != nil {
		return result{}, err
	}
	r := result{elapsed: time.Since(began)}
	phases, err := client.Phases(ctx, batch.ID)
	if err != nil {
		return r, err
	}
	if got := phases.Items[0].Succeeded; got != l.succeed {
		return r, fmt.Errorf("%d members succeeded, want %d", got, l.succeed)
	}
	r.usage, err = b.usageSince(before)
	return r, err
}

// api is a way to the admin API, as the administrator.
func (b *bed) api() (*apiclient.Client, error) {
	return apiclient.New(apiclient.Config{BaseURL: b.endpoints.CLI["MATOOLKIT_API_URL"], Token: b.Token(b.endpoints)})
}

// usageSince returns the CPU time of each process since before, and its peak memory.
func (b *bed) usageSince(before []usage) ([]usage, error) {
	after, err := b.usage()
	if err != nil {
		return nil, err
	}
	for i := range after {
		after[i].cpu -= before[i].cpu
		after[i].written -= before[i].written
	}
	return after, nil
}

func flat(steps int) string {
	var y strings.Builder
	y.WriteString("name: bench\ndata_source: {type: csv, primary_key: Upn}\nphases:\n  - name: only\n    offset: T-0\n    steps:\n")
	for i := range steps {
		fmt.Fprintf(&y, "      - {name: step-%d, worker_id: worker-01, function: No-Op, params: {Value: \"{{Name}}\"}}\n", i+1)
	}
	return y.String()
}

func people(n int) string {
	var csv strings.Builder
	csv.WriteString("Upn,Name\n")
	for i := range n {
		fmt.Fprintf(&csv, "person%06d@contoso.com,Person %d\n", i, i)
	}
	return csv.String()
}
