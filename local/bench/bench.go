// Package bench measures the whole local system: every part a process of its own,
// as in Azure, with state on disk, and a worker whose function does nothing. It
// measures the engine, the store and the bus alone.
package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/local/system"
)

// Config says what to measure and with which programs.
type Config struct {
	Matoolkit, Worker, App string        // the executables and the staged app
	River                  string        // bench/peers/river, built; where it is missing, no pair is measured
	PairMembers            int           // of the batches that are measured in turn with River; 0: none is
	PairRounds             int           // turns
	Members                []int         // one run for each size of batch; 0 is none
	Steps                  int           // of each member
	Batches, BatchMembers  int           // that go through one step at the same time; 0: none do
	ProtocolMembers        int           // of the batch that each protocol is measured with; 0: none is
	CostMembers            int           // of the batches that what Azure bills is counted with; 0: it is not
	TickMembers            int           // in the data source of the ticks that are measured; 0: none is
	Load                   Load          // on the admin API
	WorkerJobs             int           // that a worker alone is measured with; 0: it is not
	StoreLatency           time.Duration // of each request to Cosmos DB, beside its own
	HostCPU                time.Duration // CPU time of each invocation in the Functions host, beside its own
	Workers, Parallelism   int           // replicas of the worker, and the jobs of each at once; 0: one, 64
	Linger                 int           // RESULT_LINGER_MILLISECONDS of the worker
	Calls                  int           // maxConcurrentCalls of the Functions host; 0: as in host.json
	Token                  func(system.Endpoints) func(context.Context) (string, error)
	Out                    io.Writer // each part of the report when it is measured
	Log                    io.Writer // the progress of long runs; nil: none

	report *Report
}

// Run measures what the configuration names and compares it with the targets.
func Run(ctx context.Context, c Config) (*Report, error) {
	c.report = &Report{Notes: []string{}, Tables: []Table{}}
	c.note("Settings: %s.", c.settings())
	f, err := c.run(ctx)
	if err != nil {
		return nil, err
	}
	c.report.Targets = f.targets()
	targetTable(c.report.Targets).print(c.Out)
	return c.report, nil
}

// settings are those that the throughput depends on.
func (c Config) settings() string {
	calls := "maxConcurrentCalls as in host.json"
	if c.Calls > 0 {
		calls = fmt.Sprintf("maxConcurrentCalls %d", c.Calls)
	}
	return fmt.Sprintf("replicas of the worker %d, jobs of each at once %d, linger of its results %d ms, %s, added store latency %s, added CPU time of an invocation %s",
		cmp.Or(c.Workers, 1), cmp.Or(c.Parallelism, 64), c.Linger, calls, c.StoreLatency, c.HostCPU)
}

func (c Config) run(ctx context.Context) (f figures, err error) {
	if f.sizes, err = c.ofEachSize(ctx); err != nil {
		return f, err
	}
	f.unpaired = "--pair-members is 0"
	if c.PairMembers > 0 {
		if f.pair, err = c.paired(ctx); err != nil {
			if ctx.Err() != nil {
				return f, err
			}
			f.unpaired = err.Error()
		}
	}
	if c.ProtocolMembers > 0 {
		if err := protocols(ctx, c); err != nil {
			return f, err
		}
	}
	if c.CostMembers > 0 {
		if err := c.costs(ctx, &f); err != nil {
			return f, err
		}
	}
	if c.TickMembers > 0 {
		if err := ticks(ctx, c); err != nil {
			return f, err
		}
	}
	if c.Load.Readers > 0 {
		if err := MeasureLoad(ctx, c, c.Load); err != nil {
			return f, err
		}
	}
	if c.WorkerJobs > 0 {
		if err := workers(ctx, c); err != nil {
			return f, err
		}
	}
	if c.Batches > 0 && c.BatchMembers > 0 {
		largest, err := c.sideBySide(ctx)
		if err != nil {
			return f, fmt.Errorf("%d batches of %d members: %w", c.Batches, c.BatchMembers, err)
		}
		f.largest, f.sideMembers = &largest, c.Batches*c.BatchMembers
		f.sideBySide = fmt.Sprintf("%s members in %d batches", grouped(f.sideMembers), c.Batches)
	}
	ready, err := handlerReady(ctx, c)
	if err != nil {
		return f, err
	}
	c.note("\nThe handler answers %d ms after its start (best of %d).", ready.Milliseconds(), readyTries)
	return f, nil
}

// size is what a step of a batch of one size costs under load.
type size struct {
	members, steps             int
	seconds                    float64
	rate                               // of the steps
	reads, writes, messages    float64 // per step
	ru, operations, executions float64 // per step, as Azure bills them
	handlerMB                  float64
}

// ofEachSize measures each size with systems of its own: one batch is only created, so that the costs of
// a step leave out what the start of the system and the upload cost, and one goes through its phase.
func (c Config) ofEachSize(ctx context.Context) (all []size, err error) {
	t := Table{Name: "Batches under load", Columns: []string{
		"members", "steps", "seconds", "steps/s", "CPU ms/step", "reads/step", "writes/step", "messages/step",
		"RU/step", "bus operations/step", "executions/step", "KB written/step", "handler MB", "load average",
	}}
	var processes []string
	for _, n := range c.Members {
		if n == 0 {
			continue
		}
		created, err := measure(ctx, c, unstarted(n, c.Steps))
		if err != nil {
			return nil, fmt.Errorf("a batch of %d members that is not advanced: %w", n, err)
		}
		c.progress("created a batch of %s members", grouped(n))
		r, err := measure(ctx, c, straight(n, c.Steps))
		if err != nil {
			return nil, fmt.Errorf("%d members: %w", n, err)
		}
		s := sized(n, c.Steps, created, r)
		c.progress("measured %s members: %.0f steps/s, %.2f ms per step; %s", grouped(n), s.perSecond, s.cpu, r.processes())
		t.Rows = append(t.Rows, []any{
			n, s.steps, two(s.seconds), whole(s.perSecond), two(s.cpu), two(s.reads), two(s.writes), two(s.messages),
			one(s.ru), two(s.operations), two(s.executions), one(s.written), whole(s.handlerMB), loadAverage(),
		})
		all = append(all, s)
		processes = append(processes, fmt.Sprintf("%d members: %s", n, r.processes()))
	}
	if len(all) > 0 {
		c.add(t)
		c.note("CPU seconds and peak resident memory of each process:\n%s", strings.Join(processes, "\n"))
	}
	return all, nil
}

