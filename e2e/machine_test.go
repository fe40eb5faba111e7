package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	schedulertimer "github.com/matoolkit/matoolkit/functions/scheduler-timer"
	"github.com/matoolkit/matoolkit/infra"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/demo"
	"github.com/matoolkit/matoolkit/local/functionshost"
	"github.com/matoolkit/matoolkit/local/system"
)

// patience is how long a test waits for what must come.
const patience = 90 * time.Second

// everything is the name of a process that is all parts at once.
const everything = "everything"

// workerProcess is the name of the worker's process.
const workerProcess = "worker"

// machine runs the system's parts as processes at addresses that stay the same
// when a part is started again.
type machine struct {
	t         *testing.T
	began     time.Time
	dir       string
	addresses system.Addresses
	app       string // the staged Functions app
	environment

	mu        sync.Mutex
	processes map[string]*system.Process
	endpoints system.Endpoints
}

// environment holds the programs' environment variables that differ from the default.
type environment struct {
	handler map[string]string
	worker  map[string]string
	tenants []string // several, each with a worker
	github  []byte   // the seed of GitHub; nil: there is none

	// programs are the workers in place of worker-01, by their ids, which are the names of their processes, too.
	programs map[string]workerProgram
	locks    bool // the minute that messages are locked for in Azure, not the seconds of the other tests
	noTimer  bool // the scheduler runs only when the test has it tick
}

// workerProgram is a program of a worker with what its environment has beside that of each worker.
type workerProgram struct {
	path string
	env  map[string]string
}

// newMachine starts the parts, each as a process or together as "everything", and
// a worker, and puts the example's objects into the tenant. That tenant has no
// replication lag, so that missing objects fail at once.
func newMachine(t *testing.T, parts ...string) *machine {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(example, "tenant.json"))
	if err != nil {
		t.Fatal(err)
	}
	return newMachineWith(t, body, environment{worker: map[string]string{"LAG_TIMEOUT_SECONDS": "0"}}, parts...)
}

// newMachineWith is newMachine with other objects in the tenant and another
// environment.
func newMachineWith(t *testing.T, seed []byte, env environment, parts ...string) *machine {
	t.Helper()
	m := &machine{t: t, began: time.Now(), dir: folder(t), addresses: addresses(t), environment: env, processes: map[string]*system.Process{}}
	t.Cleanup(m.stop)
	if env.locks { // a refusal of a job is final only where its lock outlasts what other replicas may not know
		m.write("topology.json", infra.Topology)
	} else {
		m.write("topology.json", topology(t, env.tenants...))
	}
	m.write("github.json", env.github)
	m.app = dist
	if env.noTimer {
		m.app = withoutTimer(t)
	}
	for _, p := range parts {
		m.start(p)
	}
	for _, id := range sorted(slices.Collect(maps.Keys(env.programs))) {
		m.start(id)
	}
	if len(env.programs) > 0 {
		return m
	}
	for _, name := range env.tenants {
		m.start(workerProcess + "-" + name)
	}
	if len(env.tenants) > 0 {
		return m
	}
	m.start(workerProcess)
	if err := demo.Seed(t.Context(), m.endpoints.TenantURL, seed); err != nil {
		t.Fatal(err)
	}
	return m
}

