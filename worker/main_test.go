package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/otlp"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/servicebus"
	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange"
	"github.com/matoolkit/matoolkit/worker/graph"
	"github.com/matoolkit/matoolkit/worker/notify"
	"github.com/matoolkit/matoolkit/worker/program"
	"github.com/matoolkit/matoolkit/worker/standard"
)

// The worker as it runs on a laptop: signed in at the local identity provider,
// whose tokens the tenant verifies, with jobs over the local Service Bus.
func TestWorkerRunsAPersonsStepsInAnotherTenant(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	identity := entra.DefaultConfig()
	identity.Addr, identity.DataDir = "127.0.0.1:0", t.TempDir()
	directory := testenv.Started(entra.Start(ctx, identity))(t)
	target := testenv.Started(tenant.Start(ctx, tenant.Config{
		TenantID: entra.DefaultTenantID, VerifyToken: directory.VerifyToken,
		Seed: &tenant.Seed{Groups: []tenant.SeedGroup{{Properties: map[string]any{
			"id": groupID, "displayName": "Pilots", "mailNickname": "pilots", "mailEnabled": false, "securityEnabled": true,
		}}}},
	}))(t)
	broker := testenv.Started(servicebus.Start(ctx, servicebus.Config{Addr: "127.0.0.1:0", Topology: servicebus.DefaultTopology(), Key: "c2VjcmV0"}))(t)

	// A collector that never answers neither slows a job nor keeps the worker for long.
	deaf := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer deaf.Close()

	log := &testenv.Buffer{}
	workerCtx, stop := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	go func() {
		stopped <- run(workerCtx, func(name string) string {
			return map[string]string{
				program.EnvWorkerID: "worker-01", program.EnvBusString: broker.ConnectionString(),
				envTenantID: entra.DefaultTenantID, envAppID: entra.DefaultWorkerClientID, envAppSecret: entra.DefaultWorkerSecret,
				envAuthorityHost: directory.URL(), "EXTRA_CA_FILE": directory.CAFile(),
				envGraphURL: target.URL(), envExchangeURL: target.URL(), program.EnvIdle: "0", program.EnvLogLevel: "debug", program.EnvHealth: "127.0.0.1:0", otlp.EnvEndpoint: "http://" + deaf.Addr().String(),
			}[name]
		}, log)
	}()
	o := newOrchestrator(t, ctx, broker.ConnectionString())

	created := o.do(t, ctx, "New-ExchangeMailUser", map[string]any{
		"DisplayName": "Grace Hopper", "UserPrincipalName": "grace@contoso.example", "Password": "Pa55word-Of-Grace",
		"ExternalEmail": "grace@old.example",
	})
	var user struct{ UserId string }
	if err := json.Unmarshal(created.Result, &user); err != nil || user.UserId == "" {
		t.Fatalf("New-ExchangeMailUser answered %s %+v", created.Result, created.Error)
	}
	for _, question := range [][]string{{"health"}, {"health", "--ready"}} {
		if out := execute(t, map[string]string{program.EnvHealth: probesOf(t, log)}, question...); string(out) != "ok\n" {
			t.Errorf("%v answers %q", question, out)
		}
	}
	for _, step := range []struct {
		function string
		params   map[string]any
		want     string
	}{
		{"Set-EntraUserUPN", map[string]any{"UserId": user.UserId, "NewUserPrincipalName": "ghopper@contoso.example"}, `true`},
		{"Add-EntraGroupMember", map[string]any{"UserId": user.UserId, "GroupId": groupID}, `true`},
		{"Set-ExchangePrimaryEmail", map[string]any{"Identity": user.UserId, "PrimaryEmail": "ghopper@contoso.example"}, `true`},
		{"Set-ExchangeMailUserGuids", map[string]any{"Identity": user.UserId, "ExchangeGuid": exchangeGUID}, `true`},
		{
			"Test-EntraAttributeMatch",
			map[string]any{"UserId": user.UserId, "AttributeName": "mail", "ExpectedValue": "ghopper@contoso.example"},
			`{"complete":true,"data":{"UserId":"` + user.UserId + `","AttributeName":"mail","Match":true,"ExpectedValue":["ghopper@contoso.example"],"ActualValue":"ghopper@contoso.example"}}`,
		},
	} {
		if got := o.do(t, ctx, step.function, step.params); string(got.Result) != step.want {
			t.Fatalf("%s answered %s %+v, want %s", step.function, got.Result, got.Error, step.want)
		}
	}
	if got := o.do(t, ctx, "Set-Nothing", nil); got.Error == nil || got.Error.Type != catalog.FailureUnknownFunction {
		t.Errorf("Set-Nothing answered %s %+v", got.Result, got.Error)
	}
	if got := o.do(t, ctx, "No-Op", nil); got.Error == nil {
		t.Error("No-Op is offered without having been asked for")
	}
	if err := target.SetFaults(tenant.Faults{Rules: []tenant.Fault{{Service: "graph", Status: 429, RetryAfter: "0.01"}}}); err != nil {
		t.Fatal(err)
	}
	throttled := o.do(t, ctx, "Add-EntraGroupMember", map[string]any{"UserId": user.UserId, "GroupId": groupID})
	if e := throttled.Error; e == nil || !e.IsThrottled || e.Attempts != 6 || e.RetryAfterSeconds != 1 {
		t.Errorf("a tenant that throttles without end: got %+v, want 6 attempts and to be tried again after 1 second", e)
	}

	var told message.Catalog
	if err := json.Unmarshal(o.receive(t, ctx, message.TypeWorkerCatalog), &told); err != nil || told.WorkerID != "worker-01" || len(told.Functions) != len(catalog.Standard()) {
		t.Errorf("it announces %+v, %v", told, err)
	}

	stop()
	select {
	case err := <-stopped:
		if err != nil {
			t.Error(err)
		}
	case <-ctx.Done():
		t.Fatal("the worker does not stop")
	}
	lines := log.String()
	for _, secret := range []string{"Pa55word-Of-Grace", entra.DefaultWorkerSecret, "c2VjcmV0"} {
		if strings.Contains(lines, secret) {
			t.Errorf("the log tells the secret %s:\n%s", secret, lines)
		}
	}
	for _, field := range []string{`"WorkerId":"worker-01"`, `"BatchId":42`, `"StepExecutionId":1`, `"JobId":"step-1-attempt-1"`} {
		if !strings.Contains(lines, field) {
			t.Errorf("the log has no %s:\n%s", field, lines)
		}
	}
	for line := range strings.Lines(lines) {
		if strings.Count(line, `"WorkerId":"worker-01"`) != 1 {
			t.Errorf("a line does not have the worker's id once: %s", line)
		}
	}
}

