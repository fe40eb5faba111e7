package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	adminhttp "github.com/matoolkit/matoolkit/functions/admin-http"
	"github.com/matoolkit/matoolkit/infra"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/bus"
	azbus "github.com/matoolkit/matoolkit/internal/bus/servicebus"
	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/datasource/csvfile"
	"github.com/matoolkit/matoolkit/internal/datasource/database"
	"github.com/matoolkit/matoolkit/internal/datasource/databricks"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/scaling"
	"github.com/matoolkit/matoolkit/internal/signin"
	cosmosstore "github.com/matoolkit/matoolkit/internal/store/cosmos"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/cosmos"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/servicebus"
)

var update = flag.Bool("update", false, "write the golden files")

// system is the admin API over the real use cases, store, bus and identity provider,
// with this test in the place of the Functions host and of the worker.
type system struct {
	t     *testing.T
	ctx   context.Context
	api   *httptest.Server
	entra *entra.Server
	app   *app.App
	bus   *azbus.Client
	queue *servicebus.Server
	ca    string
	mild  atomic.Bool  // the worker lets everything pass
	ahead atomic.Int64 // by so many nanoseconds the handler's clock is

	people   string   // the file that the environment variable PEOPLE names
	settings sync.Map // the other environment variables of the handler
}

func newSystem(t *testing.T, approve string) *system {
	t.Helper()
	directory := entra.DefaultConfig()
	directory.AutoApprove = approve
	return newSystemIn(t, directory)
}

// newSystemIn is a system whose people and applications are those of the directory.
func newSystemIn(t *testing.T, directory entra.Config) *system {
	t.Helper()
	return newSystemWith(t, directory, nil)
}

// newSystemWith is a system with a container scaler, which is off if containers is nil.
func newSystemWith(t *testing.T, directory entra.Config, containers scaling.Azure) *system {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	s := &system{t: t, ctx: ctx}
	directory.Addr = "127.0.0.1:0"
	s.entra = must(entra.Start(ctx, directory))
	t.Cleanup(func() { _ = s.entra.Close() })
	s.ca = filepath.Join(t.TempDir(), "ca.pem")
	check(t, os.WriteFile(s.ca, s.entra.CAPEM(), 0o600))

	db := must(cosmos.Start(ctx, cosmos.Config{}))
	t.Cleanup(func() { _ = db.Close() })
	broker := must(servicebus.Start(ctx, servicebus.Config{Now: s.now, Locks: time.Now, Addr: "127.0.0.1:0", Topology: topologyOfTwoWorkers(t), Key: "SAS_KEY_VALUE"}))
	t.Cleanup(func() { _ = broker.Close() })
	s.queue = broker
	items := must(cosmosstore.Open(cosmosstore.Config{Endpoint: db.URL(), Database: "d", Container: "c", Key: cosmos.DefaultKey}))
	check(t, items.Provision(ctx))
	s.bus = must(azbus.Dial(azbus.Config{ConnectionString: broker.ConnectionString()}))
	t.Cleanup(func() { _ = s.bus.Close(context.Background()) })
	s.people = filepath.Join(t.TempDir(), "people.csv")
	sources := &datasource.Reader{
		Sources:    map[string]datasource.Open{runbook.SourceCSV: csvfile.Open, runbook.SourceDataverse: database.OpenDataverse, runbook.SourceDatabricks: databricks.Open},
		Settings:   []string{"PEOPLE", "DATAVERSE", "WORKSPACE", "WAREHOUSE"},
		Credential: anyToken{},
		Getenv: func(name string) string {
			value, _ := s.settings.Load(name)
			text, _ := value.(string)
			return text
		},
	}
	s.settings.Store("PEOPLE", s.people)
	s.app = app.New(app.Config{Now: s.now, Store: items, Bus: s.bus, Log: slog.New(slog.DiscardHandler), Sources: sources, Containers: containers})

	verifier := must(signin.New(ctx, signin.Config{
		Instance: s.entra.URL(), TenantIDs: []string{entra.DefaultTenantID}, ClientID: entra.DefaultAdminAPIClientID, HTTPClient: s.entra.HTTPClient(),
	}))
	s.api = httptest.NewServer(adminhttp.New(adminhttp.Config{UseCases: adminhttp.UseCasesOf(s.app), Verifier: verifier, Log: slog.New(slog.DiscardHandler)}))
	t.Cleanup(s.api.Close)
	s.run()
	t.Cleanup(cancel)
	return s
}

// now is the clock of the handler and of the broker's schedules.
func (s *system) now() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }

// run gives messages to the app and jobs to the worker for as long as the system lives.
func (s *system) run() {
	var all sync.WaitGroup
	s.t.Cleanup(all.Wait)
	all.Go(func() {
		check(s.t, testenv.Run(s.ctx, s.bus, s.app, &testenv.Worker{ID: "worker-01", Bus: s.bus, Answer: s.answer}))
	})
	all.Go(func() {
		second := &testenv.Worker{ID: "worker-02", Bus: s.bus, Answer: s.answer}
		check(s.t, testenv.Serve(s.ctx, s.bus, message.TopicWorkerJobs, message.WorkerSubscription(second.ID), func(ctx context.Context, m *bus.Received) error {
			return second.Work(ctx, m.Body)
		}, nil))
	})
}