// folder is where a scenario keeps its state and logs: until it ends, unless they
// are wanted.
func folder(t *testing.T) string {
	t.Helper()
	if *keep == "" {
		return t.TempDir()
	}
	dir, err := filepath.Abs(filepath.Join(*keep, strings.ReplaceAll(t.Name(), "/", "-")))
	if err == nil {
		err = os.RemoveAll(dir)
	}
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// topology is the system's own with locks that end soon, so that what a killed
// process held comes back within the test. The workers of named tenants have subscriptions like that of worker-01.
func topology(t *testing.T, tenants ...string) []byte {
	t.Helper()
	body := infra.Topology
	short := body
	for _, long := range []string{"PT1M", "PT30S"} { // of job controls, and of jobs
		next := bytes.ReplaceAll(short, []byte(`"LockDuration": "`+long+`"`), []byte(`"LockDuration": "PT3S"`))
		if bytes.Equal(next, short) {
			t.Fatalf("the topology has no locks of %s", long)
		}
		short = next
	}
	return eachSubscription(short, func(sub string) []string {
		all := []string{sub}
		for _, name := range tenants {
			if strings.Contains(sub, "worker-worker-01") {
				all = append(all, strings.ReplaceAll(sub, "worker-01", workerOf(name)))
			}
		}
		return all
	})
}

// eachSubscription replaces each subscription of a topology, as JSON, by others.
func eachSubscription(topology []byte, with func(string) []string) []byte {
	var config struct {
		UserConfig struct {
			Namespaces []struct {
				Name   string
				Queues []json.RawMessage
				Topics []struct {
					Name          string
					Properties    json.RawMessage
					Subscriptions []json.RawMessage
				}
			}
			Logging json.RawMessage `json:",omitempty"`
		}
	}
	if err := json.Unmarshal(topology, &config); err != nil {
		panic(err)
	}
	for _, namespace := range config.UserConfig.Namespaces {
		for i, topic := range namespace.Topics {
			var all []json.RawMessage
			for _, sub := range topic.Subscriptions {
				for _, text := range with(string(sub)) {
					all = append(all, json.RawMessage(text))
				}
			}
			namespace.Topics[i].Subscriptions = all
		}
	}
	return encode(config)
}

// withoutTimer is the staged app with a schedule of the scheduler that does not occur within a test: on 29 February.
func withoutTimer(t *testing.T) string {
	t.Helper()
	const schedule, never = `"schedule": "0 */5 * * * *"`, `"schedule": "0 0 0 29 2 *"`
	dir := filepath.Join(t.TempDir(), "app")
	if err := os.CopyFS(dir, os.DirFS(dist)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, schedulertimer.Name, "function.json")
	body, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(body, []byte(schedule)) {
		t.Fatalf("the scheduler's timer has no %s: %s", schedule, body)
	}
	if err := os.WriteFile(file, bytes.Replace(body, []byte(schedule), []byte(never), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func (m *machine) path(name string) string { return filepath.Join(m.dir, name) }

func (m *machine) write(name string, body []byte) {
	m.t.Helper()
	if err := os.WriteFile(m.path(name), body, 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// start starts a process, again or for the first time, and returns when it is
// ready.
func (m *machine) start(name string) {
	m.t.Helper()
	if err := m.launch(name); err != nil {
		m.t.Errorf("%v\n%s", err, m.log(name))
		m.t.FailNow()
	}
}

func (m *machine) launch(name string) error {
	path, env := program("matoolkit"), map[string]string(nil)
	ready := m.path(name + ".endpoints.json")
	args := []string{
		"local", "up", "--verbose", "--auto-approve", "--data-dir", m.path("data"), "--app", m.app,
		"--topology", m.path("topology.json"), "--endpoints", ready,
		"--servicebus", m.addresses.ServiceBus, "--cosmos", m.addresses.Cosmos, "--host", m.addresses.Host,
		"--entra", m.addresses.Entra, "--tenant", m.addresses.Tenant, "--key-vault", m.addresses.KeyVault, "--blob", m.addresses.Blob,
	}
	if len(m.tenants) > 0 {
		args = append(args, "--tenants", strings.Join(m.tenants, ","))
	}
	if m.github != nil {
		args = append(args, "--github", m.addresses.GitHub, "--github-seed", m.path("github.json"))
	}
	for id := range m.programs {
		args = append(args, "--worker-id", id)
	}
	for name, value := range m.handler {
		args = append(args, "--setting", name+"="+value)
	}
	own, isOwn := m.programs[name]
	worker := isOwn || name == workerProcess || strings.HasPrefix(name, workerProcess+"-")
	switch {
	case isOwn:
		path, args, env = own.path, nil, m.workerEnv("")
		env["WORKER_ID"] = name
		maps.Copy(env, own.env)
	case worker:
		path, args, env = program("worker"), nil, m.workerEnv(strings.TrimPrefix(strings.TrimPrefix(name, workerProcess), "-"))
	case name == everything:
	default:
		args = append(args, "--parts", name)
	}
	_ = os.Remove(ready) // of the process before this one
	out, err := os.OpenFile(m.path(name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer out.Close() // the process has its own
	p, err := system.Spawn(name, out, env, path, args...)
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.processes[name] = p
	m.mu.Unlock()
	if worker {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	e, err := system.WaitEndpoints(ctx, ready, p)
	if err == nil {
		m.mu.Lock()
		m.endpoints = e
		m.mu.Unlock()
	}
	return err
}

// workerEnv is the environment of the worker, or of that of a named tenant.
func (m *machine) workerEnv(tenant string) map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	env := maps.Clone(m.endpoints.Worker)
	if tenant != "" {
		env = maps.Clone(m.endpoints.Workers[tenant])
	}
	maps.Copy(env, m.worker)
	return env
}

// kill ends a process as kill -9 does and starts it again after a while. The
// handler is started again by its host, at once.
func (m *machine) kill(name string, down time.Duration) error {
	if name == "handler" {
		return m.killHandler()
	}
	m.mu.Lock()
	p := m.processes[name]
	m.mu.Unlock()
	p.Kill()
	time.Sleep(down) // the outage itself
	return m.launch(name)
}

// killHandler kills the process that the Functions host runs; the host starts
// another.
func (m *machine) killHandler() error {
	pid, err := m.handlerPID()
	if err != nil {
		return err
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

// handlerPID waits until there is a handler.
func (m *machine) handlerPID() (int, error) { return handlerPID(m.addresses.Host) }

func handlerPID(host string) (int, error) {
	var last error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		pid, err := currentHandler(host)
		if pid != 0 {
			return pid, nil
		}
		last = err
	}
	return 0, fmt.Errorf("the host has no handler: %w", last)
}

// currentHandler asks the host for its handler's process; 0 when there is none.
func currentHandler(host string) (int, error) {
	response, err := http.Get("http://" + host + "/admin/host/status?code=" + functionshost.DefaultMasterKey)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	var status struct{ HandlerPID int }
	err = json.NewDecoder(response.Body).Decode(&status)
	return status.HandlerPID, err
}

func (m *machine) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.processes {
		p.Kill()
	}
	if !m.t.Failed() {
		return
	}
	for name := range m.processes {
		m.t.Logf("the end of what %s said:\n%s", name, m.log(name))
	}
}

// log is the end of a process's log.
func (m *machine) log(name string) string {
	body, err := os.ReadFile(m.path(name + ".log"))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(body)), "\n")
	return strings.Join(lines[max(0, len(lines)-30):], "\n")
}

// addresses are those of the parts of one machine, which a part that starts again finds free.
func addresses(t *testing.T) system.Addresses {
	t.Helper()
	free := func() string { return testenv.Address(t) }
	return system.Addresses{ServiceBus: free(), Cosmos: free(), Entra: free(), Tenant: free(), KeyVault: free(), Blob: free(), GitHub: free(), Host: free()}
}