const (
	groupID      = "22222222-0000-4000-8000-000000000001"
	exchangeGUID = "33333333-0000-4000-8000-000000000001"
)

// orchestrator is the other end of the bus.
type orchestrator struct {
	jobs    *azservicebus.Sender
	results *azservicebus.Receiver
	steps   int64
	catalog []byte   // that came, perhaps between results
	beats   [][]byte // heartbeats that came
}

func newOrchestrator(t *testing.T, ctx context.Context, connection string) *orchestrator {
	t.Helper()
	client := testenv.Connected(azservicebus.NewClientFromConnectionString(connection, nil))(t)
	jobs := testenv.Must(client.NewSender(message.TopicWorkerJobs, nil))(t)
	results := testenv.Must(client.NewReceiverForSubscription(message.TopicWorkerResults, message.SubscriptionOrchestrator,
		&azservicebus.ReceiverOptions{ReceiveMode: azservicebus.ReceiveModeReceiveAndDelete}))(t)
	return &orchestrator{jobs: jobs, results: results}
}

// do sends one job and waits for its result.
func (o *orchestrator) do(t *testing.T, ctx context.Context, function string, params map[string]any) message.Result {
	t.Helper()
	return o.result(t, ctx, o.send(t, ctx, function, params))
}

// send sends one job.
func (o *orchestrator) send(t *testing.T, ctx context.Context, function string, params map[string]any) message.Job {
	t.Helper()
	o.steps++
	raw := testenv.Must(json.Marshal(params))(t)
	job := message.Job{
		JobID: fmt.Sprintf("step-%d-attempt-1", o.steps), BatchID: 42, WorkerID: "worker-01",
		FunctionName: function, Parameters: raw,
		CorrelationData: message.Correlation{BatchID: 42, StepExecutionID: o.steps},
	}
	body := testenv.Must(json.Marshal(job))(t)
	id := job.ID()
	if err := o.jobs.SendMessage(ctx, &azservicebus.Message{
		Body: body, MessageID: &id, ApplicationProperties: map[string]any{message.PropertyWorkerID: "worker-01"},
	}, nil); err != nil {
		t.Fatal(err)
	}
	return job
}

// result waits for the result of a job.
func (o *orchestrator) result(t *testing.T, ctx context.Context, job message.Job) message.Result {
	t.Helper()
	var result message.Result
	if err := json.Unmarshal(o.receive(t, ctx, message.TypeWorkerResult), &result); err != nil {
		t.Fatal(err)
	}
	if result.JobID != job.JobID {
		t.Fatalf("%s was answered with the result of %s", job.JobID, result.JobID)
	}
	return result
}

