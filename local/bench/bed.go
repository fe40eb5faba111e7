package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/local/system"
)

// bed is one system under measurement.
type bed struct {
	Config
	dir       string
	settings  []string                          // options of the parts
	alone     bool                              // one job and one message at a time, so that nothing coincides
	telling   bool                              // the worker logs as much as it does by itself
	people    bool                              // many people call: this process signs them in
	together  bool                              // one process has the parts, as that of "local up"
	replicas  func(env map[string]string) error // starts other workers than that of the tenant
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

// group is parts that are one process.
type group struct {
	name  string // of the process
	parts []string
}

// groups returns the processes of the parts, in the order in which they need each other. Each part is one, so that its CPU time
// is known; together they are one, beside that of the identities if many people call.
func (b *bed) groups() (all []group) {
	for _, part := range system.AllParts() {
		name := string(part)
		if b.together && (part != system.Identity || !b.people) {
			name = "local Azure"
		}
		if n := len(all); n > 0 && all[n-1].name == name {
			all[n-1].parts = append(all[n-1].parts, string(part))
			continue
		}
		all = append(all, group{name: name, parts: []string{string(part)}})
	}
	return all
}

// start starts the parts, in the order in which they need each other, and then the workers.
func (b *bed) start(ctx context.Context) error {
	life := ctx // of what is started in this process
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	workers, parallelism, calls := cmp.Or(b.Workers, 1), cmp.Or(b.Parallelism, 64), b.Calls
	if b.alone {
		workers, parallelism, calls = 1, 1, 1
	}
	addresses := system.FreeAddresses()
	for _, g := range b.groups() {
		if b.people && g.name == string(system.Identity) {
			if err := b.startIdentity(life, addresses); err != nil {
				return err
			}
			addresses = b.endpoints.Addresses.Or(addresses)
			continue
		}
		endpoints := b.file(g.name + ".json")
		if err := os.Remove(endpoints); err != nil && !errors.Is(err, os.ErrNotExist) { // of a start before
			return err
		}
		args := append([]string{
			"local", "up", "--parts", strings.Join(g.parts, ","), "--auto-approve",
			"--data-dir", b.file("data"), "--app", b.App, "--endpoints", endpoints, "--stats", b.file(g.name + ".stats"),
			"--servicebus", addresses.ServiceBus, "--cosmos", addresses.Cosmos, "--entra", addresses.Entra,
			"--tenant", addresses.Tenant, "--key-vault", addresses.KeyVault, "--blob", addresses.Blob, "--host", addresses.Host, "--github", addresses.GitHub,
			"--store-latency", b.StoreLatency.String(), "--host-cpu", b.HostCPU.String(),
		}, b.settings...)
		if calls > 0 {
			args = append(args, "--setting", fmt.Sprintf("AzureFunctionsJobHost__extensions__serviceBus__maxConcurrentCalls=%d", calls))
		}
		p, err := b.spawn(g.name, nil, b.Matoolkit, args...)
		if err != nil {
			return err
		}
		if b.endpoints, err = system.WaitEndpoints(ctx, endpoints, p); err != nil {
			return err
		}
		addresses = b.endpoints.Addresses.Or(addresses)
	}
	env := b.endpoints.Worker
	if b.replicas != nil {
		env["LOG_LEVEL"] = "warn"
		return b.replicas(env)
	}
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
	view, err := client.Batch(ctx, batch)
	if err != nil {
		return r, err
	}
	if view.CompletedAt != nil { // the batch knows it better than one who asks now and then
		r.elapsed = view.CompletedAt.Sub(began)
	}
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