// sized computes the costs of a step.
func sized(members, steps int, created, r result) size {
	n := float64(members * steps)
	perStep := func(count func(counted) int64) float64 { return float64(count(r.stats)-count(created.stats)) / n }
	billed := created.amounts().per(r.amounts(), n)
	return size{
		members: members, steps: members * steps, seconds: r.elapsed.Seconds(), rate: r.rate(members * steps),
		reads: perStep(counted.reads), writes: perStep(counted.writes), messages: perStep(counted.sent),
		ru: billed.ru(), operations: billed.operations, executions: billed.executions,
		handlerMB: float64(r.of("handler").peak) / (1 << 20),
	}
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

func (r result) rate(steps int) rate {
	n := float64(steps)
	return rate{perSecond: n / r.elapsed.Seconds(), cpu: r.cpu().Seconds() * 1000 / n, written: float64(r.written()) / 1024 / n}
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

// of is the usage of a process, of all its replicas together; the peak is that of the largest.
func (r result) of(process string) (sum usage) {
	for _, u := range r.usage {
		if u.name == process || strings.HasPrefix(u.name, process+"-") {
			sum.cpu += u.cpu
			sum.written += u.written
			sum.peak = max(sum.peak, u.peak)
		}
	}
	return sum
}

// bed is one system under measurement.
type bed struct {
	Config
	dir       string
	settings  []string // options of the host
	alone     bool     // one job and one message at a time, so that nothing coincides
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
	b := &bed{Config: c, dir: dir, telling: l.logs, alone: l.alone}
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
	workers, parallelism, calls := cmp.Or(b.Workers, 1), cmp.Or(b.Parallelism, 64), b.Calls
	if b.alone {
		workers, parallelism, calls = 1, 1, 1
	}
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
		args := append([]string{
			"local", "up", "--parts", string(part), "--auto-approve",
			"--data-dir", b.file("data"), "--app", b.App, "--endpoints", endpoints, "--stats", b.file(string(part) + ".stats"),
			"--servicebus", addresses.ServiceBus, "--cosmos", addresses.Cosmos, "--entra", addresses.Entra,
			"--tenant", addresses.Tenant, "--key-vault", addresses.KeyVault, "--host", addresses.Host,
			"--store-latency", b.StoreLatency.String(), "--host-cpu", b.HostCPU.String(),
		}, b.settings...)
		if calls > 0 {
			args = append(args, "--setting", fmt.Sprintf("AzureFunctionsJobHost__extensions__serviceBus__maxConcurrentCalls=%d", calls))
		}
		p, err := b.spawn(string(part), nil, b.Matoolkit, args...)
		if err != nil {
			return err
		}
		if b.endpoints, err = system.WaitEndpoints(ctx, endpoints, p); err != nil {
			return err
		}
		addresses = b.endpoints.Addresses.Or(addresses)
	}
	env := b.endpoints.Worker
	env["WORKER_NOOP"], env["MAX_PARALLELISM"] = "1", fmt.Sprint(parallelism)
	env["RESULT_LINGER_MILLISECONDS"] = fmt.Sprint(b.Linger)
	if !b.telling {
		env["LOG_LEVEL"] = "warn"
	}
	for i := range workers {
		name := "worker"
		if i > 0 {
			name += fmt.Sprintf("-%d", i+1)
		}
		if _, err := b.spawn(name, env, b.Worker); err != nil {
			return err
		}
	}
	return nil
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
	alone   bool // nothing coincides
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
	return awaitWith(ctx, client, batch, done, func(waited time.Duration) time.Duration { return max(50*time.Millisecond, waited/20) })
}

// awaitSeldom is await where each request is counted among the costs, and time is not.
func awaitSeldom(ctx context.Context, client *apiclient.Client, batch int, done func(api.Batch) bool) error {
	return awaitWith(ctx, client, batch, done, func(time.Duration) time.Duration { return 3 * time.Second })
}

func awaitWith(ctx context.Context, client *apiclient.Client, batch int, done func(api.Batch) bool, pause func(waited time.Duration) time.Duration) error {
	for began := time.Now(); ; {
		view, err := client.Batch(ctx, batch)
		if err != nil || done(view) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause(time.Since(began))):
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
	batch, err := upload(ctx, client, 0, l.members)
	if err != nil {
		return result{}, err
	}
	before, err := b.usage()
	if err != nil {
		return result{}, err
	}
	began := time.Now()
	if err := l.drive(ctx, client, batch); err != nil {
		return result{}, err
	}
	r := result{elapsed: time.Since(began)}
	phases, err := client.Phases(ctx, batch)
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

// people is the file of n members, the first of whom has the number from.
func people(from, n int) string {
	var csv strings.Builder
	csv.WriteString("Upn,Name\n")
	for i := from; i < from+n; i++ {
		fmt.Fprintf(&csv, "person%06d@contoso.com,Person %d\n", i, i)
	}
	return csv.String()
}