// receive gives the body of the next message of a type. A catalogue that comes before a
// result is kept.
func (o *orchestrator) receive(t *testing.T, ctx context.Context, kind string) []byte {
	t.Helper()
	for kind != message.TypeWorkerCatalog || o.catalog == nil {
		got, err := o.results.ReceiveMessages(ctx, 1, nil)
		if err != nil || len(got) != 1 {
			t.Fatalf("there came no %s: %v", kind, err)
		}
		switch is := got[0].ApplicationProperties[message.PropertyMessageType]; {
		case is == message.TypeWorkerHeartbeat:
			o.beats = append(o.beats, got[0].Body)
		case is == message.TypeWorkerCatalog:
			o.catalog = got[0].Body
		case kind == message.TypeWorkerResult:
			return got[0].Body
		default:
			t.Fatalf("a result came that nobody asked for: %s", got[0].Body)
		}
	}
	return o.catalog
}

func TestRunRefusesWhatCannotBecomeRight(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		note    string
		changes map[string]string
		want    string
	}{
		{"configuration", map[string]string{program.EnvWorkerID: ""}, "configuration: WORKER_ID is not set"},
		{"trust", map[string]string{"EXTRA_CA_FILE": filepath.Join("testdata", "none.pem")}, "EXTRA_CA_FILE: "},
		{"custom functions", map[string]string{program.EnvCustomDir: filepath.Join("testdata", "none"), envTrial: "none"}, "custom functions, CUSTOM_FUNCTIONS_DIR:\n"},
		{"tenant", map[string]string{envTenantID: "no tenant!"}, "target tenant credential: "},
		{"bus", map[string]string{program.EnvBusString: "SharedAccessKey=busk3y"}, "service bus: ServiceBusConnection is not a connection string"},
	} {
		t.Run(tc.note, func(t *testing.T) {
			t.Parallel()
			err := run(t.Context(), environment(tc.changes), &testenv.Buffer{})
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) || strings.Contains(err.Error(), "busk3y") {
				t.Fatalf("got %v, want %s…", err, tc.want)
			}
		})
	}
}

// A broker that is not up yet is waited for, and an order to stop is obeyed
// meanwhile.
func TestWorkerStartsBeforeTheBroker(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	log := &testenv.Buffer{}
	stopped := make(chan error, 1)
	go func() {
		stopped <- run(ctx, environment(map[string]string{
			program.EnvBusString: "Endpoint=sb://127.0.0.1:1;SharedAccessKeyName=k;SharedAccessKey=c2VjcmV0;UseDevelopmentEmulator=true;",
			program.EnvHealth:    "127.0.0.1:0",
		}), log)
	}()
	deadline := time.Now().Add(10 * time.Second)
	for !strings.Contains(log.String(), "cannot read job controls: retrying") {
		if time.Now().After(deadline) {
			t.Fatalf("the log does not tell of the broker:\n%s", log)
		}
		time.Sleep(5 * time.Millisecond)
	}
	probes := probesOf(t, log)
	execute(t, map[string]string{program.EnvHealth: probes}, "health")
	if err := refused(map[string]string{program.EnvHealth: probes}, "health", "--ready"); err == nil || !strings.Contains(err.Error(), "cannot read job controls") {
		t.Errorf("without its broker the worker is ready: %v", err)
	}
	stop()
	select {
	case err := <-stopped:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the worker does not stop")
	}
}

