package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/servicebus"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/dispatch"
)

// lines receives a log, line by line.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// The worker repeats a refused request, and the log says what to do.
func TestRefusalsOfTheBrokerAreLoggedWithTheirRemedy(t *testing.T) {
	t.Parallel()
	server := serve(t, "127.0.0.1:0", servicebus.DefaultTopology())
	for _, tc := range []struct{ note, connection, worker, want string }{
		{"no subscription", server.ConnectionString(), "nobody", "the topic worker-jobs must have the subscription worker-nobody"},
		{"another key", strings.Replace(server.ConnectionString(), "c2VjcmV0", "b3RoZXI=", 1), workerID, "the roles Azure Service Bus Data Receiver"},
		{"nobody there", "Endpoint=sb://127.0.0.1:1;SharedAccessKeyName=k;SharedAccessKey=c2VjcmV0;UseDevelopmentEmulator=true;", workerID, ""},
	} {
		t.Run(tc.note, func(t *testing.T) {
			t.Parallel()
			said := make(lines, 100)
			loop := testenv.Must(dispatch.New(dial(t, tc.connection), until(nil), dispatch.Config{
				WorkerID: tc.worker, MaxParallelism: 1, Log: slog.New(slog.NewJSONHandler(said, nil)),
			}))(t)
			ctx, stop := context.WithCancel(t.Context())
			stopped := make(chan struct{})
			go func() {
				defer close(stopped)
				loop.Run(ctx)
			}()
			var line struct{ Msg, Remedy string }
			for line.Msg != "cannot receive jobs: retrying" {
				if err := json.Unmarshal([]byte(next(t, "a line of the log", said)), &line); err != nil {
					t.Fatal(err)
				}
			}
			if !strings.Contains(line.Remedy, tc.want) || tc.want == "" && line.Remedy != "" {
				t.Errorf("the remedy is %q, want %q", line.Remedy, tc.want)
			}
			stop()
			await(t, "the worker stops", stopped)
		})
	}
}

// Who stops a worker hears what it waits for.
func TestStoppingTellsOfTheJobsThatRun(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	f := until(release)
	b := &bus{server: serve(t, "127.0.0.1:0", servicebus.DefaultTopology())}
	b.client = connect(t, b.server.ConnectionString())
	b.open(t)
	said := make(lines, 100)
	loop := testenv.Must(dispatch.New(dial(t, b.server.ConnectionString()), f, dispatch.Config{
		WorkerID: workerID, MaxParallelism: 1, ShutdownGrace: patience, Log: slog.New(slog.NewJSONHandler(said, nil)),
	}))(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		loop.Run(ctx)
	}()
	b.send(t, job(1))
	awaitStart(t, f)
	stop()
	if line := next(t, "a line of the log", said); !strings.Contains(line, "waiting for running jobs") || !strings.Contains(line, `"Jobs":1`) {
		t.Errorf("it says %s", line)
	}
	close(release)
	await(t, "the worker stops", stopped)
}

// Neither the log nor an error has the secrets that a job names.
func TestSecretsOfAJobAreNotReported(t *testing.T) {
	t.Parallel()
	const secret = "S3cret\"of ann"
	for name, run := range map[string]func(ctx context.Context) (any, error){
		"a failure": func(context.Context) (any, error) {
			return nil, &catalog.Failure{Type: "Weak", Message: "the password " + secret + " is weak"}
		},
		"an error": func(context.Context) (any, error) { return nil, errors.New("bad: " + secret) },
		"a panic":  func(context.Context) (any, error) { panic(secret) },
		"a line": func(ctx context.Context) (any, error) {
			catalog.JobOf(ctx).Log.Info("with "+secret, "Parameters", map[string]string{"Password": secret})
			return nil, errors.New("bad: " + secret)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, "127.0.0.1:0", servicebus.DefaultTopology())
			b := &bus{server: server, client: connect(t, server.ConnectionString())}
			b.open(t)
			f := &function{run: func(ctx context.Context, _ string, _ []byte) (any, error) { return run(ctx) }}
			said := make(lines, 100)
			loop := testenv.Must(dispatch.New(dial(t, server.ConnectionString()), f, dispatch.Config{
				WorkerID: workerID, MaxParallelism: 1, ShutdownGrace: patience, Log: slog.New(slog.NewJSONHandler(said, &slog.HandlerOptions{Level: slog.LevelDebug})),
			}))(t)
			ctx, stop := context.WithCancel(t.Context())
			stopped := make(chan struct{})
			go func() {
				defer close(stopped)
				loop.Run(ctx)
			}()
			j := job(1)
			j.Secrets, j.Parameters = []string{secret}, json.RawMessage(`{"Note":"it is S3cret\"of ann"}`)
			b.send(t, j)
			got := b.result(t)
			if got.Error == nil || strings.Contains(got.Error.Message, "S3cret") || !strings.Contains(got.Error.Message, "[blanked]") {
				t.Errorf("got %+v", got.Error)
			}
			stop()
			await(t, "the worker stops", stopped)
			close(said)
			all := ""
			for line := range said {
				all += line
			}
			if strings.Contains(all, "S3cret") || !strings.Contains(all, "the job failed") || !strings.Contains(all, "[blanked]") {
				t.Errorf("logged %s", all)
			}
		})
	}
}