// topologyOfTwoWorkers is the default topology with another subscription of jobs, for worker-02.
func topologyOfTwoWorkers(t *testing.T) servicebus.Topology {
	t.Helper()
	var document any
	check(t, json.Unmarshal(infra.Topology, &document))
	var add func(v any)
	add = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				add(item)
			}
		case map[string]any:
			if list, ok := v["Subscriptions"].([]any); ok && v["Name"] == message.TopicWorkerJobs {
				second := strings.ReplaceAll(string(must(json.Marshal(list[0]))), "worker-01", "worker-02")
				v["Subscriptions"] = append(list, json.RawMessage(second))
				return
			}
			for _, item := range v {
				add(item)
			}
		}
	}
	add(document)
	return must(servicebus.ParseTopology(must(json.Marshal(document))))
}

// answer fails a job if a parameter has the word bad in it, unless the worker is mild.
func (s *system) answer(j message.Job) (string, error) {
	if bytes.Contains(j.Parameters, []byte("bad")) && !s.mild.Load() {
		return "", &testenv.Failure{JobError: message.JobError{Message: "no such mailbox", Type: "NotFound"}}
	}
	if j.FunctionName == "List-Repos" {
		return `{"repositories":[{"Repository":"docs"},{"Repository":"site"}]}`, nil
	}
	if strings.HasPrefix(j.FunctionName, "Start-") {
		return `{"complete":true,"data":{"guid":"0f1e"}}`, nil
	}
	return `{"guid":"0f1e"}`, nil
}

// person is a user with a machine of their own, whose settings name the system.
type person struct {
	t   *testing.T
	ctx context.Context
	dir string
	env map[string]string
	in  string
}

func (s *system) person() *person {
	p := newPerson(s.t)
	p.ctx = s.ctx
	for key, value := range map[string]string{
		"MATOOLKIT_API_URL": s.api.URL, "MATOOLKIT_TENANT_ID": entra.DefaultTenantID, "MATOOLKIT_CLIENT_ID": entra.DefaultCLIClientID,
		"MATOOLKIT_API_SCOPE": entra.DefaultAdminAPIScope, "MATOOLKIT_AUTHORITY": s.entra.URL(), "MATOOLKIT_CA_FILE": s.ca,
	} {
		p.env[key] = value
	}
	return p
}

// signedIn is a person who has signed in.
func (s *system) signedIn() *person {
	s.t.Helper()
	p := s.person()
	if _, err, status := p.run("auth", "login"); status != 0 {
		s.t.Fatal(err)
	}
	return p
}

func newPerson(t *testing.T) *person {
	dir := t.TempDir()
	return &person{t: t, ctx: t.Context(), dir: dir, env: map[string]string{"MATOOLKIT_HOME": filepath.Join(dir, "home"), "MATOOLKIT_TOKEN_STORE": "file"}}
}

// file writes a file of the person's and gives its path.
func (p *person) file(name, text string) string {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	check(p.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// run gives a command and returns what it prints and its exit status.
func (p *person) run(args ...string) (stdout, stderr string, status int) {
	var out, err bytes.Buffer
	root := cli.NewRoot(command.Environment{
		Stdin: strings.NewReader(p.in), Stdout: &out, Stderr: &err, Getenv: func(name string) string { return p.env[name] },
		Wait: func(ctx context.Context, d time.Duration) error { return pause(ctx, min(d, 20*time.Millisecond)) },
	})
	root.SetArgs(args)
	status = cli.Execute(p.ctx, root)
	return p.plain(out.String()), p.plain(err.String()), status
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

var (
	times     = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ`)
	wireTimes = regexp.MustCompile(`"\d{4}-\d\d-\d\dT[0-9:.]+Z"`)
	clock     = regexp.MustCompile(`\b\d\d:\d\d:\d\dZ`)
	addresses = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	traces    = regexp.MustCompile(`\b[0-9a-f]{32}\b`)
	codes     = regexp.MustCompile(`code [A-Z0-9]{8,9}\b`)
)

// plain puts one time, address and directory in the place of all, so that goldens
// hold.
func (p *person) plain(s string) string {
	s = strings.ReplaceAll(s, p.dir+string(filepath.Separator), "")
	s = times.ReplaceAllString(s, "2026-01-02 03:04:05Z")
	s = wireTimes.ReplaceAllString(s, `"2026-01-02T03:04:05Z"`)
	s = clock.ReplaceAllString(s, "03:04:05Z")
	s = addresses.ReplaceAllString(s, "127.0.0.1:1")
	s = codes.ReplaceAllString(s, "code ABCDEFGHJ")
	return traces.ReplaceAllString(s, "0123456789abcdef0123456789abcdef")
}

// golden compares text with a file under testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	check(t, err)
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