// A worker sends a first heartbeat before anything else and a last one when it stops or is
// idle; no message follows it.
func TestWorkerSendsHeartbeats(t *testing.T) {
	t.Parallel()
	for note, idle := range map[string]string{"told to stop": "0", "idle": "2"} {
		t.Run(note, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			broker := testenv.Started(servicebus.Start(ctx, servicebus.Config{Addr: "127.0.0.1:0", Topology: servicebus.DefaultTopology(), Key: "c2VjcmV0"}))(t)
			workerCtx, stop := context.WithCancel(ctx)
			defer stop()
			stopped := make(chan error, 1)
			getenv := environment(map[string]string{
				program.EnvWorkerID: "worker-01", program.EnvBusString: broker.ConnectionString(), program.EnvIdle: idle, program.EnvParallelism: "5", envNoOp: "1",
			})
			o := newOrchestrator(t, ctx, broker.ConnectionString())
			job := o.send(t, ctx, "No-Op", nil) // for the worker to find: it may be idle before a later one reaches it
			go func() { stopped <- run(workerCtx, getenv, &testenv.Buffer{}) }()
			if got := o.result(t, ctx, job); got.Status != message.StatusSuccess {
				t.Fatalf("got %+v", got.Error)
			}
			if idle == "0" {
				stop()
			}
			if err := <-stopped; err != nil {
				t.Fatal(err)
			}
			for {
				left := testenv.Must(o.results.PeekMessages(ctx, 1, nil))(t)
				if len(left) == 0 {
					break
				}
				got := testenv.Must(o.results.ReceiveMessages(ctx, 10, nil))(t)
				for _, m := range got {
					if m.ApplicationProperties[message.PropertyMessageType] == message.TypeWorkerHeartbeat {
						o.beats = append(o.beats, m.Body)
					}
				}
			}
			if len(o.beats) != 2 {
				t.Fatalf("%d heartbeats: %s", len(o.beats), o.beats)
			}
			var first, last message.Heartbeat
			if err := errors.Join(json.Unmarshal(o.beats[0], &first), json.Unmarshal(o.beats[1], &last)); err != nil {
				t.Fatal(err)
			}
			if first.WorkerID != "worker-01" || first.Version != version || first.MaxParallelism != 5 || first.Stopping || first.ReplicaID == "" {
				t.Errorf("first %s", o.beats[0])
			}
			if !last.Stopping || last.ReplicaID != first.ReplicaID || !last.StartedAt.Equal(first.StartedAt) || last.InFlight != 0 || !last.Timestamp.After(first.Timestamp) {
				t.Errorf("last %s", o.beats[1])
			}
		})
	}
}

func TestFunctionsCommand(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"table", "json", "yaml", "csv"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			golden(t, "functions."+format, execute(t, nil, "functions", "--output", format))
		})
	}
}

func TestFunctionsCommandShowsTheNoOpOnlyWhereItIsOn(t *testing.T) {
	t.Parallel()
	if out := execute(t, nil, "functions"); bytes.Contains(out, []byte("No-Op")) {
		t.Error("No-Op is listed")
	}
	if out := execute(t, map[string]string{envNoOp: "1"}, "functions"); !bytes.Contains(out, []byte("No-Op")) {
		t.Error("No-Op is not listed")
	}
}

func TestFunctionsCommandRefusesAnUnknownFormat(t *testing.T) {
	t.Parallel()
	cmd := command(environment(nil)).Cobra()
	cmd.SetArgs([]string{"functions", "-o", "xml"})
	if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), `"xml": use table, json, yaml, csv`) {
		t.Fatalf("got %v", err)
	}
}

func TestHealthCommandTellsWhyNot(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"": "HEALTH_ADDR is not set", ":8080": "HEALTH_ADDR: ", "127.0.0.1:1": "refused",
	} {
		if err := refused(map[string]string{program.EnvHealth: address}, "health"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", address, err, want)
		}
	}
}

// probesOf is where a worker says that it answers probes.
func probesOf(t *testing.T, log *testenv.Buffer) string {
	t.Helper()
	for line := range strings.Lines(log.String()) {
		var said struct{ Msg, Address string }
		if json.Unmarshal([]byte(line), &said) == nil && said.Msg == "serving health probes" {
			return said.Address
		}
	}
	t.Fatalf("the worker does not say where it answers probes:\n%s", log)
	return ""
}

// refused is the error of a command.
func refused(env map[string]string, args ...string) error {
	cmd := command(func(name string) string { return env[name] }).Cobra()
	cmd.SetOut(io.Discard)
	cmd.SetArgs(args)
	return cmd.Execute()
}

func execute(t *testing.T, env map[string]string, args ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	cmd := command(func(name string) string { return env[name] }).Cobra()
	cmd.SetOut(&out)
	cmd.SetArgs(args)
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// golden compares with a file under testdata, which UPDATE_GOLDEN=1 writes.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_GOLDEN") == "1" {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(path, got, 0o644)); err != nil {
			t.Fatal(err)
		}
		return
	}
	want := testenv.Must(os.ReadFile(path))(t)
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (UPDATE_GOLDEN=1 writes it anew):\n%s", path, got)
	}
}

func TestWorkerOffersTheStandardFunctions(t *testing.T) {
	t.Parallel()
	offers := testenv.Must(standard.Functions(notify.Config{Graph: &graph.Client{}}, nil, &exchange.Client{}, false))(t)
	var got, want []string
	for _, f := range offers.Functions() {
		got = append(got, f.Name)
	}
	for _, f := range catalog.Standard() {
		want = append(want, f.Name)
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatalf("got  %v\nwant %v", got, want)
	}
}
